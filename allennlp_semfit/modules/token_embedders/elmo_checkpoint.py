"""
The character CNN of ELMo in the two files that AllenNLP reads it from: its sizes in `options.json`,
its weights in HDF5.
"""

import json
import os
from pathlib import Path
from typing import Any, Dict, NamedTuple, Tuple, Union

import h5py
import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.data.token_indexers.elmo_indexer import ELMoCharacterMapper
from allennlp.modules.token_embedders import Embedding

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.common.output import write_directory

__all__ = [
    "CONTENTS",
    "MAX_CHARACTERS",
    "NUM_CHARACTERS",
    "CharacterCnnOptions",
    "extract_weights",
    "load_weights",
    "parse_options",
    "read_options",
    "weight_shapes",
    "write_character_cnn",
]

MAX_CHARACTERS: int = ELMoCharacterMapper.max_word_length
"""The characters of a word, as the `elmo_characters` indexer gives them."""

NUM_CHARACTERS: int = ELMoCharacterMapper.padding_character + 1
"""
The characters that have an embedding: 256 bytes, four marks of the ends of words and sentences, and
what fills a word up. The indexer's ids are larger by one, for the 0 of padding between sentences.
"""

_OPTIONS, _WEIGHTS = "options.json", "weights.hdf5"

CONTENTS = (_WEIGHTS, _OPTIONS)
"""The files that `write_character_cnn` writes."""


class CharacterCnnOptions(NamedTuple):
    """
    # Parameters

    activation : `str`
        After the convolutions: `"relu"` or `"tanh"`.
    filters : `Tuple[Tuple[int, int], ...]`
        How many characters wide, and how many of that width.
    num_highways : `int`
    character_dim : `int`
    projection_dim : `int`
        The dimension of the result.
    """

    activation: str
    filters: Tuple[Tuple[int, int], ...]
    num_highways: int
    character_dim: int
    projection_dim: int

    @property
    def num_filters(self) -> int:
        """Of all widths."""
        return sum(number for _, number in self.filters)

    def to_json(self) -> Dict[str, Any]:
        """The contents of `options.json`, which `parse_options` reads."""
        return {
            "lstm": {"projection_dim": self.projection_dim},
            "char_cnn": {
                "activation": self.activation,
                "filters": [list(pair) for pair in self.filters],
                "n_highway": self.num_highways,
                "embedding": {"dim": self.character_dim},
                "n_characters": NUM_CHARACTERS + 1,
                "max_characters_per_token": MAX_CHARACTERS,
            },
        }


def weight_shapes(options: CharacterCnnOptions) -> Dict[str, Tuple[int, ...]]:
    """
    # Returns

    `Dict[str, Tuple[int, ...]]`
        The shape of each dataset that a file of weights has for these options.
    """
    shapes: Dict[str, Tuple[int, ...]] = {"char_embed": (NUM_CHARACTERS, options.character_dim)}
    for index, (width, number) in enumerate(options.filters):
        shapes[f"CNN/W_cnn_{index}"] = (1, width, options.character_dim, number)
        shapes[f"CNN/b_cnn_{index}"] = (number,)
    for index in range(options.num_highways):
        for gate in ("transform", "carry"):
            shapes[f"CNN_high_{index}/W_{gate}"] = (options.num_filters, options.num_filters)
            shapes[f"CNN_high_{index}/b_{gate}"] = (options.num_filters,)
    shapes["CNN_proj/W_proj"] = (options.num_filters, options.projection_dim)
    shapes["CNN_proj/b_proj"] = (options.projection_dim,)
    return shapes


