// The word representation of a task's model: what WORD_REPRESENTATION says in place of the `elmo_semfit` entries of
// `training_config/tasks/`. Each has `indexers`, `embedders` and the dimension of its vectors, `dim`.
//
//   elmo_semfit           a language model of ours        LM_ARCHIVE_PATH
//   fasttext              static vectors                  FASTTEXT_MODEL_PATH
//   elmo_semfit_fasttext  both, side by side
//   none                  no pre-trained vectors
//   word2vec, bert, electra, flair                        PEER_PATH: the directory that `experiments.peers.train` wrote
local choice = std.extVar('WORD_REPRESENTATION');

local transformer = {
  local model = {
    type: 'pretrained_transformer_mismatched',
    model_name: std.extVar('PEER_PATH'),
    // That of the sequences in training. Longer sentences are split.
    max_length: 128,
  },
  indexers: { transformer: model },
  embedders: {
    // A scalar mix of the layers but the embeddings.
    transformer: model { train_parameters: false, last_layer_only: false },
  },
  dim: 256,
};

local flair = { type: 'flair', model_path: std.extVar('PEER_PATH') + '/model.pt' };

local representations = {
  elmo_semfit: { indexers: {}, embedders: {}, dim: 2 * 128 },
  none: { indexers: {}, embedders: {}, dim: 0 },
  fasttext: {
    indexers: { fasttext: { type: 'fasttext', model_path: std.extVar('FASTTEXT_MODEL_PATH') } },
    embedders: { fasttext: { type: 'fasttext', embedding_dim: 100 } },
    dim: 100,
  },
  elmo_semfit_fasttext: self.fasttext { dim: 2 * 128 + 100 },
  word2vec: {
    indexers: { word2vec: { type: 'single_id', namespace: 'word2vec' } },
    embedders: {
      word2vec: {
        type: 'embedding',
        embedding_dim: 100,
        vocab_namespace: 'word2vec',
        pretrained_file: std.extVar('PEER_PATH') + '/vectors.txt',
        trainable: false,
      },
    },
    dim: 100,
  },
  bert: transformer,
  electra: transformer,
  flair: { indexers: { flair: flair }, embedders: { flair: flair }, dim: 2 * 128 },
};

local words =
  if choice in representations then representations[choice]
  else error 'The environment variable WORD_REPRESENTATION is "' + choice + '". ' +
             'It takes one of "' + std.join('", "', std.objectFields(representations)) + '".';
// A hidden field is not part of a config.
local replaced = if std.startsWith(choice, 'elmo_semfit') then {} else { elmo_semfit:: null };

{ indexers: replaced + words.indexers, embedders: replaced + words.embedders, dim: words.dim }
