"""
The `prepare-corpus` subcommand turns plain text, or the dump of a Wikipedia, into a corpus that a
language model can be trained on: shards of one tokenised sentence a line, and a held-out file.

    allennlp prepare-corpus enwiki-latest-pages-articles.xml.bz2 corpus/
    allennlp prepare-corpus novels/ letters.txt.gz corpus/ --language de
"""

import argparse
import logging
import shlex
import sys

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.corpus.options import CorpusOptions

logger = logging.getLogger(__name__)


@Subcommand.register("prepare-corpus")
class PrepareCorpus(Subcommand):
    """
    Registered as a "Subcommand" with name "prepare-corpus".
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Turn plain text or a Wikipedia dump into shards of one tokenised sentence a
            line (OUT_DIR/train/shard-00.txt and so on) and held-out text (OUT_DIR/heldout.txt)."""
        subparser = parser.add_parser(
            self.name, description=description, help="Turn text or a Wikipedia dump into a corpus."
        )
        defaults = CorpusOptions()
        subparser.add_argument(
            "inputs",
            nargs="+",
            metavar="INPUT",
            help="UTF-8 text, or the pages-articles.xml dump of a wiki, either of them as it is or "
            "packed with gzip, bzip2 or xz; or a directory of such files",
        )
        subparser.add_argument("out_dir", metavar="OUT_DIR", help="directory for the corpus")
        subparser.add_argument(
            "--language",
            default=defaults.language,
            help="the code of the spaCy language that splits text into words, 'xx' for one that "
            "spaCy does not list",
        )
        subparser.add_argument(
            "--already-tokenized",
            action="store_true",
            help="each line is one sentence with spaces between its tokens: keep it",
        )
        subparser.add_argument(
            "--num-shards",
            type=int,
            default=defaults.num_shards,
            help="how many files to spread the training text over",
        )
        subparser.add_argument(
            "--held-out",
            type=float,
            default=defaults.held_out,
            help="the share of the sentences to hold out, from 0 to 0.5, in whole articles or "
            "blocks of lines",
        )
        subparser.add_argument(
            "--min-words",
            type=int,
            default=defaults.min_words,
            help="leave out sentences with fewer tokens",
        )
        subparser.add_argument(
            "--max-sentences",
            type=int,
            help="stop at the end of the article or block of lines that reaches so many sentences",
        )
        subparser.add_argument(
            "--num-workers", type=int, help="processes that split text (default = one for each CPU)"
        )
        subparser.add_argument(
            "--force", action="store_true", help="replace a corpus that is already in OUT_DIR"
        )
        subparser.set_defaults(func=prepare_corpus_from_args)
        return subparser


def prepare_corpus_from_args(args: argparse.Namespace) -> None:
    """
    # Parameters

    args : `argparse.Namespace`

    # Raises

    `SystemExit`
        With the code 1 and one line for the user, if the corpus cannot be made.
    """
    # spaCy takes time to import.
    from allennlp_semfit.corpus.prepare import prepare_corpus

    try:
        options = CorpusOptions(
            language=args.language,
            already_tokenized=args.already_tokenized,
            num_shards=args.num_shards,
            held_out=args.held_out,
            min_words=args.min_words,
            max_sentences=args.max_sentences,
        )
        summary = prepare_corpus(
            args.inputs, args.out_dir, options, num_workers=args.num_workers, force=args.force
        )
    # OSError: a full disk, for example.
    except (ConfigurationError, OSError) as error:
        sys.exit(f"prepare-corpus: {error}")

    if summary.made_before:
        logger.info("Nothing to do: %s was made from these inputs before.", args.out_dir)
    logger.info(
        "%s sentences (%s words) of %s documents in %s: %s shards, %s sentences held out, %s s",
        f"{summary.sentences:,}",
        f"{summary.words:,}",
        f"{summary.documents:,}",
        args.out_dir,
        summary.shards,
        f"{summary.held_out_sentences:,}",
        summary.seconds,
    )
    out_dir = args.out_dir.rstrip("/") or "/"
    logger.info(
        "Next: allennlp train-fasttext %s %s",
        shlex.quote(f"{out_dir}/train"),
        shlex.quote(f"{out_dir}/vectors.bin"),
    )
