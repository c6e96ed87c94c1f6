import json
import re

import numpy
import pytest

from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from experiments.layer_statistics import main, measure_layers
from tests import FIXTURES
from tests.language_models import write_language_model

HELDOUT = FIXTURES / "corpus" / "heldout.txt"


@pytest.fixture
def archive(tmp_path):
    return str(write_language_model(tmp_path / "elmo_semfit", "fasttext", archive=True))


def test_lengths_and_shares_are_those_of_all_words(archive, tmp_path):
    out = tmp_path / "new" / "layers.json"
    main([archive, str(HELDOUT), str(out)])
    rows = json.loads(out.read_text())

    embedder = SentenceEmbedder(archive)
    sentences = [line.split() for line in HELDOUT.read_text("utf-8").splitlines()]
    words = numpy.concatenate(
        [embedder.embed_sentence(sentence) for sentence in sentences], axis=1, dtype=float
    )
    assert [row["layer"] for row in rows] == list(range(len(words)))
    for row, vectors in zip(rows, words):
        assert row["norm"] == pytest.approx(numpy.linalg.norm(vectors, axis=1).mean(), rel=1e-5)
        # What is not shared is the words' variance.
        varied = vectors.var(axis=0).sum() / (vectors**2).sum(axis=1).mean()
        assert row["common_share"] == pytest.approx(1 - varied, rel=1e-5)
        assert 0 < row["common_share"] < 1


def test_a_single_word_shares_all_with_itself(archive):
    rows = measure_layers(SentenceEmbedder(archive), [["boats"], []])
    assert [row["common_share"] for row in rows] == pytest.approx([1.0] * len(rows), rel=1e-5)


def test_text_without_a_word_is_named(archive, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    with pytest.raises(
        SystemExit, match=f"layer_statistics: {re.escape(str(empty))}: the file has no words"
    ):
        main([archive, str(empty), str(tmp_path / "out.json")])
    with pytest.raises(SystemExit, match="layer_statistics: Language model nowhere does not exist"):
        main(["nowhere", str(HELDOUT), str(tmp_path / "out.json")])
    assert not (tmp_path / "out.json").exists()
