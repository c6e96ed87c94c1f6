"""
The evaluation protocols of SentEval (Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449) with
`usepytorch=False`: logistic regression on the features of a task's examples, with the `C` that has
the best held-out score, or the smallest of several. There are two differences: several classes are
one multinomial model, and SICK-R is fitted by cross-entropy instead of squared error.
"""

from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple, Union

import numpy
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate

_C_VALUES = [2.0**exponent for exponent in range(-2, 4)]
# SentEval's default.
_SEED = 1111
# SentEval uses other values for cross-validation if there is a test set.
_FOLDS_AND_TEST_C_VALUES = [2.0**exponent for exponent in range(-1, 6)]


class LabeledFeatures(NamedTuple):
    """Shapes `(num_examples, dim)` and `(num_examples,)`."""

    features: numpy.ndarray
    labels: numpy.ndarray


class Outcome(NamedTuple):
    """
    `score` is the accuracy in percent, or 100 times Pearson's correlation; `dev_score` is that on
    the held-out examples, for the chosen `c`. Nested folds give one `c` for each outer fold, and
    the mean `dev_score`.
    """

    score: float
    dev_score: float
    c: Union[float, List[float]]


# The arguments are the splits and the number of folds.
Protocol = Callable[[Dict[str, LabeledFeatures], int], Outcome]


def nested_folds(splits: Dict[str, LabeledFeatures], folds: int) -> Outcome:
    """
    Nested cross-validation on `"train"`. For each fold, `C` is chosen by cross-validation on the
    other folds.
    """
    scaled, variance = _scaled(splits)
    search = _grid_search(_C_VALUES, variance, folds)
    found = cross_validate(search, *scaled["train"], cv=search.cv, return_estimator=True)
    return Outcome(
        _percent(found["test_score"]),
        _percent([each.best_score_ for each in found["estimator"]]),
        [_C_VALUES[each.best_index_] for each in found["estimator"]],
    )


def folds_and_test(splits: Dict[str, LabeledFeatures], folds: int) -> Outcome:
    """Chooses `C` by cross-validation on `"train"` and evaluates on `"test"`."""
    scaled, variance = _scaled(splits)
    features, labels = scaled["test"]
    search = _grid_search(_FOLDS_AND_TEST_C_VALUES, variance, folds).fit(*scaled["train"])
    return Outcome(
        _percent(search.predict(features) == labels),
        _percent(search.best_score_),
        _FOLDS_AND_TEST_C_VALUES[search.best_index_],
    )


def dev_and_test(splits: Dict[str, LabeledFeatures], folds: int) -> Outcome:
    """Chooses `C` by the accuracy on `"dev"` and evaluates on `"test"`."""
    scaled, variance = _scaled(splits)
    scores = []
    for c in _C_VALUES:
        classifier = _classifier(c * variance).fit(*scaled["train"])
        scores.append([classifier.score(*scaled[split]) for split in ("dev", "test")])
    return _best(scores)


def relatedness(splits: Dict[str, LabeledFeatures], folds: int) -> Outcome:
    """
    Predicts a score from 1 to 5 as the expected value of the classes 1, …, 5 (Tai et al. 2015,
    https://arxiv.org/abs/1503.00075, section 4.2). For training, an example with the score 3.7 is
    an example of class 3 with weight 0.3 and one of class 4 with weight 0.7. `C` is chosen by
    Pearson's correlation on `"dev"`.
    """
    scaled, variance = _scaled(splits)
    features, labels = scaled["train"]
    lower = numpy.floor(labels)
    weights = numpy.concatenate([lower + 1 - labels, labels - lower])
    used = weights > 0
    features = numpy.concatenate([features, features])[used]
    classes = numpy.concatenate([lower, lower + 1]).astype(int)[used]
    scores = []
    for c in _C_VALUES:
        classifier = _classifier(c * variance).fit(features, classes, weights[used])
        scores.append(
            [
                _pearson(classifier.predict_proba(each.features) @ classifier.classes_, each.labels)
                for each in (scaled["dev"], scaled["test"])
            ]
        )
    return _best(scores)


def _scaled(splits: Dict[str, LabeledFeatures]) -> Tuple[Dict[str, LabeledFeatures], float]:
    """
    Centers and scales features, so that the solver converges equally well for all kinds of them. If
    `C` is multiplied by the returned factor, the classifier does not change: the intercept is not
    regularized, so it compensates for the centering.
    """
    train = splits["train"].features.astype(numpy.float64)
    mean, variance = train.mean(axis=0), float(train.var(axis=0).mean()) or 1.0
    return {
        name: LabeledFeatures(((features - mean) / variance**0.5).astype(numpy.float32), labels)
        for name, (features, labels) in splits.items()
    }, variance


def _classifier(c: float = 1.0) -> LogisticRegression:
    return LogisticRegression(C=c, tol=1e-5, max_iter=10_000)


def _grid_search(cs: Sequence[float], variance: float, folds: int) -> GridSearchCV:
    splitter = StratifiedKFold(n_splits=folds, shuffle=True, random_state=_SEED)
    return GridSearchCV(_classifier(), {"C": [c * variance for c in cs]}, cv=splitter)


def _best(scores: Sequence[Sequence[float]]) -> Outcome:
    """Selects the best of the dev and test scores for each of `_C_VALUES`."""
    best = int(numpy.argmax([dev_score for dev_score, _ in scores]))
    dev_score, score = scores[best]
    return Outcome(_percent(score), _percent(dev_score), _C_VALUES[best])


def _percent(fractions: Union[float, Sequence[float]]) -> float:
    return round(100 * float(numpy.mean(fractions)), 2)


def _pearson(predicted: numpy.ndarray, true: numpy.ndarray) -> float:
    """Pearson's correlation; 0 if one is constant but for rounding, where it is undefined."""
    if any(values.std() <= 1e-6 * abs(values).max() for values in (predicted, true)):
        return 0.0
    return float(numpy.corrcoef(predicted, true)[0, 1])
