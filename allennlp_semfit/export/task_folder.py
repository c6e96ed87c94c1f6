import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models.archival import CONFIG_NAME, META_NAME, get_weights_path, load_archive
from allennlp.models.model import remove_keys_from_params

from allennlp_semfit.archives.archive import VOCABULARY, extended, read_vocabulary, unpacked
from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.errors import InvalidFileError, first_line, resolve_path
from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.corpus.sentences import blank_pipeline
from allennlp_semfit.export.model_folder import (
    check_files_are_new,
    export_model,
    name_files,
    saved_vocabulary,
)
from allennlp_semfit.predictors.tagger import ANY_LANGUAGE

logger = logging.getLogger(__name__)

_KIND = "task model"
_REMEDY = "It must be a `model.tar.gz` or serialization directory of `allennlp train`."
_MOVED = (
    "If it has been moved, give its path as `language_model`; on the command line, that is "
    "--language-model."
)
_NOT_LOADED = (
    "If its language model has been trained again, or has other paths in the dataset reader than "
    "in the model, give the right one as `language_model`, on the command line --language-model. "
    "If its components are from another package, import that first, on the command line with "
    "--include-package."
)
_PUT_IT_THERE = (
    "If that archive has the same vocabulary, replace the part, in the `config.json` of the "
    "serialization directory, by the `model` in that of the archive, and export the directory."
)
# The taggers whose default predictor needs a spaCy model.
_TAGGERS = ("crf_tagger", "simple_tagger")
_WEIGHTS = "weights.th"
_CONTENTS = [VOCABULARY, _WEIGHTS, META_NAME, CONFIG_NAME]
# The config is jsonnet, which AllenNLP evaluates: its paths are relative to the folder itself. JSON
# could not express that, and AllenNLP does not tell components where the archive is.
_CONFIG = """\
local folder = std.substr(std.thisFile, 0, std.length(std.thisFile) - std.length('config.json'));

"""
_HERE = "<this folder>/"


