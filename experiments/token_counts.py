"""Counts the words, tokens and updates of a language model's training."""

import math
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Tuple

from allennlp.common import Params
from allennlp.data import DatasetReader

import allennlp_semfit  # noqa: F401 (registers what the configs name)
from allennlp_semfit.common.text_files import find_text_files
from experiments.json_files import read_json
from experiments.run_records import replace_roots

__all__ = ["count_words_and_updates", "tokens_per_word"]


def count_words_and_updates(
    config: Dict[str, Any], num_epochs: int, text: Path
) -> Tuple[int, Optional[int]]:
    """
    # Parameters

    config : `Dict[str, Any]`
        The config of the training.
    num_epochs : `int`
        The number of epochs run.
    text : `Path`
        The training text.

    # Returns

    `Tuple[int, Optional[int]]`
        The words read, without boundary tokens, and the number of updates, or `None` if the config
        does not determine it.
    """
    num_sentences, num_words = _count_text(text)
    loader = config["data_loader"]
    batch_size = {**loader, **loader.get("batch_sampler", {})}.get("batch_size")
    num_processes = len(config.get("distributed", {}).get("cuda_devices", [0]))
    num_batches = loader.get("batches_per_epoch")
    # The share of the text that one epoch reads.
    share = 1.0
    if batch_size and num_batches:
        share = num_batches * batch_size * num_processes / num_sentences
    elif batch_size:
        num_batches = math.ceil(num_sentences / num_processes / batch_size)
    words = round(num_epochs * share * num_words)
    if not num_batches:
        return words, None
    accumulated = config.get("trainer", {}).get("num_gradient_accumulation_steps", 1)
    return words, num_epochs * math.ceil(num_batches / accumulated)


@lru_cache(maxsize=None)
def _count_text(text: Path) -> Tuple[int, int]:
    """The number of sentences and words of the text, which must not be empty."""
    num_sentences = num_words = 0
    for file in find_text_files([text]):
        with file.open("rb") as lines:
            for line in lines:
                num_in_line = len(line.split())
                num_sentences += num_in_line > 0
                num_words += num_in_line
    return num_sentences, num_words


def tokens_per_word(run: Path, roots: Mapping[str, str]) -> float:
    """
    # Parameters

    run : `Path`
        The directory of the training, `OUT/CORPUS/models/NAME`.
    roots : `Mapping[str, str]`
        As for `replace_roots`.

    # Returns

    `float`
        The tokens per word of the held-out text. Both counts include the ends of sentences.
    """
    reader = read_json(run / "config.json")["dataset_reader"]
    if "tokenizer" not in reader:
        return 1.0
    del reader["token_indexers"]
    here = os.path.abspath(run.parent.parent.parent)
    moved = {root: here if name == "$OUT" else root for root, name in roots.items()}
    reader = replace_roots(reader, moved)
    text = run.parent.parent / "heldout.txt"
    # The start of a sentence is not predicted.
    tokens = sum(
        len(instance["source"]) - 1
        for instance in DatasetReader.from_params(Params(reader)).read(str(text))
    )
    sentences = [line.split() for line in text.read_text("utf-8").splitlines()]
    return tokens / sum(len(sentence) + 1 for sentence in sentences if sentence)
