"""What extractors share: how many new columns, their names, and the map of the linear ones.

An extractor gives new columns, the most important first. By default the first k of them are what a fit with
``n_components=k`` gives, so that one fit serves all sizes; one whose new columns change with their number says
``_nested = False``.
"""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import validated, warn_caller


class Extractor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the extractors: ``n_components`` new columns, named after the class."""

    _nested: ClassVar[bool] = True

    n_components: int | None
    n_components_: int

    @property
    def _takes_sparse(self) -> bool:
        return False

    def _validated(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Table and target: floating-point numbers, CSR or CSC where sparse, unless the options say otherwise."""
        usual = {
            "accept_sparse": ("csr", "csc") if self._takes_sparse else False,
            "dtype": (np.float64, np.float32),
            "ensure_min_samples": 2 if options.get("reset", True) else 1,
        }
        return validated(self, X, y, **(usual | options))

    def _number_of_components(self, possible: int, why: str) -> int:
        """As many as asked for, or as are possible, with a warning that gives the reason if that is fewer."""
        wanted = possible if self.n_components is None else self.n_components
        if wanted > possible:
            warn_caller(f"n_components={wanted} are asked for, and there are {possible}, {why}; all of them are kept.")
        return min(wanted, possible)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LinearExtractor(Extractor):
    """Base of those whose new columns are ``(x - mean_) @ components_.T``."""

    components_: np.ndarray
    mean_: np.ndarray

    @property
    def n_components_(self) -> int:  # type: ignore[override]  # a fact about components_ rather than one more to set
        """Number of new columns."""
        return self.components_.shape[0]

    def transform(self, X: Any) -> Any:
        """The table along the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return X @ self.components_.T - self.mean_ @ self.components_.T


def with_components(extractor: Any, n_components: int) -> Any:
    """A copy of an extractor, not fitted, that gives this many new columns.

    Parameters
    ----------
    extractor : transformer
        Of ``fewer.extract``, or of scikit-learn with ``n_components``.
    n_components : int
        Number of new columns.

    Returns
    -------
    extractor : transformer
        The copy. Of an extractor whose number of new columns follows from another parameter, that one is set.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from fewer.extract import with_components
    >>> with_components(PCA(whiten=True), 3)
    PCA(n_components=3, whiten=True)
    """
    return clone(extractor).set_params(**{getattr(extractor, "_size_parameter", "n_components"): n_components})


def upright(directions: np.ndarray) -> np.ndarray:
    """Directions (rows), each turned so that its largest entry is positive."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1, keepdims=True), axis=1)
    return directions * np.where(largest < 0, -1, 1).astype(directions.dtype)


def new_columns_to_draw(extractor: Any, X: Any) -> Any:
    """What an extractor makes of a table; if that is nothing, it is said so."""
    if not hasattr(extractor, "transform"):
        raise TypeError(
            f"{type(extractor).__name__} makes no new columns to draw; take an extractor that has transform, fitted."
        )
    new = extractor.transform(X)
    if new.shape[1] == 0:
        raise ValueError(f"{type(extractor).__name__} found no new columns in fit, so that there is nothing to draw.")
    refuse_infinite(new, type(extractor).__name__)
    return new


def refuse_infinite(new: Any, who: str) -> None:
    """Say what to take in place of distances that are infinite outside of clusters."""
    if sparse.issparse(new) or not np.isinf(np.asarray(new, dtype=float)).any():
        return
    raise ValueError(
        f"{who} gives infinite values, as FastProjectiveClustering does for rows outside of a cluster: it finds "
        "clusters and no directions, so there is nothing to draw or to correlate with. SubspaceDistanceFeatures "
        "makes finite columns of the clusters, unless outside='inf' is set; use these."
    )
