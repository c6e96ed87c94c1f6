"""
The cost of looking up word vectors in a large fastText model: time to the first vector, memory of
the page cache, and memory of worker processes. Linux only.

    python -m benchmarks.fasttext_memory

The candidates are this package's `FastTextModel`, `fasttext.load_model` and gensim's
`load_facebook_vectors`. Each is measured in a fresh process after all imports. The model has random
vectors of a million words and a million buckets, 2.4 GB by default; words follow Zipf's law.

- Time to the first vector, including opening the model, and then per new word, with the file in the
  page cache.
- How much of the file is in the page cache after the look-ups, if none of it was before.
- PSS of a worker: the increase of the sum over all processes after the worker has looked up its own
  words. Forked workers inherit the open model, as those of a data loader do. Spawned workers open
  it themselves; their imports do not count.

gensim computes the vectors of all words when it opens a model, which takes minutes. It is timed in
one round and has no spawned workers.
"""

import multiprocessing
import os
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import fasttext
import numpy
from allennlp.common import Tqdm
from gensim.models.fasttext import load_facebook_vectors

from allennlp_semfit.fasttext.model import FastTextModel
from benchmarks.reporting import Timings, argument_parser, parse_arguments, report
from benchmarks.synthetic import write_fasttext

REFERENCE = "allennlp_semfit"
NUM_WORKERS = 2
DIM = 300
# Timed in one round and without spawned workers.
SLOW = {"gensim"}

Lookup = Callable[[str], numpy.ndarray]
CANDIDATES: Dict[str, Callable[[str], Lookup]] = {
    REFERENCE: lambda path: FastTextModel(path).get_word_vector,
    "fasttext": lambda path: fasttext.load_model(path).get_word_vector,
    "gensim": lambda path: load_facebook_vectors(path).__getitem__,
}


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of `function` in a fresh process with all imports done."""
    # Forked from this process, which only imports, because importing is slow.
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork) as executor:
        return executor.submit(function, *arguments).result()


def sample_words(path: str, number: int, seed: int) -> List[str]:
    """`number` distinct words by Zipf's law."""
    words = FastTextModel(path).words
    weights = 1 / numpy.arange(1, len(words) + 1)
    random = numpy.random.default_rng(seed)
    places = random.choice(len(words), number, replace=False, p=weights / weights.sum())
    return [words[place] for place in places]


def measure_seconds(candidate: str, path: str, words: List[str]) -> Tuple[float, float]:
    """The seconds to the first vector, and the seconds per word after it."""
    with open(path, "rb") as file:
        while file.read(2**24):  # into the page cache
            pass
    start = time.perf_counter()
    lookup = CANDIDATES[candidate](path)
    lookup(words[0])
    opened = time.perf_counter()
    for word in words[1:]:
        lookup(word)
    return opened - start, (time.perf_counter() - opened) / (len(words) - 1)


def measure_file(candidate: str, path: str, words: List[str]) -> int:
    """The bytes of the file in the page cache after the look-ups, if there were none before."""
    evict(path)
    lookup = CANDIDATES[candidate](path)
    for word in words:
        lookup(word)
    return resident_bytes(path)


def measure_workers(
    candidate: str, path: str, start_method: str, words_of_workers: List[List[str]]
) -> Tuple[int, int]:
    """
    The largest increase of the total PSS of all processes by a worker, with and without its start,
    which includes the imports of a spawned worker.
    """
    lookup = CANDIDATES[candidate](path)
    lookup(words_of_workers[0][0])
    inherited = lookup if start_method == "fork" else None
    context: Any = multiprocessing.get_context(start_method)
    processes, ours, gains = [os.getppid(), os.getpid()], [], []
    total = sum(map(process_pss, processes))
    for words in words_of_workers:
        connection, theirs = context.Pipe()
        worker = context.Process(
            target=run_worker, args=(theirs, candidate, path, inherited, words)
        )
        worker.start()
        processes.append(worker.pid)
        ours.append((worker, connection))
        connection.recv()
        started = sum(map(process_pss, processes))
        connection.send("look up")
        connection.recv()
        done = sum(map(process_pss, processes))
        gains.append((done - total, done - started))
        total = done
    for worker, connection in ours:
        connection.send("end")
        worker.join()
    return max(gain for gain, _ in gains), max(gain for _, gain in gains)


def run_worker(
    connection: Connection, candidate: str, path: str, lookup: Optional[Lookup], words: List[str]
) -> None:
    """A worker that waits for a message before each step."""
    connection.send("started")
    connection.recv()
    if lookup is None:
        lookup = CANDIDATES[candidate](path)
    for word in words:
        lookup(word)
    connection.send("looked up")
    connection.recv()


def process_pss(process: int) -> int:
    """The PSS of a process in bytes."""
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    return int(rollup.split("\nPss:", 1)[1].split(maxsplit=1)[0]) * 1024


def evict(path: str) -> None:
    """Evicts a file from the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident_bytes(path: str) -> int:
    """The number of bytes of the file in the page cache, from util-linux."""
    command = ["fincore", "--bytes", "--noheadings", "--output=RES", path]
    return int(subprocess.check_output(command))


def compare(path: str, num_lookups: int, repeats: int) -> Tuple[Timings, Dict[str, Dict[str, Any]]]:
    """The seconds to the first vector, and all other measurements, by candidate."""
    words, *words_of_workers = (
        in_fresh_process(sample_words, path, num_lookups, seed) for seed in range(1 + NUM_WORKERS)
    )
    first: Timings = {name: [] for name in CANDIDATES}
    others: Timings = {name: [] for name in CANDIDATES}
    for number, name in product(Tqdm.tqdm(range(repeats), desc="rounds"), CANDIDATES):
        if number == 0 or name not in SLOW:
            to_first, for_another = in_fresh_process(measure_seconds, name, path, words)
            first[name].append(to_first)
            others[name].append(for_another)
    measures: Dict[str, Dict[str, Any]] = {}
    for name in Tqdm.tqdm(CANDIDATES, desc="memory"):
        forked, _ = in_fresh_process(measure_workers, name, path, "fork", words_of_workers)
        measures[name] = {
            "microseconds_per_new_word": 1e6 * statistics.median(others[name]),
            "resident_file_bytes": in_fresh_process(measure_file, name, path, words),
            "forked_worker_bytes": forked,
        }
        if name not in SLOW:
            _, spawned = in_fresh_process(measure_workers, name, path, "spawn", words_of_workers)
            measures[name]["without_imports_bytes"] = spawned
    return first, measures


def main() -> None:
    parser = argument_parser("fasttext_memory", __doc__, is_on_cpu=True)
    parser.add_argument("--num-words", type=int, default=1_000_000, help="words in the dictionary")
    parser.add_argument("--num-buckets", type=int, default=1_000_000)
    parser.add_argument("--num-lookups", type=int, default=10_000, help="distinct words to look up")
    args = parse_arguments(parser)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.bin"
        write_fasttext(path, args.num_words, args.num_buckets, DIM)
        timings, measures = compare(str(path), args.num_lookups, args.repeats)
        file_bytes = path.stat().st_size
    report(args, timings, REFERENCE, measures, dim=DIM, file_bytes=file_bytes)


if __name__ == "__main__":
    main()
