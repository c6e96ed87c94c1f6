"""Command line options that several commands share."""

import argparse
import logging
import sys
from contextlib import contextmanager
from typing import Iterator

from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder

__all__ = [
    "add_language_model_options",
    "add_layers_options",
    "add_progress_option",
    "apply_progress_option",
    "load_language_model",
]


def add_progress_option(subparser: argparse.ArgumentParser) -> None:
    """Adds `--file-friendly-logging`."""
    subparser.add_argument(
        "--file-friendly-logging",
        action="store_true",
        help="show progress in lines, now and then, as is done where there is no terminal",
    )


def apply_progress_option(args: argparse.Namespace) -> None:
    """Lets AllenNLP's `Tqdm` show progress as the option says."""
    common_logging.FILE_FRIENDLY_LOGGING = args.file_friendly_logging or not sys.stderr.isatty()


def add_layers_options(subparser: argparse.ArgumentParser, *, default: str, **texts: str) -> None:
    """
    Adds options such as `--all`, of which one is put into the argument `layers`.

    # Parameters

    default : `str`
        One of them.
    **texts : `str`
        The help for each: `all="…", top="…", average="…"`.
    """
    layers = subparser.add_mutually_exclusive_group()
    for name, text in texts.items():
        layers.add_argument(
            f"--{name}",
            dest="layers",
            action="store_const",
            const=name,
            help=text + ("; the default" if name == default else ""),
        )
    subparser.set_defaults(layers=default)


def add_language_model_options(subparser: argparse.ArgumentParser) -> None:
    """Adds what a `SentenceEmbedder` takes beside its archive, and `--batch-size`."""
    subparser.add_argument(
        "--batch-size",
        type=int,
        default=DEFAULT_BATCH_SIZE,
        help="the most sentences that are embedded at once; fewer where they are long, so that "
        "there are at most 50 words to each, padding included",
    )
    subparser.add_argument(
        "--cuda-device", type=int, default=-1, help="the GPU to run on; -1: the CPU"
    )
    subparser.add_argument(
        "--fasttext-model-path",
        metavar="VECTORS.bin",
        help="the language model's fastText file, if it is not where it was in training",
    )
    subparser.add_argument(
        "--tokenizer-path",
        metavar="TOKENIZER.json",
        help="a subword model's tokenizer, if it is not where it was in training",
    )
    subparser.add_argument(
        "--sub-token-mode",
        choices=["first", "avg"],
        default="first",
        help="what a word has of its subwords, of a subword model: the vector of the first, or "
        "the mean of all",
    )


def load_language_model(args: argparse.Namespace) -> SentenceEmbedder:
    """
    Loads the language model of the argument `archive`.

    # Raises

    `ConfigurationError`
        As `SentenceEmbedder`, and if the batch size is not positive.
    """
    if args.batch_size < 1:
        raise ConfigurationError(f"--batch-size: {args.batch_size}; it takes 1 or more")
    try:
        with _without_params():
            return SentenceEmbedder(
                args.archive,
                args.cuda_device,
                args.fasttext_model_path,
                args.tokenizer_path,
                args.sub_token_mode,
            )
    except InvalidFileError as error:
        if error.parameter is not None:
            option = error.parameter.replace("_", "-")
            error.remedy += f" On the command line, that is --{option}."
        raise


@contextmanager
def _without_params() -> Iterator[None]:
    """Without a line for each parameter of the model's configuration."""
    params_logger = logging.getLogger("allennlp.common.params")
    level = params_logger.level
    params_logger.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        params_logger.setLevel(level)
