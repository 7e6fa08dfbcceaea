"""Scores of single columns: functions ``(X, y) -> scores``, higher is better, a number for each column.

Each looks at one column at a time (Relief also at the neighbourhood of a row), so none sees that two columns say the
same. A new score is one function on clean arrays, with its card ``@column_score(...)``; selectors then know it by name.
"""

from fewer.select.scores._fisher import fisher_score
from fewer.select.scores._score import (
    ColumnScores,
    Score,
    class_codes,
    column_score,
    named_score,
    score_card,
    score_names,
)
from fewer.select.scores._single_column import single_column_score

__all__ = [
    "ColumnScores",
    "Score",
    "class_codes",
    "column_score",
    "fisher_score",
    "named_score",
    "score_card",
    "score_names",
    "single_column_score",
]
