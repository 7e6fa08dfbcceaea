"""A kernel as features: similarity to some rows that are drawn at random.

With landmarks ``x_1 ... x_d`` and the matrix M of their kernel, ``M = V diag(l) V'``,

    F1(x) = (K(x, x_1), ..., K(x, x_d)),    F2(x) = F1(x) V diag(l)^{-1/2},    F3(x) = F2(x) A / sqrt(d3).

F2 is the orthogonal projection of x, in the space of the kernel, on the span of the landmarks (with a Cholesky factor
of M it would be the same, rotated); A has normal entries. If a plane with margin gamma separates the classes there,
``(8 / eps) (1 / gamma^2 + ln(1 / delta))`` landmarks are enough for some plane to separate F1 with error eps, and F2 so
with margin gamma / 2.

Each row gets a random key, and those with the smallest keys are kept as landmarks. So the sample does not depend on how
rows are cut into blocks, and the first landmarks of many are those of a smaller sample.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, warn_caller
from fewer._kernels._row_products import about_mean
from fewer.catalogue import method
from fewer.extract._extractor import Extractor
from fewer.extract._kernel_functions import OF_DIFFERENCES, kernel_width
from fewer.extract.random_projection._dimensions import landmark_dim, margin_dim
from fewer.extract.random_projection._random_projection import gaussian_entries


class Landmarks(NamedTuple):
    """The rows kept, by increasing key, and which of all rows they are."""

    rows: Any
    numbers: np.ndarray
    keys: np.ndarray
    n_seen: int

    @classmethod
    def first(cls, block: Any, keys: np.ndarray, size: int) -> "Landmarks":
        """Of the first block."""
        order = np.argsort(keys)[:size]
        return cls(taken(block, order), order, keys[order], len(keys))

    def after(self, block: Any, keys: np.ndarray, size: int) -> "Landmarks":
        """After one more block."""
        n_kept = len(self.keys)
        order = np.argsort(np.concatenate([self.keys, keys]))[:size]
        is_new = order >= n_kept
        new = order[is_new] - n_kept
        place = np.where(is_new, n_kept + np.cumsum(is_new) - 1, order)
        numbers = np.concatenate([self.numbers, self.n_seen + new])[place]
        rows = taken(joined(self.rows, taken(block, new)), place)
        return Landmarks(rows, numbers, np.concatenate([self.keys, keys[new]])[place], self.n_seen + len(keys))


def taken(rows: Any, which: np.ndarray) -> Any:
    """Some rows of a table, or objects of a list."""
    return [rows[each] for each in which] if isinstance(rows, list) else rows[which]


def joined(first: Any, second: Any) -> Any:
    if isinstance(first, list):
        return first + second
    return sparse.vstack([first, second], format="csr") if sparse.issparse(first) else np.vstack([first, second])


_OF_PRODUCTS = frozenset({"linear", "poly", "polynomial", "sigmoid"})
_UNIT = frozenset({"rbf", "laplacian", "chi2"})


class Similarity(NamedTuple):
    """A kernel of scikit-learn with its parameters, or a function of two rows or objects that gives a number."""

    kernel: str | Callable
    params: dict[str, Any]

    def between(self, X: Any, Y: Any) -> np.ndarray:
        """Of every row of X with every row of Y, in double precision."""
        if isinstance(self.kernel, str):
            X, Y = (rows.astype(np.float64, copy=False) for rows in (X, Y))
            if self.kernel in OF_DIFFERENCES:
                Y, X = about_mean(Y, X)
            values = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **self.params)
            return np.asarray(values.toarray() if sparse.issparse(values) else values)
        return self._told([[self.kernel(x, y, **self.params) for y in Y] for x in X])

    def lengths(self, X: Any, numbers: np.ndarray | None = None) -> np.ndarray:
        """Root of each row's similarity to itself; refused where that is not above 0, by the row's number."""
        squares = self._with_itself(X)
        spoilt = np.flatnonzero(squares <= 0)
        if len(spoilt):
            first = spoilt[0] if numbers is None else numbers[spoilt[0]]
            raise ValueError(
                f"The kernel of row {first} with itself is {squares[spoilt[0]]:g}, and normalize_kernel=True divides "
                f"by its root. Leave such rows out ({len(spoilt):,} in all), or use normalize_kernel=False."
            )
        return np.sqrt(squares)

    def _with_itself(self, X: Any) -> np.ndarray:
        if not isinstance(self.kernel, str):
            return self._told([self.kernel(x, x, **self.params) for x in X])
        if self.kernel in _UNIT:
            return np.ones(X.shape[0])
        squares = row_norms(X.astype(np.float64, copy=False), squared=True)
        if self.kernel in _OF_PRODUCTS:
            return self._of_products(squares)
        return np.sign(squares) if self.kernel == "cosine" else np.zeros(X.shape[0])  # additive_chi2 is a distance

    def _of_products(self, products: np.ndarray) -> np.ndarray:
        """What a kernel that depends on the product of two rows makes of products."""
        one = np.ones((1, 1))
        return pairwise_kernels(products[:, None], one, metric=self.kernel, filter_params=True, **self.params)[:, 0]

    def _told(self, values: Any) -> np.ndarray:
        """Numbers from a function of the user's."""
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty((0, 0, 0))
        if numbers.ndim > 2 or not np.isfinite(numbers).all():
            raise ValueError("kernel must give a finite number for any two rows; this function gives something else.")
        return numbers


