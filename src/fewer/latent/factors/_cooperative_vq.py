"""Cooperative vector quantisation as an estimator. The mathematics is in `_causes`."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, validated
from fewer.catalogue import method
from fewer.latent._bayesian_solvers import sorted_repetitions
from fewer.latent._latent_model import Climb, LatentModel, climb, warn_of_odd_rows, weighted_rows
from fewer.latent.factors._causes import (
    MOST_COMBINATIONS,
    Causes,
    Expected,
    Table,
    aligned,
    centred,
    drawn_causes,
    drawn_states,
    exact_expectations,
    maximised,
    starting_causes,
    table_of,
    variational_expectations,
)
from fewer.latent.factors._factor_model import observed_units


class CauseDraws(NamedTuple):
    """Draws from the posterior, with causes and states in the same order in all of them.

    Codebooks (draws, causes, states, columns) about the mean of the rows, in the units of the columns; probabilities
    of states (draws, causes, states); and noise variances (draws, columns).
    """

    codebooks: np.ndarray
    priors: np.ndarray
    noise_variances: np.ndarray


@method(
    tasks=["unsupervised"],
    when="Numbers that several hidden switches explain together, each adding a pattern of its own: combinations of "
    "faults, active pathways, ingredients. One switch is a mixture; use this where their combinations are too many for "
    "one.",
    cost="O(n p s^m) time an iteration for m causes with s states, or O(n p m s) by variational inference",
    paper="latent-structure",
    aliases=["CVQ", "factorial mixture", "multiple cause model"],
    examples=lambda: [
        CooperativeVQ(2, n_init=1, max_iter=15, tol=1e-4),
        CooperativeVQ(2, solver="variational_em", n_init=2, max_iter=15, tol=1e-4),
        CooperativeVQ(2, solver="gibbs", n_draws=10, n_burn_in=5, n_init=1),
    ],
)
class CooperativeVQ(LatentModel):
    """Several discrete causes that add up behind each row (cooperative vector quantisation).

    Each of ``n_components`` independent causes is in one of ``n_levels`` states, which adds its vector to the row; the
    rest is noise.

    Parameters
    ----------
    n_components : int, default=2
        Number of causes.
    n_levels : int, default=2
        States of each cause.
    solver : {"auto", "em", "variational_em", "gibbs"}, default="auto"
        "em" sums over all combinations of states; "variational_em" maximises a lower bound of the likelihood, by
        causes that are independent given the row; "gibbs" draws states and parameters from their posterior. "auto"
        takes "em" for up to 1,024 combinations, and "variational_em" otherwise.
    noise_floor : float, default=1e-4
        No noise variance is below this share of the column's variance.
    n_init : int, default=10
        Number of starts, or of chains; the best is kept.
    max_iter : int, default=1000
        Maximum number of iterations of "em" and "variational_em".
    tol : float, default=1e-8
        Stop when the objective changes by less than this share of its size.
    n_draws : int, default=500
        Draws of "gibbs" that are kept.
    n_burn_in : int, default=200
        First draws of "gibbs", which are not used.
    random_state : int, RandomState instance or None, default=None
        Draws the starts and the chains.

    Attributes
    ----------
    codebooks_ : ndarray of shape (n_components, n_levels, n_features)
        What each state of each cause adds to the mean of the rows; posterior means for "gibbs".
    components_ : ndarray of shape (n_components * n_levels, n_features)
        The same, states of the first cause first.
    state_probabilities_ : ndarray of shape (n_components, n_levels)
        Probability of each state; the most likely state of each cause comes first.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows by the model.
    noise_variance_ : ndarray of shape (n_features,)
        Variance of each column's noise.
    solver_ : str
        The solver that was used.
    log_likelihood_ : float
        Of the training rows, exact; NaN for more than 1,024 combinations.
    lower_bound_ : float
        Variational bound on it at the same parameters.
    draws_ : CauseDraws or None
        Of "gibbs": draws of the parameters.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood or bound at the beginning of each iteration; for "gibbs" the log-likelihood given the states.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start; the mean over its draws for "gibbs".
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood", or "lower bound" for more than 1,024 combinations.
    n_parameters_ : int
        Free parameters: mean, codebooks and probabilities up to a constant for each cause, noise variances.
    n_components_ : int
        Number of causes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LatentProfile : A single cause.
    FactorAnalysis : Causes that are numbers.

    Notes
    -----
    Missing values are left out of the likelihood, which is exact where values are missing at random. There are many
    local optima: ``objectives_`` shows how often the best was reached.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83. Springer.
    .. [2] Ghahramani, Z. (1995). Factorial learning and the EM algorithm. Advances in Neural Information Processing
       Systems 7, 617-624.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import CooperativeVQ
    >>> rng = np.random.default_rng(0)
    >>> switches = rng.random((300, 2)) < [0.5, 0.3]
    >>> X = switches @ [[3, 3, 0, 0], [0, 2, 2, 2]] + 0.5 * rng.normal(size=(300, 4))
    >>> model = CooperativeVQ(2, random_state=0).fit(X)
    >>> steps = model.codebooks_[:, 1] - model.codebooks_[:, 0]
    >>> np.sort(np.abs(steps).round(), axis=0)
    array([[0., 2., 0., 0.],
           [3., 3., 2., 2.]])
    """

    _parameter_constraints = {
        **LatentModel._parameter_constraints,
        "n_levels": [Interval(Integral, 2, None, closed="left")],
        "solver": [StrOptions({"auto", "em", "variational_em", "gibbs"})],
        "noise_floor": [Interval(Real, 0, 1, closed="neither")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_burn_in": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        n_levels=2,
        *,
        solver="auto",
        noise_floor=1e-4,
        n_init=10,
        max_iter=1000,
        tol=1e-8,
        n_draws=500,
        n_burn_in=200,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_levels = n_levels
        self.solver = solver
        self.noise_floor = noise_floor
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_draws = n_draws
        self.n_burn_in = n_burn_in
        self.random_state = random_state

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Estimate what the states of the causes add.

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
        self.solver_ = self._chosen_solver()
        if self.solver_ == "gibbs":
            X = sorted_repetitions(X, weights)
            weights = np.ones(len(X))
        self._offset, unit = observed_units(X, weights, self._column_name)
        self._unit = np.where(unit > 0, unit, 1.0)
        warn_of_odd_rows(self, X, self.n_levels, "n_levels")
        table = table_of((X - self._offset) / self._unit, weights)
        self._table = table
        try:
            if self.solver_ == "gibbs":
                n_steps = self.n_burn_in + self.n_draws
                self._fit_starts(lambda random, on_step: self._chain(table, random, on_step), X, n_steps=n_steps)
            else:
                self._fit_starts(lambda random, on_step: self._climbed(table, random, on_step), X)
        finally:
            del self._table
        in_units = float(weights @ (table.observed @ np.log(self._unit)))
        self.objective_path_, self.objectives_ = self.objective_path_ - in_units, self.objectives_ - in_units
        return self

    def _chosen_solver(self) -> str:
        few = self._is_small()
        if self.solver == "auto":
            return "em" if few else "variational_em"
        if self.solver == "em" and not few:
            raise ValueError(
                f"{self.n_components} causes with {self.n_levels} states have more than {MOST_COMBINATIONS:,} "
                "combinations, too many for solver='em': use 'variational_em' or 'gibbs'."
            )
        return self.solver

    def _is_small(self) -> bool:
        return self.n_components * np.log(self.n_levels) <= np.log(MOST_COMBINATIONS) + 1e-9

    def _start(self, table: Table, random: np.random.RandomState) -> Causes:
        return starting_causes(table, self.n_components, self.n_levels, self.noise_floor, random)

    def _climbed(self, table: Table, random: np.random.RandomState, on_step: Any) -> Climb:
        def step(state: tuple[Causes, np.ndarray | None]) -> tuple[tuple[Causes, np.ndarray | None], float]:
            causes, means = state
            if self.solver_ == "em":
                found = exact_expectations(table, causes)
            else:
                found = variational_expectations(table, causes, means)
            after = maximised(table, found, causes.codebooks.shape, self.noise_floor)
            return (after, found.means), float(table.weights @ found.log_likelihoods)

        limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
        found = climb((self._start(table, random), None), step, **limits)
        return found._replace(state=(found.state[0], None))

    def _chain(self, table: Table, random: np.random.RandomState, on_step: Any) -> Climb:
        """Draws of one chain, which starts where a few steps of variational EM end."""
        causes = self._start(table, random)
        found: Expected | None = None
        for _ in range(10):
            found = variational_expectations(table, causes)
            causes = maximised(table, found, causes.codebooks.shape, self.noise_floor)
        M, S = causes.priors.shape
        assert found is not None
        states = found.means.reshape(-1, M, S).argmax(axis=2)
        kept, path, stopped = [], [], False
        for number in range(self.n_burn_in + self.n_draws):
            states = drawn_states(table, causes, states, random)
            causes = drawn_causes(table, states, causes, self.noise_floor, random)
            fitted = sum(causes.codebooks[m][states[:, m]] for m in range(M))
            squares = table.observed * (np.log(2 * np.pi * causes.noise) + (table.X - fitted) ** 2 / causes.noise)
            path.append(float(-table.weights @ squares.sum(axis=1) / 2))
            stopped = on_step()
            if number >= self.n_burn_in or stopped:
                kept.append((path[-1], centred(causes)))
            if stopped:
                break
        mode = max(kept, key=lambda each: each[0])[1][1]
        draws = [(mean, aligned(each, mode)) for _, (mean, each) in kept]
        worth = float(np.mean(path[-len(kept) :]))
        return Climb((None, draws), np.array(path), not stopped, stopped, worth)

    def _keep(self, state: tuple[Causes | None, list[tuple[np.ndarray, Causes]] | None]) -> None:
        fitted, draws = state
        self.draws_: CauseDraws | None = None
        if fitted is not None:
            mean, causes = centred(fitted)
        else:
            assert draws is not None
            mean = np.mean([each for each, _ in draws], axis=0)
            parts = [np.array(part) for part in zip(*(each for _, each in draws), strict=True)]
            causes = Causes(*(part.mean(axis=0) for part in parts))
        order = np.argsort(-causes.priors, axis=1, kind="stable")
        codebooks = np.take_along_axis(causes.codebooks, order[:, :, None], axis=1)
        strength = np.einsum("ms,msp->m", np.take_along_axis(causes.priors, order, axis=1), codebooks**2)
        first = np.argsort(-strength, kind="stable")
        if draws is not None:
            ordered = np.take_along_axis(parts[0], order[None, :, :, None], axis=2)[:, first]
            probabilities = np.take_along_axis(parts[1], order[None], axis=2)[:, first]
            self.draws_ = CauseDraws(ordered * self._unit, probabilities, parts[2] * self._unit**2)
        self.codebooks_ = codebooks[first] * self._unit
        self.state_probabilities_ = np.take_along_axis(causes.priors, order, axis=1)[first]
        self.mean_ = self._offset + mean * self._unit
        self.noise_variance_ = causes.noise * self._unit**2
        M, S, p = codebooks.shape
        self.components_ = self.codebooks_.reshape(M * S, p)
        self.n_components_ = M
        self.n_parameters_ = int(p + M * (S - 1) * (p + 1) + p)
        self.score_type_ = "log-likelihood" if self._is_small() else "lower bound"
        table, kept = self._table, self._causes()
        in_units = float(table.weights @ (table.observed @ np.log(self._unit)))
        self.lower_bound_ = float(table.weights @ variational_expectations(table, kept).log_likelihoods) - in_units
        self.log_likelihood_ = np.nan
        if self._is_small():
            self.log_likelihood_ = float(table.weights @ exact_expectations(table, kept).log_likelihoods) - in_units

    def _causes(self) -> Causes:
        """The fitted causes in standard units; the mean belongs to the first."""
        codebooks = self.codebooks_ / self._unit
        codebooks[0] += (self.mean_ - self._offset) / self._unit
        return Causes(codebooks, self.state_probabilities_, self.noise_variance_ / self._unit**2)

    def _expected(self, X: Any) -> tuple[Expected, Table, Any]:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        table = table_of((X.astype(np.float64) - self._offset) / self._unit, np.ones(len(X)))
        expectations = exact_expectations if self._is_small() else variational_expectations
        return expectations(table, self._causes()), table, X.dtype

    def transform(self, X):
        """Posterior probabilities of the states of all causes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN for missing values.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components * n_levels)
            States of the first cause first; those of each cause sum to 1.
        """
        found, _, dtype = self._expected(X)
        return found.means.astype(dtype)

    def predict(self, X):
        """The most likely state of each cause.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN for missing values.

        Returns
        -------
        states : ndarray of shape (n_samples, n_components)
            Numbers from 0 on, in the order of ``codebooks_``.
        """
        found, _, _ = self._expected(X)
        return found.means.reshape(-1, *self.state_probabilities_.shape).argmax(axis=2)

    def inverse_transform(self, X):
        """Rows that the model expects, given probabilities of the states.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components * n_levels)
            Probabilities of the states, as ``transform`` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Expected rows.
        """
        check_is_fitted(self)
        return self.mean_ + np.asarray(X) @ self.components_

    def score_samples(self, X):
        """Log-likelihood of what is observed of each row, or a lower bound on it; ``score_type_`` says which.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN for missing values.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better.
        """
        found, table, _ = self._expected(X)
        return found.log_likelihoods - table.observed @ np.log(self._unit)

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
        X = self.mean_ + random.standard_normal((n_samples, len(self.mean_))) * np.sqrt(self.noise_variance_)
        for own, chances in zip(self.codebooks_, self.state_probabilities_, strict=True):
            X = X + own[random.choice(len(chances), n_samples, p=chances / chances.sum())]
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
