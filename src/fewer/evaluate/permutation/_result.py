"""What a permutation test found: p-values, the null distribution behind them, how to read them; many tests at once.

Of k randomised data sets, c have an error no larger than the observed one, so ``p = (c + 1) / (k + 1)``: the data
themselves count as one of the draws, and p is never 0. A test that stops at its h-th hit, after l draws (Besag and
Clifford 1991), has ``p = h / l`` instead.

The false discovery rate of Benjamini and Hochberg: of m p-values, sorted ``p_(1) <= ... <= p_(m)``, reject the l
smallest, where l is the largest with ``p_(l) <= l q / m``. Among the rejected, the expected share of true nulls is then
at most q (for independent or positively dependent tests).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import NOT_KNOWN, FastRoute
from fewer._figures import Result
from fewer.evaluate.permutation._randomize import Null

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike

_WHAT_SMALL_MEANS = {
    "labels": "the estimator finds real structure that links the columns to the target",
    "features_within_class": "the classifier profits from dependence between the columns inside the classes",
    "columns": "the columns hang together, or with the target (this null joins both; prefer the other two)",
}
_WHAT_LARGE_MEANS = {
    "labels": "no evidence that the estimator finds any link between the columns and the target",
    "features_within_class": "no evidence that this classifier uses dependence between the columns "
    "(which may be there all the same)",
    "columns": "no evidence of structure that the estimator can use",
}

TIE = 1e-10
"""Errors nearer than this count as equal: means over folds of the same errors differ by rounding."""


def at_least_as_good(null: np.ndarray, observed: float, higher_is_better: bool) -> np.ndarray:
    """Which of the randomised data sets reach the observed error, or a better one."""
    slack = TIE * max(1.0, abs(observed))
    return null >= observed - slack if higher_is_better else null <= observed + slack


def stopping_times(null: np.ndarray, observed: np.ndarray, higher_is_better: bool, hits: int) -> np.ndarray:
    """For each observed value, the draw at which its ``hits``-th hit fell; 0 when it has not."""
    times = np.zeros(len(observed), dtype=int)
    for repeat, value in enumerate(observed):
        reached = np.flatnonzero(at_least_as_good(null, value, higher_is_better))
        if len(reached) >= hits:
            times[repeat] = reached[hits - 1] + 1
    return times


def p_values_of(null: np.ndarray, observed: np.ndarray, higher_is_better: bool, hits: int | None = None) -> np.ndarray:
    """One p-value for each observed value, against the same null values in the order in which they were drawn."""
    counts = np.array([at_least_as_good(null, value, higher_is_better).sum() for value in observed])
    p_values = (counts + 1) / (len(null) + 1)
    if hits is not None:
        times = stopping_times(null, observed, higher_is_better, hits)
        p_values = np.where(times > 0, hits / np.maximum(times, 1), p_values)
    return p_values


@dataclass(frozen=True, eq=False, repr=False)
class PermutationResult(Result):
    """Outcome of a permutation test; made by :func:`permutation_test`.

    Attributes
    ----------
    null : str
        What was permuted.
    scoring : str
        What was measured.
    observed : ndarray of shape (n_repeats,)
        Error on the data as they are, once for each repeat; with another scoring, the score.
    null_errors : ndarray of shape (n_permutations_used,)
        The same on each randomised data set, in the order in which they were drawn.
    p_values : ndarray of shape (n_repeats,)
        p-value of each repeat against the same randomised data sets.
    n_permutations : int
        How many were asked for.
    significance_level : float
        Significance level of the test.
    higher_is_better : bool
        False for errors, True for scores.
    stop_after : int or None
        Number of hits after which a sequential test stops.
    route : str
        How the randomised data sets were computed: ``"plain"``, or the name of what was shared.
    fast_route : FastRoute
        Whether a closed form took the place of fits, and which, or why not (``reason``).
    notes : tuple of str
        What a reader should know before quoting the p-value.
    """

    null: Null
    scoring: str
    observed: np.ndarray
    null_errors: np.ndarray
    p_values: np.ndarray
    n_permutations: int
    significance_level: float
    higher_is_better: bool = False
    stop_after: int | None = None
    route: str = "plain"
    notes: tuple[str, ...] = ()
    fast_route: FastRoute = NOT_KNOWN

    _data = (
        "null",
        "scoring",
        "p_value",
        "p_se",
        "p_values",
        "observed",
        "null_mean",
        "null_std",
        "null_errors",
        "n_permutations",
        "n_permutations_used",
        "significance_level",
        "notes",
    )

    @property
    def p_value(self) -> float:
        """Mean of ``p_values``."""
        return float(self.p_values.mean())

    @property
    def n_permutations_used(self) -> int:
        """How many randomised data sets were computed."""
        return len(self.null_errors)

    @property
    def stopped_early(self) -> bool:
        """Whether a sequential test had seen enough before the last permutation."""
        return self.stop_after is not None and self.n_permutations_used < self.n_permutations

    @property
    def p_se(self) -> float:
        """Standard error of the p-value that comes from drawing only some of all permutations."""
        p = self.p_value
        if self.stop_after is not None:
            times = stopping_times(self.null_errors, self.observed, self.higher_is_better, self.stop_after)
            if np.all(times > 0):
                return float(p * np.sqrt(max(1 - p, 0) / self.stop_after))
        return float(np.sqrt(p * max(1 - p, 0) / self.n_permutations_used))

    @property
    def null_mean(self) -> float:
        """Mean error on the randomised data sets."""
        return float(self.null_errors.mean())

    @property
    def null_std(self) -> float:
        """Standard deviation of the error on the randomised data sets."""
        return float(self.null_errors.std())

    def decision(self, significance_level: float | None = None) -> bool:
        """Whether the null hypothesis is rejected.

        Parameters
        ----------
        significance_level : float, default=None
            Significance level; that of the test by default.

        Returns
        -------
        rejected : bool
            True when ``p_value <= significance_level``.
        """
        return self.p_value <= (self.significance_level if significance_level is None else significance_level)

    @property
    def reading(self) -> str:
        """How to read the p-value, in one sentence."""
        meaning = _WHAT_SMALL_MEANS if self.decision() else _WHAT_LARGE_MEANS
        return f"p = {self.p_value:.3g}: {meaning[self.null]}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return super().to_dict() | {"rejected": self.decision()}

    def __repr__(self) -> str:
        repeats = f" ({len(self.observed)} repeats)" if len(self.observed) > 1 else ""
        early = f" of {self.n_permutations:,} (stopped early)" if self.stopped_early else ""
        lines = [
            f"PermutationResult: null {self.null!r}, {self.scoring}",
            f"  observed {self.observed.mean():.4g}{repeats}, under the null {self.null_mean:.4g} +- "
            f"{self.null_std:.2g} over {self.n_permutations_used:,}{early} permutations",
            f"  p = {self.p_value:.4g} +- {self.p_se:.2g}: {'rejected' if self.decision() else 'not rejected'} at "
            f"{self.significance_level:g}",
        ]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def plot(self) -> "go.Figure":
        """Histogram of the errors under the null, with the observed one marked.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            One bar for each range of errors; a line at the observed error, and a band over its repeats.
        """
        import plotly.graph_objects as go

        from fewer._figures import BLUE, GREY, RED, new_figure, translucent

        figure = new_figure(title=self.reading, x=self.scoring, y="randomised data sets")
        counts, edges = _histogram(self.null_errors)
        figure.add_trace(
            go.Bar(
                x=(edges[:-1] + edges[1:]) / 2,
                y=counts,
                width=np.diff(edges),
                name="under the null",
                marker={"color": translucent(BLUE, 0.55), "line": {"color": BLUE, "width": 1}},
                hovertemplate="%{y} data sets near %{x:.3f}<extra></extra>",
            )
        )
        top = float(counts.max(initial=1)) * 1.05
        low, high, mean = self.observed.min(), self.observed.max(), float(self.observed.mean())
        if high > low:
            repeats = {"name": f"its {len(self.observed)} repeats", "showlegend": True}
            figure.add_vrect(x0=low, x1=high, fillcolor=translucent(RED, 0.2), line_width=0, **repeats)
        for name, at, colour, dash in (
            ("observed", mean, RED, "solid"),
            ("mean under the null", self.null_mean, GREY, "dot"),
        ):
            figure.add_trace(
                go.Scatter(
                    x=[at, at],
                    y=[0, top],
                    mode="lines",
                    name=f"{name} {at:.3g}",
                    line={"color": colour, "width": 2, "dash": dash},
                    hovertemplate=f"{name} {at:.4g}<extra></extra>",
                )
            )
        figure.update_layout(bargap=0)
        return figure


def _histogram(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and edges; errors of a small table take few values, and each of them gets its own bar."""
    levels = np.unique(np.round(values, 9))
    if len(levels) == 1:
        return np.array([len(values)]), levels[0] + np.array([-0.005, 0.005])
    if len(levels) <= 40:
        step = float(np.diff(levels).min())
        n_bars = round((levels[-1] - levels[0]) / step) + 1
        if n_bars <= 60:
            return np.histogram(values, bins=levels[0] + step * (np.arange(n_bars + 1) - 0.5))
    return np.histogram(values, bins=min(40, max(10, round(np.sqrt(len(values))))))


