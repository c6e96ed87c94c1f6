// What a language model with a softmax over words has besides its head: a vocabulary, which
// `allennlp count-vocabulary` has made in the directory VOCABULARY_PATH. The words' indices are the
// head's targets; the model does not read them.
{
  vocabulary: { type: 'from_files', directory: std.extVar('VOCABULARY_PATH') },
  dataset_reader+: { token_indexers+: { tokens: { type: 'single_id' } } },
  model+: { text_field_embedder+: { token_embedders+: { tokens: { type: 'empty' } } } },
  trainer+: { validation_metric: '-perplexity' },
}
