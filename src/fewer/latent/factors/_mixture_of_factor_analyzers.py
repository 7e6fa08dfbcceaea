"""Groups of rows, each with factors of its own: a mixture of factor analysers.

    p(x) = sum_k pi_k N(x; mu_k, W_k W_k' + Psi_k),        Psi_k diagonal, of its own or the same for all groups.

Posteriors, instead of the maximum of the likelihood, are those of `_bayesian_factors`, in every group. Otherwise, EM
with respect to the group of each row and to missing entries: responsibilities ``r_nk``, weighted moments S_k of the
rows as the model expects them, and a Newton step on the noise variances of each group (or on the shared ones), with the
best loadings for them. See `_factor_model` for that step.

Ghahramani, Z. and Hinton, G. E. (1996). The EM algorithm for mixtures of factor analyzers. Technical report
CRG-TR-96-1, University of Toronto.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, fit_context, validated
from fewer.catalogue import method
from fewer.latent._bayesian_solvers import BayesianSolvers, matched_orders, sorted_repetitions
from fewer.latent._latent_model import climb, warn_of_odd_rows, warn_of_undetermined_loadings, weighted_rows
from fewer.latent.classes._row_classes import RowClasses
from fewer.latent.factors._bayesian_factors import (
    LEAST_NOISE,
    GroupBelief,
    Priors,
    Regressions,
    aligned_draws,
    drawn_factors,
    drawn_groups,
    expected_factors,
    factor_sums,
    mixture_variational_step,
    regressions,
)
from fewer.latent.factors._factor_model import (
    Factors,
    Rows,
    best_loadings,
    expected_moments,
    observed_units,
    posterior,
    profile,
    rows_of,
    shared_newton_step,
    starting_noise,
)
from fewer.latent.factors._loadings import rotated
from fewer.latent.mixtures._class_mixture import kmeans_labels

_HARD = 0.9
_FEWEST = 1e-6


class FactorMixture(NamedTuple):
    """Weights of the groups, and the factors of each."""

    weights: np.ndarray
    groups: list[Factors]


def log_densities(rows: Rows, mixture: FactorMixture) -> np.ndarray:
    """``log pi_k + log p(x_n | k)`` of rows and groups, for what is observed of each row."""
    with np.errstate(divide="ignore"):
        logs = np.log(mixture.weights)
    return np.column_stack([posterior(rows, each).log_likelihoods for each in mixture.groups]) + logs


def mixture_step(
    rows: Rows, n_factors: int, shared: bool, floor: float, mixture: FactorMixture
) -> tuple[FactorMixture, float]:
    """One step of EM, and the log-likelihood of the present mixture."""
    found = [posterior(rows, each) for each in mixture.groups]
    with np.errstate(divide="ignore"):
        joint = np.column_stack([each.log_likelihoods for each in found]) + np.log(mixture.weights)
    logs = logsumexp(joint, axis=1)
    shares = np.exp(joint - logs[:, None]) * rows.weights[:, None]
    moments = [
        expected_moments(rows._replace(weights=np.maximum(share, 1e-300)), model, own)
        for share, model, own in zip(shares.T, mixture.groups, found, strict=True)
    ]
    sizes = shares.sum(axis=0)
    groups = maximised(moments, sizes, [each.noise for each in mixture.groups], n_factors, shared, floor)
    kept = [new if size > _FEWEST else old for new, old, size in zip(groups, mixture.groups, sizes, strict=True)]
    return FactorMixture(sizes / sizes.sum(), kept), float(rows.weights @ logs)


def maximised(
    moments: list[tuple[np.ndarray, np.ndarray]],
    sizes: np.ndarray,
    noises: list[np.ndarray],
    n_factors: int,
    shared: bool,
    floor: float,
) -> list[Factors]:
    """Factors of the groups after one Newton step on their noise variances."""
    lowest = float(np.log(floor))
    profiles = [profile(S, np.log(noise), n_factors) for (_, S), noise in zip(moments, noises, strict=True)]
    if shared:
        after = shared_newton_step([S for _, S in moments], profiles, sizes / sizes.sum(), n_factors, lowest)
    else:
        after = [
            shared_newton_step([S], [each], np.ones(1), n_factors, lowest)[0]
            for (_, S), each in zip(moments, profiles, strict=True)
        ]
    return [
        Factors(mean, best_loadings(each, n_factors), np.exp(each.log_noise))
        for (mean, _), each in zip(moments, after, strict=True)
    ]


def starting_mixture(
    rows: Rows, n_components: int, n_factors: int, shared: bool, floor: float, random: np.random.RandomState
) -> FactorMixture:
    """Groups from k-means of the rows, missing entries at the column's mean."""
    labels = kmeans_labels(rows.X, rows.weights, n_components, random)
    n_columns = rows.X.shape[1]
    nothing = Factors(np.zeros(n_columns), np.zeros((n_columns, n_factors)), np.ones(n_columns))
    plain = posterior(rows, nothing)
    moments, sizes = [], np.zeros(n_components)
    for k in range(n_components):
        share = np.where(labels == k, _HARD, (1 - _HARD) / n_components) * rows.weights
        sizes[k] = share.sum()
        moments.append(expected_moments(rows._replace(weights=share), nothing, plain))
    pooled = sum(size * S for size, (_, S) in zip(sizes, moments, strict=True)) / sizes.sum()
    noises = [np.maximum(starting_noise(pooled if shared else S, n_factors), floor) for _, S in moments]
    return FactorMixture(sizes / sizes.sum(), maximised(moments, sizes, noises, n_factors, shared, floor))


