// The shipped library's model at a size that trains in a second, on the fixtures beside this file.
local elmo_semfit = import '../training_config/lib/elmo_semfit.libsonnet';

elmo_semfit(
  train_data_path='test_fixtures/corpus/train',
  validation_data_path='test_fixtures/corpus/heldout.txt',
  model_path='test_fixtures/vectors.bin',
  embedding_dim=10,
  hidden_dim=6,
  cell_size=8,
  num_epochs=2,
  data_loader={ batch_size: 8, shuffle: true },
  trainer={ optimizer: { type: 'adam', lr: 0.01 } },
)
