"""Groups of rows, each with factors of its own: a mixture of factor analysers.

    p(x) = sum_k pi_k N(x; mu_k, W_k W_k' + Psi_k),        Psi_k diagonal, of its own or the same for all groups.

EM with respect to the group of each row and to missing entries: responsibilities ``r_nk``, weighted moments S_k of the
rows as the model expects them, and a Newton step on the noise variances of each group (or on the shared ones), with the
best loadings for them. See `_factor_model` for that step.

Ghahramani, Z. and Hinton, G. E. (1996). The EM algorithm for mixtures of factor analyzers. Technical report
CRG-TR-96-1, University of Toronto.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, fit_context, validated
from fewer.catalogue import method
from fewer.latent._latent_model import climb, warn_of_odd_rows, warn_of_undetermined_loadings, weighted_rows
from fewer.latent.classes._row_classes import RowClasses
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
    ],
)
class MixtureOfFactorAnalyzers(RowClasses):
    """Groups of rows whose columns have factors of the group's own.

    Parameters
    ----------
    n_components : int, default=2
        Number of groups.
    n_factors : int, default=1
        Factors of each group.
    shared_noise : bool, default=False
        Whether all groups have the same noise variances, which needs fewer parameters.
    noise_floor : float, default=1e-3
        No noise variance is below this share of the column's variance over all rows.
    n_init : int, default=10
        Number of starts, each from k-means; the best is kept.
    max_iter : int, default=1000
        Maximum number of iterations of EM.
    tol : float, default=1e-8
        Stop when the log-likelihood changes by less than this share of its size.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of each group, the largest first.
    means_ : ndarray of shape (n_components, n_features)
        Means of the groups.
    loadings_ : ndarray of shape (n_components, n_features, n_factors)
        Loadings of each group, in the units of the columns.
    noise_variance_ : ndarray of shape (n_components, n_features)
        Noise variances of each group.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood at the beginning of each iteration.
    objectives_ : ndarray of shape (n_init,)
        Log-likelihood at the end of each start.
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
        n_init=10,
        max_iter=1000,
        tol=1e-8,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_factors = n_factors
        self.shared_noise = shared_noise
        self.noise_floor = noise_floor
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
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
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, weights = weighted_rows(self, X, sample_weight)
        if self.n_factors > X.shape[1]:
            raise ValueError(f"n_factors={self.n_factors} factors of n_features = {X.shape[1]} columns: take fewer.")
        if self.n_components > len(X):
            raise ValueError(f"n_components={self.n_components} groups of n_samples = {len(X)} rows: take fewer.")
        self._offset, unit = observed_units(X, weights, self._column_name)
        warn_of_odd_rows(self, X, self.n_components)
        warn_of_undetermined_loadings(self.n_factors, int(np.sum(unit > 0)), "n_factors")
        self._unit = np.where(unit > 0, unit, 1.0)
        rows = rows_of((X - self._offset) / self._unit, weights)
        recipe = (int(self.n_factors), bool(self.shared_noise), float(self.noise_floor))

        def run(random, on_step):
            start = starting_mixture(rows, self.n_components, *recipe, random)
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            return climb(start, lambda mixture: mixture_step(rows, *recipe, mixture), **limits)

        self._fit_starts(run, X)
        in_units = float(weights @ (~np.isnan(X) @ np.log(self._unit)))
        self.objective_path_, self.objectives_ = self.objective_path_ - in_units, self.objectives_ - in_units
        return self

    def _keep(self, state: FactorMixture) -> None:
        order = np.argsort(-state.weights, kind="stable")
        groups = [state.groups[k] for k in order]
        self.weights_ = state.weights[order]
        self.means_ = self._offset + self._unit * np.array([each.mean for each in groups])
        turned = np.array([rotated(each.loadings, None).loadings for each in groups])
        self.loadings_ = turned * self._unit[:, None]
        self.noise_variance_ = np.array([each.noise for each in groups]) * self._unit**2
        p, q, k = len(self._unit), int(self.n_factors), len(groups)
        self.n_components_ = k
        noise = p if self.shared_noise else k * p
        self.n_parameters_ = int(k - 1 + k * p + k * (p * q - q * (q - 1) // 2) + noise)
        self.score_type_ = "log-likelihood"

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
        units = np.log(self._unit)
        observed = units.sum() if rows.observed is None else (rows.observed @ units)[rows.pattern]
        return np.exp(joint - logs[:, None]), logs - observed

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
