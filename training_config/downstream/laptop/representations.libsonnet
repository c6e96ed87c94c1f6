// The vectors that the laptop's configs read: of a fastText model of 100 dimensions, and of the language
// model that was trained on it, with 128 in each direction, as in `training_config/elmo_semfit.jsonnet`.
{
  sizes+:: { fasttext_dim: 100, elmo_semfit_dim: 2 * 128 },
}
