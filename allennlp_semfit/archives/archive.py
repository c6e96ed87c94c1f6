import copy
import json
import os
import pickle
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any, Callable, Dict, Iterator, Optional, Self, Tuple, Type, TypeVar, Union

import torch
from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME, get_weights_path
from allennlp.models.model import remove_keys_from_params
from safetensors import SafetensorError
from safetensors.torch import load_file

from allennlp_semfit.common.errors import InvalidFileError, first_line, resolve_path
from allennlp_semfit.common.initialization import weights_follow
from allennlp_semfit.common.model_config import type_of
from allennlp_semfit.common.output import copy_files, explain_full_disk
from allennlp_semfit.common.text_files import FOLDER_WEIGHTS

Component = TypeVar("Component", bound=Registrable)

VOCABULARY = "vocabulary"
"""The directory of an archive with its vocabulary."""

# The suffixes of config keys whose values are paths.
_PATH_KEYS = ("path", "paths", "file", "files", "filename")
# The errors that AllenNLP raises for malformed configs.
_FAULTS = (
    *(AttributeError, ConfigurationError, MemoryError, OverflowError, RuntimeError),
    *(TypeError, ValueError),
)
# The errors of damaged weights, whose bytes PyTorch interprets without checks.
_DAMAGED_WEIGHTS = (
    *(AttributeError, EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError),
    *(SafetensorError, struct.error, zipfile.BadZipFile),
)
# The options with which `export-model` takes files that have been moved, by the kind of file.
_MOVED_OPTIONS = {
    "fastText model": "--fasttext-model-path",
    "subword tokenizer": "--tokenizer-path",
}
_EXPECTED = "It must be a `model.tar.gz` of `allennlp train`, or a folder of `export-model`."
_COPY_AGAIN = "Copy it again from an intact file, or train it again."


