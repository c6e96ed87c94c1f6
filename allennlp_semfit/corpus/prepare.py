import json
import logging
import os
import re
import time
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Iterable, List, NamedTuple, Optional, Sequence, Union

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from more_itertools import constrained_batches

from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.common.parallel import number_of_workers, ordered_map
from allennlp_semfit.common.text_files import RECORD, TRAIN
from allennlp_semfit.corpus.lines import check_words
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.sentences import SentenceSplitter, normalize
from allennlp_semfit.corpus.sources import Source, find_sources, read_documents
from allennlp_semfit.corpus.wikipedia import Document, strip_markup

logger = logging.getLogger(__name__)

VALIDATION = "validation.txt"
CONTENTS = (f"{TRAIN}/", VALIDATION, RECORD)
_BATCH_CHARACTERS = 1 << 17
_SENTENCES_CHECKED = 100
_WORD = re.compile(r"\w")


@dataclass
class CorpusSummary:
    """
    The size of a prepared corpus. `documents` (articles or blocks of lines), `sentences` and
    `words` include the validation text.
    """

    documents: int = 0
    sentences: int = 0
    words: int = 0
    shards: int = 0
    validation_sentences: int = 0
    seconds: float = 0.0


class CorpusWriter(ExitStack):
    """
    A context manager that writes documents to shards and to a validation file in an empty
    directory.

    A document goes to the shard with the fewest words so far, so that processes that read one shard
    each have the same amount of work. For validation, whole documents are taken at regular
    intervals or, with the default fraction, at growing ones.
    """

    def __init__(self, directory: Path, options: CorpusOptions) -> None:
        super().__init__()
        (directory / TRAIN).mkdir()
        self._directory = directory
        self._options = options
        self.shards: List[IO[str]] = []
        self._shard_words: List[int] = []
        self._validation_file: Optional[IO[str]] = None
        self.summary = CorpusSummary()

    def add(self, lines: str, sentences: int, words: int) -> None:
        """Writes a document. `lines` contains its sentences, each with a line end."""
        if not sentences:
            return
        if self._is_for_validation():
            if self._validation_file is None:
                self._validation_file = self._open(VALIDATION)
            self._validation_file.write(lines)
            self.summary.validation_sentences += sentences
        else:
            shard = self._emptiest_shard()
            self.shards[shard].write(lines)
            self._shard_words[shard] += words
        self.summary.documents += 1
        self.summary.sentences += sentences
        self.summary.words += words

    def _is_for_validation(self) -> bool:
        # Ignore the length of the document itself, or long documents would never be chosen.
        sentences = self.summary.sentences
        if not sentences:
            return False
        half_a_document = sentences / self.summary.documents / 2
        fraction = self._options.validation_fraction
        if fraction is None:
            # The larger the text, the smaller the fraction that gives stable validation metrics.
            fraction = min(7 / sentences**0.5, 0.05)
        return self.summary.validation_sentences + half_a_document <= fraction * sentences

    def _emptiest_shard(self) -> int:
        num_shards = self._options.num_shards
        if len(self.shards) < num_shards:
            width = max(2, len(str(num_shards - 1)))
            self.shards.append(self._open(f"{TRAIN}/shard-{len(self.shards):0{width}d}.txt"))
            self._shard_words.append(0)
            self.summary.shards = len(self.shards)
            return len(self.shards) - 1
        return self._shard_words.index(min(self._shard_words))

    def _open(self, name: str) -> IO[str]:
        path = self._directory / name
        return self.enter_context(open(path, "w", encoding="utf-8", newline="\n"))


