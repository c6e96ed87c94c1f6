"""What the commands share: options from the parameters of functions, and error handling."""

import argparse
import inspect
import io
import logging
import os
import re
import signal
import sys
from collections import abc
from contextlib import contextmanager
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    Literal,
    Optional,
    Tuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

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
    try:
        yield
        # Otherwise Python would flush at exit, when an error is not caught.
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has ended, as after `| head`. Python would report what it cannot flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ConfigurationError, OSError) as error:
        sys.exit(f"{command.name}: {error}")
    except (MemoryError, RuntimeError) as error:
        # PyTorch's errors on the CPU, and in old versions on a GPU, have no type of their own.
        # Errors such as an illegal memory access also contain the word memory.
        is_out_of_memory = re.search("out of memory|tried to allocate", str(error))
        if not isinstance(error, MemoryError) and not is_out_of_memory:
            raise
        sys.exit(
            f"{command.name}: not enough memory ({first_line(error)}); {command.out_of_memory}"
        )
    except (KeyboardInterrupt, SigTermReceived) as error:
        sys.stderr.write(f"{command.name}: interrupted; {command.interrupted}\n")
        # Shells define this exit code.
        is_sigterm = isinstance(error, SigTermReceived)
        sys.exit(128 + (signal.SIGTERM if is_sigterm else signal.SIGINT))


class Command(Subcommand):
    """
    The base class of the commands. `help` is what `allennlp --help` shows, `function` what the
    command runs: its docstring and its parameters are the command's description and arguments.
    `arguments` overrides arguments of `add_argument`, by the name of the parameter. `interrupted`
    is what to tell the user after Ctrl-C, and `out_of_memory` what to do if there is not enough
    memory.
    """

    help: str
    function: Callable[..., Any]
    arguments: Dict[str, Dict[str, Any]] = {}
    description: Optional[str] = None
    interrupted = "nothing was written"
    out_of_memory = "use less text or a machine with more memory"

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the parser of the command."""
        description = self.description or _read_docstring(self.function)[0]
        subparser = parser.add_parser(self.name, description=description, help=self.help)
        self.add_arguments(subparser)
        subparser.set_defaults(func=self._run)
        return subparser

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments to its parser."""
        add_parameters(subparser, self.function, **self.arguments)

    def run(self, args: argparse.Namespace) -> None:
        """Runs the command. Errors that `exit_on_error` catches are shown as one line."""
        raise NotImplementedError

    def _run(self, args: argparse.Namespace) -> None:
        with exit_on_error(self):
            # Without a terminal, print progress on separate lines and less often.
            common_logging.FILE_FRIENDLY_LOGGING = not sys.stderr.isatty()
            # AllenNLP logs a line for each parameter of a model's configuration.
            logging.getLogger("allennlp.common.params").setLevel(logging.WARNING)
            # Output is UTF-8 whatever the locale; file names may contain other bytes.
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
            self.run(args)


def add_parameters(
    subparser: argparse._ActionsContainer,
    function: Callable[..., Any],
    *names: str,
    **overrides: Dict[str, Any],
) -> None:
    """
    Adds parameters of a function, by default all that the command does not have yet, as arguments
    of the command, for `call`. A parameter without a default is positional. Types, choices and
    defaults are those of the signature, help texts those of the docstring. `overrides` contains
    other arguments of `add_argument`, by the name of the parameter.
    """
    parameters = inspect.signature(function).parameters
    _, help_texts = _read_docstring(function)
    present = {action.dest for action in subparser._actions}
    for name in names or [name for name in parameters if name not in present]:
        default = parameters[name].default
        is_positional = default is inspect.Parameter.empty
        annotation = parameters[name].annotation
        # The first type of a union.
        kind = get_args(annotation)[0] if get_origin(annotation) is Union else annotation
        arguments: Dict[str, Any] = {"help": help_texts[name].replace("%", "%%")}
        if is_positional:
            arguments["metavar"] = _metavar(name)
        else:
            arguments["default"] = default
        if kind is bool:
            arguments["action"] = "store_true"
        elif kind in (int, float):
            arguments["type"] = kind
        elif get_origin(kind) is Literal:
            arguments["choices"] = get_args(kind)
        elif get_origin(kind) in (list, abc.Sequence):
            arguments["nargs"] = "+" if is_positional else "*"
        arguments.update(overrides.get(name, {}))
        subparser.add_argument(name if is_positional else _option(name), **arguments)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _metavar(name: str) -> str:
    return name.removesuffix("_file").removesuffix("_path").upper()


def _read_docstring(function: Callable[..., Any]) -> Tuple[str, Dict[str, str]]:
    """
    The first paragraph of a docstring, and that of each parameter, as plain text. Parameters have
    the names of the command line.
    """
    names = {
        name: _metavar(name) if each.default is inspect.Parameter.empty else _option(name)
        for name, each in inspect.signature(function).parameters.items()
    }

    def to_text(markdown: str) -> str:
        paragraph = " ".join(markdown.strip().split("\n\n")[0].split())
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph)
        return re.sub(r"`(\"?)([^`]*)\1`", lambda code: names.get(code[2], code[2]), text)

    def to_help(markdown: str) -> str:
        text = to_text(markdown).removeprefix("Whether to ").removesuffix(".")
        return re.sub("^[A-Z][a-z]* ", lambda word: word[0].lower(), text)

    summary, _, rest = (inspect.getdoc(function) or "").partition("# Parameters\n")
    section = rest.split("\n# ")[0]
    entries = re.findall(r"^(\w+) : .*\n((?:\n|[ ].*\n?)*)", section, re.MULTILINE)
    return to_text(summary), {name: to_help(text) for name, text in entries}


def call(function: Callable[..., T], args: argparse.Namespace, **others: Any) -> T:
    """Calls a function with the arguments that have the names of its parameters, and `others`."""
    names = inspect.signature(function).parameters
    given = {name: value for name, value in vars(args).items() if name in names}
    return function(**{**given, **others})


def add_language_model_options(subparser: argparse.ArgumentParser) -> None:
    """Adds the options that `load_language_model` reads."""
    add_parameters(subparser, SentenceEmbedder.embed_sentences, "batch_size")
    add_parameters(subparser, SentenceEmbedder)


def load_language_model(args: argparse.Namespace) -> SentenceEmbedder:
    """Loads the language model of `archive_file`; raises what `SentenceEmbedder` raises."""
    check_bounds({"--batch-size": args.batch_size}, at_least=1)
    return call(SentenceEmbedder, args)
