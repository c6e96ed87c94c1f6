import importlib.util
import json

import pytest
import torch

from tests import FIXTURES
from tests.experiments.peers.embedding import embed
from tests.tolerance import assert_same_but_for_rounding

MODEL = FIXTURES / "flair" / "model.pt"


def test_vectors_are_those_that_flair_wrote():
    rows = json.loads((MODEL.parent / "vectors.json").read_text("utf-8"))
    sentences = [row["words"] for row in rows]
    for vectors, row in zip(embed("flair", MODEL.parent, sentences), rows):
        expected = torch.tensor(row["vectors"])
        assert_same_but_for_rounding(vectors[: len(expected)], expected)
        # The padding
        assert not vectors[len(expected) :].any()


SENTENCES = [["Aspirin", "'s", "dogs", "barks", "."], ["asleep", "naïvely", "€"]]

is_installed = importlib.util.find_spec("flair") is not None


@pytest.mark.skipif(not is_installed, reason="needs flair; see `make peers`")
def test_vectors_are_those_of_flair(trained):
    from flair.data import Sentence
    from flair.embeddings import FlairEmbeddings, StackedEmbeddings

    directory = trained("flair")
    record = json.loads((directory / "record.json").read_text("utf-8"))
    assert record["updates"] > 0
    assert record["words_read"] > 0

    names = ("forward.pt", "backward.pt")
    stacked = StackedEmbeddings([FlairEmbeddings(str(directory / name)) for name in names])
    for vectors, words in zip(embed("flair", directory, SENTENCES), SENTENCES):
        sentence = Sentence(words)
        stacked.embed(sentence)
        expected = torch.stack([token.get_embedding() for token in sentence])
        assert_same_but_for_rounding(vectors[: len(words)], expected)
