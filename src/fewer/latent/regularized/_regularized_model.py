"""EM whose posteriors are projected on what is known: the steps, and the estimator that mixtures and chains share.

    J(theta) = L(theta) - w min_{q in Q} KL(q || p_theta(y | x)),

where L is the log-likelihood with the log prior. One step: posteriors p of the model, their projection q, and the
M-step with ``w q + (1 - w) p``. J does not fall. A mixture is a chain whose sequences have one row each, so that
forward-backward serves both.
"""

from itertools import permutations
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, get_feature_names, safe_indexing, warn_caller
from fewer._wording import did_you_mean, listed
from fewer.latent._latent_model import climb
from fewer.latent.chains._emissions import Emission
from fewer.latent.chains._forward_backward import Chain, ChainState, Inference, forward_backward
from fewer.latent.chains._state_model import Sequences, StateModel, chain_from_counts, starting_state
from fewer.latent.regularized._constraints import Constraint, L1LinfSparsity, Setting, SparsityTerm
from fewer.latent.regularized._projection import Projection, listed_constraints, project, terms_of

_MOST_PERMUTED = 4
_EXCLUDED = -1e8
_FARTHEST_ROW = 700.0


class Problem(NamedTuple):
    """Rows, their sequences and known labels (-1 for none), the terms of the constraints, and the weight of KL."""

    emission: Emission
    rows: Any
    indptr: np.ndarray
    labels: np.ndarray
    terms: list[Any]
    kl_weight: float = 1.0


class RegularizedState(NamedTuple):
    """A chain with its emissions, dual variables to start the next projection from, and the last projection."""

    model: ChainState
    dual: np.ndarray | None = None
    projection: Projection | None = None


def model_densities(problem: Problem, model: ChainState) -> np.ndarray:
    """Log-densities of rows in each component, none but the known one where the label is known."""
    logs = problem.emission.log_densities(problem.rows, model.parameters)
    known = np.flatnonzero(problem.labels >= 0)
    if len(known):
        own = logs[known, problem.labels[known]]
        logs[known] = _EXCLUDED
        logs[known, problem.labels[known]] = own
    return logs


def projected(problem: Problem, model: ChainState, start: np.ndarray | None) -> tuple[Inference, Inference, Projection]:
    """Inference with the model's posteriors and with the projected ones, and the projection."""
    logs = model_densities(problem, model)
    base = forward_backward(logs, model.chain, problem.indptr)
    level = float(base.scores.sum())
    if not problem.terms:
        return base, base, Projection(base.posteriors, np.zeros(0), 0.0, 0.0, 0.0, 1, True)

    def infer(shift: np.ndarray) -> tuple[np.ndarray, float]:
        found = forward_backward(logs - shift, model.chain, problem.indptr)
        return found.posteriors, float(found.scores.sum()) - level

    bound = _FARTHEST_ROW * len(logs)
    # A penalty has a dual variable for each row: a gap of 1e-4 of its value changes no figure of the fit that matters.
    sparse = any(isinstance(term, SparsityTerm) for term in problem.terms)
    limits: dict[str, Any] = {"tol": 1e-4, "max_iter": 100} if sparse else {"tol": 1e-8, "max_iter": 1000}
    found = project(infer, problem.terms, start=start, bound=bound, **limits)
    return base, forward_backward(logs - found.shift, model.chain, problem.indptr), found


def regularized_step(problem: Problem, state: RegularizedState) -> tuple[RegularizedState, float]:
    """One step: the next state, and J of the present one."""
    model, weight = state.model, problem.kl_weight
    if problem.terms and weight > 0:
        base, other, projection = projected(problem, model, state.dual)
        cost = weight * (projection.kl + projection.penalty)
    else:
        base = forward_backward(model_densities(problem, model), model.chain, problem.indptr)
        other, projection, cost = base, None, 0.0
        weight = 0.0
    mixed = [weight * theirs + (1 - weight) * ours for ours, theirs in zip(base[:3], other[:3], strict=True)]
    posteriors, starts, transitions = mixed if weight > 0 else base[:3]
    n_rows = float(problem.indptr[-1])
    objective = float(base.scores.sum()) + problem.emission.log_prior(model.parameters, n_rows) - cost
    chain = chain_from_counts(starts, transitions, model.chain)
    parameters = problem.emission.maximised(problem.rows, posteriors, model.parameters)
    moved = ChainState(chain, parameters, posteriors.sum(axis=0) / n_rows)
    dual = state.dual if projection is None else projection.lambda_
    return RegularizedState(moved, dual, projection), objective


def matched_components(problem: Problem, model: ChainState, orders: list[np.ndarray]) -> ChainState:
    """The model with its components numbered so that the constraints cost least."""

    def renumbered(order: np.ndarray) -> ChainState:
        chain = Chain(model.chain.start[order], model.chain.transition[np.ix_(order, order)])
        return ChainState(chain, problem.emission.ordered(model.parameters, order), model.weights[order])

    def cost(order: np.ndarray) -> float:
        candidate = renumbered(order)
        # The likelihood differs between orders only where labels are known.
        level = forward_backward(model_densities(problem, candidate), candidate.chain, problem.indptr).scores.sum()
        found = projected(problem, candidate, None)[2]
        return found.kl + found.penalty - float(level)

    return renumbered(min(orders, key=cost))


PARAMETER_CONSTRAINTS = {
    **StateModel._parameter_constraints,
    "constraints": [Constraint, list, tuple],
    "emission": [StrOptions({"gaussian", "categorical", "bernoulli", "poisson"})],
    "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
    "reg_covar": [Interval(Real, 0, None, closed="left")],
    "kl_weight": [Interval(Real, 0, 1, closed="both")],
    "slack": [StrOptions({"none", "constraint", "penalty"})],
    "slack_strength": [Interval(Real, 0, None, closed="left")],
    "norm": [StrOptions({"l2", "l1", "linf"})],
    "init_em_iter": [Interval(Integral, 0, None, closed="left")],
    "predict_with": [StrOptions({"p", "q"})],
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
                "slack='penalty' with slack_strength=0 has no effect: violations of constraints are not "
                "penalised. Set slack_strength above 0, such as 10."
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
