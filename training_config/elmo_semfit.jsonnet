// The fresh-machine job: ELMo-S on a sample of Wikipedia. `make train` makes the sample and
// the vectors, then runs
//
//   allennlp train training_config/elmo_semfit.jsonnet --include-package allennlp_semfit -s output/elmo_semfit
//
// On other text, made ready with `allennlp prepare-corpus` and `allennlp train-fasttext`, either by
// overrides, as long as the vectors have 100 dimensions as well:
//
//   -o '{"train_data_path": "my/train", "validation_data_path": "my/heldout.txt",
//        "dataset_reader.token_indexers.fasttext.model_path": "my/vectors.bin"}'
//
// or by a config of your own that calls the function below with other paths and sizes.
local elmo_semfit = import 'lib/elmo_semfit.libsonnet';

elmo_semfit(
  train_data_path='data/sample/train',
  validation_data_path='data/sample/heldout.txt',
  model_path='data/sample/vectors.bin',
  embedding_dim=100,
  hidden_dim=128,
  cell_size=512,
  num_epochs=4,
  data_loader={
    // 16 sentences × 24 words = 390 words an update. Sentences of like length together.
    batch_sampler: { type: 'bucket', batch_size: 16, sorting_keys: ['source'] },
  },
  trainer={
    optimizer: { type: 'adam', lr: 4e-4 },
    // 1200 updates an epoch. From 4e-4 to 1.6e-3 in the first 800, and in the second half on down
    // to 2e-4.
    learning_rate_scheduler: {
      type: 'large_batch',
      num_replicas: 4,
      warmup_steps: 200,
      decay_start: 4 * 2400,
      decay_end: 4 * 4800,
    },
    // So that a run that is killed loses minutes: `allennlp train … --recover` goes on from there.
    checkpointer: { save_every_num_batches: 400 },
  },
)
