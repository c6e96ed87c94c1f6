"""
The character CNN of ELMo in the two files that AllenNLP reads it from: its sizes in `options.json`,
its weights in HDF5.
"""

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Tuple, Union

import h5py
import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.token_indexers.elmo_indexer import ELMoCharacterMapper
from allennlp.modules.token_embedders import Embedding

from allennlp_semfit.common.errors import InvalidFileError, resolve_path
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
    """`filters` are pairs: the width in characters, and the number of filters of that width."""

    activation: str
    filters: Tuple[Tuple[int, int], ...]
    num_highways: int
    character_dim: int
    projection_dim: int

    @property
    def num_filters(self) -> int:
        """The number of filters of all widths."""
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


def read_options(options_file: Union[str, os.PathLike]) -> CharacterCnnOptions:
    """
    Reads ELMo's `options.json`, a path or a URL.

    # Raises

    `InvalidFileError`
        If there is no such file, or it does not describe a character CNN.
    """
    path = _fetch("options file", options_file)
    try:
        return parse_options(json.loads(Path(path).read_text("utf-8")))
    except ConfigurationError as error:
        found = f"is not valid: {error}"
    except (ValueError, OSError, RecursionError) as error:
        found = f"cannot be read as JSON ({error})"
    remedy = "The options.json that belongs to the weights is wanted."
    raise _error("options file", options_file, found, remedy)


def parse_options(options: Any) -> CharacterCnnOptions:
    """
    Parses the contents of ELMo's `options.json`.

    # Raises

    `ConfigurationError`
        If they do not describe a character CNN.
    """
    values = []
    for key, (is_valid, wanted) in _CHECKS.items():
        value = options
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                raise ConfigurationError(f"there is no `{key}`")
            value = value[part]
        if not is_valid(value):
            raise ConfigurationError(f"`{key}` is {json.dumps(value):.200}; it takes {wanted}")
        values.append(value)
    activation, filters, *sizes, _ = values
    return CharacterCnnOptions(activation, tuple(map(tuple, filters)), *sizes)


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


# In the order of the fields of `CharacterCnnOptions`.
_CHECKS: Dict[str, Tuple[Callable[[Any], bool], str]] = {
    "char_cnn.activation": (lambda value: value in ("relu", "tanh"), '"relu" or "tanh"'),
    "char_cnn.filters": (_are_filters, f"a list of [width up to {MAX_CHARACTERS}, number]"),
    "char_cnn.n_highway": (lambda value: _is_size(value, 0), "a whole number, 0 or more"),
    "char_cnn.embedding.dim": (_is_size, "a whole number, 1 or more"),
    "lstm.projection_dim": (_is_size, "a whole number, 1 or more"),
    "char_cnn.max_characters_per_token": (
        lambda value: value == MAX_CHARACTERS,
        f"{MAX_CHARACTERS}, as `elmo_characters` gives them",
    ),
}


def load_weights(weight_file: Union[str, os.PathLike], embedding: Embedding, encoder: Any) -> None:
    """
    Copies the weights of a file into AllenNLP's modules.

    # Parameters

    weight_file : `Union[str, os.PathLike]`
        ELMo's weights as HDF5, a path or a URL. Those of its LSTM are not read.
    embedding : `Embedding`
        The embedding of the characters, shape `(NUM_CHARACTERS + 1, character_dim)`. Row 0, the
        padding between sentences, is not changed.
    encoder : `CnnHighwayEncoder`

    # Raises

    `InvalidFileError`
        If there is no such file, it is not HDF5, or it lacks a dataset, has it in another shape, or
        links to it.
    """
    path = _fetch("weight file", weight_file)
    remedy = "The weights that belong to the options are wanted."
    try:
        with h5py.File(path, "r") as file, torch.no_grad():
            for name, weight in _elmo_views(embedding.weight[1:], encoder).items():
                if _is_elsewhere(file, name):
                    found = f"has `{name}` in another file, or as a link"
                    raise _error("weight file", weight_file, found, "Copy the values into it.")
                dataset, shape = file.get(name), tuple(weight.shape)
                if not isinstance(dataset, h5py.Dataset):
                    raise _error("weight file", weight_file, f"has no `{name}`", remedy)
                if dataset.shape != shape or dataset.dtype.kind != "f":
                    found = (
                        f"does not fit the options: `{name}` has the shape {dataset.shape} and the "
                        f"type {dataset.dtype}; the shape {shape} and a type of floats are wanted"
                    )
                    raise _error("weight file", weight_file, found, remedy)
                values = torch.from_numpy(dataset[...].astype("float32"))
                weight.copy_(-values if name.endswith("_carry") else values)
    except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        found = f"is no HDF5, or damaged ({error})"
        remedy = "Copy it again from an intact file."
        raise _error("weight file", weight_file, found, remedy) from None


