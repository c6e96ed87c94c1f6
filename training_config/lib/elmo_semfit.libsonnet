// ELMo-S: fastText vectors in, two projected LSTMs, the Semfit head. A config is one call of this
// function; what it gives can be changed with `+ { … }` like any object. The sizes among its
// parameters are then in the hidden field `sizes`, to which all else refers.
//
//   train_data_path, validation_data_path  one tokenised sentence a line: a file, a directory, a pattern
//   model_path                             a fastText `.bin`
//   embedding_dim                          its dimension
//   hidden_dim, cell_size, num_layers      each direction's output, its LSTM cells, its layers
//   max_sequence_length                    longer sentences are cut in pieces
//   num_epochs, num_updates                num_updates: of all epochs together
//   learning_rate, num_replicas            it rises from `learning_rate` to `num_replicas` times that,
//   warmup_steps                           in `num_replicas * warmup_steps` updates, and falls in the
//                                          second half of the updates to half of where it began
//   data_loader, trainer                   what these sections hold beside the defaults below
//
// For batches of sentences of like length with so many words and no more, padding and boundaries
// included, of a corpus that is streamed by two workers:
//
//   data_loader={
//     batch_sampler: { type: 'max_tokens_sampler', max_tokens: 2000, sorting_keys: ['source'] },
//     // Sorted by length so many sentences at a time: several times as many as a batch has.
//     max_instances_in_memory: 2000,
//     num_workers: 2,
//     // Then each process takes as many batches, and the updates can be counted beforehand.
//     batches_per_epoch: num_updates / num_epochs,
//   }
//
// No sentence may be longer than a batch: `max_sequence_length` <= `max_tokens`.
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
  // Every word has a vector, so there is nothing to count before training starts.
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
    // The cosine has no hyper-parameter to tune, and is the paper's choice.
    head: {
      type: 'semfit',
      input_dim: $.sizes.hidden_dim,
      embedding_dim: $.sizes.embedding_dim,
      distance: 'cosine',
    },
  },
  data_loader: data_loader,
  // Not lazy, so that a mistake in its path shows before training.
  validation_data_loader: { batch_size: 64 },
  trainer: {
    num_epochs: $.sizes.num_epochs,
    // No training stops early. Without a number, AllenNLP warns of that.
    patience: 1000,
    optimizer: { type: 'adam', lr: $.sizes.learning_rate },
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
    // They put hooks on every module, which a recovered run would keep to its end.
    run_confidence_checks: false,
  } + trainer,
}
