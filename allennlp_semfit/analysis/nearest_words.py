"""Decodes the predictions of a language model: the nearest words at each position of a text."""

import math
import unicodedata
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import Batch, DatasetReader
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask
from torch.nn.functional import normalize

from allennlp_semfit.data.fasttext_indexer import SentenceField
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.modules.lm_heads.semfit_head import CosineDistance, L2Distance, NllVmfDistance
from allennlp_semfit.modules.lm_heads.softmax_heads import (
    AdaptiveSoftmaxHead,
    SampledSoftmaxHead,
    SoftmaxHead,
    SoftmaxHeadBase,
)
from allennlp_semfit.modules.lm_heads.vector_head_base import VectorHeadBase
from allennlp_semfit.pretrained.sentence_embedder import batches_by_length

DIRECTIONS = ("forward", "backward", "both")

_UNKNOWN = 0
# The sizes of batches of sentences, of contexts, and of words to look up.
_SENTENCES = 256
_CONTEXTS = 128
_WORDS = 512


class WordScorer:
    """
    The score of a word in a context is the negated loss of the language model, a
    `bidirectional_lm`, for that word, up to a term that is the same for all words: its
    log-likelihood with a softmax, its negated distance with `semfit`. With `contrastive` and any
    other head that predicts word vectors, it is the cosine. Scores are comparable only within one
    context. The likelihood of `@@UNKNOWN@@` is divided equally among the out-of-vocabulary words.

    Raises a `ConfigurationError` if the language model does not read words, has no boundary tokens,
    or predicts neither word vectors nor classes.
    """

    def __init__(self, model: Model, reader: DatasetReader, words: Sequence[str]) -> None:
        if not isinstance(model, BidirectionalLm):
            raise ConfigurationError(
                f"the model is a {type(model).__name__}, which does not predict the next and the "
                "previous word; give a bidirectional_lm"
            )
        assert isinstance(reader, LanguageModelingReader)
        if not isinstance(reader.text_to_instance("a")["source"], SentenceField):
            raise ConfigurationError(
                "the language model reads subwords, which are not comparable with words; give one "
                "whose `tokenizer` splits at spaces"
            )
        if not (reader.start_tokens and reader.end_tokens):
            raise ConfigurationError(
                "the language model has no `start_tokens` or no `end_tokens`, so the first or last "
                "word of a sentence has no context; give one that has both"
            )
        head = model._head
        if not isinstance(head, (VectorHeadBase, SoftmaxHeadBase)):
            raise ConfigurationError(
                f"the head is a {type(head).__name__}, which is not a subclass of `VectorHeadBase` "
                "or `SoftmaxHeadBase`; give a language model with another head"
            )
        self._model = model.eval()
        self._reader = reader
        self._head: Any = head
        self.words = words
        self._targets = self._targets_of(words)
        if isinstance(head, VectorHeadBase):
            self._directions = normalize(self._targets, dim=-1)
        self._log_num_unknown = 0.0
        if isinstance(head, SoftmaxHeadBase):
            num_unknown = int((self._targets == _UNKNOWN).sum())
            self._log_num_unknown = math.log(max(num_unknown, 1))

    @torch.inference_mode()
    def contexts(self, sentences: Sequence[Sequence[str]]) -> torch.Tensor:
        """
        The forward state before and the backward state after each word. Shape
        `(num_words, 2, hidden_dim)`.
        """
        lengths = list(map(len, sentences))
        found = {}
        for batch in batches_by_length(lengths):
            source = self._index([sentences[index] for index in batch])
            embeddings = self._model._embed(source)
            layers = self._model._contextualizer(embeddings, get_text_field_mask(source))
            last_layer = layers if isinstance(layers, torch.Tensor) else layers[-1]
            for states, index in zip(last_layer, batch):
                forward_states, backward_states = states.chunk(2, dim=-1)
                start = len(self._reader.start_tokens)
                end = start + lengths[index]
                sides = [forward_states[start - 1 : end - 1], backward_states[start + 1 : end + 1]]
                found[index] = torch.stack(sides, dim=1)
        return torch.cat([found[index] for index in range(len(sentences))])

    @torch.inference_mode()
    def __call__(self, contexts: torch.Tensor) -> torch.Tensor:
        """
        The score of each word in `N` contexts, shape `(N, hidden_dim)`. Shape `(N, len(words))`.
        """
        head, targets = self._head, self._targets
        if isinstance(head, VectorHeadBase):
            predicted = head.projection(contexts).double()
            distance = getattr(head, "distance", None)
            if distance is None or isinstance(distance, CosineDistance):
                return normalize(predicted, dim=-1) @ self._directions.T
            if isinstance(distance, L2Distance):
                return -torch.cdist(predicted, targets).square()
            if isinstance(distance, NllVmfDistance):
                return distance.lambda_2 * predicted @ self._directions.T
            if distance.has_unit_targets:
                targets = self._directions
            return torch.stack([-distance(each.expand_as(targets), targets) for each in predicted])
        if isinstance(head, AdaptiveSoftmaxHead):
            scores = head.softmax.log_prob(contexts)[:, targets]
        elif not isinstance(head, (SampledSoftmaxHead, SoftmaxHead)):
            repeated = contexts.unsqueeze(1).expand(-1, len(targets), -1)
            scores = torch.stack([-head.losses(each, targets) for each in repeated])
        else:
            # The normalization term is the same for all words.
            weight, bias = head.output_layer()
            if isinstance(head, SoftmaxHead):
                contexts = head.projection(contexts)
            scores = torch.nn.functional.linear(contexts, weight[targets], bias[targets])
        return scores - (targets == _UNKNOWN) * self._log_num_unknown

    @torch.inference_mode()
    def _targets_of(self, words: Sequence[str]) -> torch.Tensor:
        """The head's target for each word. Shape `(len(words), ...)`."""
        targets = []
        first = len(self._reader.start_tokens)
        for start in Tqdm.tqdm(range(0, len(words), _WORDS), desc="looking up words"):
            some_words = words[start : start + _WORDS]
            source = self._index([some_words])
            vectors = torch.empty(0)
            if self._head.get_target_dim() is not None:
                vectors = self._model._text_field_embedder(source)
            if isinstance(self._head, VectorHeadBase):
                sentence_targets = self._head.target_vectors(source, vectors)[0].double()
            else:
                sentence_targets = self._head.prepare_targets(source, vectors)[0]
            targets.append(sentence_targets[first : first + len(some_words)])
        return torch.cat(targets)

    def _index(self, sentences: Sequence[Sequence[str]]) -> TextFieldTensors:
        instances = [self._reader.text_to_instance(" ".join(words)) for words in sentences]
        for instance in instances:
            self._reader.apply_token_indexers(instance)
        batch = Batch(instances)
        batch.index_instances(self._model.vocab)
        return batch.as_tensor_dict()["source"]  # type: ignore[return-value]


