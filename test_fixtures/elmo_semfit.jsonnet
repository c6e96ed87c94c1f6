// The model of `training_config/lib` at a size that trains in a second, on these fixtures.
local elmo_semfit = import '../training_config/lib/elmo_semfit.libsonnet';

elmo_semfit(
  train_data_path='test_fixtures/corpus/train',
  validation_data_path='test_fixtures/corpus/heldout.txt',
  model_path='test_fixtures/vectors.bin',
  embedding_dim=10,
  hidden_dim=6,
  cell_size=8,
  num_epochs=2,
  num_updates=14,
  learning_rate=0.01,
  warmup_steps=1,
  num_replicas=1,
  data_loader={ batch_size: 8, shuffle: true },
)
