// ELMo-S on a sample of Wikipedia. `make train` prepares the text and the fastText vectors, and then runs, in about five minutes
// on two x86 cores:
//   allennlp train training_config/elmo_semfit.jsonnet --include-package allennlp_semfit -s output/elmo_semfit
local train_data_path = 'data/sample/train';  // one tokenised sentence per line
local validation_data_path = 'data/sample/heldout.txt';
local model_path = 'data/sample/vectors.bin';  // fastText
local num_sentences = 19157;  // cat data/sample/train/* | wc -l

local embedding_dim = 100;  // of the fastText vectors
local hidden_dim = 128;  // of each direction
local cell_size = 512;
// 16 sentences × 25 words = 400 words per update; 1,198 updates per epoch.
local batch_size = 16;
local num_epochs = 3;
local num_updates = num_epochs * std.ceil(num_sentences / batch_size);
// The learning rate rises to this multiple of `lr`, and falls in the second half of the training.
local num_replicas = 4;

{
  type: 'resumable',  // A killed training resumes with --recover.
  dataset_reader: {
    type: 'language_modeling',
    token_indexers: { fasttext: { type: 'fasttext', model_path: model_path } },
    max_sequence_length: 512,  // Longer sentences are split.
  },
  train_data_path: train_data_path,
  validation_data_path: validation_data_path,
  vocabulary: { type: 'empty' },  // fastText has a vector for every word.
  model: {
    type: 'bidirectional_lm',
    text_field_embedder: { token_embedders: { fasttext: { type: 'fasttext', embedding_dim: embedding_dim } } },
    contextualizer: {
      type: 'bidirectional_language_model_lstm',
      input_dim: embedding_dim,
      hidden_dim: hidden_dim,
      cell_size: cell_size,
      num_layers: 2,
      dropout: 0.1,
    },
    head: { type: 'semfit', input_dim: hidden_dim, embedding_dim: embedding_dim, distance: 'cosine' },
  },
  // Sentences of similar length are in a batch.
  data_loader: { batch_sampler: { type: 'bucket', batch_size: batch_size, sorting_keys: ['source'] } },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    num_epochs: num_epochs,
    patience: 1000,  // Never stops early.
    optimizer: { type: 'fused_adam', lr: 4e-4 },
    learning_rate_scheduler: {
      type: 'large_batch',
      num_replicas: num_replicas,
      warmup_steps: 200,
      decay_start: num_replicas * num_updates / 2,
      decay_end: num_replicas * num_updates,
    },
    validation_metric: '+cosine',
    grad_norm: 5.0,
    checkpointer: { type: 'resumable', save_every_num_batches: 500 },
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    run_confidence_checks: false,  // They add hooks to every module, which a resumed run would keep.
  },
}
