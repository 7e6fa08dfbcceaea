"""What classifiers of two classes that vote share."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from fewer._estimators import encoded_classes, validated


class TwoClassVote(ClassifierMixin, BaseEstimator):
    """Base: the second class where ``decision_function`` is positive, the first elsewhere."""

    classes_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _rows_and_labels(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """The table, a sparse one by columns, and 1.0 for rows of the second class, -1.0 for those of the first."""
        X, y = validated(self, X, y, dtype=(np.float64, np.float32), accept_sparse="csc")
        who = type(self).__name__
        self.classes_, codes = encoded_classes(y, who)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(self.classes_)} classes. Take sklearn.multiclass.OneVsRestClassifier({who}()) instead."
            )
        return X, 2.0 * codes - 1

    def decision_function(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes.
        """
        votes = self.decision_function(X)
        return self.classes_[(votes > 0).astype(int)]
