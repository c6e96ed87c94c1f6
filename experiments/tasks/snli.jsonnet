// 17,172 training pairs: 8,842 of SNLI's development data, and 8,330 counterfactually revised ones. For so few, use less
// dropout and a higher learning rate.
local words = import '../representations.libsonnet';

(import '../../training_config/tasks/snli.jsonnet') + (import 'short_training.libsonnet') + {
  // Without other vectors, a word embedding.
  local tokens = if words.dim == 0 then 'tokens',
  local dim = if words.dim == 0 then 100 else words.dim,

  dataset_reader+: {
    // The revised pairs are not tokenized. All pairs are English.
    tokenizer: 'letters_digits',
    token_indexers+: words.indexers { [tokens]: { type: 'single_id', lowercase_tokens: true } },
  },
  model+: {
    dropout: 0.2,
    text_field_embedder+: {
      token_embedders+: words.embedders { [tokens]: { type: 'embedding', embedding_dim: dim } },
    },
    encoder+: { input_size: dim, hidden_size: 64 },
    output_feedforward+: { dropout: 0.2 },
  },
  data_loader+: { batch_sampler+: { batch_size: 64 } },
  trainer+: { optimizer+: { lr: 0.004 }, num_epochs: 8 },
}
