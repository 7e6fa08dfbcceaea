"""Hidden Markov models: rows in time order, each drawn in a state that is not observed and follows a Markov chain.

    log p(x) = log sum_z s_{z_1} prod_t A_{z_t z_{t+1}} prod_t g(x_t | z_t),

maximised by EM (`_state_model`), or with conjugate priors by variational Bayes or Gibbs sampling (`_conjugate`).
"""

from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, fit_context
from fewer.catalogue import method
from fewer.latent._bayesian_solvers import BayesianSolvers, deviance_criterion, matched_orders, refuse_fractions
from fewer.latent._latent_model import climb
from fewer.latent.chains._conjugate import (
    Belief,
    NormalGamma,
    PriorStrength,
    Table,
    belief_from_inference,
    conjugate_rows,
    drawn_chain,
    expected_chain,
    gibbs_sweep,
    variational_step,
)
from fewer.latent.chains._forward_backward import Chain, ChainState, forward_backward
from fewer.latent.chains._state_model import ChainModel, em_step, sequence_weights, starting_state


class ChainDraws(NamedTuple):
    """Draws from the posterior, with states in the same order in all of them.

    Probabilities of the first state (draws, K), transition matrices (draws, K, K), what the rows look like in the
    states, and log-likelihoods (chains, draws of each chain). ``parameters`` are those of the fitted attributes, with
    the draws first: means and covariances, one table of the probabilities of all categories (draws, categories, K), or
    means.
    """

    start_probabilities: np.ndarray
    transition_matrices: np.ndarray
    parameters: list[np.ndarray]
    log_likelihoods: np.ndarray


def repeated_sequences(rows: Any, indptr: np.ndarray, weights: np.ndarray) -> tuple[Any, np.ndarray, None]:
    """Rows with each sequence as often as its weight says, and where these begin: a draw is for a single row."""
    refuse_fractions(weights)
    times = weights.astype(np.int64)
    parts = [np.tile(np.arange(a, b), n) for a, b, n in zip(indptr[:-1], indptr[1:], times, strict=True)]
    index = np.concatenate(parts)
    found = type(rows)(*(each[index] if isinstance(each, np.ndarray) else each for each in rows))
    return found, np.concatenate([[0], np.cumsum(np.repeat(np.diff(indptr), times))]), None


