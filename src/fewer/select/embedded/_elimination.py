"""Recursive elimination: fit a model, drop the columns with the smallest weights, repeat on those left.

The loop is the same for every model; a model is a function that gives weights of the columns left. With products ``K =
X X'`` of the rows, dropping columns takes their products away from K, so that the work of all rounds is about that of
two passes over the table.

*Ridge regression* (:class:`RidgeRFE`): with standardised columns Z and the centred target T (indicators of the classes,
or the numbers),

    W = (Z'Z + alpha I)^-1 Z'T = Z' (ZZ' + alpha I)^-1 T,

so a fit costs the cube of the smaller side of the table. The score of a column is the length of its row of W, over the
classes. As long as more columns than rows are left, the right form is used, with products of rows from which those of
dropped columns are taken away; afterwards the left one, with products of columns of which rows and columns are dropped.
Alpha is chosen once, on all columns, by generalised cross-validation: it minimises

    n ||T - H T||^2 / (n - tr H)^2,   H the matrix that turns T into its fit.

Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002). Gene selection for cancer classification using support vector
machines. Machine Learning 46, 389-422.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fit_steps
from fewer._kernels._numpy_lapack import solve_spd
from fewer._kernels._row_products import centred_products
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks_of_order, sampled_rows
from fewer.select._target import numbers, task_of

Weights = Callable[[np.ndarray], np.ndarray]


class Elimination(NamedTuple):
    """Columns from the last one left to the first one dropped, and |w| of each in the last model that had it."""

    order: np.ndarray
    weights: np.ndarray
    n_rounds: int


class RowProducts:
    """Products of centred rows over fewer and fewer columns, kept up to date.

    Calling it with the columns that are left (a subset of those of the call before, ascending) gives their products;
    ``weights(beta)`` gives ``X' beta`` of these columns. With ``roots``, square roots of the weights of the rows, rows
    are centred by the weighted means and multiplied by them.
    """

    def __init__(self, X: Any, products: np.ndarray | None = None, roots: np.ndarray | None = None) -> None:
        self.X, self.roots = X, roots
        self.products = self._products(X) if products is None else products
        self.columns = self.left = np.arange(X.shape[1])

    def __call__(self, left: np.ndarray) -> np.ndarray:
        if len(left) == len(self.left):
            return self.products
        if 2 * len(left) <= len(self.columns):
            # From scratch, so that what was taken away leaves no rounding behind that outweighs the rest.
            self.X = self.X[:, np.searchsorted(self.columns, left)]
            self.columns, self.products = left, self._products(self.X)
        else:
            dropped = np.setdiff1d(self.left, left, assume_unique=True)
            self.products = self.products - self._products(self.X[:, np.searchsorted(self.columns, dropped)])
        self.left = left
        return self.products

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """One row of weights for each column left."""
        beta = beta if self.roots is None else self.roots[:, None] * beta
        return np.asarray(self.X.T @ beta)[np.searchsorted(self.columns, self.left)]

    def _products(self, X: Any) -> np.ndarray:
        if self.roots is None:
            return centred_products(X)
        roots, mean = self.roots, self.roots**2 @ X / (self.roots @ self.roots)
        if not sparse.issparse(X):
            rows = roots[:, None] * (X - mean)
            return rows @ rows.T
        rows = sparse.diags_array(roots) @ X
        along = np.outer(rows @ mean, roots)
        return (rows @ rows.T).toarray() - along - along.T + mean @ mean * np.outer(roots, roots)


def n_dropped(n_left: int, step: float) -> int:
    """Columns to drop in a round: a number of them, or with a step below 1 that share of those left; at least one."""
    return min(max(1, int(step * n_left) if step < 1 else int(step)), n_left - 1)


def elimination(
    weights: Weights, n_columns: int, step: float, on_round: Callable[[int], bool] = lambda n_left: False
) -> Elimination:
    """Drop columns until one is left; ``on_round`` may return True to stop and rank those left by their weights."""
    left = np.arange(n_columns)
    order, last = np.empty(n_columns, dtype=np.intp), np.empty(n_columns)
    n_rounds, stopped = 0, False
    while len(left) > 1 and not stopped:
        size = np.abs(weights(left))
        last[left] = size
        n_rounds += 1
        best_first = np.argsort(-size, kind="stable")
        n_kept = len(left) - n_dropped(len(left), step)
        order[: len(left)] = left[best_first]
        stopped = on_round(n_kept)
        left = np.sort(left[best_first[:n_kept]])
    if n_columns == 1:
        order[0], last[0], n_rounds = 0, np.abs(weights(left))[0], 1
    return Elimination(order, last, n_rounds)


# Products of this many rows or columns take 3.2 GB.
_LONGEST_SIDE = 20_000
# Times the number of columns, half a decade apart. On wide tables the error often falls all the way to a penalty of
# zero; but the penalty stays for later rounds, in which so little would not do for as many columns as rows.
_PENALTIES = np.logspace(-2, 5, 15)
_ENTRIES_AT_ONCE = 1 << 22


def centred_targets(y: np.ndarray, task: str, who: str, weights: np.ndarray | None = None) -> np.ndarray:
    """The numbers, or an indicator for each class (one for two classes), with their means taken away."""
    if task == "regression":
        targets = numbers(y, who)[:, None]
    else:
        classes, codes = encoded_classes(y, who)
        targets = (codes[:, None] == np.arange(1 if len(classes) == 2 else len(classes))).astype(float)
    return targets - np.average(targets, axis=0, weights=weights)


def standardised(X: Any, weights: np.ndarray | None = None) -> Any:
    """Columns with mean 0 and variance 1, stored column by column; of a sparse table, with variance 1 only."""
    if sparse.issparse(X):
        variances = mean_variance_axis(X, axis=0, weights=weights)[1]
        return sparse.csc_array(X @ sparse.diags_array(inverse_deviations(X, variances)))
    mean = X.mean(axis=0, dtype=np.float64) if weights is None else weights @ X / weights.sum()
    columns = np.subtract(X.T, mean[:, None], dtype=np.float64, order="C")
    squares = np.einsum("ij,ij->i", columns, columns) if weights is None else columns**2 @ weights
    columns *= inverse_deviations(X, squares / (len(X) if weights is None else weights.sum()))[:, None]
    return columns.T


def inverse_deviations(X: Any, variances: np.ndarray) -> np.ndarray:
    """One over the standard deviations; zero for constant columns, whose variance may not quite be zero."""
    lowest, highest = (ends.toarray().ravel() if sparse.issparse(X) else ends for ends in (X.min(0), X.max(0)))
    return np.divide(1.0, np.sqrt(variances), out=np.zeros(len(variances)), where=(lowest < highest) & (variances > 0))


def column_products(X: Any, targets: np.ndarray, roots: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Products of centred columns with each other and with the targets, without a centred copy of the table.

    With ``roots``, square roots of the weights of the rows, the rows of the centred table are multiplied by them; those
    of the targets are so already.
    """
    if roots is not None:
        return _weighted_column_products(X, targets, roots)
    if sparse.issparse(X):
        sums = np.asarray(X.sum(axis=0)).ravel()
        return (X.T @ X).toarray() - np.outer(sums, sums) / X.shape[0], X.T @ targets
    mean = X.mean(axis=0, dtype=np.float64)
    products, with_target = np.zeros((X.shape[1], X.shape[1])), np.zeros((X.shape[1], targets.shape[1]))
    for rows in gen_batches(X.shape[0], max(1, _ENTRIES_AT_ONCE // X.shape[1])):
        block = X[rows] - mean
        products += block.T @ block
        with_target += block.T @ targets[rows]
    return products, with_target


def _weighted_column_products(X: Any, targets: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = roots**2 @ X / (roots @ roots)
    if sparse.issparse(X):
        rows = sparse.diags_array(roots) @ X
        return (rows.T @ rows).toarray() - np.outer(mean, mean) * (roots @ roots), rows.T @ targets
    products, with_target = np.zeros((X.shape[1], X.shape[1])), np.zeros((X.shape[1], targets.shape[1]))
    for rows in gen_batches(X.shape[0], max(1, _ENTRIES_AT_ONCE // X.shape[1])):
        block = roots[rows, None] * (X[rows] - mean)
        products += block.T @ block
        with_target += block.T @ targets[rows]
    return products, with_target


def gcv_alpha(
    products: np.ndarray, right: np.ndarray, targets: np.ndarray, *, of_rows: bool, n_rows: float | None = None
) -> float:
    """The penalty with the smallest generalised cross-validation error.

    ``products`` are ZZ' and ``right`` is T, or else Z'Z and Z'T: the eigenvalues are the same, and so is the length of
    T along each left singular vector of Z. With weights, ``n_rows`` is their sum.
    """
    n_rows = len(targets) if n_rows is None else n_rows
    values, vectors = np.linalg.eigh(products)
    inside = values > values[-1] * len(values) * np.finfo(float).eps
    if not inside.any():
        return 1.0  # all columns are constant
    values = values[inside]
    lengths = ((vectors[:, inside].T @ right) ** 2).sum(axis=1) / (1.0 if of_rows else values)
    outside = max((targets**2).sum() - lengths.sum(), 0.0)
    alphas = _PENALTIES * values.sum() / n_rows
    left = alphas[:, None] / (values + alphas[:, None])
    errors = (left**2 @ lengths + outside) / (n_rows - 1 - (1 - left).sum(axis=1)) ** 2
    return float(alphas[np.argmin(errors)])


class RidgeWeights:
    """Lengths of the coefficients of ridge regression on fewer and fewer columns.

    Calling it with the columns that are left (a subset of those of the call before, ascending) gives their lengths.
    """

    def __init__(self, X: Any, targets: np.ndarray, alpha: float | None, weights: np.ndarray | None = None) -> None:
        n_columns, total = X.shape[1], X.shape[0] if weights is None else weights.sum()
        self.roots = None if weights is None else np.sqrt(weights)
        self.targets = targets if self.roots is None else self.roots[:, None] * targets
        targets, wide = self.targets, n_columns > X.shape[0]
        self.rows = RowProducts(standardised(X, weights), roots=self.roots) if wide else None
        if self.rows is None:
            self.columns = np.arange(n_columns)
            products, with_target = column_products(X, targets, self.roots)
            of_sparse = sparse.issparse(X)
            variances = mean_variance_axis(X, axis=0, weights=weights)[1] if of_sparse else np.diag(products) / total
            factors = inverse_deviations(X, variances)[:, None]
            self.products, self.with_target = products * factors * factors.T, with_target * factors
        if alpha is not None:
            self.alpha = alpha
        elif self.rows is not None:
            self.alpha = gcv_alpha(self.rows.products, targets, targets, of_rows=True, n_rows=total)
        else:
            self.alpha = gcv_alpha(self.products, self.with_target, targets, of_rows=False, n_rows=total)

    def __call__(self, left: np.ndarray) -> np.ndarray:
        if self.rows is not None and len(left) > len(self.targets):
            weights = self.rows.weights(_ridge_solution(self.rows(left), self.targets, self.alpha))
        else:
            self._drop_all_but(left)
            weights = _ridge_solution(self.products, self.with_target, self.alpha)
        return np.linalg.norm(weights, axis=1)

    def _drop_all_but(self, left: np.ndarray) -> None:
        if self.rows is not None:
            inside = np.searchsorted(self.rows.columns, left)
            self.products, self.with_target = column_products(self.rows.X[:, inside], self.targets, self.roots)
            self.rows = None
        elif len(left) < len(self.columns):
            inside = np.searchsorted(self.columns, left)
            self.products, self.with_target = self.products[np.ix_(inside, inside)], self.with_target[inside]
        self.columns = left


def _ridge_solution(products: np.ndarray, right: np.ndarray, alpha: float) -> np.ndarray:
    system = products.copy()
    system[np.diag_indices_from(system)] += alpha
    return solve_spd(system, right)


@method(
    tasks=["classification", "regression"],
    when="A quick ranking for every number of columns, in which a column counts for what it adds to the others in a "
    "linear model. It does not see columns that act through interactions or curves only, and equal columns share their "
    "coefficient, so that both may be dropped early.",
    cost="O(n p min(n, p)) for the products and O(min(n, p)^3) for each of the first rounds; O(n p + min(n, p)^2) "
    "memory.",
    examples=lambda: [RidgeRFE(3), RidgeRFE(3, step=1, alpha=1.0)],
    aliases=["RFE", "recursive feature elimination"],
)
class RidgeRFE(CallbackSupportMixin, Selector):
    """Keep the columns that recursive elimination by ridge regression leaves.

    Fit a ridge model on standardised columns, drop those with the smallest squared coefficients, and repeat until one
    is left. Classes are fitted by their indicators, and the squared coefficients of a column are added up over them.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    step : float or int, default=0.2
        Columns to drop in a round: a share of those left if it is below 1, else a number; at least one.
    alpha : float or "gcv", default="gcv"
        Penalty on the squared coefficients of standardised columns. "gcv" chooses it on all columns by generalised
        cross-validation, and keeps it for all rounds.
    task : {"auto", "classification", "regression"}, default="auto"
        What y holds; "auto" takes numbers with fractions, and whole numbers of very many kinds, for a regression,
        anything else for classes.
    max_samples : int, float or None, default=None
        Rows to fit on: a number, or a share (a float up to 1.0); classes keep their shares. None for all.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Length of the coefficients of each column in the last model that had it. Those of different rounds do not
        compare: ``ranking_`` is the order of elimination.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the last one left; of those dropped together, the one with the larger score first.
    alpha_ : float
        Penalty used.
    n_iter_ : int
        Rounds of elimination.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    OVRSVMRFESelector : By support vector machines, with a list for each class.
    ForestImportanceSelector : By trees, with or without elimination.
    sklearn.feature_selection.RFE : For any estimator with coefficients; its ``step`` is a share of all columns.

    Notes
    -----
    The result is that of fitting every round anew. A sparse table stays sparse; its products of rows or columns do not.
    A table with more than 20,000 rows and more than 20,000 columns needs ``max_samples``.

    References
    ----------
    .. [1] Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002). Gene selection for cancer classification using
       support vector machines. Machine Learning 46, 389-422.
    .. [2] Golub, G. H., Heath, M. and Wahba, G. (1979). Generalized cross-validation as a method for choosing a good
       ridge parameter. Technometrics 21, 215-223.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import RidgeRFE
    >>> wine = load("wine")
    >>> select = RidgeRFE(3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['flavanoids', 'color_intensity', 'proline']
    """

    _takes_sparse = True
    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"gcv"})],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "max_samples": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_features_to_select=10, *, step=0.2, alpha="gcv", task="auto", max_samples=None, random_state=None
    ):
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.alpha = alpha
        self.task = task
        self.max_samples = max_samples
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Eliminate columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows; a row of weight 2 counts as two rows. None for all alike.

        Returns
        -------
        self : object
            The fitted selector. If a callback stops it, columns not eliminated yet are ranked by their scores.
        """
        X, y = self._validated(X, y)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        task = task_of(y, self.task)
        X, y, sample_weight = self._weighted(X, y, sample_weight)
        targets = centred_targets(y, task, "RidgeRFE", sample_weight)
        if self.max_samples is not None:
            rng, classes = check_random_state(self.random_state), task == "classification"
            rows = sampled_rows(X.shape[0], self.max_samples, y, classes=classes, rng=rng)
            sample_weight = None if sample_weight is None else sample_weight[rows]
            X, targets = X[rows], targets[rows] - np.average(targets[rows], axis=0, weights=sample_weight)
        if min(X.shape) > _LONGEST_SIDE:
            raise ValueError(
                f"The table has {X.shape[0]:,} rows and {X.shape[1]:,} columns, and RidgeRFE needs the products of all "
                f"pairs of the one or the other, at most {_LONGEST_SIDE:,}: give max_samples={_LONGEST_SIDE // 4}."
            )
        with fit_steps(self, X, y) as after_step:
            weights = RidgeWeights(X, targets, None if self.alpha == "gcv" else self.alpha, sample_weight)
            found = elimination(weights, X.shape[1], self.step, lambda n_left: after_step(f"eliminate-to-{n_left}"))
            self.alpha_, self.n_iter_ = weights.alpha, found.n_rounds
            self.scores_, self.ranking_ = found.weights, ranks_of_order(found.order)
        return self
