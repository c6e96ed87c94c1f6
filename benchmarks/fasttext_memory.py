"""
The cost of looking up word vectors in a large fastText model: time to the first vector, memory of
the process, memory of the page cache, and memory of worker processes.

    python -m benchmarks.fasttext_memory

The candidates are this package's `FastTextModel`, `fasttext.load_model` and gensim's
`load_facebook_vectors`. Each is measured in a fresh process after all imports. The model has random
vectors of a million words and a million buckets, 2.4 GB by default; words follow Zipf's law.

- Time to the first vector, including opening the model, and then per new word, with the file in the
  page cache.
- RSS and PSS that the process gains, and how much of the file is in the page cache afterwards, if
  none of it was before.
- PSS of a worker: the increase of the sum over all processes after the worker has looked up its own
  words. Forked workers inherit the open model, as those of a data loader do. Spawned workers open
  it themselves; the cost of their imports is reported separately.

gensim computes the vectors of all words when it opens a model, which takes minutes. It is timed in
one round and has no spawned workers.
"""

import logging
import mmap
import multiprocessing
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from ctypes import CDLL, c_size_t, c_void_p, get_errno
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import fasttext
import numpy
from allennlp.common import Tqdm
from gensim.models.fasttext import load_facebook_vectors

from allennlp_semfit.fasttext.model import FastTextModel
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.synthetic_fasttext import write_fasttext
from benchmarks.timing import Timings

REFERENCE = "allennlp_semfit"
NUM_WORKERS = 2
# Timed in one round and without spawned workers.
SLOW = {"gensim"}

Lookup = Callable[[str], numpy.ndarray]

# `__name__` is "__main__" here.
logger = logging.getLogger("benchmarks.fasttext_memory")


def open_gensim(path: str) -> Lookup:
    return load_facebook_vectors(path).__getitem__


