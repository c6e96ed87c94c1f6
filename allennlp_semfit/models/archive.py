"""Trained language models, read from their archives."""

import gzip
import os
import pickle
import tarfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Dict, Iterator, Tuple, cast

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME, extracted_archive, get_weights_path
from allennlp.nn.util import read_state_dict

from allennlp_semfit.common.errors import InvalidFileError, resolve_path

if TYPE_CHECKING:
    from allennlp_semfit.models.language_model_base import LanguageModelBase

__all__ = ["load_config", "load_language_model", "load_vocabulary", "load_weights"]

_KIND = "Language model"
_VOCABULARY = "vocabulary"
_TRAIN = "`allennlp train` makes it with a config such as training_config/elmo_semfit.jsonnet."
_TYPES = {"model": ("bidirectional_lm", "masked_lm"), "dataset_reader": ("language_modeling",)}
_EXPECTED = "It must be a `model.tar.gz` of `allennlp train`."

# The files of the last archive except for its weights, by the archive's path, size and mtime.
# Several parts of a task read them in turn, and each would have to decompress the whole archive.
_small_files: Dict[Tuple[str, int, int], Dict[str, bytes]] = {}


def load_language_model(archive_file: str) -> Tuple[Params, "LanguageModelBase"]:
    """
    Loads the configuration and the model from the archive of a `bidirectional_lm` or `masked_lm`,
    or from its serialization directory. The file of its indexer or tokenizer is not needed.

    # Raises

    `InvalidFileError`
        If the archive does not exist, cannot be read, or has another model.
    """
    with _unpacked(archive_file, with_weights=True) as directory:
        params = _read_config(archive_file, directory)
        weights_file = _find_weights(archive_file, directory)
        _check_has_vocabulary(archive_file, directory)
        with _reading(archive_file):
            model = Model.load(params.duplicate(), directory, weights_file)
    return params, cast("LanguageModelBase", model)


def load_weights(archive_file: str) -> Dict[str, torch.Tensor]:
    """Loads only the parameters and buffers, to the CPU; see `load_language_model`."""
    with _unpacked(archive_file, with_weights=True) as directory:
        _read_config(archive_file, directory)
        weights_file = _find_weights(archive_file, directory)
        with _reading(archive_file):
            weights: Dict[str, torch.Tensor] = read_state_dict(weights_file, cuda_device=-1)
    return weights


def load_config(archive_file: str) -> Params:
    """Loads only the configuration; see `load_language_model`."""
    with _unpacked(archive_file) as directory:
        return _read_config(archive_file, directory)


def load_vocabulary(archive_file: str) -> Vocabulary:
    """Loads only the vocabulary; see `load_language_model`."""
    with _unpacked(archive_file) as directory:
        params = _read_config(archive_file, directory).get("vocabulary", Params({}))
        _check_has_vocabulary(archive_file, directory)
        with _reading(archive_file):
            # As AllenNLP's `Model` loads it.
            choice = params.pop_choice("type", Vocabulary.list_available(), True)
            vocabulary_class, _ = Vocabulary.resolve_class_name(choice)
            vocabulary = vocabulary_class.from_files(
                os.path.join(directory, _VOCABULARY),
                params.get("padding_token"),
                params.get("oov_token"),
            )
    assert isinstance(vocabulary, Vocabulary)
    return vocabulary


@contextmanager
def _unpacked(archive_file: str, *, with_weights: bool = False) -> Iterator[str]:
    """Yields a directory with the files of the archive, which may lack the weights."""
    path = resolve_path(archive_file, _TRAIN, _KIND)
    if os.path.isdir(path):
        yield path
        return
    stat = os.stat(path)
    key = (os.path.realpath(path), stat.st_size, stat.st_mtime_ns)
    with ExitStack() as stack:
        if with_weights or key not in _small_files:
            with _decompressing(archive_file):
                directory = Path(stack.enter_context(extracted_archive(path)))
            _small_files.clear()
            # Without the lock that AllenNLP leaves in the vocabulary.
            files = (directory / CONFIG_NAME, *(directory / _VOCABULARY).glob("[!.]*"))
            _small_files[key] = {
                str(file.relative_to(directory)): file.read_bytes()
                for file in files
                if file.is_file()
            }
        else:
            directory = Path(stack.enter_context(TemporaryDirectory()))
            for name, content in _small_files[key].items():
                (directory / name).parent.mkdir(exist_ok=True)
                (directory / name).write_bytes(content)
        yield str(directory)


@contextmanager
def _decompressing(archive_file: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _error(
            archive_file, f"is not an archive, or is truncated ({error})", _EXPECTED
        ) from None


@contextmanager
def _reading(archive_file: str) -> Iterator[None]:
    try:
        yield
    except InvalidFileError as error:
        # Of the language model's configuration, which the user does not edit.
        error.key = None
        raise _error(archive_file, "needs another file", str(error)) from None
    except (RuntimeError, OSError, EOFError, UnicodeError, pickle.UnpicklingError) as error:
        raise _error(
            archive_file,
            f"cannot be read ({str(error).splitlines()[0]})",
            "Copy it again from an intact file, or train it again.",
        ) from error


def _read_config(archive_file: str, directory: str) -> Params:
    config_file = os.path.join(directory, CONFIG_NAME)
    _check_exists(archive_file, config_file)
    with _reading(archive_file):
        params = Params.from_file(config_file)
    for key, expected in _TYPES.items():
        found = params.get(key, Params({})).get("type")
        if found not in expected:
            types = " or ".join(f"`{name}`" for name in expected)
            raise _error(archive_file, f"has a {key} of type {found!r}", f"It must be a {types}.")
    return params


def _find_weights(archive_file: str, directory: str) -> str:
    weights_file = str(get_weights_path(directory))
    _check_exists(archive_file, weights_file)
    return weights_file


def _check_has_vocabulary(archive_file: str, directory: str) -> None:
    vocabulary = os.path.join(directory, _VOCABULARY)
    for path in (vocabulary, os.path.join(vocabulary, NAMESPACE_PADDING_FILE)):
        _check_exists(archive_file, path)


def _check_exists(archive_file: str, path: str) -> None:
    if not os.path.exists(path):
        raise _error(archive_file, f"has no {os.path.basename(path)}", _EXPECTED)


def _error(archive_file: str, found: str, remedy: str) -> InvalidFileError:
    return InvalidFileError(archive_file, found, remedy, _KIND)
