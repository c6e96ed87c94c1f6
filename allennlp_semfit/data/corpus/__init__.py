"""
Turns text as it is found (plain text, or the dump of a Wikipedia) into what a language model is
trained on: shards of one tokenised sentence a line, and a held-out file.
"""

from allennlp_semfit.data.corpus.options import CorpusOptions, CorpusSummary
from allennlp_semfit.data.corpus.prepare import prepare_corpus

__all__ = ["CorpusOptions", "CorpusSummary", "prepare_corpus"]
