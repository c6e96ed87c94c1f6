// ELMo-S on a sample of Wikipedia. `make train` prepares the sample and the vectors, then runs
//
//   allennlp train training_config/elmo_semfit.jsonnet --include-package allennlp_semfit -s output/elmo_semfit
//
// This takes about five minutes on two x86 cores; `make train` turns on `use_amp` on CPUs with instructions
// for bfloat16. To train on other text, prepare it with `allennlp prepare-corpus` and `allennlp train-fasttext`. Then write a similar config,
// or override the values of this one, where N is the number of updates:
//
//   -o '{"train_data_path": "my/train", "validation_data_path": "my/heldout.txt",
//        "dataset_reader.token_indexers.fasttext.model_path": "my/vectors.bin",
//        "trainer.learning_rate_scheduler.decay_start": 2 N, "….decay_end": 4 N}'
local elmo_semfit = import 'lib/elmo_semfit.libsonnet';

// 16 sentences × 25 words = 400 words per update; 1,197 updates per epoch.
local sentences_per_update = 16;
local num_sentences = 19141;
local num_epochs = 3;

elmo_semfit(
  train_data_path='data/sample/train',
  validation_data_path='data/sample/heldout.txt',
  model_path='data/sample/vectors.bin',
  embedding_dim=100,
  hidden_dim=128,
  cell_size=512,
  num_epochs=num_epochs,
  num_updates=num_epochs * std.ceil(num_sentences / sentences_per_update),
  learning_rate=4e-4,
  warmup_steps=200,
  data_loader={
    // Batches of sentences of similar length.
    batch_sampler: { type: 'bucket', batch_size: sentences_per_update, sorting_keys: ['source'] },
  },
  // If a run is killed, `allennlp train … --recover` resumes from the last checkpoint.
  trainer={ checkpointer: { save_every_num_batches: 500 } },
)
