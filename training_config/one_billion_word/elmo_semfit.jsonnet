// ELMo-S at the paper's size, on the One Billion Word Benchmark (Chelba et al. 2014):
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_1b
//
// 76 million trainable parameters. Four GPUs, as the paper had; with another number, change
// `num_gpus`. The paper took 2.5 days on four GTX 1080 Ti. Of a batch of the longest sentences the
// forward pass keeps about 21 GB in half precision, counted and not measured; on a smaller card, halve
// `sentences_per_gpu` and add `num_gradient_accumulation_steps: 2` to the trainer. This config has been
// built, but not run to its end.
//
// The paper's other models, in the files beside this one, are this with another input or output; they
// differ from it in nothing else.
local elmo_semfit = import '../lib/elmo_semfit.libsonnet';

local corpus = std.extVar('ONE_BILLION_WORD');

local num_epochs = 10;
local num_gpus = 4;
// The largest batch that the paper fitted on a card.
local sentences_per_gpu = 768;
// 768 sentences × 25 words × 4 processes = 77,000 words an update; 9,863 updates an epoch.
local num_sentences = 30301028;
local updates_per_epoch = std.floor(num_sentences / (sentences_per_gpu * num_gpus));

elmo_semfit(
  train_data_path=corpus + '/training-monolingual.tokenized.shuffled/news.en-*',
  validation_data_path=corpus + '/heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050',
  model_path=std.extVar('FASTTEXT_MODEL_PATH'),
  embedding_dim=300,
  hidden_dim=512,
  cell_size=4096,
  // Bounds the memory that the longest sentences take.
  max_sequence_length=100,
  num_epochs=num_epochs,
  num_updates=num_epochs * updates_per_epoch,
  // Chen et al.'s schedule: four times the learning rate for four times the batch.
  learning_rate=2e-4,
  num_replicas=num_gpus,
  warmup_steps=500,
  data_loader={
    batch_sampler: { type: 'bucket', batch_size: sentences_per_gpu, sorting_keys: ['source'] },
    // Streamed. Each worker of each process reads its share of the lines, sorts so many at a time by
    // length, and keeps up to twice as many ready in shared memory: 0.4 GB a worker.
    max_instances_in_memory: 8 * sentences_per_gpu,
    num_workers: 3,
    // So that the progress bar knows the end, and no process waits for one with more sentences.
    batches_per_epoch: updates_per_epoch,
  },
  trainer={
    use_amp: true,
    // Hourly, or so.
    checkpointer: { save_every_num_batches: 2000 },
  },
) + {
  [if num_gpus > 1 then 'distributed']: { cuda_devices: std.range(0, num_gpus - 1) },
}
