"""Scores of given predictions, many sets of them at once, fold by fold; and ties between scores.

Scores that differ by rounding alone are ties.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from fewer._estimators._forests import predicted

ROUNDING = 1e-10  # scores with a smaller relative difference are ties


def asks_for_predictions(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn needs predictions alone, no probabilities and not the fitted model."""
    return getattr(scorer, "_response_method", None) == "predict"


def score_of_predictions(scorer: Any, true: Any, predicted: Any) -> float:
    """What such a scorer gives to predictions that were made already."""
    return float(scorer._sign * scorer._score_func(true, predicted, **scorer._kwargs))


def fold_scores(scoring: Any, true: np.ndarray, predicted: np.ndarray, starts: Any = (0,)) -> np.ndarray:
    """Scores (sets, folds) of predictions (sets, rows), as scikit-learn would give them one by one.

    Parameters
    ----------
    scoring : str or scorer
        A name of scikit-learn, or a scorer that asks for predictions.
    true : ndarray of shape (n_rows,)
        Classes or numbers, those of a fold together.
    predicted : ndarray of shape (n_sets, n_rows)
        Predictions.
    starts : sequence of int, default=(0,)
        Where each fold starts.

    Examples
    --------
    >>> import numpy as np
    >>> true, predicted = np.array([1, 1, 0, 0, 0]), np.array([[1, 0, 0, 0, 1], [1, 1, 1, 1, 1]])
    >>> fold_scores("accuracy", true, predicted, [0, 2])
    array([[0.5       , 0.66666667],
           [1.        , 0.        ]])
    """
    starts = np.asarray(starts)
    known = _AT_ONCE.get(scoring) if isinstance(scoring, str) else None
    if known is not None:
        return known(true, predicted, starts)
    from sklearn.metrics import get_scorer

    scorer = get_scorer(scoring)
    folds = [slice(*ends) for ends in zip(starts, [*starts[1:], len(true)], strict=True)]
    return np.array([[score_of_predictions(scorer, true[f], own[f]) for f in folds] for own in predicted])


def model_score(model: Any, X: Any, y: np.ndarray, scoring: Any, scorer: Any = None) -> float:
    """Score of a fitted model; where predictions are all that it takes, without the checks of scikit-learn's scorer.

    ``scorer`` is that of ``scoring``, if it is there already.
    """
    from sklearn.metrics import check_scoring

    scorer = check_scoring(model, scoring=scoring) if scorer is None else scorer
    if isinstance(scoring, str) and y.ndim == 1 and asks_for_predictions(scorer):
        return float(fold_scores(scoring, y, predicted(model, X)[None])[0, 0])
    return float(scorer(model, X, y))


def _means(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, starts, axis=-1) / np.diff([*starts, values.shape[-1]])


def _accuracy(true: np.ndarray, predicted: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return _means((predicted == true).astype(float), starts)


def _balanced_accuracy(true: np.ndarray, predicted: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Mean share of each class that is recognised, over the classes that a fold has."""
    hits = predicted == true
    recalls, n_present = np.zeros((len(predicted), len(starts))), np.zeros(len(starts))
    for label in np.unique(true):
        own = (true == label).astype(float)
        counts = np.add.reduceat(own, starts)
        recalls += np.add.reduceat(hits * own, starts, axis=1) / np.maximum(counts, 1)
        n_present += counts > 0
    return recalls / n_present


def _squared_error(true: np.ndarray, predicted: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return _means((true - predicted) ** 2, starts)


def _r2(true: np.ndarray, predicted: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """R2 of each fold; of a single row there is none, and a fold without variance has 1 or 0."""
    sizes = np.diff([*starts, len(true)])
    middles = np.repeat(_means(true, starts), sizes)
    total = np.add.reduceat((true - middles) ** 2, starts)
    left = np.add.reduceat((true - predicted) ** 2, starts, axis=1)
    flat = total == 0
    found = np.where(flat, (left == 0).astype(float), 1 - left / np.where(flat, 1.0, total))
    return np.where(sizes < 2, np.nan, found)


_AT_ONCE: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "r2": _r2,
    "neg_mean_squared_error": lambda *given: -_squared_error(*given),
    "neg_root_mean_squared_error": lambda *given: -np.sqrt(_squared_error(*given)),
    "neg_mean_absolute_error": lambda true, predicted, starts: -_means(np.abs(true - predicted), starts),
}


def clearly_better(score: float, other: float) -> bool:
    """Whether a score is higher by more than rounding."""
    if not (np.isfinite(score) and np.isfinite(other)):
        return score > other
    return score - other > ROUNDING * max(abs(score), abs(other))


def first_of_best(values: np.ndarray) -> np.ndarray:
    """Place of the largest value along the last axis; of values that are equal but for rounding, the first.

    Examples
    --------
    >>> import numpy as np
    >>> int(first_of_best(np.array([0.5, 0.3, 0.1 + 0.2 + 0.2])))
    0
    """
    values = np.asarray(values, dtype=float)
    largest = values.max(axis=-1, keepdims=True)
    slack = ROUNDING * np.where(np.isfinite(largest), np.abs(largest), 0.0)
    return np.argmax(values >= largest - slack, axis=-1)


def without_rounding(values: np.ndarray) -> np.ndarray:
    """Values for sorting, to as many digits as count; those that are equal but for rounding come out equal."""
    finite = np.abs(values[np.isfinite(values)])
    scale = float(finite.max(initial=0.0)) or 1.0
    return np.round(values / scale, -int(np.log10(ROUNDING)))
