r"""
The `prepare-corpus` subcommand converts text, a dataset or a Wikipedia dump into a corpus for
training a language model: shards with one tokenized sentence per line, and a held-out file.

    allennlp prepare-corpus novels/ letters.txt.gz corpus/ --language de
    allennlp prepare-corpus reviews.jsonl.gz corpus/ --field text
    allennlp prepare-corpus hf://datasets/wikimedia/wikipedia corpus/ --field text \
        --subset 20231101.yo --language yo
    allennlp prepare-corpus enwiki-latest-pages-articles.xml.bz2 corpus/
"""

import argparse
import logging
import shlex

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import Command, add_options, call
from allennlp_semfit.corpus.options import LINES, CorpusOptions

logger = logging.getLogger(__name__)


@Subcommand.register("prepare-corpus")
class PrepareCorpus(Command):
    """Registered as a "Subcommand" with name "prepare-corpus"."""

    help = "Convert text, a dataset or a Wikipedia dump to a corpus."
    description = """Convert plain text, a dataset or a Wikipedia dump into shards with one
        tokenized sentence per line (OUT_DIR/train/shard-00.txt, ...) and OUT_DIR/heldout.txt."""

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        subparser.add_argument(
            "inputs",
            nargs="+",
            metavar="INPUT",
            help="UTF-8 text, JSON lines, CSV, Parquet or the pages-articles.xml dump of a wiki, "
            "optionally compressed with gzip, bzip2 or xz; a directory of such files; or a dataset "
            "of the Hugging Face Hub, such as hf://datasets/wikimedia/wikipedia",
        )
        subparser.add_argument("out_dir", metavar="OUT_DIR", help="the output directory")
        add_options(
            subparser,
            CorpusOptions,
            language="the code of the spaCy language for the tokenizer, 'xx' for a language that "
            "spaCy does not support",
            already_tokenized="each line is already one sentence, its tokens separated by spaces",
            lines={
                "choices": LINES,
                "help": "what a line of text is: 'paragraphs', one or more whole sentences; or "
                "'wrapped', lines are joined up to the next blank line; 'auto', the default, "
                "decides by the start of each input, warns where it joins lines, and raises an "
                "error where they are not text",
            },
            field="the field with the text, of JSON lines, CSV, Parquet or a dataset of the Hub",
            subset="the subset (configuration) of the Hub's dataset, such as 20231101.yo",
            split="the split of the Hub's dataset",
            num_shards="the number of files for the training text",
            held_out="the fraction of sentences to hold out, from 0 to 0.5, in whole articles or "
            "blocks of lines (default = 5 %% of up to 20,000 sentences, then less, down to 1 %%)",
            min_words="skip sentences with fewer tokens",
            max_sentences="stop after the article or block of lines that reaches this number",
        )
        subparser.add_argument(
            "--num-workers", type=int, help="processes that split text (default = number of CPUs)"
        )
        subparser.add_argument("--force", action="store_true", help="replace the corpus in OUT_DIR")

    def run(self, args: argparse.Namespace) -> None:
        # spaCy takes time to import.
        from allennlp_semfit.corpus.prepare import prepare_corpus

        summary = call(prepare_corpus, args, options=call(CorpusOptions, args))

        if summary.already_done:
            logger.info("Nothing to do: %s was already made from these inputs.", args.out_dir)
        logger.info(
            f"{summary.sentences:,} sentences ({summary.words:,} words) of {summary.documents:,} "
            f"documents in {args.out_dir}: {summary.shards} shards, "
            f"{summary.held_out_sentences:,} sentences held out, {summary.seconds} s"
        )
        out_dir = args.out_dir.rstrip("/") or "/"
        logger.info(
            "Next: allennlp train-fasttext %s %s --dim 100",
            shlex.quote(f"{out_dir}/train"),
            shlex.quote(f"{out_dir}/vectors.bin"),
        )
