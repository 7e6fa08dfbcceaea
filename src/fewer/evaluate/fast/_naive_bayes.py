"""Closed forms of Gaussian naive Bayes: moments of all labellings, and running sums of log densities.

**Label permutations.** With indicators E of "labelling l, fold f, class k, and stays", the sums ``E'X`` and ``E'X^2``
give every mean and variance at once, and the log likelihoods of left-out rows are three more products: with ``x^2``,
with ``x``, and a constant. Columns that a StandardScaler has divided by their standard deviation in the training rows
have class moments that are divided likewise, which changes no comparison of classes; only the smoothing of variances
then follows each column's own.

**Paths of nested subsets.** ``log p(c | x) = log p(c) + sum_j log N(x_j; m_cj, v_cj + e) + const`` with ``e`` a small
share of the largest variance of a column in the set. Sets with the same largest variance share one running sum.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from fewer._kernels._occurrence import occurrence_counts, occurrence_log_rates, undecided
from fewer.evaluate.fast import Routes, row_blocks

WORK_BYTES = 64_000_000
"""Memory for the moments of the labellings that are computed together."""


@dataclass(frozen=True)
class NaiveBayesRoute:
    """Centred columns, their squares, and the settings of the classifier."""

    centred: np.ndarray
    squares: np.ndarray
    var_smoothing: float
    priors: np.ndarray | None
    standardised: bool = False
    name: str = "shared moments"

    def predict(self, labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> tuple:
        """Predicted labels, and folds with a decision too close to call."""
        predicted = np.zeros(labels.shape, dtype=np.int64)
        doubtful = np.zeros((len(labels), n_folds), dtype=bool)
        together = max(1, WORK_BYTES // (8 * n_folds * n_classes * self.centred.shape[1] * 4))
        for start in range(0, len(labels), together):
            part = slice(start, start + together)
            self._predict_part(labels[part], folds[part], n_classes, predicted[part], doubtful[part])
        return predicted, doubtful

    def _predict_part(
        self, labels: np.ndarray, folds: np.ndarray, n_classes: int, predicted: np.ndarray, doubtful: np.ndarray
    ) -> None:
        n_labellings, n_rows = labels.shape
        n_folds = doubtful.shape[1]
        of_class = labels[:, None, :] == np.arange(n_classes)[:, None]
        stays = folds[:, None, :] != np.arange(n_folds)[:, None]
        # Sums over whole classes, less the sums over each fold: fewer products than one for every fold.
        kept = of_class[:, None] & stays[:, :, None]
        shape = (n_labellings, n_folds, n_classes, -1)
        E = kept.reshape(-1, n_rows).astype(float)
        counts = kept.sum(axis=3).astype(float)
        sums = (E @ self.centred).reshape(shape)
        square_sums = (E @ self.squares).reshape(shape)
        doubtful |= (counts == 0).any(axis=2)
        counts = np.maximum(counts, 1.0)[..., None]
        total = counts.sum(axis=2)
        spread = square_sums.sum(axis=2) / total - (sums.sum(axis=2) / total) ** 2
        epsilon = self.var_smoothing * np.maximum(spread, 0.0)
        if self.standardised:
            doubtful |= (spread <= 1e-8 * self.squares.mean(axis=0)).any(axis=2)  # too flat to be divided by
        else:
            epsilon = epsilon.max(axis=2, keepdims=True)
        means = sums / counts
        mean_squares = square_sums / counts
        variances = np.maximum(mean_squares - means**2, 0.0) + epsilon[:, :, None]
        doubtful |= ~(variances > 0).all(axis=(2, 3))
        variances[doubtful] = 1.0
        rounding = 1e-14 * (mean_squares / variances).max(axis=(2, 3))
        constants = -0.5 * (np.log(2 * np.pi * variances) + means**2 / variances).sum(axis=3)
        size = np.abs(0.5 * np.log(2 * np.pi * variances)).sum(axis=3).max(axis=2)
        priors = counts[..., 0] / total if self.priors is None else self.priors
        with np.errstate(divide="ignore"):
            constants += np.log(priors)
        slopes, curves = means / variances, -0.5 / variances
        for labelling in range(n_labellings):
            for fold in range(n_folds):
                if doubtful[labelling, fold]:
                    continue
                own = np.flatnonzero(folds[labelling] == fold)
                curved = self.squares[own] @ curves[labelling, fold].T
                scores = curved + self.centred[own] @ slopes[labelling, fold].T + constants[labelling, fold]
                predicted[labelling, own] = scores.argmax(axis=1)
                ranked = np.partition(scores, n_classes - 2, axis=1)
                scale = np.abs(curved).max(axis=1) + np.abs(scores).max(axis=1) + size[labelling, fold]
                gaps = ranked[:, -1] - ranked[:, -2]
                doubtful[labelling, fold] = not (gaps > (1e-11 + rounding[labelling, fold]) * scale).all()


def naive_bayes_route(
    learner: Any, X: np.ndarray, n_train: int | None, *, standardised: bool = False
) -> NaiveBayesRoute:
    """Route of a GaussianNB, on the columns as they are or standardised in every fold."""
    centred = np.ascontiguousarray(X - X.mean(axis=0))
    priors = None if learner.priors is None else np.asarray(learner.priors, dtype=float)
    return NaiveBayesRoute(centred, centred**2, float(learner.var_smoothing), priors, standardised)


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size."""
    classes, codes = np.unique(y, return_inverse=True)
    if model.priors is not None and not _are_priors(model.priors, len(classes)):
        return None  # fits say what is wrong
    counts, means, variances = _moments(train, codes, len(classes))
    overall = (counts / len(train)) @ (variances + (means - train.mean(axis=0)) ** 2)
    means, variances, test = means[:, order], variances[:, order], test[:, order]
    largest = np.maximum.accumulate(overall[order])[np.array(sizes) - 1]
    smoothing = model.var_smoothing * largest
    if (smoothing == 0).any() and (variances == 0).any():
        return None
    with np.errstate(divide="ignore"):
        shares = np.log(counts / len(train) if model.priors is None else np.asarray(model.priors, dtype=float))
    found = []
    places = range(len(sizes))
    for epsilon, alike in groupby(places, key=lambda place: smoothing[place]):
        group = [sizes[place] for place in alike]
        log_densities = [
            _log_densities(test, mean, variance + epsilon, group)
            for mean, variance in zip(means, variances, strict=True)
        ]
        found.append((np.stack(log_densities) + shares[:, None, None]).argmax(axis=0))
    return classes[np.concatenate(found)]


