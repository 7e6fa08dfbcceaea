"""Proximal Newton: each step minimises the quadratic model of the loss plus the penalty, then searches along the line.

``newglmnet`` takes all columns into each model, minimised by passes over the columns. ``auto`` takes working sets of
columns (those in the model and those that violate optimality most, then a look at all again), and goes over to the
matrix of the model when passes converge slowly, as they do for correlated columns and weak penalties: there the
equations of the columns in use are solved directly. As much work goes into passes as the matrix costs, so that
correlated columns cost at most about twice the better of the two.

The model ``g'd + d'X'HXd/2 + sum_j c_j (|w_j + d_j| + ridge (w_j + d_j)^2 / 2)`` is minimised on the rows, without its
matrix, coordinate by coordinate, which finds out which coefficients are not zero. Then the equations of these, with
their signs held, are solved together by conjugate gradients: a pass over their columns for each step, and few steps
where coordinates one by one would take hundreds of passes. Or it is minimised through the matrix
``Q_ab = sum_i h_i x_ia x_ib``, which is kept while weights of rows change slowly.

References: Yuan, Ho and Lin (2012), An improved GLMNET for L1-regularized logistic regression, JMLR 13, 1999-2030;
Yuan, Chang, Hsieh and Lin (2010), A comparison of optimization methods and software for large-scale L1-regularized
linear classification, JMLR 11, 3183-3234.
"""

import numpy as np

from fewer.learn.sparse._columns import DenseColumns, DenseSet, SparseColumns, SparseSet
from fewer.learn.sparse._kernels import loss_and_derivatives, minimise_quadratic, optimality_gaps
from fewer.learn.sparse._problem import Goal, L1Problem, OnIteration, Solution, go_on


class Standing:
    """Coefficients ``w``, predictions ``z = X w``, the total loss, and its first and second derivatives in ``z``."""

    def __init__(self, problem: L1Problem, w: np.ndarray):
        self.problem, self.w = problem, w.copy()
        self.weights = problem.weights.copy()
        self.z = problem.predictions(w)
        self.first, self.second = np.empty_like(self.z), np.empty_like(self.z)
        self._spare = np.empty_like(self.z), np.empty_like(self.z), np.empty_like(self.z)
        self.loss = loss_and_derivatives(problem.code, problem.y, self.weights, self.z, self.first, self.second)
        self.penalty = problem.penalty(self.w)

    @property
    def objective(self) -> float:
        return self.loss + self.penalty

    def scale(self, factor: float) -> None:
        """Multiply the loss."""
        for values in (self.weights, self.first, self.second):
            values *= factor
        self.loss *= factor

    def loss_along(self, share: float, direction: np.ndarray) -> float:
        """The loss at ``z + share direction``; :meth:`go` goes there."""
        z, first, second = self._spare
        np.multiply(direction, share, out=z)
        z += self.z
        self._loss_there = loss_and_derivatives(self.problem.code, self.problem.y, self.weights, z, first, second)
        return self._loss_there

    def go(self, columns: np.ndarray, coefficients: np.ndarray, penalty: float) -> None:
        """Go to where the loss was last asked for; these columns have these coefficients there."""
        self.w[columns], self.penalty = coefficients, penalty
        here = self.z, self.first, self.second
        self.z, self.first, self.second = self._spare
        self._spare = here
        self.loss = self._loss_there


LARGEST = 2000