CANDIDATES: Dict[str, Callable[[str], Lookup]] = {
    REFERENCE: lambda path: FastTextModel(path).get_word_vector,
    "fasttext": lambda path: fasttext.load_model(path).get_word_vector,
    "gensim": open_gensim,
}


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of `function` in a fresh process with all imports done."""
    # Forked from this process, which only imports, because importing is slow.
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork) as executor:
        return executor.submit(function, *arguments).result()


def sample_words(path: str, number: int, seeds: Sequence[int]) -> List[List[str]]:
    """`number` distinct words by Zipf's law for each seed; at most half of the dictionary."""
    dictionary = FastTextModel(path).words
    number = min(number, len(dictionary) // 2)
    draws = []
    for seed in seeds:
        random = numpy.random.default_rng(seed)
        drawn: Dict[str, None] = {}
        while len(drawn) < number:
            ranks = (len(dictionary) ** random.random(number)).astype(int) - 1
            drawn.update((dictionary[rank], None) for rank in ranks)
        draws.append(list(drawn)[:number])
    return draws


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


def measure_memory(candidate: str, path: str, words: List[str]) -> Dict[str, int]:
    """The memory that the process gains, and the bytes of the file in the page cache."""
    evict(path)
    before, file_before = process_memory(os.getpid()), resident_bytes(path)
    lookup = CANDIDATES[candidate](path)
    for word in words:
        lookup(word)
    after = process_memory(os.getpid())
    return {
        "rss_bytes": after["Rss"] - before["Rss"],
        "pss_bytes": after["Pss"] - before["Pss"],
        "file_bytes_resident_before": file_before,
        "file_bytes_resident": resident_bytes(path),
    }


def measure_worker_pss(
    candidate: str, path: str, start_method: str, words_of_workers: List[List[str]]
) -> List[Dict[str, int]]:
    """
    The increase of the total PSS of all processes by each worker: after its start, which includes
    the imports of a spawned worker, and after its look-ups.
    """
    lookup = CANDIDATES[candidate](path)
    lookup(words_of_workers[0][0])
    inherited = lookup if start_method == "fork" else None
    context: Any = multiprocessing.get_context(start_method)
    processes, ours, gains = [os.getppid(), os.getpid()], [], []
    total = sum(process_memory(process)["Pss"] for process in processes)
    for words in words_of_workers:
        connection, theirs = context.Pipe()
        worker = context.Process(
            target=run_worker, args=(theirs, candidate, path, inherited, words)
        )
        worker.start()
        processes.append(worker.pid)
        ours.append((worker, connection))
        connection.recv()
        started = sum(process_memory(process)["Pss"] for process in processes)
        connection.send("look up")
        connection.recv()
        done = sum(process_memory(process)["Pss"] for process in processes)
        gains.append({"start": started - total, "all": done - total})
        total = done
    for worker, connection in ours:
        connection.send("end")
        worker.join()
    return gains


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


def process_memory(process: int) -> Dict[str, int]:
    """The memory of a process in bytes, from smaps_rollup."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    fields = (line.split() for line in lines)
    return {name.rstrip(":"): int(kilobytes) * 1024 for name, kilobytes, _ in fields}


def evict(path: str) -> None:
    """Evicts the file from the page cache."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def resident_bytes(path: str) -> int:
    """The number of bytes of the file in the page cache."""
    libc = CDLL(None, use_errno=True)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = numpy.frombuffer(mapped, "u1")
        pages = numpy.empty(-(-len(view) // mmap.PAGESIZE), "u1")
        address, answer = c_void_p(view.ctypes.data), c_void_p(pages.ctypes.data)
        if libc.mincore(address, c_size_t(len(view)), answer):
            raise OSError(get_errno(), "mincore", path)
        del view
    return int((pages & 1).sum()) * mmap.PAGESIZE


def compare(path: str, num_lookups: int, repeats: int) -> Tuple[Timings, Dict[str, Dict[str, Any]]]:
    """The seconds to the first vector, and all other measurements, by candidate."""
    words, *words_of_workers = in_fresh_process(
        sample_words, path, num_lookups, range(1 + NUM_WORKERS)
    )
    first: Timings = {name: [] for name in CANDIDATES}
    others: Timings = {name: [] for name in CANDIDATES}
    for number in Tqdm.tqdm(range(repeats), desc="rounds"):
        for name in CANDIDATES:
            if number > 0 and name in SLOW:
                continue
            to_first, for_another = in_fresh_process(measure_seconds, name, path, words)
            first[name].append(to_first)
            others[name].append(for_another)
    measures: Dict[str, Dict[str, Any]] = {}
    for name in Tqdm.tqdm(CANDIDATES, desc="memory"):
        measures[name] = {
            "rounds": len(first[name]),
            "seconds_per_new_word": statistics.median(others[name]),
            **in_fresh_process(measure_memory, name, path, words),
        }
        for start_method in ("fork",) if name in SLOW else ("fork", "spawn"):
            gains = in_fresh_process(measure_worker_pss, name, path, start_method, words_of_workers)
            measures[name][f"{start_method}_pss_bytes"] = [gain["all"] for gain in gains]
            measures[name][f"{start_method}_pss_bytes_of_start"] = [g["start"] for g in gains]
    return first, measures


def table_columns(measures: Dict[str, Any]) -> Dict[str, float]:
    """The columns of the table from the measurements of a candidate."""
    columns = {
        "microseconds_per_new_word": 1e6 * measures["seconds_per_new_word"],
        "gained_rss_bytes": measures["rss_bytes"],
        "resident_file_bytes": measures["file_bytes_resident"],
        "forked_worker_bytes": max(measures["fork_pss_bytes"]),
    }
    if "spawn_pss_bytes" in measures:
        columns["spawned_worker_bytes"] = max(measures["spawn_pss_bytes"])
        columns["without_imports_bytes"] = max(
            every - start
            for every, start in zip(
                measures["spawn_pss_bytes"], measures["spawn_pss_bytes_of_start"]
            )
        )
    return columns


def main() -> None:
    parser = argument_parser("fasttext_memory", __doc__, is_on_cpu=True)
    parser.add_argument("--num-words", type=int, default=1_000_000, help="words in the dictionary")
    parser.add_argument("--num-buckets", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--num-lookups", type=int, default=10_000, help="distinct words to look up")
    parser.add_argument(
        "--directory",
        type=Path,
        help="keeps the model for later runs; default: a temporary directory",
    )
    args = parse_arguments(parser)

    with tempfile.TemporaryDirectory() as temporary:
        directory = args.directory or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{args.num_words}_{args.num_buckets}_{args.dim}.bin"
        if not path.exists():
            logger.info("Writing %s …", path)
            write_fasttext(path, args.num_words, args.num_buckets, args.dim)
        timings, measures = compare(str(path), args.num_lookups, args.repeats)
        file_bytes = path.stat().st_size
    report(
        timings,
        REFERENCE,
        args.out,
        device=args.device,
        measures={name: table_columns(measured) for name, measured in measures.items()},
        num_words=args.num_words,
        num_buckets=args.num_buckets,
        dim=args.dim,
        num_lookups=args.num_lookups,
        file_bytes=file_bytes,
        all_measures=measures,
    )


if __name__ == "__main__":
    main()
