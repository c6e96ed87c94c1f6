import sys

import numpy
import torch

from allennlp_semfit.fasttext.model import FastTextModel
from experiments import whitened
from tests import TRAIN, VECTORS


def test_the_words_of_the_text_have_unit_covariance(tmp_path, monkeypatch):
    out = tmp_path / "whitening.th"
    monkeypatch.setattr(sys, "argv", ["whitened", VECTORS, str(TRAIN), str(out)])
    whitened.main()
    model = FastTextModel.open(VECTORS)
    words = [word for file in TRAIN.iterdir() for word in file.read_text("utf-8").split()]
    vectors = torch.from_numpy(numpy.stack([model.get_word_vector(word) for word in words]))
    embedder = whitened.WhitenedFastTextEmbedder(model.dim, out)
    found = embedder(vectors).numpy().astype(float)
    # Rounding to float32, 6e-8, times the square root of the covariance's condition number, 5, and
    # the largest values, about 10.
    numpy.testing.assert_allclose(found.mean(0), 0, atol=1e-5)
    numpy.testing.assert_allclose(numpy.cov(found, rowvar=False), numpy.eye(model.dim), atol=1e-5)
    indexed = embedder(vectors[:5], indices=torch.tensor([[4, 0]]))
    torch.testing.assert_close(indexed[0], embedder(vectors[[4, 0]]))
