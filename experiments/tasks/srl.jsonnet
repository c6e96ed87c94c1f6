// PropBank on the English Web Treebank: the first 8,000 of its 40,000 frames, all of one of its five genres, answers.
local words = import '../representations.libsonnet';

(import '../../training_config/tasks/srl.jsonnet') + (import 'short_training.libsonnet') + {
  // Without other vectors, a word embedding.
  local tokens = if words.dim == 0 then 'tokens',
  local dim = if words.dim == 0 then 100 else words.dim,

  dataset_reader+: {
    token_indexers+: words.indexers { [tokens]: { type: 'single_id' } },
    max_instances: 8000,
  },
  validation_dataset_reader: $.dataset_reader { max_instances: null },
  model+: {
    text_field_embedder+: {
      token_embedders+: words.embedders { [tokens]: { type: 'embedding', embedding_dim: dim } },
    },
    encoder+: { input_size: dim + 32, hidden_size: 64, num_layers: 2 },
    binary_feature_dim: 32,
  },
  data_loader+: { batch_sampler+: { batch_size: 40 } },
  trainer+: { optimizer: { type: 'adam', lr: 0.006 }, num_epochs: 6 },
}
