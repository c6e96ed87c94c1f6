// Targets from the corpus itself: vectors from the SVD of how often words occur near each other (section 4.2 of Li et al.
// 2019). The input vectors are those of fastText.
//
//   allennlp train-svd data/sample/train data/sample/svd.txt --vocabulary-dir data/sample/svd_vocabulary --dim 100
//   allennlp train training_config/language_models/elmo_semfit_svd.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_svd
local config = import 'elmo_semfit_random.jsonnet';

config {
  vocabulary: { type: 'from_files', directory: $.corpus + '/svd_vocabulary' },
  datasets_for_vocab_creation:: null,
  // The file has a row for each word of the vocabulary and for @@UNKNOWN@@.
  model+: { head+: { target_embedder+: { pretrained_file: $.corpus + '/svd.txt' } } },
}
