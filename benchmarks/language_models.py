"""The language models of the paper at its sizes, and training steps of them, without any data."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import torch
from _jsonnet import evaluate_snippet
from allennlp.common import Params
from allennlp.data.token_indexers.elmo_indexer import ELMoCharacterMapper
from allennlp.models import Model
from allennlp.modules.elmo_lstm import ElmoLstm
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn.util import move_to_device
from allennlp.training.optimizers import DenseSparseAdam

import allennlp_semfit  # noqa: F401 (registers what the configs name)
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from benchmarks.memory import StepOf
from benchmarks.words import SizedVocabulary, sample_classes, spell

__all__ = ["LANGUAGE_MODELS", "batch_of", "build_language_model", "build_step", "training_step"]

CONFIGS = Path(__file__).parent.parent / "training_config" / "one_billion_word"

# The config of each, whether its contextualizer is AllenNLP's own, and whether the gradients of its
# output layer are sparse.
LANGUAGE_MODELS = {
    "elmo": ("elmo", True, False),
    "elmo, sparse gradients": ("elmo", True, True),
    "elmo, our contextualizer": ("elmo", False, False),
    "elmo_adaptive": ("elmo_adaptive", False, False),
    "elmo_semfit": ("elmo_semfit", False, False),
}


@Seq2SeqEncoder.register("elmo_lstm")
class ElmoLstmEncoder(Seq2SeqEncoder):
    """
    AllenNLP's `ElmoLstm` as a contextualizer.

    Registered as a `Seq2SeqEncoder` with name "elmo_lstm".
    """

    def __init__(self, input_dim: int, hidden_dim: int, cell_size: int, num_layers: int) -> None:
        super().__init__()
        self._dims = (input_dim, 2 * hidden_dim)
        self.lstm = ElmoLstm(
            input_dim,
            hidden_dim,
            cell_size,
            num_layers,
            requires_grad=True,
            memory_cell_clip_value=3.0,
            state_projection_clip_value=3.0,
        )

    def get_input_dim(self) -> int:
        return self._dims[0]

    def get_output_dim(self) -> int:
        return self._dims[1]

    def is_bidirectional(self) -> bool:
        return True

    def forward(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> torch.Tensor:
        layers: torch.Tensor = self.lstm(inputs, mask)
        return layers[-1]


def build_language_model(
    name: str, num_classes: int, sizes: Optional[Dict[str, Any]] = None
) -> BidirectionalLm:
    """
    # Parameters

    name : `str`
        One of `LANGUAGE_MODELS`.
    num_classes : `int`
        The words in the vocabulary of those that have one.
    sizes : `Dict[str, Any]`, optional (default = `None`)
        What is to replace the config's.
    """
    config, has_elmo_lstm, is_sparse = LANGUAGE_MODELS[name]
    path = CONFIGS / f"{config}.jsonnet"
    snippet = f"(import {json.dumps(str(path))}) + {{ sizes+:: {json.dumps(sizes or {})} }}"
    variables = dict.fromkeys(["ONE_BILLION_WORD", "FASTTEXT_MODEL_PATH", "VOCABULARY_PATH"], "")
    params = json.loads(evaluate_snippet(name, snippet, ext_vars=variables))["model"]
    if has_elmo_lstm:
        ours = params["contextualizer"]
        kept = ("input_dim", "hidden_dim", "cell_size", "num_layers")
        params["contextualizer"] = {"type": "elmo_lstm", **{key: ours[key] for key in kept}}
    if is_sparse:
        params["head"]["sparse"] = True
    model = Model.from_params(Params(params), vocab=SizedVocabulary(num_classes))
    assert isinstance(model, BidirectionalLm)
    return model.train()


def batch_of(
    model: BidirectionalLm, batch_size: int, num_words: int, num_classes: int, device: torch.device
) -> Dict[str, Any]:
    """
    Sentences of made-up words for `model`, as the indexers of its config give them, with a boundary
    at each end that is a word like the others.
    """
    length = num_words + 2
    classes = sample_classes(num_classes, batch_size * length)
    indexed: Dict[str, Dict[str, torch.Tensor]] = {}
    embedders: Any = model._text_field_embedder._token_embedders
    for indexer in embedders:
        if indexer == "characters":
            to_ids = ELMoCharacterMapper().convert_word_to_char_ids
            ids = torch.tensor([to_ids(spell(word)) for word in classes.tolist()])
            indexed[indexer] = {"elmo_tokens": ids.view(batch_size, length, -1)}
        elif indexer == "fasttext":
            dim = model._text_field_embedder.get_output_dim()
            indexed[indexer] = {
                "vectors": torch.randn(batch_size, length, dim),
                "word_mask": torch.ones(batch_size, length, dtype=torch.bool),
            }
        else:
            indexed[indexer] = {"tokens": classes.view(batch_size, length) + 1}
    tensors: Dict[str, Any] = move_to_device(indexed, device)
    return tensors


def _loss_of(model: BidirectionalLm, source: Dict[str, Any]) -> torch.Tensor:
    loss: torch.Tensor = model(source)["loss"]
    return loss


def training_step(
    model: BidirectionalLm,
    num_words: int,
    num_classes: int,
    device: torch.device,
    *,
    optimizer: Optional[torch.optim.Optimizer] = None,
    loss_of: Callable[[BidirectionalLm, Dict[str, Any]], torch.Tensor] = _loss_of,
) -> StepOf:
    """
    What makes a step as the configs train, without mixed precision: forward pass, backward pass,
    clipping of the gradient, Adam. Sparse gradients are not clipped, and their Adam is AllenNLP's
    `dense_sparse_adam`, as such a config must have it.

    # Parameters

    model : `BidirectionalLm`
    num_words : `int`
        Of a sentence.
    num_classes : `int`
        The words that sentences are made of.
    device : `torch.device`
    optimizer : `torch.optim.Optimizer`, optional (default = `None`)
        Of this model and perhaps others: it passes over what has no gradient. A model with sparse
        gradients has its own.
    loss_of : `Callable[[BidirectionalLm, Dict[str, Any]], torch.Tensor]`, optional
        Another loss than the model's, of what `batch_of` gives.
    """
    parameters = list(model.parameters())
    embeddings = [m for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    sparse = {embedding.weight for embedding in embeddings if embedding.sparse}
    clipped = [parameter for parameter in parameters if parameter not in sparse]
    if sparse:
        optimizer = DenseSparseAdam(list(model.named_parameters()), lr=2e-4)
    optimizer = optimizer or torch.optim.Adam(parameters, lr=2e-4)

    def step_of(batch_size: int) -> Callable[[], None]:
        source = batch_of(model, batch_size, num_words, num_classes, device)

        def step() -> None:
            loss_of(model, source).backward()
            torch.nn.utils.clip_grad_norm_(clipped, 5.0)
            optimizer.step()
            # At once, so that the gradients of one candidate at a time take memory.
            optimizer.zero_grad()

        return step

    return step_of


def build_step(
    name: str,
    num_classes: int,
    sizes: Dict[str, Any],
    num_words: int,
    device: torch.device,
) -> StepOf:
    model = build_language_model(name, num_classes, sizes).to(device)
    return training_step(model, num_words, num_classes, device)
