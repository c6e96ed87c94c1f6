// The control of ELMo-S: its targets are random vectors, one for each word of a vocabulary, so that
// nothing of what fastText knows is in its output. Its input is fastText's as before.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin VOCABULARY_PATH=data/one_billion_word/vocabulary
//   allennlp count-vocabulary "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $VOCABULARY_PATH --min-count 3
//   allennlp train training_config/one_billion_word/elmo_semfit_random.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_random_1b
//
// It has been built, but not run.
(import 'elmo_semfit.jsonnet') + (import '../lib/vocabulary.libsonnet') + {
  model+: {
    head+: {
      target_embedder: {
        type: 'embedding',
        embedding_dim: $.sizes.embedding_dim,
        trainable: false,
      },
      target_indexer: 'tokens',
    },
  },
  trainer+: { validation_metric: '+cosine' },
}
