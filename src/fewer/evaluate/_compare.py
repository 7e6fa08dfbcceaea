"""Comparing several methods over several data sets by their ranks.

On each of N data sets the k methods are ranked, 1 for the best, ties shared. With mean ranks ``R_j``, Friedman's
statistic is

    chi2 = 12 N / (k (k + 1)) ( sum_j R_j^2 - k (k + 1)^2 / 4 ),

divided by ``1 - sum (t^3 - t) / (N k (k^2 - 1))`` for ties of t methods. That of Iman and Davenport, less conservative,
is ``(N - 1) chi2 / (N (k - 1) - chi2)``, F-distributed with k - 1 and (k - 1)(N - 1) degrees of freedom. If it rejects,
two methods differ by Nemenyi's test when their mean ranks are further apart than ``CD = q sqrt(k (k + 1) / (6 N))``;
q is the upper quantile of the studentised range over sqrt(2). The critical-difference figure is that of Demšar (2006),
figure 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewer._figures import Result
from fewer.catalogue import method

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_SETS_WITH_ALL_SIGNS = 13  # 8,192 of them


def ranks_of(scores: np.ndarray) -> np.ndarray:
    """Ranks of the methods on each data set, 1 for the largest score, ties shared."""
    from scipy.stats import rankdata

    return rankdata(-scores, axis=1)


def friedman_statistic(ranks: np.ndarray) -> float:
    """Friedman's statistic, corrected for ties; 0 when all methods tie everywhere."""
    n_sets, k = ranks.shape
    spread = np.sum((ranks - (k + 1) / 2) ** 2)  # N k (k^2 - 1) / 12 without ties, less by what they take
    if spread == 0:
        return 0.0
    return float((k - 1) * n_sets**2 * np.sum((ranks.mean(axis=0) - (k + 1) / 2) ** 2) / spread)


def critical_difference(k: int, n_sets: int, significance_level: float) -> float:
    """Nemenyi's critical difference of mean ranks."""
    from scipy.stats import studentized_range

    return float(
        studentized_range.ppf(1 - significance_level, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n_sets))
    )


def wilcoxon_p_values(scores: np.ndarray) -> np.ndarray:
    """Two-sided Wilcoxon signed-rank p-value for each pair; differences of zero count half for either side.

    Of few data sets the p-values are exact, with ties as well: all signs of the differences are gone through.
    """
    from scipy.stats import wilcoxon

    n_sets, k = scores.shape
    exact = exact_signed_rank_p_value if n_sets <= _MOST_SETS_WITH_ALL_SIGNS else None
    p_values = np.ones((k, k))
    for first in range(k):
        for second in range(first):
            apart = scores[:, first] - scores[:, second]
            if apart.any():
                p_value = exact(apart) if exact else wilcoxon(apart, zero_method="zsplit").pvalue
                p_values[first, second] = p_values[second, first] = p_value
    return p_values


def exact_signed_rank_p_value(differences: np.ndarray) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test from the sums of ranks under all signs.

    Examples
    --------
    >>> exact_signed_rank_p_value(np.array([0.1, 0.2, 0.3, 0.4]))
    0.125
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.abs(differences))[differences != 0]
    signs = np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks)) & 1
    sums = signs @ ranks  # multiples of 1/2, so that they compare without rounding
    observed = ranks[differences[differences != 0] > 0].sum()
    return float(min(1.0, 2 * min(np.mean(sums >= observed), np.mean(sums <= observed))))


def holm_adjusted(p_values: np.ndarray) -> np.ndarray:
    """p-values of the pairs (a symmetric matrix) adjusted by Holm for all being tested."""
    upper = np.triu_indices(len(p_values), 1)
    single = p_values[upper]
    order = np.argsort(single)
    adjusted = np.empty_like(single)
    adjusted[order] = np.minimum(np.maximum.accumulate(single[order] * np.arange(len(single), 0, -1)), 1.0)
    result = np.ones_like(p_values)
    result[upper] = adjusted
    return np.minimum(result, result.T)