_USUAL = 100
"""Landmarks where neither their number nor a margin is given."""
_CELLS = 1_000_000
_FEWEST = 256
"""Kernel values that are held at a time, and rows of them at least."""


def whitening(M: np.ndarray, rcond: float) -> np.ndarray:
    """``V diag(l)^{-1/2}``, by decreasing l, without those below ``rcond`` times the largest."""
    if not np.allclose(M, M.T, rtol=1e-8, atol=1e-12 * np.abs(M).max()):
        raise ValueError(
            "The kernel is not symmetric: the similarity of x to y is not that of y to x. Use "
            'method="F1", which does not need a symmetric kernel.'
        )
    values, vectors = np.linalg.eigh(M)
    values, vectors = values[::-1], vectors[:, ::-1]
    if not values[0] > 0:
        raise ValueError(
            'The landmarks have no positive similarity to one another. Use method="F1", or another kernel.'
        )
    if values[-1] < -max(rcond, 1e-10) * values[0]:
        n_negative = int(np.sum(values < -max(rcond, 1e-10) * values[0]))
        warn_caller(
            f"This kernel is not positive semidefinite: {n_negative:,} eigenvalues of the landmarks' matrix are "
            f"negative, down to {values[-1] / values[0]:.2g} of the largest. They are left out; "
            'method="F1" does not need them.'
        )
    kept = values > rcond * values[0]
    return vectors[:, kept] / np.sqrt(values[kept])


def are_objects(X: Any) -> bool:
    """Whether this is a list of things rather than a table of numbers."""
    if hasattr(X, "shape"):
        return len(X.shape) == 1
    try:
        return np.asarray(X, dtype=float).ndim != 2
    except (TypeError, ValueError):
        return True


