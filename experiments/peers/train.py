"""
Trains a word representation for a number of minutes of processor time, which include building its
vocabulary:

    python -m experiments.peers.train NAME TEXT_DIR OUT_DIR --minutes 15

The learning rate reaches 0 at the end, so each number of minutes needs its own training.
`record.json` in OUT_DIR has the updates and the words read. `flair` needs the environment of `make
peers`: use `.venv-peers/bin/python`.
"""

import argparse
import logging
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Dict, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from transformers import set_seed
from transformers.utils.logging import set_verbosity_error

from allennlp_semfit.common.output import check_output_path, lock_output, write_directory
from allennlp_semfit.common.text_files import find_text_files
from experiments.json_files import write_json
from experiments.peers.clock import TrainingClock
from experiments.peers.text import read_sentences
from experiments.run_record import FILE_NAME, describe_commit

__all__ = ["PEERS", "train_peer"]

# The modules, which are imported when needed, and their functions.
PEERS = {
    "word2vec": ("word2vec", "train_word2vec"),
    "bert": ("transformer", "train_bert"),
    "electra": ("transformer", "train_electra"),
    "flair": ("flair_trainer", "train_flair"),
}


def train_peer(
    name: str, text: Path, out: Path, minutes: float, *, threads: int = 1, seed: int = 1
) -> Dict[str, Any]:
    """
    # Parameters

    name : `str`
        One of `PEERS`.
    text : `Path`
        A directory of files with one tokenised sentence per line.
    out : `Path`
        A new directory, which is written at the end.
    minutes : `float`
        The processor time, of all threads, from reading the text to the last update.
    threads : `int`, optional (default = `1`)
    seed : `int`, optional (default = `1`)

    # Returns

    `Dict[str, Any]`
        The content of `record.json`.

    # Raises

    `ConfigurationError`
        If there is no text, `out` cannot be written or is not empty, a package is not installed, or
        no time is left after the preparation.
    """
    module_name, function = PEERS[name]
    module = import_module(f"experiments.peers.{module_name}")
    contents = [*module.CONTENTS, FILE_NAME]
    check_output_path(out, contents=contents)
    files = find_text_files([text])
    if next(read_sentences(files), None) is None:
        raise ConfigurationError(f"{text}: it contains no text; give a directory with text files")
    with lock_output(out):
        torch.set_num_threads(threads)
        set_seed(seed)
        with write_directory(out, contents, force=False) as directory:
            clock = TrainingClock(60 * minutes)
            counts = getattr(module, function)(files, directory, clock, threads=threads, seed=seed)
            record = {
                "name": name,
                "minutes": minutes,
                "threads": threads,
                "seed": seed,
                **counts,
                "preparation_seconds": round(clock.preparation_seconds, 1),
                "commit": describe_commit(),
            }
            write_json(directory / FILE_NAME, record)
    return record


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(
        prog="experiments.peers.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("text", type=Path, help="a directory with one sentence per line in files")
    parser.add_argument("out", type=Path, help="the directory to write")
    parser.add_argument("--minutes", type=_positive, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    set_verbosity_error()
    # For `tokenizers`.
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)
    try:
        train_peer(
            args.name, args.text, args.out, args.minutes, threads=args.threads, seed=args.seed
        )
    except ConfigurationError as error:
        sys.exit(f"experiments.peers.train: {error}")


if __name__ == "__main__":
    main()
