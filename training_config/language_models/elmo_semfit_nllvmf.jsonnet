// The von Mises-Fisher loss of Kumar and Tsvetkov 2019.
//
//   allennlp train training_config/language_models/elmo_semfit_nllvmf.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_nllvmf
local config = import '../elmo_semfit.jsonnet';

config { model+: { head+: { distance: 'nllvmf' } } }
