"""
The `count-vocabulary` subcommand counts the words of a corpus and writes them, the most frequent
first, as the vocabulary of a language model with a softmax.

    allennlp count-vocabulary corpus/train corpus/vocabulary --min-count 3
"""

import argparse
import json
import logging
import os
import re
import sys
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN, DEFAULT_PADDING_TOKEN

from allennlp_semfit.commands.progress_option import add_progress_option, apply_progress_option
from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.common.vocabulary_files import NEWLINE, VocabularyFiles
from allennlp_semfit.common.word_counts import count_words, find_word, most_frequent
from allennlp_semfit.data.corpus.prepare import available_cpus
from allennlp_semfit.data.dataset_readers.language_modeling import LanguageModelingReader

__all__ = ["CountVocabulary", "VocabularySummary", "count_vocabulary"]

logger = logging.getLogger(__name__)


class VocabularySummary(NamedTuple):
    """
    # Parameters

    num_sentences : `int`
    num_words : `int`
        The words of the corpus, each as often as it occurs, without boundary tokens.
    num_types : `int`
        The same, each once.
    vocabulary_size : `int`
        The words of the vocabulary, boundary tokens included, padding and `@@UNKNOWN@@` not.
    kept_share : `float`
        The share of `num_words` that the vocabulary holds. The rest is read as `@@UNKNOWN@@`.
    seconds : `float`
    """

    num_sentences: int
    num_words: int
    num_types: int
    vocabulary_size: int
    kept_share: float
    seconds: float


@Subcommand.register("count-vocabulary")
class CountVocabulary(Subcommand):
    """
    Registered as a "Subcommand" with name "count-vocabulary".
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Write the words of text with one tokenised sentence a line as a vocabulary,
            in falling order of frequency, words of the same frequency in alphabetical order: what
            the softmax language models predict. Words are counted as the language_modeling reader
            makes them by default, but for its max_sequence_length: however long a line is, it
            counts as one sentence. The memory needed is about 300 bytes for each distinct word."""
        subparser = parser.add_parser(
            self.name, description=description, help="Make the vocabulary of a language model."
        )
        subparser.add_argument(
            "corpus",
            nargs="+",
            metavar="CORPUS",
            help="text in UTF-8: files, directories (all files in them), or quoted globs",
        )
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="where the vocabulary goes, a directory of its own"
        )
        subparser.add_argument(
            "--min-count", type=int, default=1, help="leave out words that occur less often"
        )
        subparser.add_argument(
            "--max-size",
            type=int,
            help="keep at most so many words, the most frequent, boundary tokens included, "
            "@@UNKNOWN@@ and padding not",
        )
        for place in ("start", "end"):
            subparser.add_argument(
                f"--{place}-tokens",
                type=str.split,
                metavar="TOKENS",
                help=f"the reader's {place}_tokens, in one argument with spaces between them, '' "
                "for none; by default the reader's default, </s>",
            )
        subparser.add_argument(
            "--namespace",
            default="tokens",
            help="the vocabulary's namespace, which is its indexer's",
        )
        subparser.add_argument(
            "--num-workers", type=int, help="processes that count (default = one for each CPU)"
        )
        subparser.add_argument(
            "--force", action="store_true", help="replace the vocabulary that is in OUT_DIR"
        )
        add_progress_option(subparser)
        subparser.set_defaults(func=count_vocabulary_from_args)
        return subparser


def count_vocabulary_from_args(args: argparse.Namespace) -> None:
    """
    Runs `count_vocabulary` with the arguments of the command line.

    # Parameters

    args : `argparse.Namespace`

    # Raises

    `SystemExit`
        With the code 1 and one line for the user, when the vocabulary cannot be made.
    """
    apply_progress_option(args)
    try:
        summary = count_vocabulary(
            args.corpus,
            args.out_dir,
            min_count=args.min_count,
            max_size=args.max_size,
            start_tokens=args.start_tokens,
            end_tokens=args.end_tokens,
            namespace=args.namespace,
            num_workers=args.num_workers,
            force=args.force,
        )
    # A full disk is the user's to mend as well.
    except (ConfigurationError, OSError) as error:
        sys.exit(f"count-vocabulary: {error}")
    except KeyboardInterrupt:
        sys.exit("count-vocabulary: interrupted; nothing was written")
    logger.info(
        "%s: %s sentences read, %s words of %s types; %s words kept, boundaries included, which "
        "are %.2f%% of the corpus: the rest will be read as %s; %.1f seconds",
        args.out_dir,
        f"{summary.num_sentences:,}",
        f"{summary.num_words:,}",
        f"{summary.num_types:,}",
        f"{summary.vocabulary_size:,}",
        100 * summary.kept_share,
        DEFAULT_OOV_TOKEN,
        summary.seconds,
    )
    vocabulary = json.dumps({"type": "from_files", "directory": args.out_dir}, ensure_ascii=False)
    logger.info('Next: "vocabulary": %s in the configuration of the language model', vocabulary)


