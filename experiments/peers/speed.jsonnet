// A word representation by itself, for `experiments.peers.speed`.
local word_representation = import '../../training_config/lib/word_representation.libsonnet';

((import '../../training_config/downstream/laptop/override.libsonnet') + (import 'representations.libsonnet') + {
   sizes+:: { projection_dim: null },
   result: word_representation($.sizes, dropout=0.0),
 }).result
