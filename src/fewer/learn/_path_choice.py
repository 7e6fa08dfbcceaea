"""The point of a path of penalties that scores of folds choose: the best, or the one-standard-error rule."""

import numpy as np


def chosen_point(scores: np.ndarray, rule: str) -> tuple[int, int]:
    """The point to take and the best point, from scores of folds (rows) at penalties that get weaker to the right.

    "one_se" takes the first point whose mean is within one standard error of the best mean.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.70, 0.74], [0.5, 0.80, 0.80], [0.5, 0.60, 0.62]])
    >>> chosen_point(scores, "one_se"), chosen_point(scores, "best")
    ((1, 2), (2, 2))
    """
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    if rule == "best" or len(scores) < 2:
        return best, best
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(means >= means[best] - error)), best
