"""
The evaluation protocols of SentEval (Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449) with
`usepytorch=False`: logistic regression on the features of a task's examples.

The `C` with the best held-out score is chosen. Scores are rounded to 0.01 percentage points; if
several are equal, the smallest `C` is chosen.
"""

from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy
from allennlp.common import Tqdm
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from allennlp_semfit.analysis.senteval.logistic_regression import fit_path, standardize

__all__ = [
    "LabelledFeatures",
    "Outcome",
    "Protocol",
    "dev_and_test",
    "folds_and_test",
    "nested_folds",
    "relatedness",
]

_C_VALUES = [2.0**exponent for exponent in range(-2, 4)]
# SentEval fixes it, whatever the seed of the other tasks is.
_SEED_OF_NESTED_FOLDS = 1111
# SentEval uses other values for cross-validation if there is a test set.
_FOLDS_AND_TEST_C_VALUES = [2.0**exponent for exponent in range(-1, 6)]


class LabelledFeatures(NamedTuple):
    """Shapes `(num_examples, dim)` and `(num_examples,)`."""

    features: numpy.ndarray
    labels: numpy.ndarray

    def select(self, indices: numpy.ndarray) -> "LabelledFeatures":
        """Returns the examples with these indices."""
        return LabelledFeatures(self.features[indices], self.labels[indices])


class Outcome(NamedTuple):
    """
    `score` is the accuracy in percent, or 100 times Pearson's correlation; `dev_score` that of the
    held-out examples, for the chosen `c`. Nested folds give one `c` for each outer fold, and the
    mean `dev_score`. `f1` is the F1 score of class 1 in percent, for two classes and a test set.
    """

    score: float
    dev_score: float
    c: Union[float, List[float]]
    f1: Optional[float] = None


# The arguments are the splits, the number of folds and the seed for splitting into folds.
Protocol = Callable[[Dict[str, LabelledFeatures], int, int], Outcome]


def nested_folds(splits: Dict[str, LabelledFeatures], folds: int, seed: int) -> Outcome:
    """
    Nested cross-validation on `"train"`. For each fold, `C` is chosen by cross-validation on the
    other folds. As in SentEval, the folds do not depend on `seed`.
    """
    splits, factor = _standardized(splits)
    examples = splits["train"]
    scores, dev_scores, chosen = [], [], []
    fold_pairs = _split_folds(examples, folds, _SEED_OF_NESTED_FOLDS)
    for train, test in Tqdm.tqdm(fold_pairs, total=folds, desc="folds"):
        c, dev_score = _choose_by_folds(train, _C_VALUES, factor, folds, _SEED_OF_NESTED_FOLDS)
        scores.append(_accuracies(train, test, [c * factor])[0])
        dev_scores.append(dev_score)
        chosen.append(c)
    return Outcome(_percent(scores), _percent(dev_scores), chosen)


def folds_and_test(splits: Dict[str, LabelledFeatures], folds: int, seed: int) -> Outcome:
    """Chooses `C` by cross-validation on `"train"` and evaluates on `"test"`."""
    splits, factor = _standardized(splits)
    train, test = splits["train"], splits["test"]
    c, dev_score = _choose_by_folds(train, _FOLDS_AND_TEST_C_VALUES, factor, folds, seed)
    (classifier,) = fit_path(*train, [c * factor])
    predicted = classifier.predict(test.features)
    is_binary = len(classifier.classes_) == 2
    return Outcome(
        _percent(predicted == test.labels),
        _percent(dev_score),
        c,
        _percent(f1_score(test.labels, predicted)) if is_binary else None,
    )


def dev_and_test(splits: Dict[str, LabelledFeatures], folds: int, seed: int) -> Outcome:
    """Chooses `C` by the accuracy on `"dev"` and evaluates on `"test"`."""
    splits, factor = _standardized(splits)
    dev, test = splits["dev"], splits["test"]
    classifiers = fit_path(*splits["train"], [c * factor for c in _C_VALUES])
    scores = [(each.score(*dev), each.score(*test)) for each in classifiers]
    return _outcome(scores)


def relatedness(splits: Dict[str, LabelledFeatures], folds: int, seed: int) -> Outcome:
    """
    Predicts a score from 1 to 5 as the expected value of the classes 1, …, 5 (Tai et al. 2015,
    https://arxiv.org/abs/1503.00075, section 4.2). For training, an example with the score 3.7 is
    an example of class 3 with weight 0.3 and one of class 4 with weight 0.7. `C` is chosen by
    Pearson's correlation on `"dev"`.
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
        [c * factor for c in _C_VALUES],
        weights[used],
    )
    scores = []
    for classifier in classifiers:
        dev_score, test_score = (
            _pearson(classifier.predict_proba(each.features) @ classifier.classes_, each.labels)
            for each in (dev, test)
        )
        scores.append((dev_score, test_score))
    return _outcome(scores)


def _standardized(splits: Dict[str, LabelledFeatures]) -> Tuple[Dict[str, LabelledFeatures], float]:
    names = sorted(splits, key=lambda name: name != "train")
    features, factor = standardize(*(splits[name].features for name in names))
    return {
        name: LabelledFeatures(each, splits[name].labels) for name, each in zip(names, features)
    }, factor


def _split_folds(
    examples: LabelledFeatures, folds: int, seed: int
) -> Iterator[Tuple[LabelledFeatures, LabelledFeatures]]:
    splitter = StratifiedKFold(n_splits=folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(examples.features, examples.labels):
        yield examples.select(train), examples.select(test)


def _choose_by_folds(
    examples: LabelledFeatures, cs: Sequence[float], factor: float, folds: int, seed: int
) -> Tuple[float, float]:
    """Returns the best `C` and its accuracy."""
    scaled = [c * factor for c in cs]
    fold_pairs = _split_folds(examples, folds, seed)
    scores = numpy.mean([_accuracies(train, test, scaled) for train, test in fold_pairs], axis=0)
    best = _best(scores)
    return cs[best], scores[best]


def _accuracies(
    train: LabelledFeatures, test: LabelledFeatures, cs: Sequence[float]
) -> List[float]:
    return [classifier.score(*test) for classifier in fit_path(*train, cs)]


def _outcome(scores: Sequence[Tuple[float, float]]) -> Outcome:
    """Selects the best of the dev and test scores for each of `_C_VALUES`."""
    best = _best([dev_score for dev_score, _ in scores])
    dev_score, score = scores[best]
    return Outcome(_percent(score), _percent(dev_score), _C_VALUES[best])


def _best(scores: Sequence[float]) -> int:
    return int(numpy.argmax([_percent(score) for score in scores]))


def _percent(fractions: Union[float, Sequence[float]]) -> float:
    return round(100 * float(numpy.mean(fractions)), 2)


def _pearson(predicted: numpy.ndarray, true: numpy.ndarray) -> float:
    """Pearson's correlation; 0 if one is constant but for rounding, where it is undefined."""
    if any(values.std() <= 1e-6 * abs(values).max() for values in (predicted, true)):
        return 0.0
    return float(numpy.corrcoef(predicted, true)[0, 1])
