"""Fast logistic regression for several regularisation strengths."""

import warnings
from typing import Iterator, Optional, Sequence, Tuple

import numpy
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

__all__ = ["fit_path", "standardize"]

# Newton's method needs far fewer steps, but their time is quadratic in the dimension.
_NEWTON_MAX_DIM = 1024


def standardize(
    train: numpy.ndarray, *others: numpy.ndarray
) -> Tuple[Tuple[numpy.ndarray, ...], float]:
    """
    Centres and scales features, so that solvers converge equally well for all kinds of features. If
    `C` is multiplied by the returned factor, the classifier does not change: the intercept is not
    regularised, so it compensates for the centring.

    # Parameters

    train : `numpy.ndarray`
        The features that mean and variance are computed from. Shape `(num_examples, dim)`.
    others : `numpy.ndarray`
        Features to which the same transformation is applied.

    # Returns

    `Tuple[Tuple[numpy.ndarray, ...], float]`
        All features, `float32`, and the factor for `C`: the mean variance of a feature.
    """
    mean = train.mean(axis=0, dtype=numpy.float64)
    variance = float(train.var(axis=0, dtype=numpy.float64).mean()) or 1.0
    standardized = tuple(
        ((features - mean) / variance**0.5).astype(numpy.float32) for features in (train, *others)
    )
    return standardized, variance


def fit_path(
    features: numpy.ndarray,
    labels: numpy.ndarray,
    cs: Sequence[float],
    weights: Optional[numpy.ndarray] = None,
) -> Iterator[LogisticRegression]:
    """
    Fits a logistic regression for each `C`, each starting from the previous solution.

    # Parameters

    features : `numpy.ndarray`
        The output of [`standardize`](#standardize). Shape `(num_examples, dim)`.
    labels : `numpy.ndarray`
        Shape `(num_examples,)`, at least two classes.
    cs : `Sequence[float]`
        The inverse regularisation strengths.
    weights : `numpy.ndarray`, optional (default = `None`)
        The weights of the examples. Shape `(num_examples,)`.

    # Returns

    `Iterator[LogisticRegression]`
        The same object each time, refitted.
    """
    use_newton = len(numpy.unique(labels)) == 2 and features.shape[1] <= _NEWTON_MAX_DIM
    classifier = _newton() if use_newton else _lbfgs()
    for c in cs:
        classifier.C = c
        if use_newton:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", ConvergenceWarning)
                    warnings.simplefilter("error", LinAlgWarning)
                    classifier.fit(features, labels, weights)
            # Single precision may not suffice for nearly collinear features.
            except (ConvergenceWarning, LinAlgWarning):
                use_newton = False
                classifier = _lbfgs().set_params(C=c)
        if not use_newton:
            features = features.astype(numpy.float64, copy=False)
            classifier.fit(features, labels, weights)
        yield classifier


def _newton() -> LogisticRegression:
    return LogisticRegression(solver="newton-cholesky", tol=1e-5, warm_start=True)


def _lbfgs() -> LogisticRegression:
    return LogisticRegression(solver="lbfgs", tol=1e-6, max_iter=10_000, warm_start=True)
