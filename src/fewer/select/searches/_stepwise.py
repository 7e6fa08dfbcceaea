"""Stepwise searches: each step is the best addition or the best removal, whichever gains more.

From the empty set (or the full one), ``Y <- argmax J`` over all subsets that are one column away, until none of them is
better; a removal that costs nothing counts as better. J never falls, so the search ends, in a subset that no single
column can improve.
"""

from collections.abc import Callable

import numpy as np

from fewer._estimators import clearly_better
from fewer.select.objectives._objective import SubsetScorer
from fewer.select.searches._path import SearchPath, Walker, reaches


def stepwise_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    forward: bool,
    max_size: int,
    tol: float | None = None,
    enough: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Search until neither an addition nor a removal improves J, by ``tol`` at least where that is given.

    Subsets have at most ``max_size`` columns; from the full set, the least harmful ones are removed first until there
    are no more.
    """
    walker = Walker(scorer, n_columns)
    current = -np.inf if forward else walker.start_full()
    just_added, just_removed = None, None
    while not (forward and reaches(current, enough)):
        too_large = walker.size > max_size
        addition = walker.best_addition(just_removed) if walker.size < max_size else (-1, -np.inf)
        removal = walker.best_removal(just_added, main=not forward) if walker.size > 1 else (-1, -np.inf)
        adding = clearly_better(addition[1], removal[1])  # of equals, fewer columns
        column, score = addition if adding else removal
        improved = clearly_better(score, current) if adding else not clearly_better(current, score)
        improved = improved and (tol is None or score - current >= tol)
        if column < 0 or not (improved or too_large):
            break
        if adding:
            walker.add(column, score)
        else:
            walker.remove(column, score)
        just_added, just_removed = (column, None) if adding else (None, column)
        # Removals must not cost anything together either, so J to beat is the highest one.
        current = score if too_large else max(current, score)
        if on_step(walker.path):
            break
    return walker.path
