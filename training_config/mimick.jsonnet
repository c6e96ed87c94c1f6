// MIMICK (Pinter et al. 2017) predicts vectors from the spelling, for words that a table, such as GloVe's or word2vec's,
// lacks. The sizes are the paper's; Adam needs fewer epochs than the paper's SGD.
//
//   export TABLE_PATH=…/glove.6B.100d.txt
//   allennlp train training_config/mimick.jsonnet --include-package allennlp_semfit -s output/mimick
//
// `best_validation_cosine` is that of the predictions and the vectors of the validation words, and
// `best_validation_baseline_cosine` that of the best constant prediction.
local table_path = std.extVar('TABLE_PATH');  // plain or compressed text, or '(glove.6B.zip)#glove.6B.100d.txt'
local dim = 100;  // of the table's vectors
local is_lowercase = true;  // whether no word of the table has a capital letter, as in glove.6B

local char_dim = 20;
local hidden_dim = 50;  // of each direction
local num_epochs = 20;
local reader = {
  type: 'word_vectors',
  tokenizer: { type: 'character', lowercase_characters: is_lowercase, start_tokens: ['<w>'], end_tokens: ['</w>'] },
  max_words: 100000,  // the first of the table, which are the most frequent
  validation_fraction: 0.1,  // of the words, drawn at random
};

{
  type: 'resumable',  // A killed training resumes with --recover.
  dataset_reader: reader { subset: 'train' },
  validation_dataset_reader: reader { subset: 'validation' },
  train_data_path: table_path,
  validation_data_path: table_path,
  datasets_for_vocab_creation: ['train'],
  vocabulary: { min_count: { characters: 2 } },  // Rarer characters train the vector of unknown ones.
  model: {
    type: 'mimick',
    text_field_embedder: {
      token_embedders: { characters: { type: 'embedding', embedding_dim: char_dim, vocab_namespace: 'characters' } },
    },
    seq2vec_encoder: { type: 'lstm', input_size: char_dim, hidden_size: hidden_dim, bidirectional: true },
    feedforward: { input_dim: 2 * hidden_dim, num_layers: 2, hidden_dims: [dim, dim], activations: ['tanh', 'linear'] },
  },
  data_loader: { batch_sampler: { type: 'bucket', batch_size: 256, sorting_keys: ['word'] } },
  validation_data_loader: { batch_size: 1024 },
  trainer: {
    num_epochs: num_epochs,
    patience: num_epochs,  // Never stops early.
    optimizer: { type: 'fused_adam', lr: 0.01 },
    learning_rate_scheduler: 'polynomial_decay',
    validation_metric: '+cosine',
    grad_norm: 5.0,
    checkpointer: 'resumable',
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    run_confidence_checks: false,  // They add hooks to every module, which a resumed run would keep.
  },
}
