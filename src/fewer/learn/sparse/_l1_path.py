"""The same sparse linear model at many penalties, each started from the last, and its figure.

From one penalty to the next the slopes of all columns are known up to a factor, and most columns that will enter are
those whose slope comes near the new bound (the strong rule of Tibshirani et al., 2012). They are the working set; one
look at all other columns confirms it, or adds what it missed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from fewer._estimators import check_sample_weight, checked_array, encoded_classes, warn_caller
from fewer._figures import Result
from fewer.learn.sparse._problem import LOSSES, L1Problem
from fewer.learn.sparse._proximal_newton import Candidates, KeptGram, Standing


@dataclass(frozen=True, eq=False, repr=False)
class L1Path(Result):
    """Sparse linear models from the strongest penalty to the weakest.

    Attributes
    ----------
    loss : str
        The loss of the predictions.
    Cs : ndarray of shape (n_alphas,)
        Weights of the loss, increasing.
    coefs : csr_array of shape (n_alphas, n_features)
        Coefficients, a row for each weight.
    intercepts : ndarray of shape (n_alphas,)
        Constants.
    objectives : ndarray of shape (n_alphas,)
        What was minimised, ``P(w) + C sum of losses``.
    violations : ndarray of shape (n_alphas,)
        Largest absolute sub-gradient at the end, as a share of ``l1_ratio``. Without an intercept, an objective is
        within a relative gap of twice this of its minimum.
    last_slopes : ndarray of shape (n_features,)
        Absolute slopes of the loss at the last point, as shares of ``l1_ratio``; a column at zero stays there while its
        slope is at most 1.
    feature_names : ndarray of str or None
        Names of the columns, where they have any.
    n_rows : float
        Number of rows, or the sum of their weights.
    """

    loss: str
    Cs: np.ndarray
    coefs: sparse.csr_array
    intercepts: np.ndarray
    objectives: np.ndarray
    violations: np.ndarray
    last_slopes: np.ndarray
    feature_names: np.ndarray | None
    n_rows: float

    @property
    def alphas(self) -> np.ndarray:
        """The penalties on the scale of scikit-learn's Lasso, ``1 / (C n)``, decreasing."""
        return 1 / (self.Cs * self.n_rows)

    @cached_property
    def n_nonzero(self) -> np.ndarray:
        """Columns in the model, at each point."""
        return np.diff(self.coefs.indptr)

    @cached_property
    def entered(self) -> np.ndarray:
        """For each column the first point at which it is in the model; the number of points if it never is."""
        points = np.full(self.coefs.shape[1], len(self.Cs))
        stored = self.coefs.tocoo()
        np.minimum.at(points, stored.col, stored.row)
        return points

    def __repr__(self) -> str:
        return (
            f"L1Path({self.loss} loss, {len(self.Cs)} penalties, C from {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}: "
            f"{self.n_nonzero[0]} to {self.n_nonzero[-1]} of {self.coefs.shape[1]} columns)"
        )

    def plot(self, n_columns: int = 12) -> Any:
        """Coefficients against the penalty; the columns that enter first are named.

        Parameters
        ----------
        n_columns : int, default=12
            How many columns are coloured and named; the others are thin and grey.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        return path_figure(self, n_columns)


def smallest_weight(problem: L1Problem) -> float:
    """The weight of the loss, in units of the problem's own, up to which every coefficient is zero."""
    largest = float(np.abs(problem.null_gradient[: problem.X.shape[1]]).max())
    return 1 / largest if largest > 0 else np.inf


class PathPoints(NamedTuple):
    """Models at several weights of the loss, in the units of the user's table; the last absolute slopes."""

    coefs: sparse.csr_array
    intercepts: np.ndarray
    objectives: np.ndarray
    violations: np.ndarray
    last_slopes: np.ndarray


