"""
Splits documents into tokenised sentences, in parallel.
"""

from collections import Counter
from functools import lru_cache, partial
from typing import Counter as CounterType
from typing import Generator, Iterable, Iterator, List, Mapping, NamedTuple

from allennlp_semfit.common.parallel import ordered_map
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.sentences import SentenceSplitter, normalize
from allennlp_semfit.corpus.sources import Document
from allennlp_semfit.corpus.wiki_markup import MarkupError, strip_markup

_BATCH_CHARACTERS = 1 << 17
_BATCHES_PER_WORKER = 4


class Sentences(NamedTuple):
    """
    A document: `lines` has its sentences, each with a line end. `skipped` names an article that is
    left out, and why. `dropped` has how often templates of a name were left out.
    """

    lines: str
    sentences: int
    words: int
    skipped: str = ""
    dropped: Mapping[str, int] = {}


def split_documents(
    documents: Iterable[Document], options: CorpusOptions, num_workers: int
) -> Generator[List[Sentences], None, None]:
    """
    Yields the sentences of each document, in order and in batches. With `num_workers` 1, no other
    processes are started. Otherwise they run until the generator is closed.

    # Raises

    `ConfigurationError`
        If a worker dies, or reading the documents fails.
    """
    return ordered_map(
        partial(_process, options),
        _batches(documents),
        num_workers=num_workers,
        items_per_worker=_BATCHES_PER_WORKER,
    )


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


def _process(options: CorpusOptions, batch: List[Document]) -> List[Sentences]:
    return [_process_document(options, document) for document in batch]


def _process_document(options: CorpusOptions, document: Document) -> Sentences:
    dropped: CounterType[str] = Counter()
    if document.hidden_namespaces is None:
        paragraphs = document.text.split("\n")
    else:
        try:
            paragraphs = strip_markup(document.text, document.hidden_namespaces, dropped)
        except MarkupError as error:
            return Sentences("", 0, 0, skipped=f"{document.title}: {error}")
    lines: List[str] = []
    words = 0
    for paragraph in paragraphs:
        for sentence in _sentences(options, paragraph):
            length = sentence.count(" ") + 1
            if length >= options.min_words:
                lines.append(sentence + "\n")
                words += length
    return Sentences("".join(lines), len(lines), words, dropped=dropped)


def _sentences(options: CorpusOptions, paragraph: str) -> List[str]:
    if options.already_tokenized:
        sentence = normalize(paragraph)
        return [sentence] if sentence else []
    return _splitter(options.language).split(paragraph)


# Each process makes one, when it needs it.
_splitter = lru_cache(maxsize=1)(SentenceSplitter)
