"""How many ranked columns of a table are worth using: the two-Gaussian formula with means estimated from the table.

    error(n)  =  Phi(-f),    f = s_n / sqrt(n / m + s_n),    m = 4 m_1 m_2 / (m_1 + m_2)

for classes of m_1 and m_2 rows. ``s_n`` is the mean over many splits. One part of the rows ranks the columns; in the
other, let ``b_j`` be half the difference of the class means divided by the standard deviation within the classes (nu
degrees of freedom), and ``v`` its variance. For normal columns ``((nu - 2) / nu) b_j^2 - v`` is an unbiased estimate of
``mu_j^2``; its sums over the n columns ranked first estimate ``s_n``. They are summed as they are, below zero too:
setting each to 0 at least would add about ``0.48 v`` for every uninformative column, and use them all.

When the rows that rank also train the rule, the columns ranked first have the largest weights by chance as well. Then
``sum_j a_j b_j / sqrt(sum_j a_j^2)``, with ``a`` the differences in the rows that rank, estimates f for that very rule.
The band comes from bootstrap samples, split alike.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from fewer._figures import Result, mark_point
from fewer.catalogue import method
from fewer.evaluate.protocol import values_of, workers
from fewer.theory.planning._two_gaussians import separation

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState
    from numpy.typing import ArrayLike

    from fewer.engine import Engine

    Order = Literal["abs_mean"] | Callable[[Any, np.ndarray], ArrayLike]

# Parts that the rows are split into: one judges, the others rank.
PARTS = {"other": 2, "same": 5}
# With a single one, chance in the splitting would widen the band where many columns are used.
_SPLITS_OF_A_SAMPLE = 4


class Table(NamedTuple):
    """What all splits share: the columns, centred copies and their squares, the classes, and how to rank."""

    X: Any
    centred: Any
    squares: Any
    y: np.ndarray
    positive: np.ndarray
    order: Any
    rank_on: str


class Differences(NamedTuple):
    """Standardised half differences of the class means, the variance of one, and the degrees of freedom."""

    values: np.ndarray
    variance: float
    df: float


def standardised_differences(table: Table, weights: np.ndarray) -> Differences:
    """Half the difference of the class means over the standard deviation within classes, for weighted rows."""
    by_class = np.vstack([weights * table.positive, weights * ~table.positive]).astype(float)
    totals = by_class.sum(axis=1, keepdims=True)
    means = np.asarray((table.centred.T @ by_class.T).T) / totals
    spreads = np.asarray((table.squares.T @ by_class.T).T) - totals * means**2
    shares = (by_class**2).sum(axis=1, keepdims=True) / totals
    df = float((totals - shares).sum())
    scales = np.sqrt(np.maximum(spreads.sum(axis=0), 0) / df)
    half = (means[0] - means[1]) / 2
    # A column that happens to be constant within both classes here gives no estimate of its scale.
    values = np.divide(half, scales, out=np.zeros_like(half), where=scales > 1e-12 * np.abs(means).max(axis=0))
    return Differences(values, float((shares / totals).sum() / 4), df)


def curve_of_split(table: Table, counts: np.ndarray, parts: np.ndarray, random: "RandomState") -> np.ndarray:
    """One split's mean over its parts of ``s_n`` (``f`` itself when the rule is trained on the rows that rank)."""
    curves = []
    for part in np.unique(parts[counts > 0]):
        inside = parts == part
        ranking = standardised_differences(table, counts * ~inside)
        judging = standardised_differences(table, counts * inside)
        best_first = ranked_columns(table, counts * ~inside, ranking, random)
        a, b = ranking.values[best_first], judging.values[best_first]
        if table.rank_on == "same":
            lengths = np.sqrt(np.cumsum(a**2))
            b = b * (1 - 3 / (4 * judging.df - 1))  # dividing by an estimated scale makes means larger on average
            curves.append(np.divide(np.cumsum(a * b), lengths, out=np.zeros_like(a), where=lengths > 0))
        else:
            curves.append(np.cumsum((judging.df - 2) / judging.df * b**2 - judging.variance))
    return np.mean(curves, axis=0)


def ranked_columns(table: Table, counts: np.ndarray, found: Differences, random: "RandomState") -> np.ndarray:
    """Columns by the score on the counted rows, best first; chance decides between equal ones."""
    if callable(table.order):
        rows = np.repeat(np.arange(len(counts)), counts)
        scores = np.asarray(table.order(table.X[rows], table.y[rows]), dtype=float)
        if scores.shape != found.values.shape or np.isnan(scores).any():
            raise ValueError(
                f"order gave scores of shape {scores.shape}; it must give one number for each of the "
                f"{found.values.size} columns, the larger the better, and none may be NaN."
            )
    else:
        scores = np.abs(found.values)
    shuffled = random.permutation(scores.size)
    return shuffled[np.argsort(-scores[shuffled], kind="stable")]