def permutation_verdict(
    label_test: PermutationResult,
    feature_test: PermutationResult | None = None,
    *,
    significance_level: float | None = None,
) -> str:
    """How to read two tests of the same classifier together, in a sentence.

    The test of feature use (null ``"features_within_class"``) means something only after the test of class signal (null
    ``"labels"``) has rejected.

    Parameters
    ----------
    label_test : PermutationResult
        Result with ``null="labels"``.
    feature_test : PermutationResult or None, default=None
        Result with ``null="features_within_class"``; not needed when the first test does not reject.
    significance_level : float, default=None
        Significance level for both; by default each test's own.

    Returns
    -------
    verdict : str
        Starts with "no class signal", "exploits interactions" or "no evidence of interactions".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewer.evaluate import permutation_test, permutation_verdict
    >>> X, y = load_iris(return_X_y=True)
    >>> tests = [
    ...     permutation_test(GaussianNB(), X, y, null=null, cv=3, n_permutations=99, n_repeats=1, random_state=0)
    ...     for null in ("labels", "features_within_class")
    ... ]
    >>> print(permutation_verdict(*tests))
    no evidence of interactions: consider a simpler model (labels p = 0.01, features within class p = 1).
    """
    for given, wanted in ((label_test, "labels"), (feature_test, "features_within_class")):
        if given is not None and given.null != wanted:
            raise ValueError(f"the verdict needs a test with null={wanted!r} here, not {given.null!r}.")
    first = f"labels p = {label_test.p_value:.2g}"
    if not label_test.decision(significance_level):
        return f"no class signal: nothing to explain by interactions ({first})."
    if feature_test is None:
        return f'class signal found ({first}): run null="features_within_class" to see whether interactions matter.'
    both = f"{first}, features within class p = {feature_test.p_value:.2g}"
    if feature_test.decision(significance_level):
        return f"exploits interactions: the classifier gains from dependence between features ({both})."
    return f"no evidence of interactions: consider a simpler model ({both})."


