// The word vectors that a task's model reads, chosen by the environment variable
// WORD_REPRESENTATION: the rows of Table 3 of Li et al. 2019.
//
//   elmo_semfit  ELMo-S            LM_ARCHIVE_PATH: a trained language model's `model.tar.gz`; any of
//                                  those in `training_config`, whatever it reads. The files that it
//                                  reads must be where they were when it was trained.
//   elmo         ELMo              ELMO_OPTIONS_PATH, ELMO_WEIGHTS_PATH: as AllenNLP publishes them
//   fasttext     fastText's alone  FASTTEXT_MODEL_PATH
//   none         neither
//
// Jsonnet is lazy, so a run needs only the variables of what it chooses.
//
//   sizes     its `fasttext_dim`, `elmo_dim` and `elmo_semfit_dim` say how wide each one is, and its
//             `projection_dim`, if it is not null, to what the last two are projected
//   dropout   what is dropped from the two that have a context
//   none      what the choice of that name gives: for a model that would have no words left
//   elmo_key  the name of ELMo in the text field, where `elmo` means something else
//
// The answer has `indexers`, `embedders` and, of these together, the `dim`.
local choice = std.extVar('WORD_REPRESENTATION');

local language_model = { type: 'elmo_semfit', archive_file: std.extVar('LM_ARCHIVE_PATH') };

local projected(sizes, dim) = if sizes.projection_dim == null then dim else sizes.projection_dim;

function(sizes, dropout, none={ indexers: {}, embedders: {}, dim: 0 }, elmo_key='elmo')
  local choices = {
    elmo_semfit: {
      indexers: { elmo_semfit: language_model },
      embedders: {
        elmo_semfit: language_model {
          dropout: dropout,
          // A language model's layers are the longer the higher they are.
          do_layer_norm: true,
          projection_dim: sizes.projection_dim,
        },
      },
      dim: projected(sizes, sizes.elmo_semfit_dim),
    },
    elmo: {
      indexers: { [elmo_key]: { type: 'elmo_characters' } },
      embedders: {
        [elmo_key]: {
          type: 'elmo_token_embedder',
          options_file: std.extVar('ELMO_OPTIONS_PATH'),
          weight_file: std.extVar('ELMO_WEIGHTS_PATH'),
          dropout: dropout,
          projection_dim: sizes.projection_dim,
        },
      },
      dim: projected(sizes, sizes.elmo_dim),
    },
    fasttext: {
      indexers: {
        fasttext: { type: 'fasttext', model_path: std.extVar('FASTTEXT_MODEL_PATH') },
      },
      embedders: { fasttext: { type: 'fasttext', embedding_dim: sizes.fasttext_dim } },
      dim: sizes.fasttext_dim,
    },
    none: none,
  };
  if std.objectHas(choices, choice) then choices[choice]
  else error 'The environment variable WORD_REPRESENTATION is "' + choice + '". ' +
             'It takes one of "' + std.join('", "', std.objectFields(choices)) + '".'
