// The paper's models at the paper's size, with the text that the Makefile prepares.
{
  train_data_path: std.extVar('LM_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('LM_DEV_DATA_PATH'),
  // Keep all checkpoints to compare them by training time.
  trainer+: { checkpointer+: { keep_most_recent_by_count: null } },
}
