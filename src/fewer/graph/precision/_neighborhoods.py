"""A precision matrix from Dantzig selectors of each column on the others.

For each column i

    theta_i = argmin ||b||_1  subject to  ||S_{-i,i} - S_{-i,-i} b||_inf <= alpha,
    Omega_ii = 1 / v_i,   Omega_{-i,i} = -theta_i / v_i,
    v_i = S_ii - 2 theta_i' S_{-i,i} + theta_i' S_{-i,-i} theta_i,

and the matrix is made symmetric by a linear program (``_symmetrization.py``) and, where it must be, positive definite.
Yuan (2010), JMLR 11, 2261-2286. (The paper prints its penalty as ``(2 log p / n)^-1``; the exponent is 1/2.)
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numba import njit
from scipy.optimize import linprog
from sklearn.model_selection import check_cv

from fewer._estimators import (
    Interval,
    StrOptions,
    check_feature_names,
    each_warning_once,
    fit_context,
    warn_caller,
)
from fewer.catalogue import method
from fewer.graph.precision._column_covariance import (
    ColumnCovariance,
    PrecisionGraph,
    checked_covariance,
    column_covariance,
    covariance_around,
    refuse_constant_columns,
)
from fewer.graph.precision._precision_path import largest_alpha
from fewer.graph.precision._symmetrization import Symmetrization, nearest_symmetric
from fewer.learn import solve_dantzig

_NO_EDGE = 1e-8
"""Coefficients of a linear program up to this are zero, for columns of variance 1."""
_UNITS = 10.0
"""Variances within this factor of 1 suit alpha="theory"."""
_SMALLEST_VARIANCE = 1e-10
"""Share of a column's variance that its residuals keep at least."""


@njit(cache=True, nogil=True)
def lasso_from_moments(gram, products, penalties, tol, max_iter):
    """``argmin b' G b / 2 - b' c + sum_j penalty_j |b_j|`` by coordinate descent."""
    size = len(products)
    coef = np.zeros(size)
    slopes = -products.copy()
    for _ in range(max_iter):
        largest = 0.0
        for j in range(size):
            if gram[j, j] == 0 or np.isinf(penalties[j]):
                continue
            target = coef[j] - slopes[j] / gram[j, j]
            limit = penalties[j] / gram[j, j]
            new = np.sign(target) * max(abs(target) - limit, 0.0)
            change = new - coef[j]
            if change != 0:
                coef[j] = new
                for k in range(size):
                    slopes[k] += change * gram[k, j]
                largest = max(largest, abs(change) * np.sqrt(gram[j, j]))
        if largest <= tol:
            break
    return coef


def dantzig_with_known_edges(gram, products, alpha, known, allowed) -> np.ndarray:
    """The Dantzig selector where some entries are zero (not ``allowed``) and others cost nothing (``known``).

    Many coefficients of known edges can go with the smallest norm of the others; of these, the ones nearest to least
    squares: the sum of their absolute covariances with the residuals is smallest.
    """
    columns, rows = np.flatnonzero(allowed), np.flatnonzero(known)
    part = gram[:, columns]
    # Positive and negative parts of the coefficients, and bounds of the covariances at known edges.
    costs = np.r_[np.tile(np.where(known[columns], 0.0, 1.0), 2), np.zeros(len(rows) + 1)]
    covariances = np.hstack([part, -part, np.zeros((len(products), len(rows) + 1))])
    least = np.zeros((len(rows), len(costs)))
    least[np.arange(len(rows)), 2 * len(columns) + np.arange(len(rows))] = 1
    constraints, limits = np.vstack([covariances, -covariances]), np.r_[products + alpha, alpha - products]
    found = solved_program(costs, constraints, limits, alpha)
    if len(rows):
        constraints = np.vstack([constraints, costs, covariances[rows] - least, -covariances[rows] - least])
        limits = np.r_[limits, found @ costs * (1 + 1e-9), products[rows], -products[rows]]
        found = solved_program(least.sum(axis=0), constraints, limits, alpha)
    coef = np.zeros(len(products))
    coef[columns] = found[: len(columns)] - found[len(columns) : 2 * len(columns)]
    return coef


def solved_program(costs: np.ndarray, constraints: np.ndarray, limits: np.ndarray, alpha: float) -> np.ndarray:
    """``argmin costs' x`` subject to ``constraints x <= limits`` and ``x >= 0``."""
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(costs, A_ub=constraints, b_ub=limits, method="highs", options=options)
    if found.status == 2:
        raise ValueError(
            f"No coefficients satisfy alpha={alpha:.3g} with the edges that zero_edges forbids: increase alpha, or "
            "forbid fewer edges."
        )
    if found.status != 0:
        raise RuntimeError(f"HiGHS could not solve the program of the Dantzig selector: {found.message}")
    return found.x


