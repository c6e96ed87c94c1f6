// The sizes of the laptop configs: each of the paper's models trains on 5 million words in less than an
// hour on one CPU core. `experiments/` uses them. The text must be prepared with `allennlp
// prepare-corpus`. For another number of sentences N, use `-o` to set `data_loader.batches_per_epoch` to
// N / 64, and the schedule's `decay_start` and `decay_end` to twice and four times that.
local sentences_per_update = 64;
local num_sentences = 235008;

{
  sizes+:: {
    embedding_dim: 100,
    hidden_dim: 128,
    cell_size: 256,
    num_epochs: 1,
    num_updates: std.ceil(num_sentences / sentences_per_update),
    learning_rate: 4e-4,
    num_replicas: 4,
    warmup_steps: 50,
    // ELMo-A
    cutoffs: [2000, 10000],
    // ELMo, and ELMo-S CNN with ELMo's CNN
    filters: [[1, 16], [2, 16], [3, 32], [4, 64], [5, 128]],
    num_highway: 1,
    character_cnn_dim: 100,
    num_samples: 1024,
    target_cache_size: 100000,
    // ELMo-S with principal components as targets
    pca_dim: 50,
  },
  train_data_path: std.extVar('LM_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('LM_DEV_DATA_PATH'),
  dataset_reader+: { max_sequence_length: 512 },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: sentences_per_update, sorting_keys: ['source'] },
    // Streamed, so that the corpus is not kept in memory.
    max_instances_in_memory: 100 * sentences_per_update,
    batches_per_epoch: std.floor($.sizes.num_updates / $.sizes.num_epochs),
  },
  trainer+: {
    use_amp: false,
    // Keep all checkpoints, to evaluate the progress of training.
    checkpointer: { save_every_num_batches: 500, keep_most_recent_by_count: null },
  },
  distributed:: null,
}
