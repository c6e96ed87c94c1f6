from allennlp_semfit.data.fasttext_indexer import FastTextIndexer
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.data.sentence_field import SentenceField
from allennlp_semfit.data.word_vector_indexer import WordVectorIndexer

__all__ = ["FastTextIndexer", "LanguageModelingReader", "SentenceField", "WordVectorIndexer"]
