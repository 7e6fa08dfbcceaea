"""From a table of any kind to numbers on one scale: holes filled, categories encoded, columns standardised.

It is a pipeline of scikit-learn, fitted on the rows held in like everything else.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer.study._coded import CodedDataset, positions, words_of
from fewer.study._imputers import IMPUTERS

if TYPE_CHECKING:
    from fewer.io import Dataset

_MOST_CATEGORIES = 20

# So many cells are looked at together where the whole table would be copied.
_CELLS = 4_000_000


def preparation(
    dataset: "Dataset", impute: str = "median", *, holes: bool | None = None, seed: int = 0, counts: bool = False
) -> Any:
    """The pipeline that makes numbers of this table, not fitted.

    Missing numbers are filled in as ``impute`` says, missing categories become a category of their own; rare categories
    beyond 20 are put together; columns that are constant in the rows held in are dropped; all are standardised, except
    that sparse tables, and any for a method that takes counts, are only scaled by their largest entry, so that zeros
    stay zeros.

    Parameters
    ----------
    dataset : Dataset
        The table; its kinds of columns decide the steps.
    impute : str, default="median"
        How holes are filled, one of ``IMPUTERS``.
    holes : bool, default=None
        Whether rows may have holes; by default, whether these have. Without holes the result is the same.
    seed : int, default=0
        For imputers that start at random.
    counts : bool, default=False
        Whether what comes next takes no negative numbers.

    Returns
    -------
    pipeline : sklearn.pipeline.Pipeline
        Takes ``dataset.X``, or a table with the same columns.
    """
    from sklearn.feature_selection import VarianceThreshold
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    steps: list[tuple[str, Any]] = []
    holes = dataset.has_missing if holes is None else holes
    if words_of(dataset):
        steps.append(("numbers", _numbers(dataset, _filled(impute, seed) if holes else "passthrough")))
    elif holes:
        steps.append(("fill", _filled(impute, seed)))
    scaler = MaxAbsScaler if dataset.is_sparse or counts else StandardScaler
    # In place, because the step before has made a copy: a large table is in memory once less.
    steps += [("vary", VarianceThreshold()), ("scale", scaler(copy=False))]
    return Pipeline(steps)


def fit_prepared(pipeline: Any, X: Any) -> Any:
    """Fit the preparation, and these rows through it; their array is the function's to keep, and is written over.

    As ``fit_transform`` of the pipeline, in less memory: what a step took is let go before the next one, whether a
    column varies is seen from its lowest and its highest value, and the scale is learnt from blocks of rows.
    """
    from sklearn.utils import gen_batches

    for name, step in pipeline.steps:
        if name == "vary" and isinstance(X, np.ndarray):
            step.fit(np.stack([X.min(axis=0), X.max(axis=0)]))
            X = X if step.get_support().all() else step.transform(X)
        elif name == "scale" and isinstance(X, np.ndarray):
            for rows in gen_batches(len(X), max(1, _CELLS // X.shape[1])):
                step.partial_fit(X[rows])
            X = step.transform(X)
        else:
            X = step.fit_transform(X)
    return X


def prepared_rows(fitted: Any, X: Any) -> Any:
    """Rows held out, through a fitted preparation; a category that they alone have counts as a rare one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        return fitted.transform(X)


def prepared_names(fitted: Any, dataset: "Dataset") -> list[str]:
    """Names of the columns that come out of a fitted preparation."""
    return [str(name) for name in fitted.get_feature_names_out(list(dataset.columns))]


def _filled(impute: str, seed: int) -> Any:
    """What fills holes; where it looks at other columns, these come on one scale."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    imputer = IMPUTERS[impute]
    if not imputer.from_others:
        return imputer.made(seed)
    return Pipeline([("level", StandardScaler()), ("complete", imputer.made(seed))])


def _numbers(dataset: "Dataset", fill: Any) -> Any:
    """Columns of words as columns of zeros and ones, after the columns of numbers, whose missing values are imputed.

    Columns are found by name in a frame, by position in a matrix with codes. Both give the same columns and names.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    words = words_of(dataset)
    known_words = set(words)
    numbers = [name for name in dataset.columns if name not in known_words]
    by_code = isinstance(dataset, CodedDataset)
    categories = dataset.categories if isinstance(dataset, CodedDataset) else {}
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=_MOST_CATEGORIES,
        sparse_output=False,
        drop="if_binary",
        feature_name_combiner=partial(_category_name, categories) if by_code else "concat",
    )
    places = [positions(dataset, names) if by_code else names for names in (numbers, words)]
    return ColumnTransformer(
        [("numbers", fill, places[0]), ("words", encoder, places[1])], verbose_feature_names_out=False
    )


def _category_name(categories: Mapping[str, tuple[str, ...]], column: str, code: Any) -> str:
    """Name of the column of one category: as scikit-learn has it for the word that the code stands for."""
    if isinstance(code, str):  # rare categories together
        return f"{column}_{code}"
    return f"{column}_{None if np.isnan(code) else categories[column][int(code)]}"
