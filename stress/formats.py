"""The files that the package reads: how to make a small valid one, and how it is read."""

import gzip
import json
import os
import shutil
import signal
import sys
from bz2 import compress
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

import h5py
import numpy
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Token, TokenIndexer, Vocabulary
from allennlp.modules.elmo import batch_to_ids

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.analysis.senteval.results_file import ResultsFile
from allennlp_semfit.analysis.senteval.run import describe_results, run_tasks
from allennlp_semfit.analysis.senteval.sentence_vectors import FastTextVectors
from allennlp_semfit.analysis.senteval.tasks import read_tasks
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.prepare import prepare_corpus
from allennlp_semfit.corpus.vocabulary import count_vocabulary
from allennlp_semfit.corpus.word_counts import count_words
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from allennlp_semfit.pretrained import embed_file as embedding
from allennlp_semfit.pretrained.embed_file import embed_file
from allennlp_semfit.static_vectors.table import read_table
from allennlp_semfit.subwords.tokenizer import SubwordTokenizer
from allennlp_semfit.subwords.train import train_bpe
from stress.child import Child, allennlp
from tests import (
    FIXTURES,
    TABLE,
    VECTORS,
    update_recorder,  # noqa: F401 (registers what a configuration names)
)
from tests.analysis.senteval.data import write_data
from tests.elmo_weights import write_elmo
from tests.language_models import write_language_model
from tests.mimick_archive import write_mimick
from tests.processes import ROOT

__all__ = ["FORMATS", "Format", "WrongResultError", "training_config", "vectors_in"]

_WORDS = ["the", "river", "Zürich", "x" * 60, "</s>", ""]
_CORPUS = FIXTURES / "corpus" / "train"


class WrongResultError(Exception):
    """Damaged input gave a result, and a wrong one."""


class Format(NamedTuple):
    """
    A file format.

    # Parameters

    make : `Callable[[Path], Any]`
        Writes a valid input into a directory, which exists.
    read : `Callable[[Path], Any]`
        Reads it, as the package does for a user.
    targets : `str`
        A glob for the files to damage, one at a time.
    named : `str`, optional (default = `None`)
        What an error must name, by default the damaged file.
    share : `int`, optional (default = `10`)
        The share of the mutations, lower where reading is slow.
    strings : `Sequence[bytes]`, optional (default = `()`)
        See `mutate`.
    """

    make: Callable[[Path], Any]
    read: Callable[[Path], Any]
    targets: str
    named: Optional[str] = None
    share: int = 10
    strings: Sequence[bytes] = ()


def _copy(name: str, out: str) -> Callable[[Path], Any]:
    return lambda directory: shutil.copy(FIXTURES / name, directory / out)


def _read_fasttext(directory: Path) -> None:
    model = FastTextModel(directory / "vectors.bin")
    for word in [*_WORDS, *model.words[:50]]:
        model.get_word_vector(word)


def _read_vocabulary(directory: Path) -> None:
    path = str(directory / "vocabulary")
    vocabulary = Vocabulary.from_params(Params({"type": "from_files", "directory": path}))
    vocabulary.get_token_index("the", "tokens")


def _make_tokenizer(directory: Path) -> None:
    train_bpe([_CORPUS], directory / "subwords", merges=50, num_workers=1)


def _read_tokenizer(directory: Path) -> None:
    tokenizer = SubwordTokenizer(directory / "subwords" / "tokenizer.json")
    tokenizer.intra_word_tokenize(_WORDS)


def _read_archive(directory: Path) -> None:
    SentenceEmbedder(directory / "lm" / "model.tar.gz").embed_sentence(["the", "river"])


def _make_archive(kind: str) -> Callable[[Path], Any]:
    return lambda directory: write_language_model(directory / "lm", kind, archive=True)


def _read_mimick(directory: Path) -> None:
    archive = str(directory / "mimick" / "model.tar.gz")
    config = {"type": "mimick", "archive_file": archive, "table_path": TABLE}
    indexer = TokenIndexer.from_params(Params(config))
    indexer.tokens_to_indices([Token(word) for word in _WORDS], Vocabulary())


def _read_elmo(directory: Path) -> None:
    files = str(directory / "options.json"), str(directory / "weights.hdf5")
    ElmoCharacterCnnEmbedder(None, *files)(batch_to_ids([["the", "river"]]))


