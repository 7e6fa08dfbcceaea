"""Components that classes share (competing centroids), and aspects of counts whose rows have covariates.

    P(x, y = k) = sum_r pi_r phi(x; mu_r, Sigma) P_rk:

the table ``P_rk`` says which class claims which component. Rows of unknown class take part without their factor P. With
counts ``y_ik`` of items instead of one class, it is the aspect model with a density of the row's covariates in the
place of ``P(i | a)``, so that new rows have a distribution of items.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import xlogy
from sklearn.callback import with_callbacks

from fewer._estimators import (
    Interval,
    StrOptions,
    checked_array,
    encoded_classes,
    fit_context,
    get_feature_names,
    refuse_negative,
    validated,
    warn_caller,
)
from fewer.catalogue import method
from fewer.latent._latent_model import climb, is_count_table, row_weights
from fewer.latent.mixtures._class_mixture import (
    Mixture,
    Recipe,
    centred_rows,
    em_step,
    kmeans_labels,
    rows_of,
    starting_mixture,
)
from fewer.latent.mixtures._mixture_discriminant import ClassMixture

_UNCLEAR = 0.6


@method(
    tasks=["classification"],
    when="Classes that overlap or share groups of rows, and classes of which few rows are labelled: components are "
    "found from all rows, and the table of shares says which class claims which.",
    cost="O(n k p + n p^2 + p^3) time an iteration",
    paper="zhu-mixture-aspect",
    examples=lambda: [
        SharedMixtureDiscriminant(4, n_init=1, max_iter=30, tol=1e-4),
        SharedMixtureDiscriminant(4, covariance_type="diag", n_init=2, max_iter=30, tol=1e-4),
    ],
)
class SharedMixtureDiscriminant(ClassMixture):
    """Normal components that all classes share, each with its own shares of the classes.

    Parameters
    ----------
    n_components : int, default=9
        Number of components.
    covariance_type : {"tied", "full", "diag"}, default="tied"
        One covariance for all components, one for each, or variances of its own for each.
    reg_covar : float, default=1e-6
        Added to the variances, as a share of the mean variance of a column.
    n_init : int, default=5
        Number of starts from k-means; the one with the largest objective is kept.
    max_iter : int, default=500
        Maximum number of iterations of EM.
    tol : float, default=1e-6
        Stop when the objective changes by less than this share of its size.
    semi_supervised : bool, default=False
        Whether -1 in ``y`` stands for rows whose class is not known, which take part in the fit all the same.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    class_given_component_ : ndarray of shape (n_components, n_classes)
        ``P(y=k|r)``: which class claims which component. Components are sorted by their dominant class, then by
        weight.
    means_ : ndarray of shape (n_components, n_features)
        Mean of each component.
    covariance_ : ndarray
        Covariance within components, of shape (n_features, n_features); with "full" one for each component, and with
        "diag" variances of shape (n_components, n_features).
    weights_ : ndarray of shape (n_components,)
        Share of all rows in each component.
    scalings_ : ndarray of shape (n_features, n_directions)
        Directions along which components differ, most first, for ``project``.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        Share of the variance between components along each.
    xbar_ : ndarray of shape (n_features,)
        Mean of the table.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood of rows and classes, less what ``reg_covar`` costs, at the beginning of each iteration.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    MixtureDiscriminantAnalysis : Components that belong to one class each.
    AspectModelWithCovariates : The same with counts of items instead of one class.

    Notes
    -----
    With many columns the density outweighs the label, and components are clusters whatever the classes: a warning says
    when most of them have no dominant class.

    References
    ----------
    .. [1] Hastie, T. and Tibshirani, R. (1996). Discriminant analysis by Gaussian mixtures. Journal of the Royal
       Statistical Society B 58, 155-176.
    .. [2] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University.

    Examples
    --------
    A few labels are enough where components are clear; -1 stands for no label.

    >>> import numpy as np
    >>> from fewer.latent import SharedMixtureDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) + 4 * rng.choice([-1, 1], size=(200, 2))
    >>> truth = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> y = np.where(np.arange(200) < 20, truth, -1)
    >>> SharedMixtureDiscriminant(4, semi_supervised=True, random_state=0).fit(X, y).score(X, truth)
    1.0
    """

    _parameter_constraints = {
        **ClassMixture._parameter_constraints,
        "covariance_type": [StrOptions({"tied", "full", "diag"})],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "semi_supervised": ["boolean"],
    }

    def __init__(
        self,
        n_components=9,
        *,
        covariance_type="tied",
        reg_covar=1e-6,
        n_init=5,
        max_iter=500,
        tol=1e-6,
        semi_supervised=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.semi_supervised = semi_supervised
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes; with ``semi_supervised`` -1 where the class is not known.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_classes(X, y, sample_weight)

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any):
        """Fit to one class for each row."""
        X, y = validated(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        weights = row_weights(sample_weight, X)
        weights = np.ones(len(X)) if weights is None else weights
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
        known = _is_labelled(y) if self.semi_supervised else np.ones(len(y), dtype=bool)
        self.classes_, codes = encoded_classes(y[known], type(self).__name__)
        labelled = np.flatnonzero(known)
        shape = (len(X), len(self.classes_))
        Y = sparse.csc_array((weights[labelled], (labelled, codes)), shape=shape)
        return self._fit_labels(X, Y, np.where(known, 0.0, weights), y)

    def _fit_labels(self, X: np.ndarray, Y: sparse.csc_array, unlabelled: np.ndarray, y: Any):
        """Fit to occurrences of labels."""
        weights = np.asarray(Y.sum(axis=1)).ravel() + unlabelled
        kept = np.flatnonzero(weights)
        X, Y, unlabelled, weights = X[kept], sparse.csc_array(Y.tocsr()[kept]), unlabelled[kept], weights[kept]
        if len(X) < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} are asked for, and there are {len(X)} rows (n_samples)."
            )
        centred, self._offset, self._unit = centred_rows(X, weights)
        rows = rows_of(centred, Y, unlabelled)
        recipe = Recipe(self.covariance_type, self.reg_covar)

        def run(random, on_step):
            assignment = kmeans_labels(centred, weights, self.n_components, random)
            start = starting_mixture(rows, assignment, self.n_components, recipe)
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            found = climb(start, lambda state: em_step(rows, recipe, state), **limits)
            return self._in_units_of_the_table(found, rows)

        self._fit_starts(run, X, y)
        unclear = int(np.sum(self.class_given_component_.max(axis=1) < _UNCLEAR))
        if type(self) is SharedMixtureDiscriminant and 2 * unclear > self.n_components:
            warn_caller(
                f"{unclear} of {self.n_components} components have no class with a share of {_UNCLEAR} or more: they "
                "follow the columns rather than the classes. Raise n_components, or use MixtureDiscriminantAnalysis."
            )
        return self

    def _keep(self, state: Mixture) -> None:
        self._keep_mixture(state)
        n_means, p = self.means_.shape
        self.n_components_ = n_means
        covariances = {"tied": p * (p + 1) // 2, "full": n_means * p * (p + 1) // 2, "diag": n_means * p}
        labels = n_means * (len(self.classes_) - 1)
        self.n_parameters_ = n_means - 1 + n_means * p + covariances[self.covariance_type] + labels

    def transform(self, X):
        """Probabilities of the components, given the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1. ``project`` gives coordinates for a map.
        """
        found = self.responsibilities(X)
        return found.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _is_labelled(y: np.ndarray) -> np.ndarray:
    """Rows whose label is not -1."""
    if y.dtype.kind in "iuf":
        return y != -1
    return np.array([not (isinstance(label, int | np.integer) and label == -1) for label in y], dtype=bool)


@method(
    tasks=["classification"],
    when="Counts of items of rows that are described by columns (purchases of customers, species at sites), for a "
    "distribution of items of new rows.",
    cost="O((n p + nnz) k + n p^2 + p^3) time an iteration",
    paper="zhu-mixture-aspect",
    examples=lambda: [AspectModelWithCovariates(4, n_init=1, max_iter=30, tol=1e-4)],
)
class AspectModelWithCovariates(SharedMixtureDiscriminant):
    """Aspects of counts of items, with a density of the covariates of rows in each.

    Every aspect has a normal distribution of covariates and a distribution of items, which are independent within it.

    Parameters
    ----------
    n_components : int, default=5
        Number of aspects.
    covariance_type : {"tied", "full", "diag"}, default="tied"
        One covariance for all aspects, one for each, or variances of its own for each.
    reg_covar : float, default=1e-6
        Added to the variances, as a share of the mean variance of a column.
    n_init : int, default=5
        Number of starts from k-means; the one with the largest objective is kept.
    max_iter : int, default=500
        Maximum number of iterations of EM.
    tol : float, default=1e-6
        Stop when the objective changes by less than this share of its size.
    semi_supervised : bool, default=False
        Where ``y`` has one class for each row: whether -1 stands for rows whose class is not known.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_items,)
        Names of the items: columns of a frame, or their numbers; or the classes.
    class_given_component_ : ndarray of shape (n_components, n_items)
        Distribution of items in each aspect.
    means_ : ndarray of shape (n_components, n_features)
        Mean of the covariates in each aspect.
    covariance_ : ndarray
        Covariance within aspects, as in ``SharedMixtureDiscriminant``.
    weights_ : ndarray of shape (n_components,)
        Share of all occurrences in each aspect.
    scalings_ : ndarray of shape (n_features, n_directions)
        Directions along which aspects differ, most first, for ``project``.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        Share of the variance between aspects along each.
    xbar_ : ndarray of shape (n_features,)
        Mean of the table, over occurrences.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood of rows and items, less what ``reg_covar`` costs, at the beginning of each iteration.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of aspects.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    AspectModel : Without covariates; rows of the training table only.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import AspectModelWithCovariates
    >>> age = np.array([[20.0], [22.0], [24.0], [60.0], [62.0], [64.0]])
    >>> bought = np.array([[5, 1], [4, 0], [6, 1], [0, 4], [1, 5], [0, 6]])
    >>> model = AspectModelWithCovariates(2, random_state=0).fit(age, bought)
    >>> model.predict_proba([[21.0], [63.0]]).round(2)
    array([[0.88, 0.12],
           [0.06, 0.94]])
    """

    def __init__(
        self,
        n_components=5,
        *,
        covariance_type="tied",
        reg_covar=1e-6,
        n_init=5,
        max_iter=500,
        tol=1e-6,
        semi_supervised=False,
        random_state=None,
    ):
        super().__init__(
            n_components,
            covariance_type=covariance_type,
            reg_covar=reg_covar,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            semi_supervised=semi_supervised,
            random_state=random_state,
        )

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the aspects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates of the rows.
        y : {array-like, sparse matrix} of shape (n_samples, n_items) or array-like of shape (n_samples,)
            Counts of the items in each row; or one class for each, as in ``SharedMixtureDiscriminant``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not is_count_table(y):
            return self._fit_classes(X, y, sample_weight)
        names = get_feature_names(y)
        X = validated(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        counts = self._items(y, X.shape[0])
        weights = row_weights(sample_weight, X)
        Y = sparse.csc_array(counts if weights is None else sparse.diags_array(weights) @ sparse.csr_array(counts))
        if Y.sum() == 0:
            raise ValueError("All counts of y are zero.")
        self.classes_ = np.arange(Y.shape[1]) if names is None else np.asarray(names)
        return self._fit_labels(X, Y, np.zeros(X.shape[0]), y)

    def _items(self, y: Any, n_rows: int) -> Any:
        """Counts of items, checked."""
        who = f"y of {type(self).__name__}"
        counts = checked_array(y, who, accept_sparse=("csr", "csc"), dtype=np.float64)
        refuse_negative(counts, who, get_feature_names(y))
        if counts.shape[0] != n_rows:
            raise ValueError(f"X has {n_rows} rows, and y has {counts.shape[0]}.")
        return counts

    def _new_items(self, y: Any, n_rows: int) -> np.ndarray:
        counts = self._items(y, n_rows)
        if counts.shape[1] != len(self.classes_):
            raise ValueError(f"y has {counts.shape[1]} items, and the model was fitted to {len(self.classes_)}.")
        return counts.toarray() if sparse.issparse(counts) else counts

    def score_samples(self, X, y=None):
        """Log-density of each row; with ``y``, log-likelihood of the row's items, each with the covariates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates of rows.
        y : {array-like, sparse matrix} of shape (n_samples, n_items) or array-like of shape (n_samples,), default=None
            Counts of items, or classes.

        Returns
        -------
        log_densities : ndarray of shape (n_samples,)
            In nats. A row without items has 0.
        """
        if y is None or not is_count_table(y):
            return super().score_samples(X, y)
        densities = super().score_samples(X)
        counts = self._new_items(y, len(densities))
        return counts.sum(axis=1) * densities + xlogy(counts, self.predict_proba(X)).sum(axis=1)

    def score(self, X, y=None, sample_weight=None):
        """Mean log-probability of an item, given the covariates; accuracy where ``y`` holds classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates of rows.
        y : {array-like, sparse matrix} of shape (n_samples, n_items) or array-like of shape (n_samples,)
            Counts of items, or classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            In nats for each item; probabilities are at least 1e-12.
        """
        if y is None or not is_count_table(y):
            return super().score(X, y, sample_weight)
        probabilities = self.predict_proba(X)
        counts = self._new_items(y, len(probabilities))
        if sample_weight is not None:
            counts = counts * np.asarray(sample_weight, dtype=np.float64)[:, None]
        return float(np.sum(counts * np.log(np.maximum(probabilities, 1e-12))) / counts.sum())
