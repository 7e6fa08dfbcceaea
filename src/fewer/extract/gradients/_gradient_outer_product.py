"""Directions along which the target changes most: eigenvectors of the mean outer product of its gradients."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import Interval, fit_context
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.gradients._gradient_learner import (
    NO_GRADIENT,
    GradientLearner,
    holds_quantity,
    outer_product,
    targets_of,
)


@contextmanager
def learnt_gradients(owner: Any, X: Any, y: np.ndarray) -> Iterator[GradientLearner]:
    """The fitted learner of an estimator; callbacks that can be handed on see its steps.

    All attributes of the owner must be set before the block ends.
    """
    learner = suited_learner(y) if owner.estimator is None else clone(owner.estimator)
    targets_of(y, learner.loss, type(owner).__name__)
    fitting = owner._init_callback_context(max_subtasks=1)
    fitting.call_on_fit_task_begin(estimator=owner, X=X, y=y)
    step = fitting.subcontext(task_name="gradients")
    with step.propagate_callback_context(learner):
        step.call_on_fit_task_begin(estimator=owner, X=X, y=y)
        learner.fit(X, y)
        step.call_on_fit_task_end(estimator=owner, X=X, y=y)
    yield learner
    fitting.call_on_fit_task_end(estimator=owner, X=X, y=y)


def suited_learner(y: np.ndarray) -> GradientLearner:
    """Least squares for numbers that are measured, else the logistic loss."""
    return GradientLearner("squared" if holds_quantity(y) else "logistic")


_MOST_COLUMNS = 2000


@method(
    tasks=["classification", "regression"],
    when="The target is a nonlinear function of a few directions, a square or wave, that class means and correlations "
    "do not show (LDA, sliced inverse regression); or columns are to be ranked by the changes of the target with them.",
    cost="O(n^2 min(n, p)) for each of some tens of steps; O(n^2 + n p) memory",
    paper="learning-gradients",
    depends_on_scale="alpha_grad penalises slopes, whose unit is the inverse of that of the columns",
)
class GradientOuterProduct(CallbackSupportMixin, LinearExtractor):
    """Directions along which the target changes, from the outer products of its gradient.

    Parameters
    ----------
    n_components : int or None, default=2
        Number of directions; None for as many as there are.
    estimator : GradientLearner, default=None
        Learns the gradient. By default with the squared loss for numbers and the logistic loss for classes.
    epsilon : float, default=None
        Directions with an eigenvalue up to this are left out. By default those of rounding error only.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, the one with the largest change of the target first.
    eigenvalues_ : ndarray of shape (n_directions,)
        Mean squared slope of the target along each direction, also along those that were not asked for.
    feature_scores_ : ndarray of shape (n_features,)
        Mean squared slope along each column: a ranking of columns.
    gop_ : ndarray of shape (n_features, n_features)
        The mean outer product itself, for tables of at most 2,000 columns.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    estimator_ : GradientLearner
        The fitted estimator of the gradient.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    GradientLearner : The gradient itself.
    GradientGraph : Which columns act on the target together.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Enough if the class means differ.

    Notes
    -----
    Slopes are for one unit of a column: standardise the columns first if their units differ.

    References
    ----------
    .. [1] Wu, Q., Guinney, J., Maggioni, M. and Mukherjee, S. (2010). Learning gradients: predictive models that infer
       geometry and statistical dependence. Journal of Machine Learning Research 11, 2175-2198.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import GradientLearner, GradientOuterProduct
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> nearby = GradientLearner(weight_bandwidth=1.0)  # a square has no slope on average, seen from far
    >>> found = GradientOuterProduct(n_components=1, estimator=nearby).fit(X, (X[:, 0] + X[:, 1]) ** 2)
    >>> np.abs(found.components_).round(1)
    array([[0.7, 0.7, 0. , 0. ]])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "estimator": [GradientLearner, None],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(self, n_components=2, *, estimator=None, epsilon=None):
        self.n_components = n_components
        self.estimator = estimator
        self.epsilon = epsilon

    @property
    def _takes_sparse(self) -> bool:
        return True

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers or classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y)
        with learnt_gradients(self, X, y) as learner:
            found = outer_product(learner._slopes, learner._axes)
            if not len(found.eigenvalues):
                raise ValueError(NO_GRADIENT)
            n_found = len(found.eigenvalues)
            why = "as many as there are columns, or rows less one, along which the target changes"
            if self.epsilon is not None:
                n_found = int(np.count_nonzero(found.eigenvalues > self.epsilon))
                why = f"with an eigenvalue above epsilon={self.epsilon}"
            if n_found == 0:
                raise ValueError(
                    f"No eigenvalue is above epsilon={self.epsilon}: the largest is {found.eigenvalues[0]:.3g}."
                )
            directions = upright(found.directions)
            self.estimator_ = learner
            self.mean_ = learner.mean_.astype(X.dtype, copy=False)
            self.components_ = directions[: self._number_of_components(n_found, why)].astype(X.dtype, copy=False)
            self.eigenvalues_ = found.eigenvalues
            self.feature_scores_ = found.diagonal
        return self

    @property
    def gop_(self) -> np.ndarray:
        """The mean outer product of the gradients."""
        if self.n_features_in_ > _MOST_COLUMNS:
            raise AttributeError(
                f"gop_ would be a matrix of {self.n_features_in_:,} x {self.n_features_in_:,} columns; feature_scores_ "
                "is its diagonal, eigenvalues_ and components_ are what matters of the rest."
            )
        return outer_product(self.estimator_._slopes, self.estimator_._axes).matrix

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
