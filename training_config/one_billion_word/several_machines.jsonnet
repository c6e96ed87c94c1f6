// elmo_semfit.jsonnet on several machines with four GPUs each. Run on each machine:
//
//   export ONE_BILLION_WORD=… FASTTEXT_MODEL_PATH=… NUM_MACHINES=2 PRIMARY_ADDRESS=10.0.0.1
//   allennlp train training_config/one_billion_word/several_machines.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_1b --node-rank 0
//
// with `--node-rank` 0 on the machine at PRIMARY_ADDRESS, and 1, 2, … on the others. The same works for
// the paper's other models; see docs/howto/training.md. The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + (import '../lib/several_machines.libsonnet')
