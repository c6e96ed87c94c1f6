// ELMo-S at the paper's size, on the One Billion Word Benchmark (Chelba et al. 2014):
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_1b
//
// 76 million trainable parameters. It uses four GPUs, like the paper; for another number, change
// `num_gpus`. In the paper, training took 2.5 days on four GTX 1080 Ti. For a batch of the longest
// sentences, the forward pass saves about 21 GB in half precision (calculated, not measured). On a
// smaller GPU, halve `sentences_per_gpu` and double `num_accumulated`. The model has been built but not
// trained to the end.
//
// The configs of the paper's other models change the input or output of this one and nothing else.
local elmo_semfit = import '../lib/elmo_semfit.libsonnet';

local corpus = std.extVar('ONE_BILLION_WORD');

local num_epochs = 10;
local num_gpus = 4;
// The largest batch that fit on a GPU in the paper.
local sentences_per_gpu = 768;
// Batches per update.
local num_accumulated = 1;
// 768 sentences × 25 words × 4 processes = 77,000 words per update; 9,863 updates per epoch.
local num_sentences = 30301028;
local batches_per_epoch = std.floor(num_sentences / (sentences_per_gpu * num_gpus));

elmo_semfit(
  train_data_path=corpus + '/training-monolingual.tokenized.shuffled/news.en-*',
  validation_data_path=corpus + '/heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050',
  model_path=std.extVar('FASTTEXT_MODEL_PATH'),
  embedding_dim=300,
  hidden_dim=512,
  cell_size=4096,
  // Limits the memory for the longest sentences.
  max_sequence_length=100,
  num_epochs=num_epochs,
  num_updates=num_epochs * batches_per_epoch / num_accumulated,
  // Chen et al.'s schedule: four times the learning rate for four times the batch.
  learning_rate=2e-4,
  num_replicas=num_gpus,
  warmup_steps=500,
  data_loader={
    batch_sampler: { type: 'bucket', batch_size: sentences_per_gpu, sorting_keys: ['source'] },
    // Streamed. Each worker sorts this number of sentences by length at once, and buffers up to twice as
    // many in shared memory: 0.4 GB per worker.
    max_instances_in_memory: 8 * sentences_per_gpu,
    num_workers: 3,
    // Gives the progress bar a total, and all processes the same number of batches.
    batches_per_epoch: batches_per_epoch,
  },
  trainer={
    use_amp: true,
    num_gradient_accumulation_steps: num_accumulated,
    // About once per hour.
    checkpointer: { save_every_num_batches: 2000 },
  },
) + {
  [if num_gpus > 1 then 'distributed']: { cuda_devices: std.range(0, num_gpus - 1) },
}
