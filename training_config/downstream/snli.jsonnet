// Natural language inference with ESIM (Chen et al. 2017). Input: the chosen word representation.
//
//   export SNLI_TRAIN_DATA_PATH=… SNLI_DEV_DATA_PATH=… SNLI_TEST_DATA_PATH=…
//   export WORD_REPRESENTATION=elmo_semfit LM_ARCHIVE_PATH=…
//   allennlp train training_config/downstream/snli.jsonnet --include-package allennlp_semfit -s output/snli
//
// The hyper-parameters are those of allennlp-models' `esim_elmo`, and of its `esim` for `none`. See
// README.md for other representations and where to get data.
local downstream_task = import '../lib/downstream_task.libsonnet';
local word_representation = import '../lib/word_representation.libsonnet';

downstream_task('SNLI', sorting_keys=['premise', 'hypothesis']) + {
  local words = word_representation($.sizes, dropout=0.0, none={
    indexers: { tokens: { type: 'single_id', lowercase_tokens: true } },
    embedders: { tokens: { type: 'embedding', embedding_dim: $.sizes.embedding_dim } },
    dim: $.sizes.embedding_dim,
  }),

  sizes+:: {
    embedding_dim: 300,
    hidden_dim: 300,
    dropout: 0.5,
    batch_size: 32,
    learning_rate: 0.0004,
    num_epochs: 75,
    patience: 5,
  },
  dataset_reader: {
    type: 'snli',
    // AllenNLP's default, spaCy, needs a model to be downloaded. This tokenizer also splits “dog.” and
    // “man's”. It leaves tokenised text unchanged, except for words that contain punctuation.
    tokenizer: 'letters_digits',
    token_indexers: words.indexers,
  },
  model: {
    type: 'esim',
    dropout: $.sizes.dropout,
    text_field_embedder: { token_embedders: words.embedders },
    encoder: {
      type: 'lstm',
      input_size: words.dim,
      hidden_size: $.sizes.hidden_dim,
      num_layers: 1,
      bidirectional: true,
    },
    matrix_attention: 'dot_product',
    projection_feedforward: {
      // The word, the attended vector, their difference and their product.
      input_dim: 4 * 2 * $.sizes.hidden_dim,
      hidden_dims: $.sizes.hidden_dim,
      num_layers: 1,
      activations: 'relu',
    },
    inference_encoder: {
      type: 'lstm',
      input_size: $.sizes.hidden_dim,
      hidden_size: $.sizes.hidden_dim,
      num_layers: 1,
      bidirectional: true,
    },
    output_feedforward: {
      // Mean and maximum of both sentences.
      input_dim: 4 * 2 * $.sizes.hidden_dim,
      num_layers: 1,
      hidden_dims: $.sizes.hidden_dim,
      activations: 'relu',
      dropout: $.sizes.dropout,
    },
    output_logit: {
      input_dim: $.sizes.hidden_dim,
      num_layers: 1,
      hidden_dims: 3,
      activations: 'linear',
    },
    initializer: {
      regexes: [
        ['.*linear_layers.*weight', { type: 'xavier_uniform' }],
        ['.*linear_layers.*bias', { type: 'zero' }],
        ['.*weight_ih.*', { type: 'xavier_uniform' }],
        ['.*weight_hh.*', { type: 'orthogonal' }],
        ['.*bias_ih.*', { type: 'zero' }],
        ['.*bias_hh.*', { type: 'lstm_hidden_bias' }],
      ],
      // Do not match parameters of the language model.
      prevent_regexes: ['_text_field_embedder.*'],
    },
  },
  trainer+: {
    learning_rate_scheduler: { type: 'reduce_on_plateau', factor: 0.5, mode: 'max', patience: 0 },
    grad_norm: 10.0,
    validation_metric: '+accuracy',
  },
}
