"""Label permutations of linear discriminant analysis: the total scatter knows nothing of labels.

Let T be the total scatter of the rows that stay, S the sums of the centred rows of each class (columns), n_k the class
sizes, ``D = diag(n_k)``, ``A = S'T^{-1}S`` and ``u(x) = S'T^{-1}(x - mean)``. The scatter within classes is ``W = T -
S D^{-1} S'``, so by Woodbury's identity the discriminant functions are

    delta_k(x) = n [ ((D - A)^{-1} u(x))_k - ((D - A)^{-1} A)_kk / (2 n_k) ] + log prior_k,

and u and A come from the least-squares fit of the class indicators: u(x) is what it predicts less ``n_k / n``, and A is
what it explains.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer.evaluate._label_permutations_ridge import LeftOutFits, _normal_equations


@dataclass(frozen=True)
class DiscriminantRoute:
    """Fits of indicators without each fold, and when they stand for scikit-learn's solution by SVD.

    ``smallest`` is the smallest eigenvalue of the correlations between all columns. Times det(M_FF) and the share
    that lies within classes, it bounds the smallest squared singular value from below, which must be above
    ``tol**2``, or scikit-learn drops a direction.
    """

    fits: LeftOutFits
    smallest: float
    n_columns: int
    tol: float
    priors: np.ndarray | None
    name: str = "shared scatter"

    def predict(self, labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> tuple:
        """Predicted labels, and folds where rounding or a dropped direction could matter."""
        indicators = (labels[:, :, None] == np.arange(n_classes)).astype(float)
        fitted, explained, log_dets = self.fits(indicators, folds, n_folds)
        sizes = _sizes_of_rest(labels, folds, n_folds, n_classes)
        n_kept = sizes.sum(axis=2)
        doubtful = np.isneginf(log_dets) | (sizes == 0).any(axis=2)
        sizes = np.maximum(sizes, 1.0)
        A = explained - sizes[..., :, None] * sizes[..., None, :] / n_kept[..., None, None]
        A[doubtful] = 0.0
        within = _diagonal(sizes) - A
        shares, doubtful = self._share_within(within, A, sizes, doubtful)
        bound = self.smallest * np.exp(np.minimum(log_dets, 0.0)) * shares
        doubtful |= ~(bound > 4 * self.tol**2)
        within[doubtful] = np.eye(n_classes)
        slopes = np.linalg.inv(within)
        offsets = -0.5 * np.einsum("lfkj,lfjk->lfk", slopes, A) / sizes
        shares_of_classes = sizes / n_kept[..., None]
        slopes *= n_kept[..., None, None]
        constants = n_kept[..., None] * offsets + np.log(shares_of_classes if self.priors is None else self.priors)
        constants -= np.einsum("lfjk,lfk->lfj", slopes, shares_of_classes)
        margins = np.maximum(1e-9, 1e-13 / np.maximum(bound, 1e-300))
        # Every row meets the functions of the fold that leaves it out.
        own = np.arange(len(labels))[:, None], folds
        delta = np.stack(
            [np.einsum("lik,lik->li", fitted, slopes[..., label, :][own]) for label in range(n_classes)], axis=2
        )
        delta += constants[own]
        ranked = np.partition(delta, n_classes - 2, axis=2)
        close = ~(ranked[..., -1] - ranked[..., -2] > margins[own] * (np.abs(delta).max(axis=2) + 1.0))
        labelling, row = np.nonzero(close & (folds >= 0))
        doubtful[labelling, folds[labelling, row]] = True
        return delta.argmax(axis=2), doubtful

    def _share_within(self, within: np.ndarray, A: np.ndarray, sizes: np.ndarray, doubtful: np.ndarray) -> tuple:
        """Lower bound of the share of scatter that lies within classes, in any direction."""
        roots = np.sqrt(sizes)
        scaled = within / (roots[..., :, None] * roots[..., None, :])
        if scaled.shape[-1] == 2:
            return np.clip(np.linalg.det(scaled), 0.0, 1.0), doubtful
        between = 1.0 - np.linalg.eigvalsh(scaled)[..., ::-1]  # squared canonical correlations, smallest first
        shares = np.clip(1.0 - between[..., -1], 0.0, 1.0)
        # scikit-learn also drops directions between the class means that are tiny beside the largest.
        last = min(scaled.shape[-1] - 1, self.n_columns)
        ratio = between / np.maximum(1.0 - between, 1e-12)
        return shares, doubtful | ~(ratio[..., -last] > 4 * self.tol**2 * ratio[..., -1])


def _sizes_of_rest(labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> np.ndarray:
    """Rows of each class outside each fold, of the shape (n_labellings, n_folds, n_classes)."""
    cells = (np.arange(len(labels))[:, None] * (n_folds + 1) + folds + 1) * n_classes + labels
    counts = np.bincount(cells.ravel(), minlength=len(labels) * (n_folds + 1) * n_classes).astype(float)
    counts = counts.reshape(len(labels), n_folds + 1, n_classes)  # the first of the folds is -1, never left out
    return counts.sum(axis=1, keepdims=True) - counts[:, 1:]


def _diagonal(values: np.ndarray) -> np.ndarray:
    return values[..., None] * np.eye(values.shape[-1])


def discriminant_route(learner: Any, X: np.ndarray, n_train: int | None) -> Any:
    """Route of a LinearDiscriminantAnalysis with solver "svd"."""
    if X.shape[1] == 0 or (X[0] == X).all(axis=0).any():
        return None  # how scikit-learn scales a constant column is a matter of rounding
    priors = None if learner.priors is None else np.asarray(learner.priors, dtype=float)
    if priors is not None and (priors.min() <= 0 or abs(priors.sum() - 1) > 1e-9):
        return None
    n_rows, n_columns = X.shape
    if n_columns >= n_rows - 1:
        from fewer.evaluate._label_permutations_wide_discriminant import wide_discriminant_route

        return None if priors is not None else wide_discriminant_route(X, learner.tol)
    smallest = float(np.linalg.eigvalsh(np.atleast_2d(np.corrcoef(X.T)))[0])
    if smallest <= 4 * learner.tol**2:
        return None
    left_out = n_rows / 10 if n_train is None else n_rows - n_train
    if n_columns > left_out and n_rows <= 4000:
        basis = np.linalg.qr(np.column_stack([np.ones(n_rows), (X - X.mean(axis=0)) / X.std(axis=0)]))[0]
        fits = LeftOutFits(np.eye(n_rows) - basis @ basis.T, None, None)
    else:
        fits, _ = _normal_equations(X, 0.0, True)
    return DiscriminantRoute(fits, smallest, n_columns, float(learner.tol), priors)