@dataclass(frozen=True, eq=False)
class Discoveries(Result):
    """Which of many null hypotheses are rejected; made by :func:`benjamini_hochberg`.

    Attributes
    ----------
    rejected : ndarray of bool
        Whether each null hypothesis is rejected, in the order and shape of the p-values.
    adjusted : ndarray of float
        Smallest false discovery rate at which it would be.
    threshold : float
        Largest p-value that is rejected; 0 when none is.
    false_discovery_rate : float
        The false discovery rate that was asked for.
    """

    rejected: np.ndarray
    adjusted: np.ndarray
    threshold: float
    false_discovery_rate: float

    @property
    def n_rejected(self) -> int:
        """How many are rejected."""
        return int(self.rejected.sum())

    def __repr__(self) -> str:
        return (
            f"Discoveries: {self.n_rejected} of {self.rejected.size} rejected at a false discovery rate of "
            f"{self.false_discovery_rate:g} (p <= {self.threshold:.4g})"
        )


def benjamini_hochberg(p_values: "ArrayLike", false_discovery_rate: float = 0.05) -> Discoveries:
    """Reject null hypotheses so that at most a share ``false_discovery_rate`` of the rejections is
    false, on average.

    Parameters
    ----------
    p_values : array-like
        p-values of one family of tests, of any shape.
    false_discovery_rate : float, default=0.05
        False discovery rate.

    Returns
    -------
    discoveries : Discoveries
        ``rejected`` and ``adjusted`` have the shape of ``p_values``.

    Examples
    --------
    >>> from fewer.evaluate import benjamini_hochberg
    >>> found = benjamini_hochberg([0.01, 0.8, 0.04, 0.02])
    >>> found
    Discoveries: 2 of 4 rejected at a false discovery rate of 0.05 (p <= 0.02)
    >>> found.rejected
    array([ True, False, False,  True])
    """
    p_values = np.asarray(p_values, dtype=float)
    if p_values.size and not (np.min(p_values) >= 0 and np.max(p_values) <= 1):  # also false for NaN
        raise ValueError("p-values must lie between 0 and 1, and none may be missing.")
    if not 0 < false_discovery_rate < 1:
        raise ValueError(f"false_discovery_rate must lie between 0 and 1, not {false_discovery_rate}.")
    from scipy.stats import false_discovery_control

    flat = np.sort(p_values, axis=None)
    below = flat[flat <= np.arange(1, flat.size + 1) * false_discovery_rate / max(flat.size, 1)]
    threshold = float(below[-1]) if below.size else 0.0
    rejected = (p_values <= threshold) & bool(below.size)
    adjusted = false_discovery_control(p_values.ravel()).reshape(p_values.shape) if p_values.size else p_values
    return Discoveries(rejected, adjusted, threshold, false_discovery_rate)
