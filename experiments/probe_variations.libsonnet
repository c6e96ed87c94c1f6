// For probes of MODEL-VARIATION: additions to the config of the model, with the sizes of the laptop scale.
{
  // What a prediction is compared with. Without a limit, a batch has about 600 distinct words.
  '16_negatives': { model+: { head+: { max_negatives: 16 } } },
  '128_negatives': { model+: { head+: { max_negatives: 128 } } },
  original_targets: { model+: { head+: { center_targets: false } } },
  whitened_targets: { model+: { head+: { center_targets: false, whiten_targets: true } } },
  logq: { model+: { head+: { log_q_correction: true } } },
  // Of the cosines. By default it begins with 10, and is learned.
  scale_30: { model+: { initializer: { regexes: [['log_scale', { type: 'constant', val: std.log(30) }]] } } },
  // The same text in other batches: 64 sentences by default.
  '16_sentences': { data_loader+: { batch_sampler+: { batch_size: 16 } }, sizes+:: { num_updates: 4 * super.num_updates } },
  '256_sentences': { data_loader+: { batch_sampler+: { batch_size: 256 } }, sizes+:: { num_updates: super.num_updates / 4 } },
  half_learning_rate: { sizes+:: { learning_rate: super.learning_rate / 2 } },
  double_learning_rate: { sizes+:: { learning_rate: super.learning_rate * 2 } },
  // A larger model, and more text.
  '512_cells': { sizes+:: { cell_size: 512 } },
  double_text: { sizes+:: { num_updates: 2 * super.num_updates } },
}
