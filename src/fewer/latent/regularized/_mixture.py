"""Mixtures that are fitted by EM with constraints on the posteriors, and what hidden Markov chains share with them."""

from itertools import permutations
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, get_feature_names, safe_indexing, warn_caller
from fewer._wording import did_you_mean, listed
from fewer.catalogue import method
from fewer.latent._latent_model import climb
from fewer.latent.chains._forward_backward import Chain
from fewer.latent.chains._hidden_markov import ChainState, Sequences, StateModel, starting_state
from fewer.latent.regularized._constraints import AtMostCount, Constraint, L1LinfSparsity, Setting
from fewer.latent.regularized._projection import listed_constraints, terms_of
from fewer.latent.regularized._regularized_em import (
    Problem,
    RegularizedState,
    matched_components,
    projected,
    regularized_step,
)

_MOST_PERMUTED = 4

PARAMETER_CONSTRAINTS = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "constraints": [Constraint, list, tuple],
    "emission": [StrOptions({"gaussian", "categorical", "bernoulli", "poisson"})],
    "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
    "reg_covar": [Interval(Real, 0, None, closed="left")],
    "kl_weight": [Interval(Real, 0, 1, closed="both")],
    "slack": [StrOptions({"none", "constraint", "penalty"})],
    "slack_strength": [Interval(Real, 0, None, closed="left")],
    "norm": [StrOptions({"l2", "l1", "linf"})],
    "init_em_iter": [Interval(Integral, 0, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "predict_with": [StrOptions({"p", "q"})],
    "random_state": ["random_state"],
}


class RegularizedModel(StateModel):
    """What mixtures and chains share: constraints of a table, the fit, and predictions with p or q."""

    constraints: Any
    kl_weight: float
    slack: str
    slack_strength: float
    norm: str
    init_em_iter: int
    predict_with: str
    q_: np.ndarray
    dual_: np.ndarray
    kl_: float
    violation_: float
    model_violation_: float
    _problem: Problem

    def _listed(self) -> list[Constraint]:
        return listed_constraints(self.constraints)

    def _checked(self, X: Any, *, reset: bool) -> np.ndarray:
        return super()._checked(self._without_named(X), reset=reset)

    def _without_named(self, X: Any) -> Any:
        """The table without the columns that constraints name: these say what is known, and are no data."""
        named = set().union(*(each.column_names() for each in self._listed()))
        names = get_feature_names(X) if named else None
        if names is None or not named & set(names):
            return X
        if named >= set(names):
            raise ValueError(
                f"The constraints name all columns of X ({listed([str(name) for name in names])}), and columns that a "
                "constraint names are not part of the model. Pass their values to the constraint as an array instead."
            )
        return safe_indexing(X, [place for place, name in enumerate(names) if name not in named], axis=1)

    def _check_named(self, X: Any) -> None:
        """Raise for a name that is not there, before its column is missed elsewhere; and for constraints for free."""
        names = get_feature_names(X)
        for name in sorted(set().union(*(each.column_names() for each in self._listed()))):
            if names is None or name not in list(names):
                there = (
                    "X has no names of columns"
                    if names is None
                    else did_you_mean(name, list(map(str, names)), "columns")
                )
                raise ValueError(f"A constraint names the column {name!r}, which X does not have. {there}")
        bounded = any(not isinstance(each, L1LinfSparsity) for each in self._listed())
        if self.slack == "penalty" and self.slack_strength == 0 and bounded:
            raise ValueError(
                "slack='penalty' with slack_strength=0 is without effect: violations of constraints cost nothing. Give "
                "a price, such as slack_strength=10."
            )

    def _setting(self, X: Any, n_rows: int) -> Setting:
        names = get_feature_names(X)

        def column(name: str) -> np.ndarray:
            if names is None or name not in list(names):
                there = "X has no names of columns" if names is None else f"X has {', '.join(map(str, names))}"
                raise ValueError(f"A constraint names the column {name!r}: {there}.")
            return np.asarray(safe_indexing(X, [list(names).index(name)], axis=1)).ravel()

        return Setting(n_rows, self.n_components, column)

    def _terms(self, X: Any, sequences: Sequences) -> list[Any]:
        if sequences.order is not None and self._listed():
            raise ValueError("Constraints count rows as they are: put the rows of each sequence next to each other.")
        setting, strength = self._setting(X, int(sequences.indptr[-1])), float(self.slack_strength)
        return terms_of(self._listed(), setting, slack=self.slack, strength=strength, norm=self.norm)

    def _start(self, rows: Any, random: np.random.RandomState, spread: bool) -> ChainState:
        return starting_state(self._emission, rows, self.n_components, random, spread=spread)

    def _fit_regularized(self, X: Any, y: Any, labels: Any, groups: Any):
        self._check_named(X)
        rows, sequences = self._learnt(X, groups)
        n_rows = int(sequences.indptr[-1])
        known = _known_labels(labels, n_rows, self.n_components)
        known = sequences.gathered(known)
        terms = self._terms(X, sequences)
        problem = Problem(self._emission, rows, sequences.indptr, known, terms, self.kl_weight)
        plain = problem._replace(terms=[])
        orders = [np.array(order) for order in permutations(range(self.n_components))] if self._permuted() else []
        starts: list[int] = []

        def run(random, on_step):
            starts.append(1)
            state = RegularizedState(self._start(rows, random, len(starts) > 1))
            if self.init_em_iter:
                free = plain._replace(labels=np.full(n_rows, -1)) if orders else plain
                first = climb(
                    state,
                    lambda now: regularized_step(free, now),
                    max_iter=self.init_em_iter,
                    tol=0.0,  # near a symmetric start, EM hardly moves at first
                    on_step=on_step,
                )
                if first.stopped:
                    return first
                state = first.state
            if orders and (terms or (known >= 0).any()):
                state = RegularizedState(matched_components(problem, state.model, orders))
            options = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            return climb(state, lambda now: regularized_step(problem, now), **options)

        self._problem = problem
        try:
            self._fit_starts(run, X, y, n_steps=self.init_em_iter + self.max_iter)
        finally:
            del self._problem
        self.q_ = sequences.scattered(self.q_)
        self._in_units(rows, sequences.indptr, None)
        if self.violation_ > 1e-3 and self.slack == "none":
            warn_caller(f"Constraints are still violated by {self.violation_:.2g}; raise max_iter.")
        return self

    def _permuted(self) -> bool:
        return 1 < self.n_components <= _MOST_PERMUTED

    def _keep(self, state: Any) -> None:
        problem, model = self._problem, state.model
        # Constraints are about numbers of components, so that these are not sorted.
        self._keep_chain(model, np.arange(self.n_components))
        base, _, found = projected(problem, model, state.dual)
        self.model_violation_ = _largest_violation(problem.terms, base.posteriors)
        self.q_, self.dual_ = found.q, found.lambda_
        self.kl_, self.violation_ = found.kl, found.violation

    def _projected_rows(self, X: Any, groups: Any) -> tuple[np.ndarray, float]:
        """Projected posteriors for rows of another table, and the largest violation of those of the model."""
        check_is_fitted(self)
        here = [each for each in self._listed() if not each.holds_elsewhere]
        if here:
            raise ValueError(
                f"{type(here[0]).__name__} is about rows of the training table, so that nothing can be projected for "
                "other rows. Use predict_with='p', or constraints that name a column of a frame."
            )
        table = self._checked(X, reset=False)
        sequences = self._sequences(groups, len(table))
        terms = self._terms(X, sequences)
        rows = self._emission.prepare(sequences.gathered(table))
        model = ChainState(Chain(*self._chain), self._parameters, self.weights_)
        problem = Problem(self._emission, rows, sequences.indptr, np.full(len(table), -1), terms)
        base, _, found = projected(problem, model, None)
        return found.q, _largest_violation(terms, base.posteriors)

    def _posteriors(self, X: Any, groups: Any) -> np.ndarray:
        if self.predict_with == "q" and self._listed():
            q = self._projected_rows(X, groups)[0]
            return q.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64, copy=False)
        found, sequences, dtype = self._inferred(X, groups)
        return sequences.scattered(found.posteriors).astype(dtype, copy=False)


