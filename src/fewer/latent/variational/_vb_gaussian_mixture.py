"""A normal mixture with priors, fitted by variational Bayes: how many components there are follows from the rows.

    pi ~ Dir(a_0),    (mu_k, Lambda_k) ~ normal-Wishart,    x_n | k ~ N(mu_k, Lambda_k^-1).

Components that the rows do not need keep their prior and a weight near 0.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, checked_array, fit_context, validated
from fewer.catalogue import method
from fewer.latent._latent_model import Climb, standard_rows, warn_of_odd_rows, weighted_rows
from fewer.latent._normal_wishart import (
    NormalWishart,
    draw_normal_wishart,
    log_predictive_densities,
    single_normal_wishart,
)
from fewer.latent.classes._row_classes import RowClasses
from fewer.latent.mixtures._class_mixture import kmeans_labels
from fewer.latent.variational._free_energy import (
    MixturePosterior,
    MixtureRows,
    expected_log_densities,
    fit_by_em,
    fit_by_gradients,
    softmax,
)

_SOLVERS = {"rcg": ("cg", "riemannian"), "rg": ("gradient", "riemannian"), "cg": ("cg", "euclidean")}
_START_SHARE = 0.64
_START_PRECISION = 10.0


class _End(NamedTuple):
    posterior: MixturePosterior
    n_eval: int


@method(
    tasks=["unsupervised"],
    when="Groups of rows whose number is not known, or a density, by a normal mixture that does not overfit: "
    "components that are not needed vanish. Much faster than EM where groups overlap. Not for many columns with few "
    "rows: every component has a full covariance.",
    cost="O(n k p^2) time an evaluation, some hundred of them",
    paper="riemannian-vb",
    aliases=("Bayesian Gaussian mixture", "variational Gaussian mixture"),
    examples=lambda: [
        VBGaussianMixture(3, max_iter=300, random_state=0),
        VBGaussianMixture(3, solver="em", init_params="kmeans", n_init=2, max_iter=300, random_state=0),
    ],
)
class VBGaussianMixture(RowClasses):
    """Normal mixture by variational Bayes, with conjugate gradients in the geometry of the posterior.

    Parameters
    ----------
    n_components : int, default=8
        Largest number of components; those that are not needed stay empty.
    solver : {"rcg", "em", "rg", "cg"}, default="rcg"
        Riemannian conjugate gradients; variational EM, which needs many more iterations where components overlap;
        natural gradients without conjugacy; or conjugate gradients without the metric, for comparison.
    weight_concentration_prior : float, default=1.0
        Concentration of the Dirichlet prior of the weights (alpha_0): the smaller, the fewer components.
    mean_precision_prior : float, default=1.0
        Number of rows that the prior mean of a component counts for (beta_0).
    mean_prior : array-like of shape (n_features,), default=None
        Prior mean of the components (m_0); the mean of the table by default.
    degrees_of_freedom_prior : float, default=None
        Degrees of freedom of the Wishart prior of the precisions (nu_0), above ``n_features - 1``; ``n_features`` by
        default.
    covariance_prior : array-like of shape (n_features, n_features), default=None
        Inverse of the scale of that prior (inverse of W_0); by default it has the variances of the columns on its
        diagonal, times ``n_features / 4``, so that components are expected to be half as wide as the table.
    init_params : {"random", "kmeans"}, default="random"
        Starts with means that are drawn around the prior mean, or with clusters.
    n_init : int, default=1
        Number of starts; the one with the lowest free energy is kept.
    max_iter : int, default=1000
        Maximum number of iterations of each start.
    tol : float, default=1e-8
        Stop when two iterations in a row lower the free energy by less than this for each row.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Expected weights, the largest first.
    means_ : ndarray of shape (n_components, n_features)
        Expected means.
    covariances_ : ndarray of shape (n_components, n_features, n_features)
        Inverses of the expected precisions.
    weight_concentration_ : ndarray of shape (n_components,)
        Concentrations of the weights: the prior's, and the number of rows of each component.
    mean_precision_ : ndarray of shape (n_components,)
        Number of rows that each mean counts for.
    degrees_of_freedom_ : ndarray of shape (n_components,)
        Degrees of freedom of the precisions.
    free_energy_ : float
        Upper bound on ``-log p(X)``, which the fit minimises.
    lower_bound_ : float
        Its negative, a lower bound on the log evidence of the table; to compare models.
    n_effective_components_ : int
        Components with at least one row, in sum over the rows.
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
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Number of free parameters of a mixture with ``n_components_`` components.
    n_components_ : int
        Number of components, empty ones too.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.mixture.BayesianGaussianMixture : Variational EM, with other shapes of covariances too.
    NonlinearFactorAnalysis : Rows along a curve or a curved surface.

    Notes
    -----
    Parameters have the names of scikit-learn's ``BayesianGaussianMixture`` with
    ``weight_concentration_prior_type="dirichlet_distribution"``; with the same priors both have the same optima.
    ``score_samples`` gives the predictive density, a mixture of Student's t, which integrates to 1.

    References
    ----------
    .. [1] Honkela, A., Raiko, T., Kuusela, M., Tornio, M. and Karhunen, J. (2010). Approximate Riemannian conjugate
       gradient learning for fixed-form variational Bayes. Journal of Machine Learning Research 11, 3235-3268.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import VBGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)) + 6 * rng.integers(3, size=300)[:, None]
    >>> model = VBGaussianMixture(8, n_init=3, random_state=0).fit(X)
    >>> model.n_effective_components_
    3
    """

    _parameter_constraints = {
        **RowClasses._parameter_constraints,
        "solver": [StrOptions({"rcg", "em", "rg", "cg"})],
        "weight_concentration_prior": [Interval(Real, 0, None, closed="neither")],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither"), None],
        "covariance_prior": ["array-like", None],
        "init_params": [StrOptions({"random", "kmeans"})],
    }

    def __init__(
        self,
        n_components=8,
        *,
        solver="rcg",
        weight_concentration_prior=1.0,
        mean_precision_prior=1.0,
        mean_prior=None,
        degrees_of_freedom_prior=None,
        covariance_prior=None,
        init_params="random",
        n_init=1,
        max_iter=1000,
        tol=1e-8,
        random_state=None,
    ):
        self.n_components = n_components
        self.solver = solver
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.init_params = init_params
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the components.

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
        warn_of_odd_rows(self, X, self.n_components)
        standard, self._offset, self._scale = standard_rows(X, weights)
        prior = self._prior()
        rows = MixtureRows(standard, weights, float(self.weight_concentration_prior), prior)
        stretch = float(weights.sum() * np.log(self._scale).sum())
        limits = {"tol": self.tol * weights.sum(), "max_iter": self.max_iter}

        def run(random, on_step):
            start = _start(rows, prior, self.n_components, self.init_params, random)
            if self.solver == "em":
                found = fit_by_em(rows, start, on_step=on_step, **limits)
            else:
                how, geometry = _SOLVERS[self.solver]
                found = fit_by_gradients(rows, start, method=how, geometry=geometry, on_step=on_step, **limits)
            path = -(found.path + stretch)
            return Climb(_End(found.posterior, found.n_eval), path, found.converged, found.stopped)

        return self._fit_starts(run, X)

    def _prior(self) -> NormalWishart:
        """The prior in units of the standardised columns."""
        p = len(self._scale)
        degrees = float(p if self.degrees_of_freedom_prior is None else self.degrees_of_freedom_prior)
        if degrees <= p - 1:
            raise ValueError(f"degrees_of_freedom_prior={degrees:g} must be above n_features - 1, which is {p - 1}.")
        mean, inverse_scale = np.zeros(p), np.eye(p) * p / 4
        if self.mean_prior is not None:
            given = checked_array(self.mean_prior, "mean_prior", ensure_2d=False, dtype=np.float64)
            if given.shape != (p,):
                raise ValueError(f"mean_prior has the shape {given.shape}, and there are {p} columns.")
            mean = (given - self._offset) / self._scale
        if self.covariance_prior is not None:
            given = checked_array(self.covariance_prior, "covariance_prior", dtype=np.float64)
            if given.shape != (p, p):
                raise ValueError(f"covariance_prior has the shape {given.shape}, and there are {p} columns.")
            inverse_scale = given / np.outer(self._scale, self._scale)
            asymmetry = np.abs(inverse_scale - inverse_scale.T).max(initial=0)
            if asymmetry > 1e-8 * np.abs(inverse_scale).max() or np.linalg.eigvalsh(inverse_scale)[0] <= 0:
                raise ValueError("covariance_prior must be symmetric and positive definite.")
        return single_normal_wishart(mean, self.mean_precision_prior, inverse_scale, degrees)

    def _keep(self, state: _End) -> None:
        concentrations, components = state.posterior
        order = np.argsort(-concentrations, kind="stable")
        self.weight_concentration_ = concentrations[order]
        self.mean_precision_ = components.mean_precisions[order]
        self.degrees_of_freedom_ = components.degrees_of_freedom[order]
        self.weights_ = self.weight_concentration_ / concentrations.sum()
        self.means_ = components.means[order] * self._scale + self._offset
        covariances = components.inverse_scales[order] / self.degrees_of_freedom_[:, None, None]
        self.covariances_ = covariances * np.outer(self._scale, self._scale)
        self.n_components_, p = self.means_.shape
        self.n_parameters_ = self.n_components_ * (1 + p + p * (p + 1) // 2) - 1
        sizes = concentrations - self.weight_concentration_prior
        self.n_effective_components_ = int(np.sum(sizes >= 1))
        self.n_eval_ = state.n_eval
        self.lower_bound_ = float(self.objective_path_[-1])
        self.free_energy_ = -self.lower_bound_
        self.score_type_ = "log-likelihood"

    def _posterior(self) -> MixturePosterior:
        """In units of the standardised columns."""
        covariances = self.covariances_ / np.outer(self._scale, self._scale)
        components = NormalWishart(
            (self.means_ - self._offset) / self._scale,
            self.mean_precision_,
            covariances * self.degrees_of_freedom_[:, None, None],
            self.degrees_of_freedom_,
        )
        return MixturePosterior(self.weight_concentration_, components)

    def _standard(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validated(self, X, dtype=(np.float64, np.float32), reset=False)
        return (X.astype(np.float64) - self._offset) / self._scale

    def _class_posteriors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        standard, posterior = self._standard(X), self._posterior()
        densities = log_predictive_densities(standard, posterior.components)
        scores = logsumexp(densities + np.log(self.weights_), axis=1) - np.log(self._scale).sum()
        return softmax(expected_log_densities(standard, posterior))[0].T, scores

    def log_lik(self, X, *, n_draws=500, random_state=0):
        """Log-density of each row under each draw from the posterior, as ``fewer.evaluate.waic`` takes it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as a rule those of the training table.
        n_draws : int, default=500
            Number of draws of weights, means and precisions from the variational posterior.
        random_state : int, RandomState instance or None, default=0
            Draws them.

        Returns
        -------
        log_lik : ndarray of shape (n_draws, n_samples)
            In nats, for ``waic``, ``bayes_loo`` and ``compare_models``.
        """
        Z, random = self._standard(X), check_random_state(random_state)
        concentrations, components = self._posterior()
        found = np.empty((n_draws, len(Z)))
        for line in found:
            weights = random.dirichlet(concentrations)
            means, precisions = draw_normal_wishart(components, random)
            roots = np.linalg.cholesky(precisions)
            with np.errstate(divide="ignore"):  # a component without any weight
                parts = np.log(weights) + np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
            squares = [np.sum(((Z - mean) @ root) ** 2, axis=1) for mean, root in zip(means, roots, strict=True)]
            line[:] = logsumexp(parts - 0.5 * np.stack(squares, axis=1), axis=1)
        return found - 0.5 * Z.shape[1] * np.log(2 * np.pi) - np.log(self._scale).sum()

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the predictive distribution.

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
        labels : ndarray of shape (n_samples,)
            Component of each.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        p = self.means_.shape[1]
        labels = random.choice(self.n_components_, n_samples, p=self.weights_)
        degrees = self.degrees_of_freedom_ + 1 - p
        # Student's t: a normal vector over the root of a chi-squared variable for each degree of freedom.
        widths = (1 + 1 / self.mean_precision_) * self.degrees_of_freedom_ / degrees
        roots = np.linalg.cholesky(self.covariances_ * widths[:, None, None])
        noise = np.einsum("nij,nj->ni", roots[labels], random.standard_normal((n_samples, p)))
        noise /= np.sqrt(random.chisquare(degrees[labels]) / degrees[labels])[:, None]
        return self.means_[labels] + noise, labels

    def log_evidence(self):
        """Approximate log evidence: the lower bound, and log K! for the orders of the components.

        Returns
        -------
        log_evidence : float
            More is better; a difference of two models is a log Bayes factor.
        """
        check_is_fitted(self)
        return float(self.lower_bound_ + gammaln(self.n_components_ + 1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _start(
    rows: MixtureRows, prior: NormalWishart, n_components: int, init: str, random: np.random.RandomState
) -> MixturePosterior:
    """Where one fit starts: means around the prior mean, on the scale of the prior; or clusters of rows."""
    if init == "kmeans":
        n_clusters = min(n_components, len(rows.X))
        labels = kmeans_labels(rows.X, rows.weights, n_clusters, random)
        return rows.posterior((labels == np.arange(n_components)[:, None]).astype(float))
    p = rows.X.shape[1]
    root = np.linalg.cholesky(prior.inverse_scales[0] * _START_SHARE / p)
    return MixturePosterior(
        np.ones(n_components),
        NormalWishart(
            prior.means + random.standard_normal((n_components, p)) @ root.T,
            np.full(n_components, _START_PRECISION),
            np.tile(prior.inverse_scales, (n_components, 1, 1)),
            np.full(n_components, float(prior.degrees_of_freedom[0])),
        ),
    )
