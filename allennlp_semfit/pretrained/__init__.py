from allennlp_semfit.pretrained.character_cnn import export_character_cnn
from allennlp_semfit.pretrained.embedder import ElmoSemfitEmbedder
from allennlp_semfit.pretrained.indexer import ElmoSemfitIndexer
from allennlp_semfit.pretrained.layers import LanguageModelLayers
from allennlp_semfit.pretrained.predictor import LanguageModelVectorsPredictor
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder, batches_by_length
from allennlp_semfit.pretrained.tagger import SemfitTagger, SemfitTaggerPredictor

__all__ = [
    "ElmoSemfitEmbedder",
    "ElmoSemfitIndexer",
    "LanguageModelLayers",
    "LanguageModelVectorsPredictor",
    "SemfitTagger",
    "SemfitTaggerPredictor",
    "SentenceEmbedder",
    "batches_by_length",
    "export_character_cnn",
]
