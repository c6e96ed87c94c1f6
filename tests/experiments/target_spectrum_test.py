import json

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.fasttext.model import FastTextModel
from experiments.target_spectrum import main, spectrum
from tests import FIXTURES, VECTORS

TRAIN = FIXTURES / "corpus" / "train"


def test_equal_axes_are_as_many_as_dimensions_and_a_line_is_one():
    even = spectrum(torch.cat([3 * torch.eye(4), -torch.eye(4)]), torch.ones(8))
    assert even == {"largest_share": pytest.approx(1 / 4), "effective_dimensions": pytest.approx(4)}
    line = spectrum(torch.tensor([[1.0, 2.0], [-2.0, -4.0]]), torch.tensor([1.0, 5.0]))
    assert line == {"largest_share": pytest.approx(1), "effective_dimensions": pytest.approx(1)}


@given(counts=st.lists(st.integers(1, 5), min_size=2, max_size=6), seed=st.integers(0, 99))
def test_a_word_counts_as_often_as_it_occurs(counts, seed):
    vectors = torch.randn(len(counts), 3, generator=torch.Generator().manual_seed(seed))
    tokens = vectors.repeat_interleave(torch.tensor(counts), dim=0)
    assert spectrum(vectors, torch.tensor(counts)) == pytest.approx(
        spectrum(tokens, torch.ones(len(tokens)))
    )


def test_the_targets_of_a_text(tmp_path):
    main([VECTORS, str(TRAIN), str(tmp_path / "new" / "out.json")])
    rows = {row.pop("targets"): row for row in json.loads((tmp_path / "new/out.json").read_text())}
    assert list(rows) == ["original", "centred", "whitened"]

    model = FastTextModel.open(VECTORS)
    text = " ".join(file.read_text("utf-8") for file in sorted(TRAIN.iterdir()))
    tokens = numpy.array([model.get_word_vector(word) for word in text.split()], dtype=float)

    def expected(vectors):
        directions = vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)
        squares = numpy.linalg.svd(directions, compute_uv=False) ** 2
        shares = squares / squares.sum()
        return {"largest_share": shares[0], "effective_dimensions": 1 / (shares**2).sum()}

    directions = tokens / numpy.linalg.norm(tokens, axis=1, keepdims=True)
    assert rows["original"] == pytest.approx(expected(tokens), rel=1e-4)
    centred = directions - directions.mean(axis=0)
    assert rows["centred"] == pytest.approx(expected(centred), rel=1e-4)
    # All of so short a text is used for it, and the ridge added.
    covariance = centred.T @ centred / len(tokens)
    dim = model.dim
    covariance += dim / len(tokens) * numpy.trace(covariance) / dim * numpy.eye(dim)
    variances, axes = numpy.linalg.eigh(covariance)
    whitened = centred @ (axes / variances**0.5 @ axes.T)
    assert rows["whitened"] == pytest.approx(expected(whitened), rel=1e-3)
    assert rows["whitened"]["effective_dimensions"] > rows["centred"]["effective_dimensions"]
    assert len(tokens) < 1000 * dim


@pytest.mark.parametrize(
    ("vectors", "train", "message"),
    [
        ("no.bin", str(TRAIN), "no.bin does not exist"),
        (VECTORS, "no", "no: "),
        (VECTORS, "empty", "empty: it has no words"),
    ],
)
def test_an_error_is_one_line(vectors, train, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text(" \n")
    with pytest.raises(SystemExit) as error:
        main([vectors, train, "out.json"])
    assert str(error.value.code).startswith("target_spectrum: ")
    assert message in str(error.value.code)
    assert not (tmp_path / "out.json").exists()