class Archive:
    """
    A trained model: an archive of `allennlp train`, its serialization directory or an exported
    folder. A process reads each file once. `file` is its path or URL, as the user gave it, and
    `path` the local one, without symbolic links.

    Each subclass is for one `kind` of model, which is its name in messages. `models` and `reader`
    are the types of models and of dataset reader that the configuration may have, and `remedy` says
    how to make such a file.
    """

    kind: str
    models: Tuple[str, ...]
    reader: str
    remedy: str

    def __init__(self, file: str, path: Path) -> None:
        self.file = file
        self.path = path
        self._weights: Optional[Dict[str, torch.Tensor]] = None
        with unpacked(path, self.file, _EXPECTED, self.kind) as directory:
            self._earlier_vocabulary: Optional[Vocabulary] = None
            self.config = self._read_config(directory / CONFIG_NAME)
            self.vocabulary = self._read_vocabulary(directory / VOCABULARY)
            if self._earlier_vocabulary is not None:
                self.vocabulary = extended(self._earlier_vocabulary, self.vocabulary)
            if not path.is_dir():
                self._weights = self._read_weights(directory)

    @classmethod
    def open(cls, file: Union[str, os.PathLike]) -> Self:
        """
        Opens an archive, a serialization directory or an exported folder. Raises an
        `InvalidFileError` if it does not exist, cannot be read, or has another kind of model.
        """
        path = Path(resolve_path(file, cls.remedy, cls.kind)).resolve()
        config = path / CONFIG_NAME
        stat = (config if config.is_file() else path).stat()
        return cls._open(str(file), path, stat.st_size, stat.st_mtime_ns)

    # A task's indexer and embedder open the same language model, which may open a MIMICK model.
    @classmethod
    @lru_cache(maxsize=4)
    def _open(cls, file: str, path: Path, *version: int) -> Self:
        return cls(file, path)

    def error(self, found: str, remedy: str) -> InvalidFileError:
        """The error that something is wrong with the archive; see `InvalidFileError`."""
        return InvalidFileError(self.file, found, remedy, self.kind)

    def build_model(self) -> Model:
        """Builds the model. Does not need the files of its indexer and tokenizer."""
        params = self.config["model"].duplicate()
        # Remove initializers and pretrained files, which only the training needs.
        remove_keys_from_params(params)
        token = weights_follow.set(True)
        try:
            model = self.build(Model, params, vocab=self.vocabulary)
        finally:
            weights_follow.reset(token)
        self.load_weights(model, _COPY_AGAIN)
        return model

    def build_reader(self) -> DatasetReader:
        """Builds the dataset reader. Needs the files of its indexer and tokenizer."""
        return self.build(DatasetReader, self.config["dataset_reader"].duplicate())

    def load_weights(self, model: Model, remedy: str) -> None:
        """
        Loads the weights into a model. Raises an `InvalidFileError` if the model has other
        parameters or buffers.
        """
        # The weights of a compressed archive stay in memory until the first model is built.
        weights, self._weights = self._weights, None
        if weights is None:
            with unpacked(self.path, self.file, _EXPECTED, self.kind) as directory:
                weights = self._read_weights(directory)
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            # The first line of the message is a heading; each further line is a difference.
            differences = shorten(str(error).partition("\n")[2], 300, placeholder=" …")
            raise self.error(
                f"has other parameters than this model: {differences}", remedy
            ) from None

    def build(self, base: Type[Component], params: Any, **extras: Any) -> Component:
        """
        Builds a component of a configuration, which is consumed. `extras` are as for
        `FromParams.from_params`. Raises an `InvalidFileError` if it needs a file that is missing or
        invalid, or the configuration does not work.
        """
        try:
            return base.from_params(params, **extras)
        except InvalidFileError as error:
            if option := _MOVED_OPTIONS.get(error.kind):
                # Do not suggest to make the file again: its vectors would differ.
                remedy = (
                    f"{error.kind} {error.file} {error.found}. If it has been moved, run `allennlp "
                    f"export-model {self.file} FOLDER {option} PATH`, and use FOLDER."
                )
            else:
                # The command line cannot change the archive's config.
                remedy = error.statement
                if error.key is not None:
                    remedy += (
                        f" Put it there, or change `{error.key}` in the `config.json` of its "
                        "serialization directory and use that directory."
                    )
            raise self.error("needs another file", remedy) from None
        except _FAULTS as error:
            raise self.error(
                f"has a configuration that does not work ({first_line(error)})",
                "If its components are from another package, import that package first: on the "
                "command line, with --include-package.",
            ) from error

    def _read_config(self, path: Path) -> Params:
        self._check_is_file(path)
        try:
            # AllenNLP writes plain JSON, so do not evaluate it as jsonnet.
            contents = json.loads(path.read_text("utf-8"))
            if not isinstance(contents, dict):
                raise ValueError("it is not an object")
        except (OSError, RecursionError, ValueError) as error:
            # The configuration of a folder of `export-task` is jsonnet.
            if (inner := path.parent / "language_model").is_dir():
                remedy = f"Give the language model in it, {inner}."
                raise self.error("is a folder of `export-task`", remedy) from None
            raise self.error(f"cannot be read ({first_line(error)})", _EXPECTED) from error
        model = contents.get("model")
        if isinstance(model, dict) and model.get("type") == "from_archive":
            # The weights are in this archive, and the model's configuration is in the earlier one.
            earlier = self.open(str(model.get("archive_file")))
            self._earlier_vocabulary = earlier.vocabulary
            contents["model"] = earlier.config["model"].as_dict(quiet=True)
        config = Params(contents)
        expected = {"model": self.models, "dataset_reader": (self.reader,)}
        for key, types in expected.items():
            found = type_of(config.get(key))
            if found not in types:
                names = " or ".join(f"`{name}`" for name in types)
                raise self.error(f"has a {key} of type {found!r}", f"It must be a {names}.")
        if not (path.parent / FOLDER_WEIGHTS).exists():
            return config
        if not self.path.is_dir():
            raise self.error("is a packed folder of `export-model`", "Unpack it; give the folder.")

        def locate(value: str) -> str:
            # `Path("a") / ""` is a directory.
            return str(path.parent / value) if value else value

        contents = config.as_dict(quiet=True)
        contents.update({key: map_paths(contents[key], locate) for key in expected})
        return Params(contents)

    def _read_vocabulary(self, directory: Path) -> Vocabulary:
        if not directory.is_dir():
            raise self.error(f"has no {VOCABULARY}", _EXPECTED)
        params = self.config.get("vocabulary", Params({}))
        if not isinstance(params, Params):
            raise self.error(f"has the vocabulary {params!r}", "It must be an object.")
        try:
            return read_vocabulary(directory, self.config)
        # The errors that AllenNLP raises for missing files and damaged lines.
        except (OSError, ValueError, IndexError, AssertionError) as error:
            raise self.error(
                f"has a vocabulary that cannot be read ({first_line(error)})", _EXPECTED
            ) from None

    def _read_weights(self, directory: Path) -> Dict[str, torch.Tensor]:
        exported = directory / FOLDER_WEIGHTS
        path = str(exported if exported.exists() else get_weights_path(directory))
        self._check_is_file(Path(path))
        try:
            if path.endswith(".safetensors"):
                return load_file(path)
            return torch.load(path, "cpu", weights_only=True)
        except pickle.UnpicklingError:
            raise self.error(
                "has weights that are not only tensors, and is not loaded",
                "It may be damaged or run code: use it only if it is from someone whom you trust.",
            ) from None
        except _DAMAGED_WEIGHTS as error:
            raise self.error(f"cannot be read ({first_line(error)})", _COPY_AGAIN) from error

    def _check_is_file(self, path: Path) -> None:
        if not path.is_file():
            raise self.error(f"has no {path.name}", _EXPECTED)


