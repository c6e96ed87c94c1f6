// A masked language model of whole words, which the paper names as future work (section 7): an encoder like that of BERT,
// but with rotary position embeddings, fastText vectors as its input, and the contrastive head.
//
//   allennlp train training_config/language_models/masked_lm.jsonnet --include-package allennlp_semfit -s output/masked_lm
local config = import 'elmo_semfit_contrastive.jsonnet';
local lstm = config.model.contextualizer;

config {
  local hidden_size = 2 * $.hidden_dim,
  // The number of layers that would have about as many parameters as the LSTMs, with an `intermediate_size` of
  // 4 × `hidden_size`. This is not an integer, so `intermediate_size` makes up for the rounding.
  local size = 3 * lstm.num_layers * lstm.cell_size / (8 * $.hidden_dim),
  local num_layers = std.max(1, std.round(size)),

  model+: {
    type: 'masked_lm',
    contextualizer: {
      type: 'hugging_face_encoder',
      input_dim: $.embedding_dim,
      model_type: 'roformer',
      config: {
        hidden_size: hidden_size,
        num_hidden_layers: num_layers,
        num_attention_heads: std.ceil(hidden_size / 64),
        intermediate_size: std.max(hidden_size, std.round(hidden_size * (6 * size / num_layers - 2))),
        hidden_dropout_prob: lstm.dropout,
        attention_probs_dropout_prob: lstm.dropout,
        // Allows longer sentences than those in training.
        max_position_embeddings: 4096,
      },
    },
    head+: { input_dim: hidden_size },
  },
  // Transformers need a lower learning rate.
  trainer+: { optimizer+: { lr: super.lr / 2 } },
}
