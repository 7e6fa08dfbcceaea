"""Rounds of a contest between the columns and their shadows, shuffled copies that cannot be relevant.

In each round a column scores a hit when its importance exceeds a percentile (by default the largest) of the shadows'
importances. A column that is no better than the best shadow would hit in at most half of the rounds, so the number of
hits in r rounds is compared with a binomial B(r, 1/2): far above, the column is confirmed; far below, it is rejected
and takes part no longer.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from fewer.select._ranking import places_of_order

Importances = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Contest(NamedTuple):
    """State after some rounds: the verdict on each column, its rounds, hits, and importance relative to shadows."""

    n_rounds: int
    confirmed: np.ndarray
    rejected: np.ndarray
    rounds: np.ndarray
    hits: np.ndarray
    total_score: np.ndarray

    @property
    def tentative(self) -> np.ndarray:
        """Columns without a verdict."""
        return ~(self.confirmed | self.rejected)

    @property
    def scores(self) -> np.ndarray:
        """Mean over rounds of the importance divided by the shadows' threshold."""
        return self.total_score / np.maximum(self.rounds, 1)

    @property
    def ranking(self) -> np.ndarray:
        """Places: the confirmed, the tentative, the rejected (last out first), each by score."""
        return places_of_order(np.lexsort((-self.scores, -self.rounds * self.rejected, self.rejected, ~self.confirmed)))


def contest_rounds(
    importances: Importances,
    n_columns: int,
    *,
    max_iter: int,
    alpha: float,
    percentile: float,
    correction: str | None,
) -> Iterator[Contest]:
    """The state after every round, until all columns have a verdict.

    ``importances`` gets the columns that take part, and gives theirs and the shadows'.
    """
    nothing, none = np.zeros(n_columns, dtype=int), np.zeros(n_columns, dtype=bool)
    state = Contest(0, none, none, nothing, nothing, np.zeros(n_columns))
    while state.n_rounds < max_iter and state.tentative.any():
        active = np.flatnonzero(~state.rejected)
        own, shadows = importances(active)
        threshold = float(np.percentile(shadows, percentile))
        took_part, hit, score = nothing.copy(), nothing.copy(), np.zeros(n_columns)
        took_part[active] = 1
        hit[active] = own > threshold
        score[active] = relative_to(own, threshold)
        state = state._replace(
            n_rounds=state.n_rounds + 1,
            rounds=state.rounds + took_part,
            hits=state.hits + hit,
            total_score=state.total_score + score,
        )
        state = with_verdicts(state, alpha, correction)
        yield state


def relative_to(importances: np.ndarray, threshold: float) -> np.ndarray:
    """Importances divided by the threshold, within 0 and 1000 (a threshold of zero is beaten by anything positive)."""
    if threshold <= 0:
        return np.where(importances > 0, 1000.0, 0.0)
    return np.clip(importances / threshold, 0.0, 1000.0)


def with_verdicts(state: Contest, alpha: float, correction: str | None) -> Contest:
    """The state after testing the columns that had no verdict, in both directions."""
    undecided = np.flatnonzero(state.tentative)
    hits, n_rounds = state.hits[undecided], state.n_rounds
    confirmed, rejected = state.confirmed.copy(), state.rejected.copy()
    confirmed[undecided] = significant(stats.binom.sf(hits - 1, n_rounds, 0.5), alpha, correction, len(confirmed))
    rejected[undecided] = significant(stats.binom.cdf(hits, n_rounds, 0.5), alpha, correction, len(confirmed))
    return state._replace(confirmed=confirmed, rejected=rejected)


def significant(pvalues: np.ndarray, alpha: float, correction: str | None, n_columns: int) -> np.ndarray:
    """Which p-values are at most alpha, after correction for the number of columns."""
    if correction == "bonferroni":
        return pvalues * n_columns <= alpha
    if correction == "fdr":
        return stats.false_discovery_control(pvalues) <= alpha
    return pvalues <= alpha