class KeptGram:
    """The matrix, of up to ``largest`` columns, and what was spent on passes while there was none."""

    def __init__(self, table: DenseColumns | SparseColumns, n_columns: int, largest: int = LARGEST):
        self._table = table
        self.largest = min(n_columns, largest)
        self._matrix = np.empty((self.largest, self.largest))  # memory is taken as it fills
        self._held = np.empty(self.largest, dtype=np.int64)
        self._place = np.full(n_columns, -1)
        self._weights = np.empty(0)
        self._n_blocks = 0
        self.n_held = 0
        self.spent = 0

    @property
    def sampled(self) -> bool:
        """Whether the matrix rests on some of the rows only."""
        return self._n_blocks < self._table.n_blocks(self._table.n_rows)

    def forget(self) -> None:
        """Make the next matrix anew."""
        self._place[self._held[: self.n_held]] = -1
        self.n_held = 0

    def of(self, columns: np.ndarray, h: np.ndarray, n_blocks: int) -> np.ndarray:
        """The matrix of these columns, about that of the present weights ``h``, as an array of its own."""
        missing = columns[self._place[columns] < 0]
        if self.n_held + missing.size > self.largest:
            self.forget()
            missing = columns
        if self.n_held == 0:
            self._weights, self._n_blocks = h.copy(), n_blocks
        if missing.size:
            before, self.n_held = self.n_held, self.n_held + missing.size
            self._held[before : self.n_held] = missing
            self._place[missing] = np.arange(before, self.n_held)
            self._table.fill_gram(self._held[: self.n_held], before, self._weights, self._n_blocks, self._matrix)
        places = self._place[columns]
        return (h.sum() / self._weights.sum()) * self._matrix[np.ix_(places, places)]


SMALLEST_CURVATURE = 1e-12
_PASSES_BETWEEN = 5
_SLOW_PASSES = 0.6
_TOGETHER_AT_MOST = 40


def minimise_on_rows(
    table: DenseSet | SparseSet,
    first: np.ndarray,
    second: np.ndarray,
    coefficients: np.ndarray,
    strengths: np.ndarray,
    ridge: float,
    tol: float,
    budget: float,
) -> tuple[int, bool]:
    """Minimise in place, until the gaps of a pass over all columns sum to ``tol``, or ``budget`` entries are visited.

    Slopes and curvatures of the rows are those where the model was made. Returns the entries visited, and whether the
    tolerance was reached.
    """
    size = coefficients.size
    curved, curvatures = table.curved(second)
    np.maximum(curvatures, SMALLEST_CURVATURE, out=curvatures)
    curvatures += ridge * strengths
    residual = first.copy()
    moving, n_moving = np.arange(size), size
    spent, n_passes, patience, before = 0, 0, _PASSES_BETWEEN, np.inf
    while True:
        everything = n_moving == size
        total, visited, n_moving = table.descend(
            curved, moving[:n_moving], coefficients, strengths, ridge, curvatures, residual, not everything
        )
        spent += visited
        if everything and total <= tol:
            return spent, True
        if spent > budget:
            return spent, False
        settled = not everything and total <= 0.3 * tol
        if settled or n_moving == 0:
            moving, n_moving = np.arange(size), size
        if settled:
            continue
        n_passes += 1
        if n_passes < patience:
            continue
        if total > _SLOW_PASSES * before:
            visited, far = _solve_in_use(
                table, second, curvatures, coefficients, strengths, ridge, residual, min(0.1, 0.3 * tol / total)
            )
            spent += visited
            patience = _PASSES_BETWEEN if far else 2 * patience
        n_passes, before = 0, total


