"""Label permutations of linear discriminant analysis with more columns than rows.

The scatter within classes is then singular, and scikit-learn's solution by SVD inverts it where it is not, after each
column was divided by its standard deviation within classes. Let C centre training rows inside their classes, and
``G = C X diag(w) X' C`` with ``w_j = 1 / var_j`` within classes. The discriminant functions are

    delta_k(x) = n [ (x - mean)'b_k - (mean_k - mean)'b_k / 2 ] + log prior_k,
    b_k = w * X'c_k,    G^2 c_k = C X (w * (mean_k - mean)).

The weights w depend on the labels, so nothing can be factorised once for all. But they depend on them only a little:
conjugate gradients, preconditioned by the inverse of ``X diag(1 / total var) X'``, need about ten steps, and a step
for all labellings and folds together is two large matrix products. A fold is a mask on the rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

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
