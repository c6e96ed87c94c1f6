// For a few epochs: the learning rate falls to zero, and no training stops early.
{
  trainer+: { learning_rate_scheduler: { type: 'polynomial_decay' }, patience: null },
}
