"""One fit of a sparse linear model: the solver, what it went through, and how sure it may be of the end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer.learn.sparse._prepared import moments
from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse.solvers import SOLVERS, Solution

# Standard deviations below this may be what makes a penalty of about 1 too strong.
_SMALL_UNIT = 0.1


@dataclass
class L1History:
    """What a solver had after each iteration.

    Attributes
    ----------
    seconds : list of float
        Time since the start, without the time that the record took.
    objective : list of float
        Value of what is minimised.
    subgradient : list of float
        Euclidean norm of the smallest sub-gradient.
    n_nonzero : list of int
        Coefficients that are not zero.
    """

    seconds: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    subgradient: list[float] = field(default_factory=list)
    n_nonzero: list[int] = field(default_factory=list)
    _begun: float = field(default_factory=time.perf_counter, repr=False)
    _away: float = field(default=0.0, repr=False)

    def note(self, problem: L1Problem, coefficients: np.ndarray, predictions: np.ndarray) -> None:
        """Add the present state."""
        now = time.perf_counter()
        self.seconds.append(now - self._begun - self._away)
        self.objective.append(problem.units.objective * problem.objective(coefficients, predictions))
        self.subgradient.append(float(np.linalg.norm(problem.subgradient(coefficients))))
        self.n_nonzero.append(int(np.count_nonzero(coefficients[: problem.X.shape[1]])))
        self._away += time.perf_counter() - now


@dataclass(frozen=True)
class L1Fit:
    """A solution in the units of the user's table, with the figures that tell how good it is."""

    problem: L1Problem
    solution: Solution
    coef: np.ndarray
    intercept: float
    objective: float
    duality_gap: float
    scaled_violation: float
    history: L1History | None


def fit_problem(
    problem: L1Problem,
    start: np.ndarray,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int = 1000,
    rng: np.random.Generator,
    record: bool = False,
    on_iteration: Callable[[], bool] = lambda: False,
    **options: Any,
) -> L1Fit:
    """Minimise, and look at every column at the end."""
    history = L1History() if record else None
    counts: list[int] = []
    stopped = False

    def after(coefficients: np.ndarray, predictions: np.ndarray) -> bool:
        nonlocal stopped
        counts.append(int(np.count_nonzero(coefficients)))
        if history is not None:
            history.note(problem, coefficients, predictions)
        stopped = bool(on_iteration())
        return stopped

    if history is not None:
        history.note(problem, start, problem.predictions(start))
    solution = SOLVERS[solver](problem, start, problem.absolute_tolerance(tol), max_iter, rng, after, **options)
    scale = problem.rarer_share * problem.null_violation
    scaled = solution.violation / scale if scale > 0 else 0.0
    if not solution.converged and not stopped:
        changing = " The number of columns in the model still changed." if len(set(counts[-2:])) > 1 else ""
        warn_caller(
            f"The solver {solver!r} stopped after {solution.n_iter} iterations at a duality gap of "
            f"{solution.gap / problem.null_objective:.1e} of the objective of the model without columns, above "
            f"tol={tol:g}.{changing} Raise max_iter or tol, scale the columns, or use solver='auto'.",
            ConvergenceWarning,
        )
    coef, intercept = problem.original(solution.coefficients)
    unit = problem.units.objective
    return L1Fit(problem, solution, coef, intercept, unit * solution.objective, unit * solution.gap, scaled, history)


def warn_of_units(problems: list[L1Problem], parameter: str, cure: str) -> None:
    """Warn that the penalty is too strong for the unit of the columns or the target: for models without columns.

    That is so if the same penalty would let a column in after division by its standard deviation; or if it keeps out
    every column of standard deviation 1, even one that equals the target but for its unit.
    """
    first = problems[0]
    units = first.units
    column_unit = units.target / units.coefficient
    means, squares = moments(first.X, first.weights)
    spreads = np.sqrt(np.maximum(squares - means**2 if first.fit_intercept else squares, 0.0))
    spreads *= column_unit
    slopes = np.max([np.abs(problem.null_gradient[: spreads.size]) for problem in problems], axis=0)
    scaled = np.divide(slopes, spreads, out=np.zeros_like(slopes), where=spreads > 0)
    total = first.weights.sum()
    target_spread = units.target * float(np.sqrt(first.weights @ first.y**2 / total))
    perfect = target_spread * total / (units.target * column_unit)
    if scaled.max(initial=0.0) > 1.0 and spreads.max() < _SMALL_UNIT:
        what, size = "columns", spreads.max()
    elif first.loss == "squared" and 0 < perfect < 1.0 and target_spread < _SMALL_UNIT:
        what, size = "target", target_spread
    else:
        return
    warn_caller(
        f"All coefficients are zero: {parameter} depends on the unit of the {what}, which makes the penalty too strong "
        f"here (largest standard deviation {size:.2g}). Scale the {what} to a standard deviation of 1, or let {cure} "
        "choose the penalty, which does not depend on the unit."
    )
