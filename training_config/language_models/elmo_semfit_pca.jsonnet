// Targets of fewer dimensions: the principal components of fastText's vectors (section 4.2 of Li et al. 2019). The input
// vectors are those of fastText. Whitened vectors have no principal components, so train others for them:
//
//   allennlp train-fasttext data/sample/train data/sample/plain.bin --dim 100
//   allennlp train-svd data/sample/train data/sample/pca.txt --pca-of data/sample/plain.bin --dim 50 --vocabulary-dir data/sample/pca_vocabulary
//   allennlp train training_config/language_models/elmo_semfit_pca.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_pca
local config = import 'elmo_semfit_random.jsonnet';

config {
  vocabulary: { type: 'from_files', directory: $.corpus + '/pca_vocabulary' },
  datasets_for_vocab_creation:: null,
  model+: {
    head+: {
      embedding_dim: 50,
      target_embedder+: { embedding_dim: 50, pretrained_file: $.corpus + '/pca.txt' },
    },
  },
}
