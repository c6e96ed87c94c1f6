// Sentiment classification into five classes with the biattentive classification network (McCann et al.
// 2017). Input: the chosen word representation and a word embedding.
//
//   export SST_TRAIN_DATA_PATH=… SST_DEV_DATA_PATH=… SST_TEST_DATA_PATH=…
//   export WORD_REPRESENTATION=elmo_semfit LM_ARCHIVE_PATH=…
//   allennlp train training_config/downstream/sst5.jsonnet --include-package allennlp_semfit -s output/sst5
//
// The hyper-parameters are those of allennlp-models' `biattentive_classification_network_elmo`. See
// README.md for other representations and where to get data.
local downstream_task = import '../lib/downstream_task.libsonnet';
local word_representation = import '../lib/word_representation.libsonnet';

downstream_task('SST', sorting_keys=['tokens']) + {
  // The model does not allow an embedder named `elmo`, because it has a separate argument for ELMo. The
  // result is the same, but the argument accepts ELMo only.
  local words = word_representation($.sizes, dropout=0.0, elmo_key='elmo_words'),

  sizes+:: {
    embedding_dim: 300,
    hidden_dim: 300,
    // Train on all labelled phrases of the trees.
    use_subtrees: true,
    batch_size: 100,
    learning_rate: 0.001,
    num_epochs: 40,
    patience: 5,
  },
  dataset_reader: {
    type: 'sst_tokens',
    granularity: '5-class',
    use_subtrees: $.sizes.use_subtrees,
    token_indexers: { tokens: { type: 'single_id' } } + words.indexers,
  },
  validation_dataset_reader: $.dataset_reader { use_subtrees: false },
  model: {
    type: 'bcn',
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: $.sizes.embedding_dim },
      } + words.embedders,
    },
    embedding_dropout: 0.5,
    pre_encode_feedforward: {
      input_dim: $.sizes.embedding_dim + words.dim,
      num_layers: 1,
      hidden_dims: [$.sizes.hidden_dim],
      activations: ['relu'],
      dropout: [0.25],
    },
    encoder: {
      type: 'lstm',
      input_size: $.sizes.hidden_dim,
      hidden_size: $.sizes.hidden_dim,
      num_layers: 1,
      bidirectional: true,
    },
    integrator: {
      type: 'lstm',
      // The word, its difference from the attended vector, and their product.
      input_size: 3 * 2 * $.sizes.hidden_dim,
      hidden_size: $.sizes.hidden_dim,
      num_layers: 1,
      bidirectional: true,
    },
    integrator_dropout: 0.1,
    output_layer: {
      // Four pooling methods.
      input_dim: 4 * 2 * $.sizes.hidden_dim,
      num_layers: 3,
      output_dims: [4 * $.sizes.hidden_dim, 2 * $.sizes.hidden_dim, 5],
      pool_sizes: 4,
      dropout: [0.2, 0.3, 0.0],
    },
  },
  trainer+: {
    grad_norm: 5.0,
    validation_metric: '+accuracy',
  },
}
