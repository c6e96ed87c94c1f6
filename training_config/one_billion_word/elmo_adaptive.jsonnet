// ELMo-A: 196 million trainable parameters with ELMo's vocabulary of 793,471 words, 120 million of them in the softmax,
// as the paper reports. The paper does not give its cutoffs.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/crawl-300d-2M-subword.bin
//   allennlp train training_config/one_billion_word/elmo_adaptive.jsonnet --include-package allennlp_semfit -s output/elmo_adaptive_1b
(import '../language_models/elmo_adaptive.jsonnet') + (import 'paper_size.libsonnet') + {
  dataset_reader+: { token_indexers+: { fasttext+: { model_path: std.extVar('FASTTEXT_MODEL_PATH') } } },
  model+: { head+: { cutoffs: [20000, 100000] } },
}
