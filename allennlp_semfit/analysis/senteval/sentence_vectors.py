"""Sentence vectors: the mean of the vectors of the words."""

import hashlib
from typing import List, NamedTuple, Sequence

import numpy
from allennlp.common.file_utils import cached_path

from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.pretrained.sentence_embedder import (
    DEFAULT_BATCH_SIZE,
    SentenceEmbedder,
    batches_by_length,
)
from allennlp_semfit.pretrained.vectors_file import progress_bar

__all__ = ["FastTextVectors", "LanguageModelVectors", "ModelFingerprint", "SentenceVectors"]

# A language model's inputs for these identify its fastText file or tokenizer.
_PROBE_SENTENCES = (
    "The quick brown fox jumps over the lazy dog , said nobody in 1987 .",
    "Unquestionably , photosynthesis nourishes 93 rhododendrons (and overgrown hedges) !",
    "she didn't re-read O'Leary's e-mails ; übermäßig naïve жук 漢字 https://example.org",
)


class ModelFingerprint(NamedTuple):
    """
    `sha256` is the hash of the language model's parameters or of the fastText file, `input_sha256`
    that of the language model's inputs for some probe sentences.
    """

    sha256: str
    input_sha256: str = ""


class SentenceVectors:
    """
    The base class of sentence vectors: the mean of the vectors of the words, or zero for an empty
    sentence. `description` is for humans.
    """

    _batch_size = DEFAULT_BATCH_SIZE

    def __init__(self, dim: int, identity: ModelFingerprint, description: str) -> None:
        self.dim = dim
        self.identity = identity
        self.description = description

    def __call__(self, sentences: Sequence[Sequence[str]]) -> numpy.ndarray:
        """Returns the vectors of sentences, shape `(num_sentences, dim)`, `float32`."""
        vectors = numpy.zeros((len(sentences), self.dim), numpy.float32)
        lengths = [len(words) for words in sentences]
        with progress_bar("embedding", sum(lengths)) as bar:
            for indices in batches_by_length(lengths, self._batch_size):
                vectors[indices] = self._means([sentences[index] for index in indices])
                bar.update(sum(lengths[index] for index in indices))
        return vectors

    def _means(self, sentences: List[Sequence[str]]) -> numpy.ndarray:
        raise NotImplementedError


class LanguageModelVectors(SentenceVectors):
    """
    The mean of a language model's vectors over the words.

    # Parameters

    embedder : `SentenceEmbedder`
    batch_size : `int`, optional (default = `64`)
    layers : `str`, optional (default = `"average"`)
        See `pool_layers`. `"all"` concatenates them.
    """

    def __init__(
        self,
        embedder: SentenceEmbedder,
        batch_size: int = DEFAULT_BATCH_SIZE,
        layers: str = "average",
    ) -> None:
        num_layers = embedder.num_layers
        description = {
            "average": f"the mean of {num_layers} layers",
            "normalized": f"the mean of {num_layers} layers, each normalised",
            "all": f"{num_layers} layers side by side",
            "top": f"the last of {num_layers} layers",
        }[layers]
        identity = ModelFingerprint(
            embedder.model_fingerprint(),
            embedder.input_fingerprint([sentence.split() for sentence in _PROBE_SENTENCES]),
        )
        super().__init__(
            embedder.get_sentence_dim(layers), identity, f"mean over the words of {description}"
        )
        self._layers = layers
        self._embedder = embedder
        self._batch_size = batch_size

    def _means(self, sentences: List[Sequence[str]]) -> numpy.ndarray:
        return self._embedder.sentence_vectors(sentences, "mean", self._layers, self._batch_size)


class FastTextVectors(SentenceVectors):
    """
    The mean of the words' fastText vectors.

    # Raises

    `InvalidFileError`
        If `path` is not a fastText `.bin` file.
    """

    def __init__(self, path: str) -> None:
        self._model = FastTextModel.open(path)
        with open(cached_path(path), "rb") as file:
            identity = ModelFingerprint(hashlib.file_digest(file, "sha256").hexdigest())
        description = "mean over the words of their fastText vectors"
        super().__init__(self._model.dim, identity, description)

    def _means(self, sentences: List[Sequence[str]]) -> numpy.ndarray:
        zero = numpy.zeros((1, self.dim), numpy.float32)
        word_vectors = (
            [self._model.get_word_vector(word) for word in words] for words in sentences
        )
        return numpy.array([numpy.mean(vectors or zero, axis=0) for vectors in word_vectors])
