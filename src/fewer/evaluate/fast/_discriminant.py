"""Closed forms of linear discriminant analysis, with the rules of scikit-learn's solver "svd".

**Label permutations.** The total scatter does not depend on labels. Let T be the total scatter of the rows that stay, S
the sums of the centred rows of each class (columns), n_k the class sizes, ``D = diag(n_k)``, ``A = S'T^{-1}S`` and
``u(x) = S'T^{-1}(x - mean)``. The scatter within classes is ``W = T - S D^{-1} S'``, so by Woodbury's identity the
discriminant functions are

    delta_k(x) = n [ ((D - A)^{-1} u(x))_k - ((D - A)^{-1} A)_kk / (2 n_k) ] + log prior_k,

and u and A come from the least-squares fit of the class indicators: u(x) is what it predicts less ``n_k / n``, and A is
what it explains.

With more columns than rows the scatter within classes is singular, and the solution by SVD inverts it where it is not,
after each column was divided by its standard deviation within classes. Let C centre training rows inside their classes,
and ``G = C X diag(w) X' C`` with ``w_j = 1 / var_j`` within classes. The discriminant functions are

    delta_k(x) = n [ (x - mean)'b_k - (mean_k - mean)'b_k / 2 ] + log prior_k,
    b_k = w * X'c_k,    G^2 c_k = C X (w * (mean_k - mean)).

The weights w depend on the labels, so nothing can be factorised once for all. But they depend on them only a little:
conjugate gradients, preconditioned by the inverse of ``X diag(1 / total var) X'``, need about ten steps, and a step
for all labellings and folds together is two large matrix products. A fold is a mask on the rows.

**Paths of nested subsets.** With the columns scaled to unit variance within the classes and ``R = L L'`` their
correlations within classes, class means and test rows are whitened by forward substitution, ``W = L^-1 M'`` and
``T = L^-1 X_test'``. Whitened vectors of a smaller set are the leading entries, so ``T'W`` and ``W'W`` of all sizes are
running sums. Directions between the means that are too short are left out, and where columns are collinear within
classes, so are directions with too little variance, found from the inner products of columns or, with more columns than
rows, of rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fewer._kernels._numpy_lapack import solve_triangular
from fewer.evaluate.fast import Routes
from fewer.evaluate.fast._ridge import LeftOutFits, _normal_equations

WORK_BYTES = 6_000_000
"""Memory for the columns of the systems that are solved together: more is not faster."""

MOST_STEPS = 60
RESIDUAL = 1e-10


class _Systems(NamedTuple):
    """Many pairs of a labelling and a fold, side by side: the last axis of every array."""

    train: np.ndarray  # (n_rows, n_systems), 1.0 for rows that stay
    member: np.ndarray  # (n_classes, n_rows, n_systems), 1.0 for rows of the class that stay
    sizes: np.ndarray  # (n_classes, n_systems)
    weights: np.ndarray  # (n_columns, n_systems)


@dataclass(frozen=True)
class WideDiscriminantRoute:
    """Centred columns, the preconditioner, and the margin below which rounding could change a label."""

    centred: np.ndarray
    squares: np.ndarray
    preconditioner: np.ndarray
    tol: float
    margin: float
    name: str = "shared scatter"

    def predict(self, labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> tuple:
        """Predicted labels, and folds with a decision too close to call."""
        predicted = np.zeros(labels.shape, dtype=np.int64)
        doubtful = np.zeros((len(labels), n_folds), dtype=bool)
        together = max(1, WORK_BYTES // (8 * n_folds * (n_classes - 1) * self.centred.shape[1]))
        for start in range(0, len(labels), together):
            part = slice(start, start + together)
            self._predict_part(labels[part], folds[part], n_classes, predicted[part], doubtful[part])
        return predicted, doubtful

    def _predict_part(
        self, labels: np.ndarray, folds: np.ndarray, n_classes: int, predicted: np.ndarray, doubtful: np.ndarray
    ) -> None:
        n_labellings, n_rows = labels.shape
        n_folds = doubtful.shape[1]
        stays = (folds[:, None, :] != np.arange(n_folds)[:, None]).reshape(-1, n_rows).T
        repeated = np.repeat(labels, n_folds, axis=0).T
        member = np.stack([((repeated == label) & stays).astype(float) for label in range(n_classes)])
        sizes = member.sum(axis=1)
        doubt = (sizes == 0).any(axis=0)
        sizes = np.maximum(sizes, 1.0)
        n_train = sizes.sum(axis=0)
        train = stays.astype(float)
        means = np.stack([self.centred.T @ own / size for own, size in zip(member, sizes, strict=True)])
        within = self.squares.T @ train - np.einsum("kjs,ks->js", means**2, sizes)
        doubt |= (within < 1e-10 * self.squares.sum(axis=0)[:, None]).any(axis=0)
        within[:, doubt] = 1.0
        systems = _Systems(train, member, sizes, n_train / within)
        overall = np.einsum("kjs,ks->js", means, sizes) / n_train
        means -= overall
        scores, converged = self._scores(systems, means)
        doubt |= ~converged
        # Scores are linear in the rows, so their means are the scores of the means.
        of_means = np.einsum("kis,mis->kms", member, scores, optimize=True) / sizes[:, None]
        of_overall = np.einsum("kms,ks->ms", of_means, sizes) / n_train
        products = of_means - of_overall
        if n_classes > 2:
            doubt |= self._drops_direction(products, sizes)
        offsets = of_overall + 0.5 * np.einsum("kks->ks", products)
        delta = n_train * (scores - offsets[:, None]) + np.log(sizes / n_train)[:, None]
        best = delta.argmax(axis=0)
        ranked = np.partition(delta, n_classes - 2, axis=0)
        close = ~(ranked[-1] - ranked[-2] > self.margin * (1.0 + np.abs(delta).max(axis=0)))
        doubtful |= (doubt | (close & ~stays).any(axis=0)).reshape(n_labellings, n_folds)
        left_out = ~stays.T.reshape(n_labellings, n_folds, n_rows)
        labelling, fold, row = np.nonzero(left_out)
        predicted[labelling, row] = best[row, labelling * n_folds + fold]

    def _scores(self, systems: _Systems, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``x'b_k`` of every row and class, and which systems were solved."""
        scores = np.empty((len(means), len(self.centred), means.shape[2]))
        converged = np.ones(means.shape[2], dtype=bool)
        for label in range(1, len(means)):
            right = _centred_in_classes(self.centred @ (systems.weights * means[label]), systems)
            half, fine = self._solved(systems, right)
            coefficients, also_fine = self._solved(systems, half)
            scores[label] = self.centred @ (systems.weights * (self.centred.T @ coefficients))
            converged &= fine & also_fine
        # The means, weighed by class sizes, add up to zero, and so do the b_k.
        scores[0] = -np.einsum("kis,ks->is", scores[1:], systems.sizes[1:]) / systems.sizes[0]
        return scores, converged

    def _solved(self, systems: _Systems, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solution of ``G v = right``, column by column, and which columns reached the residual."""
        solution = np.zeros_like(right)
        residual = right.copy()
        wanted = RESIDUAL * np.linalg.norm(right, axis=0)
        direction = self._preconditioned(residual, systems)
        product = np.einsum("is,is->s", residual, direction)
        for _ in range(MOST_STEPS):
            image = self.centred @ (systems.weights * (self.centred.T @ direction))
            image = _centred_in_classes(image, systems)
            curvature = np.einsum("is,is->s", direction, image)
            step = np.divide(product, curvature, out=np.zeros_like(product), where=curvature > 0)
            solution += step * direction
            residual -= step * image
            if np.all(np.linalg.norm(residual, axis=0) <= wanted):
                break
            improved = self._preconditioned(residual, systems)
            former, product = product, np.einsum("is,is->s", residual, improved)
            direction = improved + np.divide(product, former, out=np.zeros_like(product), where=former > 0) * direction
        return solution, np.linalg.norm(residual, axis=0) <= 10 * wanted

    def _preconditioned(self, vectors: np.ndarray, systems: _Systems) -> np.ndarray:
        return _centred_in_classes(self.preconditioner @ vectors, systems)

    def _drops_direction(self, products: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Where scikit-learn may find a direction between class means too small beside the largest."""
        roots = np.sqrt(sizes.T)
        values = np.linalg.eigvalsh(products.transpose(2, 0, 1) * roots[:, :, None] * roots[:, None, :])
        return ~(values[:, 1] > 4 * self.tol**2 * values[:, -1])


def _centred_in_classes(vectors: np.ndarray, systems: _Systems) -> np.ndarray:
    """Rows that stay less the mean of their class; other rows zero."""
    centred = vectors * systems.train
    for own, size in zip(systems.member, systems.sizes, strict=True):
        centred -= own * (np.einsum("is,is->s", own, vectors) / size)
    return centred


def wide_discriminant_route(X: np.ndarray, tol: float) -> WideDiscriminantRoute | None:
    """The route, when no direction that the training rows span can be small enough for scikit-learn to drop.

    The squared singular values that ``tol`` is compared with are at least the smallest eigenvalue of the rows' inner
    products, divided by n, when columns have unit variance over all rows: leaving rows out, centring inside classes
    and smaller variances all make them larger.
    """
    centred = X - X.mean(axis=0)
    variances = (centred**2).mean(axis=0)
    products = (centred / variances) @ centred.T
    values, vectors = np.linalg.eigh(products)
    smallest, largest = values[1], values[-1]  # the first belongs to the vector of ones
    if smallest / len(X) <= 4 * tol**2 or smallest < 1e-4 * largest:
        return None
    margin = max(1e-7, 1e3 * RESIDUAL * largest / smallest)
    inverses = np.concatenate([[1 / largest], 1 / values[1:]])
    return WideDiscriminantRoute(centred, centred**2, (vectors * inverses) @ vectors.T, float(tol), margin)


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


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size."""
    train, test = train[:, order], test[:, order]
    classes, codes = np.unique(y, return_inverse=True)
    n_rows, n_classes = len(train), len(classes)
    if n_classes < 2 or n_rows <= n_classes:
        return None
    indicators = np.eye(n_classes)[codes]
    counts = indicators.sum(axis=0)
    means = indicators.T @ train / counts[:, None]
    within = train
    for code, mean in enumerate(means):
        within[codes == code] -= mean
    deviations = within.std(axis=0)
    deviations[deviations == 0] = 1.0
    priors = counts / n_rows
    middle = priors @ means
    within /= deviations * np.sqrt(n_rows)
    means = (means - middle) / deviations
    test = (test - middle) / deviations

    factor = _factor(within, [size for size in sizes if size <= n_rows - n_classes], model.tol)
    narrow = [size for size in sizes if size <= len(factor)]
    collinear = [size for size in sizes if len(factor) < size <= n_rows]
    wide = [size for size in sizes if size > n_rows]
    shares = np.sqrt(n_rows * priors / (n_classes - 1))
    whitened = [
        *_from_columns(factor, means, test, narrow),
        *_from_collinear_columns(within, means, test, collinear, model.tol),
        *_from_rows(within, means, test, wide, model.tol),
    ]
    decisions = [_decisions(rows, products, shares, priors, model.tol) for rows, products in whitened]
    return classes[np.stack(decisions).argmax(axis=2)]


def _decisions(
    rows: np.ndarray, products: np.ndarray, shares: np.ndarray, priors: np.ndarray, tol: float
) -> np.ndarray:
    """Decision values (test rows, classes) from the inner products of whitened rows and means, and among means."""
    squares, directions = np.linalg.eigh(products * np.outer(shares, shares))
    lengths = np.sqrt(np.maximum(squares, 0))
    kept = lengths > tol * lengths[-1]
    to_span = shares[:, None] * directions[:, kept] / lengths[kept]
    centres = products @ to_span
    return (rows @ to_span) @ centres.T - 0.5 * (centres**2).sum(axis=1) + np.log(priors)


def _factor(within: np.ndarray, sizes: list[int], tol: float) -> np.ndarray:
    """Cholesky factor of the correlations of the largest set whose columns are not collinear within classes."""
    if not sizes:
        return np.empty((0, 0))
    correlations = within[:, : sizes[-1]].T @ within[:, : sizes[-1]]
    # The smallest eigenvalue shrinks as columns are added, so the sets that are sound come first.
    sound, unsound = 0, len(sizes) + 1
    trial = len(sizes)
    while unsound - sound > 1:
        size = sizes[trial - 1]
        smallest = np.linalg.eigvalsh(correlations[:size, :size])[0]
        sound, unsound = (trial, unsound) if smallest > tol**2 else (sound, trial)
        trial = (sound + unsound) // 2
    if sound == 0:
        return np.empty((0, 0))
    size = sizes[sound - 1]
    return np.linalg.cholesky(correlations[:size, :size])


def _from_columns(factor, means, test, sizes: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if not sizes:
        return
    widest, n_classes = len(factor), len(means)
    solved = solve_triangular(factor, np.vstack([means[:, :widest], test[:, :widest]]).T)
    centres, rows = solved[:, :n_classes], solved[:, n_classes:]
    rows_by_centres, products = np.zeros((len(test), n_classes)), np.zeros((n_classes, n_classes))
    for start, stop in pairwise([0, *sizes]):
        rows_by_centres = rows_by_centres + rows[start:stop].T @ centres[start:stop]
        products = products + centres[start:stop].T @ centres[start:stop]
        yield rows_by_centres, products


def _from_collinear_columns(
    within, means, test, sizes: list[int], tol: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if not sizes:
        return
    correlations = within[:, : sizes[-1]].T @ within[:, : sizes[-1]]
    for size in sizes:
        squares, directions = np.linalg.eigh(correlations[:size, :size])
        kept = squares > tol**2
        to_span = directions[:, kept] / np.sqrt(squares[kept])
        centres, rows = means[:, :size] @ to_span, test[:, :size] @ to_span
        yield rows @ centres.T, centres @ centres.T


def _from_rows(within, means, test, sizes: list[int], tol: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if not sizes:
        return
    products = np.zeros((len(within), len(within)))
    others = np.vstack([means, test])
    other_products = np.zeros((len(others), len(within)))
    for start, stop in pairwise([0, *sizes]):
        added = within[:, start:stop]
        products += added @ added.T
        other_products += others[:, start:stop] @ added.T
        squares, directions = np.linalg.eigh(products)
        kept = squares > tol**2
        whitened = other_products @ (directions[:, kept] / squares[kept])
        centres, rows = whitened[: len(means)], whitened[len(means) :]
        yield rows @ centres.T, centres @ centres.T


ROUTES = Routes(discriminant_route, class_predictions)
