"""
The `senteval` subcommand scores a language model's sentence vectors on ten tasks of SentEval.

    allennlp senteval output/elmo_semfit/model.tar.gz data/downstream --output-file scores.json
    allennlp senteval vectors.bin data/downstream --tasks MR TREC --folds 5
"""

import argparse
import logging
from contextlib import ExitStack
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.analysis.senteval.results_file import ResultsFile
from allennlp_semfit.analysis.senteval.sentence_vectors import (
    FastTextVectors,
    LanguageModelVectors,
    SentenceVectors,
)
from allennlp_semfit.analysis.senteval.tasks import TASKS, read_tasks
from allennlp_semfit.commands.options import (
    Command,
    add_language_model_options,
    add_layers_options,
    add_options,
    load_language_model,
)
from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.common.output import check_output_path, lock_output

logger = logging.getLogger(__name__)


@Subcommand.register("senteval")
class SentEval(Command):
    """Registered as a "Subcommand" with name "senteval"."""

    help = "Score sentence vectors on SentEval's tasks."
    description = """Score sentence vectors on ten tasks of SentEval with logistic regression. A
        sentence's vector is the mean over its words of the mean of the language model's layers,
        or of the words' fastText vectors. Scores are in percent: the accuracy or, for SICK-R,
        100 times Pearson's correlation. With --output-file, the same command resumes an
        interrupted run."""
    interrupted = "with --output-file, the same command resumes with the next task"
    out_of_memory = "use a lower --batch-size"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        subparser.add_argument(
            "archive_file",
            metavar="ARCHIVE",
            help="the model.tar.gz or exported folder of a language model, or a fastText .bin",
        )
        subparser.add_argument("data_dir", metavar="DATA_DIR", help="SentEval's data/downstream")
        subparser.add_argument(
            "--tasks",
            nargs="+",
            choices=list(TASKS),
            default=list(TASKS),
            metavar="TASK",
            help=f"some of {', '.join(TASKS)}; default: all",
        )
        add_options(
            subparser,
            read_tasks,
            folds="folds for cross-validation; 5 take about a quarter of the time of 10",
        )
        subparser.add_argument(
            "--seed", type=int, default=1111, help="seed for the folds of tasks with a test set"
        )
        subparser.add_argument("--output-file", metavar="OUT.json", help="file for the results")
        add_layers_options(
            subparser,
            default="average",
            all="a language model's layers, concatenated: more information, but slower to fit",
            top="its last layer",
            average="the mean of its layers",
            normalized="the mean of its layers after layer normalisation of each",
        )
        add_language_model_options(subparser)
        subparser.add_argument(
            "--force",
            action="store_true",
            help="start from scratch and replace an existing OUT.json after the first task",
        )

    def run(self, args: argparse.Namespace) -> None:
        # scikit-learn takes time to import.
        from allennlp_semfit.analysis.senteval.run import describe_results, run_tasks

        # Checked before the model, which takes a while to load.
        # NumPy takes no other seeds.
        check_bounds({"--seed": args.seed}, at_least=0, at_most=2**32 - 1)
        out = Path(args.output_file) if args.output_file else None
        with ExitStack() as stack:
            if out:
                check_output_path(out, force=True, inputs=[args.archive_file])
                stack.enter_context(lock_output(out))
            data = read_tasks(args.data_dir, args.tasks, folds=args.folds)
            results = ResultsFile(
                out,
                folds=args.folds,
                seed=args.seed,
                data_sha256={name: task_data.sha256 for name, task_data in data.items()},
                force=args.force,
            )
            vectors = _load(args)
            results.claim(args.archive_file, vectors)
            run_tasks(vectors, data, results)
        logger.info("%s:\n%s", args.archive_file, describe_results(results.contents))


def _load(args: argparse.Namespace) -> SentenceVectors:
    # A compressed one is named by its reader.
    if ".bin" not in Path(args.archive_file).suffixes:
        return LanguageModelVectors(load_language_model(args), args.batch_size, args.layers)
    for name, is_set in (
        ("fasttext-model-path", args.fasttext_model_path),
        ("tokenizer-path", args.tokenizer_path),
        ("sub-token-mode", args.sub_token_mode != "first"),
        ("autocast", args.autocast),
        (args.layers, args.layers != "average"),
    ):
        if is_set:
            raise ConfigurationError(
                f"--{name} is for language models, and {args.archive_file} is fastText's; "
                "leave it out"
            )
    return FastTextVectors(args.archive_file)
