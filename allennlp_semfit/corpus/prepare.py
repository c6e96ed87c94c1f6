"""Prepares the corpus for a language model from text, datasets and Wikipedia dumps."""

import json
import logging
import os
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Counter as CounterType
from typing import Optional, Sequence, Union

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.common.parallel import number_of_workers
from allennlp_semfit.common.text_files import RECORD
from allennlp_semfit.corpus.options import CorpusOptions, CorpusSummary
from allennlp_semfit.corpus.sentences import SentenceSplitter
from allennlp_semfit.corpus.sources import Source, find_sources, read_documents
from allennlp_semfit.corpus.tokenization import split_documents
from allennlp_semfit.corpus.wiki_markup import BROKEN
from allennlp_semfit.corpus.writer import CONTENTS, CorpusWriter

logger = logging.getLogger(__name__)

_MAX_NAMES = 15


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
    validation text `validation.txt` and the record `corpus.json`. They appear when all is done.

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

    # Returns

    `CorpusSummary`

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
        with CorpusWriter(
            directory,
            num_shards=options.num_shards,
            validation_fraction=options.validation_fraction,
        ) as writer:
            _fill(writer, sources, options, workers)
        _check_result(writer, sources, options)
        summary = CorpusSummary(
            documents=writer.documents,
            sentences=writer.sentences,
            words=writer.words,
            shards=len(writer.shards),
            validation_sentences=writer.validation_sentences,
            seconds=round(time.monotonic() - start, 1),
        )
        record = {"options": asdict(options), "summary": summary._asdict()}
        (directory / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return summary


def _fill(
    writer: CorpusWriter, sources: Sequence[Source], options: CorpusOptions, num_workers: int
) -> None:
    dropped: CounterType[str] = Counter()
    total = sum(source.size for source in sources) or None
    with Tqdm.tqdm(total=total, unit="B", unit_scale=True, desc="reading") as bar:
        documents = read_documents(sources, bar.update)
        with closing(split_documents(documents, options, num_workers)) as batches:
            for document in chain.from_iterable(batches):
                dropped.update(document.dropped)
                writer.add(document.lines, document.sentences, document.words)
                bar.set_postfix_str(f"{writer.sentences:,} sentences", refresh=False)
                if options.max_sentences and writer.sentences >= options.max_sentences:
                    break
    num_broken = dropped.pop(BROKEN, 0)
    if num_broken:
        logger.warning("Paragraphs left out because of broken markup: %s", f"{num_broken:,}")
    if dropped:
        names = ", ".join(f"{name} {count:,}" for name, count in dropped.most_common(_MAX_NAMES))
        logger.info(f"Templates left out: {dropped.total():,}, most often {names}")


def _check_result(writer: CorpusWriter, sources: Sequence[Source], options: CorpusOptions) -> None:
    if not writer.sentences:
        names = ", ".join(source.name for source in sources[:3])
        raise ConfigurationError(
            f"There is no sentence of at least {options.min_words} words in {names}"
            f"{' and the other inputs' if len(sources) > 3 else ''}."
        )
    if options.validation_fraction != 0 and not writer.validation_sentences:
        raise ConfigurationError(
            f"There is no validation text: only {writer.documents} articles, rows or blocks of "
            "lines were read, and each is used as a whole. Give more text or a larger "
            "--max-sentences, a larger --validation-fraction, or 0 for no validation text."
        )
