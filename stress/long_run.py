"""Long runs, whose memory, descriptors and shared memory must not grow."""

import json
import os
import resource
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

from stress.child import Child, allennlp
from stress.commands import SECONDS
from stress.formats import training_config
from stress.report import Outcome
from tests import FIXTURES

__all__ = ["Sample", "growth", "run_long", "sample"]

_INTERVAL = 0.2
_LARGEST_GROWTH = {"memory": 16 * 2**20, "descriptors": 32, "shared_memory": 2**20}
# The slowest that is not a hang.
_UPDATES_PER_SECOND, _WORDS_PER_SECOND = 1, 100
# Each update of the training has this many sentences.
_BATCH_SIZE = 8


class Sample(NamedTuple):
    """
    The bytes of the largest process of a command, the open descriptors of all its processes, and
    the bytes of the machine's shared memory.
    """

    memory: int
    descriptors: int
    shared_memory: int


def sample(group: int) -> Sample:
    """Measures the processes of a group."""
    memory = descriptors = 0
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(directory.name)) == group:
                # With what it shares with the process that it was forked from: that becomes its
                # own bit by bit, which is not growth.
                resident = int((directory / "statm").read_text().split()[1])
                memory = max(memory, resident * resource.getpagesize())
                descriptors += len(os.listdir(directory / "fd"))
        except OSError:  # It has ended.
            continue
    state = os.statvfs("/dev/shm")
    return Sample(memory, descriptors, (state.f_blocks - state.f_bfree) * state.f_bsize)


def growth(samples: List[Sample]) -> Dict[str, int]:
    """What grew too much from the third quarter of the samples to the last, by how much."""
    quarter = len(samples) // 4
    grown = {}
    for name, largest in _LARGEST_GROWTH.items():
        values = [getattr(each, name) for each in samples]
        # The medians: workers come and go.
        early, late = (
            sorted(part)[len(part) // 2]
            for part in (values[2 * quarter : 3 * quarter + 1], values[-quarter - 1 :])
        )
        if late - early > largest:
            grown[name] = late - early
    return grown


def run_long(scratch: Path, inputs: Path, *, updates: int, words: int) -> Iterator[Outcome]:
    """Trains for some thousands of updates, with and without workers, and embeds many words."""
    lines = (inputs / "sentences.txt").read_text("utf-8").splitlines(keepends=True)
    sentences = scratch / "sentences.txt"
    repetitions = 1 + words // sum(len(line.split()) for line in lines)
    sentences.write_text("".join(lines * repetitions), "utf-8")
    archive = f"{inputs}/lm/model.tar.gz"
    yield _watch(
        "embed",
        f"{words:,} words",
        # Without `--pool`, all sentences are in memory at the end.
        partial(allennlp, "embed", archive, str(sentences), f"{scratch}/v.npy", "--pool", "mean"),
        SECONDS + words / _WORDS_PER_SECOND,
    )
    corpus = sorted((FIXTURES / "corpus" / "train").iterdir())
    text = [line for file in corpus for line in file.read_text("utf-8").splitlines(keepends=True)]
    train = scratch / "train.txt"
    train.write_text("".join(text * (1 + updates * _BATCH_SIZE // (4 * len(text)))), "utf-8")
    for name, loader in {
        "train": {},
        "train with workers": {"num_workers": 2, "max_instances_in_memory": 100},
    }.items():
        config = training_config(num_epochs=4, checkpointer={"keep_most_recent_by_count": 1})
        config["train_data_path"] = str(train)
        config["data_loader"].update(loader)
        file = scratch / f"{len(loader)}.json"
        file.write_text(json.dumps(config))
        out = f"{scratch}/run-{len(loader)}"
        yield _watch(
            name,
            f"{updates:,} updates",
            partial(allennlp, "train", str(file), "-s", out),
            SECONDS + updates / _UPDATES_PER_SECOND,
        )


def _watch(subject: str, case: str, function: Callable[[], Any], seconds: float) -> Outcome:
    deadline = time.monotonic() + seconds
    with Child(function) as child:
        samples = [sample(child.pid)]
        while not child.wait(_INTERVAL) and time.monotonic() < deadline:
            samples.append(sample(child.pid))
        ended = child.end(0)
    if ended.hung:
        return Outcome(subject, case, "hang")
    if ended.code:
        return Outcome(subject, case, "failed", ended.last_line)
    if ended.orphaned:
        return Outcome(subject, case, "orphan")
    grown = growth(samples)
    peak = max(each.memory for each in samples) / 2**20
    case = f"{case}, {len(samples)} samples, at most {peak:.0f} MB"
    return Outcome(subject, case, "growth" if grown else "ok", ", ".join(sorted(grown)))
