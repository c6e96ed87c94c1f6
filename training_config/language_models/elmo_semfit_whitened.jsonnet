// Whitened targets, which are not in the paper. If you stream the text (`max_instances_in_memory`), shuffle its lines first:
// its start sets the mean and the covariance of the targets.
//
//   allennlp train training_config/language_models/elmo_semfit_whitened.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_whitened
local config = import '../elmo_semfit.jsonnet';

config { model+: { head+: { whiten_targets: true } } }
