"""The graphical lasso for a covariance matrix: at one penalty, or along a path of them.

    min over Omega > 0 of  -log det Omega + tr(S Omega) + alpha sum_{i != j} |Omega_ij|

Friedman, Hastie and Tibshirani (2008), Biostatistics 9, 432-441. The solver is in ``_newton.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import decreasing_alphas, warn_caller
from fewer._figures import Result
from fewer.graph.precision._column_covariance import checked_covariance, partial_correlations
from fewer.graph.precision._newton import SMALL_PENALTY, PrecisionSolution, solve_in_parts

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


def sparse_precision(
    cov: "ArrayLike", alpha: "float | ArrayLike", *, tol: float = 1e-6, max_iter: int = 100
) -> PrecisionSolution:
    """Graphical lasso for a covariance matrix.

    Parameters
    ----------
    cov : array-like of shape (n_features, n_features)
        Covariance matrix S, which may be singular if alpha is above 0. float32 is solved in float32.
    alpha : float or array-like of shape (n_features, n_features)
        Penalty of the entries off the diagonal, as in scikit-learn's ``graphical_lasso``; one for each entry may be
        given, with infinity for an edge that must not be there.
    tol : float, default=1e-6
        The objective is above its minimum by at most this for each column (the duality gap over the number of columns).
    max_iter : int, default=100
        Newton steps at most.

    Returns
    -------
    solution : PrecisionSolution
        The precision matrix, its inverse, the objective and the duality gap.

    See Also
    --------
    SparsePrecision : The same for a table.

    Examples
    --------
    >>> from fewer.graph import sparse_precision
    >>> solution = sparse_precision([[1.0, 0.5, 0.1], [0.5, 1.0, 0.1], [0.1, 0.1, 1.0]], alpha=0.2)
    >>> solution.precision.round(3)
    array([[ 1.099, -0.33 ,  0.   ],
           [-0.33 ,  1.099,  0.   ],
           [ 0.   ,  0.   ,  1.   ]])
    >>> solution.n_parts
    2
    """
    S = checked_covariance(cov, "sparse_precision")
    return checked_solution(S, penalty_matrix(alpha, S), tol, max_iter)


def checked_solution(S, penalty, tol, max_iter, start=None, after_step=None) -> PrecisionSolution:
    """The solution; no bound from below is an error, and a large gap a warning."""
    _refuse_unbounded(S, penalty)
    # Sums of p products in this precision are not known better.
    known = max(tol, 32 * float(np.finfo(S.dtype).eps))
    stop = [False]

    def watch(precision: np.ndarray, W: np.ndarray) -> bool:
        stop[0] = after_step(precision, W)
        return stop[0]

    solution = solve_in_parts(S, penalty, known, max_iter, start, None if after_step is None else watch)
    if not solution.gap <= known * len(S) and not stop[0]:
        warn_caller(
            f"The graphical lasso did not converge in {solution.n_iter} steps: the duality gap is {solution.gap:.2g}, "
            f"above tol={tol:.2g} times {len(S)} columns. {_advice(S, penalty)}",
            ConvergenceWarning,
        )
    return solution


def _advice(S: np.ndarray, penalty: np.ndarray) -> str:
    largest = largest_alpha(S)
    if penalty.shape == (1, 1) and penalty[0, 0] < SMALL_PENALTY * largest:
        return (
            f"Increase alpha, which is {float(penalty[0, 0]) / largest:.1g} of the largest covariance: small penalties "
            "take many steps where columns are collinear or there are fewer rows than columns. Or increase max_iter."
        )
    return "Increase max_iter or alpha."


def penalty_matrix(alpha: Any, S: np.ndarray) -> np.ndarray:
    """Penalties of all entries, or one number as a matrix of shape (1, 1)."""
    penalty = np.asarray(alpha, dtype=S.dtype)
    if penalty.ndim == 0:
        penalty = penalty.reshape(1, 1)
    elif penalty.shape != S.shape:
        raise ValueError(f"alpha has the shape {penalty.shape}; it must be a number or a matrix of shape {S.shape}.")
    if np.isnan(penalty).any() or (penalty < 0).any():
        raise ValueError("alpha must not be negative or NaN.")
    if not np.array_equal(penalty, penalty.T):
        raise ValueError("alpha must be a symmetric matrix: an edge has one penalty.")
    return np.ascontiguousarray(penalty)


def _refuse_unbounded(S: np.ndarray, penalty: np.ndarray) -> None:
    """Without any penalty, a singular covariance matrix has no inverse."""
    if penalty.any():
        return
    eigenvalues = np.linalg.eigvalsh(S)
    if eigenvalues[0] <= len(S) * np.finfo(S.dtype).eps * eigenvalues[-1]:
        raise ValueError(
            "With alpha=0 the precision matrix is the inverse of the covariance matrix, which is singular: columns are "
            "linear combinations of others, or there are fewer rows than columns. Give alpha a number above 0."
        )


def largest_alpha(S: np.ndarray) -> float:
    """From here on there is no edge."""
    return float(np.abs(S - np.diag(np.diag(S))).max(initial=0.0))


def penalty_grid(S: np.ndarray, n_alphas: int, eps: float) -> np.ndarray:
    """Penalties from the largest one down to ``eps`` times that, in geometric steps."""
    return np.geomspace(1, eps, n_alphas) * (largest_alpha(S) or 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionPath(Result):
    """Precision matrices for a row of penalties; made by :func:`sparse_precision_path`.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The penalties, largest first.
    precisions : list of csr_array of shape (n_features, n_features)
        The precision matrices.
    log_dets, traces : ndarray of shape (n_alphas,)
        ``log det Omega`` and ``tr(S Omega)``.
    gaps : ndarray of shape (n_alphas,)
        Duality gaps.
    n_iter : ndarray of shape (n_alphas,)
        Newton steps.
    """

    alphas: np.ndarray
    precisions: list[Any]
    log_dets: np.ndarray
    traces: np.ndarray
    gaps: np.ndarray
    n_iter: np.ndarray

    _data = ("alphas", "n_edges", "log_dets", "traces", "gaps", "n_iter")

    @property
    def n_edges(self) -> np.ndarray:
        """Edges at each penalty."""
        return np.array([(precision.nnz - precision.shape[0]) // 2 for precision in self.precisions])

    def information_criterion(self, n_samples: int, gamma: float = 0.0) -> np.ndarray:
        """BIC at each penalty, or EBIC with gamma above 0; the smallest is best.

        Parameters
        ----------
        n_samples : int
            Rows of the table.
        gamma : float, default=0.0
            How much the number of possible graphs counts, 0 to 1.

        Returns
        -------
        criterion : ndarray of shape (n_alphas,)
            The criterion.
        """
        fit = n_samples * (self.traces - self.log_dets)
        return fit + self.n_edges * (np.log(n_samples) + 4 * gamma * np.log(self.precisions[0].shape[0]))

    def __repr__(self) -> str:
        return (
            f"Path of {len(self.alphas)} penalties, {self.alphas[0]:.3g} to {self.alphas[-1]:.3g}\n"
            f"  {self.n_edges[0]:,} to {self.n_edges[-1]:,} edges, largest duality gap {self.gaps.max():.1e}"
        )

    def plot(self, n_edges: int = 40) -> "go.Figure":
        """Partial correlations against the penalty.

        Parameters
        ----------
        n_edges : int, default=40
            Edges to draw, those with the largest partial correlations at the smallest penalty.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer._figures import BLUE, RED, log_ticks, new_figure, translucent

        last = partial_correlations(self.precisions[-1].toarray())
        rows, columns = np.triu_indices_from(last, 1)
        shown = np.argsort(-np.abs(last[rows, columns]), kind="stable")[:n_edges]
        curves = np.array(
            [partial_correlations(each.toarray())[rows[shown], columns[shown]] for each in self.precisions]
        )
        figure = new_figure(title="Edges enter as the penalty falls", x="alpha", y="partial correlation")
        for place, (i, j) in enumerate(zip(rows[shown], columns[shown], strict=True)):
            colour = translucent(BLUE if curves[-1, place] > 0 else RED, 0.8)
            figure.add_scatter(
                x=self.alphas, y=curves[:, place], mode="lines", line={"color": colour, "width": 1.5},
                name=f"{i} – {j}", showlegend=False,
            )  # fmt: skip
        return figure.update_xaxes(type="log", autorange="reversed", **log_ticks(self.alphas.min(), self.alphas.max()))


