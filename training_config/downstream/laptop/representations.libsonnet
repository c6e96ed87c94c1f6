// The dimensions for the laptop configs: fastText vectors of 100 dimensions, and a language model trained
// on them with 128 dimensions in each direction, as in `training_config/elmo_semfit.jsonnet`.
{
  sizes+:: { fasttext_dim: 100, elmo_semfit_dim: 2 * 128 },
}