class NearestWords(NamedTuple):
    """
    A `word` of a text, and what a language model expects in its place. For each of `DIRECTIONS`,
    `nearest` contains the words with the highest scores, with these scores, and `ranks` the rank of
    the word among the candidates, from 1, or `None` if it is not a candidate. Words with the same
    score all get the last of their ranks. Words are compared in Unicode's normalization form C.
    """

    word: str
    nearest: Dict[str, List[Tuple[str, float]]]
    ranks: Dict[str, Optional[int]]


def find_nearest_words(
    scorer: WordScorer, sentences: Sequence[Sequence[str]], *, top_k: int = 10
) -> Iterator[List[NearestWords]]:
    """
    Ranks all words of the scorer at each position of the sentences: `"forward"` by the score given
    the words before the position, `"backward"` by the score given those after it, and `"both"` by
    the sum of the two scores. Yields a list for each sentence, with an element for each word.

    # Parameters

    top_k : `int`, optional (default = `10`)
        The number of nearest words at each position.
    """
    number = min(top_k, len(scorer.words))
    indices = {unicodedata.normalize("NFC", word): index for index, word in enumerate(scorer.words)}
    for group in lazy_groups_of(sentences, _SENTENCES):
        contexts = scorer.contexts(group)
        words = [word for sentence in group for word in sentence]
        found: List[NearestWords] = []
        for start in range(0, len(words), _CONTEXTS):
            end = start + _CONTEXTS
            found += _rank(scorer, words[start:end], contexts[start:end], number, indices)
        for sentence in group:
            yield found[: len(sentence)]
            found = found[len(sentence) :]


def _rank(
    scorer: WordScorer,
    words: Sequence[str],
    contexts: torch.Tensor,
    number: int,
    indices: Mapping[str, int],
) -> Iterator[NearestWords]:
    """`indices` maps the normalization form C of each candidate to its index."""
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
