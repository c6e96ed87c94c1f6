// ELMo-S on a sample of Wikipedia. `make train` prepares the text and the fastText vectors, and then runs:
//   allennlp train training_config/elmo_semfit.jsonnet --include-package allennlp_semfit -s output/elmo_semfit
// This takes two to three minutes on two idle cores.
// For text of your own, in a directory that `prepare-corpus` and `train-fasttext` wrote, train a config of one line:
//   (import 'training_config/elmo_semfit.jsonnet') + { corpus:: 'data/mine' }
{
  // `::` hides a field from AllenNLP. `$.corpus` is its value, even if an importing config changes it.
  corpus:: 'data/sample',
  embedding_dim:: 100,  // of the fastText vectors
  hidden_dim:: 128,  // of each direction

  type: 'resumable',  // Selects the `resumable` trainer: a killed training resumes with --recover.
  dataset_reader: {
    type: 'language_modeling',
    token_indexers: { fasttext: { type: 'fasttext', model_path: $.corpus + '/vectors.bin' } },
    max_sequence_length: 512,  // Longer sentences are split.
  },
  train_data_path: $.corpus + '/train',  // one tokenized sentence per line
  validation_data_path: $.corpus + '/validation.txt',
  vocabulary: { type: 'empty' },  // fastText has a vector for every word.
  model: {
    type: 'bidirectional_lm',
    text_field_embedder: { token_embedders: { fasttext: { type: 'fasttext', embedding_dim: $.embedding_dim } } },
    contextualizer: {
      type: 'bidirectional_language_model_lstm',
      input_dim: $.embedding_dim,
      hidden_dim: $.hidden_dim,
      cell_size: 256,
      num_layers: 2,
      dropout: 0.1,
    },
    head: { type: 'semfit', input_dim: $.hidden_dim, embedding_dim: $.embedding_dim, distance: 'cosine' },
  },
  data_loader: {
    // The sentences of a batch have similar lengths. 32 sentences × 25 words = 800 words per step.
    batch_sampler: { type: 'bucket', batch_size: 32, sorting_keys: ['source'] },
    // An epoch is 500 steps, whatever the size of the text: 1.2 million words in all, 2.5 passes over this sample.
    batches_per_epoch: 500,
  },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    num_epochs: 3,  // For a first try; nine for a model to keep.
    patience: 1000,  // Never stops early.
    optimizer: { type: 'fused_adam', lr: 4e-4 },
    // The learning rate rises to 4 × `lr` in the first tenth of the training, and falls to `lr` / 2 in the second half.
    learning_rate_scheduler: { type: 'large_batch', num_replicas: 4 },
    validation_metric: '+cosine',
    grad_norm: 5.0,
    checkpointer: { type: 'resumable', save_every_num_batches: 250 },
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    run_confidence_checks: false,  // They add hooks to every module, which a resumed run would keep.
  },
}
