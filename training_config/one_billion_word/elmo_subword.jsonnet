// ELMo-Sub: 85 million trainable parameters. docs/howto/corpus.md shows how to train the subwords, here on
// $ONE_BILLION_WORD/training-monolingual.tokenized.shuffled/*, into $SUBWORDS_PATH.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export SUBWORDS_PATH=data/one_billion_word/subwords
//   allennlp train training_config/one_billion_word/elmo_subword.jsonnet --include-package allennlp_semfit -s output/elmo_subword_1b
local subwords = std.extVar('SUBWORDS_PATH');

(import '../language_models/elmo_subword.jsonnet') + (import 'paper_size.libsonnet') + {
  dataset_reader+: { tokenizer+: { model_path: subwords + '/tokenizer.json' } },
  vocabulary+: { directory: subwords + '/vocabulary' },
}
