// The common parts of the configs in `training_config/downstream`. `variable` is the prefix of the
// environment variables with the paths of a task's data, `sorting_keys` are those of its batches.
function(variable, sorting_keys) {
  // All sizes of a task, at the paper's values. The rest of the config refers to them, so a short
  // overlay such as those in `downstream/laptop` can change them. The field is hidden from AllenNLP.
  sizes:: {
    fasttext_dim: 300,
    elmo_dim: 1024,
    elmo_semfit_dim: 1024,
    projection_dim: null,
  },
  train_data_path: std.extVar(variable + '_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar(variable + '_DEV_DATA_PATH'),
  test_data_path: std.extVar(variable + '_TEST_DATA_PATH'),
  evaluate_on_test: true,
  data_loader: {
    batch_sampler: {
      type: 'bucket',
      batch_size: $.sizes.batch_size,
      sorting_keys: sorting_keys,
    },
  },
  trainer: {
    optimizer: { type: 'adam', lr: $.sizes.learning_rate },
    num_epochs: $.sizes.num_epochs,
    patience: $.sizes.patience,
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They add hooks to every module, which a recovered run would keep.
    run_confidence_checks: false,
  },
}