def export_task(
    archive_file: Union[str, os.PathLike],
    out_dir: Union[str, os.PathLike],
    language_model: Optional[str] = None,
    language: Optional[str] = None,
    *,
    compact: bool = False,
    force: bool = False,
) -> str:
    """
    Writes a folder that contains a task's whole model: its configuration, weights, vocabulary, the
    language model of its `elmo_semfit` embedder, and the other files that it reads. AllenNLP's
    `predict`, `evaluate`, `load_archive` and `Predictor.from_path` take the folder, wherever it is
    moved. A `crf_tagger` or `simple_tagger` becomes a `semfit_tagger`, so that `predict` tags raw
    text.

    The folder has the weights of the language model twice. The task keeps its own, because training
    the language model again must not change them.

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The task's `model.tar.gz`, serialization directory or exported folder.

        Its configuration is evaluated as jsonnet, as AllenNLP does.
    out_dir : `Union[str, os.PathLike]`
        The folder, created if missing.
    language_model : `str`, optional (default = `None`)
        The language model of the `elmo_semfit` embedder, if it has been moved since training.
    language : `str`, optional (default = `None`)
        The language whose rules a tagger uses to split text, a spaCy code such as `"en"`, or `"xx"`
        if spaCy lacks it. The default is the language model's or, if that is not known, `"xx"`.
    compact : `bool`, optional (default = `False`)
        Whether to write the fastText vectors to a file of a quarter of the size or less, which
        rounds them.
    force : `bool`, optional (default = `False`)
        Whether to replace a model in `out_dir`. Other files there stay.

    # Returns

    `str`
        The type of the model in the folder.

    # Raises

    `InvalidFileError`
        If the archive, or a file that it reads, is missing or invalid, or the language model is not
        the one that the task was trained with.
    `ConfigurationError`
        If `out_dir` cannot be used, a file does not fit the language model, or spaCy does not
        support the language.
    """
    if language is not None:
        blank_pipeline(language)
    folder = Path(out_dir)
    inputs = [archive_file, Path(archive_file).parent]
    check_output_path(folder, contents=_CONTENTS, force=force, inputs=inputs)
    location = Path(resolve_path(archive_file, _REMEDY, _KIND))
    with unpacked(location, archive_file, _REMEDY, _KIND) as source:
        weights = Path(get_weights_path(source))
        for needed in (weights, source / VOCABULARY):
            if not needed.exists():
                raise InvalidFileError(archive_file, f"has no {needed.name}", _REMEDY, _KIND)
        try:
            params = Params.from_file(str(source / CONFIG_NAME))
            params["model"], vocabulary = _model_and_vocabulary(params, source)
            remove_keys_from_params(params["model"])
        except InvalidFileError:
            raise
        except (
            *(AssertionError, ConfigurationError, LookupError, OSError),
            *(RuntimeError, ValueError),
        ) as error:
            found = f"cannot be read ({first_line(error)})"
            raise InvalidFileError(archive_file, found, _REMEDY, _KIND) from None
        if params["model"].get("type") in LanguageModelArchive.models:
            remedy = "Use `allennlp export-model`."
            raise InvalidFileError(archive_file, "is a language model", remedy, _KIND)
        whole = params.as_dict(quiet=True)
        # The paths of the data may be private.
        config = {key: whole[key] for key in whole if not key.endswith("_data_path")}
        config["vocabulary"] = saved_vocabulary(whole)
        if any(_components(config["model"], "from_archive")):
            found = "has a part of type `from_archive`"
            raise InvalidFileError(archive_file, found, _PUT_IT_THERE, _KIND)
        models: List[str] = []
        for component in _components(config, "elmo_semfit"):
            path = language_model or component["archive_file"]
            if path not in models:
                models.append(path)
            component["archive_file"] = f"{_HERE}{_name(models.index(path))}"
        keys = {"dataset_reader", "validation_dataset_reader", "model"}.intersection(config)
        contents = [*map(_name, range(len(models))), *_CONTENTS]
        named, files = name_files({key: config[key] for key in keys}, contents, _HERE)
        config.update(named)
        check_files_are_new(folder, files, _WEIGHTS)
        languages = [language]
        with write_directory(folder, [*files, *contents]) as new:
            for number, path in enumerate(models):
                path = resolve_path(path, _MOVED, LanguageModelArchive.kind)
                exported = new / _name(number)
                export_model(path, exported, language=language, compact=compact)
                languages.append(json.loads((exported / CONFIG_NAME).read_text()).get("language"))
            _name_language(config["model"], next(filter(None, languages), None))
            for name, path in files.items():
                shutil.copyfile(path, new / name)
            shutil.copyfile(weights, new / _WEIGHTS)
            vocabulary.save_to_files(str(new / VOCABULARY))
            if (source / META_NAME).exists():
                shutil.copyfile(source / META_NAME, new / META_NAME)
            text = json.dumps(config, indent=2) + "\n"
            (new / CONFIG_NAME).write_text(_CONFIG + text.replace(f'"{_HERE}', 'folder + "'))
            try:
                load_archive(new)
            except (ConfigurationError, RuntimeError) as error:
                found = f"cannot be loaded ({first_line(error)})"
                raise InvalidFileError(archive_file, found, _NOT_LOADED, _KIND) from None
    return str(config["model"].get("type"))


def _model_and_vocabulary(params: Params, source: Path) -> Tuple[Dict[str, Any], Vocabulary]:
    """
    The configuration of the model in the directory of an archive, and its vocabulary: for a model
    of type `from_archive`, the configuration is in that archive.
    """
    model = params["model"].as_dict(quiet=True)
    vocabulary = read_vocabulary(source / VOCABULARY, params)
    if model.get("type") != "from_archive":
        return model, vocabulary
    path = resolve_path(model["archive_file"], _REMEDY, _KIND)
    with unpacked(Path(path), path, _REMEDY, _KIND) as earlier:
        earlier_params = Params.from_file(str(earlier / CONFIG_NAME))
        model, trained = _model_and_vocabulary(earlier_params, earlier)
    return model, extended(trained, vocabulary)


def _name_language(model: Dict[str, Any], language: Optional[str]) -> None:
    """Makes a tagger a `semfit_tagger` for text in a language."""
    if model.get("type") in _TAGGERS:
        model.update(type="semfit_tagger", tagger=model["type"])
    elif model.get("type") != "semfit_tagger":
        return
    language = language or model.get("language")
    if language is None:
        logger.warning(
            "The language of the text is not known, so `allennlp predict` will split sentences by "
            "the rules for any language. If spaCy has rules for this one, give its code as "
            "`language`; on the command line, that is --language."
        )
    model["language"] = language or ANY_LANGUAGE


def _name(number: int) -> str:
    return f"language_model{number or ''}"


def _components(config: Any, kind: str) -> Iterator[Dict[str, Any]]:
    """The components of the type `kind`, anywhere in a configuration."""
    if isinstance(config, dict):
        if config.get("type") == kind:
            yield config
        config = list(config.values())
    if isinstance(config, list):
        for value in config:
            yield from _components(value, kind)
