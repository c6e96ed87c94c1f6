// ELMo-S with targets from the corpus itself: vectors from the SVD of how often words occur near each
// other (section 5.1 of Li et al. 2019). The input vectors are fastText's.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   export SVD_PATH=data/one_billion_word/svd.txt VOCABULARY_PATH=data/one_billion_word/svd_vocabulary
//   allennlp train-svd "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $SVD_PATH --vocabulary-dir $VOCABULARY_PATH
//   allennlp train training_config/one_billion_word/elmo_semfit_svd.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_svd_1b
//
// The model has been built but not trained.
(import 'elmo_semfit_random.jsonnet') + {
  model+: {
    head+: {
      // An `embedding` gives random vectors to words that the file lacks. The vocabulary has the file's
      // words, and the file a row for @@UNKNOWN@@.
      target_embedder+: { pretrained_file: std.extVar('SVD_PATH') },
    },
  },
}
