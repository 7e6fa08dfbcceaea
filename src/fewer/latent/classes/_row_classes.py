"""What models with one latent class for each row share: posteriors, assignments, how clear these are."""

from typing import Any

import numpy as np

from fewer.latent._latent_model import LatentModel


class RowClasses(LatentModel):
    """Base of the models with one class for each row.

    A model implements ``_class_posteriors(X)``: probabilities of the classes (rows, classes) and log-likelihoods of
    rows.
    """

    n_components: int
    weights_: np.ndarray

    def _class_posteriors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def predict_proba(self, X):
        """Probabilities of the classes, given the entries of the row that are not missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            They sum to 1. A row without any entry has the class sizes.
        """
        return self._class_posteriors(X)[0]

    def predict(self, X):
        """The most likely class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            Numbers from 0 on; class 0 is the largest.
        """
        return self.predict_proba(X).argmax(axis=1)

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and give the most likely class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            Numbers from 0 on; class 0 is the largest.
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def transform(self, X):
        """Probabilities of the classes, as new columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Posterior means of the indicators of the classes.
        """
        found = self.predict_proba(X)
        return found.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def score_samples(self, X):
        """Log-likelihood of each row, of its entries that are not missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats.
        """
        return self._class_posteriors(X)[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
