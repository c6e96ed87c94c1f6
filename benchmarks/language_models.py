"""Builds the language models of the paper, and training steps on synthetic data."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import allennlp_models.lm  # noqa: F401 (registers the Transformer)
import torch
from _jsonnet import evaluate_snippet
from allennlp.common import Params
from allennlp.common.params import with_overrides
from allennlp.data.token_indexers.elmo_indexer import ELMoCharacterMapper
from allennlp.models import Model
from allennlp.modules.elmo_lstm import ElmoLstm
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn.util import move_to_device
from allennlp.training.optimizers import DenseSparseAdam

import allennlp_semfit  # noqa: F401 (registers what the configs name)
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from benchmarks.peak_memory import MakeStep
from benchmarks.synthetic_words import SizedVocabulary, sample_classes, word_for_class

__all__ = [
    "BFLOAT16",
    "LANGUAGE_MODELS",
    "SIZES",
    "build_batch",
    "build_language_model",
    "build_step",
    "lstm_overrides",
    "read_config",
    "training_step",
]

CONFIGS = Path(__file__).parent.parent / "training_config"
# The config of `elmo_semfit` at each size of the language models.
SIZES = {"small": "elmo_semfit.jsonnet", "paper": "one_billion_word/elmo_semfit.jsonnet"}

# Suffix of a model whose step has its matrix products in bfloat16 and a fused Adam.
BFLOAT16 = ", bfloat16"

# The config, whether the contextualizer is AllenNLP's `ElmoLstm`, and whether the output layer has
# sparse gradients.
LANGUAGE_MODELS = {
    "elmo": ("elmo", True, False),
    "elmo, sparse gradients": ("elmo", True, True),
    "elmo, our contextualizer": ("elmo", False, False),
    "elmo_adaptive": ("elmo_adaptive", False, False),
    "elmo_semfit": ("elmo_semfit", False, False),
    "elmo_semfit_contrastive": ("elmo_semfit_contrastive", False, False),
    "elmo, bfloat16": ("elmo", True, False),
    "elmo, sparse gradients, bfloat16": ("elmo", True, True),
    "elmo_adaptive, bfloat16": ("elmo_adaptive", False, False),
    "elmo_semfit, bfloat16": ("elmo_semfit", False, False),
    "elmo_semfit_sru, bfloat16": ("elmo_semfit_sru", False, False),
    "elmo_semfit_qrnn, bfloat16": ("elmo_semfit_qrnn", False, False),
    "elmo_semfit_gated_cnn, bfloat16": ("elmo_semfit_gated_cnn", False, False),
    "elmo_semfit_torch_lstm, bfloat16": ("elmo_semfit_torch_lstm", False, False),
    "elmo_semfit_transformer, bfloat16": ("elmo_semfit_transformer", False, False),
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


def read_config(
    config: str, size: str, overrides: Optional[Dict[str, Any]] = None, **variables: str
) -> Dict[str, Any]:
    """
    # Parameters

    config : `str`
        `elmo_semfit`, or the name of a config in `training_config/language_models/`.
    size : `str`
        One of `SIZES`. A config without a file of the paper's size varies the `elmo_semfit` of that
        size.
    overrides : `Dict[str, Any]`, optional (default = `None`)
        As in `allennlp train --overrides`.
    **variables
        Environment variables that it reads. Others are empty.
    """
    base = CONFIGS / SIZES[size]
    path = base.with_name(f"{config}.jsonnet")
    if not path.exists():
        path = CONFIGS / "language_models" / path.name
    snippet = path.read_text("utf-8").replace("import '../elmo_semfit.jsonnet'", f"import '{base}'")
    names = ("ONE_BILLION_WORD", "FASTTEXT_MODEL_PATH", "VOCABULARY_PATH")
    ext_vars = {**dict.fromkeys(names, ""), **variables}
    content = json.loads(evaluate_snippet(str(path), snippet, ext_vars=ext_vars))
    return with_overrides(content, overrides or {})


def lstm_overrides(cell_size: int, hidden_dim: int) -> Dict[str, Any]:
    """Overrides of `elmo_semfit` for other sizes of its LSTM."""
    return {
        "model.contextualizer.cell_size": cell_size,
        "model.contextualizer.hidden_dim": hidden_dim,
        "model.head.input_dim": hidden_dim,
    }


def build_language_model(
    name: str, num_classes: int, size: str, overrides: Optional[Dict[str, Any]] = None
) -> BidirectionalLm:
    """
    # Parameters

    name : `str`
        One of `LANGUAGE_MODELS`.
    num_classes : `int`
        The vocabulary size of models with a vocabulary.
    size, overrides
        See `read_config`.
    """
    config, has_elmo_lstm, is_sparse = LANGUAGE_MODELS[name]
    params = read_config(config, size, overrides)["model"]
    if has_elmo_lstm:
        ours = params["contextualizer"]
        kept = ("input_dim", "hidden_dim", "cell_size", "num_layers")
        params["contextualizer"] = {"type": "elmo_lstm", **{key: ours[key] for key in kept}}
    if is_sparse:
        params["head"]["sparse"] = True
    model = Model.from_params(Params(params), vocab=SizedVocabulary(num_classes))
    assert isinstance(model, BidirectionalLm)
    return model.train()


def build_batch(
    model: BidirectionalLm, batch_size: int, num_words: int, num_classes: int, device: torch.device
) -> Dict[str, Any]:
    """
    A batch of random words in the form that the indexers of the config return. Boundary tokens are
    random words, too.
    """
    length = num_words + 2
    classes = sample_classes(num_classes, batch_size * length)
    indexed: Dict[str, Dict[str, torch.Tensor]] = {}
    embedders: Any = model._text_field_embedder._token_embedders
    for indexer in embedders:
        if indexer == "characters":
            to_ids = ELMoCharacterMapper().convert_word_to_char_ids
            ids = torch.tensor([to_ids(word_for_class(word)) for word in classes.tolist()])
            indexed[indexer] = {"elmo_tokens": ids.view(batch_size, length, -1)}
        elif indexer == "fasttext":
            # One vector for each distinct word, as heads that compare words need it.
            distinct, indices = classes.view(batch_size, length).unique(return_inverse=True)
            vectors = torch.randn(len(distinct), model._text_field_embedder.get_output_dim())
            indexed[indexer] = {
                "vectors": vectors[indices],
                "word_mask": torch.ones(batch_size, length, dtype=torch.bool),
            }
        else:
            indexed[indexer] = {"tokens": classes.view(batch_size, length) + 1}
    tensors: Dict[str, Any] = move_to_device(indexed, device)
    return tensors


def _loss_function(model: BidirectionalLm, source: Dict[str, Any]) -> torch.Tensor:
    loss: torch.Tensor = model(source)["loss"]
    return loss


def training_step(
    model: BidirectionalLm,
    num_words: int,
    num_classes: int,
    device: torch.device,
    *,
    optimizer: Optional[torch.optim.Optimizer] = None,
    is_fast: bool = False,
    loss_function: Callable[[BidirectionalLm, Dict[str, Any]], torch.Tensor] = _loss_function,
) -> MakeStep:
    """
    A function from the number of sentences in a batch to a training step: forward pass, backward
    pass, gradient clipping, Adam. Sparse gradients are not clipped and use AllenNLP's
    `dense_sparse_adam`.

    # Parameters

    model : `BidirectionalLm`
    num_words : `int`
        The words per sentence.
    num_classes : `int`
        The number of different words.
    device : `torch.device`
    optimizer : `torch.optim.Optimizer`, optional (default = `None`)
        May include parameters of other models, since it skips parameters without gradients. Models
        with sparse gradients ignore it.
    is_fast : `bool`, optional (default = `False`)
        Whether matrix products are in `bfloat16` and Adam, except with sparse gradients, is fused.
    loss_function : `Callable[[BidirectionalLm, Dict[str, Any]], torch.Tensor]`, optional
        A loss of the model and a batch. The default is the loss of the model.
    """
    parameters = list(model.parameters())
    embeddings = [m for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    sparse = {embedding.weight for embedding in embeddings if embedding.sparse}
    clipped = [parameter for parameter in parameters if parameter not in sparse]
    if sparse:
        optimizer = DenseSparseAdam(list(model.named_parameters()), lr=2e-4)
    optimizer = optimizer or torch.optim.Adam(parameters, lr=2e-4)

    def make_step(batch_size: int) -> Callable[[], None]:
        source = build_batch(model, batch_size, num_words, num_classes, device)

        def step() -> None:
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_fast):
                loss = loss_function(model, source)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(clipped, 5.0)
            for group in optimizer.param_groups:
                if "fused" in group:
                    # On a GPU, the two kinds have states of different devices.
                    group["fused"] = is_fast or device.type == "cuda"
            optimizer.step()
            # Free the gradients, so that only one candidate at a time has any.
            optimizer.zero_grad()

        return step

    return make_step


def build_step(
    name: str,
    num_classes: int,
    size: str,
    num_words: int,
    device: torch.device,
) -> MakeStep:
    model = build_language_model(name, num_classes, size).to(device)
    return training_step(model, num_words, num_classes, device, is_fast=name.endswith(BFLOAT16))
