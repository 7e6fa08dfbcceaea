"""From a table of any kind to numbers on one scale: missing values imputed, categories encoded, columns standardised.

It is a pipeline of scikit-learn, fitted on the rows held in like everything else.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from fewer.catalogue import imputer_named
from fewer.study.plan._recipes import Counts, seeded
from fewer.study.table._coded import CodedDataset, positions, words_of

if TYPE_CHECKING:
    from fewer.io import Dataset

_MOST_CATEGORIES = 20
# What the encoder calls rare categories and missing values.
_SPECIAL = {"infrequent_sklearn": "(rare)", "None": "(missing)", "nan": "(missing)"}

# So many cells are looked at together where the whole table would be copied.
_CELLS = 4_000_000


def preparation(
    dataset: "Dataset", impute: str = "median", *, missing: bool | None = None, seed: int = 0, counts: Counts = None
) -> Any:
    """The pipeline that makes numbers of this table, not fitted.

    Missing numbers are imputed by ``impute``, missing categories become a category of their own; rare categories
    beyond 20 are put together; columns that are constant in the rows held in are dropped; all are standardised, except
    that sparse tables, and any for a method without negative numbers, are only scaled by their largest entry, so that
    zeros stay zeros. Counts for a learner of counts are not even scaled.

    Parameters
    ----------
    dataset : Dataset
        The table; its kinds of columns decide the steps.
    impute : str, default="median"
        Name of the imputer of missing values.
    missing : bool, default=None
        Whether rows may have missing values that are to be imputed; by default, whether these have. Without any the
        result is the same; with some, False leaves missing numbers as they are.
    seed : int, default=0
        For imputers that start at random.
    counts : {"scaled", "raw", "codes"} or None, default=None
        What comes next takes no negative numbers ("scaled"), or counts as they are ("raw"), or categories ("codes"):
        words become numbers of their categories, numbers with many values are cut into fifths, and what is missing
        stays missing.

    Returns
    -------
    pipeline : sklearn.pipeline.Pipeline
        Takes ``dataset.X``, or a table with the same columns.
    """
    from sklearn.feature_selection import VarianceThreshold
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    steps: list[tuple[str, Any]] = []
    if counts == "codes":
        steps.append(("numbers", _codes(dataset)) if words_of(dataset) else ("cut", CutColumns()))
        return Pipeline([*steps, ("vary", VarianceThreshold())])
    missing = dataset.has_missing if missing is None else missing
    if words_of(dataset):
        steps.append(("numbers", _numbers(dataset, _filled(impute, seed) if missing else "passthrough")))
    elif missing:
        steps.append(("fill", _filled(impute, seed)))
    steps.append(("vary", VarianceThreshold()))
    if counts != "raw":
        scaler = MaxAbsScaler if dataset.is_sparse or counts else StandardScaler
        # In place, because the step before has made a copy: a large table is in memory once less.
        steps.append(("scale", scaler(copy=False)))
    return Pipeline(steps)


def fit_prepared(pipeline: Any, X: Any, *, keep: bool = False) -> Any:
    """Fit the preparation, and these rows through it; their array is written over unless it is to be kept.

    As ``fit_transform`` of the pipeline, in less memory: what a step took is let go before the next one, whether a
    column varies is seen from its lowest and its highest value, medians are found for some columns at a time, and the
    scale is learnt from blocks of rows.
    """
    from sklearn.base import clone
    from sklearn.impute import SimpleImputer
    from sklearn.utils import gen_batches

    for name, step in pipeline.steps:
        if isinstance(step, SimpleImputer) and isinstance(X, np.ndarray) and X.size > _CELLS:
            blocks = gen_batches(X.shape[1], max(1, _CELLS // len(X)))
            X = step.fit(np.concatenate([clone(step).fit(X[:, some]).statistics_ for some in blocks])[None]).transform(
                X
            )
        elif name == "vary" and isinstance(X, np.ndarray):
            step.fit(np.stack([np.fmin.reduce(X), np.fmax.reduce(X)]))  # where values are missing, of the others
            X = step.transform(X) if keep or not step.get_support().all() else X
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


class PreparedColumn(NamedTuple):
    """A column that comes out of the preparation: its name, and the column of the table that it is made of.

    A category is named ``column = value``.
    """

    name: str
    source: str


def prepared_columns(fitted: Any, dataset: "Dataset") -> list[PreparedColumn]:
    """What a fitted preparation makes of the columns of a table, in the order in which they come out."""
    given = list(dataset.columns)
    pairs = [(name, name) for name in given]
    if "fill" in fitted.named_steps:
        pairs = [(str(name), str(name)) for name in fitted["fill"].get_feature_names_out(given)]
    elif "numbers" in fitted.named_steps:
        names = [str(name) for name in fitted["numbers"].get_feature_names_out(given)]
        encoder = fitted["numbers"].named_transformers_["words"]
        if not hasattr(encoder, "infrequent_categories_"):  # codes: a column stays a column
            pairs = [(name, name) for name in names]
            return [PreparedColumn(*pair) for pair in compress(pairs, fitted["vary"].get_support().tolist())]
        words = [word for word, n in zip(words_of(dataset), _n_categories(encoder), strict=True) for _ in range(n)]
        n_numbers = len(names) - len(words)
        pairs = [(name, name) for name in names[:n_numbers]]
        pairs += [
            (f"{word} = {_SPECIAL.get(value := name.removeprefix(f'{word}_'), value)}", word)
            for name, word in zip(names[n_numbers:], words, strict=True)
        ]
    return [PreparedColumn(*pair) for pair in compress(pairs, fitted["vary"].get_support().tolist())]


def prepared_names(fitted: Any, dataset: "Dataset") -> list[str]:
    """Names of the columns that come out of a fitted preparation."""
    if fitted.steps[0][0] == "vary":  # every fold asks for them, of thousands of columns
        return list(compress(dataset.columns, fitted["vary"].get_support().tolist()))
    return [name for name, _ in prepared_columns(fitted, dataset)]


def _n_categories(encoder: Any) -> list[int]:
    """How many columns each column of words becomes: rare categories share one, two categories need one."""
    rare = encoder.infrequent_categories_
    dropped = encoder.drop_idx_ if encoder.drop_idx_ is not None else [None] * len(rare)
    return [
        len(known) - (len(few) - 1 if few is not None else 0) - (drop is not None)
        for known, few, drop in zip(encoder.categories_, rare, dropped, strict=True)
    ]


def _filled(impute: str, seed: int) -> Any:
    """The imputer; where it looks at other columns, these are scaled first."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    imputer = imputer_named(impute)
    if not imputer.from_others:
        return seeded(imputer.build(), seed)
    return Pipeline([("level", StandardScaler()), ("complete", seeded(imputer.build(), seed))])


class CutColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Numbers with more than 20 values cut into fifths of the rows; missing values stay missing."""

    def fit(self, X: Any, y: Any = None) -> "CutColumns":
        """Find the cuts."""
        X = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = X.shape[1]
        self.cuts_ = [_fifths(column[~np.isnan(column)]) for column in X.T]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Numbers of the fifths, or the values themselves of columns with few."""
        X = np.array(X, dtype=np.float64)
        for column, cuts in enumerate(self.cuts_):
            if len(cuts):
                here = ~np.isnan(X[:, column])
                X[here, column] = np.searchsorted(cuts, X[here, column])
        return X


class WordCodes(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Words, or codes of them, as numbers of their categories; missing ones and new categories are missing."""

    def fit(self, X: Any, y: Any = None) -> "WordCodes":
        """Find the categories."""
        table = np.asarray(X, dtype=object)
        self.n_features_in_ = table.shape[1]
        self.categories_ = [
            np.array(sorted({each for each in column if each is not None and each == each})) for column in table.T
        ]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Places among the categories."""
        table = np.asarray(X, dtype=object)
        found = np.empty(table.shape)
        for column, known in enumerate(self.categories_):
            place_of = {value: float(place) for place, value in enumerate(known.tolist())}
            found[:, column] = [place_of.get(each, np.nan) for each in table[:, column]]
        return found


def _fifths(values: np.ndarray) -> np.ndarray:
    """Where to cut a column; nowhere if it has few values."""
    if len(np.unique(values)) <= _MOST_CATEGORIES:
        return np.zeros(0)
    return np.unique(np.quantile(values, [0.2, 0.4, 0.6, 0.8]))


def _codes(dataset: "Dataset") -> Any:
    """Columns of words as numbers of their categories, after the columns of numbers; a new category is missing."""
    from sklearn.compose import ColumnTransformer

    words = words_of(dataset)
    known_words = set(words)
    numbers = [name for name in dataset.columns if name not in known_words]
    by_code = isinstance(dataset, CodedDataset)
    # Positions as an array, for scikit-learn looks at every entry of a list each time.
    places = [np.array(positions(dataset, names), dtype=int) if by_code else names for names in (numbers, words)]
    return ColumnTransformer(
        [("numbers", CutColumns(), places[0]), ("words", WordCodes(), places[1])], verbose_feature_names_out=False
    )


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
    # Positions as an array, for scikit-learn looks at every entry of a list each time.
    places = [np.array(positions(dataset, names), dtype=int) if by_code else names for names in (numbers, words)]
    return ColumnTransformer(
        [("numbers", fill, places[0]), ("words", encoder, places[1])], verbose_feature_names_out=False
    )


def _category_name(categories: Mapping[str, tuple[str, ...]], column: str, code: Any) -> str:
    """Name of the column of one category: as scikit-learn has it for the word that the code stands for."""
    if isinstance(code, str):  # rare categories together
        return f"{column}_{code}"
    return f"{column}_{None if np.isnan(code) else categories[column][int(code)]}"
