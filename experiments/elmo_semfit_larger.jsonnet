// The config of the paper's size, for one process on a CPU: ELMo-S with two layers of 512 cells and 256 dimensions in each
// direction, which reads 11 million words once.
(import '../training_config/one_billion_word/elmo_semfit.jsonnet') + {
  hidden_dim:: 256,
  model+: { contextualizer+: { cell_size: 512 } },
  data_loader+: { batch_sampler+: { batch_size: 64 }, num_workers: 2 },
  trainer+: {
    optimizer+: { lr: 4e-4 },
    checkpointer+: { save_every_num_batches: 250 },
  },
  distributed:: null,
} + (import 'language_models.libsonnet') + {
  num_steps:: 7344,
}
