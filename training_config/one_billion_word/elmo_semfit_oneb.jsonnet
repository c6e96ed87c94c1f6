// ELMo-S OneB: ELMo-S with fastText vectors of the same corpus, 76 million trainable parameters.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=data/one_billion_word/vectors.bin
//   allennlp train-fasttext "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $FASTTEXT_MODEL_PATH --dim 300
//   allennlp train training_config/one_billion_word/elmo_semfit_oneb.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_oneb_1b
import 'elmo_semfit.jsonnet'
