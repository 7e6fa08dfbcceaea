"""The decision of a study: which candidate with how many columns, and the claim about it.

A *cell* is a candidate with a number of columns; ``x[r, k, c]`` is its score on fold k of repeat r, ``x0`` that of the
baseline. On some folds, with means ``m_c`` and ``m_0`` and the best cell b, the rule takes of all cells with

    m_b - m_c <= parsimony min(G, 2 E, D / 5)

the one that needs the fewest columns, and of those the one with the best mean. ``G = m_b - m_0`` is the gain. ``E`` is
what the best cell lacks to the best score there is, with n rows at least 3 / n of a score that ends at 1, because fewer
errors cannot be told from none. ``D`` is 1 for scores that end at 1, such as accuracy and R2, and the error of the
baseline for those that end at 0, so that squared errors choose as R2 does. For other scores the limit is
``parsimony G``. A share of the gain alone would be many times the error where the best cell errs little, and several
points where it gains much. With ``parsimony="one_se"`` the rule is that of one standard error within the winner: of the
candidate with the best mean, the fewest columns within one standard error of it.

Cross-indexing (Reunanen 2006) applies the rule to the other folds of a repeat and reads the score on the fold
that is left: the estimate belongs to the rule, and so to the cell that the rule takes on all folds, which is what the
user gets.

The claim compares ``few`` (the rule) with ``all`` (the best learner with all columns, chosen likewise), fold by fold:

- *better*: the lower confidence limit of ``few - all`` is above zero;
- *not worse*: that of ``few - (1 - margin) all - margin x0`` is, so that no more than the margin of what all columns
  gain over the baseline is lost;
- *not shown*: neither.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from fewer.evaluate import corrected_interval
from fewer.study.plan._plan import Parsimony

Outcome = Literal["better", "not worse", "not shown"]

# Probability with which the rows that are said to be needed show that fewer columns are not worse.
POWER = 0.8
# Within so many of its standard errors over draws of the folds, a limit may well be on the other side of zero.
CLOSE_ERRORS = 1.5
# So many times the parsimony is the share of the remaining error that may be added for fewer columns.
ERROR_SHARE = 2
# The parsimony over this is the largest loss: 0.02 of accuracy or R2 with the default of 0.1.
POINTS = 5
# What float arithmetic leaves of a tie must not break it.
_DIGITS = 10


@dataclass(frozen=True, eq=False)
class Cells:
    """All candidates with all their numbers of columns.

    Attributes
    ----------
    candidates : ndarray of shape (n_cells,)
        Number of the candidate in the plan.
    sizes : ndarray of shape (n_cells,)
        Columns that the learner gets.
    needed : ndarray of shape (n_cells,)
        Columns of the table that they are made of: all of them for new columns.
    scores : ndarray of shape (n_repeats, n_folds, n_cells)
        Held-out scores.
    """

    candidates: np.ndarray
    sizes: np.ndarray
    needed: np.ndarray
    scores: np.ndarray

    def chosen(self, scores: np.ndarray, baseline: np.ndarray, rule: "Rule") -> int:
        """The cell that the rule takes on some folds, from scores (n_folds, n_cells) and baselines (n_folds,)."""
        means = np.round(scores.mean(axis=0), _DIGITS)
        best = int(np.argmax(means))
        if rule.parsimony == "one_se":
            error = 0.0 if len(scores) < 2 else scores[:, best].std(ddof=1) / np.sqrt(len(scores))
            good = (self.candidates == self.candidates[best]) & (means >= np.round(means[best] - error, _DIGITS))
            return self._fewest(good, means)
        given_up = rule.given_up(float(means[best]), float(baseline.mean()))
        good = np.round(means[best] - means, _DIGITS) <= np.round(given_up, _DIGITS)
        good[best] = True
        return self._fewest(good, means)

    def _fewest(self, good: np.ndarray, means: np.ndarray) -> int:
        """Of the good cells, the one with the fewest columns; of those, the one with the best mean."""
        needed, sizes = np.where(good, self.needed, np.inf), np.where(good, self.sizes, np.inf)
        return int(np.lexsort((-means, sizes, needed))[0])


class Rule(NamedTuple):
    """How much of the best mean score may be given up for fewer columns.

    ``best_possible`` is the highest value of the score, and ``least_error`` the smallest distance from it that the rows
    can tell from nothing.
    """

    parsimony: Parsimony
    best_possible: float = np.inf
    least_error: float = 0.0

    def given_up(self, best: float, baseline: float) -> float:
        """What may be lost to the best mean score."""
        assert self.parsimony != "one_se"
        gain = max(best - baseline, 0.0)
        if not np.isfinite(self.best_possible):
            return self.parsimony * gain
        error = max(self.best_possible - best, self.least_error)
        whole = 1.0 if self.best_possible == 1 else self.best_possible - baseline
        return self.parsimony * min(gain, ERROR_SHARE * error, whole / POINTS)


def means_of_others(scores: np.ndarray) -> np.ndarray:
    """Means over the other folds of the same repeat; folds are the second axis."""
    return (scores.sum(axis=1, keepdims=True) - scores) / (scores.shape[1] - 1)


class Choice(NamedTuple):
    """What the rule takes on all folds, and on the folds other than each; the scores there belong to the latter."""

    cell: int
    by_fold: np.ndarray
    fold_scores: np.ndarray


def choose(cells: Cells, baseline: np.ndarray, rule: Rule) -> Choice:
    """The rule on all folds, and cross-indexed; ``baseline`` has shape (n_repeats, n_folds)."""
    n_repeats, n_folds, n_cells = cells.scores.shape
    whole = cells.chosen(cells.scores.reshape(-1, n_cells), baseline.ravel(), rule)
    others = ~np.eye(n_folds, dtype=bool)
    by_fold = np.array(
        [
            [
                cells.chosen(cells.scores[repeat, others[fold]], baseline[repeat, others[fold]], rule)
                for fold in range(n_folds)
            ]
            for repeat in range(n_repeats)
        ]
    )
    return Choice(whole, by_fold, np.take_along_axis(cells.scores, by_fold[..., None], axis=2)[..., 0])


@dataclass(frozen=True)
class Claim:
    """The claim about fewer columns.

    Attributes
    ----------
    outcome : {"better", "not worse", "not shown"}
        The claim.
    difference : float
        Mean of ``few - all``.
    interval : tuple of two floats
        Its confidence interval.
    above_margin : float
        Mean of ``few - (1 - margin) all - margin baseline``.
    above_margin_interval : tuple of two floats
        Its confidence interval.
    limit_errors : tuple of two floats
        Standard errors over draws of the folds of the two lower limits.
    rows_needed : int or None
        Rows with which the outcome is *not worse* with a power of 80%, if the true difference and the standard
        deviations are the observed ones; None where it is shown already, or where no number of rows would do.
    """

    outcome: Outcome
    difference: float
    interval: tuple[float, float]
    above_margin: float
    above_margin_interval: tuple[float, float]
    limit_errors: tuple[float, float]
    rows_needed: int | None

    @property
    def is_close(self) -> bool:
        """Whether other folds of the same rows may well give another outcome.

        That is, whether a lower limit that decides is near zero, above or below; where fewer are better, the second one
        does not decide.
        """
        limits = (self.interval[0], self.above_margin_interval[0])[: 1 if self.outcome == "better" else 2]
        near = [abs(limit) < CLOSE_ERRORS * error for limit, error in zip(limits, self.limit_errors, strict=False)]
        return any(near)


def claim(
    few: np.ndarray,
    everything: np.ndarray,
    baseline: np.ndarray,
    *,
    margin: float,
    confidence: float,
    test_ratio: float,
    n_rows: int,
) -> Claim:
    """Compare scores of shape (n_repeats, n_folds) on the same folds.

    Examples
    --------
    >>> import numpy as np
    >>> everything, baseline = np.full((1, 5), 0.9), np.full((1, 5), 0.5)
    >>> few = np.array([[0.89, 0.90, 0.88, 0.89, 0.90]])
    >>> claim(few, everything, baseline, margin=0.1, confidence=0.95, test_ratio=0.25, n_rows=200).outcome
    'not worse'
    """
    from scipy.special import ndtri, stdtrit

    difference = few - everything
    interval = corrected_interval(difference, confidence, test_ratio)
    above = few - (1 - margin) * everything - margin * baseline
    above_interval = corrected_interval(above, confidence, test_ratio)
    gains = float((few - baseline).mean()) > 0
    outcome: Outcome = "not shown"
    if interval[0] > 0 and gains:
        outcome = "better"
    elif above_interval[0] > 0 and gains:
        outcome = "not worse"
    rows_needed = None
    middle = float(above.mean())
    if outcome == "not shown" and middle > 0:
        # Standard errors shrink with the root of the rows. The mean must lie above zero by the reach of the interval
        # for a power of one half, and by a quantile of its own error more for POWER.
        reach = middle - above_interval[0]
        more = ndtri(POWER) / stdtrit(few.shape[-1] - 1, (1 + confidence) / 2)
        rows_needed = int(np.ceil(n_rows * ((1 + more) * reach / middle) ** 2))
    errors = limit_error(difference, confidence, test_ratio), limit_error(above, confidence, test_ratio)
    return Claim(outcome, float(difference.mean()), interval, middle, above_interval, errors, rows_needed)


def limit_error(differences: np.ndarray, confidence: float, test_ratio: float) -> float:
    """Standard error of the limits of ``corrected_interval`` over draws of the folds of the same rows.

    The limit is ``m - t s sqrt(1 / n + rho)``; n differences that are independent given the rows have a mean m with the
    variance ``s**2 / n`` and a standard deviation s with ``s**2 / (2 (n - 1))``.
    """
    from scipy.special import stdtrit

    n, t = differences.size, stdtrit(differences.shape[-1] - 1, (1 + confidence) / 2)
    return float(differences.std(ddof=1) * np.sqrt(1 / n + t**2 * (1 / n + test_ratio) / (2 * (n - 1))))
