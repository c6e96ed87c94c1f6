// SRUs in place of LSTMs, with about as many parameters.
//
//   allennlp train training_config/language_models/elmo_semfit_sru.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_sru
local config = import '../elmo_semfit.jsonnet';

config {
  model+: {
    contextualizer+: {
      type: 'bidirectional_language_model_sru',
      // An SRU has no recurrent matrix.
      num_layers: 2 * super.num_layers,
      cell_size: std.floor(super.cell_size * 7 / 8),
    },
  },
}
