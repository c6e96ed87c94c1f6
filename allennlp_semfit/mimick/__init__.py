from allennlp_semfit.mimick.embedder import MimickEmbedder
from allennlp_semfit.mimick.indexer import MimickIndexer
from allennlp_semfit.mimick.model import MIMICK, Mimick
from allennlp_semfit.mimick.reader import WordVectorsReader

__all__ = [
    "MIMICK",
    "Mimick",
    "MimickEmbedder",
    "MimickIndexer",
    "WordVectorsReader",
]
