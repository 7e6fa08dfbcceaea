"""Factor analysis as an estimator: loadings with a rotation, factor scores, and missing values as they are."""

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    Interval,
    StrOptions,
    check_feature_names_in,
    fit_context,
    validated,
    warn_caller,
)
from fewer._wording import counted, listed
from fewer.catalogue import method
from fewer.latent._bayesian_solvers import BayesianSolvers, sorted_repetitions
from fewer.latent._latent_model import LatentModel, climb, warn_of_undetermined_loadings, weighted_rows
from fewer.latent.factors._bayesian_factors import (
    LEAST_NOISE,
    Priors,
    Regressions,
    aligned_draws,
    drawn_factors,
    expected_factors,
    gibbs_sweep,
    standardised,
    starting_belief,
    variational_step,
)
from fewer.latent.factors._factor_model import (
    Factors,
    Product,
    Rows,
    fitted_factors,
    observed_units,
    posterior,
    product_of,
    rows_of,
)
from fewer.latent.factors._loadings import (
    MOST_PARAMETERS,
    ROTATIONS,
    LoadingsTable,
    PatternMoments,
    expected_information,
    loading_errors,
    observed_information,
    pattern_moments,
    rotated,
)

_DRAWN_ERRORS = 500
"""Draws from a variational posterior, for the standard deviations of loadings."""


class FactorDraws(NamedTuple):
    """Draws from the posterior, turned to the factors of the fitted loadings.

    Means and noise variances (draws, columns), loadings in the units of the columns (draws, factors, columns), and
    log-likelihoods (chains, draws of each chain).
    """

    means: np.ndarray
    components: np.ndarray
    noise_variances: np.ndarray
    log_likelihoods: np.ndarray


