"""Trains a `mimick` model on a table of word vectors."""

import json
import os
import time
from pathlib import Path
from typing import Any, Dict, NamedTuple

from allennlp.commands import train
from allennlp.common import Params
from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import CONFIG_NAME
from allennlp.modules.token_embedders.embedding import parse_embeddings_file_uri

from allennlp_semfit.common.errors import check_bounds, check_seed
from allennlp_semfit.common.output import check_output_path, name_full_disk
from allennlp_semfit.mimick.model import Mimick  # noqa: F401 (registers what `_config` names)
from allennlp_semfit.mimick.reader import WordVectorsReader  # noqa: F401
from allennlp_semfit.static_vectors.table import read_table

__all__ = ["MimickTraining", "train_mimick"]

_BATCH_SIZE = 256
_LEARNING_RATE = 0.01
_CHARACTERS = "characters"


class MimickTraining(NamedTuple):
    """
    The result of `train_mimick`.

    # Parameters

    num_words : `int`
        The number of words read, including those held out.
    num_held_out : `int`
    dim : `int`
        The dimension of the vectors.
    cosine : `float`
        The mean cosine of the predictions and the table's vectors, on the words held out.
    baseline_cosine : `float`
        The same for the best constant prediction.
    seconds : `float`
    """

    num_words: int
    num_held_out: int
    dim: int
    cosine: float
    baseline_cosine: float
    seconds: float


def train_mimick(
    table: str,
    out_dir: str,
    *,
    held_out: float = 0.1,
    epochs: int = 20,
    char_dim: int = 20,
    hidden_dim: int = 50,
    max_words: int = 100_000,
    seed: int = 13,
    recover: bool = False,
    force: bool = False,
) -> MimickTraining:
    """
    Trains a `mimick` model with AllenNLP's `train_model`. The sizes are those of Pinter et al.
    (2017); the optimizer is Adam, which needs fewer epochs than their SGD.

    If no word of the table has a capital letter, the model lowercases words.

    # Parameters

    table : `str`
        See `read_table`.
    out_dir : `str`
        The serialization directory, with the archive `model.tar.gz`.
    held_out : `float`, optional (default = `0.1`)
        The proportion of words to evaluate on, drawn at random.
    epochs : `int`, optional (default = `20`)
    char_dim : `int`, optional (default = `20`)
        The dimension of the characters' vectors.
    hidden_dim : `int`, optional (default = `50`)
        The dimension of the LSTM's states in each direction.
    max_words : `int`, optional (default = `100000`)
        The number of words to read from the beginning of the table.
    seed : `int`, optional (default = `13`)
    recover : `bool`, optional (default = `False`)
        Whether to resume an interrupted training with the same arguments.
    force : `bool`, optional (default = `False`)
        Whether to delete an earlier training of a `mimick` model, that is, all of `out_dir`.

    # Raises

    `ConfigurationError`
        If an argument is invalid, the output cannot be written, or there are too few words.
    `InvalidFileError`
        If `table` is not a table of word vectors.
    """
    start = time.monotonic()
    _check_output(table, Path(out_dir), recover, force)
    check_bounds(
        {"--epochs": epochs, "--char-dim": char_dim, "--hidden-dim": hidden_dim}, at_least=1
    )
    check_bounds({"--max-words": max_words}, at_least=2)
    if not 0 < held_out < 1:
        raise ConfigurationError(f"--held-out: {held_out}; it takes a number between 0 and 1")
    check_seed(seed)
    words, vectors = read_table(table, max_words=max_words)
    num_held_out = round(held_out * len(words))
    if not 0 < num_held_out < len(words):
        raise ConfigurationError(
            f"{table}: {num_held_out} of {len(words)} words would be held out; give a larger table "
            "or another --held-out"
        )
    is_lowercase = all(word == word.lower() for word in words)

    def reader(subset: str) -> Dict[str, Any]:
        return {
            "type": "word_vectors",
            "tokenizer": {
                "type": "character",
                "lowercase_characters": is_lowercase,
                "start_tokens": ["<w>"],
                "end_tokens": ["</w>"],
            },
            "token_indexers": {_CHARACTERS: {"type": "single_id", "namespace": _CHARACTERS}},
            "max_words": max_words,
            "subset": subset,
            "held_out": held_out,
            "seed": seed,
        }

    config = {
        **dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), seed),
        "dataset_reader": reader("train"),
        "validation_dataset_reader": reader("held_out"),
        "train_data_path": table,
        "validation_data_path": table,
        "datasets_for_vocab_creation": ["train"],
        # Characters that occur once train the vector of unknown characters.
        "vocabulary": {"min_count": {_CHARACTERS: 2}},
        "model": _model(char_dim, hidden_dim, vectors.shape[1]),
        "data_loader": {
            "batch_sampler": {"type": "bucket", "batch_size": _BATCH_SIZE, "sorting_keys": ["word"]}
        },
        "validation_data_loader": {"batch_size": 1024},
        "trainer": {
            "num_epochs": epochs,
            "patience": epochs,
            "optimizer": {"type": "fused_adam", "lr": _LEARNING_RATE},
            "learning_rate_scheduler": "polynomial_decay",
            "grad_norm": 5.0,
            "validation_metric": "+cosine",
            "callbacks": [{"type": "console_logger", "should_log_inputs": False}],
            # They add hooks to every module, which a recovered run would keep.
            "run_confidence_checks": False,
        },
    }
    with name_full_disk(Path(out_dir)):
        train.train_model(
            Params(config),
            out_dir,
            recover=recover,
            force=force,
            file_friendly_logging=common_logging.FILE_FRIENDLY_LOGGING,
        )
    metrics = json.loads(Path(out_dir, "metrics.json").read_text(encoding="utf-8"))
    return MimickTraining(
        num_words=len(words),
        num_held_out=num_held_out,
        dim=vectors.shape[1],
        cosine=metrics["best_validation_cosine"],
        baseline_cosine=metrics["best_validation_baseline_cosine"],
        seconds=time.monotonic() - start,
    )


