// The paper's sizes and corpus, the One Billion Word Benchmark (Chelba et al. 2014), for four GPUs; for another number,
// change `num_gpus`. In the paper, training took 2.5 days on four GTX 1080 Ti. None of these models has been trained to the
// end yet.
//
// For a batch of the longest sentences, the forward pass of ELMo-S saves about 17.5 GB in half precision (calculated). In the
// paper, ELMo-A fit a third as many sentences on a GPU, and ELMo a sixth. For smaller batches, halve `sentences_per_gpu` and
// double `num_accumulated`.
local corpus = std.extVar('ONE_BILLION_WORD');

local num_epochs = 10;
local num_gpus = 4;
local sentences_per_gpu = 768;
// Batches per step.
local num_accumulated = 1;
// 768 sentences × 25 words × 4 processes = 77,000 words per step; 9,863 steps per epoch.
local num_sentences = 30301028;
local batches_per_epoch = std.floor(num_sentences / (sentences_per_gpu * num_gpus));

{
  embedding_dim:: 300,
  hidden_dim:: 512,

  dataset_reader+: { max_sequence_length: 100 },  // Limits the memory for the longest sentences.
  train_data_path: corpus + '/training-monolingual.tokenized.shuffled/news.en-*',
  validation_data_path: corpus + '/heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050',
  model+: { contextualizer+: { cell_size: 4096 } },
  data_loader: {
    type: 'watched',
    batch_sampler: { type: 'bucket', batch_size: sentences_per_gpu, sorting_keys: ['source'] },
    // Streamed. Each worker sorts this number of sentences by length at once, and buffers up to twice as many in shared
    // memory: 0.4 GB per worker.
    max_instances_in_memory: 8 * sentences_per_gpu,
    num_workers: 3,
    // Gives the progress bar a total, and all processes the same number of batches.
    batches_per_epoch: batches_per_epoch,
  },
  trainer+: {
    num_epochs: num_epochs,
    optimizer+: { lr: 2e-4 },
    // Chen et al.'s schedule: four times the learning rate for four times the batch, within 2,000 steps.
    learning_rate_scheduler+: { num_replicas: num_gpus, warmup_steps: 500 },
    bf16: true,
    num_gradient_accumulation_steps: num_accumulated,
    checkpointer+: { save_every_num_batches: 2000 },  // About once per hour.
  },
  [if num_gpus > 1 then 'distributed']: { cuda_devices: std.range(0, num_gpus - 1) },
}
