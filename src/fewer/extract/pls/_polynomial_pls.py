"""Partial least squares whose targets are curved functions of straight scores: a polynomial inner relation.

After each component of NIPALS, ``t = Xw`` and ``u = Yc``, a polynomial g of u on t is fitted, and ``Y <- Y - g(t) c'``.
The table itself is deflated as ever, so that scores are orthogonal.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, fit_context
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor
from fewer.extract.pls._factors import Factors, Orthogonal, rounding
from fewer.extract.pls._leading import leading_pair
from fewer.extract.pls._table import CentredTable


class CurvedFactors(NamedTuple):
    """The components; c of length 1 (targets, components); coefficients of each g (components, powers of t)."""

    factors: Factors
    y_weights: np.ndarray
    inner: np.ndarray


def curved_components(table: CentredTable, Y: np.ndarray, n_components: int, degree: int) -> CurvedFactors:
    """At most so many components; fewer where what is left of Y goes with nothing that is left of X."""
    found = Orthogonal(table, Y.shape[1], n_components)
    floor = rounding(table) * table.size * float(np.linalg.norm(Y))
    left, y_weights, inner = Y.copy(), [], []
    while found.n_found < n_components:
        S = table.back(found.without(left))
        if np.linalg.norm(S) <= floor:
            break
        weight, target = leading_pair(S)
        if found.add(weight, Y) is None:
            break
        score = found.last * found.last_length
        relation = Polynomial.fit(score, left @ target, degree)
        left -= np.outer(relation(score), target)
        y_weights.append(target)
        inner.append(np.pad(relation.convert().coef, (0, degree + 1))[: degree + 1])
    return CurvedFactors(
        found.factors(), np.reshape(y_weights, (-1, Y.shape[1])).T, np.reshape(inner, (-1, degree + 1))
    )


@method(
    tasks=["regression"],
    when="A target that bends along a few straight directions of many columns that go together, and a map of these "
    "that can be read. A relation without any slope, such as y = x^2 around 0, is not found: take KernelPLS.",
    cost="O(n p (m + k) k) time for k components and m targets, O(n p) memory",
    paper="pls",
)
class PolynomialPLSRegressor(RegressorMixin, MultiOutputMixin, LinearExtractor):
    """Partial least squares with a polynomial of each score in place of a straight line.

    Parameters
    ----------
    n_components : int, default=2
        Number of new columns; None for as many as there are.
    degree : int, default=2
        Degree of the polynomials; with 1 it is PLSRegressor.
    scale : bool, default=False
        Whether columns and targets are brought to unit variance.

    Attributes
    ----------
    inner_coef_ : ndarray of shape (n_components, degree + 1)
        Coefficients of the polynomial of each score, from the constant on.
    y_weights_ : ndarray of shape (n_targets, n_components)
        The combination of targets that each polynomial is for.
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights of length 1; the largest entry of each is positive.
    x_loadings_ : ndarray of shape (n_features, n_components)
        How the columns go with the scores.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From centred and scaled columns to scores.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows, orthogonal to each other.
    components_ : ndarray of shape (n_components, n_features)
        The rotations as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means.
    n_components_ : int
        Number of components found.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSRegressor : With straight lines.
    KernelPLS : With curved scores.

    Notes
    -----
    Polynomials go far astray outside of the training rows.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import PLSRegressor, PolynomialPLSRegressor
    >>> rng = np.random.default_rng(0)
    >>> t = rng.normal(size=200)
    >>> X = np.outer(t, [1.0, -1.0, 0.5]) + 0.1 * rng.normal(size=(200, 3))
    >>> y = t + t**2
    >>> round(PLSRegressor(1).fit(X, y).score(X, y), 2), round(PolynomialPLSRegressor(1).fit(X, y).score(X, y), 2)
    (0.34, 0.99)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "scale": ["boolean"],
    }

    def __init__(self, n_components=2, degree=2, scale=False):
        self.n_components = n_components
        self.degree = degree
        self.scale = scale

    @property
    def _takes_sparse(self) -> bool:
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "PolynomialPLSRegressor":
        """Find the components and their polynomials.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        Y = np.asarray(y, dtype=np.float64)
        self._one_target = Y.ndim == 1
        targets = CentredTable(Y.reshape(len(Y), -1), scale=self.scale)
        table = CentredTable(X, scale=self.scale)
        most = min(X.shape[0] - 1, X.shape[1])
        wanted = most if self.n_components is None else min(self.n_components, most)
        degree = min(self.degree, X.shape[0] - 1)
        found = curved_components(table, targets.values, wanted, degree)
        factors = found.factors
        self._number_of_components(factors.n_components, "for nothing is left of the table that goes with y")
        self.mean_ = table.mean.astype(X.dtype)
        self.components_ = np.ascontiguousarray((factors.rotations / table.scale[:, None]).T, dtype=X.dtype)
        self.x_weights_, self.x_loadings_, self.x_rotations_, self.x_scores_ = (
            part.astype(X.dtype) for part in (factors.weights, factors.x_loadings, factors.rotations, factors.scores)
        )
        self.y_weights_, self.inner_coef_ = found.y_weights.astype(X.dtype), found.inner
        self._y_mean, self._y_scale = targets.mean, targets.scale
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Targets of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        curved = self._curved(X)
        return self._of_targets(curved @ self.y_weights_.T * self._y_scale + self._y_mean)

    def predict_path(self, X: Any) -> np.ndarray:
        """Targets of the rows after 1, 2, ... components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        targets : ndarray of shape (n_components, n_samples) or (n_components, n_samples, n_targets)
            Predictions.
        """
        steps = self._curved(X).T[:, :, None] * self.y_weights_.T[:, None, :]
        return self._of_targets(np.cumsum(steps, axis=0) * self._y_scale + self._y_mean)

    def _curved(self, X: Any) -> np.ndarray:
        """``g(t)`` of each score."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        scores = np.asarray(X @ self.components_.T - self.mean_ @ self.components_.T, dtype=np.float64)
        return np.polynomial.polynomial.polyval(scores, self.inner_coef_.T, tensor=False)

    def _of_targets(self, predictions: np.ndarray) -> np.ndarray:
        return predictions[..., 0] if self._one_target else predictions
