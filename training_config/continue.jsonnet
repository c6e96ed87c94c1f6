// Continues the training of a language model on other text. Everything that is not set here, from the
// vectors to the head, is that of the trained model; see docs/howto/continue.md.
//
//   export LM_ARCHIVE_PATH=output/elmo_semfit/model.tar.gz
//   export LM_CONFIG=$(tar -xzOf $LM_ARCHIVE_PATH config.json)
//   export LM_TRAIN_DATA_PATH=… LM_VALIDATION_DATA_PATH=…
//   allennlp train training_config/continue.jsonnet --include-package allennlp_semfit -s output/continued
local trained = std.parseJson(std.extVar('LM_CONFIG'));
local archive = std.extVar('LM_ARCHIVE_PATH');

// For exported folders, which do not store the settings of their training, and archives that lack some of these.
local defaults = {
  type: 'resumable',
  validation_data_loader: { batch_size: 64 },
  trainer: {
    optimizer: { type: 'fused_adam' },
    grad_norm: 5.0,
    checkpointer: { type: 'resumable', save_every_num_batches: 250 },
    run_confidence_checks: false,
  },
};
local optimizer = std.get(std.get(trained, 'trainer', defaults.trainer), 'optimizer', {});

defaults + trained + {
  train_data_path: std.extVar('LM_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('LM_VALIDATION_DATA_PATH'),
  model+: { pretrained_file: archive },
  // The indices of words or subwords, if the model has any, must remain the same.
  vocabulary: if std.get(trained, 'vocabulary') == { type: 'empty' } then trained.vocabulary else { type: 'from_files', directory: archive },
  data_loader: { batch_sampler: { type: 'bucket', batch_size: 16, sorting_keys: ['source'] } },
  trainer+: {
    num_epochs: 5,
    // `"adam"` abbreviates `{ type: 'adam' }`. A fourth of the highest rate of training_config/elmo_semfit.jsonnet.
    optimizer: (if std.isString(optimizer) then { type: optimizer } else optimizer) { lr: 4e-4 },
    // The learning rate rises in the first tenth of the steps, then falls to a 32nd.
    learning_rate_scheduler: { type: 'slanted_triangular' },
  },
  distributed:: null,
  // An exported folder stores the language, which is not a key of a training config.
  language:: null,
}
