"""Sequential searches for subsets of columns: one column at a time, forward or backward.

Forward, from the empty set Y:  ``Y + argmax_{x not in Y} J(Y + x)``.
Backward, from the full set:  ``Y - argmax_{x in Y} J(Y - x)``.

The floating searches (Pudil et al. 1994) go back after each step, as long as the way back leads to a subset strictly
better than the best known one of its size. With the correction of Somol et al. (1999), a step that leads to a subset
worse than the best known one of that size goes on from the latter, and never replaces it.

Of columns with equal J, but for rounding, the one with the lowest index is taken.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from fewer._estimators import clearly_better
from fewer.select.objectives._objective import SubsetScorer
from fewer.select.searches._path import SearchPath, Walker, reaches

Direction = Literal["forward", "backward", "floating", "floating_backward"]


def sequential_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    direction: Direction,
    size: int,
    tol: float | None = None,
    enough: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Search from the empty (or full) set until the subset has ``size`` columns.

    Stops early when the objective gains less than ``tol`` by a step, when it is ``enough`` (backward, when it would no
    longer be), or when ``on_step`` returns True.
    """
    walker = Walker(scorer, n_columns)
    path = walker.path
    forward = direction in ("forward", "floating")
    floating = direction in ("floating", "floating_backward")
    best_step, take = (walker.best_addition, walker.add) if forward else (walker.best_removal, walker.remove)
    best_return, take_back = (walker.best_removal, walker.remove) if forward else (walker.best_addition, walker.add)
    # From these sizes there is no way back: of single columns, and of full sets, the best is known.
    no_return = range(3) if forward else range(n_columns - 1, n_columns + 1)

    current = -np.inf if forward else walker.start_full()
    while walker.size != size and not (forward and reaches(current, enough)):
        column, score = best_step()
        if tol is not None and score - current < tol:
            break
        if not forward and enough is not None and not reaches(score, enough):
            break
        take(column, score)
        current = score
        if on_step(path):
            break
        if not floating:
            continue
        here = walker.size
        if clearly_better(path.scores[here], score):
            # All ways back from the best known subset were tried when it was found, against no better rivals.
            current = walker.restore(here)
            continue
        stopped = False
        just_taken: int | None = column
        while not stopped and walker.size not in no_return:
            column, score = best_return(just_taken, main=False)
            if not clearly_better(score, path.scores[walker.size + (-1 if forward else 1)]):
                break
            take_back(column, score)
            current, just_taken = score, None
            stopped = on_step(path)
        if stopped:
            break
    return path
