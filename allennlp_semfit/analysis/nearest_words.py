"""Decodes the predictions of a language model: the nearest words at each position of a text."""

import unicodedata
from typing import (
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import torch
from allennlp.common import Tqdm
from allennlp.common.util import lazy_groups_of

from allennlp_semfit.analysis.word_scorer import WordScorer

DIRECTIONS = ("forward", "backward", "both")

# The numbers of sentences and contexts in a batch.
_SENTENCES = 256
_CONTEXTS = 128


class NearestWords(NamedTuple):
    """
    The words that a language model expects in place of a word.

    # Parameters

    word : `str`
        The word of the text.
    nearest : `Dict[str, List[Tuple[str, float]]]`
        For each of `DIRECTIONS`, the words with the highest scores, and these.
    ranks : `Dict[str, Optional[int]]`
        For each of `DIRECTIONS`, the rank of `word` among the candidates, from 1, or the last one
        of those with the same score; `None` if it is not one of them. They are compared in
        Unicode's normalization form C.
    """

    word: str
    nearest: Dict[str, List[Tuple[str, float]]]
    ranks: Dict[str, Optional[int]]


def find_nearest_words(
    scorer: WordScorer, sentences: Sequence[Sequence[str]], *, top_k: int = 10
) -> Iterator[List[NearestWords]]:
    """
    Ranks all words of the scorer at each position of the sentences: exactly, by blocks. `"forward"`
    is by the words before the position, `"backward"` by those after it, and `"both"` by the sum of
    the two scores.

    # Parameters

    scorer : `WordScorer`
    sentences : `Sequence[Sequence[str]]`
        Their words.
    top_k : `int`, optional (default = `10`)
        The number of nearest words at each position.

    # Returns

    `Iterator[List[NearestWords]]`
        One list for each sentence, with an element for each word.
    """
    number = min(top_k, len(scorer.words))
    indices = {unicodedata.normalize("NFC", word): index for index, word in enumerate(scorer.words)}
    with Tqdm.tqdm(total=len(sentences), desc="finding words") as progress:
        for group in lazy_groups_of(sentences, _SENTENCES):
            locations = [
                (row, position)
                for row, sentence in enumerate(group)
                for position in range(len(sentence))
            ]
            contexts = scorer.contexts(group, locations)
            words = [group[row][position] for row, position in locations]
            found: List[NearestWords] = []
            for start in range(0, len(words), _CONTEXTS):
                end = start + _CONTEXTS
                found += _rank(scorer, words[start:end], contexts[start:end], number, indices)
            for sentence in group:
                yield found[: len(sentence)]
                found = found[len(sentence) :]
            progress.update(len(group))


def _rank(
    scorer: WordScorer,
    words: Sequence[str],
    contexts: torch.Tensor,
    number: int,
    indices: Mapping[str, int],
) -> Iterator[NearestWords]:
    """`indices` are those of the candidates, by their normalization form C."""
    forward, backward = (scorer(contexts[:, direction]) for direction in (0, 1))
    by_direction = dict(zip(DIRECTIONS, (forward, backward, forward + backward)))
    best = {name: scores.topk(number) for name, scores in by_direction.items()}
    for row, word in enumerate(words):
        nearest = {
            name: [
                (scorer.words[index], score)
                for index, score in zip(top.indices[row].tolist(), top.values[row].tolist())
            ]
            for name, top in best.items()
        }
        index = indices.get(unicodedata.normalize("NFC", word))
        ranks: Dict[str, Optional[int]] = {
            name: None if index is None else int((scores[row] >= scores[row, index]).sum())
            for name, scores in by_direction.items()
        }
        yield NearestWords(word, nearest, ranks)
