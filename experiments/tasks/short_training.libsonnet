// With a learning rate that falls to zero, a few epochs are as good as many.
{
  trainer+: { learning_rate_scheduler: { type: 'polynomial_decay' }, patience: null },
}
