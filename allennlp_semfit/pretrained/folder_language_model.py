"""The language model in a folder of `allennlp export-model`, read without AllenNLP."""

import json
import os
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

import numpy
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch.nn.functional import pad

from allennlp_semfit.common.errors import (
    ConfigurationError,
    InvalidFileError,
    first_line,
    resolve_path,
)
from allennlp_semfit.common.initialization import weights_follow
from allennlp_semfit.common.model_config import boundary_tokens, input_names, type_of
from allennlp_semfit.common.text_files import FOLDER_WEIGHTS
from allennlp_semfit.fasttext.compact import open_fasttext
from allennlp_semfit.fasttext.model import FastTextVectors
from allennlp_semfit.functional import vectors_differ
from allennlp_semfit.modules.contextualizers.contextualizer import BidirectionalLstm

_CONFIG = "config.json"
_KIND = "Language model"
_PREFIX = "_contextualizer."
# The errors that damaged files cause.
_FAULTS = (
    *(AttributeError, ConfigurationError, LookupError, OSError),
    *(RuntimeError, SafetensorError, TypeError, ValueError),
)
_COPY = "Copy the folder again; after `git clone`, run `git lfs pull` in it."
_REMEDY = f"It must be a folder of `allennlp export-model`. {_COPY}"


class _Config(NamedTuple):
    """What this module reads from a folder's `config.json`."""

    contextualizer: Dict[str, Any]
    vectors: str
    start_tokens: List[str]
    end_tokens: List[str]


class FolderLanguageModel(torch.nn.Module):
    """
    The layers of a language model with fastText input and the contextualizer
    `bidirectional_language_model_lstm`, which must return all layers. Gradients and dropout are
    off.

    A folder is data: only sizes and names are read from its configuration, and only files in the
    folder are opened.
    """

    _start: torch.Tensor
    _end: torch.Tensor

    def __init__(
        self,
        contextualizer: BidirectionalLstm,
        vectors: FastTextVectors,
        start_tokens: Sequence[str],
        end_tokens: Sequence[str],
    ) -> None:
        super().__init__()
        self._contextualizer = contextualizer
        self._vectors = vectors
        self.num_layers = contextualizer.num_layers + 1
        # Not persistent: these vectors come from the fastText file.
        self.register_buffer("_start", self._look_up(start_tokens), persistent=False)
        self.register_buffer("_end", self._look_up(end_tokens), persistent=False)
        self.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> "FolderLanguageModel":
        return super().train(False)

    @classmethod
    def open(cls, folder: Union[str, os.PathLike]) -> Optional["FolderLanguageModel"]:
        """
        Opens a folder, or returns `None` if it is none or has another kind of model. Raises an
        `InvalidFileError` if a file is missing or damaged, or files do not match.
        """
        remedy = "`allennlp export-model` makes such a folder."
        is_url = "://" in os.fspath(folder)
        directory = Path(resolve_path(folder, remedy, _KIND) if is_url else folder)
        # A link to a device such as /dev/zero never ends.
        if not all((directory / name).is_file() for name in (FOLDER_WEIGHTS, _CONFIG)):
            return None
        try:
            config = _read_config(directory / _CONFIG)
            if config is None:
                return None
            tensors = load_file(directory / FOLDER_WEIGHTS)
            contextualizer = _read_contextualizer(config, tensors)
        except _FAULTS as error:
            found = f"cannot be read ({first_line(error)})"
            raise InvalidFileError(folder, found, _REMEDY, _KIND) from error
        path = str(directory / config.vectors)
        try:
            vectors = open_fasttext(path)
        except InvalidFileError as error:
            # Do not suggest to make the file again: its vectors would differ.
            raise InvalidFileError(error.file, error.found, _COPY, error.kind) from None
        if vectors.dim != contextualizer.input_dim:
            raise InvalidFileError(
                path,
                f"has vectors of dimension {vectors.dim}, but the language model {folder} was "
                f"trained on vectors of dimension {contextualizer.input_dim}",
                _COPY,
                vectors.kind,
            )
        model = cls(contextualizer, vectors, config.start_tokens, config.end_tokens)
        trained = tensors.get("boundary_vector", model._start[:0]).float()
        if vectors_differ(model._start[:1], trained):
            found = "does not have the vectors that the model was trained on"
            raise InvalidFileError(path, found, _COPY, vectors.kind)
        return model

    def get_output_dim(self) -> int:
        return self._contextualizer.get_output_dim()

    def index(self, sentences: Sequence[Sequence[str]]) -> Dict[str, torch.Tensor]:
        """
        The input of `forward`: `"vectors"`, those of the words, shape `(batch_size, length, dim)`,
        zero where padded; `"lengths"`, the number of words in each sentence, shape `(batch_size,)`.
        """
        words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
        table = pad(self._look_up(words), (0, 0, 1, 0))
        rows = {word: row for row, word in enumerate(words, start=1)}
        # Arrays, because a new tensor would be on the default device, which the user may have set.
        lengths = numpy.array(list(map(len, sentences)))
        indices = numpy.zeros((len(sentences), lengths.max()), numpy.int64)
        for number, sentence in enumerate(sentences):
            indices[number, : len(sentence)] = [rows[word] for word in sentence]
        return {
            "vectors": table[torch.from_numpy(indices)],
            "lengths": torch.from_numpy(lengths),
        }

    def forward(self, tensors: Dict[str, torch.Tensor]) -> List[torch.Tensor]:
        """
        The layers of the words, the projected input first: `num_layers` tensors of shape
        `(batch_size, length, get_output_dim())`, zero where padded.
        """
        vectors, lengths = tensors["vectors"], tensors["lengths"].unsqueeze(1)
        start, end = self._start.size(0), self._end.size(0)
        bounded = add_boundary_tokens(vectors, self._start, self._end, lengths)
        positions = torch.arange(bounded.size(1), device=lengths.device)
        layers = self._contextualizer(bounded, positions < lengths + start + end)
        is_word = (positions[: vectors.size(1)] < lengths).unsqueeze(-1)
        return [layer[:, start : layer.size(1) - end] * is_word for layer in layers]

    def _look_up(self, words: Sequence[str]) -> torch.Tensor:
        vectors = numpy.array(self._vectors.get_word_vectors(words))
        return torch.from_numpy(vectors).view(len(words), self._vectors.dim)