@method(
    tasks=["unsupervised"],
    when="Rows in time order (sensors, visits, words, returns) that switch between a few regimes, which stay for a "
    "while or follow each other; one long sequence or many short ones, with missing values.",
    cost="O(n (k^2 + k p)) time an iteration; full covariances O(n k p^2)",
    paper="latent-structure",
    examples=lambda: [
        HiddenMarkov(2, n_init=1, max_iter=30, tol=1e-3),
        HiddenMarkov(2, covariance_type="full", n_init=2, max_iter=30, tol=1e-3),
        HiddenMarkov(2, solver="variational_bayes", n_init=1, max_iter=30, tol=1e-3),
        HiddenMarkov(2, solver="gibbs", n_draws=20, n_burn_in=10, n_chains=1),
    ],
)
class HiddenMarkov(BayesianSolvers, ChainModel):
    """Hidden Markov model: states that follow each other, and rows drawn in them.

    Parameters
    ----------
    n_components : int, default=2
        Number of states.
    emission : {"gaussian", "categorical", "bernoulli", "poisson"}, default="gaussian"
        Distribution of a row given its state. "categorical" takes text and numbers as they are, column by column;
        "bernoulli" takes 0 and 1, "poisson" counts.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="diag"
        With "gaussian": a covariance for each state, one for all, variances only, or one variance in units of each
        column's own.
    reg_covar : float, default=1e-6
        With "gaussian" and "em": added to the variances, as a share of the variance of a column.
    solver : {"em", "variational_bayes", "gibbs"}, default="em"
        Maximum likelihood; posteriors of all parameters with a lower bound on the evidence; or draws from the
        posterior. The last two take normal rows with ``covariance_type`` "diag" or "spherical".
    weight_concentration_prior : float, default=1.0
        Parameter of the Dirichlet priors of the first state and of those after each state, for the last two solvers.
    category_prior : float, default=1.0
        The same for the categories of a column, with "categorical" and "bernoulli".
    mean_precision_prior : float, default=0.1
        How many rows the prior counts for, by which means (with "gaussian") and rates (with "poisson") are expected at
        the mean of the column.
    degrees_of_freedom_prior : float, default=2.0
        The same for variances, which are expected at that of the column.
    n_init : int, default=10
        Number of starts of "em" and "variational_bayes": the first from k-means, others at random; the one with the
        largest objective is kept.
    max_iter : int, default=1000
        Maximum number of iterations.
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
    start_probabilities_ : ndarray of shape (n_components,)
        Probability of each state at the beginning of a sequence.
    transition_matrix_ : ndarray of shape (n_components, n_components)
        Probability of the state in the column after that in the row.
    weights_ : ndarray of shape (n_components,)
        Share of rows in each state; states are sorted by it.
    means_ : ndarray of shape (n_components, n_features) or None
        Means, or probabilities of a 1, or rates; None for "categorical".
    covariances_ : ndarray or None
        With "gaussian": shape (n_components, n_features, n_features) for "full", (n_features, n_features) for "tied",
        (n_components, n_features) otherwise.
    probabilities_ : list of ndarray of shape (n_components, n_categories) or None
        With "categorical": probabilities of the categories of each column.
    categories_ : list of ndarray or None
        With "categorical": the categories of each column.
    lower_bound_ : float or None
        Of "variational_bayes": the bound on the log evidence. All other attributes are posterior means then.
    draws_ : ChainDraws or None
        Of "gibbs": the draws, with states in the same order in all of them.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood, less what ``reg_covar`` costs, at the beginning of each iteration; the bound for
        "variational_bayes", and log-likelihoods of the draws of the first chain for "gibbs".
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
        Number of states.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    plot_states : Draws the states over time.
    select_n_components : Chooses the number of states.

    Notes
    -----
    Several sequences are told apart by ``groups``, the label of the sequence of each row, as in scikit-learn's
    splitters; so that they can be cut into folds, and passed through a pipeline by metadata routing. Rows of one
    sequence are in time order, and need not be next to each other. From lengths of sequences, as other packages take
    them, ``groups`` is ``np.repeat(np.arange(len(lengths)), lengths)``.

    A missing value (NaN, or None in a column of text) is left out of the density of its row; this is exact where values
    are missing at random. A row without any value keeps the time step.

    ``sample_weight`` weighs sequences: all rows of a sequence have the same; whole numbers for
    "gibbs".

    Variational Bayes has good posterior means, but its posterior variances are too small [1]_.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83.
    .. [2] Rabiner, L. R. (1989). A tutorial on hidden Markov models and selected applications in speech recognition.
       Proceedings of the IEEE 77, 257-286.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import HiddenMarkov
    >>> rng = np.random.default_rng(0)
    >>> regime = np.repeat([0, 1, 0, 1], [60, 30, 70, 40])
    >>> X = rng.normal(scale=np.where(regime, 3.0, 1.0))[:, None]
    >>> X[100:105] = np.nan
    >>> model = HiddenMarkov(2, random_state=0).fit(X)
    >>> np.sqrt(model.covariances_).round(1).ravel()
    array([0.9, 3. ])
    >>> float(np.mean(model.predict(X) == regime))
    0.99
    """

    _parameter_constraints = {
        **ChainModel._parameter_constraints,
        **BayesianSolvers._parameter_constraints,
        "emission": [StrOptions({"gaussian", "categorical", "bernoulli", "poisson"})],
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "weight_concentration_prior": [Interval(Real, 0, None, closed="neither")],
        "category_prior": [Interval(Real, 0, None, closed="neither")],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        emission="gaussian",
        covariance_type="diag",
        reg_covar=1e-6,
        solver="em",
        weight_concentration_prior=1.0,
        category_prior=1.0,
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
        self.emission = emission
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.solver = solver
        self.weight_concentration_prior = weight_concentration_prior
        self.category_prior = category_prior
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
    def fit(self, X, y=None, sample_weight=None, groups=None):
        """Fit the chain and the distributions of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the sequences: all rows of a sequence have the same.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_solver()
        rows, sequences = self._learnt(X, groups)
        weights = sequence_weights(sample_weight, X, sequences)
        emission, indptr = self._emission, sequences.indptr
        if self.solver == "gibbs" and weights is not None:
            rows, indptr, weights = repeated_sequences(rows, indptr, weights)
        n_starts = 0

        def start(random):
            nonlocal n_starts
            n_starts += 1
            return starting_state(emission, rows, self.n_components, random, spread=n_starts > 1)

        if self.solver == "em":
            self._climb_from(start, lambda now: em_step(emission, rows, indptr, weights, now), X)
        else:
            self._fit_posterior(X, rows, self._table(rows, indptr, weights), start)
        return self._in_units(rows, indptr, weights)

    def _climb_from(self, start: Any, step: Any, X: Any) -> None:
        limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        self._fit_starts(lambda random, on_step: climb(start(random), step, on_step=on_step, **limits), X)

    def _fit_posterior(self, X: Any, rows: Any, table: Table, start: Any) -> None:
        """By variational Bayes or Gibbs sampling, from the states that starts of EM expect."""

        def belief(random: np.random.RandomState) -> Belief:
            state = start(random)
            densities = self._emission.log_densities(rows, state.parameters)
            return belief_from_inference(table, forward_backward(densities, state.chain, table.indptr, table.weights))

        def sweep(drawn: ChainState, random: np.random.RandomState) -> tuple[ChainState, ChainState, float]:
            densities = self._emission.log_densities(rows, drawn.parameters)
            after, log_likelihood = gibbs_sweep(table, densities, drawn, random)
            return after, drawn, log_likelihood

        self._training: tuple[Any, Table] = rows, table
        try:
            if self.solver == "gibbs":
                self._fit_chains(X, lambda random: drawn_chain(belief(random), table.rows, random), sweep)
            else:
                self._climb_from(belief, lambda now: variational_step(table, now), X)
        finally:
            del self._training

    def _check_solver(self) -> None:
        if self.solver != "em" and self.emission == "gaussian" and self.covariance_type in ("full", "tied"):
            raise ValueError(
                f"solver={self.solver!r} takes covariance_type='diag' or 'spherical', not "
                f"{self.covariance_type!r}: use one of these, or solver='em'."
            )

    def _table(self, rows: Any, indptr: np.ndarray, weights: np.ndarray | None) -> Table:
        """Rows with their priors."""
        strength = PriorStrength(
            float(self.mean_precision_prior), float(self.degrees_of_freedom_prior), float(self.category_prior)
        )
        conjugate = conjugate_rows(self._emission, rows, strength)
        return Table(conjugate, indptr, weights, float(self.weight_concentration_prior))

    def _keep(self, state: Any) -> None:
        self.draws_: ChainDraws | None = None
        self.lower_bound_ = None
        if self.solver == "em":
            super()._keep(state)
            return
        _, table = self._training
        super()._keep(expected_chain(state, table.rows))
        self.lower_bound_ = variational_step(table, state)[1]
        self._posterior = [state.start, state.transition, list(state.rows), state.weights]

    def _keep_draws(self, draws: list[ChainState], logs: np.ndarray) -> None:
        """Give the states of all draws the order of those of the draw with the largest likelihood."""
        rows, table = self._training

        def posteriors(drawn: ChainState) -> np.ndarray:
            densities = self._emission.log_densities(rows, drawn.parameters)
            return forward_backward(densities, drawn.chain, table.indptr).posteriors

        best = posteriors(draws[int(np.argmax(logs))])
        orders = matched_orders(map(posteriors, draws), best, np.full(len(best), 1 / len(best)))
        starts, transitions, weights, parameters = [], [], [], []
        for drawn, order in zip(draws, orders, strict=True):
            starts.append(drawn.chain.start[order])
            transitions.append(drawn.chain.transition[np.ix_(order, order)])
            weights.append(drawn.weights[order])
            parameters.append(self._emission.ordered(drawn.parameters, order))
        stacked = [np.array(parts) for parts in zip(*parameters, strict=True)]
        chain = Chain(np.mean(starts, axis=0), np.mean(transitions, axis=0))
        mean = ChainState(chain, tuple(each.mean(axis=0) for each in stacked), np.mean(weights, axis=0))
        order = np.argsort(-mean.weights, kind="stable")
        super()._keep_chain(mean, order)
        self.draws_ = ChainDraws(
            np.array(starts)[:, order],
            np.array(transitions)[:, order][:, :, order],
            [each[..., order] if self.emission == "categorical" else each[:, order] for each in stacked],
            logs,
        )

    def _in_units(self, rows: Any, indptr: np.ndarray, weights: np.ndarray | None):
        before = self.objectives_
        super()._in_units(rows, indptr, weights)
        constant = float(self.objectives_[0] - before[0])
        if self.lower_bound_ is not None:
            self.lower_bound_ += constant
        if self.draws_ is not None:
            starts, transitions, parameters, logs = self.draws_
            shown = [self._emission.attributes(each) for each in zip(*parameters, strict=True)]
            names = [name for name in ("means_", "covariances_") if shown[0][name] is not None]
            in_units = [np.array([each[name] for each in shown]) for name in names] or parameters
            self._drawn_parameters = parameters
            self.draws_ = ChainDraws(starts, transitions, in_units, logs + constant)
        return self

    def dic(self, X, groups=None, *, n_draws=500, random_state=0):
        """Deviance information criterion of the observed data, from draws of the posterior: less is better.

        With ``D = -2 log P(X | parameters)``, it is ``mean D + p_D`` with ``p_D = mean D - D(mean parameters)``. It
        shows when there are too few states, but hardly ever when there are too many: empty ones are not penalised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order, as a rule those of the training table.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.
        n_draws : int, default=500
            Number of draws; at most as many as "gibbs" has kept.
        random_state : int, RandomState instance or None, default=0
            Draws them, for "variational_bayes".

        Returns
        -------
        dic : DIC
            ``value``, and ``n_effective``, the effective number of parameters p_D.
        """
        self._check_posterior()
        rows, sequences, units, _ = self._prepared(X, groups)

        def deviance(drawn: ChainState) -> float:
            densities = self._emission.log_densities(rows, drawn.parameters) + units[:, None]
            return -2 * float(forward_backward(densities, drawn.chain, sequences.indptr).scores.sum())

        fitted = ChainState(Chain(*self._chain), self._parameters, self.weights_)
        table = self._table(rows, sequences.indptr, None)
        draws = self._drawn_chains(n_draws, check_random_state(random_state), table)
        return deviance_criterion(map(deviance, draws), deviance(fitted))

    def log_lik(self, X, groups=None, *, n_draws=500, random_state=0):
        """Log-likelihood of each sequence under each draw from the posterior, as ``fewer.evaluate.waic`` takes it.

        The rows of a sequence depend on one another, so that sequences are what can be left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order, as a rule those of the training table.
        groups : array-like of shape (n_samples,)
            The sequence of each row; at least two.
        n_draws : int, default=500
            Number of draws from the posterior of "variational_bayes"; "gibbs" gives all that it has kept.
        random_state : int, RandomState instance or None, default=0
            Draws them, for "variational_bayes".

        Returns
        -------
        log_lik : ndarray of shape (n_chains, n_draws, n_sequences)
            In nats, for ``waic``, ``bayes_loo`` and ``compare_models``; sequences in the order of their first rows.
        """
        self._check_posterior("log_lik")
        rows, sequences, units, _ = self._prepared(X, groups)
        if len(sequences.indptr) < 3:
            raise ValueError(
                "log_lik is by sequences, and X is a single one: give groups. Rows of one sequence depend on one "
                "another, so that they cannot be left out one by one."
            )

        def of_sequences(drawn: ChainState) -> np.ndarray:
            densities = self._emission.log_densities(rows, drawn.parameters) + units[:, None]
            scores = forward_backward(densities, drawn.chain, sequences.indptr).scores
            return np.add.reduceat(scores, sequences.indptr[:-1])

        table = self._table(rows, sequences.indptr, None)
        draws = self._drawn_chains(self._n_given(n_draws), check_random_state(random_state), table)
        return self._in_chains(map(of_sequences, draws))

    def _drawn_chains(self, n_draws: int, random: np.random.RandomState, table: Table) -> Iterator[ChainState]:
        """Draws from the posterior."""
        if self.draws_ is not None:
            for place in self._picked_draws(n_draws):
                chain = Chain(self.draws_.start_probabilities[place], self.draws_.transition_matrices[place])
                yield ChainState(chain, tuple(each[place] for each in self._drawn_parameters), self.weights_)
            return
        start, transition, rows, weights = self._posterior
        posterior = NormalGamma(*rows) if self.emission == "gaussian" else tuple(rows)
        for _ in range(n_draws):
            yield drawn_chain(Belief(start, transition, posterior, weights), table.rows, random)

    def fit_transform(self, X, y=None, sample_weight=None, groups=None):
        """Fit, and give the probability of each state at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the sequences: all rows of a sequence have the same.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self.fit(X, y, sample_weight, groups).transform(X, groups)
