import json

import numpy
import pytest
from scipy.sparse import csr_matrix

from experiments.projections import decode, main, word_vectors
from tests import FIXTURES, VECTORS

TRAIN = FIXTURES / "corpus" / "train"


def random_distributions(num_contexts=40, num_words=12):
    random = numpy.random.default_rng(1)
    probabilities = random.dirichlet(numpy.full(num_words, 0.3), num_contexts)
    return probabilities, random.dirichlet(numpy.ones(num_contexts))


@pytest.mark.parametrize("by_cosine", [False, True])
def test_decoding_is_that_of_the_definition(by_cosine, monkeypatch):
    monkeypatch.setattr("experiments.projections._CONTEXTS", 7)
    probabilities, weights = random_distributions()
    vectors = numpy.random.default_rng(2).standard_normal((12, 5))
    first = among_10 = 0.0
    decoded = {}
    for row, weight in zip(probabilities, weights):
        targets = vectors
        if by_cosine:
            targets = vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)
        mean = sum(share * target for share, target in zip(row, targets))
        order = sorted(range(12), key=lambda word: -mean @ targets[word])
        first += weight * (order[0] == row.argmax())
        among_10 += weight * (row.argmax() in order[:10])
        decoded[order[0]] = decoded.get(order[0], 0) + weight
    found = decode(csr_matrix(probabilities), weights, vectors, by_cosine=by_cosine)
    hubs = sum(sorted(decoded.values())[-10:])
    assert found == pytest.approx({"first": first, "among_10": among_10, "hubs": hubs})


def test_the_svd_is_the_best_projection_and_all_dimensions_keep_every_word():
    probabilities, weights = random_distributions()
    fasttext = numpy.random.default_rng(2).standard_normal((12, 6))
    found = word_vectors(csr_matrix(probabilities), weights, fasttext)
    assert {vectors.shape for vectors in found.values()} == {(12, 6)}
    vectors = found["SVD of P"]
    # No other six dimensions are nearer to P.
    lost = weights @ numpy.square(probabilities - probabilities @ vectors @ vectors.T).sum(axis=1)
    weighted = numpy.sqrt(weights)[:, None] * probabilities
    assert lost == pytest.approx(numpy.square(numpy.linalg.svd(weighted)[1][6:]).sum())
    identity = decode(csr_matrix(probabilities), weights, numpy.eye(12), by_cosine=False)
    assert identity["first"] == pytest.approx(1)


def test_a_text_is_measured(tmp_path):
    out = tmp_path / "out.json"
    main([str(TRAIN), VECTORS, str(out), "--min-count", "2"])
    rows = json.loads(out.read_text("utf-8"))
    assert len(rows) == 1 + 10
    for row in rows:
        assert 0 <= row["first"] <= row["among_10"] <= 1 + 1e-9
        assert 0 < row["hubs"] <= 1 + 1e-9


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SystemExit, match="projections: .*missing"):
        main([str(tmp_path / "missing"), VECTORS, str(tmp_path / "out.json")])