def _make_compressed_table(directory: Path) -> None:
    (directory / "table.txt.gz").write_bytes(gzip.compress(Path(TABLE).read_bytes()))


def _read_corpus(directory: Path) -> None:
    path = directory / "corpus.txt"
    indexers = {"fasttext": {"type": "fasttext", "model_path": VECTORS}}
    config = {"type": "language_modeling", "token_indexers": indexers}
    reader = DatasetReader.from_params(Params(config))
    for instance in reader.read(str(path)):
        reader.apply_token_indexers(instance)
    count_words([path])


_PAGE = "<page><title>T</title><ns>0</ns><revision><text>{}</text></revision></page>"
_TEXTS = (
    "'''Rain''' fell on the [[harbour|old harbour]] all {{convert|1|night}}. The night fell.",
    '{| class="x"\n| a || b\n|}\n== Snow ==\n* The captain &lt;ref name="a"&gt;x&lt;/ref&gt;.',
)
_DUMP = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo><namespaces>'
    '<namespace key="6">File</namespace><namespace key="0" /></namespaces></siteinfo>\n'
    + "\n".join(map(_PAGE.format, _TEXTS * 3))
    + "\n</mediawiki>\n"
)
_DUMP_STRINGS = [
    *(b"{{" * 3000, b"[[a|" * 3000, b"<!--\n-->" * 30, b"&lt;ref&gt;" * 3000, b"'" * 9000),
    *(b"{|\n" * 2000, b"&lt;!--" * 500, b"<![CDATA[", b"&x;", b'<!DOCTYPE a [<!ENTITY x "y">]>'),
    *(b"</page>", b"<page>", b"<x>" * 3000, b"==", b"|}", b"http://" * 2000),
]


def _make_dump(name: str) -> Callable[[Path], Any]:
    content = _DUMP.encode()
    return lambda directory: (directory / name).write_bytes(
        compress(content) if name.endswith("bz2") else content
    )


def _read_text(directory: Path) -> None:
    (source,) = directory.iterdir()
    prepare_corpus([source], directory / "out", CorpusOptions(held_out=0), num_workers=1)


def _make_text(directory: Path) -> None:
    text = (_CORPUS / "shard-00.txt").read_bytes()
    (directory / "notes.txt.gz").write_bytes(gzip.compress(text))


def _read_senteval(directory: Path) -> None:
    data = read_tasks(directory / "data", ["CR", "TREC"], folds=2)
    results = ResultsFile(
        directory / "results.json",
        folds=2,
        seed=1,
        data_sha256={name: task.sha256 for name, task in data.items()},
    )
    vectors = FastTextVectors(VECTORS)
    results.claim(VECTORS, vectors)
    run_tasks(vectors, data, results)
    describe_results(results.contents)


def _make_senteval(directory: Path) -> None:
    write_data(directory / "data")
    _read_senteval(directory)


def _embed(directory: Path, out: str) -> None:
    # Several windows in a few sentences.
    embedding.WINDOW_SENTENCES = 2
    embedder = SentenceEmbedder(directory / "lm" / "model.tar.gz")
    pool = "mean" if out.endswith(".npy") else None
    embed_file(embedder, directory / "sentences.txt", directory / out, pool=pool)


def _make_embedded(out: str, *, finished: bool) -> Callable[[Path], Any]:
    def make(directory: Path) -> None:
        _make_archive("fasttext")(directory)
        lines = (_CORPUS / "shard-00.txt").read_text("utf-8").splitlines()
        (directory / "sentences.txt").write_text("\n".join(lines[:6]), "utf-8")
        _embed(directory, f"expected-{out}")
        if finished:
            shutil.copy(directory / f"expected-{out}", directory / out)
            return

        def interrupt(event: str, arguments: Tuple[Any, ...]) -> None:
            if event == "os.rename" and str(arguments[1]) == str(directory / out):
                raise InterruptedError("stopped")

        # It cannot be removed: `make` runs in a process of its own.
        sys.addaudithook(interrupt)
        with suppress(ConfigurationError):
            _embed(directory, out)

    return make


