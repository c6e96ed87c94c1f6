// A masked language model of whole words (the paper's section 6 names it as future work): an encoder like BERT's, but with rotary
// position embeddings, fastText vectors as its input, and the contrastive head in place of a softmax over subwords.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/masked_lm.jsonnet --include-package allennlp_semfit -s output/masked_lm_1b
//
// The model has been built but not trained.
(import 'elmo_semfit_contrastive.jsonnet') + {
  // The dimension of the layers of ELMo-S.
  local hidden_size = 2 * $.sizes.hidden_dim,
  model+: {
    type: 'masked_lm',
    contextualizer: {
      type: 'hugging_face_encoder',
      input_dim: $.sizes.embedding_dim,
      model_type: 'roformer',
      config: {
        hidden_size: hidden_size,
        // As many parameters as ELMo-S, at the paper's size.
        num_hidden_layers: std.round(3 * $.sizes.num_layers * $.sizes.cell_size / (8 * $.sizes.hidden_dim)),
        num_attention_heads: std.ceil(hidden_size / 64),
        intermediate_size: 4 * hidden_size,
        hidden_dropout_prob: $.sizes.dropout,
        attention_probs_dropout_prob: $.sizes.dropout,
        // For vectors of longer sentences than those in training.
        max_position_embeddings: 4096,
      },
    },
    head+: { input_dim: hidden_size },
  },
  // Transformers need a lower learning rate.
  trainer+: { optimizer+: { lr: $.sizes.learning_rate / 2 } },
}
