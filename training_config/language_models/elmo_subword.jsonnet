// ELMo-Sub of Li et al. 2019: subwords, and a softmax that shares its vectors with the input.
//
//   allennlp train-bpe data/sample/train data/sample/subwords --merges 10000
//   allennlp train training_config/language_models/elmo_subword.jsonnet --include-package allennlp_semfit -s output/elmo_subword
local config = import '../elmo_semfit.jsonnet';
local embedding_dim = config.model.head.embedding_dim;

config {
  dataset_reader+: {
    tokenizer: { type: 'subword', model_path: 'data/sample/subwords/tokenizer.json' },
    token_indexers: { tokens: { type: 'single_id', namespace: 'subwords' } },
  },
  vocabulary: { type: 'from_files', directory: 'data/sample/subwords/vocabulary' },
  model+: {
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: embedding_dim, vocab_namespace: 'subwords' },
      },
    },
    head: {
      type: 'softmax',
      input_dim: config.model.head.input_dim,
      embedding_dim: embedding_dim,
      tie_to_input: true,
      namespace: 'subwords',
    },
  },
  trainer+: { validation_metric: '-perplexity' },
}