def sparse_precision_path(
    cov: "ArrayLike",
    *,
    alphas: "ArrayLike | None" = None,
    n_alphas: int = 20,
    eps: float = 0.05,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> PrecisionPath:
    """Graphical lasso for a row of penalties, each from the solution before.

    Parameters
    ----------
    cov : array-like of shape (n_features, n_features)
        Covariance matrix.
    alphas : array-like of shape (n_alphas,), default=None
        Penalties; by default ``n_alphas`` from the smallest one without an edge down to ``eps`` times that.
    n_alphas : int, default=20
        Number of penalties.
    eps : float, default=0.05
        Smallest penalty over the largest.
    tol : float, default=1e-6
        As in :func:`sparse_precision`.
    max_iter : int, default=100
        Newton steps at most, for each penalty.

    Returns
    -------
    path : PrecisionPath
        The precision matrices, sparse, with what the choice of a penalty needs. It has ``plot()``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.graph import sparse_precision_path
    >>> X = np.cumsum(np.random.default_rng(0).normal(size=(50, 8)), axis=1)
    >>> path = sparse_precision_path(np.corrcoef(X.T), n_alphas=5, eps=0.1)
    >>> path
    Path of 5 penalties, 0.926 to 0.0926
      0 to 15 edges, largest duality gap ...
    """
    S = checked_covariance(cov, "sparse_precision_path")
    grid = penalty_grid(S, n_alphas, eps) if alphas is None else decreasing_alphas(alphas)
    return path_of_solutions(S, grid, tol, max_iter)


def path_of_solutions(
    S: np.ndarray, alphas: np.ndarray, tol: float, max_iter: int, after_step: Callable[[], bool] | None = None
) -> PrecisionPath:
    found: list[Any] = []
    start = None
    for alpha in alphas:
        solution = checked_solution(S, penalty_matrix(alpha, S), tol, max_iter, start)
        start = solution.precision, solution.covariance
        sparse_one = csr_array(solution.precision)
        trace = float(sparse_one.multiply(S).sum())
        norm = alpha * float(np.abs(sparse_one.data).sum() - np.abs(sparse_one.diagonal()).sum())
        found.append((sparse_one, trace + norm - solution.objective, trace, solution.gap, solution.n_iter))
        if after_step is not None and after_step():
            break
    precisions, *figures = zip(*found, strict=True)
    return PrecisionPath(np.asarray(alphas[: len(found)]), list(precisions), *map(np.array, figures))
