"""What two tables have in common, one pair of scores after the other, with both tables deflated: PLS mode A.

(w, c) are the leading singular vectors of ``X'Y``, ``t = Xw``, ``u = Yc``; then ``X <- X - t t'X / t't`` and
``Y <- Y - u u'Y / u'u``. Neither table is changed: scores are made orthogonal to the earlier ones of their own table,

    S <- S - p (t'Y) - (X'u) q' + p (t'u) q',    with t and u of length 1, p = X't, q = Y'u.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from fewer._estimators import Interval, fit_context
from fewer.catalogue import method
from fewer.extract.pls._factors import Factors, Orthogonal, rounding
from fewer.extract.pls._leading import leading_pair
from fewer.extract.pls._table import CentredTable
from fewer.extract.pls._two_tables import TwoTableExtractor


class PairedFactors(NamedTuple):
    """Weights, rotations, loadings and scores of one of the two tables, (columns or rows, components)."""

    weights: np.ndarray
    rotations: np.ndarray
    loadings: np.ndarray
    scores: np.ndarray


def canonical_components(
    x: CentredTable,
    y: CentredTable,
    n_components: int,
) -> tuple[PairedFactors, PairedFactors]:
    """At most so many pairs of components; fewer where nothing is left that the tables have in common."""
    nothing = np.zeros((x.shape[0], 0))
    of_x, of_y = Orthogonal(x, 0, n_components), Orthogonal(y, 0, n_components)
    S = x.back(y.times(np.eye(y.shape[1])))
    floor = max(rounding(x), rounding(y)) * x.size * y.size
    while of_x.n_found < n_components and np.linalg.norm(S) > floor:
        w, c = leading_pair(S)
        found_x = of_x.add(w, nothing)
        found_y = of_y.add(c, nothing) if found_x is not None else None
        if found_x is None or found_y is None:
            break
        p, q = found_x[0], found_y[0]
        # What is left of a table is the table itself, times weights of rows that earlier scores have no part in.
        t, u = of_y.without_earlier(of_x.last), of_x.without_earlier(of_y.last)
        S -= np.outer(p, y.back(t)) + np.outer(x.back(u), q) - float(of_x.last @ of_y.last) * np.outer(p, q)
    return _first(of_x.factors(), of_y.n_found), _first(of_y.factors(), of_y.n_found)


def _first(found: Factors, n_pairs: int) -> PairedFactors:
    """As many of one table's factors as there are pairs."""
    parts = (found.weights, found.rotations, found.x_loadings, found.scores)
    return PairedFactors(*(part[:, :n_pairs] for part in parts))


@method(
    tasks=["regression"],
    when="Two tables about the same rows, none of which is the target of the other, and you want to see what they have "
    "in common. To predict one from the other, take PLSRegressor.",
    cost="O(n (p + q) k + p q k) time for tables with p and q columns, O(n (p + q) + p q) memory",
    paper="pls",
)
class PLSCanonical(TwoTableExtractor):
    """Pairs of directions along which two tables vary together most, with both deflated.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs; None for as many as there are.
    scale : bool, default=False
        Whether the columns of both tables are brought to unit variance.

    Attributes
    ----------
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights of length 1, for what is left of each table.
    y_weights_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_loadings_ : ndarray of shape (n_features, n_components)
        How the columns of each table go with its scores.
    y_loadings_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From centred and scaled columns to scores.
    y_rotations_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows; those of one table are orthogonal.
    y_scores_ : ndarray of shape (n_samples, n_components)
        The same of the second table.
    correlations_ : ndarray of shape (n_components,)
        Correlation of each pair of scores.
    components_ : ndarray of shape (n_components, n_features)
        From centred columns of the first table to scores: ``x_rotations_`` as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means of the first table.
    n_components_ : int
        Number of pairs found.
    n_features_in_ : int
        Number of columns of the first table.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSSB : All pairs at once, without deflation.
    CanonicalRidge : From covariance to correlation.
    PLSRegressor : To predict one table from the other.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from fewer.extract import PLSCanonical
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = PLSCanonical(2, scale=True).fit(X, Y)
    >>> model.correlations_.round(3)
    array([0.554, 0.396])
    >>> model.transform(X).shape, model.transform_y(Y).shape
    ((20, 2), (20, 2))
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "scale": ["boolean"],
    }

    def __init__(self, n_components=2, scale=False):
        self.n_components = n_components
        self.scale = scale

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "PLSCanonical":
        """Find the pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First table.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Second table.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        x_table, y_table = self._tables(X, y)
        most = min(x_table.shape[0] - 1, x_table.shape[1], y_table.shape[1])
        wanted = most if self.n_components is None else min(self.n_components, most)
        of_x, of_y = canonical_components(x_table, y_table, wanted)
        self._number_of_components(
            of_y.weights.shape[1], "as many as the smaller table has columns, or fewer that go with the other"
        )
        self._keep_rotations(x_table, y_table, of_x.rotations, of_y.rotations)
        dtype = x_table.dtype
        self.x_weights_, self.y_weights_ = of_x.weights.astype(dtype), of_y.weights.astype(dtype)
        self.x_loadings_, self.y_loadings_ = of_x.loadings.astype(dtype), of_y.loadings.astype(dtype)
        self.x_scores_, self.y_scores_ = of_x.scores.astype(dtype), of_y.scores.astype(dtype)
        self.correlations_ = pair_correlations(of_x.scores, of_y.scores)
        return self

    def transform(self, X: Any, y: Any = None) -> Any:
        """The first table along its directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the first table.
        y : Ignored
            Not used: ``transform_y`` is for the second table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        return super().transform(X)


def pair_correlations(T: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Correlation of each centred column of T with its partner in U; 0 where one is constant."""
    sizes = np.linalg.norm(T, axis=0) * np.linalg.norm(U, axis=0)
    products = np.einsum("nk,nk->k", T, U)
    return np.clip(np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0), -1, 1)