def path_of(
    problem: L1Problem,
    Cs: np.ndarray,
    tol: float,
    max_features: int | None = None,
    last_tol: float | None = None,
) -> PathPoints:
    """Models at increasing weights, in units of the problem's own; each is where the next starts.

    The last may have a tolerance of its own.
    """
    standing = Standing(problem.scaled(Cs[0]), problem.null_start)
    w = standing.w
    slopes = Cs[0] * problem.null_gradient
    kept = KeptGram(problem.table, problem.size)
    places, values, objectives, ends = [], [], [], []
    before = Cs[0]
    for C in Cs:
        # Slopes of the loss grow with C; columns whose slope may pass its bound come first (the strong rule).
        standing.scale(C / before)
        problem.add_ridge(slopes, -w)
        slopes *= C / before
        strong = np.flatnonzero((np.abs(slopes) * max(2 * before / C - 1, 0.0) >= problem.penalties) | (w != 0.0))
        problem.add_ridge(slopes, w)
        before = C
        aim = last_tol if last_tol is not None and Cs[-1] == C else tol
        likely = Candidates(standing, slopes[strong], strong)
        likely.rounds(0.5 * aim, kept)
        everything = Candidates(standing, slopes)
        everything.look()
        everything.rounds(aim, kept)
        places.append(np.flatnonzero(w))
        values.append(w[places[-1]])
        objectives.append(standing.objective)
        ends.append(everything.largest)
        if max_features is not None and np.count_nonzero(w[: problem.X.shape[1]]) > max_features:
            break
    starts = np.cumsum([0, *map(len, places)])
    rows = sparse.csr_array((np.concatenate(values), np.concatenate(places), starts), shape=(len(places), problem.size))
    n_columns = problem.X.shape[1]
    constants = rows[:, [n_columns]].toarray().ravel() if problem.fit_intercept else np.zeros(len(places))
    coefs, intercepts = problem.units.originals(rows[:, :n_columns], constants)
    values_there = problem.units.objective * np.array(objectives)
    return PathPoints(sparse.csr_array(coefs), intercepts, values_there, np.array(ends), np.abs(slopes))


def warn_of_violations(violations: np.ndarray, tol: float) -> None:
    """Warn that some models of a path are not within the tolerance."""
    above = np.count_nonzero(violations > tol)
    if above:
        warn_caller(
            f"{above} of {violations.size} models of the path are not within tol={tol:g} of optimal: the largest "
            f"sub-gradient is {violations.max():.1e} of the penalty. Raise tol or eps, or scale the columns.",
            ConvergenceWarning,
        )