def _check_output(table: str, out_dir: Path, recover: bool, force: bool) -> None:
    if recover and force:
        raise ConfigurationError("--recover and --force exclude each other; give one of them")
    config_file = out_dir / CONFIG_NAME
    if recover and not config_file.exists():
        raise ConfigurationError(f"{out_dir}: there is no training to recover; leave out --recover")
    if force and out_dir.is_dir() and any(out_dir.iterdir()):
        _check_can_be_deleted(table, out_dir)
    check_output_path(out_dir, contents=[CONFIG_NAME], force=recover or force)


def _check_can_be_deleted(table: str, out_dir: Path) -> None:
    """AllenNLP deletes the whole directory."""
    try:
        config = json.loads((out_dir / CONFIG_NAME).read_text(encoding="utf-8"))
        model_type = config["model"]["type"]
    except OSError:
        found = f"it has no readable {CONFIG_NAME}"
    except (ValueError, KeyError, TypeError):
        found = f"its {CONFIG_NAME} has no `model.type`"
    else:
        is_mimick = model_type == "mimick"
        found = "" if is_mimick else f"the `model.type` in its {CONFIG_NAME} is {model_type!r}"
    if found:
        raise ConfigurationError(
            f"{out_dir}: {found}, so it is not a training of this command; give another directory"
        )
    table_file = Path(os.path.expanduser(parse_embeddings_file_uri(table).main_file_uri))
    # The table may be a link; neither it nor the file that it leads to may be deleted.
    for directory in (table_file.parent.resolve(), table_file.resolve().parent):
        if out_dir.resolve() in (directory, *directory.parents):
            raise ConfigurationError(
                f"{out_dir}: --force would delete the table, {table_file}; give another directory"
            )


def _model(char_dim: int, hidden_dim: int, dim: int) -> Dict[str, Any]:
    return {
        "type": "mimick",
        "text_field_embedder": {
            "token_embedders": {
                _CHARACTERS: {
                    "type": "embedding",
                    "embedding_dim": char_dim,
                    "vocab_namespace": _CHARACTERS,
                }
            }
        },
        "seq2vec_encoder": {
            "type": "lstm",
            "input_size": char_dim,
            "hidden_size": hidden_dim,
            "bidirectional": True,
        },
        "feedforward": {
            "input_dim": 2 * hidden_dim,
            "num_layers": 2,
            "hidden_dims": [dim, dim],
            "activations": ["tanh", "linear"],
        },
    }
