// The 8,544 sentences of the Stanford Sentiment Treebank. Its 318,582 phrases would take hours.
local words = import '../representations.libsonnet';

(import '../../training_config/tasks/sst5.jsonnet') + (import 'short_training.libsonnet') + {
  dataset_reader+: { token_indexers+: words.indexers, use_subtrees: false },
  model+: {
    text_field_embedder+: { token_embedders+: words.embedders { tokens+: { embedding_dim: 100 } } },
    pre_encode_feedforward+: { input_dim: 100 + words.dim },
    encoder+: { hidden_size: 64 },
  },
  data_loader+: { batch_sampler+: { batch_size: 50 } },
  trainer+: { optimizer+: { lr: 0.002 }, num_epochs: 4 },
}
