"""Classes told apart along discriminant directions.

In coordinates that are orthonormal in ``S_t + alpha I`` the within-class scatter ``S_w + alpha I`` is ``I - Gamma``,
and class j has its centre at ``sqrt(Gamma) V_j' / sqrt(n_j)``. So the posterior of normal classes with the common
covariance ``(S_w + alpha I) / n`` needs no more than V, Gamma and the sizes of the classes:

    log P(j | z) = -n / 2 sum_k (z_k - m_jk)^2 / (1 - gamma_k) + log(n_j / n) + constant.

That is how the training rows lie; ``_left_out`` tells how rows lie that are left out.
"""

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import StrOptions, warn_caller
from fewer.extract.fisher._class_scores import Groups
from fewer.extract.fisher._left_out import LeftOut


class ClassGeometry:
    """Centres of the classes along the directions and the spread around them, for either kind of distance."""

    def __init__(
        self,
        rotation: np.ndarray,
        eigenvalues: np.ndarray,
        sizes: np.ndarray,
        scaling: str,
        left_out: LeftOut | None = None,
    ) -> None:
        lengths = np.sqrt(eigenvalues) if scaling == "ridge" else np.ones_like(eigenvalues)
        self.priors = sizes / sizes.sum()
        if left_out is None:
            self.centres = lengths * np.sqrt(eigenvalues) * rotation / np.sqrt(sizes)[:, None]
            self.variances = lengths**2 * (1 - eigenvalues) / sizes.sum()
        else:
            self.centres = left_out.centres * lengths / np.sqrt(eigenvalues)
            self.variances = left_out.variances * lengths**2 / eigenvalues
        # Where rows of a class coincide, nothing but rounding is left of the spread.
        self.variances = np.maximum(self.variances, lengths**2 * np.finfo(np.float64).eps / sizes.sum())

    def log_posteriors(self, Z: np.ndarray, spherical: bool) -> np.ndarray:
        """Of (rows, classes), up to a constant for each row.

        ``spherical``: with one variance for all directions, and all classes equally probable beforehand, so that the
        nearest centre has the largest.
        """
        weights, constants = self.linear(spherical)
        return Z @ weights.T + constants

    def linear(self, spherical: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weights (classes, directions) and constants (classes,) that give the log posteriors."""
        variances = np.full_like(self.variances, self.variances.mean()) if spherical else self.variances
        # Each row's own squared length is the same for all classes.
        weights = self.centres / variances
        constants = -np.einsum("jk,jk->j", weights, self.centres) / 2
        return weights, constants if spherical else constants + np.log(self.priors)


class ProjectedClassifier(ClassifierMixin):
    """Mixin of extractors that also tell classes apart along their directions."""

    _classifier_constraints: ClassVar[dict] = {
        "scaling": [StrOptions({"ridge", "orthonormal"})],
        "classifier": [StrOptions({"left_out", "gaussian", "centroid", "neighbour"})],
    }

    classes_: np.ndarray
    eigenvalues_: np.ndarray
    scaling: str
    classifier: str
    transform: Any

    def _learn_classes(self, rotation: np.ndarray, groups: Groups, X: Any, left_out: LeftOut | None) -> None:
        """Where the classes are along the directions that ``transform`` gives."""
        if self.classifier != "left_out":
            left_out = None
        elif left_out is None:
            warn_caller(
                f"The {len(groups.codes)} training rows of each class fall together, as they would in whatever "
                "classes: probabilities for new rows are 0 and 1, and mean nothing. Raise alpha, or choose it by "
                "cross-validation."
            )
        self._geometry = ClassGeometry(rotation, self.eigenvalues_, groups.sizes, self.scaling, left_out)
        self._rows, self._codes = None, groups.codes
        if self.classifier == "neighbour":
            self._rows = np.asarray(self.transform(X), dtype=np.float64)

    def _warn_of_ridge(self, alpha: float, possible: float, groups: Groups, unit: str) -> None:
        """Say so where a ridge that outweighs the table leaves nothing but the shares of the classes to predict by."""
        n_rows = len(groups.codes)
        if possible < 0.5 and n_rows * self.eigenvalues_[0] < 1 and self.classifier in ("left_out", "gaussian"):
            warn_caller(
                f"alpha={alpha:g} is {(1 - possible) / possible:.2g} times as large as the scatter of the table: rows "
                "of all classes fall together, and one class is predicted for all. alpha has the squared unit "
                f"{unit}: bring the columns to one scale (StandardScaler), or take a smaller alpha."
            )

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each of ``classes_``; with ``classifier="neighbour"`` they are 0 and 1.
        """
        check_is_fitted(self)
        Z = np.asarray(self.transform(X), dtype=np.float64)
        if self._rows is not None:
            return np.eye(len(self.classes_))[self._codes[pairwise_distances_argmin(Z, self._rows)]]
        return softmax(self._geometry.log_posteriors(Z, self.classifier == "centroid"), axis=1)
