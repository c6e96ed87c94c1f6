// The word representation of a task's model: WORD_REPRESENTATION chooses what replaces the `elmo_semfit` entries of
// `training_config/tasks/`. Each has `indexers`, `embedders` and the dimension of its vectors, `dim`.
//
//   elmo_semfit           one of our language models      LM_ARCHIVE_PATH
//   fasttext              static vectors                  FASTTEXT_MODEL_PATH
//   elmo_semfit_fasttext  both, side by side
//   fasttext_300d         vectors of 300 dimensions
//   elmo_semfit_300d      a language model that reads vectors of 300 dimensions, also with _fasttext
//   elmo_semfit_larger    the larger model
//   elmo_semfit_layer0    the input layer of a language model, without context
//   minilm                a published transformer         MINILM_PATH
//   none                  no pre-trained vectors
local choice = std.extVar('WORD_REPRESENTATION');

local transformer = {
  type: 'pretrained_transformer_mismatched',
  model_name: std.extVar('MINILM_PATH'),
  max_length: 512,
};

local representations = {
  elmo_semfit: { indexers: {}, embedders: {}, dim: 2 * 128 },
  elmo_semfit_300d: self.elmo_semfit,
  elmo_semfit_larger: self.elmo_semfit { dim: 2 * 256 },
  elmo_semfit_layer0: self.elmo_semfit { embedders: { elmo_semfit+: { scalar_mix_parameters: [0, -1000, -1000] } } },
  none: { indexers: {}, embedders: {}, dim: 0 },
  fasttext: {
    indexers: { fasttext: { type: 'fasttext', model_path: std.extVar('FASTTEXT_MODEL_PATH') } },
    embedders: { fasttext: { type: 'fasttext', embedding_dim: 100 } },
    dim: 100,
  },
  fasttext_300d: self.fasttext { embedders+: { fasttext+: { embedding_dim: 300 } }, dim: 300 },
  elmo_semfit_fasttext: self.fasttext { dim: 2 * 128 + 100 },
  elmo_semfit_300d_fasttext: self.fasttext_300d { dim: 2 * 128 + 300 },
  minilm: {
    indexers: { transformer: transformer },
    // A scalar mix of all layers except the embeddings.
    embedders: { transformer: transformer { train_parameters: false, last_layer_only: false } },
    dim: 384,
  },
};

local words =
  if choice in representations then representations[choice]
  else error 'The environment variable WORD_REPRESENTATION is "' + choice + '". ' +
             'It takes one of "' + std.join('", "', std.objectFields(representations)) + '".';
// A hidden field is not part of a config.
local replaced = if std.startsWith(choice, 'elmo_semfit') then {} else { elmo_semfit:: null };

{ indexers: replaced + words.indexers, embedders: replaced + words.embedders, dim: words.dim }
