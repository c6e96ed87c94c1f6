// What the tasks of `training_config/downstream` share. `variable` begins the names of the
// environment variables that say where a task's data is.
function(variable) {
  // Every size of a task is here once, at the paper's value, and all else refers to it: an overlay
  // of a few lines, such as those in `downstream/laptop`, makes another size of the same thing.
  // They are hidden, so that AllenNLP does not see them.
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
  trainer: {
    num_epochs: $.sizes.num_epochs,
    patience: $.sizes.patience,
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They put hooks on every module, which a recovered run would keep to its end.
    run_confidence_checks: false,
  },
}
