"""A committee of linear support vector machines, one for each class against all others.

Machine k minimises ``||w_k||^2 / 2 + C sum_i max(0, 1 - s_ik (x_i.w_k + b_k))`` with ``s_ik = 1`` in class k and -1 in
all others; the class is the k with the largest ``x.w_k + b_k``.

For many rows and few columns, an interior point method solves this on centred rows z. With multipliers a of the
margins, the optimum has ``w = sum_i a_i s_i z_i``, ``sum_i a_i s_i = 0`` and ``0 <= a_i <= C``. Each iteration of
Newton's method eliminates the multipliers, and solves for w and b alone, with the matrix ``[I 0; 0 0] + Z' D Z`` for a
diagonal D and Z the rows with a column of ones: O(n p^2). Some thirty iterations reach the optimum, whatever the rows.

Ramaswamy, S. et al. (2001). Multiclass cancer diagnosis using tumor gene expression signatures. Proceedings of the
National Academy of Sciences 98, 15149-15154.

Ferris, M. C. and Munson, T. S. (2002). Interior-point methods for massive support vector machines. SIAM Journal on
Optimization 13, 783-804.
"""

from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, encoded_classes, fit_context, validated, warn_caller
from fewer._kernels._hinge_dual import committee_dual, effort_for
from fewer._kernels._numpy_lapack import solve_cholesky
from fewer._kernels._row_products import centred_products
from fewer.catalogue import method

_ENTRIES_AT_ONCE = 1 << 21
_MOST_ITERATIONS = 100
# How far a step goes towards the nearest bound.
_SHARE_OF_STEP = 0.995

Solve = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, float]]


class InteriorMachine(NamedTuple):
    """Weights, intercept for rows centred at their mean, and by how much the conditions of the optimum are missed."""

    weights: np.ndarray
    intercept: float
    violation: float


