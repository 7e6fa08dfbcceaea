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
        left_out = np.stack([(indicators * (folds == fold)[:, :, None]).sum(axis=1) for fold in range(n_folds)], axis=1)
        sizes = indicators.sum(axis=1)[:, None] - left_out
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
        priors = sizes / n_kept[..., None] if self.priors is None else self.priors
        predicted = np.zeros(labels.shape, dtype=np.int64)
        for fold in range(n_folds):
            u = fitted - (sizes / n_kept[..., None])[:, None, fold]
            delta = np.einsum("lik,ljk->lij", u, slopes[:, fold]) + offsets[:, None, fold]
            delta *= n_kept[:, fold, None, None]
            with np.errstate(divide="ignore"):
                delta += np.log(priors[:, None, fold] if self.priors is None else priors)
            own = folds == fold
            predicted[own] = delta.argmax(axis=2)[own]
            ranked = np.partition(delta, n_classes - 2, axis=2)
            size = np.abs(delta).max(axis=2) + 1.0
            margin = np.maximum(1e-9, 1e-13 / np.maximum(bound[:, fold], 1e-300))[:, None] * size
            doubtful[:, fold] |= (own & ~(ranked[:, :, -1] - ranked[:, :, -2] > margin)).any(axis=1)
        return predicted, doubtful

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


def _diagonal(values: np.ndarray) -> np.ndarray:
    return values[..., None] * np.eye(values.shape[-1])


def discriminant_route(learner: Any, X: np.ndarray, n_train: int | None) -> Any:
    """Route of a LinearDiscriminantAnalysis with solver "svd"."""
    if learner.solver != "svd" or learner.shrinkage is not None or learner.covariance_estimator is not None:
        return None
    if learner.n_components is not None or (learner.priors is not None and len(learner.priors) > 2):
        return None
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
