"""Non-linear factor analysis: rows lie near a curve or a curved surface, whose coordinates are the factors.

x = B tanh(A s + a) + b + noise,    s ~ N(0, I).
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, checked_array, fit_context, validated, warn_caller
from fewer._wording import counted
from fewer.catalogue import method
from fewer.latent._latent_model import Climb, LatentModel, standard_rows, warn_of_constant_columns, weighted_rows
from fewer.latent.variational._factor_network import Weights, outputs
from fewer.latent.variational._nonlinear_factors import (
    FactorRows,
    Factors,
    Normal,
    factors_of_rows,
    fit_factors,
    starting_factors,
)

_SOLVERS = {"rcg": ("cg", "riemannian"), "rg": ("gradient", "riemannian"), "cg": ("cg", "euclidean")}
_MAX_LANDMARKS = 500


class _End(NamedTuple):
    factors: Factors
    n_eval: int


@method(
    tasks=["unsupervised"],
    when="Numbers that follow a few hidden causes along curves, where PCA and factor analysis need more factors than "
    "there are causes; a few thousand rows at most. Not for groups of rows.",
    cost="O(n h (p + h k)) time an evaluation for h hidden units and k factors, some thousand of them a start",
    paper="riemannian-vb",
    aliases=("NFA",),
    examples=lambda: [
        NonlinearFactorAnalysis(2, n_hidden=3, n_init=1, max_iter=4, random_state=0),
        NonlinearFactorAnalysis(1, n_hidden=2, solver="rg", n_init=2, max_iter=3, random_state=0),
    ],
)
class NonlinearFactorAnalysis(LatentModel):
    """Factor analysis with a one-layer network between factors and columns, by variational Bayes.

    Parameters
    ----------
    n_components : int, default=2
        Number of factors.
    n_hidden : int, default=20
        Number of hidden units; those that are not needed get output weights near 0.
    solver : {"rcg", "rg", "cg"}, default="rcg"
        Riemannian conjugate gradients; natural gradients without conjugacy; or conjugate gradients without the
        metric, for comparison.
    n_init : int, default=5
        Number of starts; the one with the lowest free energy is kept. There are many local optima.
    max_iter : int, default=1000
        Maximum number of iterations of each start.
    tol : float, default=1e-5
        Stop when two iterations in a row lower the free energy by less than this for each row.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_components,)
        Share of each factor's variance that the rows determine: 1 less the mean posterior variance. Factors are
        sorted by it; one near 0 is not needed.
    noise_variance_ : ndarray of shape (n_features,)
        Variance of the noise of each column; 0 for a constant column.
    free_energy_ : float
        Bound on ``-log p(X)``, which the fit minimises.
    lower_bound_ : float
        Its negative, a bound on the log evidence of the table; to compare numbers of factors.
    n_eval_ : int
        Evaluations of the free energy, in the start that was kept.
    objective_path_ : ndarray of shape (n_iter,)
        Lower bound at the end of each iteration.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "bound".
    n_parameters_ : int
        Weights of the network, and variances of the noise.
    n_components_ : int
        Number of factors.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.decomposition.FactorAnalysis : Straight factors.
    VBGaussianMixture : Groups of rows.

    Notes
    -----
    Columns are standardised first. Signs, rotations and any other smooth map that leaves the normal distribution of the
    factors as it is are not identified. No variance of noise is below 1e-8 of the variance of its column. The mean and
    the variance of the network's outputs are computed by Gauss-Hermite quadrature and a linearisation, so that the
    bounds are approximate.

    References
    ----------
    .. [1] Honkela, A., Raiko, T., Kuusela, M., Tornio, M. and Karhunen, J. (2010). Approximate Riemannian conjugate
       gradient learning for fixed-form variational Bayes. Journal of Machine Learning Research 11, 3235-3268.

    Examples
    --------
    Three columns that follow one cause:

    >>> import numpy as np
    >>> from fewer.latent import NonlinearFactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=100)
    >>> X = np.column_stack([cause, cause**2, np.sin(cause)]) + 0.05 * rng.normal(size=(100, 3))
    >>> model = NonlinearFactorAnalysis(1, n_hidden=5, n_init=2, max_iter=150, tol=1e-3, random_state=0).fit(X)
    >>> bool(np.mean((model.reconstruct(X) - X) ** 2) < 0.1 * X.var(axis=0).mean())
    True
    """

    _nested = False
    _offset: np.ndarray
    _scale: np.ndarray
    _varies: np.ndarray
    _landmarks: np.ndarray
    _s_var: np.ndarray
    _parameter_constraints = {
        **LatentModel._parameter_constraints,
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"rcg", "rg", "cg"})],
    }

    def __init__(
        self,
        n_components=2,
        *,
        n_hidden=20,
        solver="rcg",
        n_init=5,
        max_iter=1000,
        tol=1e-5,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_hidden = n_hidden
        self.solver = solver
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the network and the factors of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: one of weight 2 counts as two equal rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, weights = weighted_rows(self, X, sample_weight, missing=False)
        standard, self._offset, self._scale = standard_rows(X, weights)
        self._varies = np.any(standard, axis=0)
        if not self._varies.any():
            raise ValueError("All columns of X are constant; NonlinearFactorAnalysis needs one that varies.")
        warn_of_constant_columns(self, np.flatnonzero(~self._varies))
        if self.n_components >= self._varies.sum():
            warn_caller(
                f"n_components={self.n_components} factors of {counted(int(self._varies.sum()), 'column')} that vary: "
                "they are no fewer than the columns. Lower n_components."
            )
        rows = FactorRows(standard[:, self._varies], weights)
        stretch = float(weights.sum() * np.log(self._scale[self._varies]).sum())
        how, geometry = _SOLVERS[self.solver]
        limits = {"tol": self.tol * weights.sum(), "max_iter": self.max_iter, "method": how, "geometry": geometry}

        def run(random, on_step):
            start = starting_factors(rows.X, weights, self.n_components, self.n_hidden, random)
            found = fit_factors(rows, start, on_step=on_step, **limits)
            path = -(found.path + stretch)
            return Climb(_End(found.factors, found.n_eval), path, found.converged, found.stopped)

        self._fit_starts(run, X)
        self.relevance_ = 1 - weights @ self._s_var / weights.sum()
        order = np.argsort(-self.relevance_, kind="stable")
        self.relevance_ = self.relevance_[order]
        for parts in (self._means, self._variances):
            parts[0] = parts[0][:, order]
        del self._s_var
        step = -(-len(X) // _MAX_LANDMARKS)
        self._landmarks = self._landmarks[::step][:, order]
        return self

    def _keep(self, state: _End) -> None:
        q = state.factors
        largest = np.take_along_axis(q.means.A, np.abs(q.means.A).argmax(axis=0)[None], axis=0)[0]
        signs = np.where(largest < 0, -1.0, 1.0)
        self._means = [q.means.A * signs, *q.means[1:]]
        self._variances = list(q.variances)
        self._noise = list(q.hierarchy.noise)
        self._landmarks, self._s_var = q.s.mean * signs, q.s.var
        n_hidden, self.n_components_ = q.means.A.shape
        p = len(self._varies)
        noise = np.zeros(p)
        noise[self._varies] = np.exp(2 * q.hierarchy.noise.mean) * self._scale[self._varies] ** 2
        self.noise_variance_ = noise
        self.n_parameters_ = n_hidden * (self.n_components_ + 1 + p) + 2 * p
        self.n_eval_ = state.n_eval
        self.lower_bound_ = float(self.objective_path_[-1])
        self.free_energy_ = -self.lower_bound_
        self.score_type_ = "bound"

    def _weights(self) -> tuple[Weights, Weights, Normal]:
        return Weights(*self._means), Weights(*self._variances), Normal(*self._noise)

    def _fitted_columns(self, s: np.ndarray) -> np.ndarray:
        """Expected columns that vary, standardised, for given factors."""
        means, variances, noise = self._weights()
        return outputs(s, np.zeros_like(s), means, variances, np.ones_like(noise.mean)).means

    def _factors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means of the factors of rows, and the bound of each row."""
        check_is_fitted(self)
        X = validated(self, X, dtype=(np.float64, np.float32), reset=False)
        standard = ((X.astype(np.float64) - self._offset) / self._scale)[:, self._varies]
        means, variances, noise = self._weights()
        starts = self._landmarks[_nearest(standard, self._fitted_columns(self._landmarks), noise.inverse_variance)]
        found, bounds = factors_of_rows(standard, starts, means, variances, noise)
        return found.mean, bounds - np.log(self._scale[self._varies]).sum()

    def transform(self, X):
        """Posterior means of the factors of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Factors, the most relevant first.
        """
        found, _ = self._factors(X)
        return found.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def inverse_transform(self, X):
        """Expected rows for given factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Factors, as `transform` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            In the units of the table.
        """
        check_is_fitted(self)
        s = checked_array(X, "inverse_transform", dtype=np.float64)
        if s.shape[1] != self.n_components_:
            raise ValueError(f"X has {s.shape[1]} columns, and there are {self.n_components_} factors.")
        found = np.zeros((len(s), len(self._scale)))
        found[:, self._varies] = self._fitted_columns(s)
        return found * self._scale + self._offset

    def reconstruct(self, X):
        """Expected rows for the factors of given rows: the table without its noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_reconstructed : ndarray of shape (n_samples, n_features)
            In the units of the table.
        """
        return self.inverse_transform(self._factors(X)[0])

    def score_samples(self, X):
        """Bound on the log-likelihood of each row, given the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better. Constant columns do not count.
        """
        return self._factors(X)[1]

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        noise = random.standard_normal((n_samples, len(self._scale))) * np.sqrt(self.noise_variance_)
        return self.inverse_transform(random.standard_normal((n_samples, self.n_components_))) + noise

    def log_evidence(self):
        """Approximate log evidence: the lower bound.

        Returns
        -------
        log_evidence : float
            More is better; a difference of two models is a log Bayes factor.
        """
        check_is_fitted(self)
        return float(self.lower_bound_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _nearest(X: np.ndarray, landmarks: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """For each row, the landmark at the smallest distance in units of the noise."""
    from sklearn.metrics import pairwise_distances_argmin

    root = np.sqrt(precision)
    return pairwise_distances_argmin(X * root, landmarks * root)