def maximal_cliques(mean_ranks: np.ndarray, differs: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Largest groups, neighbours in mean rank, within which no two methods differ; of two methods or more."""
    order = np.argsort(mean_ranks, kind="stable")
    cliques: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and not differs[np.ix_(order[start : end + 2], order[start : end + 2])].any():
            end += 1
        if end > start and (not cliques or end > cliques[-1][1]):
            cliques.append((start, end))
    return tuple(tuple(order[start : end + 1].tolist()) for start, end in cliques)


@dataclass(frozen=True, eq=False, repr=False)
class MethodComparison(Result):
    """Methods compared over data sets; made by :func:`compare_methods`.

    Attributes
    ----------
    methods : tuple of str
        Their names, in the order of the columns.
    mean_ranks : ndarray of shape (n_methods,)
        1 is best.
    ranks : ndarray of shape (n_data_sets, n_methods)
        Rank on each data set.
    test : {"friedman", "wilcoxon"}
        What decided which methods differ: Nemenyi's test if Iman and Davenport's rejects, or Wilcoxon's for all pairs.
    p_value : float
        That all methods are equally good: Iman and Davenport's, or for two methods Wilcoxon's.
    friedman, friedman_p : float
        Friedman's statistic, corrected for ties, and its p-value by the chi-square distribution; NaN for two methods.
    iman_davenport, iman_davenport_p : float
        The F statistic made of it, and its p-value; NaN for two methods.
    critical_difference : float
        Mean ranks further apart differ, by Nemenyi's test; NaN for two methods.
    wilcoxon_p : ndarray of shape (n_methods, n_methods)
        p-values of Wilcoxon's signed-rank test for all pairs, adjusted by Holm.
    differs : ndarray of bool of shape (n_methods, n_methods)
        Which pairs differ.
    cliques : tuple of tuples of str
        Largest groups within which no two methods differ, best first.
    significance_level : float
        Significance level of the tests.
    """

    methods: tuple[str, ...]
    mean_ranks: np.ndarray
    ranks: np.ndarray
    test: str
    p_value: float
    friedman: float
    friedman_p: float
    iman_davenport: float
    iman_davenport_p: float
    critical_difference: float
    wilcoxon_p: np.ndarray
    differs: np.ndarray
    cliques: tuple[tuple[str, ...], ...]
    significance_level: float

    @property
    def reading(self) -> str:
        """How to read the comparison, in words."""
        n_sets = len(self.ranks)
        best = self.methods[int(np.argmin(self.mean_ranks))]
        if self.p_value >= self.significance_level:
            return (
                f"Over {n_sets} data sets no method is shown to be better than another (p = {self.p_value:.3g}). That "
                "is no proof that they are equal: more data sets may part them."
            )
        beaten = [
            name for name, worse in zip(self.methods, self.differs[self.methods.index(best)], strict=True) if worse
        ]
        if not beaten:
            return (
                f"The methods differ over {n_sets} data sets (p = {self.p_value:.3g}); {best} has the best mean rank, "
                "but no single method is shown to be worse than it."
            )
        return (
            f"The methods differ over {n_sets} data sets (p = {self.p_value:.3g}); {best} has the best mean rank and "
            f"is better than {', '.join(beaten)}."
        )

    def __repr__(self) -> str:
        width = max(len(name) for name in self.methods)
        order = np.argsort(self.mean_ranks, kind="stable")
        rows = [f"  {self.methods[column]:<{width}}  {self.mean_ranks[column]:.3f}" for column in order]
        head = f"MethodComparison: {len(self.methods)} methods on {len(self.ranks)} data sets, p = {self.p_value:.3g}"
        if self.test == "wilcoxon" and len(self.methods) > 2:
            head += "; pairs by Wilcoxon's test"
        elif not np.isnan(self.critical_difference):
            head += f", critical difference {self.critical_difference:.3f}"
        return "\n".join([head, *rows])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        ranks = dict(zip(self.methods, self.mean_ranks.tolist(), strict=True))
        return super().to_dict() | {"mean_ranks": ranks, "n_data_sets": len(self.ranks), "reading": self.reading}

    def plot(self) -> "go.Figure":
        """The critical-difference figure: mean ranks on a line, methods that do not differ joined by a bar.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        return critical_difference_figure(self)


@method(
    tasks=["evaluation"],
    when="Several methods were scored on the same several data sets, and you want to know which are better.",
    cost="O(N k log k + k^2 N log N) for k methods on N data sets",
)
def compare_methods(
    results: Any,
    *,
    significance_level: float = 0.05,
    test: Literal["friedman", "wilcoxon"] = "friedman",
    higher_is_better: bool = True,
    methods: Sequence[str] | None = None,
) -> MethodComparison:
    """Which methods are better than which, over several data sets.

    Parameters
    ----------
    results : array-like, frame or dict
        Scores, a row for each data set and a column for each method, one unbiased score in each cell. A dict holds
        a list of scores for each method, or a dict of scores by data set.
    significance_level : float, default=0.05
        Significance level of the tests.
    test : {"friedman", "wilcoxon"}, default="friedman"
        What decides which pairs differ: the distance of their mean ranks (Nemenyi), which depends on the other methods
        in the comparison too, or Wilcoxon's signed-rank test for each pair, adjusted by Holm. Two methods are always
        compared by Wilcoxon's test.
    higher_is_better : bool, default=True
        False for errors.
    methods : sequence of str, default=None
        Names of the columns, where the results do not have them.

    Returns
    -------
    comparison : MethodComparison
        Mean ranks, tests, the groups that do not differ, and a reading in words. It plots the
        critical-difference figure.

    Notes
    -----
    Data sets count as independent draws; repeats on one data set are not, so average them first. With fewer than about
    10 data sets even clear differences are rarely significant.

    References
    ----------
    .. [1] Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine
       Learning Research 7, 1-30.

    Examples
    --------
    >>> from fewer.evaluate import compare_methods
    >>> scores = {
    ...     "all features": [0.71, 0.65, 0.80, 0.77, 0.62, 0.69, 0.74, 0.70],
    ...     "forward": [0.75, 0.70, 0.82, 0.76, 0.70, 0.75, 0.79, 0.74],
    ...     "filter": [0.78, 0.74, 0.85, 0.81, 0.71, 0.76, 0.83, 0.80],
    ... }
    >>> comparison = compare_methods(scores)
    >>> comparison
    MethodComparison: 3 methods on 8 data sets, p = 1.87e-07, critical difference 1.172
      filter        1.000
      forward       2.125
      all features  2.875
    >>> comparison.cliques
    (('filter', 'forward'), ('forward', 'all features'))
    """
    if test not in ("friedman", "wilcoxon"):
        raise ValueError(f"test={test!r} is not known; choose 'friedman' or 'wilcoxon'.")
    if not 0 < significance_level < 1:
        raise ValueError(f"significance_level={significance_level} must lie between 0 and 1.")
    scores, names = _score_matrix(results, methods)
    scores = scores if higher_is_better else -scores
    ranks = ranks_of(scores)
    mean_ranks, (n_sets, k) = ranks.mean(axis=0), ranks.shape
    single = wilcoxon_p_values(scores)
    adjusted = holm_adjusted(single)
    friedman, friedman_p, iman, iman_p, difference = (np.nan,) * 5
    if k == 2:
        test, p_value = "wilcoxon", float(single[0, 1])
    else:
        friedman, friedman_p, iman, iman_p = _rank_tests(ranks)
        p_value, difference = iman_p, critical_difference(k, n_sets, significance_level)
    if test == "wilcoxon":
        differs = adjusted < significance_level
    else:
        differs = (np.abs(mean_ranks[:, None] - mean_ranks) > difference) & (p_value < significance_level)
    return MethodComparison(
        methods=names,
        mean_ranks=mean_ranks,
        ranks=ranks,
        test=test,
        p_value=p_value,
        friedman=friedman,
        friedman_p=friedman_p,
        iman_davenport=iman,
        iman_davenport_p=iman_p,
        critical_difference=difference,
        wilcoxon_p=adjusted,
        differs=differs,
        cliques=tuple(tuple(names[column] for column in clique) for clique in maximal_cliques(mean_ranks, differs)),
        significance_level=significance_level,
    )


def _rank_tests(ranks: np.ndarray) -> tuple[float, float, float, float]:
    """Friedman's and Iman and Davenport's statistics with their p-values."""
    from scipy.stats import chi2, f

    n_sets, k = ranks.shape
    friedman = friedman_statistic(ranks)
    left = n_sets * (k - 1) - friedman
    if left > 1e-9 * n_sets:
        iman = (n_sets - 1) * friedman / left
    else:  # the same order on every data set
        iman = np.inf
    return friedman, float(chi2.sf(friedman, k - 1)), float(iman), float(f.sf(iman, k - 1, (k - 1) * (n_sets - 1)))


def _score_matrix(results: Any, methods: Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Scores (data sets x methods) and the names of the methods, or an error that names what is wrong."""
    if isinstance(results, Mapping):
        names = [str(name) for name in results]
        columns = list(results.values())
        by_set = [isinstance(column, Mapping) for column in columns]
        if any(by_set) and not all(by_set):
            raise ValueError("some methods have their scores by data set, others in a list; give all alike.")
        if any(by_set):
            sets = list(columns[0])
            for name, column in zip(names, columns, strict=True):
                if set(column) != set(sets):
                    missing = sorted(map(str, set(sets) ^ set(column)))
                    raise ValueError(
                        f"Method {name!r} and {names[0]!r} were not scored on the same data sets: {missing}."
                    )
            columns = [[column[one] for one in sets] for column in columns]
        if len({len(column) for column in columns}) > 1:
            raise ValueError("The methods have different numbers of scores; every one needs a score on each data set.")
        scores = np.array(columns, dtype=float).T
    else:
        names = [str(name) for name in getattr(results, "columns", [])]
        scores = np.asarray(results, dtype=float)
    if scores.ndim != 2 or scores.shape[0] < 2 or scores.shape[1] < 2:
        raise ValueError(
            f"results has the shape {scores.shape}; it needs at least 2 data sets (rows) and 2 methods (columns)."
        )
    if methods is not None:
        names = [str(name) for name in methods]
    elif not names:
        names = [f"method {number}" for number in range(1, scores.shape[1] + 1)]
    if len(names) != scores.shape[1] or len(set(names)) != len(names):
        raise ValueError(f"{len(names)} names for {scores.shape[1]} methods; give each its own.")
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(
            f"The score of {names[column]!r} on data set {row} is {scores[row, column]}; leave out the data set "
            "or the method."
        )
    return scores, tuple(names)


# Heights in steps of one label's line.
_BAR_STEP = 0.45
_PIXELS_PER_STEP = 26
_LETTER = 7.5


def critical_difference_figure(comparison: "MethodComparison") -> "go.Figure":
    """Mean ranks on a line at the top, labels below it, bars between them."""
    from fewer import _figures

    k = len(comparison.methods)
    order = np.argsort(comparison.mean_ranks, kind="stable")
    bars = _bar_rows(comparison)
    first_label = 0.9 + _BAR_STEP * (max((row for *_, row in bars), default=-1) + 1)
    n_left = (k + 1) // 2
    depth = first_label + n_left
    figure = _figures.new_figure()
    _draw_axis(figure, k)
    for place, column in enumerate(order):
        on_left = place < n_left
        line = place if on_left else k - 1 - place
        _draw_method(figure, comparison, int(column), -(first_label + line), on_left, k)
    for start, end, row in bars:
        height = -(0.55 + _BAR_STEP * row)
        figure.add_shape(
            type="line",
            x0=start - 0.04,
            x1=end + 0.04,
            y0=height,
            y1=height,
            line={"width": 5, "color": _figures.RED},
        )
    top = 1.1
    if not np.isnan(comparison.critical_difference) and comparison.test == "friedman":
        top = 2.6
        _draw_critical_difference(figure, comparison.critical_difference, k)
    margin = 30 + _LETTER * max(len(_label(comparison, column)) for column in range(k))
    figure.update_xaxes(range=[0.9, k + 0.1], visible=False, fixedrange=True)
    figure.update_yaxes(range=[-depth, top], visible=False, fixedrange=True)
    figure.update_layout(
        height=int(_PIXELS_PER_STEP * (depth + top) + 30),
        margin={"l": margin, "r": margin, "t": 10, "b": 20},
        showlegend=False,
    )
    return figure


def _bar_rows(comparison: "MethodComparison") -> list[tuple[float, float, int]]:
    """Ends of each clique's bar, and the first row in which it overlaps no other."""
    rank = dict(zip(comparison.methods, comparison.mean_ranks, strict=True))
    ends_of_rows: list[float] = []
    bars = []
    for clique in comparison.cliques:
        start, end = rank[clique[0]], rank[clique[-1]]
        row = next((row for row, last in enumerate(ends_of_rows) if last < start - 0.15), len(ends_of_rows))
        ends_of_rows[row : row + 1] = [end]
        bars.append((float(start), float(end), row))
    return bars


def _label(comparison: "MethodComparison", column: int) -> str:
    return f"{comparison.methods[column]}  {comparison.mean_ranks[column]:.2f}"


def _draw_axis(figure: "go.Figure", k: int) -> None:
    from fewer import _figures

    line = {"width": 1.5, "color": _figures.GREY}
    figure.add_shape(type="line", x0=1, x1=k, y0=0, y1=0, line=line)
    for rank in range(1, k + 1):
        figure.add_shape(type="line", x0=rank, x1=rank, y0=0, y1=0.25, line=line)
        figure.add_annotation(x=rank, y=0.3, text=str(rank), showarrow=False, yanchor="bottom")


def _draw_method(
    figure: "go.Figure", comparison: "MethodComparison", column: int, height: float, on_left: bool, k: int
) -> None:
    import plotly.graph_objects as go

    from fewer import _figures

    rank, edge = float(comparison.mean_ranks[column]), 0.9 if on_left else k + 0.1
    name, label = comparison.methods[column], _label(comparison, column)
    figure.add_trace(
        go.Scatter(
            x=[rank, rank, edge],
            y=[0, height, height],
            mode="lines",
            line={"width": 1.2, "color": _figures.GREY},
            name=name,
            hovertemplate=f"{label}<extra></extra>",
        )
    )
    figure.add_annotation(
        x=edge,
        y=height,
        text=label,
        showarrow=False,
        xanchor="right" if on_left else "left",
        xshift=-4 if on_left else 4,
    )


def _draw_critical_difference(figure: "go.Figure", difference: float, k: int) -> None:
    from fewer import _figures

    start, end = 1.0, min(1 + difference, k)
    line = {"width": 1.5, "color": _figures.RED}
    figure.add_shape(type="line", x0=start, x1=end, y0=1.6, y1=1.6, line=line)
    for x in (start, end):
        figure.add_shape(type="line", x0=x, x1=x, y0=1.45, y1=1.75, line=line)
    figure.add_annotation(
        x=start, y=1.8, text=f"critical difference {difference:.2f}", showarrow=False, xanchor="left", yanchor="bottom"
    )
