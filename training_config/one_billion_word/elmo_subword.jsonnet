// ELMo-Sub of Li et al. 2019: ELMo-S over subwords, with a softmax that shares its vectors with the input.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export SUBWORDS_PATH=data/one_billion_word/subwords
//   allennlp train-bpe "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $SUBWORDS_PATH --merges 30000
//   allennlp train training_config/one_billion_word/elmo_subword.jsonnet --include-package allennlp_semfit -s output/elmo_subword_1b
//
// 85 million trainable parameters. The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  dataset_reader+: {
    tokenizer: { type: 'subword', model_path: std.extVar('SUBWORDS_PATH') + '/tokenizer.json' },
    token_indexers: { tokens: { type: 'single_id', namespace: 'subwords' } },
  },
  vocabulary: { type: 'from_files', directory: std.extVar('SUBWORDS_PATH') + '/vocabulary' },
  model+: {
    text_field_embedder: {
      token_embedders: {
        tokens: {
          type: 'embedding',
          embedding_dim: $.sizes.embedding_dim,
          vocab_namespace: 'subwords',
        },
      },
    },
    head: {
      type: 'softmax',
      input_dim: $.sizes.hidden_dim,
      embedding_dim: $.sizes.embedding_dim,
      tie_to_input: true,
      namespace: 'subwords',
    },
  },
  trainer+: { validation_metric: '-perplexity' },
}