def _solve_in_use(
    table: DenseSet | SparseSet,
    second: np.ndarray,
    curvatures: np.ndarray,
    coefficients: np.ndarray,
    strengths: np.ndarray,
    ridge: float,
    residual: np.ndarray,
    share: float,
) -> tuple[int, bool]:
    """Go towards the joint solution of the coefficients in use with their signs held; the entries visited.

    Those that would change sign go to zero if that is better than before; if not, all go as far as the first of them.
    Returns whether signs let it go far, too.
    """
    used = np.flatnonzero((coefficients != 0.0) | (strengths == 0.0))
    columns, start, prices = table.part(used), coefficients[used], strengths[used]
    slopes, bends = np.empty(used.size), ridge * prices
    columns.products(residual, slopes)
    slopes += bends * start
    downhill = -slopes - prices * np.sign(start)
    steps, image, n_turns = _conjugate_steps(
        columns, second, bends, curvatures[used], downhill, share, min(_TOGETHER_AT_MOST, 2 * used.size)
    )

    def change(steps: np.ndarray, image: np.ndarray) -> float:
        bend = 0.5 * float(np.dot(second * image, image) + bends @ steps**2)
        return bend + float(slopes @ steps + prices @ (np.abs(start + steps) - np.abs(start)))

    crossing = (prices > 0.0) & ((start + steps) * start < 0.0)
    far = True
    if crossing.any():
        first_zero = float((-start[crossing] / steps[crossing]).min())
        beyond, excess = np.where(crossing, start + steps, 0.0), np.empty(image.size)
        columns.combination(beyond, excess)
        bounded, bounded_image = np.where(crossing, -start, steps), image - excess
        if change(bounded, bounded_image) <= change(first_zero * steps, first_zero * image):
            steps, image = bounded, bounded_image
        else:
            steps, image, far = first_zero * steps, first_zero * image, first_zero > 0.5
    residual += second * image
    start += steps
    start[(np.abs(start) <= 1e-15 * np.abs(steps)) & (prices > 0.0)] = 0.0
    coefficients[used] = start
    return (2 * n_turns + 2) * columns.n_stored, far


