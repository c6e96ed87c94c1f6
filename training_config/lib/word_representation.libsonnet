// The word representation of a task's model, as in Table 3 of Li et al. 2019. The environment variable
// WORD_REPRESENTATION chooses it; each needs other environment variables:
//
//   elmo_semfit  ELMo-S         LM_ARCHIVE_PATH: the `model.tar.gz` of a language model trained with any
//                               config in `training_config`. The files that it uses must still be where
//                               they were when it was trained.
//   elmo_semfit_fasttext  both, side by side: LM_ARCHIVE_PATH, FASTTEXT_MODEL_PATH
//   elmo         ELMo           ELMO_OPTIONS_PATH, ELMO_WEIGHTS_PATH: as published by AllenNLP
//   fasttext     fastText only  FASTTEXT_MODEL_PATH
//   none         none
//
// Parameters:
//
//   sizes     has the dimensions `fasttext_dim`, `elmo_dim` and `elmo_semfit_dim`, and `projection_dim`,
//             to which the last two are projected unless it is null. May have `representations`, more choices
//             for WORD_REPRESENTATION, each with what the result has.
//   dropout   the dropout of `elmo` and `elmo_semfit`
//   none      the result for `none`, for a model that needs another embedder in its place
//   elmo_key  the name of ELMo's indexer and embedder, for models that do not allow `elmo`
//
// The result has `indexers`, `embedders` and their total `dim`.
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
          // The norms of a language model's vectors increase from layer to layer.
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
    // The scalar mix has one vector for all layers. Beside it, a task also has the static vectors as they are.
    elmo_semfit_fasttext: {
      indexers: choices.elmo_semfit.indexers + choices.fasttext.indexers,
      embedders: choices.elmo_semfit.embedders + choices.fasttext.embedders,
      dim: choices.elmo_semfit.dim + choices.fasttext.dim,
    },
    none: none,
  } + (if std.objectHas(sizes, 'representations') then sizes.representations else {});
  if std.objectHas(choices, choice) then choices[choice]
  else error 'The environment variable WORD_REPRESENTATION is "' + choice + '". ' +
             'It takes one of "' + std.join('", "', std.objectFields(choices)) + '".'
