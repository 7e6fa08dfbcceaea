"""Discriminant directions whose ridge is chosen by the table itself, a whole path from one decomposition."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv

from fewer._estimators import Interval, StrOptions, fit_context
from fewer.catalogue import method
from fewer.extract._centred import column_means
from fewer.extract.fisher._class_scores import Groups
from fewer.extract.fisher._eigenproblem import SOUND, Products, Spectrum, fisher_directions
from fewer.extract.fisher._regularized_fisher import FisherExtractor, RegularizedFisher
from fewer.extract.fisher._ridge_path import Telling, WholeTable, gcv_errors, held_out_accuracies


@method(
    tasks=["classification"],
    when="As RegularizedFisher, when no ridge is known: a path of them costs little more than one.",
    cost="O(n p min(n, p) + min(n, p)^3) time, some times that with folds; O(min(n, p)^2) memory beside the table",
    paper="rda-ridge",
    examples=lambda: [RegularizedFisherCV(), RegularizedFisherCV(cv=3)],
    depends_on_scale="one of alphas is added to sums of squares of the columns",
)
class RegularizedFisherCV(FisherExtractor):
    """Directions that part classes, with the ridge chosen by cross-validation.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; by default all, as in ``RegularizedFisher``.
    alphas : array-like of shape (n_alphas,), default=(1e-4, 1e-3, ..., 1e6)
        Ridges to choose from.
    cv : "gcv", int, splitter or iterable, default="gcv"
        Generalised cross-validation of the ridge regression that the directions amount to; or what ``cv`` means
        elsewhere in scikit-learn: folds whose held-out rows are told by ``classifier``, where the ridge with the most
        rows told right wins, and of several such the largest.
    scaling : {"ridge", "orthonormal"}, default="ridge"
        Lengths of the directions, as in ``RegularizedFisher``.
    classifier : {"left_out", "gaussian", "centroid", "neighbour"}, default="left_out"
        How classes are told along the directions, as in ``RegularizedFisher``.
    tol : float, default=1e-10
        Directions whose eigenvalue is below this share of the largest are left out.

    Attributes
    ----------
    alpha_ : float
        The ridge chosen.
    scores_ : ndarray of shape (n_alphas,)
        For each of ``alphas``: share of the held-out rows told right; with ``cv="gcv"``, the error times -1. The more,
        the better.
    components_ : ndarray of shape (n_components, n_features)
        The directions, the most telling first; the largest entry of each is positive.
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
    The best of ``scores_`` chose the ridge, so it is a little too good as an estimate; judge the whole by other rows.

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
        **{name: RegularizedFisher._parameter_constraints[name] for name in ("scaling", "classifier", "tol")},
    }

    def __init__(
        self,
        n_components=None,
        alphas=(1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6),
        cv="gcv",
        scaling="ridge",
        classifier="left_out",
        tol=1e-10,
    ):
        self.n_components = n_components
        self.alphas = alphas
        self.cv = cv
        self.scaling = scaling
        self.classifier = classifier
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
        """Share of the held-out rows told right, over all folds, for each alpha."""
        telling = Telling(self.n_components, self.scaling, self.classifier, self.tol)
        table = WholeTable.of(X.tocsr() if sparse.issparse(X) else X, mean, groups, products, float(alphas.min()))
        right, n_held_out = np.zeros(len(alphas)), 0
        splitter = check_cv(self.cv, groups.codes, classifier=True)
        for number, (train, test) in enumerate(splitter.split(X, groups.codes)):
            self._check_fold(number, groups.codes[train])
            fold = table.fold(train, test, self.classifier == "neighbour")
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
