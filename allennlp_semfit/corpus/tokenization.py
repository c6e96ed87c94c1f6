"""
Splits documents into tokenised sentences, in parallel.
"""

from contextlib import closing
from typing import Generator, Iterable, Iterator, List, NamedTuple, Optional

from allennlp_semfit.common.parallel import ordered_map
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.sentences import SentenceSplitter, normalize_whitespace
from allennlp_semfit.corpus.sources import Document
from allennlp_semfit.corpus.wiki_markup import strip_markup

_BATCH_CHARACTERS = 1 << 17
_BATCHES_PER_WORKER = 4


class Sentences(NamedTuple):
    """
    The sentences of a document.

    # Parameters

    lines : `str`
        One sentence per line, each with a newline.
    sentences : `int`
        The number of sentences.
    words : `int`
        The number of words.
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
        With 1, no other processes are started.

    # Returns

    `Generator[Sentences, None, None]`
        One for each document, in order. It does not depend on the number of workers.

    # Raises

    `ConfigurationError`
        If a worker dies, or reading the documents fails.
    """
    batches = _batches(documents)
    if num_workers == 1:
        worker = _Worker(options)
        for batch in batches:
            yield from worker.process(batch)
        return
    # The workers run until the generator is closed.
    results = ordered_map(
        _process,
        batches,
        num_workers=num_workers,
        items_per_worker=_BATCHES_PER_WORKER,
        initializer=_initialize_worker,
        initargs=(options,),
    )
    with closing(results):
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


def _initialize_worker(options: CorpusOptions) -> None:
    global _worker
    _worker = _Worker(options)


def _process(batch: List[Document]) -> List[Sentences]:
    assert _worker is not None
    return _worker.process(batch)
