"""Which score is used, and what it is called."""

from typing import Any

from fewer.evaluate._selection_inside import is_search


def scoring_of(search: Any, scoring: Any) -> Any:
    """The scoring to use: the one given, else the search's own, so that inner and outer scores compare."""
    if scoring is not None or not is_search(search):
        return scoring
    own = search.scoring
    if isinstance(own, str) or callable(own) or own is None:
        return own
    if not isinstance(search.refit, str):
        raise ValueError("the search has several scorings; say by scoring=... which one to evaluate.")
    return own[search.refit] if isinstance(own, dict) else search.refit


def scoring_name(scoring: Any, learner: Any) -> str:
    """What the score is called."""
    from sklearn.base import is_classifier

    if scoring is None:
        return "accuracy" if is_classifier(learner) else "r2"
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
