import json
import os
import re
import shutil
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Collection, Dict, Iterable, List, Optional, Tuple, Union

from allennlp.common.checks import ConfigurationError
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME
from allennlp.models.model import remove_keys_from_params
from safetensors.torch import save

from allennlp_semfit.archives.archive import VOCABULARY, Archive, map_paths
from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.errors import resolve_path
from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.common.text_files import FOLDER_WEIGHTS, RECORD
from allennlp_semfit.corpus.sentences import blank_pipeline
from allennlp_semfit.fasttext.compact import write_compact
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.predictors.tagger import ANY_LANGUAGE
from allennlp_semfit.pretrained.layers import LanguageModelLayers

_CARD = "README.md"
_COMPACT = "vectors.safetensors"
_MOVED = (
    "If it has been moved, change its path in the `config.json` of the serialization directory, "
    "and export that directory."
)

_CARD_TEXT = """---
language:{language}
license:
library_name: allennlp_semfit
---

# {name}

A language model whose layers are contextual word vectors:
{num_layers} layers of {dim} dimensions. {unknown}: *fill in, here and above*.

The Python package `allennlp_semfit` opens it; for fastText vectors and LSTMs, it needs only
PyTorch, NumPy and safetensors. Sentences are lists of words, split as the training text was:

```python
from allennlp_semfit import SentenceEmbedder

embedder = SentenceEmbedder("{name}")
layers = embedder.embed_sentence(["The", "cat", "sat", "."])  # ({num_layers}, 4, {dim})
```

In the config of an AllenNLP task, `"{name}"` is the `archive_file` of the `elmo_semfit` indexer and
embedder. Set the encoder's `input_size` to {dim}, plus the dimensions of the other embedders, if
any. The folder is complete: it can be moved, renamed and shared.

| | |
|---|---|
{facts}
"""


