"""Plus-l-minus-r: rounds of l additions and r removals (Stearns 1976).

With l > r the rounds start from the empty set and grow, with l < r they start from the full set and shrink. Columns
that later ones make useless are dropped again, but how far to go back is fixed beforehand; the floating searches find
that out by themselves.
"""

from collections.abc import Callable

import numpy as np

from fewer.select.objectives._objective import SubsetScorer
from fewer.select.searches._path import SearchPath, Walker, reaches


def plus_minus_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    plus: int,
    minus: int,
    size: int,
    tol: float | None = None,
    enough: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Rounds until the subset has ``size`` columns; the last one steps back as often as it takes.

    Stops early when a round gains less than ``tol``, when J is ``enough`` (from the full set, when it no longer is), or
    when ``on_step`` returns True.
    """
    walker = Walker(scorer, n_columns)
    forward = plus > minus
    # A subset is never empty, and how far a round leads depends on what there is to add or to remove.
    there, back = (plus, minus) if forward else (minus, plus)
    away, home = (_addition, _removal) if forward else (_removal, _addition)
    limit = n_columns if forward else 1
    current = -np.inf if forward else walker.start_full()

    while walker.size != size:
        before = current
        for _ in range(min(there, abs(limit - walker.size))):
            current = away(walker, main=True)
            if on_step(walker.path):
                return walker.path
        beyond = (walker.size - size) if forward else (size - walker.size)
        # The last round ends at the size wanted, from the far side; there is no far side of the limit.
        for _ in range(beyond if beyond >= back or walker.size == limit else back):
            current = home(walker, main=False)
            if on_step(walker.path):
                return walker.path
        if tol is not None and current - before < tol:
            break
        if enough is not None and reaches(current, enough) == forward:
            break
    return walker.path


def _addition(walker: Walker, *, main: bool) -> float:
    column, score = walker.best_addition(main=main)
    walker.add(column, score)
    return score


def _removal(walker: Walker, *, main: bool) -> float:
    column, score = walker.best_removal(main=main)
    walker.remove(column, score)
    return score
