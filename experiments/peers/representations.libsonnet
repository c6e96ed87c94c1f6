// Adds the peers to the word representations of a laptop config in `training_config/downstream`:
//
//   (import 'training_config/downstream/laptop/ner.jsonnet') + (import 'experiments/peers/representations.libsonnet')
//
// WORD_REPRESENTATION is then also `word2vec`, `bert`, `electra` or `flair`, and PEER_PATH the directory
// that `python -m experiments.peers.train` has written. `flair` needs `--include-package experiments.peers.flair_embedder`.
local path = std.extVar('PEER_PATH');

local transformer(dim) = {
  local model = {
    type: 'pretrained_transformer_mismatched',
    model_name: path,
    // That of the sequences in training. Longer sentences are split.
    max_length: 128,
  },
  indexers: { transformer: model },
  embedders: {
    transformer: model {
      train_parameters: false,
      // A scalar mix of the layers but the embeddings.
      last_layer_only: false,
    },
  },
  dim: dim,
};

local flair = { type: 'flair', model_path: path + '/model.pt' };

{
  sizes+:: {
    word2vec_dim: 100,
    transformer_dim: 256,
    flair_dim: 2 * 128,
    representations+: {
      word2vec: {
        indexers: { word2vec: { type: 'single_id', namespace: 'word2vec' } },
        embedders: {
          word2vec: {
            type: 'embedding',
            embedding_dim: $.sizes.word2vec_dim,
            vocab_namespace: 'word2vec',
            pretrained_file: path + '/vectors.txt',
            trainable: false,
          },
        },
        dim: $.sizes.word2vec_dim,
      },
      bert: transformer($.sizes.transformer_dim),
      electra: self.bert,
      flair: { indexers: { flair: flair }, embedders: { flair: flair }, dim: $.sizes.flair_dim },
    },
  },
}
