"""How well repeated selections of columns agree.

For M selections of p columns, with ``h_j`` the share of selections that have column j, k the mean number of columns
chosen, and ``q = k / p``, Nogueira's index is

    Phi = 1 - mean_j( M / (M - 1) h_j (1 - h_j) ) / ( q (1 - q) ):

1 when all selections are equal, never below ``-1 / (M - 1)``, and ``-V / ((M - 1) q (1 - q))`` on average when they are
drawn at random, with V the variance of their sizes divided by p: 0 for equal sizes, and soon for any. With equal
sizes it is Kuncheva's index. Jaccard's is the mean over pairs of ``|A and B| / |A or B|``, which chance raises.

The variance is the jackknife's, from the index without each selection in turn:

    phi_i = M Phi - (M - 1) Phi_without_i,    var Phi = sum_i (phi_i - mean phi)^2 / (M (M - 1)).

For many selections it is the paper's; for few, the paper's is far too small. Selections come in any form and become one
boolean matrix with a row for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from fewer._figures import Result, plain
from fewer.catalogue import method

if TYPE_CHECKING:
    import plotly.graph_objects as go


def support_matrix(supports: Any, n_features: int | None, feature_names: Sequence[Any] | None) -> np.ndarray:
    """Boolean matrix (selections x columns) from masks, or from sets of column numbers or names."""
    names = None if feature_names is None else list(feature_names)
    if names is not None and n_features is not None and len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names and n_features is {n_features}; give one of them.")
    if names is not None and len(set(names)) != len(names):
        raise ValueError("feature_names has a name twice, so that a selection by name is not clear.")
    width = n_features if names is None else len(names)
    masks = _masks(supports)
    if masks is None:
        if width is None:
            raise ValueError(
                "Sets of columns do not contain the number of columns to choose from; give n_features or feature_names."
            )
        masks = _masks_from_sets(list(supports), width, names)
    elif width is not None and masks.shape[1] != width:
        raise ValueError(f"supports has {masks.shape[1]} columns, not the {width} that were given.")
    if masks.shape[0] < 2:
        raise ValueError(
            f"There is {masks.shape[0]} selection; stability is about how selections agree, so give two or more, for "
            "example from bootstrap samples of the rows."
        )
    if masks.shape[1] < 1:
        raise ValueError("supports has no columns.")
    return masks


def _masks(supports: Any) -> np.ndarray | None:
    """The boolean matrix, when masks were given; None for sets of columns."""
    if hasattr(supports, "toarray"):
        supports = supports.toarray()
    if isinstance(supports, np.ndarray) and supports.ndim == 3:
        supports = supports.reshape(-1, supports.shape[2])
    is_table = hasattr(supports, "to_numpy") or (isinstance(supports, np.ndarray) and supports.ndim == 2)
    if not is_table:
        supports = list(supports)
        if not supports or not all(_is_mask(one) for one in supports):
            return None
        widths = {len(one) for one in supports}
        if len(widths) > 1:
            raise ValueError(f"The masks have different lengths ({', '.join(map(str, sorted(widths)))}).")
    matrix = np.asarray(supports)
    if matrix.ndim != 2 or (matrix.dtype != bool and not np.isin(matrix, (0, 1)).all()):
        raise ValueError(
            "A matrix of selections must have a row for each selection, with True or 1 for a column chosen."
        )
    return matrix.astype(bool)


def _is_mask(one: Any) -> bool:
    if hasattr(one, "dtype"):
        return one.dtype == bool
    return isinstance(one, (list, tuple)) and len(one) > 0 and all(isinstance(entry, bool) for entry in one)


def _masks_from_sets(sets: list[Any], width: int, names: list[Any] | None) -> np.ndarray:
    position = None if names is None else {name: number for number, name in enumerate(names)}
    masks = np.zeros((len(sets), width), dtype=bool)
    for row, chosen in enumerate(sets):
        if isinstance(chosen, str) or not hasattr(chosen, "__iter__"):
            raise ValueError(f"Selection {row} is {chosen!r}; each selection must be a mask or a set of columns.")
        if isinstance(chosen, list | tuple) and len(set(chosen)) < len(chosen):
            raise ValueError(
                f"Selection {row} names a column twice. If it is a mask of zeros and ones, pass all masks as one array."
            )
        for column in chosen:
            masks[row, _column_number(column, width, position, row)] = True
    return masks


def _column_number(column: Any, width: int, position: dict[Any, int] | None, row: int) -> int:
    if position is not None and column in position:
        return position[column]
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < width:
        return int(column)
    known = "feature_names" if position is not None else f"the columns 0 to {width - 1}"
    raise ValueError(f"Selection {row} has the column {column!r}, which is not among {known}.")


Index = Literal["nogueira", "jaccard", "kuncheva"]


def nogueira_index(chosen: np.ndarray) -> tuple[float, np.ndarray]:
    """Nogueira's index, and without each selection in turn; NaN when all columns or none are chosen."""
    n_selections = len(chosen)
    counts = chosen.sum(axis=0)
    value = _nogueira_of_counts(counts, n_selections)
    if n_selections < 3 or np.isnan(value):
        return value, np.full(n_selections, np.nan)
    return value, np.array([_nogueira_of_counts(counts - one, n_selections - 1) for one in chosen])


