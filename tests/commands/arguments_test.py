"""The arguments of each command arrive at the functions that it calls, whose defaults they have."""

import inspect
import pydoc
from unittest.mock import MagicMock

import pytest

from tests import FIXTURES
from tests.commands import running

HELDOUT = str(FIXTURES / "corpus" / "heldout.txt")
COMMANDS = "allennlp_semfit.commands"
LANGUAGE_MODEL = {
    "cuda_device": 3,
    "fasttext_model_path": "vectors.bin",
    "tokenizer_path": "tokenizer.json",
    "sub_token_mode": "avg",
    "autocast": True,
}
CORPUS = {"corpus": ["a.txt", "b", "c*"]}
# The functions that a command calls, in order; its positional arguments; and a value for each
# option that is not its default.
CALLS = {
    "count-vocabulary": (
        [f"{COMMANDS}.count_vocabulary.count_vocabulary"],
        {**CORPUS, "out_dir": "out"},
        {
            "min_count": 2,
            "max_size": 3,
            "start_tokens": ["<a>", "<b>"],
            "end_tokens": ["<c>"],
            "namespace": "words",
            "num_workers": 4,
            "force": True,
        },
    ),
    "embed": (
        [f"{COMMANDS}.options.SentenceEmbedder", f"{COMMANDS}.embed.embed_file"],
        {"archive_file": "model.tar.gz", "sentences_file": HELDOUT, "out_file": "out.h5"},
        {
            **LANGUAGE_MODEL,
            "layers": "top",
            "pool": "max",
            "dtype": "float16",
            "batch_size": 3,
            "forget_sentences": True,
            "force": True,
        },
    ),
    "nearest-words": (
        [
            f"{COMMANDS}.nearest_words._read_archive",
            f"{COMMANDS}.nearest_words.sort_by_frequency",
            f"{COMMANDS}.nearest_words.WordScorer",
            f"{COMMANDS}.nearest_words.find_nearest_words",
        ],
        {"archive_file": "model.tar.gz", "text": HELDOUT},
        {"min_count": 2, "overrides": '{"a": 1}', "number": 3, "correction": "csls"},
    ),
    "prepare-corpus": (
        [
            f"{COMMANDS}.prepare_corpus.CorpusOptions",
            "allennlp_semfit.corpus.prepare.prepare_corpus",
        ],
        {"inputs": ["a.txt", "b"], "out_dir": "out"},
        {
            "language": "xx",
            "already_tokenized": True,
            "num_shards": 2,
            "held_out": 0.25,
            "min_words": 3,
            "max_sentences": 4,
            "num_workers": 5,
            "force": True,
        },
    ),
    "senteval": (
        [
            f"{COMMANDS}.senteval.read_tasks",
            f"{COMMANDS}.senteval.ResultsFile",
            f"{COMMANDS}.options.SentenceEmbedder",
            f"{COMMANDS}.senteval.LanguageModelVectors",
        ],
        {"archive_file": "model.tar.gz", "data_dir": "data"},
        {**LANGUAGE_MODEL, "folds": 3, "seed": 4, "layers": "top", "batch_size": 5, "force": True},
    ),
    "train-bpe": (
        [f"{COMMANDS}.train_bpe.train_bpe"],
        {**CORPUS, "out_dir": "out"},
        {
            "merges": 3,
            "min_frequency": 4,
            "boundary_tokens": ["<a>", "<b>"],
            "num_workers": 5,
            "force": True,
        },
    ),
    "train-fasttext": (
        [f"{COMMANDS}.train_fasttext.train_fasttext"],
        {**CORPUS, "out_path": "out.bin"},
        {
            "model": "cbow",
            "dim": 4,
            "minn": 2,
            "maxn": 5,
            "bucket": 7,
            "min_count": 8,
            "epoch": 9,
            "lr": 0.5,
            "ws": 11,
            "neg": 12,
            "threads": 13,
            "force": True,
        },
    ),
    "train-mimick": (
        [f"{COMMANDS}.train_mimick.train_mimick"],
        {"table": "table.txt", "out_dir": "out"},
        {
            "held_out": 0.25,
            "epochs": 3,
            "char_dim": 4,
            "hidden_dim": 5,
            "max_words": 6,
            "seed": 7,
            "recover": True,
            "force": True,
        },
    ),
    "train-svd": (
        [f"{COMMANDS}.train_svd.train_svd"],
        {**CORPUS, "out_path": "out.txt"},
        {
            "matrix": "conditional",
            "pca_of": None,  # `--matrix` excludes it.
            "dim": 3,
            "window": 4,
            "shift": 1.5,
            "context_smoothing": 0.5,
            "alpha": 0.25,
            "min_count": 6,
            "max_size": 70,
            "vocabulary_dir": "vocabulary",
            "num_workers": 8,
            "force": True,
        },
    ),
}


@pytest.fixture(params=CALLS)
def command(request):
    return request.param


@pytest.fixture
def arrived(command, monkeypatch):
    """Runs the command, up to the last function, and returns what they are given."""

    def run(*options):
        functions, positional, _ = CALLS[command]
        arguments = []
        for value in positional.values():
            arguments += value if isinstance(value, list) else [value]
        parsed = running.parse(command, *arguments, *options)
        found = {}

        def replace(path):
            signature = inspect.signature(pydoc.locate(path))

            def record(*args, **kwargs):
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                for name, value in bound.arguments.items():
                    # What several functions take must arrive at each.
                    assert found.setdefault(name, value) == value, name
                if path == functions[-1]:
                    raise KeyboardInterrupt
                return MagicMock()

            monkeypatch.setattr(path, record)

        for path in functions:
            replace(path)
        with pytest.raises(SystemExit, match="^130$"):
            parsed.func(parsed)
        return found

    return run


def defaults_of(command):
    """Those of the functions, but for what is no option."""
    for path in CALLS[command][0]:
        for name, parameter in inspect.signature(pydoc.locate(path)).parameters.items():
            if parameter.default is not parameter.empty and name not in ("names", "options"):
                yield name, parameter.default


def test_every_option_arrives(command, arrived):
    _, positional, options = CALLS[command]
    assert dict(defaults_of(command)).keys() <= options.keys()
    given = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if name == "layers":
            given.append(f"--{value}")
        elif value is True:
            given.append(option)
        elif value is not None:
            text = " ".join(value) if isinstance(value, list) else value
            given.append(f"{option}={text}")
    found = arrived(*given)
    expected = {name: value for name, value in {**positional, **options}.items() if name in found}
    assert {name: found[name] for name in expected} == expected
    assert options.keys() <= found.keys()


def test_the_defaults_are_those_of_the_functions(command, arrived):
    expected = dict(defaults_of(command))
    found = arrived()
    assert {name: found[name] for name in expected} == expected
