// What the experiments change in the language models of `training_config/`: the text, and one pass over 5 million words of it.
local num_sentences = 235008;

{
  local sentences_per_step = super.data_loader.batch_sampler.batch_size,

  corpus:: std.extVar('CORPUS'),
  num_steps:: std.ceil(num_sentences / sentences_per_step),
  train_data_path: $.corpus + '/train',
  validation_data_path: $.corpus + '/validation.txt',
  dataset_reader+: {
    token_indexers+:
      if std.objectHas(super.token_indexers, 'fasttext')
      then { fasttext+: { model_path: $.corpus + '/vectors.bin' } }
      else {},
  },
  data_loader+: {
    // Streamed, so that the corpus is not kept in memory.
    max_instances_in_memory: 100 * sentences_per_step,
    batches_per_epoch: $.num_steps,
  },
  trainer+: {
    num_epochs: 1,
    bf16: false,
    callbacks+: ['run_record'],
  },
}
