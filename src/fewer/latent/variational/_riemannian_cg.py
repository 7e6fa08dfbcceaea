"""Conjugate gradients measured in the geometry of the distribution whose parameters are sought.

To minimise F(x) over parameters x of a distribution with Fisher information G(x), take ``h_k = G_k^-1 g_k``, the
natural gradient, instead of the gradient ``g_k``:

    x_{k+1} = x_k + a p_k,    p_k = -h_k + beta_k p_{k-1},
    beta_k = <h_k, h_k - h_{k-1}>_k / <h_{k-1}, h_{k-1}>_{k-1},

with ``<u, v>_k = u' G_k v`` (Polak and Ribiere, not below 0). Steps follow straight lines: geodesics and parallel
transport would change them in the second order only. Two products are free: ``<h_k, v>_k = g_k' v`` for every v. The
line search is coarse: the length 1, doubled while F falls or cut by 3 until it does, and then one parabola.

Honkela, A., Raiko, T., Kuusela, M., Tornio, M. and Karhunen, J. (2010). Approximate Riemannian conjugate gradient
learning for fixed-form variational Bayes. Journal of Machine Learning Research 11, 3235-3268.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import solveh_banded

from fewer._kernels._quasi_newton import quasi_newton_direction

Gradient = np.ndarray | Callable[[], np.ndarray]
_MAX_CUTS = 40
_MAX_DOUBLINGS = 40
_MEMORY = 20
_CONJUGACY_LOST = 0.2


class Metric:
    """Fisher information of a distribution at its parameters x; those below are for common shapes."""

    def solve(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Natural gradient, ``G(x)^-1 gradient``.

        Parameters
        ----------
        x : ndarray of shape (n,)
            Parameters.
        gradient : ndarray of shape (n,)
            Gradient there.

        Returns
        -------
        natural : ndarray of shape (n,)
            The direction of steepest ascent in this geometry.
        """
        raise NotImplementedError

    def product(self, x: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """The information times a vector, ``G(x) vector``.

        Parameters
        ----------
        x : ndarray of shape (n,)
            Parameters.
        vector : ndarray of shape (n,)
            Any direction.

        Returns
        -------
        product : ndarray of shape (n,)
            Inner products with the vector are ordinary ones with this.
        """
        raise NotImplementedError


class DiagonalMetric(Metric):
    """Fisher information of independent parameters, for `riemannian_cg`.

    Parameters
    ----------
    diagonal : callable
        From parameters to their information, an array of the same length: ``1 / variance`` for the mean of a normal
        variable, and ``1 / (2 variance^2)`` for its variance.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import DiagonalMetric
    >>> DiagonalMetric(lambda x: np.array([4.0, 2.0])).solve(np.zeros(2), np.array([8.0, 8.0]))
    array([2., 4.])
    """

    def __init__(self, diagonal: Callable[[np.ndarray], np.ndarray]):
        self.diagonal = diagonal

    def solve(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return gradient / self.diagonal(x)

    def product(self, x: np.ndarray, vector: np.ndarray) -> np.ndarray:
        return self.diagonal(x) * vector


class BlockDiagonalMetric(Metric):
    """Fisher information of blocks of parameters of one size, for `riemannian_cg`.

    Parameters
    ----------
    blocks : callable
        From parameters to positive definite matrices, an array of shape (n_blocks, size, size), for parameters in the
        same order: the inverse covariance for the mean of a normal vector.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import BlockDiagonalMetric
    >>> precision = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> BlockDiagonalMetric(lambda x: precision[None]).solve(np.zeros(2), np.array([3.0, 0.0])).round(6)
    array([ 2., -1.])
    """

    def __init__(self, blocks: Callable[[np.ndarray], np.ndarray]):
        self.blocks = blocks

    def solve(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        blocks = self.blocks(x)
        return np.linalg.solve(blocks, gradient.reshape(len(blocks), -1, 1)).ravel()

    def product(self, x: np.ndarray, vector: np.ndarray) -> np.ndarray:
        blocks = self.blocks(x)
        return (blocks @ vector.reshape(len(blocks), -1, 1)).ravel()


class TridiagonalMetric(Metric):
    """Fisher information of a chain of parameters, for `riemannian_cg`: O(n) for each product and solution.

    Parameters
    ----------
    bands : callable
        From parameters to two arrays: the diagonal, of shape (n,), and the entries beside it, of shape (n - 1,). For
        the means of a normal chain this is its precision matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import TridiagonalMetric
    >>> walk = TridiagonalMetric(lambda x: (np.array([2.0, 2.0, 1.0]), np.array([-1.0, -1.0])))
    >>> walk.solve(np.zeros(3), np.array([0.0, 0.0, 1.0])).round(6)
    array([1., 2., 3.])
    """

    def __init__(self, bands: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]):
        self.bands = bands

    def solve(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        diagonal, beside = self.bands(x)
        return solveh_banded(np.vstack([diagonal, np.append(beside, 0.0)]), gradient, lower=True)

    def product(self, x: np.ndarray, vector: np.ndarray) -> np.ndarray:
        diagonal, beside = self.bands(x)
        found = diagonal * vector
        found[:-1] += beside * vector[1:]
        found[1:] += beside * vector[:-1]
        return found


@dataclass
class Minimum:
    """Where `riemannian_cg` ended.

    Attributes
    ----------
    x : ndarray
        Parameters with the lowest value found.
    value : float
        F there.
    path : ndarray of shape (n_iter,)
        F at the end of each iteration.
    n_iter : int
        Iterations.
    n_eval : int
        Evaluations of F. Gradients are asked for at points where F is known already, once an iteration.
    converged : bool
        Whether it ended by ``tol``.
    stopped : bool
        Whether ``callback`` ended it.
    """

    x: np.ndarray
    value: float
    path: np.ndarray
    n_iter: int
    n_eval: int
    converged: bool
    stopped: bool


class _Ray:
    """F along a straight line, with the number of evaluations; what is not finite counts as infinite."""

    def __init__(self, fun_grad: Callable[[np.ndarray], tuple[float, Gradient]]):
        self._fun_grad = fun_grad
        self.n_eval = 0

    def point(self, x: np.ndarray) -> tuple[float, Gradient, np.ndarray]:
        self.n_eval += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, gradient = self._fun_grad(x)
        return (float(value) if np.isfinite(value) else np.inf), gradient, x

    def search(self, start: tuple, direction: np.ndarray, length: float) -> tuple[tuple, float]:
        """The lowest point found along a direction, and how far away it is; the start itself if none is lower."""
        _, _, x = start
        lengths, points = [0.0], [start]

        def step(a: float) -> bool:
            """Evaluate at a; whether this is lower than what came before."""
            before = min(each[0] for each in points)
            lengths.append(a)
            points.append(self.point(x + a * direction))
            return points[-1][0] < before

        if step(length):
            for _ in range(_MAX_DOUBLINGS):
                if not step(2 * lengths[-1]):
                    break
        else:
            for _ in range(_MAX_CUTS):
                if step(lengths[-1] / 3):
                    break
        best = int(np.argmin([each[0] for each in points]))
        if best:
            bottom = _vertex(np.array(lengths), np.array([each[0] for each in points]), best)
            if bottom is not None:
                step(bottom)
                best = int(np.argmin([each[0] for each in points]))
        return points[best], lengths[best]


def _vertex(lengths: np.ndarray, values: np.ndarray, best: int) -> float | None:
    """Bottom of the parabola through the lowest point and its neighbours on both sides; None if it has none."""
    below, above = lengths < lengths[best], lengths > lengths[best]
    if not above.any() or not np.isfinite(values[above][lengths[above].argmin()]):
        return None
    left, right = lengths[below].max(), lengths[above].min()
    middle = lengths[best]
    f_left, f_right = values[lengths == left][0] - values[best], values[lengths == right][0] - values[best]
    left, right = left - middle, right - middle
    curvature = (f_right / right - f_left / left) / (right - left)
    if not curvature > 0:
        return None
    bottom = middle - (f_left / left - curvature * left) / (2 * curvature)
    return float(bottom) if bottom > 0 and bottom != middle else None


def riemannian_cg(
    fun_grad: Callable[[np.ndarray], tuple[float, Gradient]],
    metric: Metric | None,
    x0: Any,
    *,
    method: Literal["cg", "gradient", "lbfgs"] = "cg",
    geometry: Literal["riemannian", "euclidean"] = "riemannian",
    restart: Literal["powell", "sqrt"] | None = "powell",
    tol: float = 1e-8,
    n_iter_no_change: int = 2,
    max_iter: int = 1000,
    update: Callable[[np.ndarray], Any] | None = None,
    callback: Callable[[], bool] | None = None,
) -> Minimum:
    """Minimise a function of the parameters of a distribution, by conjugate gradients in its own geometry.

    With ``method="gradient"`` there is no conjugacy (natural gradient descent), with ``geometry="euclidean"`` no
    metric (ordinary conjugate gradients, or steepest descent); ``"lbfgs"`` has a memory of 20 steps and no metric.

    Parameters
    ----------
    fun_grad : callable
        From parameters to F and its gradient. The gradient may be a function without arguments: it is called only at
        the end of each line search.
    metric : object or None
        Fisher information: an object with ``solve(x, gradient)`` and ``product(x, vector)`` such as `DiagonalMetric`,
        `BlockDiagonalMetric` or `TridiagonalMetric`. Not used with ``geometry="euclidean"`` and ``method="lbfgs"``.
    x0 : array-like of shape (n,)
        Start.
    method : {"cg", "gradient", "lbfgs"}, default="cg"
        How the direction follows from gradients.
    geometry : {"riemannian", "euclidean"}, default="riemannian"
        Whether the metric is used.
    restart : {"powell", "sqrt"} or None, default="powell"
        When conjugate gradients go back to the natural gradient: when two natural gradients in a row are far from
        orthogonal (a product of 0.2 of the squared length), every ``sqrt(n)`` steps, or only where the direction is
        not one of descent.
    tol : float, default=1e-8
        F changes little when an iteration lowers it by less than this.
    n_iter_no_change : int, default=2
        Stop after this many consecutive iterations in which F changes little.
    max_iter : int, default=1000
        Maximum number of iterations.
    update : callable, default=None
        Called with the parameters before each iteration, to change what F holds fixed (variances, hyper-parameters);
        F is evaluated again afterwards. It must not raise F.
    callback : callable, default=None
        Called after each iteration; it returns whether to stop.

    Returns
    -------
    minimum : Minimum
        Parameters, F, its path, and the numbers of iterations and evaluations.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import DiagonalMetric, riemannian_cg
    >>> stiffness = np.array([1.0, 100.0])
    >>> bowl = lambda x: (0.5 * np.sum(stiffness * x**2), stiffness * x)
    >>> riemannian_cg(bowl, DiagonalMetric(lambda x: stiffness), [3.0, 2.0]).n_iter
    3
    >>> riemannian_cg(bowl, None, [3.0, 2.0], method="gradient", geometry="euclidean").n_iter > 5
    True

    References
    ----------
    .. [1] Honkela, A., Raiko, T., Kuusela, M., Tornio, M. and Karhunen, J. (2010). Approximate Riemannian conjugate
       gradient learning for fixed-form variational Bayes. Journal of Machine Learning Research 11, 3235-3268.
    """
    _check_choices(method, geometry, restart)
    natural = geometry == "riemannian" and method != "lbfgs"
    if natural and metric is None:
        raise ValueError("geometry='riemannian' needs a metric; give one, or geometry='euclidean'.")
    ray = _Ray(fun_grad)
    here = ray.point(np.array(x0, dtype=np.float64))
    if not np.isfinite(here[0]):
        raise ValueError("F is not finite at x0; start from parameters at which it is.")
    directions = _Directions(method, restart, len(here[2]))
    path: list[float] = []
    calm, length, stopped = 0, 1.0, False
    before = here[0]
    while len(path) < max_iter and calm < n_iter_no_change and not stopped:
        if update is not None:
            update(here[2])
            here = ray.point(here[2])
        gradient = here[1]() if callable(here[1]) else here[1]
        steep = metric.solve(here[2], gradient) if natural and metric is not None else gradient
        direction, is_plain = directions.next(gradient, steep)
        # 1 is the step of EM; where much shorter steps were needed before, it would be cut again and again.
        trial = min(1.0, 2 * length) if natural or method == "lbfgs" else length
        there, moved = ray.search(here, direction, trial)
        if moved == 0 and not is_plain:
            direction = directions.again(steep)
            there, moved = ray.search(here, direction, trial)
        directions.moved(moved * direction)
        length = moved or length / 3
        calm = calm + 1 if before - there[0] < tol else 0
        here, before = there, there[0]
        path.append(here[0])
        stopped = callback is not None and bool(callback())
    return Minimum(here[2], here[0], np.array(path), len(path), ray.n_eval, calm >= n_iter_no_change, stopped)


class _Directions:
    """Directions of descent, from the gradient and the natural gradient at each point."""

    def __init__(self, method: str, restart: str | None, size: int):
        self._method = method
        self._restart = restart
        self._cycle = max(1, int(np.sqrt(size)))
        self._age = 0
        self._direction = np.zeros(size)
        self._steep: np.ndarray | None = None
        self._squared_length = 0.0
        n_kept = _MEMORY if method == "lbfgs" else 0
        self._moves, self._changes = np.zeros((n_kept, size)), np.zeros((n_kept, size))
        self._n_moves = 0
        self._gradient: np.ndarray | None = None
        self._last_move = np.zeros(size)

    def next(self, gradient: np.ndarray, steep: np.ndarray) -> tuple[np.ndarray, bool]:
        """The direction, and whether it is minus the (natural) gradient."""
        if self._method == "gradient":
            return -steep, True
        found = self._quasi_newton(gradient) if self._method == "lbfgs" else self._conjugate(gradient, steep)
        if found is None or not gradient @ found < 0:
            return self.again(steep), True
        self._direction = found
        return found, False

    def again(self, steep: np.ndarray) -> np.ndarray:
        """Minus the (natural) gradient, and forget what came before."""
        self._age, self._n_moves = 0, 0
        self._direction = -steep
        return self._direction

    def moved(self, move: np.ndarray) -> None:
        """What the line search did."""
        self._last_move = move

    def _conjugate(self, gradient: np.ndarray, steep: np.ndarray) -> np.ndarray | None:
        squared_length = float(gradient @ steep)
        before, before_squared = self._steep, self._squared_length
        self._steep, self._squared_length = steep, squared_length
        self._age += 1
        if before is None or not before_squared > 0:
            return None
        overlap = float(gradient @ before)
        lost = self._restart == "powell" and abs(overlap) >= _CONJUGACY_LOST * squared_length
        if lost or (self._restart == "sqrt" and self._age >= self._cycle):
            return None
        beta = (squared_length - overlap) / before_squared
        return -steep + beta * self._direction if beta > 0 else None

    def _quasi_newton(self, gradient: np.ndarray) -> np.ndarray | None:
        before, self._gradient = self._gradient, gradient
        if before is not None and self._last_move @ (gradient - before) > 0:
            place = self._n_moves % _MEMORY
            self._moves[place], self._changes[place] = self._last_move, gradient - before
            self._n_moves += 1
        if not self._n_moves:
            return None
        return quasi_newton_direction(-gradient, self._moves, self._changes, self._n_moves)


def _check_choices(method: str, geometry: str, restart: str | None) -> None:
    for name, given, known in (
        ("method", method, ("cg", "gradient", "lbfgs")),
        ("geometry", geometry, ("riemannian", "euclidean")),
        ("restart", restart, ("powell", "sqrt", None)),
    ):
        if given not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {given!r}.")
