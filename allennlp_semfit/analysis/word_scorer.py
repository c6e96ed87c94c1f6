"""Scores candidate words in a context with any language model, whatever its output layer."""

import math
from collections import defaultdict
from typing import Dict, List, Sequence, Tuple

import torch
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DatasetReader
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask
from torch.nn.functional import normalize

from allennlp_semfit.data.fasttext_indexer import SentenceField
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.semfit_head import L2Distance, NllVmfDistance
from allennlp_semfit.modules.lm_heads.softmax_heads import (
    AdaptiveSoftmaxHead,
    SampledSoftmaxHead,
    SoftmaxHead,
    SoftmaxHeadBase,
)
from allennlp_semfit.modules.lm_heads.vector_head_base import VectorHeadBase
from allennlp_semfit.pretrained.sentence_embedder import batches_by_length

_UNKNOWN = 0
_BATCH_SIZE = 512


class WordScorer:
    """
    The score of a word in a context is the negated loss of the language model for that word, up to
    a term that is the same for all words: its log-likelihood with a softmax, its negated distance
    with `semfit`, the cosine with `contrastive`. Scores are comparable only within one context. The
    likelihood of `@@UNKNOWN@@` is divided equally among the out-of-vocabulary words.

    # Parameters

    model : `Model`
        A `bidirectional_lm`.
    reader : `DatasetReader`
        Its dataset reader.
    words : `Sequence[str]`
        The candidate words, without spaces.

    # Raises

    `ConfigurationError`
        If the language model does not read words or has no boundary tokens.
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
        self._model = model.eval()
        self._reader = reader
        self._head: LmHead = head
        self.words = words
        self._targets = self._targets_of(words)
        if isinstance(head, VectorHeadBase):
            self._directions = normalize(self._targets, dim=-1)
        self._log_num_unknown = 0.0
        if isinstance(head, SoftmaxHeadBase):
            num_unknown = int((self._targets == _UNKNOWN).sum())
            self._log_num_unknown = math.log(max(num_unknown, 1))

    @torch.inference_mode()
    def contexts(
        self, sentences: Sequence[Sequence[str]], locations: Sequence[Tuple[int, int]]
    ) -> torch.Tensor:
        """
        # Parameters

        sentences : `Sequence[Sequence[str]]`
        locations : `Sequence[Tuple[int, int]]`
            The sentence and the position of each of `N` words.

        # Returns

        `torch.Tensor`
            The forward state before and the backward state after each word. Shape
            `(N, 2, hidden_dim)`.
        """
        positions: Dict[int, List[int]] = defaultdict(list)
        for number, position in locations:
            positions[number].append(position)
        numbers = sorted(positions)
        found = {}
        for batch in batches_by_length([len(sentences[number]) for number in numbers]):
            source = self._index([sentences[numbers[index]] for index in batch])
            embeddings = self._model._text_field_embedder(source)
            layers = self._model._contextualizer(embeddings, get_text_field_mask(source))
            last_layer = layers if isinstance(layers, torch.Tensor) else layers[-1]
            forward_states, backward_states = last_layer.chunk(2, dim=-1)
            for row, index in enumerate(batch):
                for position in positions[numbers[index]]:
                    at = len(self._reader.start_tokens) + position
                    found[numbers[index], position] = torch.stack(
                        [forward_states[row, at - 1], backward_states[row, at + 1]]
                    )
        if not locations:
            return torch.empty(0, 2, self._head.get_input_dim())
        return torch.stack([found[location] for location in locations])

    @torch.inference_mode()
    def __call__(self, contexts: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        contexts : `torch.Tensor`
            Shape `(N, hidden_dim)`.

        # Returns

        `torch.Tensor`
            The score of each word. Shape `(N, len(words))`.
        """
        head, targets = self._head, self._targets
        if isinstance(head, VectorHeadBase):
            predicted = head.projection(contexts).double()
            distance = getattr(head, "distance", None)
            if isinstance(distance, L2Distance):
                return -torch.cdist(predicted, targets).square()
            if isinstance(distance, NllVmfDistance):
                return distance.lambda_2 * predicted @ self._directions.T
            return normalize(predicted, dim=-1) @ self._directions.T
        if isinstance(head, AdaptiveSoftmaxHead):
            scores = head.softmax.log_prob(contexts)[:, targets]
        else:
            # The normalization term is the same for all words.
            assert isinstance(head, (SampledSoftmaxHead, SoftmaxHead))
            weight, bias = head.output_layer()
            if isinstance(head, SoftmaxHead):
                contexts = head.projection(contexts)
            scores = torch.nn.functional.linear(contexts, weight[targets], bias[targets])
        return scores - (targets == _UNKNOWN) * self._log_num_unknown

    @torch.inference_mode()
    def _targets_of(self, words: Sequence[str]) -> torch.Tensor:
        """The target of each word for the head. Shape `(len(words), ...)`."""
        targets = []
        first = len(self._reader.start_tokens)
        for start in Tqdm.tqdm(range(0, len(words), _BATCH_SIZE), desc="looking up words"):
            some_words = words[start : start + _BATCH_SIZE]
            source = self._index([some_words])
            vectors = torch.empty(0)
            if self._head.get_target_dim() is not None:
                vectors = self._model._text_field_embedder(source)
            if isinstance(self._head, VectorHeadBase):
                vectors = self._head.target_vectors(source, vectors)
                sentence_targets = self._head.transform(vectors)[0].double()
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
