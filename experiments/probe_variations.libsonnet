// For probes of MODEL-VARIATION: additions to the config of the model, with the sizes of the laptop scale.
{
  // What a prediction is compared with. Without a limit, a batch has about 600 distinct words.
  '16_negatives': { model+: { head+: { max_negatives: 16 } } },
  '128_negatives': { model+: { head+: { max_negatives: 128 } } },
  original_targets: { model+: { head+: { center_targets: false } } },
  // Of the cosines. By default it begins with 10, and is learned.
  scale_30: { model+: { initializer: { regexes: [['log_scale', { type: 'constant', val: std.log(30) }]] } } },
  // The same text in other batches: 64 sentences by default.
  '16_sentences': { data_loader+: { batch_sampler+: { batch_size: 16 } }, sizes+:: { num_updates: 4 * super.num_updates } },
  double_learning_rate: { sizes+:: { learning_rate: super.learning_rate * 2 } },
  '512_cells': { sizes+:: { cell_size: 512 } },
}
