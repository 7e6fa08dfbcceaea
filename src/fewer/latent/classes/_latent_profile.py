"""Latent profile analysis: rows of numbers as a mixture of classes in which the columns are independent and normal.

    p(x_n) = sum_k eta_k prod_j N(x_nj; mu_kj, sigma_kj^2),

the product over the entries that are there, which is exact where entries are missing at random. Titterington, M.
(2006), Some aspects of latent structure analysis.
"""

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, validated
from fewer.catalogue import method
from fewer.latent._bayesian_solvers import BayesianSolvers, matched_orders, sorted_repetitions
from fewer.latent._latent_model import (
    Stride,
    accelerated,
    climb,
    refuse_empty_columns,
    row_weights,
    warn_of_odd_rows,
)
from fewer.latent.chains._conjugate import (
    Belief,
    NormalGamma,
    NormalRows,
    PriorStrength,
    Table,
    belief_from,
    drawn_chain,
    expected_chain,
    gibbs_sweep,
    variational_step,
)
from fewer.latent.chains._forward_backward import ChainState
from fewer.latent.classes._class_information import (
    MOST_PARAMETERS,
    Information,
    classification_table,
    relative_entropy,
)
from fewer.latent.classes._class_profile import ProfileTable
from fewer.latent.classes._profile_steps import (
    ProfileClimb,
    Profiles,
    mean_errors,
    profile_information,
    profile_posteriors,
)
from fewer.latent.classes._row_classes import RowClasses


class ProfileDraws(NamedTuple):
    """Draws from the posterior, with profiles in the same order in all of them.

    Sizes (draws, K), means and variances (draws, K, columns), and log-likelihoods (chains, draws of each chain).
    """

    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    log_likelihoods: np.ndarray


