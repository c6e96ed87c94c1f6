from allennlp_semfit.corpus.sentences import blank_pipeline
from allennlp_semfit.integrations.sentence_transformers import ContextualWordEmbeddings
from allennlp_semfit.integrations.spacy import SemfitVectors

__all__ = ["ContextualWordEmbeddings", "SemfitVectors", "blank_pipeline"]
