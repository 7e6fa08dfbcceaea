"""A toy estimator that keeps every promise, and others that break one each.

The toys are held to the same promises as the real estimators, so that a promise which cannot fail is found out.
"""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from fewer.catalogue import method

CARD = {
    "room": "extract",
    "tasks": ["unsupervised"],
    "when": "The rows vary mostly along one direction, and that will do.",
    "cost": "O(n p) a step",
}


@method(**CARD)
class Faithful(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project rows on the direction along which they vary most.

    Parameters
    ----------
    max_iter : int, default=200
        Power iterations.
    random_state : int, RandomState instance or None, default=None
        Draws the starting direction.

    Attributes
    ----------
    direction_ : ndarray of shape (n_features,)
        Unit vector.
    mean_ : ndarray of shape (n_features,)
        Column means.
    n_iter_ : int
        Iterations run.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    Examples
    --------
    >>> import numpy as np
    >>> Faithful(random_state=0).fit(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])).direction_.round(3)
    array([0.447, 0.894])
    """

    _parameter_constraints = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, max_iter=200, random_state=None):
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the direction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X, reset=True)
        self.mean_ = np.asarray(X.mean(axis=0)).ravel()
        direction = self._start(X).astype(X.dtype)
        fitting = self._init_callback_context(max_subtasks=self.max_iter)
        fitting.call_on_fit_task_begin(estimator=self, X=X)
        for step_number in range(1, self.max_iter + 1):
            self.n_iter_ = step_number
            image = X @ direction - self.mean_ @ direction
            direction = X.T @ image - self.mean_ * image.sum()
            direction /= np.linalg.norm(direction)
            step = fitting.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=self, X=X)
            if step.call_on_fit_task_end(estimator=self, X=X) and self._heeds_callbacks():
                break
        self.direction_ = direction * np.sign(direction[np.argmax(np.abs(direction))])
        fitting.call_on_fit_task_end(estimator=self, X=X)
        return self

    def transform(self, X):
        """Coordinates of the rows along the direction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        X_new : ndarray of shape (n_samples, 1)
            One column.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return (X @ self.direction_ - self.mean_ @ self.direction_)[:, None]

    def _validated(self, X, reset):
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=2 if reset else 1,
        )

    def _start(self, X):
        return check_random_state(self.random_state).normal(size=X.shape[1])

    def _heeds_callbacks(self):
        return True

    @property
    def _n_features_out(self):
        return 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        return tags


@method(**CARD | {"room": "select", "tasks": ["classification"], "when": "One needs a quick look at single columns."})
class FaithfulSelector(SelectorMixin, BaseEstimator):
    """Keep the three columns whose class means spread most.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Variance of the class means.
    ranking_ : ndarray of shape (n_features,)
        1 for the best column.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    Examples
    --------
    >>> import numpy as np
    >>> FaithfulSelector().fit(np.array([[0.0, 0.0], [0.0, 2.0]]), ["a", "b"]).ranking_
    array([2, 1])
    """

    def fit(self, X, y):
        """Score the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = validate_data(self, X, y)
        classes = np.unique(y)
        self._check_classes(classes)
        self.scores_ = np.var([X[y == label].mean(axis=0) for label in classes], axis=0)
        self.ranking_ = np.argsort(np.argsort(-self.scores_)) + 1
        return self

    def _check_classes(self, classes):
        if len(classes) < 2:
            raise ValueError(f"The target has one class only, {classes[0]!r}; there is nothing to tell apart.")

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.ranking_ <= 3

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