class EdgeKnowledge(NamedTuple):
    """Which edges may be there, and which are known to be."""

    allowed: np.ndarray
    known: np.ndarray

    @property
    def is_none(self) -> bool:
        """Whether nothing is known."""
        return bool(self.allowed.all()) and not self.known.any()


def edge_knowledge(names: list[str], zero_edges: Any, known_edges: Any) -> EdgeKnowledge:
    """Masks of pairs, from lists of pairs of columns, by number or by name."""
    size = len(names)
    number = {name: place for place, name in enumerate(names)}
    masks = []
    for parameter, pairs in (("zero_edges", zero_edges), ("known_edges", known_edges)):
        mask = np.zeros((size, size), dtype=bool)
        for pair in () if pairs is None else pairs:
            ends = [number.get(end, -1) if isinstance(end, str) else end for end in (pair if np.ndim(pair) else ())]
            if len(ends) != 2 or not all(isinstance(end, Integral) for end in ends):
                raise ValueError(
                    f"{parameter} must be a list of pairs of column numbers or names, such as [(0, 3), (2, 5)]."
                )
            if min(ends) < 0 or max(ends) >= size or ends[0] == ends[1]:
                raise ValueError(
                    f"{parameter} holds {tuple(pair)}, which is not a pair of two different columns of the {size}, by "
                    "number or by name."
                )
            mask[ends[0], ends[1]] = mask[ends[1], ends[0]] = True
        masks.append(mask)
    if (masks[0] & masks[1]).any():
        pair = tuple(map(int, np.argwhere(masks[0] & masks[1])[0]))
        raise ValueError(f"The edge {pair} is in zero_edges and in known_edges.")
    return EdgeKnowledge(~masks[0], masks[1])


def neighborhood(S: np.ndarray, i: int, alpha: float, method: str, knowledge: EdgeKnowledge) -> np.ndarray:
    """Coefficients of column i on the others, with 0 at place i."""
    if len(S) == 1:
        return np.zeros(1)
    others = np.arange(len(S)) != i
    gram, products = np.ascontiguousarray(S[np.ix_(others, others)]), S[others, i]
    allowed, known = knowledge.allowed[i, others], knowledge.known[i, others]
    if method == "lasso":
        penalties = np.where(allowed, np.where(known, 0.0, alpha), np.inf)
        coef = lasso_from_moments(gram, products, penalties, 1e-10 * np.sqrt(S[i, i]), 10_000)
    elif allowed.all() and not known.any():
        coef = solve_dantzig(gram, products, alpha).coef
    else:
        coef = dantzig_with_known_edges(gram, products, alpha, known, allowed)
    full = np.zeros(len(S))
    scales = np.sqrt(np.diag(S))
    full[others] = np.where(np.abs(coef) * scales[others] > _NO_EDGE * scales[i], coef, 0.0)
    return full


