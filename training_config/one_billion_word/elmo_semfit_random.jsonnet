// A control for ELMo-S: the targets are random vectors, one for each word of a vocabulary, so the output
// layer has no information from fastText. The input vectors are fastText's.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin VOCABULARY_PATH=data/one_billion_word/vocabulary
//   allennlp count-vocabulary "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $VOCABULARY_PATH --min-count 3
//   allennlp train training_config/one_billion_word/elmo_semfit_random.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_random_1b
//
// The model has been built but not trained.
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
