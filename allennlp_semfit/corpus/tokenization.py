"""Splits documents into tokenized sentences, in parallel."""

from collections import Counter
from functools import lru_cache, partial
from typing import Counter as CounterType
from typing import Generator, Iterable, List, Mapping, NamedTuple

from more_itertools import constrained_batches

from allennlp_semfit.common.parallel import ordered_map
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.sentences import SentenceSplitter, normalize
from allennlp_semfit.corpus.sources import Document
from allennlp_semfit.corpus.wiki_markup import strip_markup

_BATCH_CHARACTERS = 1 << 17
_BATCHES_PER_WORKER = 4


class Sentences(NamedTuple):
    """
    A document. `lines` contains its sentences, each with a line end. `dropped` counts the templates
    of each name that were left out.
    """

    lines: str
    sentences: int
    words: int
    dropped: Mapping[str, int] = {}


def split_documents(
    documents: Iterable[Document], options: CorpusOptions, num_workers: int
) -> Generator[List[Sentences], None, None]:
    """
    Yields the sentences of each document, in order and in batches. The worker processes, none with
    `num_workers` 1, run until the generator is closed.

    # Raises

    `ConfigurationError`
        If a worker dies, or reading the documents fails.
    """
    batches = constrained_batches(
        documents, _BATCH_CHARACTERS, get_len=lambda document: len(document.text), strict=False
    )
    return ordered_map(
        partial(_split_batch, options),
        batches,
        num_workers=num_workers,
        items_per_worker=_BATCHES_PER_WORKER,
    )


def _split_batch(options: CorpusOptions, batch: Iterable[Document]) -> List[Sentences]:
    return [_split_document(options, document) for document in batch]


def _split_document(options: CorpusOptions, document: Document) -> Sentences:
    dropped: CounterType[str] = Counter()
    paragraphs = document.text.split("\n")
    if document.hidden_namespaces is not None:
        paragraphs = strip_markup(document.text, document.hidden_namespaces, dropped)
    if options.already_tokenized:
        sentences = list(filter(None, map(normalize, paragraphs)))
    else:
        split = _splitter(options.language).split
        sentences = [sentence for paragraph in paragraphs for sentence in split(paragraph)]
    lines = [f"{sentence}\n" for sentence in sentences if _length(sentence) >= options.min_words]
    return Sentences("".join(lines), len(lines), sum(map(_length, lines)), dropped)


def _length(sentence: str) -> int:
    return sentence.count(" ") + 1


# One for each process, created on demand.
_splitter = lru_cache(maxsize=1)(SentenceSplitter)
