"""What classifier and clustering share: costs, and coordinates in the subspaces as new columns."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import warn_caller
from fewer.extract._extractor import Extractor
from fewer.extract.hdda._subspace_model import SubspaceModel


class SubspaceExtractor(Extractor):
    """Base of those that have one subspace for each class or cluster."""

    n_components_: int
    _what: ClassVar[str]

    means_: np.ndarray
    subspaces_: list[np.ndarray]
    a_: np.ndarray
    b_: np.ndarray
    dims_: np.ndarray
    priors_: np.ndarray

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def alpha_(self) -> np.ndarray:
        """``b / (a + b)`` of each class."""
        return self.b_ / (self.a_ + self.b_)

    @property
    def sigma_(self) -> np.ndarray:
        """``sqrt(ab / (a + b))`` of each class."""
        return np.sqrt(self.a_ * self.alpha_)

    def _model(self) -> SubspaceModel:
        with np.errstate(divide="ignore"):  # a prior of zero is a cost without bound
            log_priors = np.log(self.priors_)
        return SubspaceModel(self.means_, self.subspaces_, self.a_, self.b_, log_priors, self.means_.shape[1])

    def cost(self, X: Any) -> np.ndarray:
        """What it costs to put a row into each class: the less, the more likely.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        costs : ndarray of shape (n_samples, n_classes)
            Minus twice the log of prior times density, without the constant ``p log(2 pi)``.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._model().costs(X.tocsr() if hasattr(X, "tocsr") else X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        return softmax(-self.cost(X) / 2, axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        return log_softmax(-self.cost(X) / 2, axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates in the subspaces of all classes: first axes first, of each class in turn.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each axis of each class.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        columns = [(self.subspaces_[each][:, axis], self.means_[each]) for each, axis in self._axes()]
        if not columns:
            return np.zeros((X.shape[0], 0), dtype=X.dtype)
        directions, means = (np.array(part) for part in zip(*columns, strict=True))
        along = X @ directions.T - np.einsum("kp,kp->k", directions, means)
        return np.asarray(along).astype(X.dtype, copy=False)

    def _coordinates(self, X: Any, each: int) -> np.ndarray:
        """Rows in the subspace of one class."""
        X = self._validated(X, reset=False)
        Q = self.subspaces_[each]
        return np.asarray(X @ Q - self.means_[each] @ Q).astype(X.dtype, copy=False)

    def _axes(self) -> list[tuple[int, int]]:
        """Class and axis behind each new column."""
        order = range(int(np.max(self.dims_, initial=0)))
        axes = [(each, axis) for axis in order for each, d in enumerate(self.dims_) if axis < d]
        return axes[: self.n_components_]

    def _settle_components(self, wanted: str | np.ndarray) -> None:
        """Number of new columns; dimensions that differ from those asked for are told."""
        self._tell_of_lowered(wanted)
        possible = int(np.sum(self.dims_))
        if possible == 0 and (isinstance(wanted, str) or wanted.any()):
            self._tell_of_none()
            self.n_components_ = 0
        else:
            self.n_components_ = self._number_of_components(possible, "dimensions of all subspaces together")

    def _tell_of_lowered(self, wanted: str | np.ndarray) -> None:
        lowered = [] if isinstance(wanted, str) else np.flatnonzero(self.dims_ < wanted).tolist()
        if lowered and np.any(self.dims_):
            first = lowered[0]
            others = f" (and {len(lowered) - 1} more lowered)" if len(lowered) > 1 else ""
            warn_caller(
                f"n_dims={wanted[first]} is more than the rows or columns of {self._what} {self._labels()[first]!r} "
                f"allow, so that it has {self.dims_[first]}{others}: a subspace has fewer dimensions than there are "
                "rows and columns, and leaves some variance outside."
            )

    def _tell_of_none(self) -> None:
        why = "the table has one column only" if self.n_features_in_ == 1 else "no direction stands out"
        warn_caller(
            f"All subspaces have 0 dimensions, for {why}: transform gives no columns, and each {self._what} is a mean "
            "with one variance. Check for constant columns, have more columns or rows, or give n_dims."
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the new columns: class, and axis of its subspace.

        Parameters
        ----------
        input_features : Ignored
            Not used.

        Returns
        -------
        names : ndarray of str
            One name for each new column.
        """
        check_is_fitted(self)
        labels, prefix = self._labels(), type(self).__name__.lower()
        return np.array([f"{prefix}_{labels[each]}_{axis}" for each, axis in self._axes()], dtype=object)

    def _labels(self) -> list[Any]:
        raise NotImplementedError
