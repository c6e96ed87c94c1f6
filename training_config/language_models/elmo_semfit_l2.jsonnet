// The squared Euclidean distance as loss.
//
//   allennlp train training_config/language_models/elmo_semfit_l2.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_l2
local config = import '../elmo_semfit.jsonnet';

config { model+: { head+: { distance: 'l2' } } }
