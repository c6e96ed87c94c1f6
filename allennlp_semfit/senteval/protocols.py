"""
How a score is made of the features of a task's examples: what SentEval (Conneau and Kiela 2018,
https://arxiv.org/abs/1803.05449) does with `usepytorch=False`.

Of all `C` that do best on held-out examples, to a hundredth of a point, the smallest is chosen.
"""

from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy
from allennlp.common import Tqdm
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from allennlp_semfit.senteval.logistic_regression import fit_path, standardize

__all__ = [
    "Labelled",
    "Outcome",
    "Protocol",
    "dev_and_test",
    "folds_and_test",
    "nested_folds",
    "relatedness",
]

_CS = [2.0**exponent for exponent in range(-2, 4)]
# SentEval's choice where the folds are those of a training set that has a test set beside it.
_CS_OF_FOLDS_AND_TEST = [2.0**exponent for exponent in range(-1, 6)]


class Labelled(NamedTuple):
    """
    # Parameters

    features : `numpy.ndarray`
        Shape `(num_examples, dim)`.
    labels : `numpy.ndarray`
        Shape `(num_examples,)`.
    """

    features: numpy.ndarray
    labels: numpy.ndarray

    def at(self, indices: numpy.ndarray) -> "Labelled":
        """The examples at these positions."""
        return Labelled(self.features[indices], self.labels[indices])


class Outcome(NamedTuple):
    """
    # Parameters

    score : `float`
        In percent: the accuracy, or 100 times Pearson's correlation.
    dev_score : `float`
        The same on the held-out examples by which `C` was chosen; for several choices, their mean.
    c : `Union[float, List[float]]`
        What was chosen; a list of one for each outer fold, if there are any.
    f1 : `float`, optional (default = `None`)
        In percent, of class 1, where two classes have a test set.
    """

    score: float
    dev_score: float
    c: Union[float, List[float]]
    f1: Optional[float] = None


# Of the splits, the number of folds and the seed that divides into them.
Protocol = Callable[[Dict[str, Labelled], int, int], Outcome]


def nested_folds(splits: Dict[str, Labelled], folds: int, seed: int) -> Outcome:
    """
    Cross-validation of the examples in `"train"`. For each fold, `C` is chosen by cross-validation
    of the others.
    """
    splits, factor = _standardized(splits)
    examples = splits["train"]
    scores, dev_scores, chosen = [], [], []
    divided = _divide(examples, folds, seed)
    for train, test in Tqdm.tqdm(divided, total=folds, desc="folds"):
        c, dev_score = _choose_by_folds(train, _CS, factor, folds, seed)
        scores.append(_accuracies(train, test, [c * factor])[0])
        dev_scores.append(dev_score)
        chosen.append(c)
    return Outcome(_percent(scores), _percent(dev_scores), chosen)


def folds_and_test(splits: Dict[str, Labelled], folds: int, seed: int) -> Outcome:
    """`C` is chosen by cross-validation of `"train"`, and the classifier scored on `"test"`."""
    splits, factor = _standardized(splits)
    train, test = splits["train"], splits["test"]
    c, dev_score = _choose_by_folds(train, _CS_OF_FOLDS_AND_TEST, factor, folds, seed)
    (classifier,) = fit_path(*train, [c * factor])
    predicted = classifier.predict(test.features)
    is_binary = len(classifier.classes_) == 2
    return Outcome(
        _percent(predicted == test.labels),
        _percent(dev_score),
        c,
        _percent(f1_score(test.labels, predicted)) if is_binary else None,
    )


def dev_and_test(splits: Dict[str, Labelled], folds: int, seed: int) -> Outcome:
    """`C` is chosen by the accuracy on `"dev"`, and the classifier scored on `"test"`."""
    splits, factor = _standardized(splits)
    dev, test = splits["dev"], splits["test"]
    classifiers = fit_path(*splits["train"], [c * factor for c in _CS])
    scores = [(each.score(*dev), each.score(*test)) for each in classifiers]
    return _outcome(scores)


def relatedness(splits: Dict[str, Labelled], folds: int, seed: int) -> Outcome:
    """
    Predicts a score from 1 to 5 as the mean of the classes 1, …, 5 by their probabilities (Tai et
    al. 2015, https://arxiv.org/abs/1503.00075, section 4.2). An example of the score 3.7 is one of
    class 3 with the weight 0.3 and one of class 4 with the weight 0.7. `C` is chosen by Pearson's
    correlation on `"dev"`.
    """
    splits, factor = _standardized(splits)
    dev, test = splits["dev"], splits["test"]
    features, labels = splits["train"]
    lower = numpy.floor(labels)
    weights = numpy.concatenate([lower + 1 - labels, labels - lower])
    used = weights > 0
    classifiers = fit_path(
        numpy.concatenate([features, features])[used],
        numpy.concatenate([lower, lower + 1]).astype(int)[used],
        [c * factor for c in _CS],
        weights[used],
    )
    scores = []
    for classifier in classifiers:
        of_dev, of_test = (
            _pearson(classifier.predict_proba(each.features) @ classifier.classes_, each.labels)
            for each in (dev, test)
        )
        scores.append((of_dev, of_test))
    return _outcome(scores)


def _standardized(splits: Dict[str, Labelled]) -> Tuple[Dict[str, Labelled], float]:
    names = sorted(splits, key=lambda name: name != "train")
    features, factor = standardize(*(splits[name].features for name in names))
    return {
        name: Labelled(each, splits[name].labels) for name, each in zip(names, features)
    }, factor


def _divide(examples: Labelled, folds: int, seed: int) -> Iterator[Tuple[Labelled, Labelled]]:
    divider = StratifiedKFold(n_splits=folds, shuffle=True, random_state=seed)
    for train, test in divider.split(examples.features, examples.labels):
        yield examples.at(train), examples.at(test)


def _choose_by_folds(
    examples: Labelled, cs: Sequence[float], factor: float, folds: int, seed: int
) -> Tuple[float, float]:
    """Returns the best `C`, and the accuracy with it."""
    scaled = [c * factor for c in cs]
    divided = _divide(examples, folds, seed)
    scores = numpy.mean([_accuracies(train, test, scaled) for train, test in divided], axis=0)
    best = _best(scores)
    return cs[best], scores[best]


def _accuracies(train: Labelled, test: Labelled, cs: Sequence[float]) -> List[float]:
    return [classifier.score(*test) for classifier in fit_path(*train, cs)]


def _outcome(scores: Sequence[Tuple[float, float]]) -> Outcome:
    """Of the scores on `"dev"` and `"test"` with each of `_CS`."""
    best = _best([dev_score for dev_score, _ in scores])
    dev_score, score = scores[best]
    return Outcome(_percent(score), _percent(dev_score), _CS[best])


def _best(scores: Sequence[float]) -> int:
    return int(numpy.argmax([_percent(score) for score in scores]))


def _percent(shares: Union[float, Sequence[float]]) -> float:
    return round(100 * float(numpy.mean(shares)), 2)


def _pearson(predicted: numpy.ndarray, true: numpy.ndarray) -> float:
    """0 where one of them is constant, but for rounding, which leaves it undefined."""
    if any(values.std() <= 1e-6 * abs(values).max() for values in (predicted, true)):
        return 0.0
    return float(numpy.corrcoef(predicted, true)[0, 1])
