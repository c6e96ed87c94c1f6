// ELMo-S OneB of Li et al. 2019: ELMo-S with fastText vectors trained on the same corpus.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export OWN_FASTTEXT_MODEL_PATH=data/one_billion_word/vectors.bin
//   allennlp train-fasttext "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $OWN_FASTTEXT_MODEL_PATH
//   allennlp train training_config/one_billion_word/elmo_semfit_oneb.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_oneb
//
// 76 million trainable parameters. The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  dataset_reader+: {
    token_indexers+: { fasttext+: { model_path: std.extVar('OWN_FASTTEXT_MODEL_PATH') } },
  },
}
