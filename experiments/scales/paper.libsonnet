// The paper's models at the paper's size, with text from where the Makefile has put it.
{
  train_data_path: std.extVar('LM_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('LM_DEV_DATA_PATH'),
  // All are kept, to see what was learnt when.
  trainer+: { checkpointer+: { keep_most_recent_by_count: null } },
}