def _is_elsewhere(file: h5py.File, name: str) -> bool:
    """Whether a dataset is behind a link or keeps its values in other files."""
    parts = name.split("/")
    links = (file.get("/".join(parts[:end]), getlink=True) for end in range(1, len(parts) + 1))
    # Each link is checked before it is followed.
    if not all(link is None or isinstance(link, h5py.HardLink) for link in links):
        return True
    dataset = file.get(name)
    return isinstance(dataset, h5py.Dataset) and bool(dataset.external or dataset.is_virtual)


def extract_weights(embedding: Embedding, encoder: Any) -> Dict[str, numpy.ndarray]:
    """The inverse of `load_weights`: what `write_character_cnn` takes."""
    with torch.no_grad():
        # Looked up, not copied: an embedding may project or rescale its rows.
        views = _elmo_views(embedding(torch.arange(1, NUM_CHARACTERS + 1)), encoder)
        return {
            name: (-weight if name.endswith("_carry") else weight).detach().float().numpy()
            for name, weight in views.items()
        }


def _elmo_views(char_embed: torch.Tensor, encoder: Any) -> Dict[str, torch.Tensor]:
    """
    The weights under ELMo's names and in its shapes, as views. AllenNLP's gate is the share of the
    input that is carried, ELMo's the share that is transformed, so `carry` has the other sign.
    """
    views = {"char_embed": char_embed}
    for index, convolution in enumerate(encoder._convolutions):
        views[f"CNN/W_cnn_{index}"] = convolution.weight.permute(2, 1, 0).unsqueeze(0)
        views[f"CNN/b_cnn_{index}"] = convolution.bias
    for index, layer in enumerate(encoder._highways._layers):
        for kind, values in (("W", layer.weight.t()), ("b", layer.bias)):
            transform, carry = values.chunk(2, dim=-1)
            views[f"CNN_high_{index}/{kind}_transform"] = transform
            views[f"CNN_high_{index}/{kind}_carry"] = carry
    views["CNN_proj/W_proj"] = encoder._projection.weight.t()
    views["CNN_proj/b_proj"] = encoder._projection.bias
    return views


def _fetch(what: str, file: Union[str, os.PathLike]) -> str:
    path = resolve_path(file, "Give the path of the file.", f"ELMo's {what}")
    if os.path.isdir(path):
        raise _error(what, file, "is a directory", "A file is wanted.")
    return path


def _error(what: str, file: Union[str, os.PathLike], found: str, remedy: str) -> InvalidFileError:
    return InvalidFileError(file, found, remedy, kind=f"ELMo's {what}")


def write_character_cnn(
    directory: Path,
    options: CharacterCnnOptions,
    weights: Dict[str, numpy.ndarray],
    *,
    force: bool = False,
) -> None:
    """
    Writes `options.json` and `weights.hdf5`, with `force` also in place of existing ones. There are
    never the options of one model beside the weights of another.
    """
    with write_directory(directory, CONTENTS, force=force) as new:
        (new / _OPTIONS).write_text(json.dumps(options.to_json(), indent=2) + "\n", "utf-8")
        # In memory, because HDF5 crashes on a full disk.
        with h5py.File(_WEIGHTS, "w", driver="core", backing_store=False) as file:
            for name, array in weights.items():
                file.create_dataset(name, data=array, dtype="float32")
            file.flush()
            (new / _WEIGHTS).write_bytes(file.id.get_file_image())
