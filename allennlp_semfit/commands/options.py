"""What the commands share, and the options of several."""

import argparse
import inspect
import io
import logging
import os
import re
import select
import signal
import sys
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, TypeVar, Union, get_args

from allennlp.commands.subcommand import Subcommand
from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived

from allennlp_semfit.common.errors import check_bounds, first_line
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder

T = TypeVar("T")


@contextmanager
def exit_on_error(command: "Command") -> Iterator[None]:
    """
    A context manager that ends the program with one line instead of a traceback, for invalid input,
    an I/O error such as a full disk, a lack of memory, Ctrl-C and SIGTERM.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The encoding of a terminal may lack characters of the text. stderr does the same.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        # Otherwise an error would come at the exit.
        sys.stdout.flush()
    except (ConfigurationError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _reader_has_ended():
            sys.exit(1)
        sys.exit(f"{command.name}: {error}")
    except (MemoryError, RuntimeError) as error:
        # PyTorch's errors on the CPU, and in old versions on a GPU, have no type of their own.
        # Others name the memory, too, such as that of an illegal access.
        is_lack = re.search("out of memory|tried to allocate", str(error))
        if not isinstance(error, MemoryError) and not is_lack:
            raise
        sys.exit(
            f"{command.name}: not enough memory ({first_line(error)}); {command.out_of_memory}"
        )
    except (KeyboardInterrupt, SigTermReceived) as error:
        sys.stderr.write(f"{command.name}: interrupted; {command.interrupted}\n")
        # Shells define this exit code.
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


class Command(Subcommand):
    """
    The base class of the commands. `help` and `description` are argparse's, `interrupted` is what
    to tell the user after Ctrl-C, and `out_of_memory` what to do if there is not enough memory.
    """

    help: str
    description: Optional[str] = None
    interrupted = "nothing was written"
    out_of_memory = "use less text or a machine with more memory"
    shows_progress = True

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the parser of the command."""
        description = self.description or self.help
        subparser = parser.add_parser(self.name, description=description, help=self.help)
        self.add_arguments(subparser)
        if self.shows_progress:
            subparser.add_argument(
                "--file-friendly-logging",
                action="store_true",
                help="print progress on separate lines and less often; the default without a "
                "terminal",
            )
        subparser.set_defaults(func=self._run)
        return subparser

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments to its parser."""
        raise NotImplementedError

    def run(self, args: argparse.Namespace) -> None:
        """Runs the command. What `exit_on_error` catches is shown as one line."""
        raise NotImplementedError

    def _run(self, args: argparse.Namespace) -> None:
        with exit_on_error(self):
            if self.shows_progress:
                is_friendly = args.file_friendly_logging or not sys.stderr.isatty()
                common_logging.FILE_FRIENDLY_LOGGING = is_friendly
            self.run(args)


def add_options(
    subparser: argparse._ActionsContainer,
    function: Callable[..., Any],
    **options: Union[str, Dict[str, Any]],
) -> None:
    """
    Adds options of the names, types and defaults of a function's parameters, for `call`.

    # Parameters

    subparser : `argparse._ActionsContainer`
        The command's parser, or a group of options.
    function : `Callable[..., Any]`
    options : `Union[str, Dict[str, Any]]`
        By the name of the parameter, the help text, or other arguments of `add_argument` too.
    """
    for name, option in options.items():
        parameter = inspect.signature(function).parameters[name]
        types = get_args(parameter.annotation) or (parameter.annotation,)
        arguments: Dict[str, Any] = {"default": parameter.default}
        if bool in types:
            arguments["action"] = "store_true"
        else:
            arguments["type"] = next((each for each in types if each in (int, float)), str)
        arguments.update({"help": option} if isinstance(option, str) else option)
        subparser.add_argument(f"--{name.replace('_', '-')}", **arguments)


def call(function: Callable[..., T], args: argparse.Namespace, **others: Any) -> T:
    """Calls a function with the arguments that have the names of its parameters, and `others`."""
    names = inspect.signature(function).parameters
    given = {name: value for name, value in vars(args).items() if name in names}
    return function(**{**given, **others})


def add_corpus_argument(subparser: argparse.ArgumentParser) -> None:
    """Adds `corpus`, one or more inputs for `find_text_files`."""
    subparser.add_argument(
        "corpus",
        nargs="+",
        metavar="CORPUS",
        help="UTF-8 text: files, directories (all files in them), or quoted globs",
    )


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
    add_options(
        subparser,
        SentenceEmbedder.embed_sentences,
        batch_size="the maximum number of sentences in a batch; batches of long sentences have "
        "fewer, so that they have at most 50 words per sentence, including padding",
    )
    add_options(subparser, SentenceEmbedder, cuda_device="the GPU to run on; -1 for the CPU")
    add_moved_files_options(subparser, SentenceEmbedder)
    add_options(
        subparser,
        SentenceEmbedder,
        sub_token_mode={
            "choices": ["first", "avg"],
            "help": "for a subword model, use the vector of a word's first subword or the mean of "
            "all",
        },
        autocast="multiply matrices in bfloat16: faster on GPUs and on CPUs with instructions for "
        "it, with vectors that differ by about one percent",
    )


def add_moved_files_options(
    subparser: argparse.ArgumentParser, function: Callable[..., Any]
) -> None:
    """Adds the options of `function` for files of a language model that were moved."""
    add_options(
        subparser,
        function,
        fasttext_model_path={
            "metavar": "VECTORS.bin",
            "help": "the language model's fastText file, if it has been moved since training",
        },
        tokenizer_path={
            "metavar": "TOKENIZER.json",
            "help": "a subword model's tokenizer, if it has been moved since training",
        },
    )


def add_archive_argument(subparser: argparse.ArgumentParser) -> None:
    """Adds `archive_file`, a language model."""
    subparser.add_argument(
        "archive_file",
        metavar="ARCHIVE",
        help="a language model: its model.tar.gz, serialization directory or exported folder",
    )


def load_language_model(args: argparse.Namespace) -> SentenceEmbedder:
    """Loads the language model of `archive_file`; raises what `SentenceEmbedder` raises."""
    check_bounds({"--batch-size": args.batch_size}, at_least=1)
    with no_params_logged():
        return call(SentenceEmbedder, args)


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