def _are_priors(priors: Any, n_classes: int) -> bool:
    """Whether scikit-learn takes them."""
    shares = np.asarray(priors, dtype=float)
    return shares.shape == (n_classes,) and bool((shares >= 0).all()) and bool(np.isclose(shares.sum(), 1.0))


def _moments(train: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of each class, and the mean and the variance of each column in it."""
    counts = np.bincount(codes, minlength=n_classes)
    sums, squares = np.zeros((n_classes, train.shape[1])), np.zeros((n_classes, train.shape[1]))
    members = (np.arange(n_classes)[:, None] == codes).astype(float)
    for rows in row_blocks(train):
        sums += members[:, rows] @ train[rows]
    means = sums / counts[:, None]
    for rows in row_blocks(train):
        deviations = train[rows] - means[codes[rows]]
        deviations *= deviations
        squares += members[:, rows] @ deviations
    return counts, means, squares / counts[:, None]


def _log_densities(test: np.ndarray, mean: np.ndarray, variance: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Log density (sizes, test rows) of one class, each size a sum over its columns."""
    widest = sizes[-1]
    terms = test[:, :widest] - mean[:widest]
    terms *= terms
    terms /= variance[:widest]
    terms += np.log(2 * np.pi * variance[:widest])
    return -0.5 * np.cumsum(np.add.reduceat(terms, [0, *sizes[:-1]], axis=1), axis=1).T


def occurrence_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size, by a NaiveBayesText; None where rounding would choose among classes."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2 or min(train.min(), test.min()) < 0:
        return None  # fits say what is wrong
    counts = np.bincount(codes)
    rates = occurrence_log_rates(occurrence_counts(train, codes, len(classes)), counts, model.smoothing)
    terms = test[:, None, order[: sizes[-1]]] * rates[:, order[: sizes[-1]]]
    joint = np.cumsum(np.add.reduceat(terms, [0, *sizes[:-1]], axis=2), axis=2) + np.log(counts / len(y))[:, None]
    # Without any word, the priors decide, and equal ones are equal to the last bit.
    words = np.stack([test[:, order[:size]].sum(axis=1) for size in sizes])
    doubtful = undecided(joint.transpose(2, 0, 1)) & (words > 0)
    return None if doubtful.any() else classes[joint.argmax(axis=1).T]


ROUTES = Routes(naive_bayes_route, class_predictions)
OCCURRENCE_ROUTES = Routes(None, occurrence_predictions)