def raw_precision(coefs: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The precision matrix that regressions imply, column by column, and which residual variances were too small.

    Column i of ``coefs`` has the regression of column i on the others.
    """
    variances = np.diag(S) - 2 * (coefs * S).sum(axis=0) + np.einsum("ji,jk,ki->i", coefs, S, coefs, optimize=True)
    lowest = _SMALLEST_VARIANCE * np.diag(S)
    variances, tiny = np.maximum(variances, lowest), variances < lowest
    raw = -coefs / variances
    np.fill_diagonal(raw, 1 / variances)
    return raw, tiny


def symmetrized(raw: np.ndarray, symmetrize: str | None) -> Symmetrization:
    """A symmetric matrix from a raw one, by one of the rules."""
    if symmetrize == "lp":
        return nearest_symmetric(raw)
    if symmetrize is None:
        return Symmetrization(raw.copy(), 0.0, 0.0)
    matrix = (raw + raw.T) / 2 if symmetrize == "average" else np.where(np.abs(raw) <= np.abs(raw.T), raw, raw.T)
    return Symmetrization(matrix, float(np.abs(matrix - raw).sum(axis=0).max()), np.nan)


def positive_definite(matrix: np.ndarray, floor: float) -> tuple[np.ndarray, int]:
    """The matrix with eigenvalues up to zero replaced by ``floor``, and how many there were.

    What rounding does not tell from zero counts as zero, and is replaced by at least ten times as much.
    """
    values, vectors = np.linalg.eigh(matrix)
    lowest = len(matrix) * float(np.finfo(matrix.dtype).eps) * max(float(values[-1]), 0.0)
    n_replaced = int((values <= lowest).sum())
    if not n_replaced:
        return matrix.copy(), 0
    repaired = (vectors * np.where(values <= lowest, max(floor, 10 * lowest), values)) @ vectors.T
    return (repaired + repaired.T) / 2, n_replaced


RULES = {"or": np.logical_or, "and": np.logical_and}


@method(
    tasks=["unsupervised"],
    when="A sparse precision matrix when the graph is sparse and each column depends weakly on few others, with a "
    "penalty from theory; or when some edges are known to be there or not. For strong dependence take "
    "SparsePrecisionCV.",
    cost="O(n p^2) for the covariances, then p linear programs of O(p k) a breakpoint, and one over the pairs that "
    "differ.",
    paper="inverse-cov-lp",
    examples=lambda: [
        NeighborhoodDantzigPrecision(alpha=0.05),
        NeighborhoodDantzigPrecision(alpha=0.1, method="lasso", with_std=True, symmetrize="average"),
        NeighborhoodDantzigPrecision(alpha="cv", n_alphas=4, cv=3, with_std=True, rule="and"),
    ],
    depends_on_scale="alpha is compared with covariances, unless with_std is True",
)
class NeighborhoodDantzigPrecision(PrecisionGraph):
    """Precision matrix from Dantzig selectors of each column on the others, made symmetric by a linear program.

    Parameters
    ----------
    alpha : "theory", "cv", float or array-like of shape (n_features,), default="theory"
        Largest covariance of a column with the residuals of another (the paper's delta). "theory" is
        ``sqrt(2 log p / n)``, for columns of variance 1; "cv" chooses by cross-validation.
    method : {"dantzig", "lasso"}, default="dantzig"
        How a column is regressed on the others.
    symmetrize : {"lp", "average", "min"} or None, default="lp"
        The nearest symmetric matrix in the largest absolute column sum; means; the smaller entry; or not at all.
    positive_definite : bool, default=True
        Replace eigenvalues up to 0 by ``alpha``. Where that happens, ``precision_`` has no exact zeros.
    with_std : bool, default=False
        Work on correlations, so that the result does not depend on units. False is the paper's way.
    rule : {"or", "and"}, default="or"
        Whether an edge needs a coefficient in one or in both of its regressions.
    threshold : float, default=1e-8
        Entries of ``precision_raw_`` up to this, for columns of variance 1, give no edge.
    zero_edges : list of (int or str, int or str), default=None
        Pairs of columns that have no edge, by number or, for a frame, by name.
    known_edges : list of (int or str, int or str), default=None
        Pairs of columns that have one; their coefficients are not penalised.
    criterion : {"likelihood", "trace"}, default="likelihood"
        For "cv": the Gaussian likelihood of held-out rows, or ``||S_test Omega - I||_F^2``.
    n_alphas : int, default=10
        Penalties for "cv", from the largest covariance down in geometric steps.
    eps : float, default=0.05
        Smallest penalty over the largest, for "cv".
    cv : int, splitter or iterable, default=5
        Folds for "cv".
    assume_centered : bool, default=False
        Whether the columns have mean zero already.
    n_jobs : int or None, default=None
        Columns at the same time, in threads.

    Attributes
    ----------
    precision_ : ndarray of shape (n_features, n_features)
        Precision matrix: symmetric and positive definite, unless that was not wanted.
    covariance_ : ndarray of shape (n_features, n_features)
        Its inverse.
    precision_raw_ : ndarray of shape (n_features, n_features)
        The matrix of the regressions, not symmetric.
    precision_sym_ : ndarray of shape (n_features, n_features)
        The symmetric matrix, before it was made positive definite.
    location_ : ndarray of shape (n_features,)
        Means of the columns.
    alpha_ : float or ndarray of shape (n_features,)
        The penalty.
    symmetrization_error_ : float
        Largest absolute column sum of ``precision_sym_ - precision_raw_``, for columns as they were used.
    symmetrization_gap_ : float
        That is above the smallest possible by this at most; NaN without the linear program.
    n_repaired_eigenvalues_ : int
        Eigenvalues that were replaced.
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        Which pairs have an edge.
    edges_ : polars.DataFrame
        The edges with their partial correlations, largest first.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SparsePrecisionCV : The graphical lasso.
    NeighborhoodSelectionMLE : A graph from lasso regressions, then maximum likelihood.
    fewer.learn.DantzigSelector : One regression.

    Notes
    -----
    If no row of the true matrix has more than d entries, the error in the largest absolute column sum, in the spectral
    norm and in the largest absolute row sum is of the order ``d sqrt(log p / n)``, which no method can improve.

    References
    ----------
    .. [1] Yuan, M. (2010). High dimensional inverse covariance matrix estimation via linear programming. Journal of
       Machine Learning Research 11, 2261-2286.

    Examples
    --------
    >>> from fewer.datasets import make_graph_gaussian
    >>> from fewer.graph import NeighborhoodDantzigPrecision
    >>> X, _, truth = make_graph_gaussian(500, 6, structure="chain", random_state=0)
    >>> graph = NeighborhoodDantzigPrecision(rule="and").fit(X)
    >>> [(edge["from"], edge["to"]) for edge in graph.edges_.to_dicts()]
    [('x4', 'x5'), ('x2', 'x3'), ('x0', 'x1'), ('x3', 'x4'), ('x1', 'x2')]
    """

    _parameter_constraints = {
        "alpha": [StrOptions({"theory", "cv"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "method": [StrOptions({"dantzig", "lasso"})],
        "symmetrize": [StrOptions({"lp", "average", "min"}), None],
        "positive_definite": ["boolean"],
        "with_std": ["boolean"],
        "rule": [StrOptions(set(RULES))],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "zero_edges": ["array-like", None],
        "known_edges": ["array-like", None],
        "criterion": [StrOptions({"likelihood", "trace"})],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "cv": ["cv_object"],
        "assume_centered": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alpha="theory",
        *,
        method="dantzig",
        symmetrize="lp",
        positive_definite=True,
        with_std=False,
        rule="or",
        threshold=1e-8,
        zero_edges=None,
        known_edges=None,
        criterion="likelihood",
        n_alphas=10,
        eps=0.05,
        cv=5,
        assume_centered=False,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.method = method
        self.symmetrize = symmetrize
        self.positive_definite = positive_definite
        self.with_std = with_std
        self.rule = rule
        self.threshold = threshold
        self.zero_edges = zero_edges
        self.known_edges = known_edges
        self.criterion = criterion
        self.n_alphas = n_alphas
        self.eps = eps
        self.cv = cv
        self.assume_centered = assume_centered
        self.n_jobs = n_jobs

    @property
    def _covariance_method(self) -> str:
        return "pearson" if self.with_std else "empirical"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Estimate the precision matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._checked_table(X, dtype=(np.float64,))
        moments = column_covariance(X, self._covariance_method, assume_centered=self.assume_centered)
        return self._fit_moments(moments, len(X), X)

    def fit_covariance(self, cov, n_samples=None):
        """Estimate the precision matrix from a covariance matrix.

        Parameters
        ----------
        cov : array-like of shape (n_features, n_features)
            Covariance matrix.
        n_samples : int, default=None
            Rows that it comes from, for ``alpha="theory"``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        S = checked_covariance(cov, type(self).__name__).astype(float)
        self.n_features_in_ = len(S)
        check_feature_names(self, cov, reset=True)
        if isinstance(self.alpha, str) and (self.alpha == "cv" or n_samples is None):
            need = "rows, not a covariance matrix" if self.alpha == "cv" else "n_samples"
            raise ValueError(f"alpha={self.alpha!r} needs {need}; give alpha a number.")
        scales = np.sqrt(np.diag(S)) if self.with_std else np.ones(len(S))
        moments = ColumnCovariance(S / np.outer(scales, scales), np.zeros(len(S)), scales)
        return self._fit_moments(moments, n_samples, None)

    @each_warning_once()
    def _fit_moments(self, moments: ColumnCovariance, n_rows: int | None, X: Any):
        S = moments.matrix
        variances = np.diag(S) * moments.scales**2
        refuse_constant_columns(variances, moments.location, self._node_names(), type(self).__name__)
        knowledge = edge_knowledge(self._node_names(), self.zero_edges, self.known_edges)
        self.alpha_ = self._penalty(S, n_rows, X, knowledge)
        raw = self._raw(S, self.alpha_, knowledge)
        symmetrization = symmetrized(raw, self.symmetrize)
        repaired, self.n_repaired_eigenvalues_ = self._repaired(symmetrization.matrix, self.alpha_)
        units = np.outer(moments.scales, moments.scales)
        self.precision_raw_, self.precision_sym_ = raw / units, symmetrization.matrix / units
        self.symmetrization_error_, self.symmetrization_gap_ = symmetrization.error, symmetrization.gap
        self._set_precision(repaired, self._inverse(repaired), moments)
        scales = np.sqrt(np.diag(S))
        entries = np.abs(raw) * np.outer(scales, scales) > self.threshold
        self.adjacency_ = RULES[self.rule](entries, entries.T) & ~np.eye(len(S), dtype=bool)
        return self

    @staticmethod
    def _inverse(precision: np.ndarray) -> np.ndarray:
        try:
            return np.linalg.inv(precision)
        except np.linalg.LinAlgError:
            raise ValueError(
                "The precision matrix is singular, so that there is no covariance_: increase alpha, or set "
                "positive_definite=True with a way to symmetrize."
            ) from None

    def _edge_weights(self) -> np.ndarray:
        roots = np.sqrt(np.diag(self.precision_sym_))
        return -self.precision_sym_ / np.outer(roots, roots)

    def _penalty(self, S: np.ndarray, n_rows: int | None, X: Any, knowledge: EdgeKnowledge) -> Any:
        if not isinstance(self.alpha, str):
            penalty = np.asarray(self.alpha, dtype=float)
            if penalty.ndim and penalty.shape != (len(S),):
                raise ValueError(f"alpha has the shape {penalty.shape}, and there are {len(S)} columns.")
            if (penalty < 0).any():
                raise ValueError("alpha must not be negative.")
            return penalty if penalty.ndim else float(penalty)
        if self.alpha == "theory":
            self._warn_of_units(np.diag(S))
            return float(np.sqrt(2 * np.log(len(S)) / n_rows))
        return self._chosen_by_cv(S, X, knowledge)

    def _warn_of_units(self, variances: np.ndarray) -> None:
        """The theory is about columns of variance 1."""
        off = np.maximum(variances, 1 / variances)
        if off.max() > _UNITS:
            worst = int(off.argmax())
            warn_caller(
                f"alpha='theory' is for columns of variance 1, and that of column {self._node_names()[worst]!r} is "
                f"{variances[worst]:.3g}. Set with_std=True, or choose alpha by 'cv'."
            )

    def _chosen_by_cv(self, S: np.ndarray, X: np.ndarray, knowledge: EdgeKnowledge) -> float:
        alphas = np.geomspace(1, self.eps, self.n_alphas) * (largest_alpha(S) or 1.0)
        losses = np.zeros(len(alphas))
        for train, test in check_cv(self.cv).split(X):
            moments = column_covariance(X[train], self._covariance_method, assume_centered=self.assume_centered)
            held_out = covariance_around(X[test], self._covariance_method, moments)
            for place, alpha in enumerate(alphas):
                raw = self._raw(moments.matrix, alpha, knowledge)
                precision = positive_definite(symmetrized(raw, self.symmetrize or "lp").matrix, alpha)[0]
                losses[place] += _held_out_loss(precision, held_out, self.criterion)
        return float(alphas[np.argmin(losses)])

    def _raw(self, S: np.ndarray, alpha: Any, knowledge: EdgeKnowledge) -> np.ndarray:
        # With a singular S, rounding may leave nothing that satisfies a smaller bound.
        alphas = np.maximum(np.broadcast_to(alpha, len(S)), 1e-10 * np.abs(S).max())
        coefs = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(neighborhood)(S, i, alphas[i], self.method, knowledge) for i in range(len(S))
        )
        raw, tiny = raw_precision(np.column_stack(coefs), S)
        if tiny.any():
            names = self._node_names()
            warn_caller(
                f"The other columns predict column {names[int(np.argmax(tiny))]!r} exactly, so its precision is not "
                f"known; its residual variance is set to {_SMALLEST_VARIANCE:.0e} of its variance. Increase alpha."
            )
        return raw

    def _repaired(self, matrix: np.ndarray, alpha: Any) -> tuple[np.ndarray, int]:
        if not self.positive_definite or self.symmetrize is None:
            return matrix.copy(), 0
        return positive_definite(matrix, max(float(np.max(alpha)), 1e-10))


def _held_out_loss(precision: np.ndarray, S: np.ndarray, criterion: str) -> float:
    if criterion == "trace":
        return float(((S @ precision - np.eye(len(S))) ** 2).sum())
    return float((S * precision).sum() - np.linalg.slogdet(precision)[1])
