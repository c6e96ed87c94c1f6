import numpy
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold

from allennlp_semfit.analysis.senteval.protocols import (
    LabelledFeatures,
    _pearson,
    dev_and_test,
    folds_and_test,
    nested_folds,
    relatedness,
)

# The tests' own copy of what a reader of the protocol would write down.
SMALL = [0.25, 0.5, 1, 2, 4, 8]
LARGE = [0.5, 1, 2, 4, 8, 16, 32]


def draw(num_examples, num_classes, seed):
    random = numpy.random.default_rng(seed)
    weights = numpy.random.default_rng(99).standard_normal((4, num_classes)) * 3
    features = (0.3 * random.standard_normal((num_examples, 4)) + 0.1).astype(numpy.float32)
    scores = features @ weights * 2
    labels = numpy.argmax(scores + random.gumbel(size=scores.shape), axis=1)
    return LabelledFeatures(features, labels)


def fit(features, labels, c, weights=None):
    classifier = LogisticRegression(C=c, tol=1e-10, max_iter=100_000)
    return classifier.fit(features.astype(numpy.float64), labels, weights)


def cross_validate(data, c, folds, seed):
    scores = []
    divider = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, test in divider.split(data.features, data.labels):
        classifier = fit(data.features[train], data.labels[train], c)
        predicted = classifier.predict(data.features[test])
        scores.append(accuracy_score(data.labels[test], predicted))
    return round(100 * numpy.mean(scores), 2)


@pytest.mark.parametrize("seed", [1111, 5])
def test_nested_folds(seed):
    data = draw(90, 2, seed=5)
    expected_cs, expected_scores, expected_dev_scores = [], [], []
    # As SentEval's, whatever the seed.
    divider = StratifiedKFold(3, shuffle=True, random_state=1111)
    for train, test in divider.split(data.features, data.labels):
        inner = LabelledFeatures(data.features[train], data.labels[train])
        dev_scores = [cross_validate(inner, c, 3, 1111) for c in SMALL]
        best = dev_scores.index(max(dev_scores))
        classifier = fit(*inner, SMALL[best])
        expected_cs.append(SMALL[best])
        expected_dev_scores.append(dev_scores[best])
        expected_scores.append(100 * classifier.score(data.features[test], data.labels[test]))
    outcome = nested_folds({"train": data}, 3, seed)
    assert outcome.c == expected_cs
    assert len(set(expected_cs)) > 1
    assert outcome.score == pytest.approx(numpy.mean(expected_scores), abs=0.01)
    assert outcome.dev_score == pytest.approx(numpy.mean(expected_dev_scores), abs=0.01)
    assert outcome.f1 is None


@pytest.mark.parametrize("num_classes", [2, 4])
def test_folds_and_test(num_classes):
    # No example of these seeds is so near to two classes that single precision might swap them.
    train, test = draw(120, num_classes, seed=10), draw(40, num_classes, seed=2)
    dev_scores = [cross_validate(train, c, 4, 1111) for c in LARGE]
    best = dev_scores.index(max(dev_scores))
    predicted = fit(*train, LARGE[best]).predict(test.features)
    outcome = folds_and_test({"train": train, "test": test}, 4, 1111)
    assert outcome.c == LARGE[best]
    assert outcome.dev_score == dev_scores[best]
    assert outcome.score == round(100 * accuracy_score(test.labels, predicted), 2)
    if num_classes == 2:
        assert outcome.f1 == pytest.approx(100 * f1_score(test.labels, predicted), abs=0.01)
    else:
        assert outcome.f1 is None


@pytest.mark.parametrize("num_classes", [2, 5])
def test_dev_and_test(num_classes):
    splits = {
        # In no order that the protocol could count on.
        "dev": draw(50, num_classes, seed=4),
        "test": draw(60, num_classes, seed=5),
        "train": draw(100, num_classes, seed=3),
    }
    classifiers = [fit(*splits["train"], c) for c in SMALL]
    dev_scores = [classifier.score(*splits["dev"]) for classifier in classifiers]
    best = dev_scores.index(max(dev_scores))
    outcome = dev_and_test(splits, 10, 1111)
    assert outcome.c == SMALL[best]
    assert outcome.dev_score == round(100 * dev_scores[best], 2)
    assert outcome.score == round(100 * classifiers[best].score(*splits["test"]), 2)


def test_relatedness_is_that_of_duplicated_examples():
    random = numpy.random.default_rng(6)

    def pairs(num_examples):
        features = random.standard_normal((num_examples, 3)).astype(numpy.float32)
        scores = 3 + features @ [1.0, -0.5, 0.2] + random.standard_normal(num_examples)
        return LabelledFeatures(features, numpy.clip(numpy.round(scores * 4) / 4, 1, 5))

    splits = {"train": pairs(80), "dev": pairs(30), "test": pairs(30)}
    assert {1.0, 5.0} <= set(splits["train"].labels)
    features, classes = [], []
    for row, score in zip(*splits["train"]):
        # Of four copies of an example of the score 3.25, one is of class 4.
        of_upper = round((score % 1) * 4)
        features += [row] * 4
        classes += [int(score)] * (4 - of_upper) + [int(score) + 1] * of_upper
    dev_scores, scores = [], []
    for c in SMALL:
        classifier = fit(numpy.array(features), numpy.array(classes), c / 4)
        for each, into in (("dev", dev_scores), ("test", scores)):
            probabilities = classifier.predict_proba(splits[each].features)
            predicted = probabilities @ [1, 2, 3, 4, 5]
            into.append(numpy.corrcoef(predicted, splits[each].labels)[0, 1])
    best = int(numpy.argmax(dev_scores))
    outcome = relatedness(splits, 10, 1111)
    assert outcome.c == SMALL[best]
    assert outcome.dev_score == pytest.approx(100 * dev_scores[best], abs=0.02)
    assert outcome.score == pytest.approx(100 * scores[best], abs=0.02)


def test_an_undefined_correlation_is_0():
    # Of features that are all one, a CPU may compute predictions that differ in the last place.
    features = numpy.zeros((6, 2), dtype=numpy.float32)
    constant = LabelledFeatures(features, numpy.array([1.0, 2.0, 3.0, 4.0, 5.0, 2.5]))
    outcome = relatedness({"train": constant, "dev": constant, "test": constant}, 10, 1111)
    assert outcome.score == outcome.dev_score == 0
    assert outcome.c == 0.25
    rounded = numpy.array([3, 3, 3 + 2e-7, 3 - 4e-7, 3, 3])
    assert _pearson(rounded, constant.labels) == 0
    assert _pearson(1e-3 * constant.labels + 3, constant.labels) == pytest.approx(1)