class CentredRows:
    """Products with a table whose columns are centred, without a centred copy of it."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        """The table in blocks of float64; a single one where no copy is needed for that."""
        n_rows, n_columns = self.X.shape
        whole = self.X.dtype == np.float64 or sparse.issparse(self.X)
        height = n_rows if whole else max(1, _ENTRIES_AT_ONCE // n_columns)
        for start in range(0, n_rows, height):
            rows = slice(start, start + height)
            yield rows, self.X if whole else self.X[rows].astype(np.float64)

    def times(self, weights: np.ndarray) -> np.ndarray:
        """``Z w``, for weights without the one of the intercept."""
        parts = [np.asarray(block @ weights).ravel() for _, block in self._blocks()]
        return np.concatenate(parts) - self.mean @ weights

    def back(self, amounts: np.ndarray) -> np.ndarray:
        """``Z' a``, without the column of ones."""
        total = sum(np.asarray(block.T @ amounts[rows]).ravel() for rows, block in self._blocks())
        return total - self.mean * amounts.sum()

    def gram(self, amounts: np.ndarray) -> np.ndarray:
        """``Z' diag(a) Z`` with the column of ones last."""
        n_columns = self.X.shape[1]
        total = np.empty((n_columns + 1, n_columns + 1))
        total[-1, :-1] = total[:-1, -1] = self.back(amounts)
        total[-1, -1] = amounts.sum()
        total[:-1, :-1] = self._sparse_gram(amounts) if sparse.issparse(self.X) else self._dense_gram(amounts)
        return total

    def _sparse_gram(self, amounts: np.ndarray) -> np.ndarray:
        cross = np.outer(self.mean, np.asarray(self.X.T @ amounts).ravel())
        raw = (self.X.T @ sparse.diags_array(amounts) @ self.X).toarray()
        return raw - cross - cross.T + amounts.sum() * np.outer(self.mean, self.mean)

    def _dense_gram(self, amounts: np.ndarray) -> np.ndarray:
        total = np.zeros((self.X.shape[1],) * 2)
        height = max(1, _ENTRIES_AT_ONCE // self.X.shape[1])
        for start in range(0, self.X.shape[0], height):
            rows = (self.X[start : start + height] - self.mean) * np.sqrt(amounts[start : start + height, None])
            total += rows.T @ rows
        return total


class Point(NamedTuple):
    """Where the method stands, or which way it goes. The first four must stay positive."""

    a: np.ndarray
    room: np.ndarray  # C - a, kept by itself so that it never rounds to 0
    below: np.ndarray  # multipliers of a >= 0
    above: np.ndarray  # multipliers of a <= C
    weights: np.ndarray
    intercept: Any

    @property
    def complement(self) -> float:
        """Sum of the products that are all zero at the optimum."""
        return float(self.a @ self.below + self.room @ self.above)

    def moved(self, step: "Point", length: float) -> "Point":
        """The point that a step leads to."""
        return Point(*(here + length * change for here, change in zip(self, step, strict=True)))

    def longest(self, step: "Point") -> float:
        """How much of a step may be gone until something reaches its bound; at most all of it."""
        longest = 1.0
        for value, change in zip(self[:4], step[:4], strict=True):
            falling = change < 0
            if falling.any():
                longest = min(longest, float(np.min(-value[falling] / change[falling])))
        return longest


class Misses(NamedTuple):
    """By how much the three linear conditions of the optimum are missed."""

    margins: np.ndarray
    weights: np.ndarray
    balance: float


def interior_machine(X: Any, signs: np.ndarray, *, C: float, tol: float) -> InteriorMachine:
    """The machine that tells rows of sign 1 from those of sign -1."""
    rows, n = CentredRows(X), len(signs)
    point = Point(np.full(n, C / 2), np.full(n, C / 2), np.ones(n), np.ones(n), np.zeros(X.shape[1]), 0.0)
    best, least = point.weights, np.inf
    for _ in range(_MOST_ITERATIONS):
        misses = _misses(rows, signs, point)
        violation = _violation(point, misses, C)
        if violation < least:
            best, least = point.weights, violation
        if violation < tol or violation > 1e6 * least:  # done, or led astray by rounding
            break
        try:
            solve = _newton(rows, signs, point.below / point.a + point.above / point.room)
        except np.linalg.LinAlgError:  # as near as rounding lets it come
            break
        # First straight for the optimum, which tells how much to stay away from the bounds; then with that.
        straight = _step(solve, point, misses)
        reached = point.moved(straight, point.longest(straight)).complement
        target = (reached / point.complement) ** 3 * point.complement / (2 * n)
        step = _step(
            solve, point, misses, target - straight.a * straight.below, target - straight.room * straight.above
        )
        point = point.moved(step, min(1.0, _SHARE_OF_STEP * point.longest(step)))
    return InteriorMachine(best, middle_intercept(rows.times(best), signs), least)


def middle_intercept(decisions: np.ndarray, signs: np.ndarray) -> float:
    """The best intercept for decision values without one; the middle, where several are equally good.

    The loss bends where a row reaches its margin, at ``s_i - z_i.w``. Its slope is minus the number of positive rows
    far to the left, and rises by 1 at each bend.

    Examples
    --------
    >>> import numpy as np
    >>> middle_intercept(np.array([-3.0, -2.0, 2.0]), np.array([-1.0, -1.0, 1.0]))
    0.0
    """
    n_positive = int((signs > 0).sum())
    bends = np.partition(signs - decisions, [n_positive - 1, n_positive])
    return float(bends[n_positive - 1] + bends[n_positive]) / 2


def _misses(rows: CentredRows, signs: np.ndarray, point: Point) -> Misses:
    margins = signs * (rows.times(point.weights) + point.intercept)
    return Misses(
        margins - 1.0 - point.below + point.above,
        point.weights - rows.back(signs * point.a),
        float(signs @ point.a),
    )


def _violation(point: Point, misses: Misses, C: float) -> float:
    """The duality gap and the largest miss, relative to the objective."""
    size = C + point.a.sum()
    norm = np.linalg.norm(misses.weights) * np.linalg.norm(point.weights)
    return max(point.complement, np.abs(misses.margins).max() * C, norm, abs(misses.balance)) / size


def _newton(rows: CentredRows, signs: np.ndarray, diagonal: np.ndarray) -> Solve:
    """Solves for the changes of a, w and b, given what the three conditions shall change by."""
    inverse = 1.0 / diagonal
    matrix = rows.gram(inverse)
    diagonal_of_weights = np.arange(len(matrix) - 1)
    matrix[diagonal_of_weights, diagonal_of_weights] += 1.0
    scale = 1.0 / np.sqrt(matrix.diagonal())
    factor = np.linalg.cholesky(matrix * scale * scale[:, None])

    def solve(margins: np.ndarray, weights: np.ndarray, balance: float) -> tuple[np.ndarray, np.ndarray, float]:
        pull = signs * inverse * margins
        right = np.append(weights + rows.back(pull), pull.sum() - balance)
        change = scale * solve_cholesky(factor, scale * right)
        a = inverse * (margins - signs * (rows.times(change[:-1]) + change[-1]))
        return a, change[:-1], float(change[-1])

    return solve


def _step(solve: Solve, point: Point, misses: Misses, to_below: Any = 0.0, to_above: Any = 0.0) -> Point:
    """Newton's step towards the given products of entries and multipliers."""
    miss_below = to_below - point.a * point.below
    miss_above = to_above - point.room * point.above
    a, weights, intercept = solve(
        -misses.margins + miss_below / point.a - miss_above / point.room, -misses.weights, -misses.balance
    )
    below = (miss_below - point.below * a) / point.a
    above = (miss_above + point.above * a) / point.room
    return Point(a, -a, below, above, weights, intercept)


# Products of all pairs of rows, or of columns, are then at most 200 MB or 72 MB.
_MOST_ROWS_IN_PAIRS = 5_000
_MOST_COLUMNS_IN_PAIRS = 3_000
# The gap is a mean over rows, while a tolerance is for every one of them.
_GAP_FOR_TOLERANCE = 1e-3


class Machines(NamedTuple):
    """One machine for each row: combinations of the training rows, and intercepts for rows centred at their mean."""

    betas: np.ndarray
    intercepts: np.ndarray


def n_machines(n_classes: int) -> int:
    """As many as there are classes; for two, one serves both."""
    return n_classes if n_classes > 2 else 1


def machine_codes(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Machine that has each row on its positive side; of two classes, the second is the positive one."""
    return codes if n_classes > 2 else 1 - codes


def trained_machines(
    products: np.ndarray, codes: np.ndarray, n_classes: int, *, C: float, tol: float, start: np.ndarray | None = None
) -> Machines:
    """The machines for the given products of centred rows; from ``start``, an earlier solution, in fewer steps."""
    betas = np.zeros((n_machines(n_classes), len(codes))) if start is None else start
    intercepts = np.empty(len(betas))
    cost, max_steps, complaint = effort_for(products.diagonal(), C)
    if cost < C:
        betas[:] = 0.0  # an earlier solution may be out of the new bounds
    violation = committee_dual(
        products, machine_codes(codes, n_classes), len(betas), cost, tol, max_steps, betas, intercepts
    )
    silent = np.ptp(betas @ products, axis=1) < 10 * tol
    if complaint and (cost < C or silent.all()):
        warn_caller(complaint, ConvergenceWarning)
    elif violation >= tol:
        warn_caller(
            f"The machines still break the conditions of the optimum by {violation:.2g} (tol={tol:g}) after "
            f"{max_steps:,} steps. Bring the columns to one scale (StandardScaler), or take a smaller C.",
            ConvergenceWarning,
        )
    silence(silent, betas, intercepts)
    return Machines(betas, intercepts)


def interior_machines(
    X: Any, codes: np.ndarray, n_classes: int, *, C: float, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights, and intercepts for rows centred at their mean, of a table with many rows and few columns."""
    signs = [np.where(machine_codes(codes, n_classes) == k, 1.0, -1.0) for k in range(n_machines(n_classes))]
    found = [interior_machine(X, one, C=C, tol=_GAP_FOR_TOLERANCE * tol) for one in signs]
    violation = max(machine.violation for machine in found)
    if violation > tol:
        warn_caller(
            f"The machines still break the conditions of the optimum by {violation:.2g} (tol={tol:g}). Bring the "
            "columns to one scale (StandardScaler), or take a smaller C.",
            ConvergenceWarning,
        )
    weights, intercepts = np.stack([one.weights for one in found]), np.array([one.intercept for one in found])
    silent = np.ptp(np.asarray(X @ weights.T), axis=0) < 10 * tol
    silence(silent, weights, intercepts)
    if silent.all():
        variances = mean_variance_axis(X, axis=0)[1] if sparse.issparse(X) else X.var(axis=0, dtype=np.float64)
        complaint = effort_for(np.full(len(codes), variances.sum()), C).complaint
        if complaint:
            warn_caller(complaint, ConvergenceWarning)
    return weights, intercepts


def silence(silent: np.ndarray, weights: np.ndarray, intercepts: np.ndarray) -> None:
    """Where the best machine has no weights, those found are noise, which must not decide between the classes."""
    weights[silent] = 0.0
    intercepts[silent] = np.sign(intercepts[silent].round(3))


def nested_decisions(
    X: Any,
    codes: np.ndarray,
    n_classes: int,
    X_new: Any,
    order: np.ndarray,
    sizes: Sequence[int],
    *,
    C: float,
    tol: float,
) -> Iterator[np.ndarray]:
    """Decision values of the rows of ``X_new`` with the first ``sizes[0]``, ``sizes[1]``, ... columns of ``order``.

    Sizes must not fall. Products of rows are sums over columns, so a larger set only adds its new columns, and each
    set starts from the solution of the one before.
    """
    products, new_products = np.zeros((X.shape[0],) * 2), np.zeros((X_new.shape[0], X.shape[0]))
    betas, decisions, done = None, np.empty(0), 0
    for size in sizes:
        if size > done or betas is None:
            added = order[done:size]
            columns, before = X[:, added], np.trace(products)
            products += centred_products(columns)
            if betas is not None and products.any():
                betas *= before / np.trace(products)  # as products grow, machines of the same margins need less of them
            new_products += centred_products(columns, X_new[:, added])
            betas, intercepts = trained_machines(products, codes, n_classes, C=C, tol=tol, start=betas)
            decisions, done = new_products @ betas.T + intercepts, size
        yield decisions


def winners(decisions: np.ndarray) -> np.ndarray:
    """Code of the class with the largest decision value; the first of equals."""
    if decisions.ndim == 1 or decisions.shape[1] == 1:
        return (decisions.ravel() > 0).astype(int)
    return decisions.argmax(axis=1)


@method(
    tasks=["classification"],
    when="Several classes, few rows and many columns, such as tissue types from gene expression; and whenever the "
    "columns were chosen class by class, because each machine then has its own. Columns should be on one scale.",
    cost="O(n^2 p) for the products of all rows, then O(n) for each step of each machine, and O(n^2) memory; with many "
    "more rows than columns O(n p^2) for each of some thirty iterations, and O(n + p^2) memory",
    paper="mgs-committee",
    depends_on_scale="C weighs losses against squared weights, which have the inverse squared unit of the columns",
)
class OVRLinearSVMCommittee(ClassifierMixin, BaseEstimator):
    """Linear support vector machines, one for each class against all others; the largest decision value wins.

    The machines have hinge loss and an intercept that is not penalised. With few rows they are trained on the products
    of the rows, so that thousands of columns cost no more than one pass over the table; with many rows and few columns
    by an interior point method. Both find the same optimum.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a row on the wrong side of its margin.
    tol : float, default=1e-7
        Largest violation of the conditions of the optimum, in decision values.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the columns in each machine; a single row, for the second class, when there are two.
    intercept_ : ndarray of shape (n_classes,)
        Their intercepts.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.svm.LinearSVC : For very many rows; by default with squared hinge loss and a penalised intercept.

    Notes
    -----
    With more than 5,000 rows and also more than 3,000 columns, the products of neither fit into memory. The machines
    are then trained by liblinear (``sklearn.svm.LinearSVC(loss="hinge")``), which pulls the intercepts a little
    towards zero.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.
    .. [2] Ramaswamy, S. et al. (2001). Multiclass cancer diagnosis using tumor gene expression signatures. Proceedings
       of the National Academy of Sciences 98, 15149-15154.
    .. [3] Ferris, M. C. and Munson, T. S. (2002). Interior-point methods for massive support vector machines. SIAM
       Journal on Optimization 13, 783-804.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.learn import OVRLinearSVMCommittee
    >>> X, y = load_iris(return_X_y=True)
    >>> committee = OVRLinearSVMCommittee().fit(X, y)
    >>> committee.decision_function(X[[0, 75, 149]]).argmax(axis=1)
    array([0, 1, 2])
    """

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, C=1.0, tol=1e-7):
        self.C = C
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Train the machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted committee.
        """
        X, y = validated(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=2)
        self.classes_, codes = encoded_classes(y, "OVRLinearSVMCommittee")
        n_rows, n_columns = X.shape
        if n_columns <= _MOST_COLUMNS_IN_PAIRS and n_rows > min(5 * n_columns, _MOST_ROWS_IN_PAIRS):
            self.coef_, intercepts = interior_machines(X, codes, len(self.classes_), C=self.C, tol=self.tol)
        elif n_rows <= _MOST_ROWS_IN_PAIRS:
            betas, intercepts = trained_machines(centred_products(X), codes, len(self.classes_), C=self.C, tol=self.tol)
            self.coef_ = safe_sparse_dot(betas, X, dense_output=True)
        else:
            self._fit_by_passes(X, codes)
            return self
        self.intercept_ = intercepts - self.coef_ @ np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        return self

    def _fit_by_passes(self, X: Any, codes: np.ndarray) -> None:
        from sklearn.svm import LinearSVC
        from sklearn.utils.extmath import row_norms

        # The intercept is the weight of one more column, which is penalised the less, the larger the column.
        scale = 3 * max(1.0, float(np.sqrt(np.mean(row_norms(X, squared=True), dtype=np.float64))))
        liblinear = LinearSVC(C=self.C, loss="hinge", dual=True, intercept_scaling=scale, random_state=0)
        liblinear.fit(X, codes)
        self.coef_, self.intercept_ = liblinear.coef_, np.atleast_1d(liblinear.intercept_)

    def decision_function(self, X):
        """Decision value of each machine for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        decisions : ndarray of shape (n_samples, n_classes) or (n_samples,)
            A column for each class; for two classes one number, positive for the second.
        """
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        decisions = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return decisions if len(self.classes_) > 2 else decisions[:, 0]

    def predict(self, X):
        """Class with the largest decision value.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        decisions = self.decision_function(X)
        return self.classes_[winners(decisions)]

    def nested_predictions(self, X, y, X_new, order, sizes):
        """Predictions of committees on nested sets of columns, as if one were fitted on each.

        The sets share their work: products of rows are sums over columns, and each committee starts from the one
        before. This committee itself is not fitted.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.
        X_new : {ndarray, sparse matrix} of shape (n_new, n_features)
            Rows to predict.
        order : array-like of shape (n_features,)
            Columns, best first.
        sizes : sequence of int
            How many of the first columns are in each set, from small to large.

        Returns
        -------
        predictions : ndarray of shape (n_sizes, n_new)
            Classes.
        """
        classes, codes = encoded_classes(y, "OVRLinearSVMCommittee")
        sizes, order = list(sizes), np.asarray(order)
        if sizes != sorted(sizes) or not sizes or sizes[0] < 1 or sizes[-1] > len(order):
            raise ValueError(f"sizes must rise from 1 at least to the {len(order)} columns of order at most.")
        if X.shape[0] > _MOST_ROWS_IN_PAIRS:
            fits = (OVRLinearSVMCommittee(self.C, self.tol).fit(X[:, order[:size]], y) for size in sizes)
            return np.stack([fit.predict(X_new[:, order[:size]]) for fit, size in zip(fits, sizes, strict=True)])
        decisions = nested_decisions(X, codes, len(classes), X_new, order, sizes, C=self.C, tol=self.tol)
        return np.stack([classes[winners(values)] for values in decisions])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
