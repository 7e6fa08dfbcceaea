"""Discriminant directions with a ridge, by an eigenproblem of the size of the number of classes, and their classifier.

In coordinates that are orthonormal in ``S_t + alpha I`` the within-class scatter ``S_w + alpha I`` is ``I - Gamma``,
and class j has its centre at ``sqrt(Gamma) V_j' / sqrt(n_j)``. So the posterior of normal classes with the common
covariance ``(S_w + alpha I) / n`` needs no more than V, Gamma and the sizes of the classes:

    log P(j | z) = -n / 2 sum_k (z_k - m_jk)^2 / (1 - gamma_k) + log(n_j / n) + constant.

These are the positions of the training rows; ``LeftOut`` of ``_eigenproblem`` has those of rows that are left out.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, warn_caller
from fewer.catalogue import method
from fewer.extract._centred_table import column_means
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.fisher._eigenproblem import Discriminant, Groups, LeftOut, fisher_directions


class ClassGeometry:
    """Centres of the classes along the directions and the spread around them, for either kind of distance."""

    def __init__(
        self,
        rotation: np.ndarray,
        eigenvalues: np.ndarray,
        sizes: np.ndarray,
        scaling: str,
        left_out: LeftOut | None = None,
    ) -> None:
        lengths = np.sqrt(eigenvalues) if scaling == "ridge" else np.ones_like(eigenvalues)
        self.priors = sizes / sizes.sum()
        if left_out is None:
            self.centres = lengths * np.sqrt(eigenvalues) * rotation / np.sqrt(sizes)[:, None]
            self.variances = lengths**2 * (1 - eigenvalues) / sizes.sum()
        else:
            self.centres = left_out.centres * lengths / np.sqrt(eigenvalues)
            self.variances = left_out.variances * lengths**2 / eigenvalues
        # Where rows of a class coincide, nothing but rounding is left of the spread.
        self.variances = np.maximum(self.variances, lengths**2 * np.finfo(np.float64).eps / sizes.sum())

    def log_posteriors(self, Z: np.ndarray, spherical: bool) -> np.ndarray:
        """Of (rows, classes), up to a constant for each row.

        ``spherical``: with one variance for all directions, and all classes equally probable beforehand, so that the
        nearest centre has the largest.
        """
        weights, constants = self.linear(spherical)
        return Z @ weights.T + constants

    def linear(self, spherical: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weights (classes, directions) and constants (classes,) that give the log posteriors."""
        variances = np.full_like(self.variances, self.variances.mean()) if spherical else self.variances
        # Each row's own squared length is the same for all classes.
        weights = self.centres / variances
        constants = -np.einsum("jk,jk->j", weights, self.centres) / 2
        return weights, constants if spherical else constants + np.log(self.priors)


