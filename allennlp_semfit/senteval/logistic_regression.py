"""Logistic regressions that are fitted fast for many strengths of the penalty."""

import warnings
from typing import Iterator, Optional, Sequence, Tuple

import numpy
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

__all__ = ["fit_path", "standardize"]

# Newton's steps take time by the square of the dimension, and far fewer of them suffice.
_NEWTON_MAX_DIM = 1024


def standardize(
    train: numpy.ndarray, *others: numpy.ndarray
) -> Tuple[Tuple[numpy.ndarray, ...], float]:
    """
    Moves and scales features, so that solvers meet the same numbers whatever wrote the features.
    It changes no classifier: the intercept, which has no penalty, takes up the move, and `C` is to
    be multiplied by the factor that is returned.

    # Parameters

    train : `numpy.ndarray`
        Shape `(num_examples, dim)`: its mean is what becomes 0, and its variance 1, over all.
    others : `numpy.ndarray`
        Features to treat alike.

    # Returns

    `Tuple[Tuple[numpy.ndarray, ...], float]`
        All features, `float32`, and the factor.
    """
    mean = train.mean(axis=0, dtype=numpy.float64)
    variance = float(train.var(axis=0, dtype=numpy.float64).mean()) or 1.0
    moved = tuple(
        ((features - mean) / variance**0.5).astype(numpy.float32) for features in (train, *others)
    )
    return moved, variance


def fit_path(
    features: numpy.ndarray,
    labels: numpy.ndarray,
    cs: Sequence[float],
    weights: Optional[numpy.ndarray] = None,
) -> Iterator[LogisticRegression]:
    """
    Fits a logistic regression for each `C`, each from where the one before ended.

    # Parameters

    features : `numpy.ndarray`
        As of [`standardize`](#standardize). Shape `(num_examples, dim)`.
    labels : `numpy.ndarray`
        Shape `(num_examples,)`, of two classes or more.
    cs : `Sequence[float]`
        The inverse strengths of the penalty.
    weights : `numpy.ndarray`, optional (default = `None`)
        Of the examples. Shape `(num_examples,)`.

    # Returns

    `Iterator[LogisticRegression]`
        One and the same object, fitted anew.
    """
    is_small = len(numpy.unique(labels)) == 2 and features.shape[1] <= _NEWTON_MAX_DIM
    classifier = _newton() if is_small else _lbfgs()
    for c in cs:
        classifier.C = c
        if is_small:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", ConvergenceWarning)
                    warnings.simplefilter("error", LinAlgWarning)
                    classifier.fit(features, labels, weights)
            # Single precision may be too little for features that nearly depend on each other.
            except (ConvergenceWarning, LinAlgWarning):
                is_small = False
                classifier = _lbfgs().set_params(C=c)
        if not is_small:
            features = features.astype(numpy.float64, copy=False)
            classifier.fit(features, labels, weights)
        yield classifier


def _newton() -> LogisticRegression:
    return LogisticRegression(solver="newton-cholesky", tol=1e-5, warm_start=True)


def _lbfgs() -> LogisticRegression:
    return LogisticRegression(solver="lbfgs", tol=1e-6, max_iter=10_000, warm_start=True)
