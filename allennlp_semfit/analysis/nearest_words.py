"""Decodes the predictions of a language model: the nearest words at each position of a text."""

import unicodedata
from typing import (
    Callable,
    Dict,
    Iterator,
    List,
    Literal,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import torch
from allennlp.common import Tqdm
from allennlp.common.util import lazy_groups_of
from torch.nn.functional import normalize

from allennlp_semfit.analysis.word_scorer import WordScorer
from allennlp_semfit.modules.lm_heads.target_transforms import TargetWhitening

DIRECTIONS = ("forward", "backward", "both")
Correction = Literal["none", "csls", "whitening"]

# The numbers of sentences and contexts in a batch.
_SENTENCES = 256
_CONTEXTS = 128
# The number of neighbors in CSLS (Conneau et al. 2018).
_NUM_CSLS_NEIGHBORS = 10

# Scores all words in contexts of a direction: 0 is forward, 1 is backward.
_Scores = Callable[[torch.Tensor, int], torch.Tensor]


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
    scorer: WordScorer,
    sentences: Sequence[Sequence[str]],
    *,
    top_k: int = 10,
    correction: Correction = "none",
) -> Iterator[List[NearestWords]]:
    """
    Ranks all words of the scorer at each position of the sentences: exactly, by blocks. `"forward"`
    is by the words before the position, `"backward"` by those after it, and `"both"` by the sum of
    the two scores.

    Predictions crowd around some words, *hubs*, which are then the nearest words of most positions
    (Dinu et al. 2015, "Improving Zero-Shot Learning by Mitigating the Hubness Problem"). The
    corrections compare the directions of predictions `p` and of the words' vectors `w`, for heads
    that predict vectors:

    - `"csls"`: `2 cos(p, w) - r(p) - r(w)`, where `r(p)` is the mean cosine of `p` and its 10
      nearest words, and `r(w)` that of `w` and the 10 nearest predictions for the sentences
      (Conneau et al. 2018, "Word Translation Without Parallel Data", equation 3). The language
      model reads the sentences twice.
    - `"whitening"`: the cosine after whitening both as the words' vectors; see `TargetWhitening`.

    # Parameters

    scorer : `WordScorer`
    sentences : `Sequence[Sequence[str]]`
        Their words.
    top_k : `int`, optional (default = `10`)
        The number of nearest words at each position.
    correction : `Literal["none", "csls", "whitening"]`, optional (default = `"none"`)
        Correct for words that are near to most predictions: csls compares with the mean cosine of
        each word and the predictions nearest to it; whitening compares after whitening the words'
        vectors.

    # Returns

    `Iterator[List[NearestWords]]`
        One list for each sentence, with an element for each word.

    # Raises

    `ConfigurationError`
        If `correction` does not suit the head.
    """
    scores: _Scores
    if correction == "whitening":
        scores = _whitened_scores(scorer)
    elif correction == "csls":
        scores = _csls_scores(scorer, sentences)
    else:
        scores = _plain_scores(scorer)
    return _decode(scorer, sentences, min(top_k, len(scorer.words)), scores)


def _decode(
    scorer: WordScorer, sentences: Sequence[Sequence[str]], number: int, scores: _Scores
) -> Iterator[List[NearestWords]]:
    indices = {unicodedata.normalize("NFC", word): index for index, word in enumerate(scorer.words)}
    for group, contexts in _contexts_of_groups(scorer, sentences, "finding words"):
        words = [word for sentence in group for word in sentence]
        found = []
        for start in range(0, len(words), _CONTEXTS):
            some = contexts[start : start + _CONTEXTS]
            forward, backward = (scores(some[:, direction], direction) for direction in (0, 1))
            by_direction = dict(zip(DIRECTIONS, (forward, backward, forward + backward)))
            best = {name: each.topk(number) for name, each in by_direction.items()}
            for row, word in enumerate(words[start : start + _CONTEXTS]):
                nearest = {
                    name: [
                        (scorer.words[index], value)
                        for index, value in zip(top.indices[row].tolist(), top.values[row].tolist())
                    ]
                    for name, top in best.items()
                }
                index = indices.get(unicodedata.normalize("NFC", word))
                ranks: Dict[str, Optional[int]] = {
                    name: None if index is None else int((each[row] >= each[row, index]).sum())
                    for name, each in by_direction.items()
                }
                found.append(NearestWords(word, nearest, ranks))
        for sentence in group:
            yield found[: len(sentence)]
            found = found[len(sentence) :]


def _contexts_of_groups(
    scorer: WordScorer, sentences: Sequence[Sequence[str]], description: str
) -> Iterator[Tuple[List[Sequence[str]], torch.Tensor]]:
    """Groups of sentences, with the `scorer.contexts` of all words of each group."""
    progress = Tqdm.tqdm(total=len(sentences), desc=description)
    with progress:
        for group in lazy_groups_of(sentences, _SENTENCES):
            locations = [
                (number, position)
                for number, sentence in enumerate(group)
                for position in range(len(sentence))
            ]
            yield group, scorer.contexts(group, locations)
            progress.update(len(group))


def _plain_scores(scorer: WordScorer) -> _Scores:
    def scores(contexts: torch.Tensor, direction: int) -> torch.Tensor:
        return scorer(contexts)

    return scores


def _whitened_scores(scorer: WordScorer) -> _Scores:
    vectors = scorer.vectors
    whitening = TargetWhitening(vectors.size(1))
    whitening.update(vectors)
    directions = normalize(whitening(vectors), dim=-1)

    def scores(contexts: torch.Tensor, direction: int) -> torch.Tensor:
        return normalize(whitening(scorer.predict(contexts)), dim=-1) @ directions.T

    return scores


def _csls_scores(scorer: WordScorer, sentences: Sequence[Sequence[str]]) -> _Scores:
    directions = normalize(scorer.vectors, dim=-1)

    def cosines(contexts: torch.Tensor) -> torch.Tensor:
        return normalize(scorer.predict(contexts), dim=-1) @ directions.T

    # Each word's highest cosines with the predictions of each direction.
    highest = [directions.new_empty(len(directions), 0) for _ in (0, 1)]
    for _, contexts in _contexts_of_groups(scorer, sentences, "finding hubs"):
        for some in contexts.split(_CONTEXTS):
            for direction in (0, 1):
                values = torch.cat([highest[direction], cosines(some[:, direction]).T], dim=1)
                number = min(_NUM_CSLS_NEIGHBORS, values.size(1))
                highest[direction] = values.topk(number).values
    hubness = [values.mean(dim=1) for values in highest]

    def scores(contexts: torch.Tensor, direction: int) -> torch.Tensor:
        values = cosines(contexts)
        number = min(_NUM_CSLS_NEIGHBORS, values.size(1))
        crowding = values.topk(number).values.mean(dim=1, keepdim=True)
        return 2 * values - crowding - hubness[direction]

    return scores
