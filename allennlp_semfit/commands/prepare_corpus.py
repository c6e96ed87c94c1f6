import argparse
import logging
import shlex

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import Command, add_parameters, call
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.prepare import prepare_corpus

logger = logging.getLogger(__name__)

# With less text, whitened vectors did not score higher.
_MIN_WORDS_TO_WHITEN = 400_000


@Subcommand.register("prepare-corpus")
class PrepareCorpus(Command):
    help = "Convert text, a dataset or a Wikipedia dump to a corpus."
    function = staticmethod(prepare_corpus)

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        inputs = {"metavar": "INPUT"}
        add_parameters(subparser, prepare_corpus, "inputs", "out_dir", inputs=inputs)
        add_parameters(subparser, CorpusOptions)
        add_parameters(subparser, prepare_corpus, "num_workers", "force")

    def run(self, args: argparse.Namespace) -> None:
        summary = call(prepare_corpus, args, options=call(CorpusOptions, args))
        logger.info(
            f"{summary.sentences:,} sentences ({summary.words:,} words) of {summary.documents:,} "
            f"documents in {args.out_dir}: {summary.shards} shards, "
            f"{summary.validation_sentences:,} validation sentences, {summary.seconds} s"
        )
        out_dir = args.out_dir.rstrip("/") or "/"
        logger.info(
            "Next: allennlp train-fasttext %s %s --dim 100%s",
            shlex.quote(f"{out_dir}/train"),
            shlex.quote(f"{out_dir}/vectors.bin"),
            " --whiten" if summary.words >= _MIN_WORDS_TO_WHITEN else "",
        )
