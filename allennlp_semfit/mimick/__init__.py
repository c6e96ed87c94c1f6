from allennlp_semfit.mimick.embedder import MimickEmbedder
from allennlp_semfit.mimick.indexer import MimickIndexer
from allennlp_semfit.mimick.model import MIMICK, Mimick
from allennlp_semfit.mimick.reader import WordVectorsReader
from allennlp_semfit.mimick.train import MimickTraining, train_mimick

__all__ = [
    "MIMICK",
    "Mimick",
    "MimickEmbedder",
    "MimickIndexer",
    "MimickTraining",
    "WordVectorsReader",
    "train_mimick",
]