def read_options(options_file: Union[str, os.PathLike]) -> CharacterCnnOptions:
    """
    # Parameters

    options_file : `Union[str, os.PathLike]`
        ELMo's `options.json`, a path or a URL.

    # Raises

    `InvalidFileError`
        If there is no such file, or it does not describe a character CNN.
    """
    path = _fetch("options", options_file)
    try:
        options = json.loads(Path(path).read_bytes().decode("utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise _error(
            "options",
            options_file,
            f"cannot be read as JSON ({error})",
            "The options.json that belongs to the weights is wanted.",
        ) from None
    try:
        return parse_options(options)
    except ConfigurationError as error:
        raise _error(
            "options",
            options_file,
            f"are not valid: {error}",
            "The options.json that belongs to the weights is wanted.",
        ) from None


def parse_options(options: Any) -> CharacterCnnOptions:
    """
    # Parameters

    options : `Any`
        The contents of ELMo's `options.json`.

    # Raises

    `ConfigurationError`
        If they do not describe a character CNN.
    """

    def value(key: str) -> Any:
        found = options
        for part in key.split("."):
            if not isinstance(found, dict) or part not in found:
                raise ConfigurationError(f"there is no `{key}`")
            found = found[part]
        return found

    def check(key: str, is_right: bool, wanted: str) -> None:
        if not is_right:
            raise ConfigurationError(f"`{key}` is {json.dumps(value(key)):.200}; it takes {wanted}")

    def size(key: str, minimum: int = 1) -> int:
        check(key, _is_size(value(key), minimum), f"a whole number, {minimum} or more")
        return int(value(key))

    key = "char_cnn.activation"
    check(key, value(key) in ("relu", "tanh"), '"relu" or "tanh"')
    key = "char_cnn.filters"
    check(key, _are_filters(value(key)), f"a list of [width up to {MAX_CHARACTERS}, number]")
    key = "char_cnn.max_characters_per_token"
    check(key, value(key) == MAX_CHARACTERS, f"{MAX_CHARACTERS}, as `elmo_characters` gives them")
    return CharacterCnnOptions(
        activation=value("char_cnn.activation"),
        filters=tuple((width, number) for width, number in value("char_cnn.filters")),
        num_highways=size("char_cnn.n_highway", 0),
        character_dim=size("char_cnn.embedding.dim"),
        projection_dim=size("lstm.projection_dim"),
    )


def _is_size(value: Any, minimum: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum


def _are_filters(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
        and all(_is_size(width) and width <= MAX_CHARACTERS for width, _ in value)
        and all(_is_size(number) for _, number in value)
    )


def load_weights(
    weight_file: Union[str, os.PathLike],
    options: CharacterCnnOptions,
    embedding: Embedding,
    encoder: Any,
) -> None:
    """
    Copies the weights of a file into AllenNLP's modules.

    # Parameters

    weight_file : `Union[str, os.PathLike]`
        ELMo's weights as HDF5, a path or a URL. Those of its LSTM are not read.
    options : `CharacterCnnOptions`
    embedding : `Embedding`
        Of the characters, shape `(NUM_CHARACTERS + 1, character_dim)`. Row 0, the padding between
        sentences, stays as it is.
    encoder : `CnnHighwayEncoder`
        Of the sizes that `options` says.

    # Raises

    `InvalidFileError`
        If there is no such file, it is not HDF5, or it lacks a dataset or has it in another shape.
    """
    weights = {}
    path = _fetch("weights", weight_file)
    try:
        with h5py.File(path, "r") as file:
            for name, shape in weight_shapes(options).items():
                dataset = file.get(name)
                if not isinstance(dataset, h5py.Dataset):
                    raise _error(
                        "weights",
                        weight_file,
                        f"hold no `{name}`",
                        "The weights that belong to the options are wanted.",
                    )
                if dataset.shape != shape or dataset.dtype.kind != "f":
                    raise _error(
                        "weights",
                        weight_file,
                        f"do not fit the options: `{name}` has the shape {dataset.shape} and the "
                        f"type {dataset.dtype}; the shape {shape} and a type of floats are wanted",
                        "The weights that belong to the options are wanted.",
                    )
                weights[name] = torch.from_numpy(dataset[...].astype("float32"))
    except (OSError, RuntimeError, KeyError) as error:
        raise _error(
            "weights",
            weight_file,
            f"are no HDF5, or damaged ({error})",
            "Copy them again from where they are whole.",
        ) from None
    with torch.no_grad():
        embedding.weight[1:] = weights["char_embed"]
        for index, convolution in enumerate(encoder._convolutions):
            convolution.weight.copy_(weights[f"CNN/W_cnn_{index}"].squeeze(0).permute(2, 1, 0))
            convolution.bias.copy_(weights[f"CNN/b_cnn_{index}"])
        for index, layer in enumerate(encoder._highways._layers):
            # AllenNLP's gate is the share of the input that is carried, ELMo's the share that is
            # transformed.
            for parameter, kind in ((layer.weight, "W"), (layer.bias, "b")):
                transform = weights[f"CNN_high_{index}/{kind}_transform"]
                carry = weights[f"CNN_high_{index}/{kind}_carry"]
                parameter.copy_(torch.cat([transform.t(), -carry.t()]))
        encoder._projection.weight.copy_(weights["CNN_proj/W_proj"].t())
        encoder._projection.bias.copy_(weights["CNN_proj/b_proj"])


def extract_weights(embedding: Embedding, encoder: Any) -> Dict[str, numpy.ndarray]:
    """
    The inverse of `load_weights`.

    # Returns

    `Dict[str, numpy.ndarray]`
        What `write_character_cnn` takes.
    """
    with torch.no_grad():
        # Looked up, not copied: an embedding may project or rescale its rows.
        weights = {"char_embed": embedding(torch.arange(1, NUM_CHARACTERS + 1))}
        for index, convolution in enumerate(encoder._convolutions):
            weights[f"CNN/W_cnn_{index}"] = convolution.weight.permute(2, 1, 0).unsqueeze(0)
            weights[f"CNN/b_cnn_{index}"] = convolution.bias
        for index, layer in enumerate(encoder._highways._layers):
            for kind, values in (("W", layer.weight.t()), ("b", layer.bias)):
                transform, carry = values.chunk(2, dim=-1)
                weights[f"CNN_high_{index}/{kind}_transform"] = transform
                weights[f"CNN_high_{index}/{kind}_carry"] = -carry
        weights["CNN_proj/W_proj"] = encoder._projection.weight.t()
        weights["CNN_proj/b_proj"] = encoder._projection.bias
        return {name: tensor.detach().float().numpy() for name, tensor in weights.items()}


def _fetch(what: str, file: Union[str, os.PathLike]) -> str:
    try:
        path = str(cached_path(file))
    except FileNotFoundError:
        raise _error(
            what,
            file,
            f"do not exist (working directory: {os.getcwd()})",
            "Give the path of the file.",
        ) from None
    except (OSError, ValueError) as error:
        raise _error(
            what, file, f"cannot be fetched ({error})", "Try again, or give a local copy."
        ) from error
    if os.path.isdir(path):
        raise _error(what, file, "are a directory", "A file is wanted.")
    return path


def _error(what: str, file: Union[str, os.PathLike], found: str, remedy: str) -> InvalidFileError:
    return InvalidFileError(file, found, remedy, kind=f"ELMo's {what}")


def write_character_cnn(
    directory: Path, options: CharacterCnnOptions, weights: Dict[str, numpy.ndarray]
) -> None:
    """
    Writes `options.json` and `weights.hdf5`, and replaces existing ones. There are never the
    options of one model beside the weights of another.

    # Parameters

    directory : `Path`
        It is made if it is missing.
    options : `CharacterCnnOptions`
    weights : `Dict[str, numpy.ndarray]`
        With the names and shapes of `weight_shapes`.
    """
    shapes = weight_shapes(options)
    if {name: array.shape for name, array in weights.items()} != shapes:
        raise ValueError(f"The weights must have the shapes {shapes}.")
    with write_directory(directory, CONTENTS) as new:
        (new / _OPTIONS).write_text(json.dumps(options.to_json(), indent=2) + "\n", "utf-8")
        with h5py.File(new / _WEIGHTS, "w") as file:
            for name, array in weights.items():
                file.create_dataset(name, data=array, dtype="float32")
