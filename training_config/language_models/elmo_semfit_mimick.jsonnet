// Word vectors of a table of 100 dimensions, such as those of GloVe or word2vec, as input and targets. MIMICK (Pinter et al.
// 2017) predicts the vectors of other words from their spelling.
//
//   export TABLE_PATH=…/glove.6B.100d.txt
//   allennlp train training_config/mimick.jsonnet --include-package allennlp_semfit -s output/mimick
//   allennlp train training_config/language_models/elmo_semfit_mimick.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_mimick
//
// Each process reads the table; the workers of a data loader share it. 1.9 million words of 300 dimensions take 2.5 GB of
// memory, and a few minutes to read.
local config = import '../elmo_semfit.jsonnet';

config {
  dataset_reader+: {
    token_indexers: {
      mimick: {
        type: 'mimick',
        archive_file: 'output/mimick/model.tar.gz',
        table_path: std.extVar('TABLE_PATH'),
      },
    },
  },
  model+: {
    text_field_embedder: {
      token_embedders: { mimick: { type: 'mimick', embedding_dim: $.embedding_dim } },
    },
  },
}
