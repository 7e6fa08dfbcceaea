"""Naive Bayes for text, by the rate at which words occur.

``P(C|document) ~ P(C) prod_F P(F|C)^TF(F, document)``, over the words of the document, with
``P(F|C) = (rows of C with F + s) / (rows of C + 2 s)``.

The rates do not add up to one over the words, and absent words have no factor: so leaving out words changes nothing
for the others, and a document without any known word gets the most frequent class.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    OCCURRENCES,
    Interval,
    check_partial_fit_first_call,
    fit_context,
    place_of_class,
    refuse_documents,
    refuse_other_classes,
    validated,
)
from fewer._kernels._occurrence import occurrence_counts, occurrence_log_rates
from fewer.catalogue import method


def joint_log_probabilities(X: Any, log_priors: np.ndarray, log_rates: np.ndarray) -> np.ndarray:
    """``ln P(C) + sum_F TF(F) ln P(F|C)`` for every row and class."""
    return safe_sparse_dot(X, log_rates.T, dense_output=True) + log_priors


@method(
    tasks=["classification"],
    when="Counts of words or other things that occur or not, very many columns and a rare class, after a selection of "
    "words of that class (TextFeatureScorer). It learns in one pass, also piece by piece. A linear support vector "
    "machine on all words is usually more accurate, and slower.",
    cost="O(entries stored) to fit, O(entries stored x classes) to predict.",
    paper="mladenic-text-fs",
    depends_on_scale="the smoothing is added to counts",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class NaiveBayesText(ClassifierMixin, BaseEstimator):
    """Naive Bayes with the rates at which words occur in the rows of a class.

    Parameters
    ----------
    smoothing : float, default=1.0
        Added to the number of rows in which a word occurs, and in which it does not, for each class.
    threshold : float or None, default=None
        With two classes, the class of interest is predicted only where its probability is at least this; None predicts
        the likelier class.
    pos_label : str, int, bool or None, default=None
        The class of interest for ``threshold``; None for the last of the two in sorted order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Rows of each class.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Rows of each class in which each word occurs.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithm of the share of each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Logarithm of the smoothed probability that a word occurs in a row of the class.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.select.TextFeatureScorer : Chooses the words.

    Notes
    -----
    Multinomial naive Bayes divides the counts of a class by their sum over all words. After a selection that keeps only
    words of one class, the few counts that are left of the other class are scaled up to a full distribution, and the
    selection is undone. Here every word keeps the rate that it has by itself.

    References
    ----------
    .. [1] Mladenic, D. (2006). Feature selection for dimensionality reduction. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 84-102.

    Examples
    --------
    >>> from fewer.learn import NaiveBayesText
    >>> X = [[2, 0, 1], [1, 0, 0], [0, 1, 1], [0, 2, 0]]
    >>> model = NaiveBayesText().fit(X, ["spam", "spam", "ham", "ham"])
    >>> model.predict([[1, 0, 0], [0, 3, 0]])
    array(['spam', 'ham'], dtype='<U4')
    >>> model.predict_proba([[1, 0, 0], [0, 3, 0]]).round(3)
    array([[0.25 , 0.75 ],
           [0.964, 0.036]])
    """

    _parameter_constraints = {
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
        "pos_label": [Real, str, "boolean", None],
    }

    def __init__(self, smoothing=1.0, threshold=None, *, pos_label=None):
        self.smoothing = smoothing
        self.threshold = threshold
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Count the rows of each class in which each word occurs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or other values that are zero where a word does not occur; none may be negative.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = self._validated(X, y, reset=True)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "NaiveBayesText needs at least two classes, and y has one. (partial_fit "
                "takes rows of one class, when classes= names all of them.)"
            )
        self._start_counts(X.shape[1])
        return self._add(X, y)

    _closed_form_name = OCCURRENCES

    def _predicts_as(self, use):
        """Rates do not depend on the other words, so a word more adds one term to the sum."""
        if self.threshold is not None:
            return "a threshold"
        return "permuted labels" if use == "labels" else self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Add rows to what has been counted before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More rows.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever come; needed in the first call.

        Returns
        -------
        self : object
            The classifier.
        """
        first = check_partial_fit_first_call(self, classes)
        X, y = self._validated(X, y, reset=first)
        refuse_other_classes(y, self.classes_)
        if first:
            self._start_counts(X.shape[1])
        return self._add(X, y)

    def predict(self, X):
        """The likelier class; or, with a threshold, the class of interest only where it is that likely.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        joint = self._joint_log_probabilities(X)
        if self.threshold is None:
            return self.classes_[joint.argmax(axis=1)]
        interest = self._code_of_interest()
        likely = _normalised(joint)[:, interest] >= np.log(max(self.threshold, np.finfo(float).tiny))
        return self.classes_[np.where(likely, interest, 1 - interest)]

    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        return _normalised(self._joint_log_probabilities(X))

    def predict_proba(self, X):
        """Probabilities of the classes, as extreme as the words' independence makes them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        refuse_documents(X, "NaiveBayesText")
        X, y = validated(self, X, y, reset=reset, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        check_classification_targets(y)
        if X.min() < 0:
            raise ValueError(
                "Negative values in data passed to NaiveBayesText, which is for counts of words or other columns that "
                "are zero where something does not occur."
            )
        return X, y

    def _start_counts(self, n_features: int) -> None:
        self.class_count_ = np.zeros(len(self.classes_), dtype=np.int64)
        self.feature_count_ = np.zeros((len(self.classes_), n_features), dtype=np.int64)

    def _add(self, X: Any, y: np.ndarray) -> "NaiveBayesText":
        """Count more rows, and bring the rates up to date."""
        codes = np.searchsorted(self.classes_, y)
        n_classes = len(self.classes_)
        self.class_count_ += np.bincount(codes, minlength=n_classes)
        self.feature_count_ += occurrence_counts(X, codes, n_classes)
        self._code_of_interest()
        with np.errstate(divide="ignore"):  # a class that is still to come has no rows, and is never predicted
            self.class_log_prior_ = np.log(self.class_count_ / self.class_count_.sum())
        self.feature_log_prob_ = occurrence_log_rates(self.feature_count_, self.class_count_, self.smoothing)
        return self

    def _code_of_interest(self) -> int:
        """Place of the class that the threshold is for."""
        if self.threshold is not None and len(self.classes_) != 2:
            raise ValueError(
                f"threshold={self.threshold} is for one class against another, and y has {len(self.classes_)} classes; "
                "leave threshold=None, or wrap the classifier in OneVsRestClassifier."
            )
        if self.pos_label is None:
            return len(self.classes_) - 1
        return place_of_class(self.classes_, self.pos_label)

    def _joint_log_probabilities(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validated(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        return joint_log_probabilities(X, self.class_log_prior_, self.feature_log_prob_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # On measurements that are never zero, all words occur everywhere and nothing can be learnt.
        tags.classifier_tags.poor_score = True
        return tags


def _normalised(joint: np.ndarray) -> np.ndarray:
    return joint - logsumexp(joint, axis=1, keepdims=True)