class ProjectedClassifier(ClassifierMixin):
    """Mixin of extractors that also classify along their directions."""

    _decision_constraints: ClassVar[dict] = {
        "scaling": [StrOptions({"ridge", "orthonormal"})],
        "decision_rule": [StrOptions({"left_out", "gaussian", "centroid", "neighbour"})],
    }

    classes_: np.ndarray
    eigenvalues_: np.ndarray
    scaling: str
    decision_rule: str
    transform: Any

    def _learn_classes(self, rotation: np.ndarray, groups: Groups, X: Any, left_out: LeftOut | None) -> None:
        """Where the classes are along the directions that ``transform`` gives."""
        if self.decision_rule != "left_out":
            left_out = None
        elif left_out is None:
            warn_caller(
                f"The {len(groups.codes)} training rows are fitted exactly, as they would be with any labels: "
                "probabilities of new rows are 0 and 1, and not calibrated. Raise alpha, or choose it by "
                "cross-validation (RegularizedFisherCV)."
            )
        self._geometry = ClassGeometry(rotation, self.eigenvalues_, groups.sizes, self.scaling, left_out)
        self._rows, self._codes = None, groups.codes
        if self.decision_rule == "neighbour":
            self._rows = np.asarray(self.transform(X), dtype=np.float64)

    def _warn_of_ridge(self, alpha: float, possible: float, groups: Groups, unit: str) -> None:
        """Say so where a ridge that outweighs the table leaves nothing but the shares of the classes to predict by."""
        n_rows = len(groups.codes)
        if possible < 0.5 and n_rows * self.eigenvalues_[0] < 1 and self.decision_rule in ("left_out", "gaussian"):
            warn_caller(
                f"alpha={alpha:g} is {(1 - possible) / possible:.2g} times as large as the scatter of the table: the "
                "classes are not separated, and one class is predicted for all rows. alpha has the squared unit "
                f"{unit}: scale the columns (StandardScaler), or use a smaller alpha."
            )

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each of ``classes_``; with ``decision_rule="neighbour"`` they are 0 and 1.
        """
        check_is_fitted(self)
        Z = np.asarray(self.transform(X), dtype=np.float64)
        if self._rows is not None:
            return np.eye(len(self.classes_))[self._codes[pairwise_distances_argmin(Z, self._rows)]]
        return softmax(self._geometry.log_posteriors(Z, self.decision_rule == "centroid"), axis=1)


class FisherExtractor(ProjectedClassifier, LinearExtractor):
    """What the two estimators share: the shell around a ``Discriminant``."""

    ridge_coef_: np.ndarray
    means_: np.ndarray

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def scalings_(self) -> np.ndarray:
        """The directions as columns, (n_features, n_components)."""
        return self.components_.T

    @property
    def xbar_(self) -> np.ndarray:
        """Column means of the training table: the same as ``mean_``."""
        return self.mean_

    @property
    def coef_(self) -> np.ndarray | None:
        """Weights of the columns in the log posterior of each class; of two classes, their difference."""
        found = self._linear()
        return None if found is None else found[0].astype(self.components_.dtype)

    @property
    def intercept_(self) -> np.ndarray | None:
        """Constants beside ``coef_``."""
        found = self._linear()
        return None if found is None else found[1].astype(self.components_.dtype)

    def _linear(self) -> tuple[np.ndarray, np.ndarray] | None:
        check_is_fitted(self)
        if self._rows is not None:
            return None
        weights, constants = self._geometry.linear(self.decision_rule == "centroid")
        coef = weights @ self.components_.astype(np.float64)
        intercept = constants - coef @ self.mean_
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    def _training(self, X: Any, y: Any) -> tuple[Any, Groups]:
        """The table and its classes, checked."""
        X, y = self._validated(X, y)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        return X, Groups.of(codes, len(self.classes_))

    def _keep(self, X: Any, mean: np.ndarray, groups: Groups, found: Discriminant, alpha: float | None) -> None:
        """Set what a fit leaves; ``alpha`` is the ridge, if no other was left to choose."""
        if not len(found.eigenvalues):
            raise ValueError(
                "The means of all classes are the same in every column, so no direction separates them; check y, or "
                "use a method for other differences than means, such as HDDA or a kernel (KernelRegularizedFisher)."
            )
        possible = len(found.eigenvalues)
        n_kept = self._number_of_components(
            possible, "one less than classes, or than columns, or than differences of means that are distinct"
        )
        rotation, self.eigenvalues_ = found.rotation[:, :n_kept], found.eigenvalues[:n_kept]
        directions = (found.ridge_coef @ rotation).T
        if self.scaling == "orthonormal":
            directions /= np.sqrt(self.eigenvalues_)[:, None]
        turned = upright(directions)
        # The rotation has to turn with the directions, as it has the positions of the classes.
        signs = np.where(np.einsum("kp,kp->k", turned, directions) < 0, -1, 1)
        self.components_ = turned.astype(X.dtype)
        self.mean_ = mean.astype(X.dtype)
        self.means_ = groups.means(X).astype(X.dtype)
        self.ridge_coef_ = found.ridge_coef.astype(X.dtype)
        self._learn_classes(rotation * signs, groups, X, found.left_out and found.left_out.turned(signs))
        if alpha is not None:
            self._warn_of_ridge(alpha, found.possible, groups, "of the columns")


@method(
    tasks=["classification"],
    when="Classes that differ in their means, and as many columns as rows or more: LDA with a ridge, as fast as "
    "ridge regression. Classes that differ in spread or shape alone need HDDA or a kernel.",
    cost="O(n p min(n, p) + min(n, p)^3) time, O(min(n, p)^2) memory; large sparse tables O(nnz c) a step",
    paper="rda-ridge",
    examples=lambda: [
        RegularizedFisher(),
        RegularizedFisher(alpha=0, scaling="orthonormal", decision_rule="neighbour"),
    ],
    depends_on_scale="alpha is added to sums of squares of the columns",
    aliases=["LDA", "regularised discriminant analysis"],
)
class RegularizedFisher(FisherExtractor):
    """Directions that separate classes, by Fisher's criterion with a ridge.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; by default all, which is one less than classes, or fewer where columns or differences of
        class means are fewer.
    alpha : float, default=1.0
        The ridge: added to the diagonal of the total scatter (sums, not means), so that it counts like ``alpha`` of
        ``sklearn.linear_model.Ridge``. With 0 the pseudo-inverse is used.
    solver : {"auto", "evd", "svd", "cg"}, default="auto"
        Cholesky factor of the smaller matrix of products and a small eigenproblem ("evd"); the singular values of the
        table ("svd"), which are slower and safer; or conjugate gradients ("cg"), which need no matrix of products.
        "auto" is "evd" unless that would lose half of the digits, without a ridge or with one that is tiny beside the
        largest scatter: then "svd"; and "cg" for sparse tables with thousands of rows and columns.
    scaling : {"ridge", "orthonormal"}, default="ridge"
        Lengths of the directions: those of ridge regression, so that those of larger eigenvalues count more in
        distances; or orthonormal in the regularised scatter.
    decision_rule : {"left_out", "gaussian", "centroid", "neighbour"}, default="left_out"
        How ``predict`` classifies along the directions: normal classes as estimated for rows left out of the fit;
        normal classes with the common regularised covariance, as the training rows have it (LDA where ``alpha`` is 0);
        the nearest class centre, or the nearest training row.
    tol : float, default=1e-10
        Directions whose eigenvalue is below this share of the largest are left out.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, by decreasing eigenvalue; the largest entry of each is positive.
    scalings_ : ndarray of shape (n_features, n_components)
        The same as columns.
    eigenvalues_ : ndarray of shape (n_components,)
        Share of the regularised scatter along each direction that lies between classes, from 0 to 1.
    ridge_coef_ : ndarray of shape (n_features, n_classes)
        Coefficients of the ridge regression of ``discriminant_scores_matrix(y)``; they span the directions.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features), or None
        Weights of the columns in the log posterior of each class, up to a constant for each row, as those of
        ``LinearDiscriminantAnalysis``; of two classes, the second's less the first's. None for
        ``decision_rule="neighbour"``, which is not linear.
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
    RegularizedFisherCV : Chooses ``alpha``.
    KernelRegularizedFisher : For borders that are not straight.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Without the ridge, or with one that is relative.

    Notes
    -----
    Columns count by their size once there is a ridge: scale them to comparable units first. With far more columns than
    rows and a small ridge, such as the default one, the training rows of a class nearly coincide even for random
    labels, and the training error is 0. Probabilities with ``decision_rule="left_out"`` allow for it, and are near the
    shares of the classes for random labels; those of the other rules are overconfident. RegularizedFisherCV chooses a
    ridge that does better on new rows.

    New columns are as long as coefficients of ridge regression, about ``1 / sqrt(n)``: have StandardScaler as the next
    step, or ``scaling="orthonormal"``, for estimators that depend on the scale of the columns.

    A sparse table stays sparse. Its singular values come from products of it, whatever the solver, so that without a
    ridge directions below 1e-8 of its largest singular value are lost.

    References
    ----------
    .. [1] Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and
       beyond. Journal of Machine Learning Research 11, 2199-2228.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from fewer.extract import RegularizedFisher
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RegularizedFisher(alpha=10).fit(scale(X), y)
    >>> model.eigenvalues_.round(2)
    array([0.88, 0.78])
    >>> model.transform(scale(X)).shape
    (178, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "evd", "svd", "cg"})],
        **ProjectedClassifier._decision_constraints,
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self, n_components=None, alpha=1.0, solver="auto", scaling="ridge", decision_rule="left_out", tol=1e-10
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.solver = solver
        self.scaling = scaling
        self.decision_rule = decision_rule
        self.tol = tol

    def _predicts_as(self, use):
        """Without a ridge, normal classes along all directions are those of linear discriminant analysis."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        if self.alpha != 0 or self.decision_rule != "gaussian" or self.n_components is not None:
            return 'a ridge, n_components, or decision rules other than "gaussian"'
        return LinearDiscriminantAnalysis() if use == "search" else "collinear columns, which it treats in its own way"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "RegularizedFisher":
        """Find the directions.

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
        if self.solver == "cg" and self.alpha == 0:
            raise ValueError("solver='cg' needs a ridge: raise alpha above 0, or take solver='svd'.")
        mean = column_means(X)
        found = fisher_directions(X, mean, groups, alpha=float(self.alpha), solver=self.solver, tol=self.tol)
        self._keep(X, mean, groups, found, self.alpha)
        return self
