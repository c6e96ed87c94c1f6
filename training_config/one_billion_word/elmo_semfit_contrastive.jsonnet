// ELMo-S with a contrastive head, which is not in the paper: the loss also compares the prediction with the other words of
// the batch. The training text must be in random order.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_contrastive.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_contrastive_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  model+: {
    head: {
      type: 'contrastive',
      input_dim: $.sizes.hidden_dim,
      embedding_dim: $.sizes.embedding_dim,
      center_targets: true,
    },
  },
  trainer+: { validation_metric: '-perplexity' },
}