def l1_path(
    X: Any,
    y: Any,
    *,
    loss: str = "log",
    Cs: Any = None,
    n_alphas: int = 100,
    eps: float = 1e-2,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    max_features: int | None = None,
    tol: float = 1e-4,
    l1_ratio: float = 1.0,
) -> L1Path:
    """Minimise ``P(w) + C sum_i loss(y_i, x_i'w + b)`` for many ``C``, from the model without columns on.

    ``P(w) = l1_ratio ||w||_1 + (1 - l1_ratio) ||w||^2 / 2``. With an intercept, offsets of the columns change nothing.
    The unit of the whole table changes nothing either, as long as ``Cs`` is None and ``l1_ratio`` is 1.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table; columns on comparable scales.
    y : array-like of shape (n_samples,)
        Two classes for "log" and "squared_hinge", numbers for "squared".
    loss : {"log", "squared_hinge", "squared"}, default="log"
        Loss of the predictions; "squared" is ``(y - z)^2 / 2``.
    Cs : array-like of float or None, default=None
        Weights of the loss; None for ``n_alphas`` in geometric order, from the largest that keeps every coefficient at
        zero to ``1 / eps`` times that.
    n_alphas : int, default=100
        Number of weights.
    eps : float, default=1e-2
        First weight over last.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows.
    max_features : int or None, default=None
        Stop after the first model with more columns than this.
    tol : float, default=1e-4
        Each fit ends when no column's absolute sub-gradient exceeds this share of ``l1_ratio``, the bound of a column
        at zero. If that is not reached, a ConvergenceWarning gives the largest sub-gradient.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty, above 0 and at most 1; the rest are squares (elastic net).

    Returns
    -------
    path : L1Path
        The models, with a plot.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import l1_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = l1_path(scale(X), y, n_alphas=20)
    >>> path.n_nonzero[[0, 5, 10, 19]].tolist()
    [0, 3, 6, 13]
    """
    names = np.array(X.columns, dtype=object) if hasattr(X, "columns") else None
    X = checked_array(X, "l1_path", accept_sparse=("csc", "csr"), dtype=[np.float64, np.float32])
    if loss not in LOSSES:
        raise ValueError(f"Unknown loss {loss!r}; there are {', '.join(LOSSES)}.")
    if not 0 < eps < 1:
        raise ValueError(f"eps is the first weight over the last, between 0 and 1; got {eps!r}.")
    if not 0 < l1_ratio <= 1:
        raise ValueError(f"l1_ratio must be above 0 and at most 1; got {l1_ratio!r}.")
    check_consistent_length(X, y)
    y = column_or_1d(y)
    if loss == "squared":
        target = y.astype(np.float64)
    else:
        if type_of_target(y) == "continuous":
            raise ValueError(f"y holds numbers with fractions, and loss={loss!r} is for classes; give loss='squared'.")
        classes, codes = encoded_classes(y, "l1_path")
        if len(classes) > 2:
            raise ValueError(
                f"l1_path takes two classes with loss={loss!r}, and y has {len(classes)}; call it for each class "
                "against the rest, or use L1PathClassifierCV, which does. For numbers there is loss='squared'."
            )
        target = 2.0 * codes - 1.0
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    problem = L1Problem.of(loss, X, target, sample_weight=weights, fit_intercept=fit_intercept, l1_ratio=l1_ratio)
    grid = weight_grid(problem, n_alphas, eps) if Cs is None else np.sort(np.asarray(Cs, dtype=float))
    if grid.size == 0 or grid[0] <= 0 or not np.isfinite(grid).all():
        raise ValueError(f"Cs must be positive numbers, at least one; got {Cs!r}.")
    points = path_of(problem, grid, tol, max_features)
    warn_of_violations(points.violations, tol)
    total = float(X.shape[0] if weights is None else weights.sum())
    return L1Path(
        loss, grid[: len(points.objectives)], points.coefs, points.intercepts, points.objectives, points.violations,
        points.last_slopes[: X.shape[1]], names, total,
    )  # fmt: skip


def weight_grid(problem: L1Problem, n_alphas: int, eps: float) -> np.ndarray:
    """Weights in geometric order, from the largest at which every coefficient is zero."""
    first = smallest_weight(problem)
    if not np.isfinite(first):
        raise ValueError(
            "No column is correlated with the target: every slope is zero at the model without columns (constant "
            "columns?), so there is no path."
        )
    return np.geomspace(first, first / eps, n_alphas)


def path_figure(path: L1Path, n_columns: int) -> Any:
    """Lines of the first columns to enter, named; the rest thin and grey."""
    from fewer._figures import GREY, new_figure, translucent

    coefs = path.coefs.tocsc()
    ever = np.flatnonzero(np.diff(coefs.indptr))
    order = ever[np.argsort(path.entered[ever], kind="stable")]
    figure = new_figure(
        title=f"{len(ever)} of {coefs.shape[1]} columns enter",
        x="C: weight of the loss (the penalty gets weaker to the right)",
        y="coefficient",
    )
    for place, column in enumerate(order):
        values = coefs[:, [column]].toarray().ravel()
        name = str(column) if path.feature_names is None else str(path.feature_names[column])
        named = place < n_columns
        figure.add_scatter(
            x=path.Cs, y=values, mode="lines", name=name, showlegend=named,
            line={"width": 2} if named else {"width": 0.7, "color": translucent(GREY, 0.5)},
        )  # fmt: skip
    figure.update_xaxes(type="log")
    figure.update_layout(
        legend={"title": "first to enter", "orientation": "v", "x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"},
    )
    return figure
