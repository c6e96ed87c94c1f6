"""An exported folder opens where PyTorch, NumPy and safetensors are installed, and nothing else."""

import subprocess
import sys

import numpy
import pytest

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from tests import FIXTURES
from tests.language_models import write_language_model

SENTENCES = [["The", "river", "rose", "."], [], ["e\u0301", ""], ["slept"] * 90]
SCRIPT = """
import sys
from importlib.metadata import packages_distributions, requires
from packaging.requirements import Requirement

import torch

# What PyTorch itself needs
allowed = {Requirement(line).name.replace("-", "_") for line in requires("torch")}
allowed |= {"allennlp_semfit", "mpmath", "markupsafe", "numpy", "safetensors", "torch"}
for name in packages_distributions():
    if name not in allowed and name not in sys.modules:
        # `None` makes an import fail.
        sys.modules[name] = None

import numpy
from allennlp_semfit import SentenceEmbedder

embedder = SentenceEmbedder(sys.argv[1])
sentences = eval(sys.argv[2])
vectors = [layers.reshape(-1) for layers in embedder.embed_sentences(sentences)]
numpy.save(sys.argv[3], numpy.concatenate([*vectors, embedder.sentence_vectors(sentences).ravel()]))
"""


def embed_without_allennlp(folder, out):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), repr(SENTENCES), str(out)],
        cwd=FIXTURES.parent,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("compact", [False, True])
def test_the_vectors_are_those_that_allennlp_computes(compact, tmp_path):
    archive = write_language_model(tmp_path / "lm", "fasttext")
    export_model(archive, tmp_path / "folder", compact=compact)
    process = embed_without_allennlp(tmp_path / "folder", tmp_path / "vectors.npy")
    assert not process.returncode, process.stderr
    path = str(tmp_path / "folder/vectors.safetensors") if compact else None
    embedder = SentenceEmbedder(archive, fasttext_model_path=path)
    expected = [layers.reshape(-1) for layers in embedder.embed_sentences(SENTENCES)]
    expected.append(embedder.sentence_vectors(SENTENCES).ravel())
    actual = numpy.load(tmp_path / "vectors.npy")
    numpy.testing.assert_array_equal(actual, numpy.concatenate(expected))


def test_a_missing_folder_is_named(tmp_path):
    process = embed_without_allennlp(tmp_path / "none", tmp_path / "vectors.npy")
    assert f"Language model {tmp_path / 'none'} does not exist" in process.stderr.splitlines()[-1]


def test_weights_of_other_sizes_are_named(tmp_path):
    export_model(write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "folder")
    path = tmp_path / "folder/config.json"
    path.write_text(path.read_text().replace('"cell_size": 8', '"cell_size": 1000000000'))
    with pytest.raises(InvalidFileError, match="cannot be read .its weights differ: size mismatch"):
        SentenceEmbedder(tmp_path / "folder")


def test_other_models_say_what_to_install(tmp_path):
    archive = write_language_model(tmp_path / "lm", "characters")
    export_model(archive, tmp_path / "folder")
    for path in (archive, tmp_path / "folder"):
        process = embed_without_allennlp(path, tmp_path / "vectors.npy")
        assert process.stderr.splitlines()[-1].endswith(
            f"Language model {path} is not a folder of `allennlp export-model` with fastText "
            "vectors and a `bidirectional_language_model_lstm`. Others need AllenNLP: pip install "
            "'allennlp_semfit[train]' && pip install --no-deps allennlp==2.10.1 "
            "allennlp-models==2.10.1"
        )
