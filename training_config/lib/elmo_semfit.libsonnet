// ELMo-S: fastText vectors, projected LSTMs in both directions, the Semfit head. A config calls this
// function and can extend the result with `+ { … }`. The sizes among the parameters are then in the
// hidden field `sizes`, which the rest of the config refers to.
//
//   train_data_path, validation_data_path  one tokenised sentence per line: a file, a directory, a glob
//   model_path                             a fastText `.bin` file
//   embedding_dim                          the dimension of its vectors
//   hidden_dim, cell_size, num_layers      of each direction of the contextualizer
//   max_sequence_length                    longer sentences are split
//   num_epochs, num_updates                `num_updates` is the total of all epochs
//   learning_rate, num_replicas,           increases from `learning_rate` to `num_replicas` times this in
//   warmup_steps                           `num_replicas * warmup_steps` updates, and decreases to
//                                          `learning_rate / 2` in the second half of the training
//   data_loader, trainer                   the data loader, and additions to the trainer below
//
// To stream a corpus with two workers, in batches of sentences of similar length with a maximum number
// of words, including padding and boundary tokens:
//
//   data_loader={
//     batch_sampler: { type: 'max_tokens_sampler', max_tokens: 2000, sorting_keys: ['source'] },
//     // This number of sentences is sorted by length at once: several times the batch size.
//     max_instances_in_memory: 2000,
//     num_workers: 2,
//     // All processes then have the same number of batches, and the number of updates is known.
//     batches_per_epoch: std.floor(num_updates / num_epochs),
//   }
//
// A sentence must fit into a batch: `max_sequence_length` <= `max_tokens`.
function(
  train_data_path,
  validation_data_path,
  model_path,
  embedding_dim,
  hidden_dim,
  cell_size,
  num_epochs,
  num_updates,
  learning_rate,
  warmup_steps,
  num_replicas=4,
  num_layers=2,
  dropout=0.1,
  max_sequence_length=512,
  data_loader={},
  trainer={},
) {
  sizes:: {
    embedding_dim: embedding_dim,
    hidden_dim: hidden_dim,
    cell_size: cell_size,
    num_layers: num_layers,
    dropout: dropout,
    num_epochs: num_epochs,
    num_updates: num_updates,
    learning_rate: learning_rate,
    num_replicas: num_replicas,
    warmup_steps: warmup_steps,
  },
  dataset_reader: {
    type: 'language_modeling',
    token_indexers: { fasttext: { type: 'fasttext', model_path: model_path } },
    max_sequence_length: max_sequence_length,
  },
  train_data_path: train_data_path,
  validation_data_path: validation_data_path,
  // Every word has a fastText vector, so no vocabulary is needed.
  vocabulary: { type: 'empty' },
  model: {
    type: 'bidirectional_lm',
    text_field_embedder: {
      token_embedders: { fasttext: { type: 'fasttext', embedding_dim: $.sizes.embedding_dim } },
    },
    contextualizer: {
      type: 'bidirectional_language_model_lstm',
      input_dim: $.sizes.embedding_dim,
      hidden_dim: $.sizes.hidden_dim,
      cell_size: $.sizes.cell_size,
      num_layers: $.sizes.num_layers,
      dropout: $.sizes.dropout,
    },
    // The cosine has no hyper-parameter to tune; the paper uses it.
    head: {
      type: 'semfit',
      input_dim: $.sizes.hidden_dim,
      embedding_dim: $.sizes.embedding_dim,
      distance: 'cosine',
    },
  },
  data_loader: data_loader,
  // Not lazy, so that a wrong path is reported before training.
  validation_data_loader: { batch_size: 64 },
  trainer: {
    num_epochs: $.sizes.num_epochs,
    // No training stops early. Without a number, AllenNLP warns of that.
    patience: 1000,
    optimizer: { type: 'fused_adam', lr: $.sizes.learning_rate },
    learning_rate_scheduler: {
      type: 'large_batch',
      num_replicas: $.sizes.num_replicas,
      warmup_steps: $.sizes.warmup_steps,
      decay_start: $.sizes.num_replicas * $.sizes.num_updates / 2,
      decay_end: $.sizes.num_replicas * $.sizes.num_updates,
    },
    validation_metric: '+cosine',
    grad_norm: 5.0,
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They add hooks to every module, which a recovered run would keep.
    run_confidence_checks: false,
  } + trainer,
}