@method(
    tasks=["unsupervised"],
    when="A kernel or any similarity (of texts, graphs, curves ...) suits the question, and the next step is a linear "
    "model or takes plain columns; or rows are too many for a kernel machine.",
    cost="O(d^2) kernel values and O(d^3) time for d landmarks; d kernel values and O(d k) for each row",
    paper="random-projection",
    examples=lambda: [
        LandmarkFeatures(),
        LandmarkFeatures(n_landmarks=20, method="F2"),
        LandmarkFeatures(kernel="poly", n_landmarks=20, method="F3", n_components=3, normalize_kernel=True),
    ],
    depends_on_scale="with a number for gamma in kernel_params the width is in the unit of the columns",
    depends_on_shift="with kernels of products, such as 'poly', values of the kernel depend on the origin",
)
class LandmarkFeatures(Extractor):
    """Similarity to random rows as new columns, which turn a kernel into features.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise.pairwise_kernels``, or a function of two rows that gives a number. With a
        function, X may as well be a list of anything: texts, sets, graphs.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks, drawn from the training rows. "auto" is what ``gamma``, ``eps`` and ``delta`` ask for, see
        :func:`landmark_dim` (with half of the last two for "F3"); without a ``gamma`` it is 100, or ``n_components``
        if that is more.
    method : {"F1", "F2", "F3"}, default="F1"
        The similarities themselves, which need no proper kernel; their projection on the space that the landmarks span,
        whose products are those of the kernel, ordered by how much they vary; or random directions in that.
    n_components : int, default=None
        Number of new columns. By default one for each landmark ("F1"), as many as the rank of their kernel ("F2"), or
        what ``gamma`` asks for, see :func:`margin_dim` ("F3"). Of fewer, the first ones are kept; "F3" draws as many
        directions.
    gamma : float, default=None
        Margin by which classes are expected to be separated in the space of the kernel, between 0 and 1. It has nothing
        to do with the width of a kernel, which goes to ``kernel_params``.
    eps : float, default=0.1
        Share of rows that may end up on the wrong side.
    delta : float, default=0.05
        Chance that more do.
    normalize_kernel : bool, default=False
        Divide ``K(x, y)`` by the root of ``K(x, x) K(y, y)``, which the statements about margins need if the plane does
        not go through the origin.
    rcond : float, default=1e-10
        Directions of the landmarks' span with an eigenvalue below this share of the largest are left out.
    kernel_params : dict, default=None
        Parameters of the kernel, such as ``{"gamma": 0.5}``. Where it has a width and none is given, that is one over
        the square of the mean distance between landmarks.
    random_state : int, RandomState instance or None, default=None
        Draws landmarks and directions.

    Attributes
    ----------
    landmarks_ : {ndarray, sparse matrix} of shape (n_landmarks, n_features) or list
        The landmarks, in the order in which they were drawn.
    landmark_rows_ : ndarray of shape (n_landmarks,)
        Their row numbers in the training table.
    kernel_matrix_rank_ : int or None
        Rank of the landmarks' kernel; None for "F1", which does not ask for it.
    whitening_ : ndarray of shape (n_landmarks, rank) or None
        What takes "F1" to "F2"; None for "F1".
    projection_ : ndarray of shape (rank, n_components) or None
        What takes "F2" to "F3"; None for the others.
    kernel_params_ : dict
        Parameters of the kernel, with the width.
    n_components_ : int
        Number of new columns.
    n_features_in_ : int
        Number of columns seen in ``fit``, unless that was a list of objects.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    RandomProjection : The same for a table as it is.
    margin_report : The margin of a linear model.
    sklearn.kernel_approximation.Nystroem : "F2", turned.

    Notes
    -----
    Landmarks must come from the same distribution as new rows. They are drawn from the training rows of each fold,
    without their labels.

    "F1" columns are nearly collinear for a smooth kernel: standardise them, or regularise what follows. "F3" pays where
    the rank is far above ``1 / gamma^2``; with fewer columns than that the margin is lost.

    A table in blocks of rows is taken by ``partial_fit``; the result is that of ``fit`` on all of them.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from fewer.extract import LandmarkFeatures
    >>> X, y = make_circles(400, factor=0.4, noise=0.05, random_state=0)
    >>> model = make_pipeline(LandmarkFeatures(n_landmarks=10, random_state=0), LogisticRegression(C=100))
    >>> model.fit(X[:200], y[:200]).score(X[200:], y[200:])
    1.0

    Words that share letters:

    >>> def share(a, b):
    ...     return len(set(a) & set(b)) / len(set(a) | set(b))
    >>> words = LandmarkFeatures(share, n_landmarks=2, random_state=1).fit(["sand", "hand", "grey", "obey"])
    >>> words.landmarks_
    ['obey', 'hand']
    >>> words.transform(["land", "grew"]).round(2)
    array([[0.  , 0.6 ],
           [0.14, 0.  ]])
    """

    _drawn: Landmarks

    _parameter_constraints = {
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS)), callable],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "method": [StrOptions({"F1", "F2", "F3"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "gamma": [Interval(Real, 0, 1, closed="right"), None],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "normalize_kernel": ["boolean"],
        "rcond": [Interval(Real, 0, 1, closed="left")],
        "kernel_params": [dict, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: str | Callable = "rbf",
        *,
        n_landmarks="auto",
        method="F1",
        n_components=None,
        gamma=None,
        eps=0.1,
        delta=0.05,
        normalize_kernel=False,
        rcond=1e-10,
        kernel_params=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.method = method
        self.n_components = n_components
        self.gamma = gamma
        self.eps = eps
        self.delta = delta
        self.normalize_kernel = normalize_kernel
        self.rcond = rcond
        self.kernel_params = kernel_params
        self.random_state = random_state

    @property
    def _nested(self) -> bool:  # type: ignore[override]  # random directions are drawn anew for every number of them
        return self.method != "F3"

    @property
    def _takes_sparse(self) -> bool:
        return callable(self.kernel) or self.kernel not in ("chi2", "additive_chi2")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = isinstance(self.kernel, str) and self.kernel in ("chi2", "additive_chi2")
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "LandmarkFeatures":
        """Draw the landmarks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or list
            Training table, or objects that the kernel compares. No labels are needed.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        wanted = self._enough_landmarks()
        self._see(self._rows(X, reset=True), wanted, first=True)
        n_found = len(self.landmark_rows_)
        if n_found < wanted and (self.n_landmarks != "auto" or self.gamma is not None):
            why = f"the margin gamma={self.gamma:g} asks for" if self.n_landmarks == "auto" else "are asked for"
            warn_caller(f"{wanted:,} landmarks {why}, and there are {n_found:,} rows; all of them are taken.")
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> "LandmarkFeatures":
        """Add rows, each of which may replace a landmark.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or list
            The next rows.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The estimator, fitted to all rows so far.
        """
        first = not hasattr(self, "landmarks_")
        self._see(self._rows(X, reset=first), self._enough_landmarks(), first=first)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The new columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or list
            Table with the columns of the training table, or objects.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each landmark, direction of their span, or random direction.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        n_rows = len(X) if isinstance(X, list) else X.shape[0]
        n_needed = self.n_components_ if self._to_columns is None else len(self.landmark_rows_)
        landmarks, lengths = self.landmarks_[:n_needed], None
        if self.normalize_kernel:
            lengths = self._similarity.lengths(X), self._landmark_lengths[:n_needed]
        found = np.empty((n_rows, self.n_components_), dtype=getattr(X, "dtype", np.float64))
        for rows in gen_batches(n_rows, max(_FEWEST, _CELLS // n_needed)):
            similarities = self._similarity.between(X[rows], landmarks)
            if lengths is not None:
                similarities = similarities / np.outer(lengths[0][rows], lengths[1])
            found[rows] = similarities if self._to_columns is None else similarities @ self._to_columns
        return found

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """A checked table, or a list of objects if that is what a function compares."""
        if callable(self.kernel) and are_objects(X):
            objects = list(X)
            if not objects:
                raise ValueError("X holds no objects; LandmarkFeatures needs one at least.")
            return objects
        if isinstance(X, list | tuple) and X and all(isinstance(each, str) for each in X):
            raise ValueError(
                f"X is a list of texts, and kernel={self.kernel!r} compares rows of numbers: pass a function that "
                "returns the similarity of two texts as the kernel, or count words first (TfidfVectorizer)."
            )
        forms = "csr" if self._takes_sparse else False
        return self._validated(X, reset=reset, accept_sparse=forms, ensure_min_samples=1)

    def _enough_landmarks(self) -> int:
        if self.n_landmarks != "auto":
            return self.n_landmarks
        if self.gamma is None:
            return max(_USUAL, self.n_components or 0)
        part = 2 if self.method == "F3" else 1
        return landmark_dim(self.gamma, self.eps / part, self.delta / part)

    def _see(self, X: Any, n_landmarks: int, *, first: bool) -> None:
        """Draw landmarks from these rows and those before, and learn what follows from them."""
        if self.method == "F3" and self.n_components is None and self.gamma is None:
            raise ValueError(
                'method="F3" takes n_components random directions: give their number, or gamma for as many as a '
                "margin asks for."
            )
        if first:
            seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=2)
            self._keys, self._projection_seed = np.random.default_rng(seeds[0]), int(seeds[1])
        keys = self._keys.random(len(X) if isinstance(X, list) else X.shape[0])
        drawn = Landmarks.first(X, keys, n_landmarks) if first else self._drawn.after(X, keys, n_landmarks)
        known = not first and np.array_equal(drawn.numbers, self._drawn.numbers)
        self._drawn = drawn
        if not known:
            self._learn_map()

    @property
    def landmarks_(self) -> Any:
        """The landmarks."""
        return self._drawn.rows

    @property
    def landmark_rows_(self) -> np.ndarray:
        """Which rows they are."""
        return self._drawn.numbers

    @property
    def _similarity(self) -> Similarity:
        return Similarity(self.kernel, self.kernel_params_)

    def _learn_map(self) -> None:
        """What takes similarities to new columns."""
        self.kernel_params_ = dict(self.kernel_params or {})
        if isinstance(self.kernel, str):
            known = sorted(KERNEL_PARAMS[self.kernel])
            unknown = [name for name in self.kernel_params_ if name not in known]
            if unknown:
                raise ValueError(
                    f"kernel_params has {unknown[0]!r}, and the kernel {self.kernel!r} takes "
                    f"{' and '.join(known) if known else 'no parameters'}."
                )
        if "gamma" not in self.kernel_params_:
            width = kernel_width(self.landmarks_, self.kernel, "mean_distance")
            self.kernel_params_ |= {} if width is None else {"gamma": width}
        if self.normalize_kernel:
            self._landmark_lengths = self._similarity.lengths(self.landmarks_, self.landmark_rows_)
        self.kernel_matrix_rank_, self.whitening_, self.projection_, self._to_columns = None, None, None, None
        if self.method == "F1":
            self.n_components_ = self._number_of_components(len(self.landmark_rows_), "one for each landmark")
            return
        M = self._similarity.between(self.landmarks_, self.landmarks_)
        if self.normalize_kernel:
            M = M / np.outer(self._landmark_lengths, self._landmark_lengths)
        self.whitening_ = whitening(M, self.rcond)
        rank = self.kernel_matrix_rank_ = self.whitening_.shape[1]
        self.n_components_ = self._enough_directions(rank)
        if self.method == "F2":
            self._to_columns = self.whitening_[:, : self.n_components_]
        else:
            rng = np.random.default_rng(self._projection_seed)
            saves = self.n_components_ < rank
            self.projection_ = gaussian_entries(rank, self.n_components_, rng).astype(float) if saves else np.eye(rank)
            self._to_columns = self.whitening_ @ self.projection_

    def _enough_directions(self, rank: int) -> int:
        if self.method == "F2" or self.n_components is not None:
            return self._number_of_components(rank, "the rank of the landmarks' kernel")
        assert self.gamma is not None
        enough = margin_dim(self.gamma, self.eps, self.delta)
        if enough >= rank:
            warn_caller(
                f"The margin gamma={self.gamma:g} asks for {enough:,} random directions, and the landmarks span "
                f'{rank:,}; these are kept, which is method="F2".'
            )
        return min(enough, rank)
