// The vocabulary of a language model with a softmax over words. `allennlp count-vocabulary` writes it to
// the directory VOCABULARY_PATH. The word indices are the head's targets only; the model does not embed
// them.
{
  vocabulary: { type: 'from_files', directory: std.extVar('VOCABULARY_PATH') },
  dataset_reader+: { token_indexers+: { tokens: { type: 'single_id' } } },
  model+: { text_field_embedder+: { token_embedders+: { tokens: { type: 'empty' } } } },
  trainer+: { validation_metric: '-perplexity' },
}