def export_model(
    archive_file: Union[str, os.PathLike],
    out_dir: Union[str, os.PathLike],
    fasttext_model_path: Optional[str] = None,
    tokenizer_path: Optional[str] = None,
    language: Optional[str] = None,
    *,
    compact: bool = False,
    force: bool = False,
) -> None:
    """
    Writes a folder that contains a whole language model: its configuration, parameters, vocabulary,
    the files that it reads, such as fastText's, and a model card. The indexer and embedder
    `elmo_semfit`, `SentenceEmbedder` and the commands of this package take the folder in place of
    the model's archive, wherever it is moved; AllenNLP's own `evaluate` and `predict` need the
    archive.

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, serialization directory or exported folder.
    out_dir : `Union[str, os.PathLike]`
        The folder, created if missing.
    fasttext_model_path : `str`, optional (default = `None`)
        The language model's fastText file, if it has been moved since training.
    tokenizer_path : `str`, optional (default = `None`)
        The tokenizer of a subword model, if it has been moved since training.
    language : `str`, optional (default = `None`)
        The language of the text, a spaCy code such as `"en"`, or `"xx"` if spaCy lacks it. The
        default is that of the `corpus.json` beside the training text, if it is still there.

        `export_task` needs it.
    compact : `bool`, optional (default = `False`)
        Whether to write the fastText vectors to a file of a quarter of the size or less, which
        rounds them.

        See `CompactFastText`.
    force : `bool`, optional (default = `False`)
        Whether to replace a model in `out_dir`. Other files there stay.

    # Raises

    `InvalidFileError`
        If the archive is missing or has another kind of model, or if a file that it reads is
        missing.
    `ConfigurationError`
        If `out_dir` cannot be used or is the directory of the model, a file does not fit the
        language model or is a URL, spaCy does not support the language, or the language model of a
        `compact` folder reads no fastText `.bin`.
    """
    if language is not None:
        blank_pipeline(language)
    folder = Path(out_dir)
    contents = [_CARD, VOCABULARY, FOLDER_WEIGHTS, CONFIG_NAME]
    inputs = [archive_file, Path(archive_file).parent]
    check_output_path(folder, contents=contents, force=force, inputs=inputs)
    archive = LanguageModelArchive.open(archive_file)
    archive = archive.with_files(fasttext_model_path, tokenizer_path)
    config, files = _portable(archive, [*contents, _COMPACT] if compact else contents)
    check_files_are_new(folder, files, FOLDER_WEIGHTS)
    # The files of vectors, compact or not: an earlier model in the folder may have either.
    written = [*files, _COMPACT, *contents]
    model = archive.build_model()
    # Check that all files exist and fit the model.
    layers = LanguageModelLayers(archive, model)
    vectors: Any = getattr(archive.open_indexer(), "vectors", None)
    archive.open_tokenizer()
    if compact:
        if not isinstance(vectors, FastTextModel):
            raise ConfigurationError(
                f"--compact: the language model {archive.file} reads no fastText `.bin`; leave "
                "--compact out"
            )
        name = config["dataset_reader"]["token_indexers"][archive.input_name]["model_path"]
        if Path(files.pop(name)).resolve().parent == folder.resolve():
            # Keep the `.bin`, which may be the only copy.
            written.remove(name)
        config = map_paths(config, lambda value: _COMPACT if value == name else value)
    record = _read_record(archive)
    language = language or archive.config.get("language") or _language_in(record)
    tag = ""
    if language is not None:
        config["language"] = language
        tag = "" if language == ANY_LANGUAGE else f" {language}"
    card = _CARD_TEXT.format(
        name=folder.resolve().name,
        language=tag,
        unknown="License" if tag else "Language and license",
        num_layers=layers.num_layers,
        dim=layers.get_output_dim(),
        facts="\n".join(f"| {name} | {value} |" for name, value in _facts(archive, model, record)),
    )
    exported = Path(archive.file)
    if (exported / FOLDER_WEIGHTS).is_file() and (exported / _CARD).is_file():
        # Keep the card: the user may have completed it, and the folder lacks the training facts.
        card = (exported / _CARD).read_text("utf-8", "surrogateescape")
        name = folder.resolve().name
        # The folder may have been renamed, and the title changed.
        if old := re.search(r'SentenceEmbedder\("(.*?)"\)', card):
            card = card.replace(f"\n# {old[1]}\n", f"\n# {name}\n").replace(
                f'"{old[1]}"', f'"{name}"'
            )
        if tag:
            card = re.sub(r"\nlanguage:.*\n", f"\nlanguage:{tag}\n", card, count=1)
            card = card.replace("Language and license: ", "License: ")
    with write_directory(folder, written) as new:
        for name, path in files.items():
            shutil.copyfile(path, new / name)
        if compact:
            write_compact(vectors, new / _COMPACT, chain(*archive.boundary_tokens))
        archive.vocabulary.save_to_files(str(new / VOCABULARY))
        # Tied weights share memory, which the format does not allow.
        tensors = {name: value.clone() for name, value in model.state_dict().items()}
        # `save_file` creates the file with mode 0600.
        (new / FOLDER_WEIGHTS).write_bytes(save(tensors))
        (new / _CARD).write_text(card, "utf-8", "surrogateescape")
        (new / CONFIG_NAME).write_text(json.dumps(config, indent=2) + "\n", "utf-8")


def _portable(
    archive: LanguageModelArchive, reserved: Collection[str]
) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """The configuration, with file names in place of paths, and the paths by these names."""
    params = archive.config.duplicate()
    # Remove initializers and pretrained files, which only the training needs.
    remove_keys_from_params(params["model"])
    whole = params.as_dict(quiet=True)
    config = {key: whole[key] for key in ("dataset_reader", "model")}
    return name_files({**config, "vocabulary": saved_vocabulary(whole)}, reserved)