def read_vocabulary(directory: Path, config: Params) -> Vocabulary:
    """Reads the vocabulary of an archive with this configuration, as `Model._load` does."""
    # In the Hugging Face Hub's cache, every file is a link. AllenNLP cannot lock a link.
    if (directory / ".lock").is_symlink():
        with TemporaryDirectory() as temporary:
            copy_files(directory, Path(temporary))
            return read_vocabulary(Path(temporary), config)
    params = config.duplicate().get("vocabulary", Params({}))
    choice = params.pop_choice("type", Vocabulary.list_available(), True)
    vocabulary_class, _ = Vocabulary.resolve_class_name(choice)
    return vocabulary_class.from_files(
        str(directory), params.get("padding_token"), params.get("oov_token")
    )


def extended(trained: Vocabulary, other: Vocabulary) -> Vocabulary:
    """
    The vocabulary of a model of type `from_archive`: that of the earlier archive, extended by that
    of the new data. The model's own directory contains only the latter, maybe in another order.
    """
    vocabulary = copy.deepcopy(trained)
    vocabulary.extend_from_vocab(other)
    return vocabulary


@contextmanager
def unpacked(path: Path, file: Union[str, os.PathLike], remedy: str, kind: str) -> Iterator[Path]:
    """
    A context manager for the directory with the files of an archive, which may be a directory.
    `file`, `remedy` and `kind` are those of the `InvalidFileError` if it cannot be unpacked.
    """
    if path.is_dir():
        yield path
        return
    with TemporaryDirectory() as temporary:
        try:
            with explain_full_disk(Path(temporary)), tarfile.open(path, "r:gz") as members:
                # Python 3.11.2, which Debian 12 has, lacks extraction filters.
                members.extraction_filter = getattr(tarfile, "data_filter", None)
                for member in members:
                    members.extract(member, temporary, set_attrs=False)
        except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
            found = f"cannot be unpacked ({error})"
            raise InvalidFileError(file, found, remedy, kind) from None
        yield Path(temporary)


def map_paths(value: Any, function: Callable[[str], str], key: str = "") -> Any:
    """Applies a function to the paths in a configuration: the values of keys like `model_path`."""
    if isinstance(value, dict):
        return {key: map_paths(each, function, key) for key, each in value.items()}
    if isinstance(value, list):
        return [map_paths(each, function, key) for each in value]
    is_path = isinstance(value, str) and key.endswith(_PATH_KEYS)
    return function(value) if is_path else value
