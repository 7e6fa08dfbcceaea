"""A classifier made cost-sensitive by relabelling its training rows: MetaCost.

The class of row x that costs least is found from votes P(+ | x) of bootstrap samples: + where c(+) P > c(-) (1 - P).

Domingos, P. (1999). MetaCost: a general method for making classifiers cost-sensitive. KDD, 155-164.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fewer._estimators import HasMethods, Interval, fit_context, validated
from fewer.catalogue import method
from fewer.learn.costs._cost_linear import COST, CostClassifier, ThresholdedLogisticRegression


@method(
    tasks=["classification"],
    when="Errors of unequal cost and a classifier that takes neither weights nor a threshold: rows are relabelled by "
    "the class that costs less, and the classifier is fitted to these labels.",
    cost="O(n_estimators + 1) fits of the estimator",
    paper="cost-sensitive",
    examples=lambda: [MetaCostClassifier(n_estimators=3)],
)
class MetaCostClassifier(MetaEstimatorMixin, CostClassifier):
    """A classifier fitted to the labels that cost least, by the votes of bootstrap samples.

    Parameters
    ----------
    estimator : classifier with ``predict_proba`` or None, default=None
        Not fitted; `ThresholdedLogisticRegression` with equal costs by default.
    cost : tuple of two float, float or None, default=None
        Costs of errors on rows of the first and of the second class; or the share of the second class in the cost of
        always being wrong (pcf), between 0 and 1. Costs of single rows are not taken.
    n_estimators : int, default=50
        Bootstrap samples that estimate the probabilities.
    random_state : int, RandomState or None, default=None
        Random seed of the bootstrap samples, and of the estimator where it has none.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the new labels.
    relabelled_ : ndarray of bool of shape (n_samples,)
        Training rows whose label changed.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    References
    ----------
    .. [1] Domingos, P. (1999). MetaCost: a general method for making classifiers cost-sensitive. Proceedings of KDD,
       155-164.
    .. [2] Dmochowski, J., Sajda, P. & Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model
       specification, approximations, and upper bounds. Journal of Machine Learning Research 11, 3313-3332.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fewer.learn import MetaCostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    >>> model = MetaCostClassifier(tree, cost=(1, 20), random_state=0).fit(X[50:], y[50:])
    >>> int(model.relabelled_.sum()) > 0
    True
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "cost": COST,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, estimator=None, *, cost=None, n_estimators=50, random_state=None):
        self.estimator = estimator
        self.cost = cost
        self.n_estimators = n_estimators
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, cost=None, sample_weight=None):
        """Relabel the rows by cost, and fit the estimator to the new labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            One of two classes for each row.
        cost : pair or float, default=None
            Instead of that of the constructor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: how often each is drawn, and its weight in the last fit, which the estimator must take.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, signs, _ = self._start(X, y, cost, sample_weight)
        self._needs_class_costs("for those of single rows use WeightedLogisticRegression")
        codes = (signs > 0).astype(int)
        rng = check_random_state(self.random_state)
        votes = np.zeros(len(X))
        of_class = [np.flatnonzero((codes == code) & (self._weights > 0)) for code in (0, 1)]
        shares = (
            None if sample_weight is None else [self._weights[rows] / self._weights[rows].sum() for rows in of_class]
        )
        for _ in range(self.n_estimators):
            rows = np.concatenate(
                [
                    rng.choice(each, len(each), p=None if shares is None else shares[code])
                    for code, each in enumerate(of_class)
                ]
            )
            votes += self._clone(rng).fit(X[rows], codes[rows]).predict_proba(X)[:, 1]
        share = votes / self.n_estimators
        negative, positive = self._class_costs
        labels = (positive * share > negative * (1 - share)).astype(int)
        self.relabelled_ = labels != codes
        self._only = int(labels[0]) if len(np.unique(labels)) == 1 else None
        # With one label left there is nothing to learn, and all rows get it.
        self.estimator_ = self._clone(rng)
        weighted = {} if sample_weight is None else {"sample_weight": self._weights}
        if weighted and not has_fit_parameter(self.estimator_, "sample_weight"):
            raise ValueError(f"{type(self.estimator_).__name__} takes no sample_weight; leave it out.")
        self.estimator_.fit(X, codes if self._only is not None else labels, **weighted)
        return self

    def predict(self, X):
        """Classes by the estimator that was fitted to the new labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=np.float64)
        codes = self.estimator_.predict(X).astype(int)
        return self.classes_[codes if self._only is None else np.full(len(X), self._only)]

    def _clone(self, rng: np.random.RandomState) -> Any:
        estimator = clone(ThresholdedLogisticRegression() if self.estimator is None else self.estimator)
        if "random_state" in estimator.get_params() and estimator.get_params()["random_state"] is None:
            estimator.set_params(random_state=int(rng.randint(2**31 - 1)))
        return estimator
