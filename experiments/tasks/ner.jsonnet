// WNUT-17: 3,394 sentences.
local words = import '../representations.libsonnet';

(import '../../training_config/tasks/ner.jsonnet') + (import 'short_training.libsonnet') + {
  dataset_reader+: { token_indexers+: words.indexers },
  model+: {
    text_field_embedder+: {
      token_embedders+: { token_characters+: { encoder+: { num_filters: 64 } } } + words.embedders,
    },
    encoder+: { input_size: 50 + 64 + words.dim, hidden_size: 64, num_layers: 1, dropout: 0.0 },
  },
  data_loader+: { batch_sampler+: { batch_size: 32 } },
  trainer+: { optimizer+: { lr: 0.003 }, num_epochs: 8 },
}