@method(
    tasks=["unsupervised"],
    when="Correlated columns, such as items of a questionnaire or test scores, that a few unobserved quantities may "
    "explain, each column with noise of its own. Missing values are taken as they are. For a summary of the variance "
    "without a model, take principal components.",
    cost="O(n p^2) time, and O(p^2 k) an iteration, or O(n p k) for wide tables; with missing values O(n k p^2) an "
    "iteration",
    paper="latent-structure",
    aliases=["factanal", "exploratory factor analysis", "EFA"],
    examples=lambda: [
        FactorAnalysis(2),
        FactorAnalysis(2, rotation="oblimin", n_init=2),
        FactorAnalysis(2, solver="variational_bayes", max_iter=30, tol=1e-4),
        FactorAnalysis(2, solver="gibbs", n_draws=20, n_burn_in=10, n_chains=1),
    ],
)
class FactorAnalysis(BayesianSolvers, LatentModel):
    """Factor analysis by maximum likelihood or with a posterior, with rotations and missing values.

    Columns are weighted sums of ``n_components`` unobserved factors plus noise, whose variance is each column's own. A
    Newton method on the noise variances reaches the maximum in a few steps, where EM takes thousands. Entries that are
    missing at random are left out of the likelihood, which is exact.

    Parameters
    ----------
    n_components : int, default=2
        Number of factors.
    rotation : {"varimax", "quartimax", "promax", "oblimin", "geomin"} or None, default=None
        Rotation of the loadings towards a simple structure. The factors stay uncorrelated with "varimax" and
        "quartimax". None keeps the axes of decreasing information.
    noise_floor : float, default=1e-5
        No noise variance of "em" is below this share of the column's variance. A warning names the columns that reach
        it (Heywood cases).
    solver : {"em", "variational_bayes", "gibbs"}, default="em"
        Maximum likelihood; posteriors of loadings, means and noise variances with a lower bound on the evidence; or
        draws from the posterior. The last two have no Heywood cases.
    loading_precision_prior : float, default=1.0
        How many rows the prior counts for, by which loadings are expected at 0, in units of the column's noise.
    mean_precision_prior : float, default=0.1
        The same for the means, which are expected at that of the column.
    degrees_of_freedom_prior : float, default=1.0
        The same for the noise variances, which are expected at the variance of the column.
    n_init : int, default=1
        Number of starts of "em" and "variational_bayes", of which the best is kept. The first is Jöreskog's, and nearly
        always enough; others have random noise variances.
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
        Draws the further starts and the chains.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Loadings, in the units of the columns; posterior means for the last two solvers, here and below.
    noise_variance_ : ndarray of shape (n_features,)
        Variance of each column's noise; 0 for a constant column.
    mean_ : ndarray of shape (n_features,)
        Estimated mean of each column.
    loadings_ : ndarray of shape (n_features, n_components)
        Standardised loadings: of columns with variance 1.
    loading_errors_ : ndarray of shape (n_features, n_components)
        Standard errors of these, computed when they are asked for: from the expected information and the delta method,
        or from the observed information with missing values. NaN for constant columns, where a noise variance is at
        its floor, where the factors are not determined, and for more than 500 parameters. Posterior standard deviations
        for the last two solvers.
    communalities_ : ndarray of shape (n_features,)
        Share of each column's variance that the factors explain.
    uniquenesses_ : ndarray of shape (n_features,)
        Share of each column's variance that is noise.
    factor_correlations_ : ndarray of shape (n_components, n_components)
        Correlations of the factors; the identity unless the rotation is oblique.
    chi2_ : float
        Test statistic of the hypothesis that the number of factors is sufficient, with Bartlett's correction; NaN
        with missing values, with as few rows as columns, or without degrees of freedom.
    dof_ : float
        Its degrees of freedom. If they are negative, the factors are not determined.
    p_value_ : float
        Its p-value.
    lower_bound_ : float or None
        Of "variational_bayes": the bound on the log evidence.
    draws_ : FactorDraws or None
        Of "gibbs": the draws, all turned to the fitted loadings.
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
        Free parameters: means, noise variances, and loadings up to a rotation.
    n_components_ : int
        Number of factors.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    MixtureOfFactorAnalyzers : Groups of rows, each with factors of its own.
    LatentTrait : Factors behind items with a few answers.
    fewer.extract.ReconstructionPCA : Directions of most variance.

    Notes
    -----
    Any rotation of the factors fits as well, so draws are turned to one set of loadings before they are averaged.
    Variational Bayes describes one of all rotations, so its bound lies below the evidence by more the more factors
    there are; its posterior means are good, but its posterior variances are too small [1]_.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83. Springer.
    .. [2] Jöreskog, K. G. (1967). Some contributions to maximum likelihood factor analysis. Psychometrika 32, 443-482.
    .. [3] Bernaards, C. A. and Jennrich, R. I. (2005). Gradient projection algorithms and software for arbitrary
       rotation criteria in factor analysis. Educational and Psychological Measurement 65, 676-696.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(500, 2))
    >>> X = ability @ [[2, 2, 2, 0, 0, 0], [0, 0, 0, 1, 1, 1]] + rng.normal(size=(500, 6))
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> model = FactorAnalysis(2, rotation="varimax").fit(X)
    >>> np.abs(model.loadings_).round(1)
    array([[0.9, 0. ],
           [0.9, 0. ],
           [0.9, 0. ],
           [0. , 0.7],
           [0. , 0.7],
           [0. , 0.7]])
    """

    _parameter_constraints = {
        **LatentModel._parameter_constraints,
        **BayesianSolvers._parameter_constraints,
        "rotation": [StrOptions(set(ROTATIONS)), None],
        "noise_floor": [Interval(Real, 0, 1, closed="neither")],
        "loading_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        rotation=None,
        noise_floor=1e-5,
        solver="em",
        loading_precision_prior=1.0,
        mean_precision_prior=0.1,
        degrees_of_freedom_prior=1.0,
        n_init=1,
        max_iter=1000,
        tol=1e-8,
        n_draws=1000,
        n_burn_in=500,
        thin=1,
        n_chains=2,
        random_state=None,
    ):
        self.n_components = n_components
        self.rotation = rotation
        self.noise_floor = noise_floor
        self.solver = solver
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
        """Estimate loadings and noise variances.

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
        X, weights = weighted_rows(self, X, sample_weight)
        self._offset, self._unit = observed_units(X, weights, self._column_name)
        used = self._unit > 0
        if self.n_components > used.sum():
            raise ValueError(
                f"n_components={self.n_components} factors of n_features = {X.shape[1]} columns, of which {used.sum()} "
                "vary: there cannot be more factors than columns that vary."
            )
        standard = (X if used.all() else X[:, used]) - self._offset[used]
        standard /= self._unit[used]
        if self.solver == "gibbs":
            standard = sorted_repetitions(standard, weights)
            weights = np.ones(len(standard))
        rows = rows_of(standard, weights)
        product = product_of(rows) if rows.observed is None else None
        n_starts = 0

        def run(random, on_step):
            nonlocal n_starts
            noise = random.uniform(0.1, 0.9, used.sum()) if n_starts else None
            n_starts += 1
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            if self.solver == "em":
                return fitted_factors(rows, product, self.n_components, noise, self.noise_floor, **limits)
            start = starting_belief(rows, self._start(rows, product, noise), priors)
            return climb(start, lambda belief: variational_step(rows, priors, belief), **limits)

        priors = Priors(
            float(self.loading_precision_prior), float(self.mean_precision_prior), float(self.degrees_of_freedom_prior)
        )
        self.draws_: FactorDraws | None = None
        self.lower_bound_ = None
        self._belief: list[np.ndarray] = []
        self._drawn_loadings: np.ndarray | None = None
        in_units = rows.total * np.log(self._unit[used]).sum()
        if rows.observed is not None:
            counts = np.bincount(rows.pattern, weights=weights) @ rows.observed
            in_units = float(counts @ np.log(self._unit[used]))
        self._log_units = in_units
        if self.solver == "gibbs":

            def start_of_chain(random: np.random.RandomState) -> Factors:
                return drawn_factors(starting_belief(rows, self._start(rows, product, None), priors), random)

            self._fit_chains(X, start_of_chain, lambda model, random: gibbs_sweep(rows, priors, model, random))
        else:
            self._fit_starts(run, X)
        self.objective_path_, self.objectives_ = self.objective_path_ - in_units, self.objectives_ - in_units
        if self.solver == "variational_bayes":
            self.lower_bound_ = variational_step(rows, priors, Regressions(*self._belief))[1] - in_units
        self._total = rows.total
        self._patterns = None if rows.observed is None else pattern_moments(rows)
        self._complete = rows.observed is None
        self._test_of_fit(rows, product if self.solver == "em" else None)
        self._warn_of_problems(used)
        return self

    def _start(self, rows: Rows, product: Product | None, noise: np.ndarray | None) -> Factors:
        """A rough maximum of the likelihood."""
        limits: dict[str, Any] = {"max_iter": 30, "tol": 1e-3, "on_step": lambda: False}
        return fitted_factors(rows, product, self.n_components, noise, LEAST_NOISE, **limits).state

    @property
    def loading_errors_(self) -> np.ndarray:
        """Standard errors of ``loadings_``, from the expected information, or the observed one with missing values."""
        check_is_fitted(self)
        used, unit = self._unit > 0, self._unit[self._unit > 0]
        p, q = int(used.sum()), self.n_components_
        found = np.full(self.loadings_.shape, np.nan)
        if self._drawn_loadings is not None:
            found[used] = self._drawn_loadings
            return found
        at_floor = (self.uniquenesses_[used] <= 1.01 * self.noise_floor).any()
        if p * (q + 1) > MOST_PARAMETERS or self.dof_ < 0 or at_floor or not (self._complete or self._patterns):
            return found
        mean = (self.mean_ - self._offset)[used] / unit
        W = (self.components_.T @ self._turn)[used] / unit[:, None]
        model = Factors(mean, W, self.noise_variance_[used] / unit**2)
        information = (
            expected_information(model, self._total)
            if self._patterns is None
            else observed_information(model, PatternMoments(*self._patterns))
        )
        found[used] = loading_errors(model, information, self.rotation)
        return found

    def _keep(self, state: Factors | Regressions) -> None:
        if isinstance(state, Factors):
            self._keep_factors(state)
            return
        self._belief = list(state)
        self._keep_factors(expected_factors(state))
        random = np.random.RandomState(0)
        drawn = [standardised(drawn_factors(state, random)) for _ in range(_DRAWN_ERRORS)]
        self._drawn_loadings = (np.array(drawn) @ np.linalg.inv(self._turn)).std(axis=0)

    def _keep_draws(self, draws: list[Factors], logs: np.ndarray) -> None:
        """Turn all draws to one set of loadings, whose mean is kept."""
        found = aligned_draws(draws, int(np.argmax(logs)))
        self._keep_factors(Factors(*(each.mean(axis=0) for each in found)))
        back = np.linalg.inv(self._turn)
        self._drawn_loadings = (standardised(found) @ back).std(axis=0)
        used, unit = self._unit > 0, self._unit[self._unit > 0]
        kept = FactorDraws(
            np.tile(self._offset, (len(draws), 1)),
            np.zeros((len(draws), *self.components_.shape)),
            np.zeros((len(draws), len(used))),
            logs - self._log_units,
        )
        kept.means[:, used] += found.mean * unit
        kept.components[:, :, used] = np.swapaxes(found.loadings @ back, 1, 2) * unit
        kept.noise_variances[:, used] = found.noise * unit**2
        self.draws_ = kept

    def _drawn_models(self, n_draws: int, random_state: Any) -> Iterable[Factors]:
        """Draws from the posterior, for standardised rows about the fitted means."""
        used, unit = self._unit > 0, self._unit[self._unit > 0]
        shift = (self.mean_ - self._offset)[used] / unit
        if self.draws_ is None:
            random, belief = check_random_state(random_state), Regressions(*self._belief)
            drawn = (drawn_factors(belief, random) for _ in range(n_draws))
            return (each._replace(mean=each.mean - shift) for each in drawn)
        places = self._picked_draws(n_draws)
        means = (self.draws_.means[places] - self.mean_)[:, used] / unit
        loadings = np.swapaxes(self.draws_.components[places][:, :, used] / unit, 1, 2) @ self._turn
        noise = self.draws_.noise_variances[places][:, used] / unit**2
        return map(Factors, means, loadings, noise)

    def _log_likelihoods(self, X: Any, n_draws: int, random_state: Any) -> Iterable[np.ndarray]:
        _, rows, _ = self._posterior(X)
        units = self._log_units_of(rows)
        return (posterior(rows, each).log_likelihoods - units for each in self._drawn_models(n_draws, random_state))

    def _deviances(self, X: Any, n_draws: int, random_state: Any) -> tuple[Iterable[float], float]:
        _, rows, found = self._posterior(X)
        units = 2 * float(self._log_units_of(rows).sum())

        def deviance(model: Factors) -> float:
            return units - 2 * float(posterior(rows, model).log_likelihoods.sum())

        return map(deviance, self._drawn_models(n_draws, random_state)), units - 2 * float(found.log_likelihoods.sum())

    def log_evidence(self):
        """Bound on the log evidence of "variational_bayes".

        Returns
        -------
        log_evidence : float
            More is better. It describes one of all rotations of the factors, and so prefers fewer of them.
        """
        check_is_fitted(self)
        if self.lower_bound_ is None:
            raise ValueError("Only solver='variational_bayes' has a bound on the evidence.")
        return float(self.lower_bound_)

    def _keep_factors(self, state: Factors) -> None:
        used, unit = self._unit > 0, self._unit
        p, q = len(used), state.loadings.shape[1]
        deviations = np.sqrt(np.sum(state.loadings**2, axis=1) + state.noise)
        found = rotated(state.loadings / deviations[:, None], self.rotation)
        self.loadings_ = np.zeros((p, q))
        self.loadings_[used] = found.loadings
        self._turn, self.factor_correlations_ = found.turn, found.correlations
        self.uniquenesses_ = np.ones(p)
        self.uniquenesses_[used] = state.noise / deviations**2
        self.communalities_ = 1 - self.uniquenesses_
        self.components_ = np.zeros((q, p))
        self.components_[:, used] = found.loadings.T * (deviations * unit[used])
        self.noise_variance_ = np.zeros(p)
        self.noise_variance_[used] = state.noise * unit[used] ** 2
        self.mean_ = self._offset.copy()
        self.mean_[used] += state.mean * unit[used]
        self.n_components_ = q
        self.n_parameters_ = int(used.sum() * (q + 2) - q * (q - 1) // 2)
        self.score_type_ = "log-likelihood"

    def _test_of_fit(self, rows: Rows, product: Product | None) -> None:
        (n, p), q = rows.X.shape, self.n_components_
        self.dof_ = float((p - q) ** 2 - (p + q)) / 2
        self.chi2_ = self.p_value_ = np.nan
        if product is None or product.S is None or rows.total <= p + 1 or n <= p or self.dof_ <= 0:
            return
        sign, log_det = np.linalg.slogdet(product.S)
        if sign > 0:
            in_units = 2 * np.log(self._unit[self._unit > 0]).sum()
            at_best = -2 * self.objective_path_[-1] / rows.total - p * np.log(2 * np.pi) - p
            factor = rows.total - 1 - (2 * p + 5) / 6 - 2 * q / 3
            self.chi2_ = float(max(factor * (at_best - log_det - in_units), 0.0))
            self.p_value_ = float(chi2.sf(self.chi2_, self.dof_))

    def _warn_of_problems(self, used: np.ndarray) -> None:
        warn_of_undetermined_loadings(self.n_components_, int(used.sum()))
        at_floor = np.flatnonzero(used & (self.uniquenesses_ <= 1.01 * self.noise_floor))
        if self.solver == "em" and len(at_floor):
            names = listed([self._column_name(column) for column in at_floor[:5]])
            more = "" if len(at_floor) <= 5 else f" and {len(at_floor) - 5} more"
            warn_caller(
                f"Heywood case: the noise variance of {names}{more} fell to noise_floor={self.noise_floor:g} of the "
                "column's variance, so the factors reproduce the column exactly. Take fewer factors, leave out columns "
                "that repeat others, or raise noise_floor."
            )
        if not used.all():
            names = listed([self._column_name(column) for column in np.flatnonzero(~used)[:5]])
            warn_caller(f"{counted(int((~used).sum()), 'column')} without variance ({names}): loadings there are 0.")

    def _posterior(self, X: Any):
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        used = self._unit > 0
        unit = self._unit[used]
        standard = np.ascontiguousarray(X if used.all() else X[:, used], dtype=np.float64) - self.mean_[used]
        standard /= unit
        rows = rows_of(standard, np.ones(len(X)))
        W = (self.components_.T @ self._turn)[used] / unit[:, None]
        model = Factors(np.zeros(used.sum()), W, self.noise_variance_[used] / unit**2)
        return X, rows, posterior(rows, model)

    def transform(self, X):
        """Factor scores: posterior means of the factors, given what is observed of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN for missing values. A row without any observed value has scores of 0.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores by Thomson's regression method.
        """
        X, _, found = self._posterior(X)
        return (found.means @ self._turn.T).astype(X.dtype)

    def inverse_transform(self, X):
        """Columns that the model expects, given factor scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Factor scores.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Expected rows.
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.components_ + self.mean_

    def score_samples(self, X):
        """Log-likelihood of what is observed of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN for missing values.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better. Constant columns of the training table do not count.
        """
        _, rows, found = self._posterior(X)
        return found.log_likelihoods - self._log_units_of(rows)

    def _log_units_of(self, rows: Rows) -> np.ndarray:
        """Logarithms of the units of what each row observes, added up."""
        logs = np.log(self._unit[self._unit > 0])
        return np.full(len(rows.X), logs.sum()) if rows.observed is None else (rows.observed @ logs)[rows.pattern]

    def get_covariance(self):
        """Covariance of the columns by the model.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            ``W Phi W' + Psi``.
        """
        check_is_fitted(self)
        return self.components_.T @ self.factor_correlations_ @ self.components_ + np.diag(self.noise_variance_)

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
        factors = random.standard_normal((n_samples, self.n_components_)) @ self._turn.T
        noise = random.standard_normal((n_samples, len(self.mean_))) * np.sqrt(self.noise_variance_)
        return self.mean_ + factors @ self.components_ + noise

    def loadings_table(self, *, threshold=0.1):
        """The table of loadings, as it is published.

        Parameters
        ----------
        threshold : float, default=0.1
            Smaller loadings are not printed.

        Returns
        -------
        table : LoadingsTable
            Prints itself; ``plot()`` draws it.
        """
        check_is_fitted(self)
        names = [str(name) for name in check_feature_names_in(self)]
        return LoadingsTable(
            names,
            self.loadings_,
            self.loading_errors_,
            self.communalities_,
            self.uniquenesses_,
            self.factor_correlations_,
            self.rotation,
            self.chi2_,
            self.dof_,
            self.p_value_,
            threshold,
            "standard errors" if self._drawn_loadings is None else "posterior standard deviations",
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