def starting_groups(rows: Rows, mixture: FactorMixture, priors: Priors, concentration: float) -> GroupBelief:
    """The belief that follows from the responsibilities and factors of a mixture."""
    joint = log_densities(rows, mixture)
    shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * rows.weights[:, None]
    groups = []
    for share, each in zip(shares.T, mixture.groups, strict=True):
        found = posterior(rows, each._replace(noise=np.maximum(each.noise, LEAST_NOISE)))
        inside = rows._replace(weights=np.ascontiguousarray(share))
        groups.append(regressions(factor_sums(inside, found.means, found.covariances), priors))
    return GroupBelief(concentration + shares.sum(axis=0), groups)


class MixtureDraws(NamedTuple):
    """Draws from the posterior, with groups in the same order and factors turned alike in all of them.

    Sizes (draws, K), means and noise variances (draws, K, columns), loadings (draws, K, columns, factors), and
    log-likelihoods (chains, draws of each chain).
    """

    weights: np.ndarray
    means: np.ndarray
    loadings: np.ndarray
    noise_variances: np.ndarray
    log_likelihoods: np.ndarray


@method(
    tasks=["unsupervised"],
    when="Correlated numbers of several kinds of rows, each kind with correlations of its own, and too many columns "
    "for full covariances; missing values are taken as they are.",
    cost="O(n p k q + k p^3) time an iteration, for k groups with q factors",
    paper="latent-structure",
    aliases=["MFA", "mixture of factor analysers", "EMMIXmfa"],
    examples=lambda: [
        MixtureOfFactorAnalyzers(2, n_init=1, max_iter=10, tol=1e-4),
        MixtureOfFactorAnalyzers(2, 2, shared_noise=True, n_init=2, max_iter=10, tol=1e-4),
        MixtureOfFactorAnalyzers(2, solver="variational_bayes", n_init=1, max_iter=30, tol=1e-4),
        MixtureOfFactorAnalyzers(2, solver="gibbs", n_draws=20, n_burn_in=10, n_chains=1),
    ],
)
class MixtureOfFactorAnalyzers(BayesianSolvers, RowClasses):
    """Groups of rows whose columns have factors of the group's own.

    Parameters
    ----------
    n_components : int, default=2
        Number of groups.
    n_factors : int, default=1
        Factors of each group.
    shared_noise : bool, default=False
        Whether all groups have the same noise variances, which needs fewer parameters; for "em" only.
    noise_floor : float, default=1e-3
        No noise variance of "em" is below this share of the column's variance over all rows.
    solver : {"em", "variational_bayes", "gibbs"}, default="em"
        Maximum likelihood; posteriors of sizes, means, loadings and noise variances with a lower bound on the evidence;
        or draws from the posterior.
    weight_concentration_prior : float, default=1.0
        Parameter of the Dirichlet prior of the sizes, for the last two solvers.
    loading_precision_prior : float, default=1.0
        How many rows the prior counts for, by which loadings are expected at 0, in units of the column's noise.
    mean_precision_prior : float, default=0.1
        The same for the means, which are expected at that of the column.
    degrees_of_freedom_prior : float, default=1.0
        The same for the noise variances, which are expected at the variance of the column.
    n_init : int, default=10
        Number of starts of "em" and "variational_bayes", each from k-means; the best is kept.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-8
        Stop when the log-likelihood, or the bound, changes by less than this share of its size.
    n_draws : int, default=1000
        Draws of "gibbs" that each chain keeps.
    n_burn_in : int, default=500
        Draws at the beginning of each chain that are left out.
    thin : int, default=1
        Keep every so many draws.
    n_chains : int, default=2
        Number of chains.
    random_state : int, RandomState instance or None, default=None
        Draws the starts and the chains.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of each group, the largest first; posterior means for the last two solvers, here and below.
    means_ : ndarray of shape (n_components, n_features)
        Means of the groups.
    loadings_ : ndarray of shape (n_components, n_features, n_factors)
        Loadings of each group, in the units of the columns.
    noise_variance_ : ndarray of shape (n_components, n_features)
        Noise variances of each group.
    lower_bound_ : float or None
        Of "variational_bayes": the bound on the log evidence.
    draws_ : MixtureDraws or None
        Of "gibbs": the draws, with groups in the same order and factors turned alike in all of them.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood, or the bound, at the beginning of each iteration; log-likelihoods of the draws of the first
        chain for "gibbs".
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start; the mean over the draws of each chain for "gibbs".
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters: weights, means, noise variances, and loadings up to a rotation.
    n_components_ : int
        Number of groups.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    FactorAnalysis : One group.
    LatentProfile : Groups without factors.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83. Springer.
    .. [2] Ghahramani, Z. and Hinton, G. E. (1996). The EM algorithm for mixtures of factor analyzers. Technical report
       CRG-TR-96-1, University of Toronto.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import MixtureOfFactorAnalyzers
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], 150)
    >>> along = np.array([[1, 1, 1, 0, 0], [0, 0, 1, -1, 1]])[group]
    >>> X = group[:, None] + 2 * rng.normal(size=(300, 1)) * along + 0.3 * rng.normal(size=(300, 5))
    >>> found = MixtureOfFactorAnalyzers(2, n_init=3, random_state=0).fit_predict(X)
    >>> bool(max(np.mean(found == group), np.mean(found != group)) > 0.9)
    True
    """

    _parameter_constraints = {
        **RowClasses._parameter_constraints,
        **BayesianSolvers._parameter_constraints,
        "weight_concentration_prior": [Interval(Real, 0, None, closed="neither")],
        "loading_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither")],
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "shared_noise": ["boolean"],
        "noise_floor": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        n_components=2,
        n_factors=1,
        *,
        shared_noise=False,
        noise_floor=1e-3,
        solver="em",
        weight_concentration_prior=1.0,
        loading_precision_prior=1.0,
        mean_precision_prior=0.1,
        degrees_of_freedom_prior=1.0,
        n_init=10,
        max_iter=1000,
        tol=1e-8,
        n_draws=1000,
        n_burn_in=500,
        thin=1,
        n_chains=2,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_factors = n_factors
        self.shared_noise = shared_noise
        self.noise_floor = noise_floor
        self.solver = solver
        self.weight_concentration_prior = weight_concentration_prior
        self.loading_precision_prior = loading_precision_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_draws = n_draws
        self.n_burn_in = n_burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the groups and their factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN for missing values.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; whole numbers for "gibbs".

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if self.shared_noise and self.solver != "em":
            raise ValueError(f"shared_noise=True needs solver='em', not solver={self.solver!r}.")
        X, weights = weighted_rows(self, X, sample_weight)
        if self.n_factors > X.shape[1]:
            raise ValueError(f"n_factors={self.n_factors} factors of n_features = {X.shape[1]} columns: take fewer.")
        if self.n_components > len(X):
            raise ValueError(f"n_components={self.n_components} groups of n_samples = {len(X)} rows: take fewer.")
        self._offset, unit = observed_units(X, weights, self._column_name)
        warn_of_odd_rows(self, X, self.n_components)
        warn_of_undetermined_loadings(self.n_factors, int(np.sum(unit > 0)), "n_factors")
        self._unit = np.where(unit > 0, unit, 1.0)
        self._log_units = float(weights @ (~np.isnan(X) @ np.log(self._unit)))
        standard = (X - self._offset) / self._unit
        if self.solver == "gibbs":
            standard = sorted_repetitions(standard, weights)
            weights = np.ones(len(standard))
        rows = rows_of(standard, weights)
        recipe = (int(self.n_factors), bool(self.shared_noise), float(self.noise_floor))
        priors = Priors(
            float(self.loading_precision_prior), float(self.mean_precision_prior), float(self.degrees_of_freedom_prior)
        )
        concentration = float(self.weight_concentration_prior)
        self.draws_: MixtureDraws | None = None
        self.lower_bound_ = None
        self._belief: list[np.ndarray] = []

        def belief(random) -> GroupBelief:
            start = starting_mixture(rows, self.n_components, *recipe, random)
            return starting_groups(rows, start, priors, concentration)

        def run(random, on_step):
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            if self.solver == "em":
                start = starting_mixture(rows, self.n_components, *recipe, random)
                return climb(start, lambda mixture: mixture_step(rows, *recipe, mixture), **limits)
            return climb(
                belief(random), lambda now: mixture_variational_step(rows, priors, concentration, now), **limits
            )

        def first(random) -> FactorMixture:
            start = belief(random)
            return FactorMixture(random.dirichlet(start.sizes), [drawn_factors(each, random) for each in start.groups])

        def sweep(mixture, random):
            with np.errstate(divide="ignore"):
                log_sizes = np.log(mixture.weights)
            sizes, groups, fit = drawn_groups(rows, priors, concentration, mixture.groups, log_sizes, random)
            return FactorMixture(sizes, groups), mixture, fit

        self._training = rows
        try:
            if self.solver == "gibbs":
                self._fit_chains(X, first, sweep)
            else:
                self._fit_starts(run, X)
        finally:
            del self._training
        if self.solver == "variational_bayes":
            now = GroupBelief(self._belief[0], [Regressions(*parts) for parts in zip(*self._belief[1:], strict=True)])
            self.lower_bound_ = mixture_variational_step(rows, priors, concentration, now)[1] - self._log_units
        self.objective_path_ = self.objective_path_ - self._log_units
        self.objectives_ = self.objectives_ - self._log_units
        return self

    def _keep(self, state: FactorMixture | GroupBelief) -> None:
        if isinstance(state, GroupBelief):
            self._belief = [state.sizes, *(np.array(parts) for parts in zip(*state.groups, strict=True))]
            state = FactorMixture(state.sizes / state.sizes.sum(), [expected_factors(each) for each in state.groups])
        self._keep_mixture(state)

    def _keep_draws(self, draws: list[FactorMixture], logs: np.ndarray) -> None:
        """Give groups of all draws one order, and turn their factors to those of the best draw."""
        best, n_rows = int(np.argmax(logs)), len(self._training.X)

        def shares(mixture: FactorMixture) -> np.ndarray:
            joint = log_densities(self._training, mixture)
            return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

        orders = matched_orders(map(shares, draws), shares(draws[best]), np.full(n_rows, 1 / n_rows))
        weights = np.array([each.weights[order] for each, order in zip(draws, orders, strict=True)])
        groups = [
            aligned_draws([each.groups[order[k]] for each, order in zip(draws, orders, strict=True)], best)
            for k in range(self.n_components)
        ]
        means = [Factors(*(part.mean(axis=0) for part in each)) for each in groups]
        order, turns = self._keep_mixture(FactorMixture(weights.mean(axis=0), means))
        self.draws_ = MixtureDraws(
            weights[:, order],
            np.stack([self._offset + self._unit * groups[k].mean for k in order], axis=1),
            np.stack(
                [self._unit[:, None] * groups[k].loadings @ np.linalg.inv(turns[k]) for k in order],
                axis=1,
            ),
            np.stack([groups[k].noise * self._unit**2 for k in order], axis=1),
            logs - self._log_units,
        )

    def _keep_mixture(self, state: FactorMixture) -> tuple[np.ndarray, list[np.ndarray]]:
        """Set the attributes; the order of the groups, the largest first, and how their factors were turned."""
        order = np.argsort(-state.weights, kind="stable")
        groups = [state.groups[k] for k in order]
        self.weights_ = state.weights[order]
        self.means_ = self._offset + self._unit * np.array([each.mean for each in groups])
        turned = [rotated(each.loadings, None) for each in state.groups]
        self.loadings_ = np.array([turned[k].loadings for k in order]) * self._unit[:, None]
        self.noise_variance_ = np.array([each.noise for each in groups]) * self._unit**2
        p, q, k = len(self._unit), int(self.n_factors), len(groups)
        self.n_components_ = k
        noise = p if self.shared_noise else k * p
        self.n_parameters_ = int(k - 1 + k * p + k * (p * q - q * (q - 1) // 2) + noise)
        self.score_type_ = "log-likelihood"
        return order, [each.turn for each in turned]

    def _deviances(self, X: Any, n_draws: int, random_state: Any) -> tuple[Iterable[float], float]:
        rows, mixture = self._checked(X)
        units = 2 * float(self._log_units_of(rows).sum())

        def deviance(each: FactorMixture) -> float:
            return units - 2 * float(logsumexp(log_densities(rows, each), axis=1).sum())

        return map(deviance, self._drawn_mixtures(n_draws, check_random_state(random_state))), deviance(mixture)

    def _drawn_mixtures(self, n_draws: int, random: np.random.RandomState) -> Iterable[FactorMixture]:
        """Draws from the posterior, of standardised columns."""
        if self.draws_ is None:
            groups = [Regressions(*parts) for parts in zip(*self._belief[1:], strict=True)]
            for _ in range(n_draws):
                yield FactorMixture(random.dirichlet(self._belief[0]), [drawn_factors(each, random) for each in groups])
            return
        for place in self._picked_draws(n_draws):
            weights, means, loadings, noise = (each[place] for each in self.draws_[:4])
            parts = zip(
                (means - self._offset) / self._unit, loadings / self._unit[:, None], noise / self._unit**2, strict=True
            )
            yield FactorMixture(weights, [Factors(*each) for each in parts])

    def _log_units_of(self, rows: Rows) -> np.ndarray:
        """Logarithms of the units of what each row observes, added up."""
        units = np.log(self._unit)
        return np.full(len(rows.X), units.sum()) if rows.observed is None else (rows.observed @ units)[rows.pattern]

    def _checked(self, X: Any) -> tuple[Rows, FactorMixture]:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        rows = rows_of((X.astype(np.float64) - self._offset) / self._unit, np.ones(len(X)))
        groups = [
            Factors((mean - self._offset) / self._unit, loadings / self._unit[:, None], noise / self._unit**2)
            for mean, loadings, noise in zip(self.means_, self.loadings_, self.noise_variance_, strict=True)
        ]
        return rows, FactorMixture(self.weights_, groups)

    def _class_posteriors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        rows, mixture = self._checked(X)
        joint = log_densities(rows, mixture)
        logs = logsumexp(joint, axis=1)
        return np.exp(joint - logs[:, None]), logs - self._log_units_of(rows)

    def factor_scores(self, X):
        """Posterior means of the factors, if the row belongs to each group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN for missing values.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components, n_factors)
            One row of factors for each group.
        """
        rows, mixture = self._checked(X)
        return np.stack([posterior(rows, each).means for each in mixture.groups], axis=1)

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
        groups : ndarray of shape (n_samples,)
            The groups that they were drawn from.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        groups = random.choice(self.n_components_, n_samples, p=self.weights_)
        factors = random.standard_normal((n_samples, self.loadings_.shape[2]))
        noise = random.standard_normal((n_samples, self.means_.shape[1])) * np.sqrt(self.noise_variance_[groups])
        return self.means_[groups] + np.einsum("npq,nq->np", self.loadings_[groups], factors) + noise, groups
