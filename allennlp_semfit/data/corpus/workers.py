"""
Splits documents into tokenised sentences, in several processes.
"""

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import connection, parent_process
from typing import Deque, Generator, Iterable, Iterator, List, NamedTuple, Optional

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.data.corpus.options import CorpusOptions
from allennlp_semfit.data.corpus.sentences import SentenceSplitter, normalize_whitespace
from allennlp_semfit.data.corpus.sources import Document
from allennlp_semfit.data.corpus.wiki_markup import strip_markup

_BATCH_CHARACTERS = 1 << 17
_BATCHES_PER_WORKER = 4


class Sentences(NamedTuple):
    """
    What became of a document.

    # Parameters

    lines : `str`
        A line end after each sentence.
    sentences : `int`
    words : `int`
    """

    lines: str
    sentences: int
    words: int


def split_documents(
    documents: Iterable[Document], options: CorpusOptions, num_workers: int
) -> Generator[Sentences, None, None]:
    """
    # Parameters

    documents : `Iterable[Document]`
    options : `CorpusOptions`
    num_workers : `int`
        With 1, this process does the work.

    # Returns

    `Generator[Sentences, None, None]`
        One for each document, in their order, whatever the number of workers.

    # Raises

    `ConfigurationError`
        When a worker dies, and whatever reading the documents raises.
    """
    batches = _batches(documents)
    if num_workers == 1:
        worker = _Worker(options)
        for batch in batches:
            yield from worker.process(batch)
        return
    # Closed here, since the workers run until the map is.
    with closing(_map_in_order(batches, options, num_workers)) as results:
        for result in results:
            yield from result


def _batches(documents: Iterable[Document]) -> Iterator[List[Document]]:
    batch: List[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _map_in_order(
    batches: Iterable[List[Document]], options: CorpusOptions, num_workers: int
) -> Generator[List[Sentences], None, None]:
    """
    Like `Pool.imap`, except that it reads only a few batches ahead, and that a worker which is
    killed is an error rather than a wait without end.
    """
    pending: Deque[Future[List[Sentences]]] = deque()
    with ProcessPoolExecutor(num_workers, initializer=_start, initargs=(options,)) as pool:
        try:
            for batch in batches:
                pending.append(pool.submit(_process, batch))
                if len(pending) >= num_workers * _BATCHES_PER_WORKER:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise ConfigurationError(
                "A worker process died, most likely for lack of memory: take fewer workers "
                f"(num_workers is {num_workers})."
            ) from error
        finally:
            for future in pending:
                future.cancel()


class _Worker:
    def __init__(self, options: CorpusOptions) -> None:
        self._options = options
        self._splitter = SentenceSplitter(options.language)

    def process(self, batch: List[Document]) -> List[Sentences]:
        return [self._process_document(document) for document in batch]

    def _process_document(self, document: Document) -> Sentences:
        if document.hidden_namespaces is None:
            paragraphs = document.text.split("\n")
        else:
            paragraphs = strip_markup(document.text, document.hidden_namespaces)
        lines: List[str] = []
        words = 0
        for paragraph in paragraphs:
            for sentence in self._sentences(paragraph):
                length = sentence.count(" ") + 1
                if length >= self._options.min_words:
                    lines.append(sentence + "\n")
                    words += length
        return Sentences("".join(lines), len(lines), words)

    def _sentences(self, paragraph: str) -> List[str]:
        if self._options.already_tokenized:
            sentence = normalize_whitespace(paragraph)
            return [sentence] if sentence else []
        return self._splitter.split(paragraph)


_worker: Optional[_Worker] = None


def _start(options: CorpusOptions) -> None:
    global _worker
    # Ctrl-C reaches every process: the parent ends the work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = _Worker(options)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _process(batch: List[Document]) -> List[Sentences]:
    assert _worker is not None
    return _worker.process(batch)
