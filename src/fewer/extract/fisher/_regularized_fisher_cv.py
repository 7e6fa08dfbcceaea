"""Discriminant directions whose ridge is chosen by cross-validation, with a whole path from one decomposition.

Generalised cross-validation is that of the ridge regression of ``Y = H E Pi^{-1/2}`` that gives the directions. With
``HX = U D V'``, ``t_i = ||U_i'Y||^2`` and ``||Y||^2 = c - 1``,

    GCV(alpha) = n RSS / (n - df)^2,   RSS = c - 1 - sum t_i + sum (alpha / (d_i^2 + alpha))^2 t_i,
                                       df  = 1 + sum d_i^2 / (d_i^2 + alpha).

For held-out rows the products of the training rows are those of all rows less those of the rows left out, so that those
of all folds together cost about as much as those of one fit.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import check_cv
from sklearn.utils import gen_batches

from fewer._estimators import Interval, StrOptions, fit_context
from fewer.catalogue import method
from fewer.extract._centred_table import centred_kernel, column_means, scatter
from fewer.extract.fisher._eigenproblem import SOUND, Groups, Products, Spectrum, fisher_directions, scores_matrix
from fewer.extract.fisher._regularized_fisher import ClassGeometry, FisherExtractor, RegularizedFisher

_DIRECTIONS = 64
"""Directions, of several ridges, along which held-out rows are seen in one product."""

_ROUNDING = 1e4 * float(np.finfo(np.float64).eps)
"""Share of the total scatter below which a ridge does not hide what rounding leaves of differences of products."""


def gcv_errors(spectrum: Spectrum, alphas: np.ndarray, n_rows: int) -> np.ndarray:
    """Generalised cross-validation error for each alpha; infinite where the regression has no residuals to judge by."""
    squares, shares = spectrum.squares, np.einsum("rc,rc->r", spectrum.shares, spectrum.shares)
    n_classes = spectrum.shares.shape[1]
    # Where the rows span all that they can, nothing is left outside but rounding.
    outside = max(n_classes - 1 - shares.sum(), 0) if len(squares) < n_rows - 1 else 0
    kept = squares / (squares + alphas[:, None])
    residuals = outside + (1 - kept) ** 2 @ shares
    freedom = n_rows - 1 - kept.sum(axis=1)
    errors = np.full(len(alphas), np.inf)
    judged = freedom > 1e-8
    errors[judged] = n_rows * residuals[judged] / freedom[judged] ** 2
    return errors


class Telling(NamedTuple):
    """How rows are classified along the directions: the parameters of the estimator that matter to it."""

    n_components: int | None
    scaling: str
    decision_rule: str
    tol: float


class Fold(NamedTuple):
    """A split, decomposed: ``(rows - centre) @ basis`` are rows in the coordinates of V."""

    spectrum: Spectrum
    groups: Groups
    basis: np.ndarray
    centre: np.ndarray
    training: Any
    held_out: Any
    answers: np.ndarray


class WholeTable(NamedTuple):
    """All rows, with the products and sums from which those of any fold follow, and the smallest ridge."""

    X: Any
    mean: np.ndarray
    groups: Groups
    products: Products
    class_means: np.ndarray
    least_alpha: float

    @classmethod
    def of(
        cls, X: Any, mean: np.ndarray, groups: Groups, products: Products, least_alpha: float = np.inf
    ) -> "WholeTable":
        return cls(X, mean, groups, products, groups.means(X), least_alpha)

    def fold(self, train: np.ndarray, test: np.ndarray, with_rows: bool) -> Fold:
        """A split, decomposed; ``with_rows`` keeps the training rows too."""
        if self.products.by_columns:
            return self._fold_by_columns(train, test, with_rows)
        own, raw = self._groups(train), self.products.matrix[np.ix_(train, train)]
        spectrum = Spectrum.of_products(Products(centred_kernel(raw), scores_matrix(own), False))
        assert spectrum.left is not None
        held_out = self.products.matrix[np.ix_(test, train)]
        basis = spectrum.left / np.sqrt(spectrum.squares)
        return Fold(spectrum, own, basis, raw.mean(axis=0), raw, held_out, self.groups.codes[test])

    def _fold_by_columns(self, train: np.ndarray, test: np.ndarray, with_rows: bool) -> Fold:
        own = self._groups(train)
        left_out = np.setdiff1d(np.arange(self.X.shape[0]), train)
        others, spectrum = None, None
        # Without a ridge, what rounding leaves of a column that is constant in this fold would become a direction.
        exact = self.least_alpha < _ROUNDING * np.trace(self.products.matrix)
        if exact and not sparse.issparse(self.X):
            rows = self.X[train]
            centre = column_means(rows)
            spectrum = Spectrum.of_table(rows, centre, own)
        elif exact or 2 * len(left_out) > len(train) or len(train) + len(left_out) > self.X.shape[0]:
            rows = self.X[train]
            centre, class_means = column_means(rows), own.means(rows)
            its_scatter = scatter(rows, centre)
        else:  # taking away the other rows is less work
            others = self.X[left_out]
            sums = self.groups.sizes[:, None] * self.class_means - self._groups(left_out).sums(others)
            centre, class_means = sums.sum(axis=0) / len(train), sums / own.sizes[:, None]
            shift = centre - self.mean
            its_scatter = self.products.matrix - scatter(others, self.mean) - len(train) * np.outer(shift, shift)
        if spectrum is None:
            classes = (np.sqrt(own.sizes)[:, None] * (class_means - centre)).T
            spectrum = Spectrum.of_products(Products(its_scatter, classes, True))
        assert spectrum.right is not None
        training = self.X[train] if with_rows else None
        held_out = others if others is not None and np.array_equal(left_out, test) else self.X[test]
        return Fold(spectrum, own, spectrum.right, centre, training, held_out, self.groups.codes[test])

    def _groups(self, rows: np.ndarray) -> Groups:
        return Groups.of(self.groups.codes[rows], len(self.groups.sizes))


def held_out_accuracies(fold: Fold, alphas: np.ndarray, telling: Telling) -> np.ndarray:
    """Accuracy on the held-out rows, for each alpha."""
    accuracies: list[float] = []
    for some in gen_batches(len(alphas), max(1, _DIRECTIONS // len(fold.groups.sizes))):
        solved = [_directions(fold, alpha, telling) for alpha in alphas[some]]
        # Rows meet the directions of several alphas in one product, which is faster than one by one.
        to_directions = fold.basis @ np.hstack([each.coordinates for each in solved])
        held_out = np.asarray(fold.held_out @ to_directions) - fold.centre @ to_directions
        training = None
        if telling.decision_rule == "neighbour":
            training = np.asarray(fold.training @ to_directions) - fold.centre @ to_directions
        end = 0
        for each in solved:
            start, end = end, end + each.coordinates.shape[1]
            own = None if training is None else training[:, start:end]
            told = _told(fold.groups, each, held_out[:, start:end], own, telling)
            accuracies.append(float(np.mean(told == fold.answers)))
    return np.array(accuracies)


class _Directions(NamedTuple):
    coordinates: np.ndarray
    geometry: ClassGeometry


def _directions(fold: Fold, alpha: float, telling: Telling) -> _Directions:
    """Directions for one alpha in the coordinates of V, and where the classes are along them."""
    rotation, eigenvalues = fold.spectrum.rotation(alpha, telling.tol)
    rotation, eigenvalues = rotation[:, : telling.n_components], eigenvalues[: telling.n_components]
    coordinates = fold.spectrum.ridge_coordinates(alpha) @ rotation
    if telling.scaling == "orthonormal":
        coordinates /= np.sqrt(eigenvalues)
    left = fold.spectrum.left_out(alpha, rotation, fold.groups) if telling.decision_rule == "left_out" else None
    return _Directions(coordinates, ClassGeometry(rotation, eigenvalues, fold.groups.sizes, telling.scaling, left))


def _told(
    groups: Groups, solved: _Directions, rows: np.ndarray, training: np.ndarray | None, telling: Telling
) -> np.ndarray:
    if not rows.shape[1]:  # no direction separates the classes of this fold
        return np.full(len(rows), groups.sizes.argmax())
    if training is not None:
        return groups.codes[pairwise_distances_argmin(rows, training)]
    return solved.geometry.log_posteriors(rows, telling.decision_rule == "centroid").argmax(axis=1)


@method(
    tasks=["classification"],
    when="As RegularizedFisher, when no ridge is known: a path of them costs little more than one.",
    cost="O(n p min(n, p) + min(n, p)^3) time, some times that with folds; O(min(n, p)^2) memory beside the table",
    paper="rda-ridge",
    examples=lambda: [RegularizedFisherCV(), RegularizedFisherCV(cv=3)],
    depends_on_scale="one of alphas is added to sums of squares of the columns",
)
class RegularizedFisherCV(FisherExtractor):
    """Directions that separate classes, with the ridge chosen by cross-validation.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; by default all, as in ``RegularizedFisher``.
    alphas : array-like of shape (n_alphas,), default=(1e-4, 1e-3, ..., 1e6)
        Ridges to choose from.
    cv : "gcv", int, splitter or iterable, default="gcv"
        Generalised cross-validation of the ridge regression that the directions amount to; or what ``cv`` means
        elsewhere in scikit-learn: folds whose held-out rows are classified by ``decision_rule``. The ridge of the best
        accuracy is chosen, and of several such the largest.
    scaling : {"ridge", "orthonormal"}, default="ridge"
        Lengths of the directions, as in ``RegularizedFisher``.
    decision_rule : {"left_out", "gaussian", "centroid", "neighbour"}, default="left_out"
        How rows are classified along the directions, as in ``RegularizedFisher``.
    tol : float, default=1e-10
        Directions whose eigenvalue is below this share of the largest are left out.

    Attributes
    ----------
    alpha_ : float
        The ridge chosen.
    scores_ : ndarray of shape (n_alphas,)
        For each of ``alphas``: accuracy on the held-out rows; with ``cv="gcv"``, the error times -1. Larger is better.
    components_ : ndarray of shape (n_components, n_features)
        The directions, by decreasing eigenvalue; the largest entry of each is positive.
    scalings_ : ndarray of shape (n_features, n_components)
        The same as columns.
    eigenvalues_ : ndarray of shape (n_components,)
        Share of the regularised scatter along each direction that lies between classes, from 0 to 1.
    ridge_coef_ : ndarray of shape (n_features, n_classes)
        Coefficients of the ridge regression of ``discriminant_scores_matrix(y)``; they span the directions.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features), or None
        Weights of the columns in the log posteriors, as in ``RegularizedFisher``.
    intercept_ : ndarray of shape (n_classes,) or (1,), or None
        The constants beside them.
    means_ : ndarray of shape (n_classes, n_features)
        Mean of each class.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    xbar_ : ndarray of shape (n_features,)
        The same as ``mean_``.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    RegularizedFisher : With a given ridge.

    Notes
    -----
    The best of ``scores_`` chose the ridge, so it is optimistic as an estimate of accuracy; evaluate the whole
    estimator on other rows.

    References
    ----------
    .. [1] Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and
       beyond. Journal of Machine Learning Research 11, 2199-2228.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from fewer.extract import RegularizedFisherCV
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RegularizedFisherCV().fit(X[::8], y[::8])
    >>> model.alpha_
    1000.0
    >>> bool(model.score(X[1::8], y[1::8]) > 0.9)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alphas": ["array-like"],
        "cv": [StrOptions({"gcv"}), "cv_object"],
        **{name: RegularizedFisher._parameter_constraints[name] for name in ("scaling", "decision_rule", "tol")},
    }

    def __init__(
        self,
        n_components=None,
        alphas=(1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6),
        cv="gcv",
        scaling="ridge",
        decision_rule="left_out",
        tol=1e-10,
    ):
        self.n_components = n_components
        self.alphas = alphas
        self.cv = cv
        self.scaling = scaling
        self.decision_rule = decision_rule
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "RegularizedFisherCV":
        """Choose the ridge, and find the directions with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, groups = self._training(X, y)
        alphas = self._checked_alphas()
        mean = column_means(X)
        products = Products.of(X, mean, groups)
        spectrum = None
        if isinstance(self.cv, str):
            spectrum = Spectrum.of_products(products)
            self.scores_ = -gcv_errors(spectrum, alphas, X.shape[0])
        else:
            self.scores_ = self._accuracies(X, mean, products, groups, alphas)
        best = np.flatnonzero(self.scores_ == self.scores_.max())
        self.alpha_ = float(alphas[best].max())
        if spectrum is not None and (sparse.issparse(X) or spectrum.soundness(self.alpha_) >= SOUND):
            found = spectrum.discriminant(X, groups, self.alpha_, self.tol)
        else:
            found = fisher_directions(X, mean, groups, alpha=self.alpha_, solver="auto", tol=self.tol)
        # The ridge chosen over the largest scatter is (1 - possible) / possible; the smallest one may still be larger.
        all_too_large = alphas.min() * (1 - found.possible) > self.alpha_ * found.possible
        self._keep(X, mean, groups, found, self.alpha_ if all_too_large else None)
        return self

    def _checked_alphas(self) -> np.ndarray:
        alphas = np.asarray(self.alphas, dtype=np.float64)
        if alphas.ndim != 1 or not len(alphas) or not np.isfinite(alphas).all() or (alphas < 0).any():
            raise ValueError(
                f"alphas has to be a list of ridges, 0 or more, such as [1, 10, 100]; it is {self.alphas!r}."
            )
        return alphas

    def _accuracies(
        self, X: Any, mean: np.ndarray, products: Products, groups: Groups, alphas: np.ndarray
    ) -> np.ndarray:
        """Accuracy on the held-out rows, over all folds, for each alpha."""
        telling = Telling(self.n_components, self.scaling, self.decision_rule, self.tol)
        table = WholeTable.of(X.tocsr() if sparse.issparse(X) else X, mean, groups, products, float(alphas.min()))
        right, n_held_out = np.zeros(len(alphas)), 0
        splitter = check_cv(self.cv, groups.codes, classifier=True)
        for number, (train, test) in enumerate(splitter.split(X, groups.codes)):
            self._check_fold(number, groups.codes[train])
            fold = table.fold(train, test, self.decision_rule == "neighbour")
            right += len(test) * held_out_accuracies(fold, alphas, telling)
            n_held_out += len(test)
        return right / n_held_out

    def _check_fold(self, number: int, codes: np.ndarray) -> None:
        absent = np.setdiff1d(np.arange(len(self.classes_)), codes)
        if len(absent):
            label = self.classes_[absent].tolist()[0]
            raise ValueError(
                f"Fold {number} has no training row of class {label!r}, so its directions cannot be found: use fewer "
                "folds, cv='gcv', which needs none, or leave rare classes out."
            )
