"""What models of counts share: tables, texts, held-out tokens, and how likely new rows are.

Every model of the family explains the shares of columns in a row by ``sum_k m_k theta_kj``: component k has the shares
``theta_k`` of columns (``components_``), and row i has ``m_i``. *Document completion* measures this without looking at
the same tokens twice: of each row that the fit has not seen, a random half of the tokens gives ``m``, and the other
half is scored.
"""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import known_column, refuse_negative, validated, warn_caller
from fewer.latent._latent_model import LatentModel, warn_of_few_rows
from fewer.latent._passes import count_rows, mixture_fits

_FEW_TEXTS = 50


class CountModel(LatentModel):
    """Base of the models of counts.

    A model has ``components_`` (shares of columns in each component, rows that sum to 1) and ``weights_`` (the share of
    all tokens that each component has), and implements ``_row_shares(counts)``: shares of components in rows.
    """

    _smoothing: ClassVar[float] = 0.0  # of the components, where held-out tokens are scored

    vectorizer: Any
    vectorizer_: Any
    components_: np.ndarray
    weights_: np.ndarray

    def _training_counts(self, X: Any) -> sparse.csr_array:
        """The table to fit, checked; texts become counts of words."""
        texts = texts_of(X)
        self.vectorizer_ = None
        if texts is None:
            refuse_more_texts(X)
        else:
            self.vectorizer_ = self._new_vectorizer(len(texts))
            X = self.vectorizer_.fit_transform(texts)
        counts = self._checked_counts(X, reset=True)
        warn_of_few_rows(self.n_components, min(counts.shape[0], self.n_components))
        return counts

    def _new_counts(self, X: Any) -> sparse.csr_array:
        check_is_fitted(self)
        texts = texts_of(X)
        if texts is not None:
            if self.vectorizer_ is None:
                raise ValueError(
                    f"X holds texts, such as {texts[0][:40]!r}, and {type(self).__name__} was fitted to a table of "
                    "counts; make one with the vectorizer of that table."
                )
            X = self.vectorizer_.transform(texts)
        return self._checked_counts(X, reset=False)

    def _checked_counts(self, X: Any, *, reset: bool) -> sparse.csr_array:
        checked = validated(self, X, reset=reset, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        names = getattr(self, "feature_names_in_", None)
        refuse_negative(checked, type(self).__name__, names)
        counts = sparse.csr_array(checked)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        if counts.indices.dtype != np.int32 and counts.nnz < np.iinfo(np.int32).max:
            counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)
        if reset and counts.nnz == 0:
            raise ValueError(f"All entries of the table are zero, and {type(self).__name__} needs counts.")
        return counts

    def _new_vectorizer(self, n_texts: int) -> Any:
        if self.vectorizer is not None:
            return clone(self.vectorizer)
        return CountVectorizer(max_df=0.5, min_df=2) if n_texts > _FEW_TEXTS else CountVectorizer()

    def _row_shares(self, counts: sparse.csr_array) -> np.ndarray:
        """Share of each component in rows: (rows, components), summing to 1."""
        raise NotImplementedError

    def expected_counts(self, X):
        """Expected number of tokens of each row that each component explains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        counts : ndarray of shape (n_samples, n_components)
            They sum to the total of the row.
        """
        counts = self._new_counts(X)
        totals = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
        return (self._row_shares(counts) * totals).astype(counts.dtype)

    def score_completion(self, X, sample_weight=None, *, random_state=0):
        """Mean log-probability of held-out tokens: half of each row's tokens tell its components, the others count.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Rows that the fit has not seen: counts, or texts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        random_state : int, RandomState instance or None, default=0
            Draws the halves.

        Returns
        -------
        score : float
            In nats for each held-out token; ``exp(-score)`` is the completion perplexity.
        """
        seen, held_out = split_tokens(self._new_counts(X), random_state)
        return self._completion(seen, held_out, sample_weight)

    def _completion(self, seen: sparse.csr_array, held_out: sparse.csr_array, sample_weight: Any = None) -> float:
        shares = np.ascontiguousarray(self._row_shares(seen))
        theta = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        theta = (1 - self._smoothing) * theta + self._smoothing / len(theta)
        logs = mixture_fits(count_rows(held_out), shares, theta)
        totals = np.asarray(held_out.sum(axis=1), dtype=np.float64).ravel()
        if totals.sum() == 0:
            raise ValueError("No row has two tokens, so that none can be held out.")
        weights = np.ones(len(logs)) if sample_weight is None else np.asarray(sample_weight)
        return float(np.sum(weights * logs) / np.sum(weights * totals))

    def feature_names(self) -> np.ndarray:
        """Names of the columns: those of the table, or the words of texts.

        Returns
        -------
        names : ndarray of str
            ``x0``, ``x1``, ... where the columns have no names.
        """
        check_is_fitted(self)
        if self.vectorizer_ is not None:
            return self.vectorizer_.get_feature_names_out()
        return np.asarray(getattr(self, "feature_names_in_", [f"x{each}" for each in range(self.n_features_in_)]))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def texts_of(X: Any) -> list[str] | None:
    """The texts of a list, a series or a frame with one column of them; None for tables of numbers.

    >>> texts_of(["rain and sun", "sun"]), texts_of([[1, 2]])
    (['rain and sun', 'sun'], None)
    """
    if sparse.issparse(X) or not (hasattr(X, "__len__") and hasattr(X, "__getitem__")):
        return None
    shape: tuple[int, ...] = tuple(getattr(X, "shape", (len(X),)))
    if hasattr(X, "columns") and len(shape) == 2 and shape[1] == 1:
        X, shape = X[next(iter(X.columns))], shape[:1]
    if len(shape) != 1 or not shape[0]:
        return None
    values = list(X)
    if not any(isinstance(value, str) for value in values):
        return None
    wrong = [row for row, value in enumerate(values) if not isinstance(value, str)]
    if wrong:
        raise ValueError(f"X holds texts, but row {wrong[0]} is {values[wrong[0]]!r}: give an empty text for it.")
    return values


