// ELMo-S with word vectors of a table, such as GloVe's or word2vec's, as its input and its targets. MIMICK
// (Pinter et al. 2017, "Mimicking Word Embeddings using Subword RNNs") predicts the vectors of other words
// from their spelling.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export TABLE_PATH=…/glove.42B.300d.txt MIMICK_ARCHIVE_PATH=data/one_billion_word/mimick/model.tar.gz
//   allennlp train-mimick $TABLE_PATH data/one_billion_word/mimick
//   allennlp train training_config/one_billion_word/elmo_semfit_mimick.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_mimick_1b
//
// Each process reads the table: glove.42B.300d, 1.9 million words, takes 2.5 GB of memory and a few minutes at
// the start. Forked workers of a data loader share it.
//
// 76 million trainable parameters. The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  dataset_reader+: {
    token_indexers: {
      mimick: {
        type: 'mimick',
        archive_file: std.extVar('MIMICK_ARCHIVE_PATH'),
        table_path: std.extVar('TABLE_PATH'),
      },
    },
  },
  model+: {
    text_field_embedder: {
      token_embedders: { mimick: { type: 'mimick', embedding_dim: $.sizes.embedding_dim } },
    },
  },
}
