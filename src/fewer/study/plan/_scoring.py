"""Scores of a study by name: those of scikit-learn, and proper scores of predicted probabilities.

A score is proper if the true probability is its best prediction. The log loss is scikit-learn's (``neg_log_loss``), and
so is the Brier score (``neg_brier_score``), computed here for classes of any name and number. The others are the losses
of :func:`fewer.learn.proper_loss`, for two classes.
"""

from dataclasses import dataclass
from typing import Any

# By the names of the losses: what a study calls them, with a minus, because higher scores are better.
PROPER_SCORES = {
    "neg_brier_score": "brier",
    "neg_boosting_loss": "boosting",
    "neg_minimal_loss": "minimal",
    "neg_asymmetric_1_loss": "asymmetric-1",
    "neg_asymmetric_2_loss": "asymmetric-2",
}


@dataclass(frozen=True)
class ProperScorer:
    """Minus the mean proper loss of the predicted probabilities, as scikit-learn's scorers are called.

    Attributes
    ----------
    loss : str
        Name of the loss.
    """

    loss: str
    # What scikit-learn's scorers say of themselves.
    _response_method = "predict_proba"
    _sign = -1

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        import numpy as np

        from fewer.learn import proper_loss

        if not hasattr(estimator, "classes_"):
            raise ValueError(f"the {self.loss} loss is for classes")
        classes, chances = estimator.classes_, np.asarray(estimator.predict_proba(X), dtype=float)
        inside = np.asarray(y)[:, None] == classes
        if self.loss == "brier":
            squares = np.sum((chances - inside) ** 2, axis=1) / (2 if len(classes) == 2 else 1)
            return -float(np.average(squares, weights=sample_weight))
        if len(classes) != 2:
            raise ValueError(f"the {self.loss} loss is for two classes, not {len(classes)}")
        return -proper_loss(self.loss).loss(inside[:, 1].astype(int), chances[:, 1], sample_weight=sample_weight)


def scoring_of(name: str) -> Any:
    """What the functions of ``fewer.evaluate`` take: a name of scikit-learn, or a scorer of ours."""
    return ProperScorer(PROPER_SCORES[name]) if name in PROPER_SCORES else name


def scorer_named(name: str) -> Any:
    """The scorer of this name."""
    from sklearn.metrics import get_scorer

    return get_scorer(scoring_of(name))


def is_score(name: str) -> bool:
    """Whether there is a score of this name."""
    from sklearn.metrics import get_scorer_names

    return name in PROPER_SCORES or name in get_scorer_names()
