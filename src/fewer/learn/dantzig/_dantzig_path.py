"""The Dantzig selector at all penalties: straight lines between breakpoints."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from fewer._estimators import checked_array, decreasing_alphas
from fewer._figures import Result
from fewer.learn.dantzig._dantzig_problem import DantzigProblem, DantzigWalk, StuckError, moments, solve_problem

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class DantzigPath(Result):
    """Dantzig selectors from the largest penalty down; made by :func:`dantzig_path`.

    Attributes
    ----------
    alphas : ndarray of shape (n_points,)
        Penalties, decreasing.
    coefs : ndarray of shape (n_points, n_features)
        Coefficients, for the columns as given.
    intercepts : ndarray of shape (n_points,)
        Constants.
    feature_names : ndarray of str or None
        Names of the columns, where they have any.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    feature_names: np.ndarray | None

    @property
    def n_nonzero(self) -> np.ndarray:
        """Columns in the model, at each point."""
        return np.count_nonzero(self.coefs, axis=1)

    def __repr__(self) -> str:
        return (
            f"DantzigPath: {len(self.alphas)} penalties from {self.alphas[0]:.3g} to {self.alphas[-1]:.3g}\n"
            f"  {self.n_nonzero[0]} to {self.n_nonzero[-1]} of {self.coefs.shape[1]} columns"
        )

    def plot(self, n_columns: int = 12) -> "go.Figure":
        """Coefficients against the penalty; the columns that enter first are named.

        Parameters
        ----------
        n_columns : int, default=12
            How many columns are named.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer._figures import GREY, new_figure, translucent

        ever = np.flatnonzero(self.coefs.any(axis=0))
        order = ever[np.argsort((self.coefs[:, ever] != 0).argmax(axis=0), kind="stable")]
        figure = new_figure(
            title=f"{len(ever)} of {self.coefs.shape[1]} columns enter",
            x="alpha: product of a column with the residuals that is allowed",
            y="coefficient",
        )
        for place, column in enumerate(order):
            name = str(column) if self.feature_names is None else str(self.feature_names[column])
            named = place < n_columns
            figure.add_scatter(
                x=self.alphas, y=self.coefs[:, column], mode="lines", name=name, showlegend=named,
                line={"width": 2} if named else {"width": 0.7, "color": translucent(GREY, 0.5)},
            )  # fmt: skip
        figure.update_xaxes(autorange="reversed")
        return figure


def dantzig_path(
    X: Any,
    y: Any,
    *,
    alphas: "ArrayLike | None" = None,
    eps: float = 0.1,
    fit_intercept: bool = True,
    with_std: bool = True,
) -> DantzigPath:
    """The Dantzig selector at many penalties, by one walk (parametric simplex).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Numbers to predict.
    alphas : array-like or None, default=None
        Penalties; None for all breakpoints, between which coefficients are straight lines, down to ``eps`` times the
        largest penalty.
    eps : float, default=0.1
        Last penalty over first.
    fit_intercept : bool, default=True
        Whether to centre the columns and the target.
    with_std : bool, default=True
        Whether to scale columns to mean square 1.

    Returns
    -------
    path : DantzigPath
        Coefficients at each penalty; it plots itself.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import dantzig_path
    >>> dantzig_path(*load_diabetes(return_X_y=True))
    DantzigPath: 6 penalties from 45.2 to 4.52
      0 to 5 of 10 columns
    """
    names = np.array(X.columns, dtype=object) if hasattr(X, "columns") else None
    X = checked_array(X, "dantzig_path", accept_sparse=("csr", "csc"), dtype=np.float64)
    check_consistent_length(X, y)
    table = moments(X, np.asarray(column_or_1d(y), dtype=float), fit_intercept, with_std)
    if alphas is None and not 0 < eps < 1:
        raise ValueError(f"eps={eps} must lie between 0 and 1.")
    asked = None if alphas is None else decreasing_alphas(alphas)
    points, coefs = _points(table.problem, asked, eps)
    originals = [table.original_coef(coef) for coef in coefs]
    return DantzigPath(
        points, np.array([coef for coef, _ in originals]), np.array([constant for _, constant in originals]), names
    )


def _points(problem: DantzigProblem, asked: np.ndarray | None, eps: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Penalties and the coefficients of scaled columns: those asked for, or the breakpoints."""
    last = eps * problem.largest_alpha if asked is None else float(asked[-1])
    try:
        walk = DantzigWalk(problem)
        end = walk.solution_at(last)
        if problem.is_solved(end.coef, end.dual, end.alpha):
            if asked is not None:
                return asked, [walk.coef_between(alpha) for alpha in asked]
            passed = np.array([alpha for alpha, *_ in walk.breakpoints])
            return passed, [walk.coef_at(breakpoint) for breakpoint in range(passed.size)]
    except StuckError:
        pass
    # Ties stopped the walk: a program for each penalty.
    grid = np.geomspace(problem.largest_alpha, last, 50) if asked is None else asked
    return grid, [solve_problem(problem, alpha, "auto").coef for alpha in grid]