def saved_vocabulary(config: Dict[str, Any]) -> Dict[str, Any]:
    """The parts of an archive's configuration for reading its vocabulary, which are not paths."""
    vocabulary = config.get("vocabulary", {})
    used = ("type", "padding_token", "oov_token")
    return {key: vocabulary[key] for key in used if key in vocabulary}


def name_files(
    config: Any, reserved: Collection[str], folder: str = ""
) -> Tuple[Any, Dict[str, str]]:
    """
    Replaces the paths of files in a configuration by their names in a `folder`, which are unique
    and not `reserved`. Also returns the paths by their names. Refuses URLs, members of archives,
    the directories of models and, if there is a `folder`, missing files.
    """
    files: Dict[str, str] = {}

    def to_name(value: str) -> str:
        # AllenNLP reads a member of an archive by "(archive.zip)#member".
        if "://" in value or value.startswith("("):
            raise ConfigurationError(f"{value}: fetch or extract this file first; give its path")
        # AllenNLP expands `~` as well.
        path = os.path.expanduser(value)
        if os.path.isfile(os.path.join(path, CONFIG_NAME)):
            raise ConfigurationError(
                f"{path}: it is a directory; in the `config.json` of the archive, name the "
                "`model.tar.gz` in it instead"
            )
        if not os.path.isfile(path):
            # A language model checks its own files when it opens them.
            if folder and not value.startswith(folder):
                resolve_path(value, _MOVED, "")
            return value
        name = os.path.basename(path)
        while name in reserved or files.setdefault(name, path) != path:
            name = f"_{name}"
        return folder + name

    return map_paths(config, to_name), files


def check_files_are_new(folder: Path, files: Iterable[str], weights: str) -> None:
    """
    Raises a `ConfigurationError` if a folder has one of `files`, but no `weights`: then the file is
    not that of an earlier model, which may be replaced.
    """
    for path in map(folder.joinpath, files):
        if path.exists() and not (folder / weights).exists():
            raise ConfigurationError(
                f"{path}: it exists, but is not of an exported model; give another directory"
            )


def _read_record(archive: Archive) -> Dict[str, Any]:
    """What `prepare-corpus` wrote about the training text; empty if that is gone."""
    data = archive.config.get("train_data_path")
    if isinstance(data, str):
        with suppress(OSError, ValueError, TypeError):
            return dict(json.loads((Path(data).parent / RECORD).read_text("utf-8")))
    return {}


def _language_in(record: Dict[str, Any]) -> Optional[str]:
    with suppress(LookupError, TypeError):
        options = record["options"]
        # The language of text that was tokenized elsewhere is unknown.
        return None if options["already_tokenized"] else str(options["language"])
    return None


def _facts(archive: Archive, model: Model, record: Dict[str, Any]) -> List[Tuple[str, str]]:
    """What is known about the training."""
    contextualizer = archive.config["model"].as_dict(quiet=True)["contextualizer"]
    sizes = [
        f"{name} {contextualizer[name]}"
        for name in ("hidden_dim", "cell_size", "num_layers")
        if name in contextualizer
    ]
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    facts = [
        ("contextualizer", ", ".join([f"`{contextualizer['type']}`", *sizes])),
        ("parameters", f"{num_parameters:,}"),
    ]
    data = archive.config.get("train_data_path")
    if isinstance(data, str):
        facts.append(("training text", f"`{data}`"))
        with suppress(ValueError, LookupError, TypeError):
            summary = record["summary"]
            size = f"{summary['sentences']:,} sentences, {summary['words']:,} words"
            facts.append(("size of the text", size))
    path = Path(archive.file)
    directory = path if path.is_dir() else path.parent
    with suppress(OSError, ValueError):
        metrics = json.loads((directory / "metrics.json").read_text())
        facts += [
            (key.removeprefix("best_").replace("_", " "), f"{value:.4f}")
            for key, value in metrics.items()
            if key.startswith("best_validation_") and isinstance(value, float)
        ]
    return facts