@method(
    tasks=["unsupervised"],
    when="Scales, measurements or other numbers, with missing values: which types of rows there are, and the mean of "
    "each column in them. Not where columns are correlated within the types: covariances are diagonal.",
    cost="O(n p k) time an iteration",
    paper="latent-structure",
    aliases=("lpa", "latent profile analysis"),
    says="latent profiles",
    examples=lambda: [
        LatentProfile(2, n_init=2, max_iter=30, tol=1e-4),
        LatentProfile(2, covariance_type="tied_diag", n_init=1, max_iter=300, tol=1e-10),
        LatentProfile(2, solver="variational_bayes", n_init=1, max_iter=30, tol=1e-4),
        LatentProfile(2, solver="gibbs", n_draws=20, n_burn_in=10, n_chains=1),
    ],
)
class LatentProfile(BayesianSolvers, RowClasses):
    """Latent profile analysis: normal classes with independent columns, with missing values.

    Parameters
    ----------
    n_components : int, default=2
        Number of profiles.
    covariance_type : {"diag", "tied_diag"}, default="diag"
        Variances of its own for each profile, or the same for all.
    variance_floor : float, default=1e-6
        Smallest variance of "em", as a share of the variance of the column.
    solver : {"em", "variational_bayes", "gibbs"}, default="em"
        Maximum likelihood; posteriors of sizes, means and variances with a lower bound on the evidence; or draws from
        the posterior.
    weight_concentration_prior : float, default=1.0
        Parameter of the Dirichlet prior of the sizes, for the last two solvers.
    mean_precision_prior : float, default=0.1
        How many rows the prior counts for, by which means of profiles are expected at that of the column.
    degrees_of_freedom_prior : float, default=2.0
        The same for the variances, which are expected at that of the column.
    n_init : int, default=10
        Number of starts from k-means of "em" and "variational_bayes"; the best is kept.
    max_iter : int, default=1000
        Maximum number of iterations, each of up to three steps of EM.
    tol : float, default=1e-8
        Stop when the objective changes by less than this share of its size.
    n_draws : int, default=1000
        Draws of "gibbs" that each chain keeps.
    n_burn_in : int, default=500
        Draws at the beginning of each chain that are left out.
    thin : int, default=1
        Keep one of every ``thin`` draws.
    n_chains : int, default=2
        Number of chains.
    random_state : int, RandomState instance or None, default=None
        Draws the starts and the chains.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Sizes of the profiles, the largest first; posterior means for the last two solvers, here and below.
    means_ : ndarray of shape (n_components, n_features)
        Means of the columns in each profile.
    variances_ : ndarray of shape (n_components, n_features)
        Variances of the columns in each profile.
    weight_errors_ : ndarray of shape (n_components,)
        Standard errors of the sizes, from the observed information; posterior standard deviations for the last two
        solvers. NaN where there are more than 600 parameters, or the information is singular.
    mean_errors_ : ndarray of shape (n_components, n_features)
        Standard errors of the means, likewise.
    entropy_ : float
        Relative entropy of the posteriors: 1 where every training row belongs to one profile.
    classification_table_ : ndarray of shape (n_components, n_components)
        Expected number of rows of each profile (rows) among those assigned to each profile (columns).
    log_likelihood_ : float
        Of the training rows.
    lower_bound_ : float or None
        Of "variational_bayes": the bound on the log evidence.
    draws_ : ProfileDraws or None
        Of "gibbs": the draws, with profiles in the same order in all of them.
    n_rows_ : float
        Training rows, by weight.
    objective_path_ : ndarray of shape (n_iter,)
        Objective at the beginning of each iteration, of columns of variance 1: log-likelihood, or the bound;
        log-likelihoods of the draws of the first chain for "gibbs".
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start; the mean over the draws of each chain for "gibbs".
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of profiles.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LatentClass : The same for categories.
    sklearn.mixture.GaussianMixture : With full covariances, for tables without missing values.

    Notes
    -----
    A missing entry (NaN) drops its factor, which is exact where entries are missing at random.

    Variational Bayes has good posterior means, but its posterior variances are too small [1]_.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import LatentProfile
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)) + np.where(np.arange(200) < 120, 0, 4)[:, None]
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> model = LatentProfile(2, random_state=0).fit(X)
    >>> model.weights_.round(2), model.means_.round(0) + 0.0
    (array([0.6, 0.4]), array([[0., 0., 0.],
           [4., 4., 4.]]))
    """

    _parameter_constraints = {
        **RowClasses._parameter_constraints,
        **BayesianSolvers._parameter_constraints,
        "covariance_type": [StrOptions({"diag", "tied_diag"})],
        "variance_floor": [Interval(Real, 0, 1, closed="neither")],
        "weight_concentration_prior": [Interval(Real, 0, None, closed="neither")],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        covariance_type="diag",
        variance_floor=1e-6,
        solver="em",
        weight_concentration_prior=1.0,
        mean_precision_prior=0.1,
        degrees_of_freedom_prior=2.0,
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
        self.covariance_type = covariance_type
        self.variance_floor = variance_floor
        self.solver = solver
        self.weight_concentration_prior = weight_concentration_prior
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
        """Fit the profiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers, NaN where missing.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = validated(self, X, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        weights = row_weights(sample_weight, X)
        weights = np.ones(len(X)) if weights is None else weights
        kept = weights > 0
        X, weights = X[kept].astype(np.float64), weights[kept]
        if len(X) < self.n_components:
            raise ValueError(f"n_components={self.n_components} is more than the number of rows, n_samples = {len(X)}.")
        refuse_empty_columns(self, X)
        warn_of_odd_rows(self, X, self.n_components)
        standard = self._standardised(X, weights)
        self.n_rows_ = float(weights.sum())
        self.n_components_ = int(self.n_components)
        k, p = self.n_components_, X.shape[1]
        tied = self.covariance_type == "tied_diag"
        self.n_parameters_ = k - 1 + k * p + (p if tied else k * p)
        climber = ProfileClimb(standard, weights, k, tied, float(self.variance_floor))
        self._climber = climber
        try:
            if self.solver == "gibbs":
                return self._fit_draws(X)
            limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
            if self.solver == "variational_bayes":
                table = self._table(standard, weights)
                return self._fit_starts(
                    lambda random, on_step: climb(
                        self._belief(table, random), lambda now: variational_step(table, now), on_step=on_step, **limits
                    ),
                    X,
                )
            step = accelerated(climber.step, climber.settled)
            return self._fit_starts(
                lambda random, on_step: climb(Stride(climber.start(random)), step, on_step=on_step, **limits), X
            )
        finally:
            del self._climber

    def _table(self, standard: np.ndarray, weights: np.ndarray | None) -> Table:
        """Standardised rows with their priors, as a chain whose sequences have one row each."""
        strength = PriorStrength(float(self.mean_precision_prior), float(self.degrees_of_freedom_prior), 1.0)
        rows = NormalRows(standard, strength, self.covariance_type)
        return Table(rows, np.arange(len(standard) + 1), weights, float(self.weight_concentration_prior))

    def _belief(self, table: Table, random: np.random.RandomState) -> Belief:
        """The posterior of a start of EM."""
        members = self._climber.starting_members(random)
        k = members.shape[1]
        return belief_from(table, members, members.sum(axis=0), np.zeros((k, k)))

    def _fit_draws(self, X: np.ndarray):
        """Chains of draws of profiles and parameters in turn."""
        climber = self._climber
        rows = sorted_repetitions(np.asarray(climber.X), climber.masses)
        climber.X, climber.masses = rows, np.ones(len(rows))
        table = self._table(rows, None)

        def start(random: np.random.RandomState) -> ChainState:
            return drawn_chain(self._belief(table, random), table.rows, random)

        def sweep(drawn: ChainState, random: np.random.RandomState) -> tuple[ChainState, Profiles, float]:
            after, log_likelihood = gibbs_sweep(table, table.rows.log_densities(drawn.parameters), drawn, random)
            return after, Profiles(drawn.chain.start, *drawn.parameters), log_likelihood

        return self._fit_chains(X, start, sweep)

    def _standardised(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Columns about their mean, with variance 1; the mean and the unit of each are kept."""
        there = ~np.isnan(X)
        masses = np.maximum(weights @ there, 1e-300)
        first = np.nan_to_num(np.take_along_axis(X, there.argmax(axis=0)[None], axis=0)[0])
        # Of large numbers, the mean of differences is more exact than that of the numbers.
        self._offset = first + weights @ np.nan_to_num(X - first) / masses
        centred = X - self._offset
        largest = np.maximum(np.nanmax(np.abs(np.nan_to_num(centred)), axis=0), 1e-300)
        unit = largest * np.sqrt(weights @ np.nan_to_num(centred / largest) ** 2 / masses)
        self._unit = np.where(unit > 1e-10 * np.maximum(np.abs(self._offset), 1e-290), unit, 1.0)
        return centred / self._unit

    def _keep(self, state: Any) -> None:
        climber, tied = self._climber, self.covariance_type == "tied_diag"
        self.draws_: ProfileDraws | None = None
        self.lower_bound_ = None
        if self.solver == "variational_bayes":
            table = self._table(np.asarray(climber.X), climber.masses)
            chain, (means, variances), _ = expected_chain(state, table.rows)
            total, posterior = state.start.sum(), NormalGamma(*state.rows)
            deviations = np.sqrt(chain.start * (1 - chain.start) / (total + 1))
            errors = Profiles(deviations, NormalRows.mean_deviations(posterior), np.full(means.shape, np.nan))
            self._keep_profiles(Profiles(chain.start, means, variances), errors)
            self.lower_bound_ = variational_step(table, state)[1] - self._log_units
            self._posterior = [state.start, state.transition, list(posterior), state.weights]
            return
        found = climber.profiles(state.vector)
        errors = Profiles(*(np.full(each.shape, np.nan) for each in found))
        if self.n_parameters_ <= MOST_PARAMETERS:
            errors = mean_errors(np.asarray(climber.X), climber.masses, found, tied)
        self._keep_profiles(found, errors)

    def _keep_profiles(self, found: Profiles, errors: Profiles) -> np.ndarray:
        """Set what all solvers give, the largest profile first; the order of the profiles."""
        climber = self._climber
        order = np.argsort(-found.weights, kind="stable")
        found, errors = (Profiles(*(part[order] for part in each)) for each in (found, errors))
        self._standard = found
        self.weights_, self.weight_errors_ = found.weights, errors.weights
        self.means_ = found.means * self._unit + self._offset
        self.variances_ = found.variances * self._unit**2
        self.mean_errors_ = errors.means * self._unit
        posteriors, scores = profile_posteriors(climber.X, found)
        self.entropy_ = relative_entropy(posteriors, climber.masses)
        self.classification_table_ = classification_table(posteriors, climber.masses)
        self._log_units = float(climber.masses @ ~np.isnan(climber.X) @ np.log(self._unit))
        self.log_likelihood_ = float(climber.masses @ scores) - self._log_units
        self.score_type_ = "log-likelihood"
        return order

    def _keep_draws(self, draws: list[Profiles], logs: np.ndarray) -> None:
        """Give the profiles of all draws the order of those of the draw with the largest likelihood."""
        X = self._climber.X
        best = profile_posteriors(X, draws[int(np.argmax(logs))])[0]
        posteriors = (profile_posteriors(X, each)[0] for each in draws)
        orders = matched_orders(posteriors, best, np.full(len(X), 1 / len(X)))
        ordered = [Profiles(*(part[order] for part in each)) for each, order in zip(draws, orders, strict=True)]
        weights, means, variances = (np.array(parts) for parts in zip(*ordered, strict=True))
        order = self._keep_profiles(
            Profiles(*(each.mean(axis=0) for each in (weights, means, variances))),
            Profiles(*(each.std(axis=0) for each in (weights, means, variances))),
        )
        self.draws_ = ProfileDraws(
            weights[:, order],
            means[:, order] * self._unit + self._offset,
            variances[:, order] * self._unit**2,
            logs - self._log_units,
        )

    def _drawn_profiles(self, n_draws: int, random_state: Any, table: Table) -> Iterable[Profiles]:
        """Draws from the posterior, of standardised columns."""
        if self.draws_ is not None:
            for place in self._picked_draws(n_draws):
                weights, means, variances = (each[place] for each in self.draws_[:3])
                yield Profiles(weights, (means - self._offset) / self._unit, variances / self._unit**2)
            return
        random = check_random_state(random_state)
        start, transition, rows, weights = self._posterior
        belief = Belief(start, transition, NormalGamma(*rows), weights)
        for _ in range(n_draws):
            chain, parameters, _ = drawn_chain(belief, table.rows, random)
            yield Profiles(chain.start, *parameters)

    def _log_likelihoods(self, X: Any, n_draws: int, random_state: Any) -> Iterable[np.ndarray]:
        standard = self._standard_rows(X)
        units = ~np.isnan(standard) @ np.log(self._unit)
        for each in self._drawn_profiles(n_draws, random_state, self._table(standard, None)):
            yield profile_posteriors(standard, each)[1] - units

    def _deviances(self, X: Any, n_draws: int, random_state: Any) -> tuple[Iterable[float], float]:
        standard = self._standard_rows(X)
        units = 2 * float((~np.isnan(standard) @ np.log(self._unit)).sum())

        def deviance(profiles: Profiles) -> float:
            return units - 2 * float(profile_posteriors(standard, profiles)[1].sum())

        draws = self._drawn_profiles(n_draws, random_state, self._table(standard, None))
        return map(deviance, draws), deviance(self._standard)

    def _standard_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        return (X.astype(np.float64) - self._offset) / self._unit

    def _class_posteriors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        standard = self._standard_rows(X)
        found, scores = profile_posteriors(standard, self._standard)
        return found, scores - ~np.isnan(standard) @ np.log(self._unit)

    def _information(self, X: Any, masses: np.ndarray) -> tuple[Information, np.ndarray]:
        """What the rows of a table tell about the parameters, and which of these each row is."""
        tied = self.covariance_type == "tied_diag"
        return profile_information(self._standard_rows(X), masses, self._standard, tied), np.arange(len(masses))

    def profile(self):
        """The table of the profiles: sizes, and means of the columns with standard errors.

        Returns
        -------
        profile : ProfileTable
            It prints the table and what it means, and ``plot()`` draws it.
        """
        check_is_fitted(self)
        return ProfileTable(
            columns=self._column_names(),
            sizes=self.weights_,
            size_errors=self.weight_errors_,
            means=self.means_,
            mean_errors=self.mean_errors_,
            deviations=np.sqrt(self.variances_),
            standardized=self._standard.means,
            entropy=self.entropy_,
            log_likelihood=self.log_likelihood_,
            n_parameters=self.n_parameters_,
            n_rows=self.n_rows_,
            starts=(self.n_best_starts_, len(self.objectives_)),
        )

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
        classes : ndarray of shape (n_samples,)
            The profiles that they were drawn from.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        classes = random.choice(self.n_components_, n_samples, p=self.weights_ / self.weights_.sum())
        noise = random.standard_normal((n_samples, self.n_features_in_))
        return self.means_[classes] + noise * np.sqrt(self.variances_[classes]), classes
