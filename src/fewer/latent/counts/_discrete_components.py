"""Discrete component analysis: a table of counts as scores of rows times feature distributions of components.

``E[w] = Theta l``: the counts of a row are expected to be a mixture, with scores ``l``, of the distributions in the
columns of ``Theta``. Non-negative matrix factorisation, PLSA, latent Dirichlet allocation, multinomial PCA and the
gamma-Poisson model are all of this form; they differ in the prior of the scores and in how they are fitted.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import HasMethods, Interval, StrOptions, fit_context
from fewer.catalogue import method
from fewer.latent._count_model import CountModel, refuse_fractions, warn_of_small_counts
from fewer.latent._latent_model import Climb, climb, row_weights
from fewer.latent._passes import count_rows, count_table, folded_in, mixture_fits
from fewer.latent.counts._blocks import add_block, folded_block, online_components, ordered_components
from fewer.latent.counts._gibbs import direct_gibbs, gibbs_rows, token_gibbs
from fewer.latent.counts._updates import (
    FIRST_ESTIMATE,
    Prior,
    State,
    constants,
    nmf_cycle,
    normalised,
    row_bounds,
    starting_concentrations,
    variational_cycle,
)

_FOLD_IN = 200
_FOLD_TOL = 1e-6
_SAMPLERS = ("gibbs", "rb_gibbs")
_ROWS_FOR_BLOCKS = 2000
_MOST_TOKENS = 5e8
"""Tokens with a label of their own take some 20 bytes each while they are set up."""


@method(
    tasks=["unsupervised"],
    when="Counts (words, clicks, species, genotypes, answers) as mixtures of a few components, where PCA is for real "
    "numbers. Also where only non-negative components can be read. Not for tables with signs.",
    cost="O(nnz k) time a cycle, O(tokens x components of a row) with solver='rb_gibbs'; O(nnz + (n + p) k) memory",
    paper="dca",
    examples=lambda: [
        DiscreteComponentAnalysis(2, max_iter=30, tol=1e-3),
        DiscreteComponentAnalysis(2, model="dm", doc_topic_prior="auto", max_iter=30, tol=1e-3, n_init=2),
        DiscreteComponentAnalysis(2, solver="nmf", max_iter=30, tol=1e-3),
    ],
    depends_on_scale="priors are added to counts of tokens",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class DiscreteComponentAnalysis(CountModel):
    """Components of counts: what PCA is for measurements, for words, clicks, species or answers.

    Every row of counts is explained by a few components, each a distribution over the columns. With ``model="dm"`` this
    is latent Dirichlet allocation (multinomial PCA), with ``model="gp"`` the gamma-Poisson model, which explains the
    totals of rows too.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    model : {"gp", "cgp", "dm"}, default="gp"
        Scores of rows: gamma distributed ("gp"), the same but exactly zero with probability ``zero_prior`` ("cgp", by
        the Gibbs solvers only), or shares that sum to 1, with a Dirichlet prior ("dm").
    solver : {"variational", "gibbs", "rb_gibbs", "nmf"}, default="variational"
        Variational bound; Gibbs sampling that draws scores and components, or that integrates them out
        (Rao-Blackwellised, for large numbers of components); or maximum likelihood without priors, which is
        non-negative matrix factorisation with the Kullback-Leibler loss.
    doc_topic_prior : float, array-like of shape (n_components,) or "auto", default=0.1
        Prior of the scores, alpha: the smaller, the fewer components a row has. "auto" estimates it, one for each
        component; ``partial_fit`` keeps it at 0.1.
    rate_prior : float, array-like of shape (n_components,) or "auto", default=1.0
        With "gp" and "cgp": rate of the gamma prior, beta. "auto" estimates it (variational only).
    zero_prior : float or array-like of shape (n_components,), default=0.5
        With "cgp": prior probability that a score is zero, rho.
    topic_word_prior : float, default=0.5
        Prior of the components, gamma, added to every count of a column in a component; 0.5 is Jeffreys' prior.
    feature_groups : array-like of shape (n_features,), default=None
        With "dm": label of the group of each column, such as the question that it answers. Components have a
        distribution in each group, and a missing answer has no count in any column of its group.
    max_iter : int, default=200
        Maximum number of cycles of "variational" and "nmf".
    tol : float, default=1e-5
        They stop when the objective changes by less than this share of its size.
    n_burn_in : int, default=100
        Cycles of a Gibbs solver that are left out.
    n_draws : int, default=20
        Cycles after these, over which components and scores are averaged.
    n_init : int, default=1
        Number of starts, of which the end with the best objective is kept.
    init : {"online", "dirichlet", "rows"} or array-like of shape (n_components, n_features), default="online"
        Components to start from: random distributions ("dirichlet"), which two passes over blocks of rows improve in
        tables of 2,000 rows or more ("online"); or random rows, smoothed.
    learning_decay : float, default=0.7
        With ``partial_fit``: weights of blocks fall with this power of their number, between 0.5 and 1.
    learning_offset : float, default=10.0
        With ``partial_fit``: makes early blocks count less, as if so many had been seen before. Where there are only a
        few blocks for many components, 1 can be better.
    total_samples : int, default=1_000_000
        With ``partial_fit``: rows that there are in all blocks together.
    vectorizer : CountVectorizer or None, default=None
        Makes counts of words, where ``X`` holds texts. By default a ``CountVectorizer`` that, of more than 50
        texts, leaves out words of one text only and words of more than half of them.
    n_jobs : int, default=None
        Threads of "rb_gibbs"; the result does not depend on them.
    random_state : int, RandomState instance or None, default=None
        Draws the starts, and all of the Gibbs solvers.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Distribution over columns of each component, those with the most tokens first.
    scores_ : ndarray of shape (n_samples, n_components)
        Posterior mean of the scores of the training rows; None after ``partial_fit``.
    component_counts_ : ndarray of shape (n_samples, n_components)
        Expected number of tokens of each training row that each component explains; None after ``partial_fit``.
    weights_ : ndarray of shape (n_components,)
        Share of all tokens that each component explains.
    alpha_ : ndarray of shape (n_components,)
        Prior of the scores, given or estimated.
    beta_ : ndarray of shape (n_components,)
        Rate of the gamma prior, given or estimated.
    rho_ : ndarray of shape (n_components,)
        Prior probability of a score of zero; 0 but for "cgp".
    objective_path_ : ndarray of shape (n_iter,)
        Objective at the beginning of each cycle: the bound with the log prior of the components, the likelihood for
        "nmf", and the likelihood of the present draw for the Gibbs solvers ("rb_gibbs": of every tenth cycle).
    objectives_ : ndarray of shape (n_init,)
        Objective at the end of each start.
    n_iter_ : int
        Cycles of the start that was kept.
    converged_ : bool
        Whether it ended because the objective changed too little to go on; always True for the Gibbs solvers.
    score_type_ : str
        What ``score`` gives: "bound", a lower bound on the log-likelihood, or "log-likelihood" with "nmf".
    n_parameters_ : int
        Free parameters: those of the components, and of priors that were estimated.
    n_components_ : int
        Number of components.
    vectorizer_ : CountVectorizer or None
        The fitted one, where texts were given.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSA : Without priors, stopped early on held-out tokens.
    top_features : The columns that stand for each component.
    select_n_components : Chooses the number of components by held-out tokens.

    Notes
    -----
    ``transform`` keeps the components fixed and gives posterior means of the scores. For models that a Gibbs solver
    fitted it uses the variational posterior, and for "cgp" a short chain for each row.

    Counts need not be whole numbers for "variational" and "nmf". A row without counts has the prior as its posterior.

    References
    ----------
    .. [1] Buntine, W. and Jakulin, A. (2006). Discrete component analysis. In Subspace, Latent Structure and Feature
       Selection, LNCS 3940, 1-33.

    Examples
    --------
    >>> from fewer.latent import DiscreteComponentAnalysis, top_features
    >>> texts = ["rain wind rain", "wind rain", "bread jam", "jam bread jam", "rain wind wind rain rain"]
    >>> model = DiscreteComponentAnalysis(2, model="dm", topic_word_prior=0.1, n_init=5, random_state=0).fit(texts)
    >>> top_features(model, n_features=2)
    2 components: their share of all tokens, and the features that stand for them
      0  66.7%  rain, wind
      1  33.3%  jam, bread
    """

    scores_: np.ndarray | None
    component_counts_: np.ndarray | None

    _parameter_constraints = {
        **CountModel._parameter_constraints,
        "model": [StrOptions({"gp", "cgp", "dm"})],
        "solver": [StrOptions({"variational", "gibbs", "rb_gibbs", "nmf"})],
        "doc_topic_prior": [Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({"auto"})],
        "rate_prior": [Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({"auto"})],
        "zero_prior": [Interval(Real, 0, 1, closed="left"), "array-like"],
        "topic_word_prior": [Interval(Real, 0, None, closed="neither")],
        "feature_groups": ["array-like", None],
        "n_burn_in": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"online", "dirichlet", "rows"}), "array-like"],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 0, None, closed="left")],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components=10,
        *,
        model="gp",
        solver="variational",
        doc_topic_prior=0.1,
        rate_prior=1.0,
        zero_prior=0.5,
        topic_word_prior=0.5,
        feature_groups=None,
        max_iter=200,
        tol=1e-5,
        n_burn_in=100,
        n_draws=20,
        n_init=1,
        init="online",
        learning_decay=0.7,
        learning_offset=10.0,
        total_samples=1_000_000,
        vectorizer=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.model = model
        self.solver = solver
        self.doc_topic_prior = doc_topic_prior
        self.rate_prior = rate_prior
        self.zero_prior = zero_prior
        self.topic_word_prior = topic_word_prior
        self.feature_groups = feature_groups
        self.max_iter = max_iter
        self.tol = tol
        self.n_burn_in = n_burn_in
        self.n_draws = n_draws
        self.n_init = n_init
        self.init = init
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.total_samples = total_samples
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, none negative; whole numbers for the Gibbs solvers. Or texts, whose words are counted.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; not for the Gibbs solvers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        counts = self._training_counts(X)
        if self.solver != "nmf":
            warn_of_small_counts(counts, type(self).__name__)
        weights = row_weights(sample_weight, counts)
        prior, self.rho_ = self._prior(counts.shape[1])
        sampling = self.solver in _SAMPLERS
        if sampling:
            if weights is not None:
                raise ValueError(f"sample_weight is not supported with solver={self.solver!r}; use 'variational'.")
            refuse_fractions(counts, f"solver={self.solver!r}", getattr(self, "feature_names_in_", None))
        n_tokens = float(counts.sum())
        if self.solver == "rb_gibbs" and n_tokens > _MOST_TOKENS:
            raise ValueError(
                f"The counts sum to {n_tokens:.2g}, and solver='rb_gibbs' keeps a label for each of these tokens, "
                f"{_MOST_TOKENS:.0g} at most. Use 'variational' or 'gibbs', or divide the counts by a unit."
            )
        self._dtype = counts.dtype.name
        table = count_table(counts, weights)
        fixed = constants(table.rows, prior if self.solver != "nmf" else prior._replace(dirichlet=False))
        n_steps = self.n_burn_in + self.n_draws if sampling else self.max_iter

        def run(random: np.random.RandomState, on_step) -> Climb:
            if self.solver == "rb_gibbs":
                return token_gibbs(
                    table,
                    self.n_components,
                    prior,
                    self.rho_,
                    random,
                    expected=self._online_components(counts, table.weights, prior, random),
                    n_burn_in=self.n_burn_in,
                    n_draws=self.n_draws,
                    n_threads=effective_n_jobs(self.n_jobs),
                    on_step=on_step,
                )
            theta = self._online_components(counts, table.weights, prior, random)
            if theta is None:
                theta = self._starting_components(counts, prior, random)
            else:
                theta = normalised(theta + prior.gamma, prior.groups)
            if self.solver == "gibbs":
                draws = {"n_burn_in": self.n_burn_in, "n_draws": self.n_draws}
                return direct_gibbs(table, theta, prior, self.rho_, random, **draws, on_step=on_step)
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            if self.solver == "nmf":
                scores = np.repeat(table.totals[:, None] / self.n_components, self.n_components, axis=1)
                return climb((scores, theta), lambda state: nmf_cycle(table, fixed, state), **limits)
            start = State(starting_concentrations(table.totals, prior), theta, prior)
            min_iter = FIRST_ESTIMATE + 3 if prior.estimate_alpha or prior.estimate_beta else 2
            return climb(start, lambda state: variational_cycle(table, fixed, state), min_iter=min_iter, **limits)

        self._n_seen, self._mean_total = counts.shape[0], float(np.average(table.totals, weights=table.weights))
        self._row_weights, self._statistics = table.weights, None
        self._fit_starts(run, X, n_steps=n_steps)
        if sampling:
            self.n_iter_ = min(n_steps, self.n_iter_) if self.solver == "gibbs" else n_steps
        return self

    def _keep(self, state: Any) -> None:
        """Set what a fit leaves, the component with the most tokens first."""
        if isinstance(state, State):
            prior, theta, counts = state.prior, state.theta, state.a - state.prior.alpha
            scores = self._posterior_means(state.a, prior)
        elif self.solver == "nmf":
            prior, _ = self._prior(self.n_features_in_)
            lengths = state[1].sum(axis=0)
            theta, counts = state[1] / np.maximum(lengths, np.finfo(float).tiny), state[0] * lengths
            scores = counts
        else:
            theta, counts, scores, prior = state.theta, state.counts, state.scores, state.prior
        self._settle(theta, self._row_weights @ counts, prior)
        self.scores_ = scores[:, self._order].astype(self._dtype)
        self.component_counts_ = counts[:, self._order].astype(self._dtype)
        del self._order, self._row_weights

    def _settle(self, theta: np.ndarray, totals: np.ndarray, prior: Prior) -> None:
        order = np.argsort(-totals, kind="stable")
        self._order = order
        in_order = bool((order[1:] > order[:-1]).all())
        components = theta.T if in_order else np.ascontiguousarray(theta.T[order])
        self.components_ = components.astype(self._dtype, copy=False)
        self.weights_ = totals[order] / totals.sum()
        self.alpha_, self.beta_, self.rho_ = prior.alpha[order], prior.beta[order], self.rho_[order]
        self.n_components_ = self.n_components
        self.score_type_ = "log-likelihood" if self.solver == "nmf" else "bound"
        free = theta.shape[0] - (int(prior.groups.max(initial=0)) + 1)
        estimated = self.n_components * (int(prior.estimate_alpha) + int(prior.estimate_beta))
        self.n_parameters_ = self.n_components * free + estimated

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Learn from one more block of rows, for tables that do not fit into memory.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of more rows.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The estimator.
        """
        if self.solver != "variational" or self.model == "cgp":
            raise ValueError("partial_fit needs solver='variational' and model='gp' or 'dm'.")
        first = not hasattr(self, "components_")
        counts = self._training_counts(X) if first else self._new_counts(X)
        if first:
            prior, self.rho_ = self._prior(counts.shape[1])
            self._dtype, self._mean_total, self.n_iter_, self._n_seen = counts.dtype.name, 0.0, 0, 0
            theta = self._starting_components(counts, prior, check_random_state(self.random_state))
            self._statistics = theta * (self.total_samples / self.n_components)
            self.objective_path_ = self.objectives_ = np.array([])
        else:
            prior, theta = self._fitted_prior(), np.ascontiguousarray(self.components_.T, dtype=np.float64)
            if self._statistics is None:  # fit came before
                self._statistics = theta * (self.weights_ * self._mean_total * self.total_samples)
        table = count_table(counts)
        weights, objective = folded_block(table, theta, prior)
        self.n_iter_ += 1
        self._n_seen += counts.shape[0]
        share = (self.learning_offset + self._n_seen / counts.shape[0]) ** -self.learning_decay
        add_block(self._statistics, table, theta, weights, share, self.total_samples / counts.shape[0])
        self._mean_total += (table.totals.mean() - self._mean_total) * counts.shape[0] / self._n_seen
        self.converged_ = False
        self.objective_path_ = np.append(self.objective_path_, objective)
        self.objectives_ = self.objective_path_[-1:]
        totals = self._statistics.sum(axis=0)
        order = np.argsort(-totals, kind="stable")
        theta = ordered_components(self._statistics, order, prior)
        self.rho_ = self.rho_[order]
        self._settle(theta, totals[order], prior._replace(alpha=prior.alpha[order], beta=prior.beta[order]))
        del self._order
        self.scores_ = self.component_counts_ = None
        return self

    def _prior(self, n_features: int) -> tuple[Prior, np.ndarray]:
        """Priors as arrays, checked, and rho."""
        dirichlet = self.model == "dm"
        if self.model == "cgp" and self.solver not in _SAMPLERS:
            raise ValueError(f"model='cgp' needs solver='gibbs' or 'rb_gibbs', not {self.solver!r}.")
        groups = np.zeros(n_features, dtype=np.int64)
        if self.feature_groups is not None:
            if not dirichlet or self.solver == "nmf":
                raise ValueError("feature_groups needs model='dm' and a solver other than 'nmf'.")
            groups = np.unique(np.asarray(self.feature_groups), return_inverse=True)[1]
            if len(groups) != n_features:
                raise ValueError(f"feature_groups has {len(groups)} labels, and the table has {n_features} columns.")
        automatic = [isinstance(each, str) for each in (self.doc_topic_prior, self.rate_prior)]
        if automatic[1] and (self.solver != "variational" or dirichlet):
            raise ValueError("rate_prior='auto' needs solver='variational' and model='gp'.")
        alpha = self._for_each(0.1 if automatic[0] else self.doc_topic_prior, "doc_topic_prior")
        beta = self._for_each(1.0 if automatic[1] else self.rate_prior, "rate_prior")
        rho = self._for_each(self.zero_prior if self.model == "cgp" else 0.0, "zero_prior")
        if not (alpha > 0).all() or not (beta > 0).all() or not ((rho >= 0) & (rho < 1)).all():
            raise ValueError("doc_topic_prior and rate_prior must be above 0, and zero_prior in [0, 1).")
        return Prior(dirichlet, alpha, beta, float(self.topic_word_prior), groups, *automatic), rho

    def _for_each(self, value: Any, name: str) -> np.ndarray:
        value = np.asarray(value, dtype=np.float64)
        if value.ndim and value.shape != (self.n_components,):
            raise ValueError(f"{name} has shape {value.shape}, and there are {self.n_components} components.")
        return np.full(self.n_components, 1.0) * value

    def _online_components(self, counts, weights: np.ndarray, prior: Prior, random) -> np.ndarray | None:
        """Expected counts (columns, components) by passes over blocks; None for tables that are too small for it."""
        if not (isinstance(self.init, str) and self.init == "online") or counts.shape[0] < _ROWS_FOR_BLOCKS:
            return None
        theta = self._starting_components(counts, prior, random)
        return online_components(counts, weights, theta, prior, random)

    def _starting_components(self, counts: sparse.csr_array, prior: Prior, random: np.random.RandomState) -> np.ndarray:
        n_columns = counts.shape[1]
        if isinstance(self.init, str) and self.init in ("online", "dirichlet"):
            # Near to each other, so that no component starts with columns of its own.
            theta = random.standard_gamma(1.0, size=(n_columns, self.n_components))
            theta += 1.0
        elif isinstance(self.init, str):
            chosen = random.choice(counts.shape[0], self.n_components, replace=counts.shape[0] < self.n_components)
            theta = counts[chosen].toarray().T + max(counts.sum() / counts.shape[0] / n_columns, 1e-3)
            theta = theta * random.uniform(0.9, 1.1, size=theta.shape)
        else:
            theta = np.array(self.init, dtype=np.float64).T
            if theta.shape != (n_columns, self.n_components) or (theta < 0).any():
                raise ValueError(f"init must be non-negative, of shape {(self.n_components, n_columns)}.")
        return normalised(np.ascontiguousarray(theta), prior.groups)

    def _fitted_prior(self) -> Prior:
        prior, _ = self._prior(self.n_features_in_)
        return prior._replace(alpha=self.alpha_, beta=self.beta_)

    def _folded(self, rows, start: np.ndarray, theta: np.ndarray, prior: Prior) -> np.ndarray:
        bayes = self.solver != "nmf"
        alpha = prior.alpha if bayes else np.zeros(self.n_components)
        scale = prior.scale if bayes else np.ones(self.n_components)
        return folded_in(rows, start, theta, alpha, scale, bayes=bayes, max_iter=_FOLD_IN, tol=_FOLD_TOL)

    def _concentrations(self, counts: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, Prior]:
        """Concentrations of the posterior (expected counts with "nmf") of rows, the totals, and the prior."""
        prior = self._fitted_prior()
        totals = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        start = starting_concentrations(totals, prior)
        if self.solver == "nmf":
            start = np.ones_like(start)
        theta = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        return self._folded(count_rows(counts), start, theta, prior), totals, prior

    def _posterior_means(self, a: np.ndarray, prior: Prior) -> np.ndarray:
        if self.solver == "nmf":
            return a
        return a / a.sum(axis=1, keepdims=True) if prior.dirichlet else a / (1 + prior.beta)

    def _counts_and_scores(self, counts: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Expected counts by component, and posterior means of scores."""
        if self.model == "cgp":
            refuse_fractions(counts, "model='cgp'", getattr(self, "feature_names_in_", None))
            theta = np.ascontiguousarray(self.components_.T, dtype=np.float64)
            draws = {"n_burn_in": self.n_burn_in, "n_draws": self.n_draws}
            return gibbs_rows(count_rows(counts), theta, self._fitted_prior(), self.rho_, 0, **draws)
        a, _, prior = self._concentrations(counts)
        tokens = a if self.solver == "nmf" else a - prior.alpha
        return tokens, self._posterior_means(a, prior)

    def _row_shares(self, counts: sparse.csr_array) -> np.ndarray:
        scores = self._counts_and_scores(counts)[1]
        sums = scores.sum(axis=1, keepdims=True)
        return np.divide(scores, sums, out=np.full_like(scores, 1 / scores.shape[1]), where=sums > 0)

    def transform(self, X):
        """Posterior means of the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores; with ``model="dm"`` shares that sum to 1.
        """
        counts = self._new_counts(X)
        return self._counts_and_scores(counts)[1].astype(counts.dtype)

    def expected_counts(self, X):
        """Expected number of tokens of each row that each component explains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        counts : ndarray of shape (n_samples, n_components)
            They sum to the total of the row.
        """
        counts = self._new_counts(X)
        return self._counts_and_scores(counts)[0].astype(counts.dtype)

    def inverse_transform(self, X):
        """Expected counts of columns for scores; shares of columns with ``model="dm"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as ``transform`` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            ``X @ components_``.
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.components_

    def score_samples(self, X):
        """Lower bound on the log-likelihood of each row; the log-likelihood itself with ``solver="nmf"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats.
        """
        counts = self._new_counts(X)
        a, totals, prior = self._concentrations(counts)
        theta = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        rows = count_rows(counts)
        if self.solver == "nmf":
            theta = np.maximum(theta, 1e-12)
            unknown = a.sum(axis=1) == 0  # none of the row's columns was seen in fit
            a[unknown] = totals[unknown, None] / self.n_components_
            fits = mixture_fits(rows, a, theta)
            return constants(rows, prior._replace(dirichlet=False)) + fits - totals
        # That all components are there has this probability in the conditional model.
        return row_bounds(rows, totals, a, theta, prior) + np.log1p(-self.rho_).sum()

    def perplexity(self, X):
        """``exp`` of minus the score for each token of the rows: less is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        perplexity : float
            It includes what the model has to say about the numbers of tokens; ``score_completion`` does not.
        """
        counts = self._new_counts(X)
        return float(np.exp(-self.score_samples(counts).sum() / counts.sum()))

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
        X : sparse array of shape (n_samples, n_features)
            Counts. With ``model="dm"`` every group has a Poisson number of tokens, with the mean total of the training
            rows divided by the number of groups.
        scores : ndarray of shape (n_samples, n_components)
            The scores that they were drawn with.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        prior = self._fitted_prior()
        size = (n_samples, self.n_components_)
        if prior.dirichlet:
            scores = random.dirichlet(prior.alpha, size=n_samples)
            n_groups = int(prior.groups.max(initial=0)) + 1
            means = self._mean_total / n_groups * scores @ self.components_
        else:
            scores = random.gamma(prior.alpha, 1 / prior.beta, size=size) * (random.uniform(size=size) >= self.rho_)
            means = scores @ self.components_
        return sparse.csr_array(random.poisson(means).astype(np.float64)), scores
