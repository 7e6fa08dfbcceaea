"""The mean over the folds of a score of predictions, for many candidates at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewer._estimators import fold_scores


class FoldMeasure:
    """From predictions (candidates, rows), those of a fold together, to their mean score over the folds.

    Parameters
    ----------
    scoring : str or scorer
        As for ``fewer._estimators.fold_scores``.
    truths : sequence of ndarray
        Codes of the classes, or numbers, of the test rows of each fold.
    labels : ndarray or None, default=None
        The classes that codes stand for; None for numbers.
    """

    def __init__(self, scoring: Any, truths: Sequence[np.ndarray], labels: np.ndarray | None = None) -> None:
        self._scoring = scoring
        self._starts = np.cumsum([0, *(len(truth) for truth in truths[:-1])])
        self._truth = np.concatenate(truths)
        # A score that is given by name and knows no labels is the same for codes.
        self._labels = None if isinstance(scoring, str) and scoring in ("accuracy", "balanced_accuracy") else labels
        self._has_classes = labels is not None

    def __call__(self, predicted: np.ndarray) -> np.ndarray:
        """Scores of the candidates; NaN where a prediction is not known (a code of -1, or NaN)."""
        unclear = (predicted < 0 if self._has_classes else np.isnan(predicted)).any(axis=1)
        scores = np.full(len(predicted), np.nan)
        if not unclear.all():
            clear, truth = predicted[~unclear] if unclear.any() else predicted, self._truth
            if self._labels is not None:
                clear, truth = self._labels[clear], self._labels[truth]
            scores[~unclear] = fold_scores(self._scoring, truth, clear, self._starts).mean(axis=1)
        return scores
