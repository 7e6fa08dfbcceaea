"""Hyperbolic PCA: a projection from pairs of rows labelled as same or different, and one-shot nearest neighbours.

``_pairs`` has the eigenproblem, and the risk by which the projection is judged.
"""

from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel
from sklearn.preprocessing import normalize
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, checked_array, encoded_classes, fit_context
from fewer._kernels._row_products import about_mean
from fewer.catalogue import method
from fewer.extract._extractor import Extractor, upright
from fewer.extract._kernel_functions import half_rbf
from fewer.extract.hyperbolic._pairs import (
    FeatureSpace,
    Leading,
    Pairs,
    Scatter,
    Threshold,
    best_threshold,
    bounded_risk,
    diameter,
    drawn_pairs,
    feature_space,
    judged_pairs,
    label_scatter,
    leading_eigenpairs,
    median_squared_distance,
    number_of_positive_eigenvalues,
    pair_distances,
    pair_scatter,
    pair_weights,
    told_pairs,
)

_ETAS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_THRESHOLDS = np.linspace(0.05, 0.95, 19)
_USUAL_GAMMA = 8.0
_SAME_RISK = 1e-6


class _Fit(NamedTuple):
    """A projection with the weight that it was made with, and the threshold and margin that go with it."""

    eta: float
    leading: Leading
    threshold: Threshold
    margin: float


