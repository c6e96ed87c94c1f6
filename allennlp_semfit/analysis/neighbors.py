"""Nearest neighbors of words in context, as in table 4 of Peters et al. 2018."""

import unicodedata
from difflib import get_close_matches
from itertools import islice
from typing import Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple, Union

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from torch.nn.functional import normalize

from allennlp_semfit.common.errors import check_choice
from allennlp_semfit.export.vectors_file import progress_bar
from allennlp_semfit.pretrained.pooling import pool_layers
from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder

# The numbers of words with vectors, and of occurrences with cosines, in memory at a time.
_BLOCK_SIZE = 8_192
_QUERIES = 64

_Rows = Union[slice, numpy.ndarray]


class Occurrence(NamedTuple):
    """A word of a text: the indices of its line and, in that, of the word. Both start at 0."""

    line: int
    position: int


class Neighbor(NamedTuple):
    """Another occurrence, and the cosine between the centered vectors."""

    occurrence: Occurrence
    cosine: float


class Neighborhood(NamedTuple):
    """
    The nearest neighbors of an occurrence, the nearest first: those that are the same word, upper
    and lower case being the same, and those that are other words.
    """

    occurrence: Occurrence
    same_word: List[Neighbor]
    other_words: List[Neighbor]


def distinct_sentences(lines: Iterable[str], max_sentences: int = 10_000) -> Dict[int, List[str]]:
    """
    Splits lines into words. Empty and repeated lines are left out: a repeated sentence would be its
    own nearest neighbor.

    # Parameters

    lines : `Iterable[str]`
    max_sentences : `int`, optional (default = `10000`)
        The maximum number of sentences to read, without repetitions. Their vectors take two bytes
        of memory for each word, layer and dimension.

    # Returns

    `Dict[int, List[str]]`
        The words of these sentences by the index of their line.
    """
    seen = set()

    def distinct() -> Iterator[Tuple[int, List[str]]]:
        for index, line in enumerate(lines):
            words = line.split()
            if words and tuple(words) not in seen:
                seen.add(tuple(words))
                yield index, words

    return dict(islice(distinct(), max_sentences))


def find_occurrences(
    sentences: Mapping[int, Sequence[str]], words: Sequence[str], max_occurrences: int = 10
) -> Dict[str, List[Occurrence]]:
    """
    # Parameters

    sentences : `Mapping[int, Sequence[str]]`
        The output of `distinct_sentences`.
    words : `Sequence[str]`
        Case is ignored.
    max_occurrences : `int`, optional (default = `10`)
        The maximum number of occurrences of each word, evenly spaced in the text.

    # Returns

    `Dict[str, List[Occurrence]]`
        The occurrences of each word, in the order of the text: named tuples of a `line` and a
        `position` in it, which start at 0.

    # Raises

    `ConfigurationError`
        If a word does not occur.
    """
    all_occurrences: Dict[str, List[Occurrence]] = {}
    spellings: Dict[str, str] = {}
    for line, sentence in sentences.items():
        for position, word in enumerate(sentence):
            all_occurrences.setdefault(_key(word), []).append(Occurrence(line, position))
            spellings.setdefault(_key(word), word)
    chosen = {}
    for word in words:
        found = all_occurrences.get(_key(word))
        if found is None:
            similar = get_close_matches(_key(word), all_occurrences)
            hint = "; similar words in it: " + ", ".join(spellings[key] for key in similar)
            raise ConfigurationError(
                f"{word!r} does not occur in the {len(sentences):,} sentences"
                f"{hint if similar else ''}. Give words as they are tokenized in the text."
            )
        indices = numpy.linspace(0, len(found) - 1, min(len(found), max_occurrences))
        chosen[word] = [found[index] for index in indices.round().astype(int)]
    return chosen


def _key(word: str) -> str:
    """Upper and lower case are the same word, and so are the Unicode forms of a letter."""
    return unicodedata.normalize("NFC", word.casefold())


