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

from allennlp_semfit.commands.options import Command, add_corpus_argument, add_options, call
from allennlp_semfit.corpus.vocabulary import count_vocabulary

logger = logging.getLogger(__name__)


@Subcommand.register("count-vocabulary")
class CountVocabulary(Command):
    """Registered as a "Subcommand" with name "count-vocabulary"."""

    help = "Make the vocabulary of a language model."
    description = """Write the words of text with one tokenized sentence per line as a
        vocabulary, the most frequent first and equally frequent ones in alphabetical order.
        Language models with a softmax predict the words of a vocabulary. Words are counted as
        the default language_modeling reader reads them, but without max_sequence_length.
        Counting takes about 300 bytes of memory per distinct word."""

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_corpus_argument(subparser)
        subparser.add_argument("out_dir", metavar="OUT_DIR", help="directory of the vocabulary")
        boundaries = {
            f"{place}_tokens": {
                "type": str.split,
                "metavar": "TOKENS",
                "help": f"the reader's {place}_tokens, in one argument, separated by spaces; '' "
                "for none; default: </s>, as in the reader",
            }
            for place in ("start", "end")
        }
        add_options(
            subparser,
            count_vocabulary,
            min_count="leave out words that occur less often",
            max_size="keep at most this many words, the most frequent, including boundary tokens "
            "but not @@UNKNOWN@@ and padding",
            **boundaries,
            namespace="the namespace of the vocabulary and its indexer",
            num_workers="processes that count (default = number of CPUs)",
            force="replace the vocabulary in OUT_DIR",
        )

    def run(self, args: argparse.Namespace) -> None:
        summary = call(count_vocabulary, args)
        logger.info(
            f"{args.out_dir}: {summary.num_sentences:,} sentences read, {summary.num_words:,} "
            f"words of {summary.num_types:,} types; {summary.vocabulary_size:,} words kept, "
            f"boundaries included, which are {summary.kept_share:.2%} of the corpus: the rest are "
            f"read as {DEFAULT_OOV_TOKEN}; {summary.seconds:.1f} seconds"
        )
        vocabulary = json.dumps(
            {"type": "from_files", "directory": args.out_dir}, ensure_ascii=False
        )
        logger.info('Next: "vocabulary": %s in the configuration of the language model', vocabulary)