def _conjugate_steps(
    columns: DenseSet | SparseSet,
    second: np.ndarray,
    bends: np.ndarray,
    curvatures: np.ndarray,
    downhill: np.ndarray,
    share: float,
    at_most: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Steps that solve ``(X'HX + diag(bends)) steps = downhill`` to a share; their image on the rows; their number."""
    steps, image = np.zeros(downhill.size), np.zeros(second.size)
    along, back = np.empty(second.size), np.empty(downhill.size)
    rest = downhill.copy()
    direction = rest / curvatures
    goal = share * np.abs(rest).sum()
    product = float(rest @ direction)
    for turn in range(at_most):
        columns.combination(direction, along)
        weighted = second * along
        bend = float(weighted @ along + bends @ direction**2)
        if not bend > 1e-14 * product:
            return steps, image, turn
        length = product / bend
        image += length * along
        columns.products(weighted, back)
        steps += length * direction
        rest -= length * (back + bends * direction)
        if np.abs(rest).sum() <= goal:
            return steps, image, turn + 1
        scaled = rest / curvatures
        before, product = product, float(rest @ scaled)
        direction = scaled + (product / before) * direction
    return steps, image, at_most


_SUFFICIENT = 0.01
# What the product of two entries in a matrix costs, beside an entry that a pass over columns visits. A matrix of sparse
# columns pays only on a path, so it is bought late.
_DENSE_PRICE, _SPARSE_PRICE = 0.3, 3.0
# A step with an old matrix should leave at most this share of the violations.
_SLOW_STEP = 0.25
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
        if self.by_matrix and total > _SLOW_STEP * self.last:
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


MAX_ROUNDS, MAX_STEPS = 1000, 50


class Candidates:
    """Columns that may come in, with their slopes and how far each is from optimal; None stands for all columns.

    All coefficients that are not zero are among them.
    """

    def __init__(self, standing: Standing, slopes: np.ndarray, columns: np.ndarray | None = None):
        self.standing, self.slopes, self.columns = standing, slopes, columns
        penalties = standing.problem.penalties
        self.penalties = penalties if columns is None else penalties[columns]
        self.gaps = np.empty_like(slopes)
        self._measure()

    def _coefficients(self) -> np.ndarray:
        return self.standing.w if self.columns is None else self.standing.w[self.columns]

    def _measure(self) -> None:
        self.total, self.largest = optimality_gaps(self.slopes, self._coefficients(), self.penalties, self.gaps)

    def look(self) -> None:
        """Bring slopes and gaps to where the minimisation stands."""
        problem = self.standing.problem
        problem.table.products(self.standing.first, self.slopes, self.columns)
        problem.add_ridge(self.slopes, self._coefficients(), self.columns)
        self._measure()

    def working_set(self, size: int) -> np.ndarray:
        """Places of the columns in the model, and of the others that violate most; together about ``size``."""
        inside = (self._coefficients() != 0.0) | (self.penalties == 0.0)
        violating = np.flatnonzero(~inside & (self.gaps > 0.0))
        n_wanted = max(size - int(np.count_nonzero(inside)), size // 2)
        if violating.size > n_wanted:
            violating = violating[np.argpartition(-self.gaps[violating], n_wanted)[:n_wanted]]
        inside[violating] = True
        return np.flatnonzero(inside)

    def round(self, size: int, share: float, tol: float, max_steps: int, kept: KeptGram) -> tuple[int, bool]:
        """Newton steps on a working set, and a look at all candidates.

        At least ``share`` of the violating columns are taken, and at least ``size`` columns in all where there are as
        many. Returns the next size, and whether nothing more can be gained in this arithmetic.
        """
        standing = self.standing
        n_violating = int(np.count_nonzero(self.gaps > 0.0))
        size = max(size, int(n_violating * share))
        places = self.working_set(size)
        columns = places if self.columns is None else self.columns[places]
        before, value_before = self.total, standing.objective
        newton_steps(standing, columns, self.slopes[places], max(0.1 * self.total, 0.3 * tol), max_steps, kept)
        self.look()
        # Where the objective shows no more difference, the violations still may.
        stuck = (
            value_before - standing.objective <= 1e-15 * abs(value_before)
            and self.total > 0.7 * before
            and places.size >= min(size, n_violating)
        )
        return max(size, 2 * places.size), stuck

    def rounds(self, tol: float, kept: KeptGram) -> None:
        """Rounds until no gap exceeds ``tol``."""
        size = first_size(self._coefficients())
        for _ in range(MAX_ROUNDS):
            if self.largest <= tol:
                return
            size, stuck = self.round(size, 1.0, tol * self.total / self.largest, MAX_STEPS, kept)
            if stuck:
                return


def first_size(coefficients: np.ndarray) -> int:
    """How many columns the first working set may have."""
    return 64 + 2 * int(np.count_nonzero(coefficients))


def _rounds(problem, start, tol, max_iter, on_iteration, *, share, max_steps, with_matrix):
    standing = Standing(problem, start)
    at_null = np.array_equal(start, problem.null_start)
    slopes = problem.null_gradient.copy() if at_null else problem.gradient(start, standing.z)
    goal, candidates = Goal(problem, tol), Candidates(standing, slopes)
    kept = KeptGram(problem.table, problem.size, LARGEST if with_matrix else 0)
    size, n_iter, stuck = first_size(start), 0, False
    while n_iter < max_iter and not stuck:
        if goal.reached(standing.w, standing.z, candidates.slopes, candidates.total, standing.objective):
            break
        size, stuck = candidates.round(size, share, goal.look_at, max_steps, kept)
        n_iter += 1
        if on_iteration(standing.w, standing.z):
            break
    return goal.solution(standing.w, standing.z, n_iter, candidates.slopes)


def newglmnet(
    problem: L1Problem, start: np.ndarray, tol: float, max_iter: int, rng, on_iteration: OnIteration = go_on
) -> Solution:
    """Proximal Newton on all columns that are in the model or violate optimality, one step a round."""
    return _rounds(problem, start, tol, max_iter, on_iteration, share=1.0, max_steps=1, with_matrix=False)


def auto(
    problem: L1Problem,
    start: np.ndarray,
    tol: float,
    max_iter: int,
    rng,
    on_iteration: OnIteration = go_on,
) -> Solution:
    """Proximal Newton on working sets, by passes or by matrices, whichever turns out cheaper."""
    return _rounds(problem, start, tol, max_iter, on_iteration, share=0.5, max_steps=MAX_STEPS, with_matrix=True)
