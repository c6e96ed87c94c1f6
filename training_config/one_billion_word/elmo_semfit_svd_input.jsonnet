// ELMo-S without fastText: vectors from the SVD of the corpus's word pairs are the input and the targets.
// All words without a row in the table have the same vector, that of @@UNKNOWN@@.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export SVD_PATH=data/one_billion_word/svd.txt VOCABULARY_PATH=data/one_billion_word/svd_vocabulary
//   allennlp train-svd "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $SVD_PATH --vocabulary-dir $VOCABULARY_PATH
//   allennlp train training_config/one_billion_word/elmo_semfit_svd_input.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_svd_input_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  dataset_reader+: { token_indexers: { tokens: { type: 'single_id' } } },
  vocabulary: { type: 'from_files', directory: std.extVar('VOCABULARY_PATH') },
  model+: {
    text_field_embedder: {
      token_embedders: {
        tokens: {
          type: 'embedding',
          embedding_dim: $.sizes.embedding_dim,
          pretrained_file: std.extVar('SVD_PATH'),
          // They are also the targets.
          trainable: false,
        },
      },
    },
  },
}
