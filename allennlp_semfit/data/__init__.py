from allennlp_semfit.data.fasttext_indexer import FastTextIndexer, WordVectorIndexer
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.data.sentence_field import SentenceField

__all__ = ["FastTextIndexer", "LanguageModelingReader", "SentenceField", "WordVectorIndexer"]
