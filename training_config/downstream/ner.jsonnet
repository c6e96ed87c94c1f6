// Named entity recognition with a BiLSTM-CRF tagger (Peters et al. 2018). Input: the chosen word
// representation, a word embedding and a character CNN.
//
//   export NER_TRAIN_DATA_PATH=… NER_DEV_DATA_PATH=… NER_TEST_DATA_PATH=…
//   export WORD_REPRESENTATION=elmo_semfit LM_ARCHIVE_PATH=…
//   allennlp train training_config/downstream/ner.jsonnet --include-package allennlp_semfit -s output/ner
//
// The hyper-parameters are those of allennlp-models' `ner_elmo`. See README.md for other representations
// and where to get data.
local downstream_task = import '../lib/downstream_task.libsonnet';
local word_representation = import '../lib/word_representation.libsonnet';

downstream_task('NER', sorting_keys=['tokens']) + {
  local words = word_representation($.sizes, dropout=0.0),

  sizes+:: {
    embedding_dim: 50,
    character_embedding_dim: 16,
    num_character_filters: 128,
    hidden_dim: 200,
    num_layers: 2,
    batch_size: 64,
    learning_rate: 0.001,
    num_epochs: 75,
    patience: 25,
  },
  dataset_reader: {
    type: 'conll2003',
    tag_label: 'ner',
    convert_to_coding_scheme: 'BIOUL',
    token_indexers: {
      tokens: { type: 'single_id', lowercase_tokens: true },
      // Pad words to the filter width.
      token_characters: { type: 'characters', min_padding_length: 3 },
    } + words.indexers,
  },
  model: {
    type: 'crf_tagger',
    label_encoding: 'BIOUL',
    dropout: 0.5,
    include_start_end_transitions: false,
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: $.sizes.embedding_dim },
        token_characters: {
          type: 'character_encoding',
          embedding: {
            embedding_dim: $.sizes.character_embedding_dim,
            vocab_namespace: 'token_characters',
          },
          encoder: {
            type: 'cnn',
            embedding_dim: $.sizes.character_embedding_dim,
            num_filters: $.sizes.num_character_filters,
            ngram_filter_sizes: [3],
            conv_layer_activation: 'relu',
          },
        },
      } + words.embedders,
    },
    encoder: {
      type: 'lstm',
      input_size: $.sizes.embedding_dim + $.sizes.num_character_filters + words.dim,
      hidden_size: $.sizes.hidden_dim,
      num_layers: $.sizes.num_layers,
      // Applied between layers.
      dropout: if $.sizes.num_layers > 1 then 0.5 else 0.0,
      bidirectional: true,
    },
    // The layer weights of the scalar mix.
    regularizer: { regexes: [['scalar_parameters', { type: 'l2', alpha: 0.1 }]] },
  },
  trainer+: {
    grad_norm: 5.0,
    validation_metric: '+f1-measure-overall',
  },
}
