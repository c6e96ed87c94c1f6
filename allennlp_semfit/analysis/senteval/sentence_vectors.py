"""Sentence vectors: the mean of the vectors of the words."""

import hashlib
from typing import List, NamedTuple, Sequence

import numpy
from allennlp.common.file_utils import cached_path
from allennlp.common.util import lazy_groups_of

from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder
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

    # The sentences between two updates of the progress bar.
    _group_size = 1024

    def __init__(self, dim: int, identity: ModelFingerprint, description: str) -> None:
        self.dim = dim
        self.identity = identity
        self.description = description

    def __call__(self, sentences: Sequence[Sequence[str]]) -> numpy.ndarray:
        """Returns the vectors of sentences, shape `(num_sentences, dim)`, `float32`."""
        vectors = numpy.zeros((len(sentences), self.dim), numpy.float32)
        # A group has similar lengths, and the first one needs most memory.
        order = sorted(range(len(sentences)), key=lambda index: -len(sentences[index]))
        with progress_bar("embedding", sum(map(len, sentences))) as bar:
            for indices in lazy_groups_of(order, self._group_size):
                group = [sentences[index] for index in indices]
                vectors[indices] = self._means(group)
                bar.update(sum(map(len, group)))
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
        self._group_size = 4 * batch_size

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
        super().__init__(
            self._model.dim,
            ModelFingerprint(_file_fingerprint(path)),
            "mean over the words of their fastText vectors",
        )

    def _means(self, sentences: List[Sequence[str]]) -> numpy.ndarray:
        vectors = numpy.zeros((len(sentences), self.dim), numpy.float32)
        for vector, words in zip(vectors, sentences):
            if words:
                vector[:] = numpy.mean(
                    [self._model.get_word_vector(word) for word in words], axis=0
                )
        return vectors


def _file_fingerprint(path: str) -> str:
    digest = hashlib.sha256()
    with open(cached_path(path), "rb") as file:
        for chunk in iter(lambda: file.read(2**20), b""):
            digest.update(chunk)
    return digest.hexdigest()
