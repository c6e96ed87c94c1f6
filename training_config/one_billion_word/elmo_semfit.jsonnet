// ELMo-S with the fastText vectors of Common Crawl: 76 million trainable parameters.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_1b
(import '../elmo_semfit.jsonnet') + (import 'paper_size.libsonnet') + {
  dataset_reader+: { token_indexers+: { fasttext+: { model_path: std.extVar('FASTTEXT_MODEL_PATH') } } },
}
