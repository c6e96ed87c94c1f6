"""
Writes a corpus beside its place and moves it there when it is finished.
"""

import json
import logging
import secrets
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Dict, List, Optional, Tuple

from allennlp.common.checks import ConfigurationError

logger = logging.getLogger(__name__)

TRAIN = "train"
HELD_OUT = "heldout.txt"
RECORD = "corpus.json"


class CorpusWriter:
    """
    A context manager: what it has written appears in `out_dir` with `publish`, and vanishes when
    the block is left without it.

    # Parameters

    out_dir : `Path`
    num_shards : `int`
        A document goes to the shard with the fewest words so far, so that those who read one shard
        each have the same amount of work.
    held_out : `float`
        The share of sentences to hold out. Whole documents are taken at even distances.
    """

    def __init__(self, out_dir: Path, *, num_shards: int, held_out: float) -> None:
        self._out_dir = out_dir
        self._num_shards = num_shards
        self._held_out = held_out
        self._files = ExitStack()
        self._shards: List[IO[str]] = []
        self._shard_words: List[int] = []
        self._held_out_file: Optional[IO[str]] = None
        self.documents = 0
        self.sentences = 0
        self.words = 0
        self.held_out_sentences = 0

    def __enter__(self) -> "CorpusWriter":
        # On the same disk: a directory that is there may be the top of one.
        parent = self._out_dir if self._out_dir.exists() else self._out_dir.parent
        parent.mkdir(parents=True, exist_ok=True)
        prefix = _partial_prefix(self._out_dir)
        for left in sorted(parent.glob(prefix + "*")):
            logger.warning("%s is what an interrupted run left behind. You can delete it.", left)
        self._partial = parent / f"{prefix}{secrets.token_hex(4)}"
        (self._partial / TRAIN).mkdir(parents=True)
        return self

    def __exit__(self, *_: Any) -> None:
        self._files.close()
        shutil.rmtree(self._partial, ignore_errors=True)

    @property
    def num_shards(self) -> int:
        """Shards that hold anything: fewer than asked for where there are fewer documents."""
        return len(self._shards)

    def add(self, lines: str, sentences: int, words: int) -> None:
        """
        # Parameters

        lines : `str`
            A document's sentences, a line end after each.
        sentences : `int`
        words : `int`
            How many there are in `lines`.
        """
        if not sentences:
            return
        if self._is_held_out():
            if self._held_out_file is None:
                self._held_out_file = self._open(HELD_OUT)
            self._held_out_file.write(lines)
            self.held_out_sentences += sentences
        else:
            shard = self._emptiest_shard()
            self._shards[shard].write(lines)
            self._shard_words[shard] += words
        self.documents += 1
        self.sentences += sentences
        self.words += words

    def publish(self, record: Dict[str, Any]) -> None:
        """
        Moves the corpus to its place. Of what is already there only an older corpus goes, so that
        the vectors and models which somebody keeps beside it stay.

        # Parameters

        record : `Dict[str, Any]`
            Becomes the file that says that the corpus is finished, with the sizes of its files.
        """
        self._files.close()
        files = {
            str(path.relative_to(self._partial)): path.stat().st_size
            for path in sorted(self._partial.rglob("*.txt"))
        }
        with open(self._partial / RECORD, "w", encoding="utf-8") as record_file:
            json.dump({**record, "files": files}, record_file, indent=2, ensure_ascii=False)
            record_file.write("\n")
        if not self._out_dir.exists():
            self._partial.replace(self._out_dir)
            return
        # The record goes first and comes last: it never stands beside a corpus that is not its own.
        (self._out_dir / RECORD).unlink(missing_ok=True)
        (self._out_dir / HELD_OUT).unlink(missing_ok=True)
        if (self._out_dir / TRAIN).exists():
            shutil.rmtree(self._out_dir / TRAIN)
        for name in (TRAIN, HELD_OUT, RECORD):
            if (self._partial / name).exists():
                (self._partial / name).replace(self._out_dir / name)

    def _is_held_out(self) -> bool:
        # A document's own length does not count, or long ones would never be held out.
        if not self.documents:
            return False
        half_a_document = self.sentences / self.documents / 2
        return self.held_out_sentences + half_a_document <= self._held_out * self.sentences

    def _emptiest_shard(self) -> int:
        if len(self._shards) < self._num_shards:
            width = max(2, len(str(self._num_shards - 1)))
            self._shards.append(self._open(f"{TRAIN}/shard-{len(self._shards):0{width}d}.txt"))
            self._shard_words.append(0)
            return len(self._shards) - 1
        return self._shard_words.index(min(self._shard_words))

    def _open(self, name: str) -> IO[str]:
        return self._files.enter_context(
            open(self._partial / name, "w", encoding="utf-8", newline="\n")
        )


def read_record(out_dir: Path) -> Optional[Dict[str, Any]]:
    """
    # Parameters

    out_dir : `Path`

    # Returns

    `Optional[Dict[str, Any]]`
        What `publish` was given for the corpus in `out_dir`. `None` where there is no corpus, or
        not all of it.
    """
    try:
        record = json.loads((out_dir / RECORD).read_text(encoding="utf-8"))
        sizes: List[Tuple[str, int]] = list(record["files"].items())
        whole = all((out_dir / name).stat().st_size == size for name, size in sizes)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return record if whole else None


def check_vacant(out_dir: Path, *, force: bool) -> None:
    """
    # Parameters

    out_dir : `Path`
    force : `bool`
        Whether a corpus that is already there may be replaced.

    # Raises

    `ConfigurationError`
        When a corpus cannot be put there.
    """
    if out_dir.exists() and not out_dir.is_dir():
        raise ConfigurationError(f"The output {out_dir} is a file: name a directory.")
    if force or not out_dir.exists():
        return
    if any(not path.name.startswith(_partial_prefix(out_dir)) for path in out_dir.iterdir()):
        raise ConfigurationError(
            f"The output directory {out_dir} already holds something else than what this command "
            f"would make. Name another directory, or take --force, which replaces {TRAIN}, "
            f"{HELD_OUT} and {RECORD} in it."
        )


def _partial_prefix(out_dir: Path) -> str:
    return f"{out_dir.name}.partial-"
