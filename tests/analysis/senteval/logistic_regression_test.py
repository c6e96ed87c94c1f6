import numpy
import pytest
from sklearn.linear_model import LogisticRegression

from allennlp_semfit.analysis.senteval import logistic_regression as module
from allennlp_semfit.analysis.senteval.logistic_regression import fit_path, standardize

CS = [0.25, 1.0, 8.0]


def problem(num_classes, dim=5, num_examples=60):
    random = numpy.random.default_rng(3)
    # As mean word vectors are: small, and far from 0.
    spread = random.standard_normal((num_examples, dim))
    features = 0.02 * spread + numpy.linspace(-0.1, 0.3, dim)
    noisy = spread @ random.standard_normal((dim, num_classes))
    labels = numpy.argmax(noisy + random.gumbel(size=noisy.shape), axis=1)
    assert len(set(labels)) == num_classes
    return features.astype(numpy.float32), labels, random.integers(1, 4, num_examples) / 2


def plain(features, labels, c, weights=None):
    classifier = LogisticRegression(C=c, tol=1e-12, max_iter=100_000)
    return classifier.fit(features.astype(numpy.float64), labels, weights)


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("newton_max_dim", [0, 1024])
def test_the_probabilities_are_those_of_plain_fits(
    monkeypatch, num_classes, weighted, newton_max_dim
):
    monkeypatch.setattr(module, "_NEWTON_MAX_DIM", newton_max_dim)
    features, labels, weights = problem(num_classes)
    weights = weights if weighted else None
    (train, test), factor = standardize(features[:50], features[50:])
    path = fit_path(
        train, labels[:50], [c * factor for c in CS], weights[:50] if weighted else None
    )
    for c, classifier in zip(CS, path):
        reference = plain(features[:50], labels[:50], c, weights[:50] if weighted else None)
        numpy.testing.assert_allclose(
            classifier.predict_proba(test), reference.predict_proba(features[50:]), atol=2e-5
        )


def test_it_falls_back_to_double_precision(monkeypatch):
    def impatient():
        return LogisticRegression(solver="newton-cholesky", max_iter=1, warm_start=True)

    features, labels, _ = problem(2)
    (train,), factor = standardize(features)
    expected = [each.predict_proba(train) for each in fit_path(train, labels, [100.0, 400.0])]
    monkeypatch.setattr(module, "_newton", impatient)
    found = [each.predict_proba(train) for each in fit_path(train, labels, [100.0, 400.0])]
    numpy.testing.assert_allclose(found, expected, atol=1e-3)


def test_features_that_depend_on_each_other():
    features, labels, _ = problem(2)
    (train,), factor = standardize(numpy.repeat(features, 2, axis=1))
    for c, classifier in zip([1e4, 1e7], fit_path(train, labels, [1e4 * factor, 1e7 * factor])):
        reference = plain(features, labels, 2 * c)
        numpy.testing.assert_allclose(
            classifier.predict_proba(train), reference.predict_proba(features), atol=1e-3
        )


def test_constant_features_are_left():
    (train, test), factor = standardize(numpy.full((3, 2), 7.0), numpy.full((1, 2), 8.0))
    assert factor == 1
    assert not train.any()
    assert (test == 1).all()
    assert train.dtype == numpy.float32
