"""
The `count-vocabulary` subcommand writes the words of a corpus, the most frequent first, as the
vocabulary of a language model with a softmax.

    allennlp count-vocabulary corpus/train corpus/vocabulary --min-count 3
"""

import argparse
import json
import logging

from allennlp.commands.subcommand import Subcommand
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN

from allennlp_semfit.commands.options import (
    add_corpus_argument,
    add_progress_option,
    apply_progress_option,
    exit_on_error,
)
from allennlp_semfit.corpus.vocabulary import count_vocabulary

logger = logging.getLogger(__name__)


@Subcommand.register("count-vocabulary")
class CountVocabulary(Subcommand):
    """Registered as a "Subcommand" with name "count-vocabulary"."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Write the words of text with one tokenised sentence per line as a
            vocabulary, the most frequent first and equally frequent ones in alphabetical order.
            Language models with a softmax predict the words of a vocabulary. Words are counted as
            the default language_modeling reader reads them, but without max_sequence_length.
            Counting takes about 300 bytes of memory per distinct word."""
        subparser = parser.add_parser(
            self.name, description=description, help="Make the vocabulary of a language model."
        )
        add_corpus_argument(subparser)
        subparser.add_argument("out_dir", metavar="OUT_DIR", help="directory of the vocabulary")
        subparser.add_argument(
            "--min-count", type=int, default=1, help="leave out words that occur less often"
        )
        subparser.add_argument(
            "--max-size",
            type=int,
            help="keep at most this many words, the most frequent, including boundary tokens but "
            "not @@UNKNOWN@@ and padding",
        )
        for place in ("start", "end"):
            subparser.add_argument(
                f"--{place}-tokens",
                type=str.split,
                metavar="TOKENS",
                help=f"the reader's {place}_tokens, in one argument, separated by spaces; '' for "
                "none; default: </s>, as in the reader",
            )
        subparser.add_argument(
            "--namespace", default="tokens", help="the namespace of the vocabulary and its indexer"
        )
        subparser.add_argument(
            "--num-workers", type=int, help="processes that count (default = number of CPUs)"
        )
        subparser.add_argument(
            "--force", action="store_true", help="replace the vocabulary in OUT_DIR"
        )
        add_progress_option(subparser)
        subparser.set_defaults(func=_run)
        return subparser


@exit_on_error("count-vocabulary")
def _run(args: argparse.Namespace) -> None:
    apply_progress_option(args)
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
    logger.info(
        "%s: %s sentences read, %s words of %s types; %s words kept, boundaries included, which "
        "are %.2f%% of the corpus: the rest are read as %s; %.1f seconds",
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
