"""What the columns of a table are called in pictures."""

from typing import Any


def column_labels(X: Any, letter: str = "x") -> list[str]:
    """Names as they are given, be they text or numbers, such as wavelengths; places where there are none.

    >>> import pandas as pd
    >>> column_labels(pd.DataFrame([[1, 2]], columns=[900.5, 901.0])), column_labels(pd.DataFrame([[1, 2]]))
    (['900.5', '901.0'], ['x0', 'x1'])
    """
    n_columns = X.shape[1] if hasattr(X, "shape") else len(X[0])
    names = list(getattr(X, "columns", range(n_columns)))
    return [f"{letter}{name}" for name in names] if names == list(range(n_columns)) else [str(name) for name in names]
