from allennlp_semfit.analysis.nearest_words import find_nearest_words
from allennlp_semfit.analysis.neighbours import TextVectors, distinct_sentences, find_occurrences
from allennlp_semfit.analysis.word_scorer import WordScorer

__all__ = [
    "TextVectors",
    "WordScorer",
    "distinct_sentences",
    "find_nearest_words",
    "find_occurrences",
]
