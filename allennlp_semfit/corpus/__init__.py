from allennlp_semfit.corpus.vocabulary import VocabularySummary, count_vocabulary
from allennlp_semfit.corpus.word_counts import WordCounts, count_words

__all__ = ["VocabularySummary", "WordCounts", "count_vocabulary", "count_words"]
