// The main job at a size that trains in a second, on these fixtures.
local config = import '../training_config/elmo_semfit.jsonnet';
local fixtures = std.strReplace(std.thisFile, 'language_model.jsonnet', '');

config {
  dataset_reader+: { token_indexers+: { fasttext+: { model_path: fixtures + 'vectors.bin' } } },
  train_data_path: fixtures + 'corpus/train',
  validation_data_path: fixtures + 'corpus/validation.txt',
  model+: {
    text_field_embedder+: { token_embedders+: { fasttext+: { embedding_dim: 10 } } },
    contextualizer+: { input_dim: 10, hidden_dim: 6, cell_size: 8 },
    head+: { input_dim: 6, embedding_dim: 10 },
  },
  data_loader: { batch_size: 8, shuffle: true },
  trainer+: {
    num_epochs: 2,
    optimizer+: { lr: 0.01 },
    learning_rate_scheduler+: { num_replicas: 1, warmup_steps: 1, decay_start: 7, decay_end: 14 },
  },
}
