import numpy
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from experiments.senteval.protocols import (
    LabeledFeatures,
    dev_and_test,
    folds_and_test,
    nested_folds,
    relatedness,
)

# The protocol, written down independently of the package.
SMALL = [0.25, 0.5, 1, 2, 4, 8]
LARGE = [0.5, 1, 2, 4, 8, 16, 32]


def draw(num_examples, num_classes, seed):
    random = numpy.random.default_rng(seed)
    weights = numpy.random.default_rng(99).standard_normal((4, num_classes)) * 3
    # As mean word vectors are: small, and far from 0.
    features = (0.3 * random.standard_normal((num_examples, 4)) + 0.1).astype(numpy.float32)
    scores = features @ weights * 2
    labels = numpy.argmax(scores + random.gumbel(size=scores.shape), axis=1)
    return LabeledFeatures(features, labels)


def plain(c):
    return LogisticRegression(C=c, tol=1e-10, max_iter=100_000)


def choose(data, cs, folds):
    """The best `C` of cross-validation, the smallest of several, and its score."""
    divider = StratifiedKFold(folds, shuffle=True, random_state=1111)
    features = data.features.astype(numpy.float64)
    scores = [cross_val_score(plain(c), features, data.labels, cv=divider).mean() for c in cs]
    return cs[int(numpy.argmax(numpy.round(scores, 6)))], 100 * max(scores)


def test_nested_folds():
    data = draw(90, 2, seed=5)
    expected = []
    divider = StratifiedKFold(3, shuffle=True, random_state=1111)
    for rows, test in divider.split(*data):
        train = LabeledFeatures(data.features[rows], data.labels[rows])
        c, dev_score = choose(train, SMALL, 3)
        score = 100 * plain(c).fit(*train).score(data.features[test], data.labels[test])
        expected.append((c, dev_score, score))
    cs, dev_scores, scores = zip(*expected)
    outcome = nested_folds({"train": data}, 3)
    assert outcome.c == list(cs)
    assert len(set(cs)) > 1
    assert outcome.score == pytest.approx(numpy.mean(scores), abs=0.01)
    assert outcome.dev_score == pytest.approx(numpy.mean(dev_scores), abs=0.01)


@pytest.mark.parametrize("num_classes", [2, 4])
def test_folds_and_test(num_classes):
    # No example of these seeds is so near to two classes that single precision might swap them.
    train, test = draw(120, num_classes, seed=10), draw(40, num_classes, seed=2)
    c, dev_score = choose(train, LARGE, 4)
    score = plain(c).fit(*train).score(*test)
    outcome = folds_and_test({"train": train, "test": test}, 4)
    assert outcome.c == c
    assert outcome.dev_score == pytest.approx(dev_score, abs=0.01)
    assert outcome.score == pytest.approx(100 * score, abs=0.01)


@pytest.mark.parametrize("num_classes", [2, 5])
def test_dev_and_test(num_classes):
    # In no order that the protocol could count on.
    seeds = {"dev": 4, "test": 5, "train": 3}
    splits = {split: draw(80, num_classes, seed) for split, seed in seeds.items()}
    classifiers = [plain(c).fit(*splits["train"]) for c in SMALL]
    dev_scores = [classifier.score(*splits["dev"]) for classifier in classifiers]
    best = int(numpy.argmax(dev_scores))
    outcome = dev_and_test(splits, 10)
    assert outcome.c == SMALL[best]
    assert outcome.dev_score == round(100 * dev_scores[best], 2)
    assert outcome.score == round(100 * classifiers[best].score(*splits["test"]), 2)


def test_relatedness_is_that_of_duplicated_examples():
    random = numpy.random.default_rng(6)

    def pairs(num_examples):
        features = random.standard_normal((num_examples, 3)).astype(numpy.float32)
        scores = 3 + features @ [1.0, -0.5, 0.2] + random.standard_normal(num_examples)
        return LabeledFeatures(features, numpy.clip(numpy.round(scores * 4) / 4, 1, 5))

    splits = {"train": pairs(80), "dev": pairs(30), "test": pairs(30)}
    assert {1.0, 5.0} <= set(splits["train"].labels)
    features, labels = splits["train"]
    # Of four copies of an example of the score 3.25, one is of class 4.
    classes = (labels[:, None] + [0, 0.25, 0.5, 0.75]).astype(int).ravel()
    scores = []
    for c in SMALL:
        classifier = plain(c / 4).fit(numpy.repeat(features, 4, axis=0), classes)
        predicted = {
            split: classifier.predict_proba(splits[split].features) @ [1, 2, 3, 4, 5]
            for split in ("dev", "test")
        }
        scores.append([numpy.corrcoef(predicted[i], splits[i].labels)[0, 1] for i in predicted])
    best = int(numpy.argmax([dev_score for dev_score, _ in scores]))
    outcome = relatedness(splits, 10)
    assert outcome.c == SMALL[best]
    found = (outcome.dev_score, outcome.score)
    assert found == pytest.approx([100 * score for score in scores[best]], abs=0.02)
