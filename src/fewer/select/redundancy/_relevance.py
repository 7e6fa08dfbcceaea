"""The relevance of columns by any score, as one number for each."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fewer.select.scores import named_score, score_card


def relevance_by_score(score: str | Callable[..., Any], X: Any, y: np.ndarray) -> np.ndarray:
    """Scores of the columns by the name of a score or by a function; the best over the classes if there are several."""
    function = named_score(score) if isinstance(score, str) else score
    given = function(X, y)
    relevance = np.asarray(given[0] if isinstance(given, tuple) else given, dtype=float)
    if relevance.ndim == 2:
        relevance = relevance.max(axis=0)
    if relevance.shape != (X.shape[1],):
        raise ValueError(
            f"relevance must give a number for each of the {X.shape[1]} columns, and gave an array of shape "
            f"{relevance.shape}."
        )
    return relevance


def score_takes_sparse(score: str | Callable[..., Any]) -> bool:
    """Whether a score takes sparse tables; a function without a card is trusted to."""
    try:
        card = score_card(named_score(score) if isinstance(score, str) else score)
    except ValueError:  # an unknown name, which fit complains about
        return False
    return card is None or card.sparse
