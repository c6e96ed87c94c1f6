// For one GPU: half of the paper's dimensions, word vectors of the paper's size, five epochs over all of
// the text. See gpu.mk.
local sentences_per_update = 256;
local num_sentences = 842254;
local updates_per_epoch = std.floor(num_sentences / sentences_per_update);

(import '../../training_config/laptop/override.libsonnet') + {
  sizes+:: {
    embedding_dim: 300,
    hidden_dim: 256,
    cell_size: 2048,
    num_epochs: 5,
    num_updates: 5 * updates_per_epoch,
    learning_rate: 2e-4,
    warmup_steps: 200,
    cutoffs: [4000, 20000],
    filters: [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512]],
    num_highway: 2,
    character_cnn_dim: 256,
    num_samples: 4096,
  },
  data_loader+: {
    batch_sampler+: { batch_size: sentences_per_update },
    max_instances_in_memory: 40 * sentences_per_update,
    num_workers: 2,
  },
  trainer+: { use_amp: true, checkpointer+: { save_every_num_batches: 1000 } },
}
