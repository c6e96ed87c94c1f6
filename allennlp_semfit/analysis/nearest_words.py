"""Decodes the predictions of a language model: the nearest words at each position of a text."""

import unicodedata
from typing import (
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

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
            found = []
            for start in range(0, len(locations), _CONTEXTS):
                some = contexts[start : start + _CONTEXTS]
                forward, backward = (scorer(some[:, direction]) for direction in (0, 1))
                by_direction = dict(zip(DIRECTIONS, (forward, backward, forward + backward)))
                best = {name: scores.topk(number) for name, scores in by_direction.items()}
                for index, (row, position) in enumerate(locations[start : start + _CONTEXTS]):
                    word = group[row][position]
                    nearest = {
                        name: [
                            (scorer.words[candidate], score)
                            for candidate, score in zip(
                                top.indices[index].tolist(), top.values[index].tolist()
                            )
                        ]
                        for name, top in best.items()
                    }
                    itself = indices.get(unicodedata.normalize("NFC", word))
                    ranks: Dict[str, Optional[int]] = {
                        name: None
                        if itself is None
                        else int((scores[index] >= scores[index, itself]).sum())
                        for name, scores in by_direction.items()
                    }
                    found.append(NearestWords(word, nearest, ranks))
            for sentence in group:
                yield found[: len(sentence)]
                found = found[len(sentence) :]
            progress.update(len(group))
