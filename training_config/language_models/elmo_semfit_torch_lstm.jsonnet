// PyTorch's LSTMs: without clipping, and with layer normalization outside of the recurrence.
//
//   allennlp train training_config/language_models/elmo_semfit_torch_lstm.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_torch_lstm
local config = import '../elmo_semfit.jsonnet';

config { model+: { contextualizer+: { type: 'bidirectional_language_model_torch_lstm' } } }
