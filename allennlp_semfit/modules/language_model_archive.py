"""Trained language models, read from their archives."""

import gzip
import os
import pickle
import tarfile
import zlib
from contextlib import ExitStack
from typing import Tuple

from allennlp.common import Params
from allennlp.common.file_utils import cached_path
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME, extracted_archive, get_weights_path

from allennlp_semfit.common.invalid_file import InvalidFileError
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm

__all__ = ["load_language_model"]


def load_language_model(archive_file: str) -> Tuple[Params, BidirectionalLm]:
    """
    # Parameters

    archive_file : `str`
        The archive of a `bidirectional_lm`, or the directory of its training.

    # Returns

    `Tuple[Params, BidirectionalLm]`
        Its configuration, and the model. Its fastText file is not looked for.

    # Raises

    `InvalidFileError`
        If there is no such archive, it cannot be read, or it holds another model.
    """
    try:
        path = cached_path(archive_file)
    except FileNotFoundError:
        raise InvalidFileError(
            f"Language model {archive_file} does not exist (working directory: {os.getcwd()}). "
            "`allennlp train` makes it with a config such as training_config/elmo_semfit.jsonnet."
        ) from None
    except OSError as error:
        raise InvalidFileError(
            f"Language model {archive_file} cannot be fetched ({error}). Try again, or give "
            "a local copy."
        ) from error
    with ExitStack() as stack:
        try:
            directory = (
                path if os.path.isdir(path) else stack.enter_context(extracted_archive(path))
            )
        except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InvalidFileError(
                f"Language model {archive_file} is no archive, or is cut short ({error}). A "
                "`model.tar.gz` is wanted, as `allennlp train` makes it."
            ) from None
        return _load_directory(archive_file, str(directory))


def _load_directory(archive_file: str, directory: str) -> Tuple[Params, BidirectionalLm]:
    config_file = os.path.join(directory, CONFIG_NAME)
    weights_file = get_weights_path(directory)
    for file in (config_file, weights_file):
        if not os.path.exists(file):
            raise InvalidFileError(
                f"Language model {archive_file} holds no {os.path.basename(file)}. A "
                "`model.tar.gz` is wanted, as `allennlp train` makes it."
            )
    try:
        params = Params.from_file(config_file)
        for key, wanted in (("model", "bidirectional_lm"), ("dataset_reader", "language_modeling")):
            found = params.get(key, Params({})).get("type")
            if found != wanted:
                raise InvalidFileError(
                    f"Language model {archive_file} holds a {key} of type {found!r}; a `{wanted}` "
                    "is wanted."
                )
        model = Model.load(params.duplicate(), directory, weights_file)
    except (RuntimeError, OSError, EOFError, pickle.UnpicklingError) as error:
        raise InvalidFileError(
            f"Language model {archive_file} cannot be read: {str(error).splitlines()[0]} Copy it "
            "again from where it is whole, or train it again."
        ) from error
    assert isinstance(model, BidirectionalLm)
    return params, model