def curve_of_task(task: tuple[int, bool], table: Table) -> np.ndarray:
    """The curve of one random split of the rows, or the mean over a few splits of a bootstrap sample of them."""
    from sklearn.utils import check_random_state

    seed, resample = task
    random = check_random_state(seed)
    counts = np.ones(len(table.y), dtype=int)
    if resample:
        counts[:] = 0
        for group in (np.flatnonzero(table.positive), np.flatnonzero(~table.positive)):
            np.add.at(counts, _resampled(group, 2 * PARTS[table.rank_on], random), 1)
    splits = [_parts(table, counts, random) for _ in range(_SPLITS_OF_A_SAMPLE if resample else 1)]
    return np.mean([curve_of_split(table, counts, parts, random) for parts in splits], axis=0)


def _parts(table: Table, counts: np.ndarray, random: "RandomState") -> np.ndarray:
    """A random part for each row, even over the classes. All copies of a row are in one, so none ranks and judges."""
    parts = np.zeros(len(table.y), dtype=int)
    for group in (np.flatnonzero(table.positive), np.flatnonzero(~table.positive)):
        distinct = random.permutation(group[counts[group] > 0])
        parts[distinct] = np.arange(len(distinct)) % PARTS[table.rank_on]
    return parts


def _resampled(group: np.ndarray, at_least: int, random: "RandomState") -> np.ndarray:
    """A bootstrap sample with enough distinct rows for two in every part."""
    while True:
        drawn = random.choice(group, size=len(group))
        if len(np.unique(drawn)) >= min(at_least, len(group) // 2):
            return drawn


_FEWEST_ROWS = 10
_MOST_COMPARED = 200
_CORRELATED = 0.2
"""Beyond this typical size, correlations between columns make the plan clearly too hopeful."""


@dataclass(frozen=True, eq=False, repr=False)
class SizePlan(Result):
    """How many ranked columns of a table are worth using; made by :func:`plan_n_features`.

    Attributes
    ----------
    n_features : int
        Number of columns with the smallest estimated error; 0 when none is informative.
    n_features_interval : tuple of int
        Where the middle of the numbers chosen on bootstrap samples lies, at the confidence asked for.
    error : float
        Estimated error there. The minimum of an estimated curve is somewhat too low.
    error_all : float
        Estimated error with all columns.
    errors, lower, upper : ndarray of shape (n_features_in,)
        Estimated error with the 1, 2, ... columns ranked first, and its band for each number by itself.
    order : ndarray of shape (n_features_in,)
        Columns ranked on all rows, best first; use ``order[:n_features]``.
    m : float
        Rows of a training set with equal classes that is worth as much as this table.
    confidence_level : float
        Confidence level of the band and the interval.
    rank_on : {"other", "same"}
        Whether the rule is to be trained on other rows than the ranking, or on the same.
    correlation : float
        Typical size (root mean square) of the correlations inside the classes, less what chance makes of it, between
        the columns worth using, the first 200 of them at most; 0 for fewer than two.
    """

    n_features: int
    n_features_interval: tuple[int, int]
    error: float
    error_all: float
    errors: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    order: np.ndarray
    m: float
    confidence_level: float
    rank_on: str
    correlation: float = 0.0

    _data = (
        "n_features",
        "n_features_interval",
        "error",
        "error_all",
        "errors",
        "lower",
        "upper",
        "order",
        "m",
        "confidence_level",
        "rank_on",
        "correlation",
        "reading",
    )

    @property
    def reading(self) -> str:
        """How to read the plan, and its assumptions, in words."""
        low, high = self.n_features_interval
        assumed = (
            "This supposes independent, normal columns with the same variance in both classes; take it as a guide and "
            "check it by nested evaluation."
        )
        if self.n_features == 0 or self.upper[self.n_features - 1] >= 0.5:
            return f"No number of columns is surely better than guessing with so few rows. {assumed}"
        gain = self.error_all - self.error
        if self.correlation > _CORRELATED:
            assumed += (
                f" Here the columns are not independent (correlations inside the classes are about "
                f"{self.correlation:.1f}), so the error will be higher than estimated."
            )
        return (
            f"About {self.n_features:,} columns ({low:,} to {high:,}) of {len(self.errors):,} are worth using with "
            f"these rows: an error near {self.error:.3f}, {gain:.3f} below that with all columns. {assumed}"
        )

    def __repr__(self) -> str:
        low, high = self.n_features_interval
        return (
            f"SizePlan: {self.n_features:,} of {len(self.errors):,} columns "
            f"({low:,} to {high:,} at {self.confidence_level:.0%})\n"
            f"  estimated error {self.error:.3f}; with all columns {self.error_all:.3f}"
        )

    def plot(self) -> "go.Figure":
        """The estimated error over the number of columns, with its band and the number chosen.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        sizes = np.arange(1, len(self.errors) + 1)
        figure = _figures.new_figure(title="How many columns are worth using", x="columns, best first", y="error")
        figure.add_trace(_figures.band(f"{self.confidence_level:.0%} band", sizes, self.lower, self.upper))
        figure.add_trace(_figures.line("estimated error", sizes, self.errors))
        if self.n_features:
            mark_point(figure, self.n_features, self.error, f"{self.n_features:,}", name="best")
        figure.update_xaxes(type="log", dtick=1)
        return figure


@method(
    tasks=["evaluation"],
    when="Two classes, a ranking of the columns, and far too few rows for all of them: a first answer to how many "
    "columns to keep, before any estimator is tuned.",
    cost="O(n p + p log p) for each of about 400 splits",
    paper="fs-necessary",
    handles=["sparse"],
)
def plan_n_features(
    X: Any,
    y: "ArrayLike",
    *,
    order: "Order" = "abs_mean",
    rank_on: Literal["other", "same"] = "other",
    n_splits: int = 20,
    n_boot: int = 100,
    confidence_level: float = 0.9,
    random_state: "int | RandomState | None" = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
) -> SizePlan:
    """Number of columns that the rows of a table can carry, with the error to expect for each number.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Numbers without missing values. The scale of a column makes no difference.
    y : array-like of shape (n_samples,)
        Two classes, with at least 10 rows each.
    order : "abs_mean" or callable, default="abs_mean"
        How columns are ranked: by the standardised difference of the class means, or by ``order(X, y)``, which gives
        a score for each column, the larger the better. It only ever sees the rows that rank.
    rank_on : {"other", "same"}, default="other"
        Whether the rule will be trained on other rows than those that rank (the order is known from elsewhere) or on
        the same rows (usual practice). In the second case fewer columns are worth using, because those ranked first
        are there by chance too.
    n_splits : int, default=20
        Random splits that the curve is averaged over.
    n_boot : int, default=100
        Bootstrap samples for the band; at least 2.
    confidence_level : float, default=0.9
        Confidence level of the band.
    random_state : int, RandomState instance or None, default=None
        Draws the splits and the bootstrap samples.
    engine : Engine or None, default=None
        Where the splits run; by default in this process. The result does not depend on it.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.

    Returns
    -------
    plan : SizePlan
        The number of columns, the error curve with its band, the ranking, and a reading in words. It plots
        itself.

    See Also
    --------
    optimal_n_features : The same when the means are known.

    Notes
    -----
    It supposes independent normal columns with equal variances in both classes and a rule that projects on the
    difference of means; on real tables it is a guide. With ``rank_on="other"`` half of the rows rank, with ``"same"``
    4/5 of them rank and train, so that all rows will do a little better than the curve. The band covers at
    about its confidence level in simulations; it is too wide, by up to 3/4, where many columns are used.

    References
    ----------
    .. [1] Navot, A., Gilad-Bachrach, R., Navot, Y. & Tishby, N. (2006). Is feature selection still necessary? In
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 127-138.

    Examples
    --------
    >>> from fewer.datasets import make_two_gaussians
    >>> from fewer.theory import plan_n_features
    >>> X, y, _ = make_two_gaussians(n_samples=225, random_state=0)
    >>> plan = plan_n_features(X, y, random_state=0)
    >>> plan.n_features < 50 and plan.error < plan.error_all - 0.1
    True
    """
    from sklearn.utils import check_random_state

    if rank_on not in PARTS:
        raise ValueError(f"rank_on={rank_on!r} is not known; choose 'other' or 'same'.")
    if order != "abs_mean" and not callable(order):
        raise ValueError(f"order={order!r} is not known; give 'abs_mean' or a function of X and y.")
    if n_splits < 1 or n_boot < 2 or not 0 < confidence_level < 1:
        raise ValueError(
            f"n_splits={n_splits} must be at least 1, n_boot={n_boot} at least 2, and "
            f"confidence_level={confidence_level} between 0 and 1."
        )
    table = _checked_table(X, y, order, rank_on)
    random = check_random_state(random_state)
    seeds = random.randint(2**31 - 1, size=n_splits + n_boot).tolist()
    tasks = [(seed, number >= n_splits) for number, seed in enumerate(seeds)]
    curves = values_of(
        curve_of_task, tasks, table, engine=workers(engine, n_jobs), description="Splitting", only_all=True
    )
    every = np.ones(len(table.y), dtype=int)
    best_first = ranked_columns(table, every, standardised_differences(table, every), random)
    n_positive = int(table.positive.sum())
    m = 4 * n_positive * (len(table.y) - n_positive) / len(table.y)
    means = np.array([curves[number] for number in range(n_splits)]).mean(axis=0)
    resampled = np.array([curves[number] for number in range(n_splits, len(tasks))])
    if rank_on == "other":
        sizes = np.arange(1, means.size + 1)
        means, resampled = (separation(sizes, m, np.maximum(sums, 0)) for sums in (means, resampled))
    plan = _plan(means, resampled, best_first, m, confidence_level, rank_on)
    return replace(plan, correlation=_correlation_within(table, best_first[: plan.n_features]))


def _correlation_within(table: Table, columns: np.ndarray) -> float:
    """Typical correlation between columns inside the classes, less what chance makes of it."""
    columns = columns[:_MOST_COMPARED]
    if len(columns) < 2:
        return 0.0
    part = table.X[:, columns]
    part = part.toarray() if hasattr(part, "toarray") else part.copy()
    rounding = 1e-12 * np.sqrt(len(part)) * np.abs(part).max(axis=0)
    for rows in (table.positive, ~table.positive):
        part[rows] -= part[rows].mean(axis=0)
    norms = np.sqrt((part**2).sum(axis=0))
    part = part[:, norms > rounding] / norms[norms > rounding]
    n_kept = part.shape[1]
    if n_kept < 2:
        return 0.0
    squared = (np.sum((part.T @ part) ** 2) - n_kept) / (n_kept * (n_kept - 1))
    return float(np.sqrt(max(squared - 1 / (len(part) - 2), 0.0)))


def _plan(
    f: np.ndarray, resampled: np.ndarray, order: np.ndarray, m: float, confidence_level: float, rank_on: str
) -> SizePlan:
    """The plan from the curve of f and those of the bootstrap samples."""
    best = int(np.argmax(f))
    width = ndtri((1 + confidence_level) / 2) * resampled.std(axis=0, ddof=1)
    chosen = np.where(resampled.max(axis=1) > 0, resampled.argmax(axis=1) + 1, 0)
    low, high = np.quantile(chosen, [(1 - confidence_level) / 2, (1 + confidence_level) / 2], method="nearest")
    found = best + 1 if f[best] > 0 else 0
    return SizePlan(
        n_features=found,
        n_features_interval=(min(int(low), found), max(int(high), found)),
        error=float(ndtr(-f[best])) if found else 0.5,
        error_all=float(ndtr(-f[-1])),
        errors=ndtr(-f),
        lower=ndtr(-(f + width)),
        upper=ndtr(-(f - width)),
        order=order,
        m=m,
        confidence_level=confidence_level,
        rank_on=rank_on,
    )


def _checked_table(X: Any, y: "ArrayLike", order: Any, rank_on: str) -> Table:
    from sklearn.utils import check_X_y, column_or_1d

    labels = column_or_1d(y)
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) != 2:
        raise ValueError(
            f"y has {len(classes)} classes; the plan is for two. Take two of them, or one against the rest."
        )
    if counts.min() < _FEWEST_ROWS:
        rare = classes[counts.argmin()]
        raise ValueError(
            f"Class {rare!s} has {counts.min()} rows; at least {_FEWEST_ROWS} of each are needed to rank and to judge."
        )
    X, codes = check_X_y(X, codes, accept_sparse=("csr",), dtype=float)
    if hasattr(X, "toarray"):
        centred, squares = X, X.multiply(X).tocsr()
    else:
        centred = X - X.mean(axis=0)  # far from zero, the sums of squares would lose their digits
        squares = centred**2
    table = Table(X, centred, squares, labels, codes == 1, order, rank_on)
    _refuse_perfect_columns(table)
    return table


def _refuse_perfect_columns(table: Table) -> None:
    """Refuse a column that is constant within both classes but not the same: its difference has no scale."""
    means = [np.asarray(table.centred[rows].mean(axis=0)).ravel() for rows in (table.positive, ~table.positive)]
    squares = [np.asarray(table.squares[rows].mean(axis=0)).ravel() for rows in (table.positive, ~table.positive)]
    size = np.maximum(*squares)
    constant = np.maximum(*(np.abs(s - mean**2) for s, mean in zip(squares, means, strict=True))) <= 1e-12 * size
    perfect = np.flatnonzero(constant & (np.abs(means[0] - means[1]) > 1e-6 * np.sqrt(size)))
    if perfect.size:
        raise ValueError(
            f"Column {perfect[0]} has one value in each class and gives the class away; leave it out, or use it alone."
        )
