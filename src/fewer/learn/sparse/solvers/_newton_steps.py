"""Proximal Newton steps on some columns: each minimises the quadratic model of the loss plus the penalty.

A line search makes a step safe. The model is minimised column by column on the rows (cheap when few passes do), or
through its matrix once as much work went into passes as the matrix costs: so that correlated columns cost at most about
twice the better of the two.
"""

import numpy as np

from fewer._kernels._l1_quadratic import minimise_quadratic, optimality_gaps
from fewer.learn.sparse._columns import DenseSet, SparseSet
from fewer.learn.sparse.solvers._kept_gram import KeptGram
from fewer.learn.sparse.solvers._model_on_rows import SMALLEST_CURVATURE, minimise_on_rows
from fewer.learn.sparse.solvers._standing import Standing

_SUFFICIENT = 0.01
# What the product of two entries in a matrix costs, beside an entry that a pass over columns visits. A matrix of sparse
# columns pays only on a path, so it is bought late.
_DENSE_PRICE, _SPARSE_PRICE = 0.3, 3.0
# A step with an old matrix should leave at most this share of the violations.
_SLOW = 0.25
_INNER = 0.1
_FEW = 16


def newton_steps(
    standing: Standing,
    columns: np.ndarray,
    slopes: np.ndarray,
    tol: float,
    max_steps: int,
    kept: KeptGram,
) -> None:
    """Newton steps on the columns named, until their violations sum to at most ``tol``.

    All coefficients that are not zero are among them. ``slopes`` are theirs, which change with the steps.
    """
    table = standing.problem.table.picked(columns)
    strengths, here = standing.problem.penalties[columns], standing.w[columns]
    models = _Models(standing, table, columns, strengths, kept)
    gaps, direction = np.empty(columns.size), np.empty(standing.z.size)
    for step in range(max_steps):
        if step:
            table.products(standing.first, slopes)
            standing.problem.add_ridge(slopes, here, columns)
        total, _ = optimality_gaps(slopes, here, strengths, gaps)
        if total <= tol:
            break
        there = models.minimum(here, slopes, total, tol)
        steps = there - here
        # Column by column: the difference of two sums would drown in rounding near the minimum.
        decrease = float(slopes @ steps + strengths @ (np.abs(there) - np.abs(here)))
        if decrease >= 0.0:
            break
        table.combination(steps, direction)
        share = _safe_share(standing, direction, columns, here, steps, decrease)
        if share == 0.0:
            break
        here = there if share == 1.0 else here + share * steps
        standing.go(columns, here, standing.problem.penalty(here, columns))


class _Models:
    """Quadratic models of the loss on some columns, and their minima.

    They are minimised on the rows until that has cost as much as the matrix; from then on by the matrix, which is made
    anew when steps with an old one gain too little.
    """

    def __init__(
        self,
        standing: Standing,
        table: DenseSet | SparseSet,
        columns: np.ndarray,
        strengths: np.ndarray,
        kept: KeptGram,
    ):
        self.standing, self.table, self.columns, self.strengths, self.kept = standing, table, columns, strengths, kept
        size, stored, n_rows = columns.size, table.n_stored, standing.z.size
        self.few = size <= _FEW
        self.fits = size <= kept.largest
        self.pays = self.fits and size * size <= stored
        # Rows enough for a matrix that is right to about a tenth.
        enough = min(n_rows, max(100 * size, 2000))
        self.n_blocks = standing.problem.table.n_blocks(enough)
        self.price = size * (_DENSE_PRICE * enough * size if table.is_dense else _SPARSE_PRICE * stored)
        self.by_matrix, self.fresh, self.last = False, True, np.inf

    def minimum(self, here: np.ndarray, slopes: np.ndarray, total: float, tol: float) -> np.ndarray:
        """The coefficients at about the minimum; ``total`` are the violations now, ``tol`` those to come down to."""
        kept = self.kept
        if self.by_matrix and total > _SLOW * self.last:
            self._mistrust()
        if self.few:
            kept.forget()  # an exact matrix costs no more than a few passes
        self.last, self.fresh = total, kept.n_held == 0
        there = here.copy()
        self.by_matrix = self.pays and (self.few or kept.n_held > 0 or kept.spent > self.price)
        if not self.by_matrix:
            budget = self.price - kept.spent if self.pays else 10.0 * self.price + 100.0 * self.table.n_stored
            first, second, ridge = self.standing.first, self.standing.second, self.standing.problem.ridge
            spent, done = minimise_on_rows(
                self.table, first, second, there, self.strengths, ridge, max(_INNER * total, 0.3 * tol), budget
            )
            kept.spent += spent
            self.by_matrix = self.fits and not done
        if self.by_matrix:
            Q = kept.of(self.columns, self.standing.second, self.n_blocks)
            bends = self.standing.problem.ridge * self.strengths
            np.fill_diagonal(Q, np.maximum(Q.diagonal(), SMALLEST_CURVATURE) + bends)
            minimise_quadratic(Q, slopes + Q @ (there - here), there, self.strengths, 0.01 * total, 1000)
        return there

    def _mistrust(self) -> None:
        """The last step gained too little: make the matrix anew, from more rows if it was new already."""
        every = self.standing.problem.table.n_blocks(self.standing.z.size)
        if self.fresh:
            self.n_blocks = min(4 * self.n_blocks, every)
        if not self.fresh or self.kept.sampled:
            self.kept.forget()


def _safe_share(
    standing: Standing,
    direction: np.ndarray,
    columns: np.ndarray,
    here: np.ndarray,
    steps: np.ndarray,
    decrease: float,
) -> float:
    """The largest share of the steps, by halves, that brings a good part of the decrease; 0 if none does."""
    value = standing.objective
    share = 1.0
    for _ in range(40):
        new = standing.loss_along(share, direction) + standing.problem.penalty(here + share * steps, columns)
        if new - value <= _SUFFICIENT * share * decrease + 1e-14 * abs(value):
            return share
        share *= 0.5
    return 0.0
