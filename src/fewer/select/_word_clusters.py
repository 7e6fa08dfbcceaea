"""Sums of words that tell the same about the class, as a transformer; clusterings are in ``_word_clustering.py``."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    Interval,
    StrOptions,
    check_feature_names_in,
    encoded_classes,
    fit_context,
    fit_steps,
    refuse_documents,
    validated,
    warn_caller,
)
from fewer.catalogue import method
from fewer.select._word_clustering import (
    agglomerative_labels,
    cluster_sums,
    compact,
    distinct_words,
    divisive_labels,
    information,
    log_distributions,
    n_reports,
)


def class_sums(X: Any, codes: np.ndarray) -> np.ndarray:
    """Sum of each column over the rows of each class, a row for each column."""
    n_classes = int(codes.max()) + 1
    members = sparse.csr_array((np.ones(len(codes), dtype=X.dtype), (codes, np.arange(len(codes)))))
    sums = members @ X
    return np.asarray(sums.todense() if sparse.issparse(sums) else sums, dtype=np.float64).reshape(n_classes, -1).T


def nearest_to(distribution: np.ndarray, sums: np.ndarray) -> int:
    """The cluster whose class distribution is nearest to the one given."""
    return int(np.argmax(log_distributions(sums) @ distribution))


@method(
    tasks=["classification"],
    when="Counts of very many words, of which many tell the same: a few sums of words keep much of what the words tell "
    "about the class, where as few single words would not. Not for columns with signs, nor where single words must be "
    "named.",
    cost="O(entries stored), then O(p w K) for K classes: agglomerative with w clusters open at a time, divisive with "
    "w clusters, for each iteration.",
    paper="word-clusters",
    examples=lambda: [WordClusters(2), WordClusters(3, method="divisive")],
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class WordClusters(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Add up words that tell the same about the class.

    Words are clustered by their class distributions ``P(C|w)``, so that the sums of the words of each cluster keep as
    much as possible of ``I(C; W)``, the information that the words have about the class.

    Parameters
    ----------
    n_clusters : int, default=50
        Clusters, and columns of the new table. There are fewer if there are fewer words with different class
        distributions.
    method : {"agglomerative", "divisive"}, default="agglomerative"
        Merge the two clusters that lose least information, again and again; or k-means with the Kullback-Leibler
        divergence as distance, which is faster with many words.
    window : int, default=200
        For "agglomerative": clusters open at a time. Words enter by the information that they carry, most first; with
        at least as many places as words, the merging is the exact greedy one.
    max_iter : int, default=100
        For "divisive": iterations at most.

    Attributes
    ----------
    labels_ : ndarray of shape (n_features,)
        Cluster of each word. A word that never occurs in training goes to the cluster that is nearest to the class
        frequencies.
    n_clusters_ : int
        Clusters found.
    class_distributions_ : ndarray of shape (n_clusters, n_classes)
        ``P(C|cluster)``.
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    information_ : float
        ``I(C; W)`` in nats, before.
    information_kept_ : float
        ``I(C; cluster)``, after; never more.
    n_iter_ : int
        Merges, or iterations.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    TextFeatureScorer : Keeps the best words instead.

    Notes
    -----
    A merge of two words loses ``(p(v) + p(w)) JS(P(C|v), P(C|w))``, the weighted Jensen-Shannon divergence of their
    class distributions. Words with the same distribution are merged first, without any loss. A callback that stops an
    agglomerative fit keeps the clusters so far, more than were asked for.

    References
    ----------
    .. [1] Bekkerman, R., El-Yaniv, R., Tishby, N. and Winter, Y. (2003). Distributional word clusters vs. words for
       text categorization. Journal of Machine Learning Research 3, 1183-1208.
    .. [2] Dhillon, I. S., Mallela, S. and Kumar, R. (2003). A divisive information-theoretic feature clustering
       algorithm for text classification. Journal of Machine Learning Research 3, 1265-1287.
    .. [3] Baker, L. D. and McCallum, A. K. (1998). Distributional clustering of words for text classification. SIGIR,
       96-103.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import WordClusters
    >>> counts = np.array([[3, 2, 0, 0, 1], [1, 1, 0, 0, 1], [0, 0, 2, 1, 1], [0, 0, 1, 2, 1]])
    >>> clusters = WordClusters(n_clusters=3).fit(counts, ["sport", "sport", "trade", "trade"])
    >>> clusters.labels_
    array([0, 0, 1, 1, 2])
    >>> clusters.transform(counts)
    array([[5., 0., 1.],
           [2., 0., 1.],
           [0., 3., 1.],
           [0., 3., 1.]])
    >>> clusters.get_feature_names_out(["goal", "match", "price", "tax", "the"])
    array(['goal+1', 'price+1', 'the'], dtype=object)
    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"agglomerative", "divisive"})],
        "window": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_clusters=50, *, method="agglomerative", window=200, max_iter=100):
        self.n_clusters = n_clusters
        self.method = method
        self.window = window
        self.max_iter = max_iter

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts; none may be negative.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        refuse_documents(X, "WordClusters")
        X, y = validated(self, X, y, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        if X.min() < 0:
            raise ValueError(
                "Negative values in data passed to WordClusters, which adds up counts; it is for columns without "
                "negative values."
            )
        self.classes_, codes = encoded_classes(y, "WordClusters")
        joint = class_sums(X, codes)
        if not joint.any():
            raise ValueError("All entries of the table are zero, so there is no word to put into a cluster.")
        seen = joint.sum(axis=1) > 0
        # Before the counts are divided by their total, so that rounding keeps no equal words apart.
        distinct = distinct_words(joint[seen])
        groups = self._clusters_of_groups(X, y, distinct.joint / joint.sum())
        joint /= joint.sum()
        labels = np.full(len(joint), -1)
        labels[seen] = groups[distinct.group]
        sums = cluster_sums(joint[seen], labels[seen], int(groups.max()) + 1)
        labels[~seen] = nearest_to(np.bincount(codes) / len(codes), sums)
        self._keep(joint, compact(labels))
        return self

    def _clusters_of_groups(self, X: Any, y: Any, joint: np.ndarray) -> np.ndarray:
        """Cluster of each group of words; callbacks see every step."""
        merging = self.method == "agglomerative"
        n_steps = n_reports(len(joint), self.n_clusters) if merging else self.max_iter + 1
        with fit_steps(self, X, y, n_steps=n_steps) as after_step:
            if merging:
                labels = agglomerative_labels(
                    joint, self.n_clusters, window=self.window, on_step=lambda labels: after_step("merges")
                )
                self.n_iter_ = len(joint) - int(labels.max()) - 1
                return labels
            labels, self.n_iter_, converged = divisive_labels(
                joint, self.n_clusters, max_iter=self.max_iter, on_step=lambda labels: after_step("iteration")
            )
        if not converged and self.n_iter_ == self.max_iter:
            told = f"Words still changed their clusters after {self.n_iter_} iterations; raise max_iter."
            warn_caller(told, ConvergenceWarning)
        return labels

    def _keep(self, joint: np.ndarray, labels: np.ndarray) -> None:
        """Set what the clusters are and what they keep."""
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        sums = cluster_sums(joint, labels, self.n_clusters_)
        self.class_distributions_ = sums / sums.sum(axis=1, keepdims=True)
        self.information_ = information(joint)
        self.information_kept_ = information(sums)
        self._heaviest = np.array(
            [members[joint[members].sum(axis=1).argmax()] for members in self._members()], dtype=np.int64
        )

    def _members(self) -> list[np.ndarray]:
        """The words of each cluster."""
        order = np.argsort(self.labels_, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.labels_))[:-1])

    def transform(self, X):
        """Sums of the words of each cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.

        Returns
        -------
        X_new : {ndarray, sparse matrix} of shape (n_samples, n_clusters)
            The sums; sparse if ``X`` is.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        n_words = len(self.labels_)
        membership = sparse.csr_array(
            (np.ones(n_words, dtype=X.dtype), (np.arange(n_words), self.labels_)), shape=(n_words, self.n_clusters_)
        )
        return X @ membership

    def get_feature_names_out(self, input_features=None):
        """The heaviest word of each cluster, and how many others there are: ``"goal+12"``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the words; those seen in ``fit`` by default.

        Returns
        -------
        names : ndarray of str objects
            A name for each cluster.
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        others = np.bincount(self.labels_) - 1
        return np.array(
            [
                f"{names[word]}+{more}" if more else str(names[word])
                for word, more in zip(self._heaviest, others, strict=True)
            ],
            dtype=object,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