def refuse_more_texts(X: Any) -> None:
    """Refuse frames with a column of texts among others: only one column of texts is counted as words."""
    if not (hasattr(X, "columns") and len(X.columns) > 1 and len(X)):
        return
    for name in X.columns:
        first = X[name].head(1).to_list() if hasattr(X[name], "to_list") else [None]
        if isinstance(first[0], str) and " " in first[0].strip():
            raise ValueError(
                f"Column {str(name)!r} holds texts, such as {first[0][:40]!r}, beside other columns: pass this column "
                f"alone, X[{str(name)!r}], or counts of its words."
            )


def refuse_fractions(counts: sparse.csr_array, who: str, names: Any = None) -> None:
    """Refuse counts that are no whole numbers, and name the first column that has one."""
    broken = counts.data != np.floor(counts.data)
    if broken.any():
        column = int(counts.indices[broken].min())
        name = known_column(column, counts.shape[1]) if names is None else repr(str(names[column]))
        value = counts.data[broken & (counts.indices == column)][0]
        raise ValueError(
            f"{who} draws single tokens, so counts must be whole numbers, but column {name} holds {value:g}; round "
            "them, or use solver='variational'."
        )


def warn_of_small_counts(counts: sparse.csr_array, who: str) -> None:
    """Say that priors outweigh a table in too large a unit."""
    mean = float(counts.sum()) / counts.shape[0]
    if mean < 0.5:
        warn_caller(
            f"Rows hold {mean:.2g} tokens on average, so that the priors of {who} outweigh them: give the counts "
            "themselves, or another unit."
        )


def split_tokens(counts: sparse.csr_array, random_state: Any) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Two tables with a random half of the tokens each; what is less than a token goes to either as a whole."""
    random = check_random_state(random_state)
    whole = np.floor(counts.data)
    half = random.binomial(whole.astype(np.int64), 0.5) + (counts.data - whole) * random.randint(2, size=counts.nnz)
    parts = []
    for data in (half, counts.data - half):
        part = sparse.csr_array((data, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
        part.eliminate_zeros()
        parts.append(part)
    return parts[0], parts[1]
