"""The same problem by several solvers, against the clock: the gap to the minimum, the sub-gradient, columns,
accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._estimators import checked_array, encoded_classes
from fewer._figures import Result
from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse._solvers import SOLVERS, L1History

SMALLEST_GAP = 1e-12


@dataclass(frozen=True, repr=False, eq=False)
class SolverComparison(Result):
    """Progress of several solvers towards the same minimum.

    Attributes
    ----------
    histories : dict of str to L1History
        What each solver had after each iteration.
    minimum : float
        The lowest objective that any solver found, in the comparison or in the strict run before it.
    start_subgradient : float
        Norm of the smallest sub-gradient at the start, times the share of the rarer class: the scale of sub-gradients.
    accuracies : dict of str to list of float
        Accuracy on the test rows after each iteration; empty without test rows.
    """

    histories: dict[str, L1History]
    minimum: float
    start_subgradient: float
    accuracies: dict[str, list[float]]

    @property
    def table(self) -> list[dict[str, Any]]:
        """A record for each iteration of each solver."""
        return [
            {
                "solver": solver,
                "seconds": history.seconds[at],
                "relative_gap": self.gaps(solver)[at],
                "scaled_subgradient": history.subgradient[at] / self.start_subgradient,
                "n_nonzero": history.n_nonzero[at],
                "accuracy": self.accuracies[solver][at] if self.accuracies else None,
            }
            for solver, history in self.histories.items()
            for at in range(len(history.seconds))
        ]

    def gaps(self, solver: str) -> np.ndarray:
        """Objective above the minimum, as a share of it, after each iteration."""
        values = np.array(self.histories[solver].objective)
        return np.maximum((values - self.minimum) / self.minimum, SMALLEST_GAP)

    def seconds_to(self, relative_gap: float) -> dict[str, float]:
        """Time that each solver took to come within a gap of the minimum; infinite if it did not."""
        found = {}
        for solver, history in self.histories.items():
            there = np.flatnonzero(self.gaps(solver) <= relative_gap)
            found[solver] = history.seconds[there[0]] if there.size else np.inf
        return found

    def __repr__(self) -> str:
        loose, strict = self.seconds_to(1e-3), self.seconds_to(1e-8)
        rows = [
            f"  {solver:<10} {_clock(loose[solver]):>10} {_clock(strict[solver]):>10}"
            for solver in sorted(self.histories, key=lambda solver: strict[solver])
        ]
        heading = f"SolverComparison: seconds to the minimum {self.minimum:.6g}"
        return "\n".join([heading, f"  {'':<10} {'to 1e-3':>10} {'to 1e-8':>10}", *rows])

    def plot(self) -> Any:
        """Relative gap against time, a line for each solver.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer._figures import PALETTE, line, new_figure

        figure = new_figure(x="seconds", y="relative gap to the minimum")
        for place, (solver, history) in enumerate(self.histories.items()):
            seconds = np.maximum(history.seconds, 1e-5)
            figure.add_trace(line(solver, seconds, self.gaps(solver), PALETTE[place % len(PALETTE)]))
        figure.update_xaxes(type="log")
        figure.update_yaxes(type="log", exponentformat="power")
        return figure


def _clock(seconds: float) -> str:
    return "-" if np.isinf(seconds) else f"{seconds:.3g}"


def compare_l1_solvers(
    X: Any,
    y: Any,
    *,
    C: float = 1.0,
    loss: str = "log",
    solvers: Sequence[str] = tuple(SOLVERS),
    max_time: float = 10.0,
    tol: float = 1e-9,
    fit_intercept: bool = False,
    test: tuple[Any, Any] | None = None,
    random_state: int = 0,
) -> SolverComparison:
    """Minimise ``||w||_1 + C sum_i loss(y_i, x_i'w)`` by several solvers, and record their progress.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Two classes.
    C : float, default=1.0
        Weight of the loss.
    loss : {"log", "squared_hinge"}, default="log"
        Loss of the predictions.
    solvers : sequence of str
        Which solvers; all by default.
    max_time : float, default=10.0
        Seconds for each solver; it stops after the iteration in which they are used up.
    tol : float, default=1e-9
        Tolerance at which a solver stops earlier: a duality gap, as a share of the objective of the model without
        columns.
    fit_intercept : bool, default=False
        Whether to add a constant.
    test : tuple of (X, y) or None, default=None
        Rows on which the accuracy is recorded.
    random_state : int, default=0
        Orders the columns for solvers that draw.

    Returns
    -------
    comparison : SolverComparison
        Histories, times, and the figure of gaps against time.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import compare_l1_solvers
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> compared = compare_l1_solvers(scale(X), y, solvers=["auto", "cdn"], max_time=2)
    >>> round(compared.minimum, 4), compared.histories["auto"].n_nonzero[-1]
    (46.0817, 16)
    """
    X = checked_array(X, "compare_l1_solvers", accept_sparse=("csc", "csr"), dtype=[np.float64, np.float32])
    classes, codes = encoded_classes(np.asarray(y), "compare_l1_solvers")
    if len(classes) != 2:
        raise ValueError(f"compare_l1_solvers takes two classes, and y has {len(classes)}.")
    unknown = [solver for solver in solvers if solver not in SOLVERS]
    if unknown:
        raise ValueError(f"Unknown solvers {', '.join(unknown)}; there are {', '.join(SOLVERS)}.")
    problem = L1Problem.of(loss, X, 2.0 * codes - 1, C=C, fit_intercept=fit_intercept)
    start = problem.null_start
    tolerance = problem.absolute_tolerance(tol)
    # A first iteration of each compiles what it needs; the strict run finds the minimum.
    for solver in solvers:
        SOLVERS[solver](problem, start, tolerance, 1, np.random.default_rng(random_state))
    minimum = SOLVERS["auto"](problem, start, tolerance, 1000, np.random.default_rng(random_state)).objective
    minimum *= problem.units.objective
    histories, accuracies = {}, {}
    for solver in solvers:
        history = L1History()
        right: list[float] = []

        def after(w, z, history=history, right=right):
            history.note(problem, w, z)
            if test is not None:
                right.append(_accuracy(w, problem, test, classes))
            return history.seconds[-1] > max_time

        after(start, problem.predictions(start))
        SOLVERS[solver](problem, start, tolerance, 10_000_000, np.random.default_rng(random_state), after)
        histories[solver] = history
        if test is not None:
            accuracies[solver] = right
        minimum = min(minimum, min(history.objective))
    scale = problem.rarer_share * float(np.linalg.norm(problem.subgradient(start)))
    return SolverComparison(histories, minimum, scale, accuracies)


def _accuracy(w: np.ndarray, problem: L1Problem, test: tuple[Any, Any], classes: np.ndarray) -> float:
    X, y = test
    coef, intercept = problem.original(w)
    return float((np.where(X @ coef + intercept > 0, classes[1], classes[0]) == np.asarray(y)).mean())
