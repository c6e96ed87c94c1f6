// What the laptop configs share.
{
  // The dimensions of fastText vectors, and of a language model trained on them with 128 dimensions in each
  // direction, as in `training_config/elmo_semfit.jsonnet`.
  sizes+:: { fasttext_dim: 100, elmo_semfit_dim: 2 * 128, patience: null },
  // With a learning rate that falls to zero, a few epochs are as good as many.
  trainer+: {
    optimizer: { type: 'adam', lr: $.sizes.learning_rate },
    learning_rate_scheduler: { type: 'polynomial_decay' },
  },
}