@method(
    tasks=["classification"],
    when="Many classes with few rows each, and new ones to come: faces, signatures, speakers. What was learnt from "
    "some classes about sameness carries over to others, where one example of each is then enough. Classes must "
    "vary in a common way for that; compare with kernel PCA before trusting it.",
    cost="O(n^3) with a kernel; O(n p^2 + p^3) for the linear one; O(n^2) memory, or O(n p + p^2)",
    paper="hyperbolic-pca",
    examples=lambda: [HyperbolicPCA(), HyperbolicPCA(n_components=2, kernel="linear")],
    depends_on_scale="with a number for gamma the width is in the unit of the columns",
    depends_on_shift="with normalize_rows=True rows are scaled to one length",
)
class HyperbolicPCA(Extractor):
    """A projection that brings rows of the same kind close and keeps different ones apart.

    Parameters
    ----------
    n_components : int or None, default=10
        Number of new columns, at most as many as have a positive eigenvalue (about one less than there are classes);
        None for all of these.
    kernel : {"rbf", "linear"} or callable, default="rbf"
        "rbf" is ``0.5 exp(-gamma |x - y|^2)``. A function gets two tables and gives the matrix of a positive kernel,
        such as :func:`~fewer.extract.normalized_rbf`.
    gamma : float, default=None
        For "rbf". By default 8 for rows of unit length, and otherwise one over the median squared distance of rows.
    eta : {"auto", "threshold"} or float, default="auto"
        Weight of different pairs, where same ones weigh -1. "auto" tries weights from 0.005 to 2, "threshold" those
        for which the risk at each threshold of ``c_grid`` is bounded most tightly; the smallest risk decides.
    c_grid : array-like, default=None
        Thresholds to choose from, between 0 and 1 as shares of the diameter. By default quantiles of the projected
        distances, or 19 values from 0.05 to 0.95 for ``eta="threshold"``.
    margin : float, default=0.01
        Pairs this close to the squared threshold count as partly wrong; as a share of the largest squared distance of
        two projected rows.
    balanced : bool, default=True
        Whether same and different pairs weigh the same in total, however many there are of each.
    pairs : "all" or int, default="all"
        All pairs of rows, or as many at random, half of them same.
    normalize_rows : bool, default=False
        Whether rows are scaled to unit length first.
    random_state : int, RandomState or None, default=None
        Draws pairs, also those that risks are estimated from if there are more than two million.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalue of each new column, decreasing.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Weights of the training rows in each direction of feature space, which have unit length.
    components_ : ndarray of shape (n_components, n_features) or None
        The directions, for the linear kernel.
    threshold_ : float
        Two rows are said to be the same if their distance is below this share of the diameter.
    margin_ : float
        The margin in units of the squared diameter.
    train_risk_ : float
        Mean loss of that rule over training pairs.
    risk_bound_ : float
        Upper bound on its risk on new pairs, with probability 0.95; rarely below 1, useful for comparisons.
    eta_ : float
        Weight of different pairs.
    n_positive_eigenvalues_ : int
        How many directions keep different pairs further apart than same ones, at this weight.
    diameter_ : float
        Bound of the distance between two rows in feature space.
    gamma_ : float or None
        Width of the "rbf" kernel.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features) or None
        Training rows that the kernel is taken with; None for the linear kernel.
    n_components_ : int
        Number of new columns.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    one_shot_error : Error of a representation with one example of each new class.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : For classes that are all known.
    sklearn.decomposition.KernelPCA : Without classes.

    Notes
    -----
    A training risk near 0 with a poor one on new classes is overfitting: take more rows of each class, or a smaller
    ``gamma``.

    References
    ----------
    .. [1] Maurer, A. (2006). Generalization bounds for subspace selection and hyperbolic PCA. Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 185-197.

    Examples
    --------
    Classes differ in the first three columns, and vary in the others much more.

    >>> import numpy as np
    >>> from fewer.extract import HyperbolicPCA, one_shot_error
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(30), 10)
    >>> X = rng.normal(size=(300, 8)) * [0.1, 0.1, 0.1, 5, 5, 5, 5, 5]
    >>> X[:, :3] += rng.normal(size=(30, 3))[y]
    >>> known, new = y < 20, y >= 20
    >>> model = HyperbolicPCA(3, kernel="linear").fit(X[known], y[known])
    >>> before = one_shot_error(X[new], y[new], random_state=0)
    >>> after = one_shot_error(model.transform(X[new]), y[new], random_state=0)
    >>> print(f"{before:.2f} {after:.2f}")
    0.87 0.04
    """

    _nested = False  # the weight of different pairs is chosen anew for every number of columns

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({"rbf", "linear"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "eta": [StrOptions({"auto", "threshold"}), Interval(Real, 0, None, closed="neither")],
        "c_grid": ["array-like", None],
        "margin": [Interval(Real, 0, 1, closed="neither")],
        "balanced": ["boolean"],
        "pairs": [StrOptions({"all"}), Interval(Integral, 2, None, closed="left")],
        "normalize_rows": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=10,
        *,
        kernel="rbf",
        gamma=None,
        eta="auto",
        c_grid=None,
        margin=0.01,
        balanced=True,
        pairs="all",
        normalize_rows=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.eta = eta
        self.c_grid = c_grid
        self.margin = margin
        self.balanced = balanced
        self.pairs = pairs
        self.normalize_rows = normalize_rows
        self.random_state = random_state

    @property
    def _takes_sparse(self) -> bool:
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the projection from labels: rows with the same one are the same.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, copy=True)
        codes = encoded_classes(y, "HyperbolicPCA").codes
        rng = check_random_state(self.random_state)
        if self.pairs == "all":
            judged = judged_pairs(codes, rng)
            return self._fit(X, judged, lambda rows: label_scatter(rows, codes, self.balanced), len(codes))
        pairs = drawn_pairs(codes, self.pairs, rng)
        return self._fit(X, pairs, lambda rows: pair_scatter(rows, pairs, self.balanced), self.pairs)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_pairs(self, X, pairs, r):
        """Find the projection from pairs of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        pairs : array-like of int of shape (n_pairs, 2)
            Numbers of the two rows of each pair.
        r : array-like of shape (n_pairs,)
            1 or True if they are the same, -1, 0 or False if they are different.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X, copy=True)
        told = told_pairs(pairs, r, X.shape[0])
        return self._fit(X, told, lambda rows: pair_scatter(rows, told, self.balanced), len(told.same))

    def _fit(self, X: Any, judged: Pairs, scatter_of: Any, n_independent: int) -> "HyperbolicPCA":
        if not judged.same.any() and self.balanced:
            raise ValueError(
                "No two rows are of the same class, so there is nothing to bring close; with balanced=False the "
                "projection only keeps rows apart, which is (kernel) PCA."
            )
        if judged.same.all():
            raise ValueError("No two rows are of different classes, so there is nothing to keep apart.")
        if self.normalize_rows:
            X = normalize(X)
        self._set_gamma(X)
        if self.kernel == "linear":  # only differences of rows count, and they have more digits about the mean
            X = about_mean(X)[0].astype(X.dtype, copy=False)
        primal = self.kernel == "linear" and X.shape[1] <= X.shape[0]
        space = FeatureSpace(X, None) if primal else feature_space(self._kernel_between(X, X).astype(float))
        rows = space.rows
        self.diameter_ = 1.0 if self.kernel == "rbf" else diameter(rows)
        if self.diameter_ == 0:
            raise ValueError("All rows are equal in feature space, so there is nothing to project; check the table.")
        scatter = scatter_of(rows)
        best = self._best(scatter, rows, judged)
        self._keep(X, space, best)
        self.n_positive_eigenvalues_ = number_of_positive_eigenvalues(scatter.operator(best.eta))
        self._n_independent = n_independent
        self.risk_bound_ = self.risk_bound(0.05)
        self._warn_of_few()
        return self

    def _set_gamma(self, X: Any) -> None:
        self.gamma_ = self.gamma
        if self.kernel != "rbf":
            self.gamma_ = None
        elif self.gamma is None:
            self.gamma_ = _USUAL_GAMMA if self.normalize_rows else 1 / median_squared_distance(X)

    def _kernel_between(self, X: Any, Y: Any) -> np.ndarray:
        if self.kernel == "rbf":
            return half_rbf(X, Y, gamma=self.gamma_)
        return linear_kernel(X, Y) if self.kernel == "linear" else np.asarray(self.kernel(X, Y))

    def _candidate_weights(self, judged: Pairs) -> np.ndarray:
        """Weights of different pairs to try."""
        if not isinstance(self.eta, str):
            return np.array([float(self.eta)])
        if not judged.same.any():  # any weight gives the same projection
            return np.ones(1)
        if self.eta == "auto":
            return np.array(_ETAS)
        different, same = pair_weights(_THRESHOLDS if self.c_grid is None else _checked_grid(self.c_grid), self.margin)
        return np.unique(different / -same)

    def _best(self, scatter: Scatter, rows: Any, judged: Pairs) -> _Fit:
        """The projection with the smallest risk on training pairs."""
        c_grid = None if self.c_grid is None else _checked_grid(self.c_grid)
        best = None
        for eta in self._candidate_weights(judged):
            leading = leading_eigenpairs(scatter.operator(eta), self.n_components)
            if len(leading.values) == 0:
                continue
            squared = pair_distances(safe_sparse_dot(rows, leading.vectors), judged) / self.diameter_**2
            # A margin in units of the diameter would hide all of a projection that is much smaller than that.
            margin = float(self.margin * squared.max())
            threshold = best_threshold(squared, judged.same, margin, self.balanced, c_grid)
            if best is None or threshold.risk < best.threshold.risk - _SAME_RISK:
                best = _Fit(float(eta), leading, threshold, margin)
        if best is None:
            raise ValueError(
                f"No direction keeps different pairs further apart than same ones with eta={self.eta}; raise eta."
            )
        return best

    def _keep(self, X: Any, space: FeatureSpace, best: _Fit) -> None:
        """Set what the projection is made of; each direction is turned so that its largest entry is positive."""
        self.eta_ = best.eta
        self.eigenvalues_ = best.leading.values
        self.threshold_, self.train_risk_ = best.threshold
        self.margin_ = best.margin
        self.n_components_ = len(self.eigenvalues_)
        self.components_ = None
        self.X_fit_ = X
        if space.spanning is not None:
            dual = upright(space.dual(best.leading.vectors).T).T
        if self.kernel == "linear":
            directions = best.leading.vectors.T if space.spanning is None else safe_sparse_dot(X.T, dual).T
            turned = upright(directions)
            self.components_ = turned.astype(X.dtype)
            self.X_fit_ = None
            if space.spanning is None:
                gram = safe_sparse_dot(X.T, X, dense_output=True)
                dual = safe_sparse_dot(
                    X, np.linalg.pinv(gram, rcond=len(gram) * np.finfo(np.float64).eps, hermitian=True) @ turned.T
                )
            else:
                dual = dual * np.sign(np.einsum("ij,ij->i", turned, directions))
                dual -= dual.mean(axis=0)  # so that rows that are not centred make up the same directions
        self.dual_coef_ = np.ascontiguousarray(dual, dtype=X.dtype)

    def _warn_of_few(self) -> None:
        """Say so if fewer columns are there than were asked for; by default as many are meant as make sense."""
        if self.n_components != signature(type(self)).parameters["n_components"].default:
            self._number_of_components(
                self.n_positive_eigenvalues_, "as many as keep different pairs further apart than same ones"
            )

    def transform(self, X):
        """Rows along the directions in feature space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if self.normalize_rows:
            X = normalize(X)
        if self.components_ is not None:
            return np.asarray(X @ self.components_.T)
        return (self._kernel_between(X, self.X_fit_) @ self.dual_coef_).astype(X.dtype, copy=False)

    def pair_decision(self, X1, X2):
        """Whether rows of two tables are of the same kind, pair by pair.

        Parameters
        ----------
        X1 : {array-like, sparse matrix} of shape (n_pairs, n_features)
            First row of each pair.
        X2 : {array-like, sparse matrix} of shape (n_pairs, n_features)
            Second row of each pair.

        Returns
        -------
        decision : ndarray of shape (n_pairs,)
            Squared threshold less the squared distance, in units of the diameter: positive for the same.
        """
        first, second = self.transform(X1), self.transform(X2)
        if len(first) != len(second):
            raise ValueError(f"X1 has {len(first)} rows and X2 has {len(second)}; they are compared row by row.")
        return self.threshold_**2 - row_norms(first - second, squared=True) / self.diameter_**2

    def score_pairs(self, X, y, pairs=None):
        """Balanced error rate of pairs: same and different ones weigh one half each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.
        y : array-like of shape (n_samples,) or (n_pairs,)
            Classes of the rows; with ``pairs``, 1 or True for each pair that is the same, and -1, 0 or False for the
            others.
        pairs : array-like of int of shape (n_pairs, 2), default=None
            Numbers of the two rows of each pair; by default all pairs.

        Returns
        -------
        risk : float
            0 if all are right, 0.5 by chance.
        """
        new = self.transform(X)
        if pairs is None:
            codes = encoded_classes(column_or_1d(y), "HyperbolicPCA").codes
            check_consistent_length(new, codes)
            told = judged_pairs(codes, check_random_state(self.random_state))
        else:
            told = told_pairs(pairs, y, len(new))
        wrong = (pair_distances(new, told) / self.diameter_**2 < self.threshold_**2) != told.same
        kinds = [wrong[each].mean() for each in (told.same, ~told.same) if each.any()]
        return float(np.mean(kinds))

    def risk_bound(self, delta=0.05):
        """Upper bound on the risk on new pairs, with a given probability.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that it does.

        Returns
        -------
        bound : float
            Training risk and what the number of columns, rows and the margin add to it. With labels, every row counts
            as one independent pair.
        """
        check_is_fitted(self)
        if not 0 < delta < 1:
            raise ValueError(f"delta={delta} must lie between 0 and 1.")
        return bounded_risk(self.train_risk_, self.n_components_, self._n_independent, self.margin_, delta)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _checked_grid(c_grid: Any) -> np.ndarray:
    try:
        grid = np.asarray(c_grid, dtype=float).ravel()
    except (TypeError, ValueError):
        grid = np.empty(0)
    if not len(grid) or not ((grid > 0) & (grid < 1)).all():
        raise ValueError(
            "c_grid must hold thresholds between 0 and 1, as shares of the diameter, such as [0.1, 0.2, 0.4]; it is "
            f"{c_grid!r}."
        )
    return grid


def one_shot_error(Z: Any, y: Any, n_repeats: int = 100, random_state: Any = None) -> float:
    """Error of a nearest-neighbour rule that has seen one row of each class.

    Parameters
    ----------
    Z : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, as an extractor that was fitted on other classes gives them.
    y : array-like of shape (n_samples,)
        Their classes.
    n_repeats : int, default=100
        How often one example of each class is drawn.
    random_state : int, RandomState or None, default=None
        Draws the examples.

    Returns
    -------
    error : float
        Share of all other rows whose nearest example is of another class, on average.

    References
    ----------
    .. [1] Maurer, A. (2006). Generalization bounds for subspace selection and hyperbolic PCA. Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 185-197.

    Examples
    --------
    >>> from fewer.extract import one_shot_error
    >>> one_shot_error([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"], random_state=0)
    0.0
    """
    Z = checked_array(Z, "one_shot_error", accept_sparse="csr", dtype=(np.float64, np.float32))
    y = column_or_1d(y)
    check_consistent_length(Z, y)
    if n_repeats < 1:
        raise ValueError(f"n_repeats={n_repeats} must be at least 1.")
    codes = encoded_classes(y, "one_shot_error").codes
    rng = check_random_state(random_state)
    sizes = np.bincount(codes)
    if sizes.max() == 1:
        raise ValueError("Every class has a single row, so no row is left to classify after one example of each.")
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    errors = []
    for _ in range(n_repeats):
        examples = order[starts + rng.randint(sizes)]
        others = np.ones(len(codes), dtype=bool)
        others[examples] = False
        nearest = euclidean_distances(Z[others], Z[examples], squared=True).argmin(axis=1)
        errors.append(np.mean(nearest != codes[others]))
    return float(np.mean(errors))
