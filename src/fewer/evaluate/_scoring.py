"""Which score is used, what it is called, and how it rates predictions that are at hand."""

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


def asks_for_predictions(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn needs predictions alone, no probabilities and not the fitted model."""
    return getattr(scorer, "_response_method", None) == "predict"


def score_of_predictions(scorer: Any, true: Any, predicted: Any) -> float:
    """What such a scorer gives to predictions that were made already."""
    return float(scorer._sign * scorer._score_func(true, predicted, **scorer._kwargs))
