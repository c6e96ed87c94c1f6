// ELMo-S with targets of fewer dimensions: the principal components of fastText's vectors (section 5.1 of
// Li et al. 2019). The input vectors are fastText's own.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   export SVD_PATH=data/one_billion_word/pca.txt VOCABULARY_PATH=data/one_billion_word/pca_vocabulary
//   allennlp train-svd "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $SVD_PATH --pca-of $FASTTEXT_MODEL_PATH --dim 150 --vocabulary-dir $VOCABULARY_PATH
//   allennlp train training_config/one_billion_word/elmo_semfit_pca.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_pca_1b
//
// The model has been built but not trained.
(import 'elmo_semfit_svd.jsonnet') + {
  sizes+:: { pca_dim: 150 },
  model+: { head+: { embedding_dim: $.sizes.pca_dim, target_embedder+: { embedding_dim: $.sizes.pca_dim } } },
}
