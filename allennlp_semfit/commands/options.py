"""Command line options that several commands share."""

import argparse
import io
import logging
import os
import re
import select
import signal
import sys
from contextlib import contextmanager
from typing import Iterator

from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived

from allennlp_semfit.common.errors import InvalidFileError, check_bounds, first_line
from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder

__all__ = [
    "add_corpus_argument",
    "add_language_model_options",
    "add_layers_options",
    "add_progress_option",
    "apply_progress_option",
    "exit_on_error",
    "load_language_model",
    "no_params_logged",
]


@contextmanager
def exit_on_error(
    command: str,
    interrupted: str = "nothing was written",
    out_of_memory: str = "use less text or a machine with more memory",
) -> Iterator[None]:
    """
    A context manager or decorator that ends the program with one line instead of a traceback, for
    invalid input, an I/O error such as a full disk, a lack of memory, Ctrl-C and SIGTERM.

    # Parameters

    command : `str`
        Its name, with which the line begins.
    interrupted : `str`, optional (default = `"nothing was written"`)
        What to tell the user after Ctrl-C or SIGTERM.
    out_of_memory : `str`, optional (default = `"use less text or a machine with more memory"`)
        What to do if there is not enough memory.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As on stderr: the encoding of a terminal may lack characters of the text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        # Otherwise an error would come at the exit.
        sys.stdout.flush()
    except (ConfigurationError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _reader_has_ended():
            sys.exit(1)
        sys.exit(f"{command}: {error}")
    except (MemoryError, RuntimeError) as error:
        # PyTorch's errors on the CPU, and in old versions on a GPU, have no type of their own.
        # Others name the memory, too, such as that of an illegal access.
        is_lack = re.search("out of memory|tried to allocate", str(error))
        if not isinstance(error, MemoryError) and not is_lack:
            raise
        sys.exit(f"{command}: not enough memory ({first_line(error)}); {out_of_memory}")
    except (KeyboardInterrupt, SigTermReceived) as error:
        sys.stderr.write(f"{command}: interrupted; {interrupted}\n")
        # As shells define it.
        is_sigterm = isinstance(error, SigTermReceived)
        sys.exit(128 + (signal.SIGTERM if is_sigterm else signal.SIGINT))


def _reader_has_ended() -> bool:
    """Whether nobody reads the standard output any more, as after `| head`."""
    poll = select.poll()
    poll.register(sys.stdout, 0)
    if not any(event & select.POLLERR for _, event in poll.poll(0)):
        return False
    # Python would report what it cannot flush at the exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def add_corpus_argument(subparser: argparse.ArgumentParser) -> None:
    """Adds `corpus`, one or more inputs for `find_text_files`."""
    subparser.add_argument(
        "corpus",
        nargs="+",
        metavar="CORPUS",
        help="UTF-8 text: files, directories (all files in them), or quoted globs",
    )


def add_progress_option(subparser: argparse.ArgumentParser) -> None:
    """Adds `--file-friendly-logging`."""
    subparser.add_argument(
        "--file-friendly-logging",
        action="store_true",
        help="print progress on separate lines and less often; the default without a terminal",
    )


def apply_progress_option(args: argparse.Namespace) -> None:
    """Sets how AllenNLP's `Tqdm` shows progress."""
    common_logging.FILE_FRIENDLY_LOGGING = args.file_friendly_logging or not sys.stderr.isatty()


def add_layers_options(subparser: argparse.ArgumentParser, *, default: str, **texts: str) -> None:
    """
    Adds mutually exclusive options that set the argument `layers`. `texts` maps their names to help
    texts; `default` is one of the names.
    """
    layers = subparser.add_mutually_exclusive_group()
    for name, text in texts.items():
        text += "; the default" if name == default else ""
        layers.add_argument(f"--{name}", dest="layers", action="store_const", const=name, help=text)
    subparser.set_defaults(layers=default)


def add_language_model_options(subparser: argparse.ArgumentParser) -> None:
    """Adds the options that `load_language_model` reads."""
    subparser.add_argument(
        "--batch-size",
        type=int,
        default=DEFAULT_BATCH_SIZE,
        help="the maximum number of sentences in a batch; batches of long sentences have fewer, so "
        "that they have at most 50 words per sentence, including padding",
    )
    subparser.add_argument(
        "--cuda-device", type=int, default=-1, help="the GPU to run on; -1 for the CPU"
    )
    subparser.add_argument(
        "--fasttext-model-path",
        metavar="VECTORS.bin",
        help="the language model's fastText file, if it has been moved since training",
    )
    subparser.add_argument(
        "--tokenizer-path",
        metavar="TOKENIZER.json",
        help="a subword model's tokenizer, if it has been moved since training",
    )
    subparser.add_argument(
        "--sub-token-mode",
        choices=["first", "avg"],
        default="first",
        help="for a subword model, use the vector of a word's first subword or the mean of all",
    )
    subparser.add_argument(
        "--autocast",
        action="store_true",
        help="multiply matrices in bfloat16: faster on GPUs and on CPUs with instructions for it, "
        "with vectors that differ by about one percent",
    )


def load_language_model(args: argparse.Namespace) -> SentenceEmbedder:
    """Loads the language model of the argument `archive`; raises what `SentenceEmbedder` raises."""
    check_bounds({"--batch-size": args.batch_size}, at_least=1)
    try:
        with no_params_logged():
            return SentenceEmbedder(
                args.archive,
                args.cuda_device,
                args.fasttext_model_path,
                args.tokenizer_path,
                args.sub_token_mode,
                args.autocast,
            )
    except InvalidFileError as error:
        if error.parameter is not None:
            option = error.parameter.replace("_", "-")
            error.remedy += f" On the command line, that is --{option}."
        raise


@contextmanager
def no_params_logged() -> Iterator[None]:
    """Turns off AllenNLP's log line for each parameter of the model's configuration."""
    params_logger = logging.getLogger("allennlp.common.params")
    level = params_logger.level
    params_logger.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        params_logger.setLevel(level)
