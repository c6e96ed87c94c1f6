"""Trained language models and MIMICK models, read from their archives."""

import gzip
import os
import tarfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Dict, Iterator, NamedTuple, Tuple, cast

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME, extracted_archive, get_weights_path
from allennlp.nn.util import read_state_dict

from allennlp_semfit.common.errors import InvalidFileError, first_line, resolve_path

if TYPE_CHECKING:
    from allennlp_semfit.models.language_model_base import LanguageModelBase
    from allennlp_semfit.models.mimick import Mimick

__all__ = [
    "load_config",
    "load_language_model",
    "load_mimick",
    "load_vocabulary",
    "load_weights",
]

_VOCABULARY = "vocabulary"
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
    params, model = _LANGUAGE_MODEL.load(archive_file)
    return params, cast("LanguageModelBase", model)


def load_mimick(archive_file: str) -> Tuple[Params, "Mimick"]:
    """Loads the configuration and the model from the archive of a `mimick`, likewise."""
    params, model = _MIMICK.load(archive_file)
    return params, cast("Mimick", model)


def load_weights(archive_file: str) -> Dict[str, torch.Tensor]:
    """Loads only the parameters and buffers, to the CPU; see `load_language_model`."""
    with _LANGUAGE_MODEL.unpacked(archive_file, with_weights=True) as directory:
        _LANGUAGE_MODEL.read_config(archive_file, directory)
        weights_file = _LANGUAGE_MODEL.find_weights(archive_file, directory)
        with _LANGUAGE_MODEL.reading(archive_file):
            weights: Dict[str, torch.Tensor] = read_state_dict(weights_file, cuda_device=-1)
    return weights


def load_config(archive_file: str) -> Params:
    """Loads only the configuration; see `load_language_model`."""
    with _LANGUAGE_MODEL.unpacked(archive_file) as directory:
        return _LANGUAGE_MODEL.read_config(archive_file, directory)


def load_vocabulary(archive_file: str) -> Vocabulary:
    """Loads only the vocabulary; see `load_language_model`."""
    with _LANGUAGE_MODEL.unpacked(archive_file) as directory:
        params = _LANGUAGE_MODEL.read_config(archive_file, directory).get("vocabulary", Params({}))
        _LANGUAGE_MODEL.check_has_vocabulary(archive_file, directory)
        with _LANGUAGE_MODEL.reading(archive_file):
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


class _Kind(NamedTuple):
    """
    A kind of archive.

    # Parameters

    name : `str`
        What messages call it.
    models : `Tuple[str, ...]`
        The types of model that its configuration may have.
    dataset_reader : `str`
        The type of dataset reader that it must have.
    remedy : `str`
        How to make one.
    """

    name: str
    models: Tuple[str, ...]
    dataset_reader: str
    remedy: str

    def load(self, archive_file: str) -> Tuple[Params, Model]:
        with self.unpacked(archive_file, with_weights=True) as directory:
            params = self.read_config(archive_file, directory)
            weights_file = self.find_weights(archive_file, directory)
            self.check_has_vocabulary(archive_file, directory)
            with self.reading(archive_file):
                model = Model.load(params.duplicate(), directory, weights_file)
        return params, model

    @contextmanager
    def unpacked(self, archive_file: str, *, with_weights: bool = False) -> Iterator[str]:
        """Yields a directory with the files of the archive, which may lack the weights."""
        path = resolve_path(archive_file, self.remedy, self.name)
        if os.path.isdir(path):
            yield path
            return
        stat = os.stat(path)
        key = (os.path.realpath(path), stat.st_size, stat.st_mtime_ns)
        with ExitStack() as stack:
            if with_weights or key not in _small_files:
                with self._decompressing(archive_file):
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
    def _decompressing(self, archive_file: str) -> Iterator[None]:
        try:
            yield
        except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise self._error(
                archive_file, f"is not an archive, or is truncated ({error})", _EXPECTED
            ) from None

    @contextmanager
    def reading(self, archive_file: str) -> Iterator[None]:
        try:
            yield
        except InvalidFileError as error:
            # Of the language model's configuration, which the user does not edit.
            error.key = None
            is_inside = error.kind == "vocabulary file"
            found = "is damaged" if is_inside else "needs another file"
            raise self._error(archive_file, found, str(error)) from None
        except ConfigurationError:
            raise
        # Damaged bytes can raise anything.
        except Exception as error:
            raise self._error(
                archive_file,
                f"cannot be read ({first_line(error)})",
                "Copy it again from an intact file, or train it again.",
            ) from error

    def read_config(self, archive_file: str, directory: str) -> Params:
        config_file = os.path.join(directory, CONFIG_NAME)
        self._check_exists(archive_file, config_file)
        with self.reading(archive_file):
            params = Params.from_file(config_file)
        types = {"model": self.models, "dataset_reader": (self.dataset_reader,)}
        for key, expected in types.items():
            found = params.get(key, Params({})).get("type")
            if found not in expected:
                names = " or ".join(f"`{name}`" for name in expected)
                raise self._error(
                    archive_file, f"has a {key} of type {found!r}", f"It must be a {names}."
                )
        return params

    def find_weights(self, archive_file: str, directory: str) -> str:
        weights_file = str(get_weights_path(directory))
        self._check_exists(archive_file, weights_file)
        return weights_file

    def check_has_vocabulary(self, archive_file: str, directory: str) -> None:
        vocabulary = os.path.join(directory, _VOCABULARY)
        for path in (vocabulary, os.path.join(vocabulary, NAMESPACE_PADDING_FILE)):
            self._check_exists(archive_file, path)

    def _check_exists(self, archive_file: str, path: str) -> None:
        if not os.path.exists(path):
            raise self._error(archive_file, f"has no {os.path.basename(path)}", _EXPECTED)

    def _error(self, archive_file: str, found: str, remedy: str) -> InvalidFileError:
        return InvalidFileError(archive_file, found, remedy, self.name)


_LANGUAGE_MODEL = _Kind(
    "Language model",
    ("bidirectional_lm", "masked_lm"),
    "language_modeling",
    "`allennlp train` makes it with a config such as training_config/elmo_semfit.jsonnet.",
)
_MIMICK = _Kind("MIMICK model", ("mimick",), "word_vectors", "`allennlp train-mimick` makes it.")
