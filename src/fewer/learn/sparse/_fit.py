"""One fit of a sparse linear model: the solver, what it went through, and how sure it may be of the end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer.learn.sparse._duality import duality_gap
from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse.solvers import SOLVERS, Solution


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
        self.objective.append(problem.objective(coefficients, predictions))
        self.subgradient.append(float(np.linalg.norm(problem.subgradient(coefficients))))
        self.n_nonzero.append(int(np.count_nonzero(coefficients[: problem.X.shape[1]])))
        self._away += time.perf_counter() - now


@dataclass(frozen=True)
class L1Fit:
    """A solution with the figures that tell how good it is."""

    solution: Solution
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
    absolute = problem.absolute_tolerance(tol)
    solution = SOLVERS[solver](problem, start, absolute, max_iter, rng, after, **options)
    scale = problem.rarer_share * problem.start_violation
    scaled = solution.violation / scale if scale > 0 else 0.0
    if not solution.converged and not stopped:
        changing = " The number of columns in the model still changed." if len(set(counts[-2:])) > 1 else ""
        warn_caller(
            f"The solver {solver!r} stopped after {solution.n_iter} iterations at a sub-gradient of {scaled:.1e} of "
            f"its start, above tol={tol:g}.{changing} Raise max_iter or tol, scale the columns, or use solver='auto'.",
            ConvergenceWarning,
        )
    gap = duality_gap(
        problem,
        solution.coefficients,
        solution.predictions,
        objective=solution.objective,
        gradient=solution.gradient,
    )
    return L1Fit(solution, gap, scaled, history)
