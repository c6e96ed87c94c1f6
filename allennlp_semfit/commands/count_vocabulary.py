"""
The `count-vocabulary` subcommand counts the words of a corpus and writes them, the most frequent
first, as the vocabulary of a language model with a softmax.

    allennlp count-vocabulary corpus/train corpus/vocabulary --min-count 3
"""

import argparse
import json
import logging
import sys

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN

from allennlp_semfit.commands.options import add_progress_option, apply_progress_option
from allennlp_semfit.corpus.vocabulary import count_vocabulary

logger = logging.getLogger(__name__)


@Subcommand.register("count-vocabulary")
class CountVocabulary(Subcommand):
    """
    Registered as a "Subcommand" with name "count-vocabulary".
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Write the words of text with one tokenised sentence a line as a vocabulary,
            by falling frequency, words of the same frequency in alphabetical order. Language models
            with a softmax predict the words of a vocabulary. Words are counted as the
            language_modeling reader reads them by default, except for max_sequence_length: a line
            of any length is one sentence. It takes about 300 bytes of memory for each distinct
            word."""
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
            "out_dir", metavar="OUT_DIR", help="directory for the vocabulary alone"
        )
        subparser.add_argument(
            "--min-count", type=int, default=1, help="leave out words that occur less often"
        )
        subparser.add_argument(
            "--max-size",
            type=int,
            help="keep the most frequent words, at most so many, with boundary tokens, without "
            "@@UNKNOWN@@ and padding",
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
        With the code 1 and one line for the user, if the vocabulary cannot be made.
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
    # OSError: a full disk, for example.
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
