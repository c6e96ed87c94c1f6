"""Trained language models and MIMICK models, read from their archives."""

import gzip
import os
import pickle
import tarfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import (
    Any,
    Collection,
    Dict,
    Iterator,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import parse_overrides, with_overrides
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME, Archive, get_weights_path

from allennlp_semfit.archives.safe_archive import (
    building,
    extract,
    read_config,
    read_weights,
)
from allennlp_semfit.common.errors import InvalidFileError, RefusalError, first_line, resolve_path
from allennlp_semfit.common.parallel import delayed_signals

__all__ = [
    "load_archive",
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


def load_language_model(archive_file: str) -> Tuple[Params, Model]:
    """
    Loads the configuration and the model from the archive of a `bidirectional_lm` or `masked_lm`,
    or from its serialization directory. The file of its indexer or tokenizer is not needed.

    # Raises

    `InvalidFileError`
        If the archive does not exist, cannot be read, or has another model.
    """
    return _LANGUAGE_MODEL.load(archive_file)


def load_archive(archive_file: str, overrides: str = "") -> Archive:
    """
    Loads a language model with its dataset reader, whose files are needed.

    # Parameters

    archive_file : `str`
        See `load_language_model`.
    overrides : `str`, optional (default = `""`)
        JSON that overrides the configuration.

    # Raises

    `ConfigurationError`
        If `overrides` is not a JSON object, or has keys that the configuration lacks.
    `InvalidFileError`
        See `load_language_model`.
    """
    given = _parse_overrides(overrides)
    params, model = _LANGUAGE_MODEL.load(archive_file, given)
    with building(archive_file, _LANGUAGE_MODEL.name, _leaves(given)):
        reader = DatasetReader.from_params(params["dataset_reader"].duplicate())
    return Archive(model, params, reader, reader, None)


def _parse_overrides(overrides: str) -> Dict[str, Any]:
    found = f"-o: {overrides!r}; it takes a JSON object"
    try:
        given = parse_overrides(overrides)
    except (AttributeError, RuntimeError, ValueError) as error:
        raise ConfigurationError(f"{found} ({first_line(error)})") from error
    if not isinstance(given, dict):
        raise ConfigurationError(found)
    return given


def load_mimick(archive_file: str) -> Tuple[Params, Model]:
    """Loads the configuration and the model from the archive of a `mimick`, likewise."""
    return _MIMICK.load(archive_file)


def load_weights(archive_file: str) -> Dict[str, torch.Tensor]:
    """Loads only the parameters and buffers, to the CPU; see `load_language_model`."""
    with _LANGUAGE_MODEL.unpacked(archive_file, with_weights=True) as directory:
        _LANGUAGE_MODEL.read_config(archive_file, directory)
        weights_file = _LANGUAGE_MODEL.find_weights(archive_file, directory)
        with _LANGUAGE_MODEL.reading(archive_file):
            return read_weights(weights_file)


def load_config(archive_file: str) -> Params:
    """Loads only the configuration; see `load_language_model`."""
    with _LANGUAGE_MODEL.unpacked(archive_file) as directory:
        return _LANGUAGE_MODEL.read_config(archive_file, directory)


def load_vocabulary(archive_file: str) -> Vocabulary:
    """Loads only the vocabulary; see `load_language_model`."""
    with _LANGUAGE_MODEL.unpacked(archive_file) as directory:
        params = _LANGUAGE_MODEL.read_config(archive_file, directory).get("vocabulary", Params({}))
        _LANGUAGE_MODEL.check_has_vocabulary(archive_file, directory)
        with building(archive_file, _LANGUAGE_MODEL.name), _LANGUAGE_MODEL.reading(archive_file):
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

    def load(
        self, archive_file: str, overrides: Optional[Dict[str, Any]] = None
    ) -> Tuple[Params, Model]:
        with self.unpacked(archive_file, with_weights=True) as directory:
            params = self.read_config(archive_file, directory)
            if overrides:
                try:
                    params = Params(with_overrides(params.as_dict(quiet=True), overrides))
                except ValueError as error:
                    raise ConfigurationError(
                        f"-o: {first_line(error)}; give keys of the configuration of {archive_file}"
                    ) from error
            weights_file = self.find_weights(archive_file, directory)
            self.check_has_vocabulary(archive_file, directory)
            urls = _leaves(overrides or {})
            with building(archive_file, self.name, urls), self.reading(archive_file):
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
        with ExitStack() as to_the_end, TemporaryDirectory() as temporary:
            directory = Path(temporary)
            # Another thread may clear them.
            small_files = None if with_weights else _small_files.get(key)
            if small_files is None:
                with self._decompressing(archive_file):
                    extract(path, directory)
                _small_files.clear()
                # Without the lock that AllenNLP leaves in the vocabulary.
                files = (directory / CONFIG_NAME, *(directory / _VOCABULARY).glob("[!.]*"))
                _small_files[key] = {
                    str(file.relative_to(directory)): file.read_bytes()
                    for file in files
                    if file.is_file()
                }
            else:
                for name, content in small_files.items():
                    (directory / name).parent.mkdir(exist_ok=True)
                    (directory / name).write_bytes(content)
            yield temporary
            # One that interrupts the removal would leave half of it.
            to_the_end.enter_context(delayed_signals())

    @contextmanager
    def _decompressing(self, archive_file: str) -> Iterator[None]:
        try:
            yield
        except (tarfile.ReadError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise self._error(
                archive_file, f"is not an archive, or is truncated ({error})", _EXPECTED
            ) from None
        except (tarfile.TarError, OSError, ValueError) as error:
            raise self._error(archive_file, f"cannot be unpacked ({error})", _EXPECTED) from None

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
        except (ConfigurationError, RefusalError):
            raise
        except pickle.UnpicklingError:
            raise self._error(
                archive_file,
                "has weights that are not only tensors, and is not loaded",
                "It may be damaged or run code: use it only if it is from someone whom you trust.",
            ) from None
        # Damaged bytes can raise anything.
        except Exception as error:
            raise self._error(
                archive_file,
                f"cannot be read ({first_line(error)})",
                "Copy it again from an intact file, or train it again.",
            ) from error

    def read_config(self, archive_file: str, directory: str) -> Params:
        config_file = os.path.join(directory, CONFIG_NAME)
        self._check_is_file(archive_file, config_file)
        with self.reading(archive_file):
            params = read_config(config_file)
        types = {"model": self.models, "dataset_reader": (self.dataset_reader,)}
        for key, expected in types.items():
            component = params.get(key)
            found = component.get("type") if isinstance(component, Params) else component
            if found not in expected:
                names = " or ".join(f"`{name}`" for name in expected)
                raise self._error(
                    archive_file, f"has a {key} of type {found!r}", f"It must be a {names}."
                )
        return params

    def find_weights(self, archive_file: str, directory: str) -> str:
        weights_file = str(get_weights_path(directory))
        self._check_is_file(archive_file, weights_file)
        return weights_file

    def check_has_vocabulary(self, archive_file: str, directory: str) -> None:
        vocabulary = Path(directory) / _VOCABULARY
        if not vocabulary.is_dir():
            raise self._error(archive_file, f"has no {_VOCABULARY}", _EXPECTED)
        for path in (vocabulary / NAMESPACE_PADDING_FILE, *vocabulary.iterdir()):
            self._check_is_file(archive_file, path)

    def _check_is_file(self, archive_file: str, path: Union[str, Path]) -> None:
        if not os.path.isfile(path):
            raise self._error(archive_file, f"has no {os.path.basename(path)}", _EXPECTED)

    def _error(self, archive_file: str, found: str, remedy: str) -> InvalidFileError:
        return InvalidFileError(archive_file, found, remedy, self.name)


def _leaves(overrides: Dict[str, Any]) -> Collection[Any]:
    """The values that a user gave."""
    return Params(overrides).as_flat_dict().values()


_LANGUAGE_MODEL = _Kind(
    "Language model",
    ("bidirectional_lm", "masked_lm"),
    "language_modeling",
    "`allennlp train` makes it with a config such as training_config/elmo_semfit.jsonnet.",
)
_MIMICK = _Kind(
    "MIMICK model",
    ("mimick",),
    "word_vectors",
    "`allennlp train` makes it with training_config/mimick.jsonnet.",
)
