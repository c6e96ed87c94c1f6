// A contrastive head, which is not in the paper: the loss also compares the prediction with the other words of the batch.
//
//   allennlp train training_config/language_models/elmo_semfit_contrastive.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_contrastive
local config = import '../elmo_semfit.jsonnet';

config {
  model+: {
    head: {
      type: 'contrastive',
      input_dim: $.hidden_dim,
      embedding_dim: $.embedding_dim,
    },
  },
  trainer+: { validation_metric: '-perplexity' },
}