def _read_embedded(out: str) -> Callable[[Path], Any]:
    def read(directory: Path) -> None:
        _embed(directory, out)
        if vectors_in(directory / out) != vectors_in(directory / f"expected-{out}"):
            raise WrongResultError(f"{out} has other vectors")

    return read


def vectors_in(path: Path) -> Dict[str, Any]:
    """The types, shapes and values of the arrays in an output of `embed`, by their names."""
    if path.suffix == ".npy":
        return {"": _describe_array(numpy.load(path))}
    with h5py.File(path) as file:
        return {name: _describe_array(numpy.asarray(file[name][()])) for name in file}


def _describe_array(array: numpy.ndarray) -> Any:
    # Strings are objects.
    values = array.tolist() if array.dtype.hasobject else array.tobytes()
    return str(array.dtype), array.shape, values


def training_config(**trainer: Any) -> Dict[str, Any]:
    """The fixtures' language model, with dropout and a random order."""
    config = Params.from_file(FIXTURES / "language_model.jsonnet").as_dict(quiet=True)
    for key in ("train_data_path", "validation_data_path"):
        config[key] = str(ROOT / config[key])
    config["dataset_reader"]["token_indexers"]["fasttext"]["model_path"] = VECTORS
    config["trainer"].update({"checkpointer": {"save_every_num_batches": 2}, **trainer})
    return config


def _make_training(directory: Path) -> None:
    file = directory / "config.json"
    file.write_text(json.dumps(training_config(callbacks=["update_recorder"])))
    os.environ["KILL_AFTER_UPDATE"] = "11"
    train = partial(allennlp, "train", str(file), "-s", str(directory / "run"))
    ended = Child(train).end(300)
    assert ended.code == -signal.SIGKILL, ended.output


def _recover(directory: Path) -> None:
    params = Params.from_file(directory / "config.json")
    train_model(params, str(directory / "run"), recover=True)


_ARCHIVE = "lm/model.tar.gz"

FORMATS: Dict[str, Format] = {
    "fastText": Format(_copy("vectors.bin", "vectors.bin"), _read_fasttext, "vectors.bin"),
    "fastText without n-grams": Format(
        _copy("words_only.bin", "vectors.bin"), _read_fasttext, "vectors.bin"
    ),
    "model.tar.gz": Format(_make_archive("fasttext"), _read_archive, _ARCHIVE),
    "model.tar.gz of a word model": Format(_make_archive("words"), _read_archive, _ARCHIVE),
    "model.tar.gz of MIMICK": Format(
        lambda directory: write_mimick(directory / "mimick", archive=True),
        _read_mimick,
        "mimick/model.tar.gz",
    ),
    "vocabulary": Format(
        lambda directory: count_vocabulary([_CORPUS], directory / "vocabulary", num_workers=1),
        _read_vocabulary,
        "vocabulary/*.txt",
        named="vocabulary",
    ),
    "tokenizer.json": Format(_make_tokenizer, _read_tokenizer, "subwords/tokenizer.json"),
    "table": Format(
        _copy("table.txt", "table.txt"), lambda d: read_table(str(d / "table.txt")), "table.txt"
    ),
    "compressed table": Format(
        _make_compressed_table, lambda d: read_table(str(d / "table.txt.gz")), "table.txt.gz"
    ),
    "ELMo options": Format(write_elmo, _read_elmo, "options.json"),
    "ELMo weights": Format(write_elmo, _read_elmo, "weights.hdf5"),
    "corpus": Format(_copy("corpus/heldout.txt", "corpus.txt"), _read_corpus, "corpus.txt"),
    "compressed text": Format(_make_text, _read_text, "notes.txt.gz"),
    "dump": Format(_make_dump("dump.xml"), _read_text, "dump.xml", strings=_DUMP_STRINGS),
    "compressed dump": Format(
        _make_dump("dump.xml.bz2"), _read_text, "dump.xml.bz2", strings=_DUMP_STRINGS
    ),
    "senteval results": Format(_make_senteval, _read_senteval, "results.json"),
    **{
        f"embed {name}": Format(
            _make_embedded(out, finished=name == out), _read_embedded(out), name, share=5
        )
        for out in ("out.h5", "out.npy")
        for name in (out, f"{out}.unfinished")
    },
    "training folder": Format(_make_training, _recover, "run/**/*.*", named="run", share=3),
}
"""The formats by name."""
