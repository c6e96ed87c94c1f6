"""
Puts side by side the language models that the Makefile beside this has trained: their held-out
scores, the time of a training step, taken of all of them in turn, and the memory that it takes.
"""

import json
import logging
import multiprocessing
import resource
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Callable, Dict, List

import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance
from allennlp.models import load_archive
from allennlp.models.archival import Archive
from allennlp.training.optimizers import Optimizer

import allennlp_semfit  # noqa: F401 (registers what the archives name)
from benchmarks.timing import time_in_turn

REPEATS = 7
NUM_BATCHES = 3
# As many as in an update of the trainings.
BATCH_SIZE = 32

logger = logging.getLogger("experiments")


def read(archive: Archive, text: Path, num_sentences: int) -> List[Instance]:
    instances = list(islice(archive.dataset_reader.read(str(text)), num_sentences))
    for instance in instances:
        archive.dataset_reader.apply_token_indexers(instance)
    return instances


def training_steps(archive: Archive, instances: List[Instance]) -> Callable[[], None]:
    """What an update does, for a few batches that are ready in memory."""
    model = archive.model.train()
    optimizer = Optimizer.from_params(
        Params({"type": "adam", "lr": 0.0}), model_parameters=list(model.named_parameters())
    )
    batches = []
    for start in range(0, len(instances), BATCH_SIZE):
        batch = Batch(instances[start : start + BATCH_SIZE])
        batch.index_instances(model.vocab)
        batches.append(batch.as_tensor_dict())

    def run() -> None:
        for batch in batches:
            optimizer.zero_grad()
            model(**batch)["loss"].backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()

    return run


def peak_memory(archive_file: Path, text: Path) -> float:
    """In gigabytes, of this process, Python and its libraries included."""
    archive = load_archive(archive_file)
    training_steps(archive, read(archive, text, NUM_BATCHES * BATCH_SIZE))()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def compare(directory: Path) -> List[Dict[str, Any]]:
    """
    # Parameters

    directory : `Path`
        With a training's directory for each model, and the held-out text.

    # Returns

    `List[Dict[str, Any]]`
        What is known of each model whose training has ended.
    """
    text = directory / "heldout.txt"
    files = [file.parent / "model.tar.gz" for file in sorted(directory.glob("*/metrics.json"))]
    names = [file.parent.name for file in files]
    # Each in a process of its own, begun while this one is small.
    context = multiprocessing.get_context("spawn")
    peaks = []
    for file in files:
        with ProcessPoolExecutor(1, context) as pool:
            peaks.append(pool.submit(peak_memory, file, text).result())

    sentences = [line.split() for line in text.read_text("utf-8").splitlines()]
    steps: Dict[str, Callable[[], None]] = {}
    rows: List[Dict[str, Any]] = []
    for name, file, peak in zip(names, files, peaks):
        archive = load_archive(file)
        instances = read(archive, text, len(sentences))
        steps[name] = training_steps(archive, instances[: NUM_BATCHES * BATCH_SIZE])
        trainable = [p.numel() for p in archive.model.parameters() if p.requires_grad]
        row: Dict[str, Any] = {"model": name, "trainable_parameters": sum(trainable)}
        row["peak_memory_gb"] = peak
        metrics = json.loads((directory / name / "metrics.json").read_text())
        for metric in ("perplexity", "cosine", "constant_cosine"):
            if f"best_validation_{metric}" in metrics:
                row[metric] = metrics[f"best_validation_{metric}"]
        if "perplexity" in row:
            # Of a word: a subword model predicts several tokens for it.
            tokens = sum(len(instance["source"]) - 1 for instance in instances)
            words = sum(len(sentence) + 1 for sentence in sentences)
            row["perplexity"] **= tokens / words
        rows.append(row)
    num_words = sum(map(len, sentences[: NUM_BATCHES * BATCH_SIZE]))
    timings = time_in_turn(steps, repeats=REPEATS, device=torch.device("cpu"))
    for row in rows:
        speeds = [num_words / seconds for seconds in timings[row["model"]]]
        row["words_per_second"] = {
            "min": min(speeds),
            "median": statistics.median(speeds),
            "max": max(speeds),
        }
    return rows


def describe(rows: List[Dict[str, Any]]) -> str:
    """The table, in Markdown."""
    lines = [
        "| model | trainable parameters | words a second | peak memory | held out |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        held_out = (
            f"perplexity {row['perplexity']:.1f}"
            if "perplexity" in row
            else f"cosine {row['cosine']:.3f}, constant {row['constant_cosine']:.3f}"
        )
        lines.append(
            f"| `{row['model']}` | {row['trainable_parameters'] / 1e6:.1f} M "
            f"| {row['words_per_second']['median']:,.0f} | {row['peak_memory_gb']:.2f} GB "
            f"| {held_out} |"
        )
    return "\n".join(lines)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    directory, out = map(Path, sys.argv[1:])
    rows = compare(directory)
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(rows, indent=2) + "\n")
    logger.info("%s\n\nThe same: %s", describe(rows), out)


if __name__ == "__main__":
    main()
