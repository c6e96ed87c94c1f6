"""
ELMo-style word representations without a softmax.

An exported folder needs only PyTorch, NumPy and safetensors. Where AllenNLP is installed, importing
this package registers the plugin, too.
"""

from importlib.util import find_spec

from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder

__all__ = ["SentenceEmbedder"]
__version__ = "0.2.0"

if find_spec("allennlp"):
    import allennlp_semfit.plugin  # noqa: F401