def count_vocabulary(
    corpus: Sequence[Union[str, os.PathLike]],
    out_dir: Union[str, os.PathLike],
    *,
    min_count: int = 1,
    max_size: Optional[int] = None,
    start_tokens: Optional[List[str]] = None,
    end_tokens: Optional[List[str]] = None,
    namespace: str = "tokens",
    num_workers: Optional[int] = None,
    force: bool = False,
) -> VocabularySummary:
    """
    Makes a vocabulary for `"vocabulary": {"type": "from_files", "directory": out_dir}`. The padding
    has index 0 and `@@UNKNOWN@@` 1; then come the words in falling order of frequency, and in order
    of their code points where that is the same.

    Words that contain `@@NEWLINE@@` are left out: AllenNLP's files would give them back changed.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        Files, directories and globs of text, UTF-8, one tokenised sentence a line.
    out_dir : `Union[str, os.PathLike]`
        The directories above it are made if they are missing. The vocabulary appears in it whole.
    min_count : `int`, optional (default = `1`)
        Rarer words are left out.
    max_size : `int`, optional (default = `None`)
        The most words, boundary tokens included, padding and `@@UNKNOWN@@` not.
    start_tokens : `List[str]`, optional (default = `None`)
        Counted once for each line that has a word. `None` means those of `LanguageModelingReader`.
    end_tokens : `List[str]`, optional (default = `None`)
        Likewise.
    namespace : `str`, optional (default = `"tokens"`)
    num_workers : `int`, optional (default = `None`)
        Processes that count, by default one for each CPU. The vocabulary does not depend on it.
    force : `bool`, optional (default = `False`)
        Whether to replace a vocabulary that is already in `out_dir`.

    # Returns

    `VocabularySummary`

    # Raises

    `ConfigurationError`
        If an option or `out_dir` is wrong, which shows before the counting; or if the corpus cannot
        be read, holds the word `@@PADDING@@`, or has no word that is frequent enough. Then nothing
        is left in `out_dir`, or what was there before.
    """
    started = time.monotonic()
    workers = available_cpus() if num_workers is None else num_workers
    for option, value in (
        ("--min-count", min_count),
        ("--max-size", max_size),
        ("--num-workers", workers),
    ):
        if value is not None and value < 1:
            raise ConfigurationError(f"{option}: {value}; it takes 1 or more")
    boundaries = _boundaries(start_tokens, end_tokens)
    vocabulary = VocabularyFiles(Path(out_dir), namespace)
    vocabulary.check_vacant(force=force)
    files = find_text_files(corpus, exclude=vocabulary.paths)

    counts, num_sentences = count_words(files, num_workers=workers)
    num_words, num_types = sum(counts.values()), len(counts)
    _remove_special_words(counts, files)
    for token in boundaries:
        counts[token] = counts.get(token, 0) + num_sentences
    words = most_frequent(counts, min_count=min_count)[:max_size]
    if not words:
        raise ConfigurationError(
            f"--min-count: no word occurs {min_count} times or more; lower it, or give more text"
        )
    vocabulary.write(words)
    for token in boundaries:
        counts[token] -= num_sentences
    return VocabularySummary(
        num_sentences=num_sentences,
        num_words=num_words,
        num_types=num_types,
        vocabulary_size=len(words),
        kept_share=sum(map(counts.__getitem__, words)) / num_words,
        seconds=time.monotonic() - started,
    )


def _boundaries(start_tokens: Optional[List[str]], end_tokens: Optional[List[str]]) -> List[str]:
    reader = LanguageModelingReader(
        start_tokens=start_tokens, end_tokens=end_tokens, max_sequence_length=None
    )
    special = (DEFAULT_PADDING_TOKEN, DEFAULT_OOV_TOKEN, NEWLINE)
    for option, tokens in (("start", reader.start_tokens), ("end", reader.end_tokens)):
        for token in tokens:
            is_text = not re.search("[\ud800-\udfff]", token)
            if token.split() != [token] or not is_text or any(word in token for word in special):
                raise ConfigurationError(
                    f"--{option}-tokens: {ascii(token)}; each is a word in UTF-8, without "
                    f"{', '.join(special)}"
                )
    return [*reader.start_tokens, *reader.end_tokens]


def _remove_special_words(counts: Dict[str, int], files: Sequence[Path]) -> None:
    """Removes the words that the vocabulary cannot hold, or holds already as the unknown one."""
    if DEFAULT_PADDING_TOKEN in counts:
        path, line = find_word(files, DEFAULT_PADDING_TOKEN)
        raise ConfigurationError(
            f"{path}: line {line} holds the word {DEFAULT_PADDING_TOKEN}, which AllenNLP takes for "
            "the padding after a sentence; write it in another way"
        )
    counts.pop(DEFAULT_OOV_TOKEN, None)
    changed = [word for word in counts if NEWLINE in word]
    for word in changed:
        del counts[word]
    if changed:
        logger.warning(
            "%s words with %s in them are left out, since the files of AllenNLP's vocabulary "
            "would give them back changed; they will be read as %s.",
            f"{len(changed):,}",
            NEWLINE,
            DEFAULT_OOV_TOKEN,
        )
