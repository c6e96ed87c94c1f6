// A word representation by itself, for `experiments.peers.speed`.
local words = import '../representations.libsonnet';
local language_model = { type: 'elmo_semfit', archive_file: std.extVar('LM_ARCHIVE_PATH') };

{
  indexers: { elmo_semfit: language_model } + words.indexers,
  embedders: { elmo_semfit: language_model { dropout: 0.0, do_layer_norm: true } } + words.embedders,
}