def _read_config(path: Path) -> Optional[_Config]:
    """`None` if the language model is of another kind."""
    config = json.loads(path.read_text("utf-8"))
    model, reader = config["model"], config["dataset_reader"]
    embedders = model["text_field_embedder"].get("token_embedders", {})
    indexers = reader.get("token_indexers") or {}
    inputs = input_names(indexers, embedders)
    if len(inputs) != 1:
        return None
    indexer = indexers[inputs[0]]
    types = list(map(type_of, (indexer, embedders.get(inputs[0]), model["contextualizer"])))
    if types != ["fasttext", "fasttext", "bidirectional_language_model_lstm"]:
        return None
    if model.get("type") != "bidirectional_lm" or reader.get("tokenizer") is not None:
        return None
    vectors = str(indexer["model_path"])
    if vectors != os.path.basename(vectors):
        raise ValueError(f"{_CONFIG} names the file {vectors[:60]!r}, which is not in the folder")
    return _Config(model["contextualizer"], vectors, *boundary_tokens(reader))


def _read_contextualizer(config: _Config, weights: Dict[str, torch.Tensor]) -> BidirectionalLstm:
    # Copy the tensors: matrix products round differently with unaligned weights.
    tensors = {
        key.removeprefix(_PREFIX): tensor.clone()
        for key, tensor in weights.items()
        if key.startswith(_PREFIX)
    }
    sizes = {**config.contextualizer, "return_all_layers": True}
    del sizes["type"]
    if not 0 < sizes.get("num_layers", 2) <= len(tensors):
        raise ValueError(f"it has no weights for {sizes['num_layers']} layers")
    token = weights_follow.set(True)
    try:
        # On the meta device, wrong sizes in the config allocate no memory.
        with torch.device("meta"):
            contextualizer = BidirectionalLstm(**sizes)
    finally:
        weights_follow.reset(token)
    try:
        contextualizer.load_state_dict(tensors, assign=True)
    except RuntimeError as error:
        # The first line of the message is a heading; each further line is a difference.
        raise ValueError(f"its weights differ: {str(error).splitlines()[1].strip()}") from None
    return contextualizer


def add_boundary_tokens(
    tensor: torch.Tensor, start: torch.Tensor, end: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """
    Adds boundary tokens to sentences, shape `(batch_size, length, ...)`: `start` before the first
    word, `end` right after the last, both of shape `(num_tokens, ...)`. Without words, `tensor` may
    lack further dimensions. `lengths` has the number of words in each sentence, shape
    `(batch_size, 1)`. Pads the characters of words to the same number.
    """
    if not tensor.size(1):
        tensor = tensor.new_zeros(tensor.size(0), 0, *start.size()[1:])
    widths = [part.size(-1) for part in (tensor, start, end)]
    if tensor.dim() > 2 and len({*widths}) > 1:
        tensor, start, end = (
            pad(part, (0, max(widths) - part.size(-1))) for part in (tensor, start, end)
        )
    batch_size, _, *dims = tensor.size()

    def each(boundary: torch.Tensor) -> torch.Tensor:
        # A boundary that was loaded from a state dict may be on another device.
        return boundary.to(tensor).expand(batch_size, *boundary.size())

    bounded = torch.cat([each(start), tensor, torch.zeros_like(each(end))], dim=1)
    positions = start.size(0) + lengths + torch.arange(end.size(0), device=lengths.device)
    positions = positions.view(batch_size, end.size(0), *(1 for _ in dims))
    return bounded.scatter(1, positions.expand_as(each(end)), each(end))
