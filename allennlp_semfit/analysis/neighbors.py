"""Nearest neighbors of words in context, as in table 4 of Peters et al. 2018."""

import unicodedata
from difflib import get_close_matches
from itertools import islice
from typing import Dict, Iterable, List, Mapping, NamedTuple, Sequence

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from more_itertools import unique_everseen
from torch.nn.functional import normalize

from allennlp_semfit.export.embed_file import progress_bar
from allennlp_semfit.pretrained.pooling import Layers, pool_layers
from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder

# The number of occurrences whose cosines are in memory at a time.
_QUERIES = 64


class Occurrence(NamedTuple):
    """A word of a text: the index of its line and its index in the line. Both start at 0."""

    line: int
    position: int


class Neighbor(NamedTuple):
    """Another occurrence, and the cosine between the centered vectors."""

    occurrence: Occurrence
    cosine: float


class Neighborhood(NamedTuple):
    """
    The nearest neighbors of an occurrence, the nearest first: those that are the same word,
    ignoring case, and those that are other words.
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
        The maximum number of sentences to read, without repetitions. Their vectors take four
        bytes of memory for each word and dimension.

    # Returns

    `Dict[int, List[str]]`
        The words of these sentences by the index of their line.
    """
    sentences = ((index, words) for index, words in enumerate(map(str.split, lines)) if words)
    distinct = unique_everseen(sentences, key=lambda sentence: tuple(sentence[1]))
    return dict(islice(distinct, max_sentences))


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
    """Words have the same key if they differ only in case or in the Unicode form of a letter."""
    # The lower case of the Turkish "İ" is an "i" with a combining dot.
    return unicodedata.normalize("NFC", word.casefold().replace("i\u0307", "i"))


def find_neighbors(
    embedder: SentenceEmbedder,
    sentences: Mapping[int, Sequence[str]],
    occurrences: Sequence[Occurrence],
    layers: Layers = "normalized",
    top_k: int = 5,
    batch_size: int = DEFAULT_BATCH_SIZE,
) -> List[Neighborhood]:
    """
    Finds the nearest neighbors of words in a text. The mean of all vectors of the text is
    subtracted from each, because the vectors of a language model have a large component in common,
    which makes all cosines similar.

    # Parameters

    embedder : `SentenceEmbedder`
    sentences : `Mapping[int, Sequence[str]]`
        The output of `distinct_sentences`.
    occurrences : `Sequence[Occurrence]`
        Occurrences from the output of `find_occurrences`.
    layers : `Literal["all", "top", "average", "normalized"]`, optional (default = `"normalized"`)
        How the layers are pooled: concatenated (all), the last one (top), their mean (average), or
        their mean after layer normalization of each (normalized).
    top_k : `int`, optional (default = `5`)
        The maximum number of neighbors of each kind, the same word and other words.
    batch_size : `int`, optional (default = `64`)
        See `SentenceEmbedder.embed_sentences`.

    # Returns

    `List[Neighborhood]`
        For each occurrence, its neighbors in the whole text: a named tuple of the `occurrence` and
        the lists `same_word` and `other_words`, whose items have an `occurrence` and its `cosine`.

    # Raises

    `ConfigurationError`
        If `layers` is unknown.

    # Example

    ```python
    embedder = SentenceEmbedder("output/elmo_semfit/model.tar.gz")
    sentences = distinct_sentences(open("sentences.txt", encoding="utf-8"), max_sentences=10_000)
    occurrences = find_occurrences(sentences, ["bank"], max_occurrences=10)["bank"]
    for occurrence, same_word, other_words in find_neighbors(embedder, sentences, occurrences):
        ...
    ```
    """
    places = [
        Occurrence(line, position)
        for line, words in sentences.items()
        for position in range(len(words))
    ]
    ids: Dict[str, int] = {}
    word_ids = torch.tensor(
        [ids.setdefault(_key(word), len(ids)) for words in sentences.values() for word in words]
    )
    vectors = torch.empty(len(places), embedder.get_sentence_dim(layers))
    end = 0
    with progress_bar("embedding", len(places)) as bar:
        for word_layers in embedder.embed_sentences(sentences.values(), batch_size):
            start, end = end, end + word_layers.shape[1]
            vectors[start:end] = torch.from_numpy(pool_layers(word_layers, layers))
            bar.update(end - start)
    vectors -= vectors.mean(dim=0)
    normalize(vectors, dim=-1, out=vectors)
    row_of = {place: row for row, place in enumerate(places)}

    def nearest(cosines: torch.Tensor) -> List[List[Neighbor]]:
        best = cosines.topk(min(top_k, len(places)))
        return [
            [Neighbor(places[row], cosine) for cosine, row in zip(*each) if cosine > -torch.inf]
            for each in zip(best.values.tolist(), best.indices.tolist())
        ]

    found: List[Neighborhood] = []
    for group in lazy_groups_of(occurrences, _QUERIES):
        rows = torch.tensor([row_of[occurrence] for occurrence in group])
        cosines = vectors[rows] @ vectors.T
        # An occurrence is not its own neighbor.
        cosines.scatter_(1, rows.unsqueeze(1), -torch.inf)
        is_same = word_ids == word_ids[rows].unsqueeze(1)
        same_word, other_words = (
            nearest(cosines.masked_fill(is_excluded, -torch.inf))
            for is_excluded in (~is_same, is_same)
        )
        found += map(Neighborhood, group, same_word, other_words)
    return found