def _largest_violation(terms: list[Any], posteriors: np.ndarray) -> float:
    return max((float(np.abs(term.violation(term.apply(posteriors))).max(initial=0)) for term in terms), default=0.0)


def _known_labels(labels: Any, n_rows: int, n_components: int) -> np.ndarray:
    """Component of each row, -1 where it is not known."""
    if labels is None:
        return np.full(n_rows, -1)
    found = column_or_1d(labels)
    if len(found) != n_rows:
        raise ValueError(f"labels has {len(found)} entries, and X has {n_rows} rows.")
    if found.dtype.kind not in "iu" or found.min(initial=0) < -1 or found.max(initial=0) >= n_components:
        raise ValueError(
            f"labels must be numbers of components, 0 to {n_components - 1}, and -1 for rows whose component is not "
            "known."
        )
    return found.astype(np.int64)


@method(
    tasks=["unsupervised"],
    when="Groups of rows are to be found, and something is known of them on average: the share of a group in parts of "
    "the table, totals, a few labels. It tells which of several possible groupings is meant.",
    cost="O(n k p) time an iteration, and O(n k) for each step of the projection",
    paper="posterior-regularization",
    examples=lambda: [
        PosteriorRegularizedMixture(2, init_em_iter=5, max_iter=20, tol=1e-3),
        PosteriorRegularizedMixture(
            2,
            AtMostCount([0, 1], component=0),
            slack="penalty",
            slack_strength=1.0,
            init_em_iter=5,
            max_iter=5,
            tol=1e-3,
        ),
    ],
)
class PosteriorRegularizedMixture(RegularizedModel):
    """Mixture that is steered by what is known of its components on average.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    constraints : constraint or list of constraints, default=()
        What is known: `ProportionConstraint`, `AtMostCount`, `LinearConstraint`, `L1LinfSparsity`. Columns of a frame
        that a constraint names are not part of the model.
    emission : {"gaussian", "categorical", "bernoulli", "poisson"}, default="gaussian"
        Distribution of a row given its component, with missing values, as in `HiddenMarkov`.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="diag"
        With "gaussian": shape of the covariances.
    reg_covar : float, default=1e-6
        With "gaussian": added to the variances, as a share of the variance of a column.
    kl_weight : float, default=1.0
        Weight of the divergence in the objective, alpha in the paper: 1 estimates from the projected posteriors, 0 is
        plain EM. Like slack, it makes constraints weaker, but by estimating from a mean of both posteriors.
    slack : {"none", "constraint", "penalty"}, default="none"
        Constraints hold as they are; or up to a slack whose norm is at most ``slack_strength``; or the norm of the
        slack times ``slack_strength`` is taken from the objective.
    slack_strength : float, default=0.0
        Size of the slack that is allowed, or its price.
    norm : {"l2", "l1", "linf"}, default="l2"
        Norm of the slack.
    init_em_iter : int, default=30
        Iterations of plain EM before the first projection.
    n_init : int, default=5
        Number of starts; the one with the largest objective is kept.
    max_iter : int, default=170
        Maximum number of iterations with projections.
    tol : float, default=1e-6
        Stop when the objective changes by less than this share of its size.
    predict_with : {"p", "q"}, default="p"
        Posteriors of the model; or these projected on the constraints, which then have to find their rows in a new
        table by the name of a column.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of rows in each component.
    means_ : ndarray of shape (n_components, n_features) or None
        Means, or probabilities of a 1, or rates; None for "categorical".
    covariances_ : ndarray or None
        With "gaussian": covariances or variances, as in `HiddenMarkov`.
    probabilities_ : list of ndarray of shape (n_components, n_categories) or None
        With "categorical": probabilities of the categories of each column.
    categories_ : list of ndarray or None
        With "categorical": the categories of each column.
    q_ : ndarray of shape (n_samples, n_components)
        Projected posteriors of the training rows.
    dual_ : ndarray of shape (n_dual,)
        Dual variables of the constraints: how much each costs; 0 for those that hold by themselves.
    kl_ : float
        Divergence of ``q_`` from the posteriors of the model.
    violation_ : float
        Largest amount by which ``q_`` does not meet a constraint.
    model_violation_ : float
        The same for the posteriors of the model, on the training rows; for other rows see ``constraint_violation``.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood with the log prior, less ``kl_weight`` times divergence and penalties, at the beginning of each
        iteration.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations with projections of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of columns of the model.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PosteriorRegularizedHMM : The same for rows in time order.
    kl_project : The projection alone.
    SharedMixtureDiscriminant : Where classes of some rows are known, and nothing else.

    Notes
    -----
    Components are numbered as the constraints number them. After the plain iterations, up to four components are
    renumbered so that the constraints cost least.

    References
    ----------
    .. [1] Ganchev, K., Graca, J., Gillenwater, J. and Taskar, B. (2010). Posterior regularization for structured latent
       variable models. Journal of Machine Learning Research 11, 2001-2049.

    Examples
    --------
    Two bags of rows. The column ``x2`` has the clearer groups, but what is known of the bags is about ``x1``.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from fewer.latent import PosteriorRegularizedMixture, ProportionConstraint
    >>> rng = np.random.default_rng(0)
    >>> bag = np.repeat(["A", "B"], 100)
    >>> truth = rng.random(200) < np.where(bag == "A", 0.8, 0.2)
    >>> x2 = 3 * rng.choice([-1, 1], 200) + 0.5 * rng.normal(size=200)
    >>> table = pd.DataFrame({"x1": 2.0 * truth - 1 + 0.5 * rng.normal(size=200), "x2": x2, "bag": bag})
    >>> known = [
    ...     ProportionConstraint(("bag", "A"), component=1, lower=0.75),
    ...     ProportionConstraint(("bag", "B"), component=1, upper=0.25),
    ... ]
    >>> model = PosteriorRegularizedMixture(2, known, random_state=0).fit(table)
    >>> bool(np.mean(model.predict(table) == truth) > 0.95)
    True
    """

    _parameter_constraints = PARAMETER_CONSTRAINTS

    def __init__(
        self,
        n_components=2,
        constraints=(),
        *,
        emission="gaussian",
        covariance_type="diag",
        reg_covar=1e-6,
        kl_weight=1.0,
        slack="none",
        slack_strength=0.0,
        norm="l2",
        init_em_iter=30,
        n_init=5,
        max_iter=170,
        tol=1e-6,
        predict_with="p",
        random_state=None,
    ):
        self.n_components = n_components
        self.constraints = constraints
        self.emission = emission
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.kl_weight = kl_weight
        self.slack = slack
        self.slack_strength = slack_strength
        self.norm = norm
        self.init_em_iter = init_em_iter
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.predict_with = predict_with
        self.random_state = random_state

    def _sequences(self, groups: Any, n_rows: int) -> Sequences:
        return Sequences(np.arange(n_rows + 1))

    def _n_chain_parameters(self) -> int:
        return self.n_components_ - 1

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, labels=None):
        """Fit the model under the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.
        y : Ignored
            Not used.
        labels : array-like of shape (n_samples,), default=None
            Component of each row where it is known, and -1 elsewhere.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_regularized(X, y, labels, None)

    def fit_transform(self, X, y=None, labels=None):
        """Fit, and give the probability of each component at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.
        y : Ignored
            Not used.
        labels : array-like of shape (n_samples,), default=None
            Component of each row where it is known, and -1 elsewhere.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self.fit(X, y, labels).transform(X)

    def predict(self, X):
        """Most probable component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        components : ndarray of shape (n_samples,)
            Number of the component with the largest posterior probability.
        """
        return self._posteriors(X, None).argmax(axis=1)

    def predict_proba(self, X):
        """Probability of each component at each row, by ``predict_with``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self._posteriors(X, None)

    def constraint_violation(self, X):
        """Largest amount by which posteriors of the model, without projection, do not meet a constraint.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        violation : float
            Constraints have to find their rows by the name of a column.
        """
        return self._projected_rows(X, None)[1]

    def transform(self, X):
        """Probability of each component at each row, as new columns; the same as ``predict_proba``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self.predict_proba(X)

    def score_samples(self, X):
        """Log-density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better.
        """
        return self._inferred(X, None)[0].scores

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
        components : ndarray of shape (n_samples,)
            The components that they were drawn from.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        drawn = random.choice(self.n_components_, size=n_samples, p=self.weights_ / self.weights_.sum())
        return self._emission.drawn(self._parameters, drawn, random), drawn
