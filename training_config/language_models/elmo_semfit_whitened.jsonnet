// Whitened targets, which are not in the paper. The training text must be in random order.
//
//   allennlp train training_config/language_models/elmo_semfit_whitened.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_whitened
local config = import '../elmo_semfit.jsonnet';

config { model+: { head+: { whiten_targets: true } } }
