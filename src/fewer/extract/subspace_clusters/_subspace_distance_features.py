"""Distances to dense boxes as new columns, of rows or of bags of rows.

D_ij is the distance between the centre of box j and the nearest row of bag i that lies in the box; without such a row
it is infinite, and ``outside`` replaces it. A plain row is a bag of its own.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, check_feature_names, fit_context, get_feature_names, is_pandas_df
from fewer.catalogue import method
from fewer.extract._extractor import Extractor
from fewer.extract.subspace_clusters._boxes import Bounds, refuse_sparse, rows_inside
from fewer.extract.subspace_clusters._fast_projective_clustering import FastProjectiveClustering


class Bags(NamedTuple):
    """All rows of all bags, with the names of the first one's columns if it has any, and the bag of each."""

    rows: Any
    owners: np.ndarray
    n_bags: int


def check_names_of_others(estimator: Any, tables: Any) -> None:
    """Hold the names of columns of all tables but the first against those seen in ``fit``."""
    first_with: dict[Any, int] = {}
    for place, table in enumerate(tables):
        names = get_feature_names(table)
        first_with.setdefault(None if names is None else tuple(names), place)
    for place in list(first_with.values())[1:]:
        try:
            check_feature_names(estimator, tables[place], reset=False)
        except ValueError as error:
            raise ValueError(f"In entry {place} of X: {error}") from None


def nearest_inside(X: np.ndarray, owners: np.ndarray, n_bags: int, bounds: Bounds, centre: np.ndarray) -> np.ndarray:
    """Distance from the centre of a box to the nearest row of each bag in it; infinite where there is none."""
    nearest = np.full(n_bags, np.inf, dtype=X.dtype)
    rows = rows_inside(X, bounds)
    np.minimum.at(nearest, owners[rows], np.linalg.norm(X[rows] - centre, axis=1))
    return nearest


def as_bags(X: Any) -> Bags | None:
    """Several tables as one, with the table of each row; None if X is a single table."""
    if isinstance(X, np.ndarray):
        if X.ndim != 3 and (X.ndim != 1 or X.dtype != object):
            return None
    elif not isinstance(X, (list, tuple)):
        return None
    tables = [np.asarray(bag) if np.ndim(bag) == 2 else None for bag in X]
    kept = [table for table in tables if table is not None]
    if not kept:
        return None
    if len(kept) < len(tables):
        odd = next(place for place, table in enumerate(tables) if table is None)
        raise ValueError(f"X holds tables, one for each object, and entry {odd} is none.")
    widths = sorted({table.shape[1] for table in kept})
    if len(widths) > 1:
        raise ValueError(
            f"The tables of X have from {widths[0]} to {widths[-1]} columns, and must all have the same columns."
        )
    owners = np.repeat(np.arange(len(kept)), [len(table) for table in kept])
    return Bags(_with_names_of(X[0], np.vstack(kept)), owners, len(kept))


def _with_names_of(table: Any, rows: np.ndarray) -> Any:
    """Rows as a frame with the names of a table's columns; as they are if it has none."""
    if is_pandas_df(table):
        return type(table)(rows, columns=table.columns)
    names = get_feature_names(table)
    return rows if names is None else pl.DataFrame(rows, schema=list(names))