def _nogueira_of_counts(counts: np.ndarray, n_selections: int) -> float:
    """Nogueira's index from how often each column was chosen."""
    shares = counts / n_selections
    q = float(shares.mean())
    if q in (0.0, 1.0):
        return np.nan
    return 1 - n_selections / (n_selections - 1) * float(np.mean(shares * (1 - shares))) / (q * (1 - q))


def jaccard_index(chosen: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean Jaccard index over pairs, and without each selection in turn. Two empty selections agree fully."""
    n_selections = len(chosen)
    counts = chosen.astype(float)
    common, sizes = counts @ counts.T, counts.sum(axis=1)
    union = sizes[:, None] + sizes - common
    pairs = np.divide(common, union, out=np.ones_like(common), where=union > 0)
    means = (pairs.sum(axis=1) - 1) / (n_selections - 1)
    value = float(means.mean())
    if n_selections < 3:
        return value, np.full(n_selections, np.nan)
    return value, (n_selections * value - 2 * means) / (n_selections - 2)


def chance_jaccard(chosen: np.ndarray) -> float:
    """About what Jaccard's index is for random selections of these sizes."""
    sizes = chosen.sum(axis=1).astype(float)
    common = np.outer(sizes, sizes) / chosen.shape[1]
    union = sizes[:, None] + sizes - common
    pairs = np.divide(common, union, out=np.ones_like(common), where=union > 0)
    return float((pairs.sum() - np.trace(pairs)) / (len(sizes) * (len(sizes) - 1)))


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Result):
    """How well selections agree; made by :func:`selection_stability`.

    Attributes
    ----------
    value : float
        The index; NaN when every selection has all columns or none, because then nothing was selected.
    variance : float
        Its estimated variance over draws of the selections; NaN with two selections, which are too few.
    interval : tuple of float
        Confidence interval at ``confidence_level``, within the bounds of the index; NaN with two selections.
    confidence_level : float
        Confidence level of the interval.
    index : str
        Which index it is.
    frequencies : ndarray of shape (n_features,)
        Share of the selections that have each column.
    sizes : ndarray of shape (n_selections,)
        Columns in each selection.
    chance : float
        The index of random selections of these sizes, on average: 0, but not for Jaccard's.
    feature_names : tuple
        Names of the columns, or their numbers.
    """

    value: float
    variance: float
    interval: tuple[float, float]
    confidence_level: float
    index: str
    frequencies: np.ndarray
    sizes: np.ndarray
    chance: float
    feature_names: tuple[Any, ...]
    contributions: np.ndarray

    _data = ("index", "value", "variance", "interval", "confidence_level", "chance", "n_selections", "sizes", "reading")

    @property
    def n_selections(self) -> int:
        """How many selections were compared."""
        return len(self.sizes)

    @property
    def reading(self) -> str:
        """How to read the value, in words."""
        if np.isnan(self.value):
            what = "all columns" if self.frequencies.all() else "no column"
            return f"Every selection has {what}, so nothing was selected and stability is not defined."
        low, high = self.interval
        if np.isnan(low):
            return f"Stability {self.value:.2f}; {self.n_selections} selections are too few for an interval."
        value = f"{self.value:.2f} ({low:.2f} to {high:.2f})"
        if self.index == "jaccard":
            return (
                f"Two selections share {self.value:.0%} of their columns on average ({low:.0%} to {high:.0%}); about "
                f"{self.chance:.0%} would be shared by chance. Jaccard's index is not corrected for chance."
            )
        if low <= 0:
            return f"Stability {value}: the selections do not agree significantly better than random ones."
        if self.value < 0.4:
            grade = "poor: other rows would give a largely different selection"
        elif self.value < 0.75:
            grade = "fair: a core of columns comes back, the rest changes with the rows"
        else:
            grade = "excellent: much the same columns come back whatever the rows"
        return f"Stability {value}, {grade}."

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Stability: {self.value:.3f} ({low:.3f} to {high:.3f} at {self.confidence_level:.0%}), "
            f"{self.index} index\n"
            f"  {self.n_selections} selections, on average {self.sizes.mean():.3g} of {len(self.frequencies):,} columns"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return super().to_dict() | {"frequencies": plain(dict(zip(self.feature_names, self.frequencies, strict=True)))}

    def plot(self, n_features: int = 50) -> "go.Figure":
        """How often each column was chosen, most often first, against what chance would do.

        Parameters
        ----------
        n_features : int, default=50
            Columns shown at most.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        return frequency_figure(self, n_features)


@method(
    tasks=["evaluation"],
    when="You selected columns several times, on bootstrap samples or folds, and want to know whether the selections "
    "agree better than chance, and which columns come back.",
    cost="O(M p) for M selections; O(M^2 p) for Jaccard's index",
    handles=["sparse"],
)
def selection_stability(
    supports: Any,
    *,
    index: Index = "nogueira",
    confidence_level: float = 0.95,
    n_features: int | None = None,
    feature_names: Sequence[Any] | None = None,
) -> Stability:
    """How well repeated selections of columns agree, beyond chance.

    Parameters
    ----------
    supports : {array-like, sparse matrix} of shape (n_selections, n_features) or sequence of sets
        A mask for each selection, or the numbers or names of the columns that each one chose. The masks of
        :meth:`SelectionCurve.supports`, repeats x folds x columns, are taken one after the other. A frame brings the
        names of its columns.
    index : {"nogueira", "jaccard", "kuncheva"}, default="nogueira"
        Nogueira's index is corrected for chance and takes selections of any size. Kuncheva's is the same for
        selections of one size, and refuses others. Jaccard's is the share of columns that two selections have in
        common, which chance raises.
    confidence_level : float, default=0.95
        Confidence level of the interval.
    n_features : int, default=None
        Columns that there were to choose from; needed for sets of column numbers.
    feature_names : sequence, default=None
        Their names; needed for sets of names.

    Returns
    -------
    stability : Stability
        The index with its variance and interval, how often each column was chosen, and a reading in words. It
        plots itself.

    See Also
    --------
    stability_difference : Whether one method selects more stably than another.

    Notes
    -----
    The interval is Student's, with the jackknife's variance. It holds for selections drawn independently of each
    other: at 95% it covers in 92% to 99% of cases, from 3 selections on. Those from bootstrap samples of one table are
    independent given the table: the interval is then for this table, not for others like it. Folds of one
    cross-validation overlap, and their interval is too narrow. The words of the reading change at 0.4 and 0.75, as is
    usual for agreement beyond chance.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. & Brown, G. (2018). On the stability of feature selection algorithms. Journal of
       Machine Learning Research 18 (174), 1-54.

    Examples
    --------
    >>> from fewer.evaluate import selection_stability
    >>> selections = [{"age", "dose"}, {"age", "dose"}, {"age", "weight"}, {"age", "dose", "weight"}]
    >>> names = ["age", "dose", "weight", "height", "shoe size", "hair"]
    >>> stability = selection_stability(selections, feature_names=names)
    >>> round(stability.value, 3)
    0.585
    >>> stability.frequencies[:3]
    array([1.  , 0.75, 0.5 ])
    """
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level={confidence_level} must lie between 0 and 1.")
    if feature_names is None and hasattr(supports, "to_numpy") and all(isinstance(n, str) for n in supports.columns):
        feature_names = list(supports.columns)
    chosen = support_matrix(supports, n_features, feature_names)
    names = tuple(range(chosen.shape[1])) if feature_names is None else tuple(feature_names)
    n_selections, sizes = len(chosen), chosen.sum(axis=1)
    chance, lowest = 0.0, -1 / (n_selections - 1)
    if index == "jaccard":
        value, without = jaccard_index(chosen)
        chance, lowest = chance_jaccard(chosen), 0.0
    elif index in ("nogueira", "kuncheva"):
        if index == "kuncheva" and len(set(sizes.tolist())) > 1:
            raise ValueError(
                f"Kuncheva's index is for selections of one size; these have {sizes.min()} to {sizes.max()} columns. "
                "Use index='nogueira', which is the same for equal sizes."
            )
        value, without = nogueira_index(chosen)
    else:
        raise ValueError(f"index={index!r} is not known; choose 'nogueira', 'jaccard' or 'kuncheva'.")
    contributions = n_selections * value - (n_selections - 1) * without
    variance = _variance_of_mean(contributions)
    width = stdtrit(n_selections - 1, (1 + confidence_level) / 2) * np.sqrt(variance)
    return Stability(
        value=value,
        variance=variance,
        interval=(float(np.maximum(value - width, lowest)), float(np.minimum(value + width, 1.0))),
        confidence_level=confidence_level,
        index=index,
        frequencies=chosen.mean(axis=0),
        sizes=sizes,
        chance=chance,
        feature_names=names,
        contributions=contributions,
    )


@dataclass(frozen=True, repr=False)
class StabilityDifference(Result):
    """Difference of two stabilities; made by :func:`stability_difference`.

    Attributes
    ----------
    difference : float
        First minus second.
    interval : tuple of float
        Its confidence interval.
    statistic : float
        Difference over its standard error, distributed as Student's t when there is none.
    p_value : float
        Of the two-sided test that both are equally stable.
    """

    difference: float
    interval: tuple[float, float]
    statistic: float
    p_value: float

    def __repr__(self) -> str:
        low, high = self.interval
        return f"StabilityDifference: {self.difference:+.3f} ({low:+.3f} to {high:+.3f}), p = {self.p_value:.3g}"


def stability_difference(
    first: Stability, second: Stability, *, paired: bool = False, confidence_level: float = 0.95
) -> StabilityDifference:
    """Test whether one method selects more stably than another.

    Parameters
    ----------
    first, second : Stability
        By the same index, Nogueira's or Kuncheva's.
    paired : bool, default=False
        Whether the i-th selections of both come from the same rows; the difference is then known more exactly.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    difference : StabilityDifference
        With Student's test, of Welch's form when the selections are not paired. Each needs three or more of them.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import selection_stability, stability_difference
    >>> rng = np.random.default_rng(0)
    >>> firm = rng.random((50, 20)) < np.repeat([0.9, 0.05], [5, 15])
    >>> loose = rng.random((50, 20)) < np.repeat([0.6, 0.15], [5, 15])
    >>> found = stability_difference(selection_stability(firm), selection_stability(loose))
    >>> found.difference > 0.3 and found.p_value < 1e-6
    True
    """
    for given in (first, second):
        if not isinstance(given, Stability):
            raise TypeError(f"{given!r} is no result of selection_stability.")
    corrected = {"nogueira", "kuncheva"}
    if not {first.index, second.index} <= corrected:
        raise ValueError(
            "The test is for the indices 'nogueira' and 'kuncheva'; Jaccard's is not corrected for chance."
        )
    if np.isnan(first.value) or np.isnan(second.value):
        raise ValueError("One of the stabilities is not defined, because all columns or none were chosen.")
    if paired and first.n_selections != second.n_selections:
        raise ValueError(
            f"Paired selections must be as many: {first.n_selections} and {second.n_selections} are given."
        )
    if np.isnan(first.variance) or np.isnan(second.variance):
        raise ValueError(
            "Two selections are too few to estimate the variance of their stability; three or more are needed."
        )
    difference = first.value - second.value
    if paired:
        variance = _variance_of_mean(first.contributions - second.contributions)
        freedom = first.n_selections - 1.0
    else:
        variance = first.variance + second.variance
        freedom = _welch_freedom(first, second)
    error = np.sqrt(variance)
    if error > 0:
        statistic = float(difference / error)
    else:  # neither varies: they differ for sure, or not at all
        statistic = float(np.sign(difference) * np.inf) if difference else 0.0
    width = stdtrit(freedom, (1 + confidence_level) / 2) * error
    return StabilityDifference(
        difference=difference,
        interval=(float(difference - width), float(difference + width)),
        statistic=statistic,
        p_value=float(2 * stdtr(freedom, -abs(statistic))),
    )


def _variance_of_mean(values: np.ndarray) -> float:
    return float(np.sum((values - values.mean()) ** 2) / (len(values) * (len(values) - 1)))


def _welch_freedom(first: Stability, second: Stability) -> float:
    """Degrees of freedom of a difference of two means that vary differently."""
    parts = [one.variance**2 / (one.n_selections - 1) for one in (first, second)]
    smallest = min(first.n_selections, second.n_selections) - 1.0
    return (first.variance + second.variance) ** 2 / sum(parts) if sum(parts) > 0 else smallest


def frequency_figure(stability: "Stability", n_features: int) -> "go.Figure":
    """Bars of the selection frequencies, most often first."""
    import plotly.graph_objects as go

    from fewer import _figures

    frequencies = stability.frequencies
    ever = int((frequencies > 0).sum())
    shown = np.argsort(-frequencies, kind="stable")[: max(1, min(n_features, ever))]
    rest = ever - len(shown)
    hidden = f" ({rest:,} more not shown)" if rest > 0 else ""
    never = f"; {len(frequencies) - ever:,} never chosen" if 0 < ever < len(frequencies) else ""
    names = [str(stability.feature_names[column]) for column in shown]
    positions = np.arange(len(shown))
    share = float(frequencies.mean())
    limit = chance_limit(stability)
    figure = _figures.new_figure(
        title=f"Stability {stability.value:.2f}"
        + ("" if np.isnan(stability.interval[0]) else " ({:.2f} to {:.2f})".format(*stability.interval)),
        x=f"columns, most often chosen first{hidden}{never}",
        y="share of selections",
    )
    figure.add_trace(
        go.Bar(
            x=positions,
            y=frequencies[shown],
            marker_color=[
                _figures.BLUE if f > limit else _figures.translucent(_figures.BLUE, 0.4) for f in frequencies[shown]
            ],
            customdata=names,
            hovertemplate="%{customdata}: %{y:.0%}<extra></extra>",
            showlegend=False,
        )
    )
    ends = [-0.5, len(shown) - 0.5]
    figure.add_trace(
        _figures.line(f"chance, on average {share:.0%}", ends, [share] * 2, _figures.GREY, line_dash="dot")
    )
    figure.add_trace(
        _figures.line(
            f"one random column in 20 at most passes {limit:.0%}", ends, [limit] * 2, _figures.RED, line_dash="dash"
        )
    )
    named = len(shown) <= 40
    figure.update_xaxes(
        range=ends,
        tickvals=positions if named else [],
        ticktext=names,
        tickangle=-45 if len(shown) > 8 else 0,
    )
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_layout(bargap=0.15)
    if named:  # the names stand between the axis and the legend
        long = max(map(len, names)) > 3
        figure.update_layout(legend={"y": -0.6 if long else -0.32}, height=520 if long else 400)
    return figure


def chance_limit(stability: "Stability") -> float:
    """Share of selections that a column chosen at random passes with a probability of at most 5%."""
    from scipy.stats import binom

    n_selections = stability.n_selections
    return float(binom.ppf(0.95, n_selections, stability.frequencies.mean()) / n_selections)
