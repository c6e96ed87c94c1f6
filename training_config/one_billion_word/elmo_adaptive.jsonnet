// ELMo-A of Li et al. 2019: ELMo-S with an adaptive softmax as output layer.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin VOCABULARY_PATH=data/one_billion_word/vocabulary
//   allennlp count-vocabulary "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $VOCABULARY_PATH --min-count 3
//   allennlp train training_config/one_billion_word/elmo_adaptive.jsonnet --include-package allennlp_semfit -s output/elmo_adaptive_1b
//
// 196 million trainable parameters with ELMo's vocabulary of 793,471 words, 120 million of them the
// softmax's, as the paper reports; the paper does not give its cutoffs. There, a third of the sentences
// of ELMo-S fit on a GPU: see elmo_semfit.jsonnet for smaller batches. The model has been built but not
// trained.
(import 'elmo_semfit.jsonnet') + (import '../lib/vocabulary.libsonnet') + {
  sizes+:: { cutoffs: [20000, 100000], div_value: 2.0 },
  model+: {
    head: {
      type: 'adaptive_softmax',
      input_dim: $.sizes.hidden_dim,
      cutoffs: $.sizes.cutoffs,
      div_value: $.sizes.div_value,
    },
  },
}
