"""Trained language models, read from their archives."""

import gzip
import os
import pickle
import posixpath
import tarfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Dict, Iterator, Tuple

from allennlp.common import Params
from allennlp.common.file_utils import cached_path
from allennlp.data import Vocabulary
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME, extracted_archive, get_weights_path

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm

__all__ = ["load_config", "load_language_model", "load_vocabulary"]

_VOCABULARY = "vocabulary"
_ARCHIVE_IS_WANTED = "A `model.tar.gz` is wanted, as `allennlp train` makes it."

# What an archive has beside its weights. To get at it, all of the archive must be decompressed, a
# minute's work for a large one, and several parts of a task ask for it one after the other.
_small_files: Dict[Tuple[str, int, int], Dict[str, bytes]] = {}


def load_language_model(archive_file: str) -> Tuple[Params, BidirectionalLm]:
    """
    # Parameters

    archive_file : `str`
        The archive of a `bidirectional_lm`, or the directory of its training.

    # Returns

    `Tuple[Params, BidirectionalLm]`
        Its configuration, and the model. The file that its indexer or its tokenizer reads is not
        looked for.

    # Raises

    `InvalidFileError`
        If there is no such archive, it cannot be read, or it holds another model.
    """
    path = _fetch(archive_file)
    with ExitStack() as stack:
        directory = path
        if not os.path.isdir(path):
            with _decompressing(archive_file):
                directory = str(stack.enter_context(extracted_archive(path)))
            _keep(path, _read_directory(directory))
        params = _read_config(archive_file, directory)
        weights_file = get_weights_path(directory)
        _check_exists(archive_file, weights_file)
        _check_has_vocabulary(archive_file, directory)
        with _reading(archive_file):
            model = Model.load(params.duplicate(), directory, weights_file)
    assert isinstance(model, BidirectionalLm)
    return params, model


def load_config(archive_file: str) -> Params:
    """
    The configuration of a language model, without its weights.

    # Parameters

    archive_file : `str`
        The archive of a `bidirectional_lm`, or the directory of its training.

    # Returns

    `Params`

    # Raises

    `InvalidFileError`
        If there is no such archive, it cannot be read, or it holds another model.
    """
    with _unpacked_without_weights(archive_file) as directory:
        return _read_config(archive_file, directory)


def load_vocabulary(archive_file: str) -> Vocabulary:
    """
    The vocabulary of a language model, without its weights.

    # Parameters

    archive_file : `str`
        The archive of a `bidirectional_lm`, or the directory of its training.

    # Returns

    `Vocabulary`

    # Raises

    `InvalidFileError`
        If there is no such archive, it cannot be read, or it holds another model.
    """
    with _unpacked_without_weights(archive_file) as directory:
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


def _fetch(archive_file: str) -> str:
    try:
        return str(cached_path(archive_file))
    except FileNotFoundError:
        raise _error(
            archive_file,
            f"does not exist (working directory: {os.getcwd()})",
            "`allennlp train` makes it with a config such as training_config/elmo_semfit.jsonnet.",
        ) from None
    except OSError as error:
        raise _error(
            archive_file, f"cannot be fetched ({error})", "Try again, or give a local copy."
        ) from error


@contextmanager
def _decompressing(archive_file: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _error(
            archive_file, f"is no archive, or is cut short ({error})", _ARCHIVE_IS_WANTED
        ) from None


@contextmanager
def _reading(archive_file: str) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, OSError, EOFError, UnicodeError, pickle.UnpicklingError) as error:
        raise _error(
            archive_file,
            f"cannot be read ({str(error).splitlines()[0]})",
            "Copy it again from where it is whole, or train it again.",
        ) from error


@contextmanager
def _unpacked_without_weights(archive_file: str) -> Iterator[str]:
    """A directory with the language model's configuration and vocabulary."""
    path = _fetch(archive_file)
    if os.path.isdir(path):
        yield path
        return
    key = _key(path)
    if key not in _small_files:
        with _decompressing(archive_file):
            _keep(path, _read_archive(path))
    with TemporaryDirectory() as directory:
        for name, content in _small_files[key].items():
            file = Path(directory) / name
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
        yield directory


def _key(path: str) -> Tuple[str, int, int]:
    stat = os.stat(path)
    return os.path.realpath(path), stat.st_size, stat.st_mtime_ns


def _keep(path: str, files: Dict[str, bytes]) -> None:
    # Those of one archive at a time: a vocabulary of a million words has ten megabytes.
    _small_files.clear()
    _small_files[_key(path)] = files


def _read_archive(path: str) -> Dict[str, bytes]:
    files = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = posixpath.normpath(member.name)
            if member.isfile() and _is_small(name):
                content = archive.extractfile(member)
                assert content is not None
                files[name] = content.read()
    return files


def _read_directory(directory: str) -> Dict[str, bytes]:
    files = {}
    for path in (Path(directory) / CONFIG_NAME, *(Path(directory) / _VOCABULARY).glob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and _is_small(name):
            files[name] = path.read_bytes()
    return files


def _is_small(name: str) -> bool:
    parent, file = posixpath.split(name)
    # AllenNLP leaves a lock among the words.
    return name == CONFIG_NAME or (parent == _VOCABULARY and not file.startswith("."))


def _read_config(archive_file: str, directory: str) -> Params:
    config_file = os.path.join(directory, CONFIG_NAME)
    _check_exists(archive_file, config_file)
    with _reading(archive_file):
        params = Params.from_file(config_file)
    for key, wanted in (("model", "bidirectional_lm"), ("dataset_reader", "language_modeling")):
        found = params.get(key, Params({})).get("type")
        if found != wanted:
            raise _error(
                archive_file, f"holds a {key} of type {found!r}", f"A `{wanted}` is wanted."
            )
    return params


def _check_has_vocabulary(archive_file: str, directory: str) -> None:
    vocabulary = os.path.join(directory, _VOCABULARY)
    for path in (vocabulary, os.path.join(vocabulary, NAMESPACE_PADDING_FILE)):
        _check_exists(archive_file, path)


def _check_exists(archive_file: str, path: str) -> None:
    if not os.path.exists(path):
        raise _error(archive_file, f"holds no {os.path.basename(path)}", _ARCHIVE_IS_WANTED)


def _error(archive_file: str, found: str, remedy: str) -> InvalidFileError:
    return InvalidFileError(archive_file, found, remedy, kind="Language model")
