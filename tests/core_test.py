"""An exported folder opens where PyTorch, NumPy and safetensors are installed, and nothing else."""

import subprocess
import sys

import numpy
import pytest

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.fasttext.train import train_fasttext
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from tests import ROOT, TRAIN
from tests.language_models import with_vectors, write_language_model

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
import allennlp_semfit.functional
from allennlp_semfit import SentenceEmbedder

sentences, out, *folders = sys.argv[1:]
sentences = eval(sentences)
for number, folder in enumerate(folders):
    try:
        embedder = SentenceEmbedder(folder)
    except Exception as error:
        print(error)
        continue
    vectors = [layers.reshape(-1) for layers in embedder.embed_sentences(sentences)]
    vectors.append(embedder.sentence_vectors(sentences).ravel())
    numpy.save(f"{out}/{number}.npy", numpy.concatenate(vectors))
"""


def test_without_allennlp(tmp_path):
    archive = write_language_model(tmp_path / "lm", "fasttext")
    others = write_language_model(tmp_path / "others", "characters")
    exported = [tmp_path / name for name in ("plain", "compact", "others_folder")]
    export_model(archive, exported[0])
    export_model(archive, exported[1], compact=True)
    export_model(others, exported[2])
    folders = [*exported, others, tmp_path / "none"]
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, repr(SENTENCES), str(tmp_path), *map(str, folders)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert not process.returncode, process.stderr
    # The vectors are those that AllenNLP computes.
    rounded = with_vectors(exported[1] / "vectors.safetensors", archive, tmp_path / "rounded")
    for number, model in enumerate((archive, rounded)):
        embedder = SentenceEmbedder(model)
        expected = [layers.reshape(-1) for layers in embedder.embed_sentences(SENTENCES)]
        expected.append(embedder.sentence_vectors(SENTENCES).ravel())
        actual = numpy.load(tmp_path / f"{number}.npy")
        numpy.testing.assert_array_equal(actual, numpy.concatenate(expected))
    *errors, missing = process.stdout.splitlines()
    assert missing.startswith(f"Language model {tmp_path / 'none'} does not exist")
    # Other models say what to install.
    assert errors == [
        f"Language model {path} is not a complete folder of `allennlp export-model` with fastText "
        "vectors and a `bidirectional_language_model_lstm`. If it lacks `config.json` or "
        "`model.safetensors`, copy it again. Other models need AllenNLP: pip install "
        "'allennlp_semfit[train]' && pip install --no-deps allennlp==2.10.1 "
        "allennlp-models==2.10.1"
        for path in (exported[2], others)
    ]


def test_weights_of_other_sizes_are_named(tmp_path):
    export_model(write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "folder")
    path = tmp_path / "folder/config.json"
    path.write_text(path.read_text().replace('"cell_size": 8', '"cell_size": 1000000000'))
    with pytest.raises(InvalidFileError, match="cannot be read .its weights differ: size mismatch"):
        SentenceEmbedder(tmp_path / "folder")
    path.write_text(path.read_text().replace("1000000000", "8"))
    train_fasttext([TRAIN], tmp_path / "folder/vectors.bin", dim=11, bucket=100, force=True)
    with pytest.raises(InvalidFileError, match="vectors of dimension 11, but the language model"):
        SentenceEmbedder(tmp_path / "folder")


def test_a_link_to_a_device_is_not_read(tmp_path):
    export_model(write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "folder")
    config = tmp_path / "folder/config.json"
    config.unlink()
    # Unlike /dev/zero, it ends.
    config.symlink_to("/dev/null")
    with pytest.raises(InvalidFileError, match="has no config.json"):
        SentenceEmbedder(tmp_path / "folder")
