// QRNNs in place of LSTMs, with about as many parameters.
//
//   allennlp train training_config/language_models/elmo_semfit_qrnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_qrnn
local config = import '../elmo_semfit.jsonnet';

config {
  model+: {
    contextualizer+: {
      type: 'bidirectional_language_model_qrnn',
      // A QRNN has no recurrent matrix.
      num_layers: super.num_layers + 1,
      cell_size: std.floor(super.cell_size * 7 / 8),
    },
  },
}
