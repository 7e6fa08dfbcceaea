"""Texts given where a table with counts of their words is wanted."""

from typing import Any

from scipy.sparse import issparse


def refuse_documents(X: Any, who: str) -> None:
    """Say how texts become a table.

    >>> refuse_documents([[0, 2], [1, 0]], "WordClusters")
    >>> refuse_documents(["a cat", "a dog"], "WordClusters")
    Traceback (most recent call last):
        ...
    ValueError: X holds texts, such as 'a cat', and WordClusters takes a table with the counts of their words; ...
    """
    if issparse(X) or not (isinstance(X, (list, tuple)) or len(getattr(X, "shape", ())) == 1):
        return
    first = next(iter(X), None)
    if isinstance(first, str):
        shown = first if len(first) <= 40 else first[:37] + "..."
        raise ValueError(
            f"X holds texts, such as {str(shown)!r}, and {who} takes a table with the counts of their words; make one "
            "with CountVectorizer of scikit-learn, as the step before in a pipeline."
        )