@method(
    tasks=["unsupervised"],
    when="New columns that say in which dense corner of the table a row lies, and how deep: classes that live in boxes "
    "of a few columns each. Or objects with many rows each, such as images with local descriptors.",
    cost="That of FastProjectiveClustering to fit; O(n p) or less for each new column; O(n p) memory",
    paper="subspace-clusters",
    examples=lambda: [
        SubspaceDistanceFeatures(clustering=FastProjectiveClustering(min_support=8, min_gain=None)),
        SubspaceDistanceFeatures(1, outside="exp"),
    ],
)
class SubspaceDistanceFeatures(Extractor):
    """Distances to the centres of dense boxes, as new columns of rows or of bags of rows.

    Parameters
    ----------
    n_components : int, default=None
        Number of boxes, in the order of their discovery; by default all, and the remainder without bounds last.
    clustering : FastProjectiveClustering, default=None
        Finds the boxes; by default one with default parameters.
    outside : {"far", "exp", "inf"} or float, default="far"
        What stands for a box in which there is no row. "far" is twice the largest distance seen in ``fit``, and
        distances are never more; a number stands for itself; "inf" is as the paper has it, which few learners take.
        With "exp", closeness takes the place of all distances: ``exp(-distance / scale)``, and 0 outside, where the
        scale of a box is the mean distance seen in ``fit``.

    Attributes
    ----------
    clustering_ : FastProjectiveClustering
        The boxes: ``clustering_.bounds_`` describes the box of each new column.
    far_ : ndarray of shape (n_components,)
        Twice the largest distance to each centre of a training row in the box.
    scale_ : ndarray of shape (n_components,)
        Mean distance to each centre of the training rows in the box.
    n_components_ : int
        Number of new columns.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    FastProjectiveClustering : The clustering itself.
    fewer.learn.LPBoost : A sparse vote of thresholds on these columns.

    Notes
    -----
    X may be a table, or a list of tables (an array with three axes serves, too): one table for each object, with a row
    for each of its parts. Then there is one new row for each object, with the distances of its nearest parts. Lists can
    be split by rows, so that pipelines and cross-validation work on objects. Tables with names of columns must all have
    the same ones, in the same order.

    References
    ----------
    .. [1] Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations.
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 163-172.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import SubspaceDistanceFeatures
    >>> X = np.random.default_rng(0).uniform(size=(400, 4))
    >>> X[:100, 3] = 0.5 + 0.02 * X[:100, 3]
    >>> model = SubspaceDistanceFeatures(1).fit(X)
    >>> distances = model.transform(X)
    >>> np.median(distances[:100]).round(1), np.median(distances[100:]).round(1)
    (np.float64(0.5), np.float64(1.5))
    >>> model.transform([X[:10], X[200:300]]).shape
    (2, 1)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "clustering": [FastProjectiveClustering, None],
        "outside": [StrOptions({"far", "exp", "inf"}), Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components=None, clustering=None, outside="far"):
        self.n_components = n_components
        self.clustering = clustering
        self.outside = outside

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> "SubspaceDistanceFeatures":
        """Find the boxes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such tables
            Training table, or one table for each object.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        bags = as_bags(X)
        given = X if bags is None else bags.rows
        refuse_sparse(given, type(self).__name__)
        tables, X = X, self._validated(given)
        if bags is not None:
            check_names_of_others(self, tables)
        finder = FastProjectiveClustering() if self.clustering is None else clone(self.clustering)
        limits = [each for each in (self.n_components, finder.max_clusters) if each is not None]
        self.clustering_ = finder.set_params(max_clusters=min(limits, default=None)).fit(given)
        self.n_components_ = self._number_of_components(
            self.clustering_.n_clusters_, "as many as there are boxes, with what is left"
        )
        singles = np.arange(X.shape[0])
        self.far_, self.scale_ = np.empty((2, self.n_components_))
        for place in range(self.n_components_):
            distances = self._nearest(X, singles, len(singles), place)
            seen = distances[np.isfinite(distances)]
            # The rows of a box may all be the same one.
            self.far_[place], self.scale_[place] = 2 * float(seen.max()) or 1.0, float(seen.mean()) or 1.0
        return self

    def _nearest(self, X: np.ndarray, owners: np.ndarray, n_bags: int, place: int) -> np.ndarray:
        boxes = self.clustering_
        return nearest_inside(X, owners, n_bags, boxes._bounds[place], boxes.centers_[place])

    def transform(self, X: Any) -> np.ndarray:
        """Distances to the centres of the boxes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such tables
            Table with the columns of the training table, or one table for each object.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each box; one row for each row, or for each table.
        """
        check_is_fitted(self)
        bags = as_bags(X)
        if bags is None:
            rows = self._validated(X, reset=False)
            bags = Bags(rows, np.arange(rows.shape[0]), rows.shape[0])
        else:
            bags = bags._replace(rows=self._validated(bags.rows, reset=False, ensure_min_samples=0))
            check_names_of_others(self, X)
        distances = np.empty((bags.n_bags, self.n_components_), dtype=bags.rows.dtype)
        for place in range(self.n_components_):
            distances[:, place] = self._told(self._nearest(*bags, place), place)
        return distances

    def _told(self, distances: np.ndarray, place: int) -> np.ndarray:
        if self.outside == "inf":
            return distances
        if self.outside == "exp":
            return np.exp(-distances / self.scale_[place])
        if self.outside == "far":
            return np.minimum(distances, self.far_[place])
        return np.where(np.isinf(distances), float(self.outside), distances)