def prepare_corpus(
    inputs: Sequence[Union[str, "os.PathLike[str]"]],
    out_dir: Union[str, "os.PathLike[str]"],
    options: Optional[CorpusOptions] = None,
    *,
    num_workers: Optional[int] = None,
    force: bool = False,
) -> CorpusSummary:
    """
    Converts plain text, a dataset or a Wikipedia dump to a corpus for training a language model, in
    `out_dir`: the training text, one tokenized sentence per line, in `train/shard-00.txt` etc., the
    validation text `validation.txt` and the record `corpus.json`. They appear once all are done.

    # Parameters

    inputs : `Sequence[Union[str, os.PathLike]]`
        UTF-8 text, JSON lines, CSV, TSV, Parquet or the `pages-articles.xml` dump of a wiki,
        optionally compressed with gzip, bzip2 or xz; a directory of such files; or a dataset of the
        Hugging Face Hub, such as `"hf://datasets/wikimedia/wikipedia"`.
    out_dir : `Union[str, os.PathLike]`
        The output directory, created if missing.
    options : `Optional[CorpusOptions]`, optional (default = `None`)
    num_workers : `Optional[int]`, optional (default = `None`)
        The number of processes that split text; by default, one per CPU. The corpus does not
        depend on it.
    force : `bool`, optional (default = `False`)
        Whether to replace the corpus in `out_dir`. Other files there stay.

    # Raises

    `ConfigurationError`
        If an input, an option or `out_dir` is invalid. `out_dir` is then unchanged.
    """
    options = options or CorpusOptions()
    workers = number_of_workers(num_workers)
    out_dir = Path(out_dir).resolve()
    sources = find_sources(inputs, options, [out_dir / name for name in CONTENTS])
    check_output_path(out_dir, contents=CONTENTS, force=force)
    # Report an unknown language here rather than in each worker.
    SentenceSplitter(options.language)

    start = time.monotonic()
    with write_directory(out_dir, CONTENTS) as directory:
        with CorpusWriter(directory, options) as writer:
            _fill(writer, sources, options, workers)
        summary = writer.summary
        _check_result(summary, sources, options)
        with open(writer.shards[0].name, encoding="utf-8") as shard:
            check_words(list(islice(shard, _SENTENCES_CHECKED)))
        summary.seconds = round(time.monotonic() - start, 1)
        record = {"options": asdict(options), "summary": asdict(summary)}
        (directory / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return summary


def _fill(
    writer: CorpusWriter, sources: Sequence[Source], options: CorpusOptions, num_workers: int
) -> None:
    num_broken = 0
    total = sum(source.size for source in sources) or None
    with Tqdm.tqdm(total=total, unit="B", unit_scale=True, desc="reading") as bar:
        documents = read_documents(sources, bar.update)
        batches = constrained_batches(
            documents, _BATCH_CHARACTERS, get_len=lambda document: len(document.text), strict=False
        )
        results = ordered_map(partial(_split_batch, options), batches, num_workers=num_workers)
        # The worker processes, none with `num_workers` 1, run until the generator is closed.
        with closing(results):
            for document in chain.from_iterable(results):
                num_broken += document.broken
                writer.add(document.lines, document.sentences, document.words)
                sentences = writer.summary.sentences
                bar.set_postfix_str(f"{sentences:,} sentences", refresh=False)
                if options.max_sentences and sentences >= options.max_sentences:
                    break
    if num_broken:
        logger.warning("Paragraphs left out because of broken markup: %s", f"{num_broken:,}")


def _check_result(
    summary: CorpusSummary, sources: Sequence[Source], options: CorpusOptions
) -> None:
    if not summary.sentences:
        names = ", ".join(source.name for source in sources[:3])
        raise ConfigurationError(
            f"There is no sentence in {names}{' and the other inputs' if sources[3:] else ''}."
        )
    if options.validation_fraction != 0 and not summary.validation_sentences:
        raise ConfigurationError(
            f"There is no validation text: only {summary.documents} articles, rows or blocks of "
            "lines were read, and each is used as a whole. Give more text or a larger "
            "--max-sentences, a larger --validation-fraction, or 0 for no validation text."
        )


class Sentences(NamedTuple):
    """
    A document. `lines` contains its sentences, each with a line end. `broken` is the number of
    paragraphs that were left out because of broken markup.
    """

    lines: str
    sentences: int
    words: int
    broken: int


def _split_batch(options: CorpusOptions, batch: Iterable[Document]) -> List[Sentences]:
    return [_split_document(options, document) for document in batch]


def _split_document(options: CorpusOptions, document: Document) -> Sentences:
    num_broken = 0
    paragraphs = document.text.split("\n")
    if document.hidden_namespaces is not None:
        paragraphs, num_broken = strip_markup(document.text, document.hidden_namespaces)
    if options.already_tokenized:
        sentences: Iterable[str] = filter(None, map(normalize, paragraphs))
    else:
        split = _splitter(options.language).split
        # Leave out the lines between sections, such as "* * *".
        sentences = filter(_WORD.search, chain.from_iterable(map(split, paragraphs)))
    lines = [f"{sentence}\n" for sentence in sentences]
    num_words = sum(line.count(" ") + 1 for line in lines)
    return Sentences("".join(lines), len(lines), num_words, num_broken)


# One for each process, created on demand.
_splitter = lru_cache(maxsize=1)(SentenceSplitter)
