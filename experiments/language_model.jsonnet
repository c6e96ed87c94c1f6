// The language model of the experiments, two layers of 512 cells over fastText vectors of 100
// dimensions, on the text that the Makefile beside this puts into LM_DATA:
//
//   LM_DATA=… allennlp train experiments/language_model.jsonnet --include-package allennlp_semfit -s …
//
// 57 minutes in two processes on two cores of a virtual x86 machine, busy with other things as well.
local elmo_semfit = import '../training_config/lib/elmo_semfit.libsonnet';

// 32 sentences × 2 processes × 22 words = 1,390 words an update; 9,262 updates.
local sentences_per_update = 64;
local num_sentences = 592789;

elmo_semfit(
  train_data_path=std.extVar('LM_DATA') + '/train',
  validation_data_path=std.extVar('LM_DATA') + '/heldout.txt',
  model_path=std.extVar('LM_DATA') + '/vectors.bin',
  embedding_dim=100,
  hidden_dim=128,
  cell_size=512,
  num_epochs=1,
  num_updates=num_sentences / sentences_per_update,
  learning_rate=4e-4,
  warmup_steps=200,
  data_loader={
    batch_sampler: { type: 'bucket', batch_size: sentences_per_update / 2, sorting_keys: ['source'] },
  },
  trainer={ checkpointer: { save_every_num_batches: 1000 } },
) + { distributed: { cuda_devices: [-1, -1] } }
