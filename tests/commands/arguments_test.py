"""The options of each command are the parameters of the functions that it calls."""

import argparse
import inspect
import pydoc
from typing import Optional
from unittest.mock import MagicMock

import pytest

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.analysis.nearest_words import find_nearest_words
from allennlp_semfit.commands.options import add_options, call
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.prepare import prepare_corpus
from allennlp_semfit.corpus.vocabulary import count_vocabulary
from allennlp_semfit.corpus.word_counts import sort_by_frequency
from allennlp_semfit.export.character_cnn import export_character_cnn
from allennlp_semfit.export.embed_file import embed_file
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.export.task_folder import export_task
from allennlp_semfit.export.word_vectors import word_vectors
from allennlp_semfit.fasttext.train import train_fasttext
from allennlp_semfit.static_vectors.svd import train_svd
from allennlp_semfit.subwords.train import train_bpe
from tests import FIXTURES
from tests.commands import running

HELDOUT = str(FIXTURES / "corpus" / "heldout.txt")
FUNCTIONS = {
    "count-vocabulary": [count_vocabulary],
    "embed": [SentenceEmbedder, embed_file],
    "export-character-cnn": [export_character_cnn],
    "export-model": [export_model],
    "export-task": [export_task],
    "export-vectors --words in.txt": [SentenceEmbedder, word_vectors],
    "nearest-words": [sort_by_frequency, find_nearest_words],
    "prepare-corpus": [CorpusOptions, prepare_corpus],
    "train-bpe": [train_bpe],
    "train-fasttext": [train_fasttext],
    "train-svd": [train_svd],
}
NO_OPTIONS = ("names", "options")


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_parameter_is_an_option_with_its_default(command):
    num_positional = 3 if command == "embed" else 2
    name, *required = command.split()
    arguments = vars(running.parse(name, *["in.txt"] * num_positional, *required))
    for function in FUNCTIONS[command]:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not parameter.empty and name not in NO_OPTIONS:
                assert arguments[name] == parameter.default


def function(corpus, *, dim: int = 3, lr: Optional[float] = None, force: bool = False, name="a"):
    return corpus, dim, lr, force, name


def test_arguments_arrive_at_the_parameters_of_their_names():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("--other")
    add_options(parser, function, dim="the dimension", lr={"metavar": "RATE", "help": "the rate"})
    add_options(parser, function, force="replace it")
    assert call(function, parser.parse_args(["in"])) == ("in", 3, None, False, "a")
    args = parser.parse_args(["in", "--dim", "4", "--lr", "5", "--force", "--other", "6"])
    assert call(function, args, name="b") == ("in", 4, 5.0, True, "b")
    assert "--lr RATE" in parser.format_help()


@pytest.mark.parametrize(
    ("command", "positional", "calls", "options"),
    [
        (
            "embed",
            ["model.tar.gz", HELDOUT, "out.h5"],
            ["options.SentenceEmbedder", "embed.embed_file"],
            {"layers": "top", "batch_size": 3, "cuda_device": 3, "autocast": True},
        ),
    ],
)
def test_options_arrive_at_each_of_several_functions(
    command, positional, calls, options, monkeypatch
):
    given = []
    for name, value in options.items():
        option = f"--{value if name == 'layers' else name.replace('_', '-')}"
        given.append(option if name == "layers" or value is True else f"{option}={value}")
    args = running.parse(command, *positional, *given)
    found = {}

    def replace(path):
        signature = inspect.signature(pydoc.locate(path))

        def record(*args, **kwargs):
            found.update(signature.bind(*args, **kwargs).arguments)
            if path.endswith(calls[-1]):
                raise KeyboardInterrupt
            return MagicMock()

        record.__signature__ = signature
        monkeypatch.setattr(path, record)

    for path in calls:
        replace(f"allennlp_semfit.commands.{path}")
    with pytest.raises(SystemExit, match="^130$"):
        args.func(args)
    assert options.items() <= found.items()