class TextVectors:
    """
    The vectors of all words of a text. The mean of all vectors is subtracted from each, because the
    vectors of a language model have a large component in common, which makes all cosines similar.

    The vectors of all layers are kept in memory in `float16`.

    # Parameters

    embedder : `SentenceEmbedder`
    sentences : `Mapping[int, Sequence[str]]`
        The words of each sentence by the index of its line: the output of `distinct_sentences`.
    batch_size : `int`, optional (default = `64`)
        See `SentenceEmbedder.embed_sentences`.

    # Example

    ```python
    sentences = distinct_sentences(open("sentences.txt", encoding="utf-8"), max_sentences=10_000)
    text = TextVectors(SentenceEmbedder("output/elmo_semfit/model.tar.gz"), sentences)
    occurrences = find_occurrences(sentences, ["bank"], max_occurrences=10)["bank"]
    for occurrence, same_word, other_words in text.neighborhoods(occurrences, "top", top_k=5):
        ...
    ```
    """

    def __init__(
        self,
        embedder: SentenceEmbedder,
        sentences: Mapping[int, Sequence[str]],
        batch_size: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        self._occurrences = [
            Occurrence(line, position)
            for line, words in sentences.items()
            for position in range(len(words))
        ]
        self._rows = {occurrence: row for row, occurrence in enumerate(self._occurrences)}
        ids: Dict[str, int] = {}
        self._word_ids = torch.tensor(
            [ids.setdefault(_key(word), len(ids)) for words in sentences.values() for word in words]
        )
        num_words = len(self._occurrences)
        shape = (embedder.num_layers, num_words, embedder.get_output_dim())
        self._vectors = numpy.empty(shape, dtype=numpy.float16)
        end = 0
        with progress_bar("embedding", num_words) as bar:
            for vectors in embedder.embed_sentences(sentences.values(), batch_size):
                start, end = end, end + vectors.shape[1]
                self._vectors[:, start:end] = vectors
                bar.update(end - start)
        self._means: Dict[str, torch.Tensor] = {}

    @property
    def num_layers(self) -> int:
        """The number of layers of the language model, including its projected input."""
        return len(self._vectors)

    @property
    def choices_of_layers(self) -> List[str]:
        """The choices of `layers`: each layer, and two means of them."""
        return [*map(str, range(self.num_layers)), "average", "normalized"]

    def neighborhoods(
        self, occurrences: Sequence[Occurrence], layers: str, top_k: int = 5
    ) -> List[Neighborhood]:
        """
        # Parameters

        occurrences : `Sequence[Occurrence]`
        layers : `str`
            The index of a layer, such as `"0"`; `"top"`, the last one; `"average"`, the mean of the
            layers; or `"normalized"`, their mean after layer normalization of each.
        top_k : `int`, optional (default = `5`)
            The maximum number of neighbors of each kind, the same word and other words.

        # Returns

        `List[Neighborhood]`
            For each occurrence, its neighbors in the whole text: a named tuple of the `occurrence`
            and the lists `same_word` and `other_words`, whose items have an `occurrence` and its
            `cosine`.

        # Raises

        `ConfigurationError`
            If `layers` is unknown.
        """
        return [
            found
            for some in lazy_groups_of(occurrences, _QUERIES)
            for found in self._neighborhoods(some, layers, top_k)
        ]

    def _neighborhoods(
        self, occurrences: Sequence[Occurrence], layers: str, number: int
    ) -> List[Neighborhood]:
        rows = torch.tensor([self._rows[occurrence] for occurrence in occurrences])
        queries = self._unit_vectors(rows.numpy(), layers)
        blocks = (self._unit_vectors(block, layers) for block in self._blocks())
        cosines = torch.cat([queries @ block.T for block in blocks], dim=1)
        # An occurrence is not its own neighbor.
        cosines.scatter_(1, rows.unsqueeze(1), -torch.inf)
        is_same = self._word_ids == self._word_ids[rows].unsqueeze(1)
        same_word, other_words = (
            self._nearest(cosines.masked_fill(is_excluded, -torch.inf), number)
            for is_excluded in (~is_same, is_same)
        )
        return [Neighborhood(*each) for each in zip(occurrences, same_word, other_words)]

    def _nearest(self, cosines: torch.Tensor, number: int) -> List[List[Neighbor]]:
        values, rows = cosines.topk(min(number, cosines.size(1)))
        return [
            [
                Neighbor(self._occurrences[row], cosine)
                for cosine, row in zip(*each)
                if cosine > -torch.inf
            ]
            for each in zip(values.tolist(), rows.tolist())
        ]

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self._occurrences), _BLOCK_SIZE):
            yield slice(start, start + _BLOCK_SIZE)

    def _unit_vectors(self, rows: _Rows, layers: str) -> torch.Tensor:
        """The centered vectors of the rows, scaled to length 1, shape `(num_rows, dim)`."""
        if layers not in self._means:
            check_choice("`layers`", layers, [*self.choices_of_layers, "top"])
            total = torch.zeros((), dtype=torch.double)
            for block in self._blocks():
                total = total + self._pooled(block, layers).sum(dim=0, dtype=torch.double)
            self._means[layers] = (total / len(self._occurrences)).float()
        return normalize(self._pooled(rows, layers) - self._means[layers], dim=-1)

    def _pooled(self, rows: _Rows, layers: str) -> torch.Tensor:
        if layers.isdigit():
            vectors = self._vectors[int(layers), rows].astype(numpy.float32)
        else:
            vectors = pool_layers(self._vectors[:, rows].astype(numpy.float32), layers)
        return torch.from_numpy(vectors)
