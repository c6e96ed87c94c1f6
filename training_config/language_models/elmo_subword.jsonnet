// ELMo-Sub of Li et al. 2019: subwords, and a softmax that shares its vectors with the input.
//
// docs/howto/corpus.md shows how to train the subwords, here with `corpus = Path("data/sample")` and `vocab_size=10_000`.
//
//   allennlp train training_config/language_models/elmo_subword.jsonnet --include-package allennlp_semfit -s output/elmo_subword
local config = import '../elmo_semfit.jsonnet';

config {
  dataset_reader+: {
    tokenizer: { type: 'subword', model_path: $.corpus + '/subwords/tokenizer.json' },
    token_indexers: { tokens: { type: 'single_id', namespace: 'subwords' } },
  },
  vocabulary: { type: 'from_files', directory: $.corpus + '/subwords/vocabulary' },
  model+: {
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: $.embedding_dim, vocab_namespace: 'subwords' },
      },
    },
    head: {
      type: 'softmax',
      input_dim: $.hidden_dim,
      embedding_dim: $.embedding_dim,
      tie_to_input: true,
      namespace: 'subwords',
    },
  },
  trainer+: { validation_metric: '-perplexity' },
}
