"""Components of counts as features of a classifier, and as a classifier of their own.

*Features*: the expected number of tokens of a row that each component explains, entries below a threshold set to zero,
weighted by tf-idf as words are, beside the weighted words themselves if wanted.

*Classifier*: the class is one more group of columns of a grouped Dirichlet-multinomial model, with one column for each
class. It is empty in new rows, and its posterior mean, ``sum_k m_k theta_{class, k}``, is the prediction.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.callback import with_callbacks
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fewer._estimators import (
    HasMethods,
    Interval,
    check_feature_names_in,
    encoded_classes,
    fit_context,
    known_codes,
    refuse_negative,
    validated,
)
from fewer.catalogue import method
from fewer.latent._count_model import CountModel, texts_of, warn_of_small_counts
from fewer.latent._latent_model import climb, row_weights
from fewer.latent._passes import count_rows, count_table, folded_in
from fewer.latent.counts._discrete_components import DiscreteComponentAnalysis
from fewer.latent.counts._updates import (
    Prior,
    State,
    constants,
    normalised,
    row_bounds,
    starting_concentrations,
    variational_cycle,
)


@method(
    tasks=["unsupervised"],
    when="Features for a linear classifier from a model of counts: few, or beside the words themselves.",
    cost="That of the model, and O(nnz) for the weights",
    paper="dca",
    examples=lambda: [
        ComponentFeatures(DiscreteComponentAnalysis(2, max_iter=30, tol=1e-3, random_state=0)),
        ComponentFeatures(DiscreteComponentAnalysis(2, max_iter=30, tol=1e-3, random_state=0), passthrough=True),
    ],
    depends_on_scale="priors are added to counts of tokens, and the threshold is a number of tokens",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class ComponentFeatures(TransformerMixin, BaseEstimator):
    """Expected tokens of each component as features, weighted by tf-idf.

    Parameters
    ----------
    estimator : estimator, default=None
        A model of counts of ``fewer.latent``, not fitted; ``DiscreteComponentAnalysis(50, model="dm")`` by default.
    threshold : float, default=0.01
        Entries below this number of tokens are set to zero.
    passthrough : bool, default=False
        Whether the table itself, weighted by tf-idf, follows.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ComponentClassifier : Classifies by the components themselves.

    References
    ----------
    .. [1] Buntine, W. and Jakulin, A. (2006). Discrete component analysis. In Subspace, Latent Structure and Feature
       Selection, LNCS 3940, 1-33.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import ComponentFeatures, DiscreteComponentAnalysis
    >>> counts = np.array([[4, 3, 0, 0], [2, 3, 0, 0], [0, 0, 2, 5], [0, 0, 1, 1]])
    >>> model = DiscreteComponentAnalysis(2, topic_word_prior=0.01, random_state=0)
    >>> ComponentFeatures(model).fit_transform(counts).round(2)
    array([[1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "expected_counts"]), None],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "passthrough": ["boolean"],
    }

    def __init__(self, estimator=None, *, threshold=0.01, passthrough=False):
        self.estimator = estimator
        self.threshold = threshold
        self.passthrough = passthrough

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Fit the model and the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, none negative. Or texts, whose words the model counts.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        default = DiscreteComponentAnalysis(50, model="dm")
        model = default if self.estimator is None else clone(self.estimator)
        if texts_of(X) is not None:
            self.estimator_ = model.fit(X)
            counts = self._validated(self.estimator_._new_counts(X), reset=True)
        else:
            counts = self._validated(X, reset=True)
            self.estimator_ = model.fit(counts)
        self._component_weights = TfidfTransformer().fit(self._tokens(counts))
        self._feature_weights = TfidfTransformer().fit(counts) if self.passthrough else None
        return self

    def _validated(self, X: Any, *, reset: bool) -> sparse.csr_array:
        checked = validated(self, X, reset=reset, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        refuse_negative(checked, type(self).__name__, getattr(self, "feature_names_in_", None))
        return sparse.csr_array(checked)

    def _tokens(self, counts: sparse.csr_array) -> sparse.csr_array:
        tokens = self.estimator_.expected_counts(counts)
        return sparse.csr_array(np.where(tokens < self.threshold, 0, tokens))

    def transform(self, X):
        """Weighted features of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        X_new : {ndarray, sparse matrix} of shape (n_samples, n_features_out)
            A column for each component and, with ``passthrough``, one for each column of ``X``; then sparse if ``X``
            is, or holds texts.
        """
        check_is_fitted(self)
        texts = texts_of(X)
        counts = self._validated(X if texts is None else self.estimator_._new_counts(texts), reset=False)
        found = self._component_weights.transform(self._tokens(counts)).astype(counts.dtype)
        if self._feature_weights is None:
            return found.toarray()
        both = sparse.hstack([found, self._feature_weights.transform(counts)], format="csr")
        return both if sparse.issparse(X) or texts is not None else both.toarray()

    def get_feature_names_out(self, input_features=None):
        """Names of the features: those of the components, then those of the table.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, where ``fit`` saw none.

        Returns
        -------
        names : ndarray of str
            One for each feature.
        """
        check_is_fitted(self)
        own = self.estimator_.get_feature_names_out()
        if self._feature_weights is None:
            return own
        if self.estimator_.vectorizer_ is not None:
            return np.concatenate([own, self.estimator_.feature_names()])
        return np.concatenate([own, check_feature_names_in(self, input_features)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@method(
    tasks=["classification"],
    when="Rows of counts with classes, where the components that tell the classes apart are to be seen. For accuracy "
    "alone use a linear classifier on words, or ComponentFeatures beside them.",
    cost="O(nnz k) time a cycle, O(nnz + (n + p) k) memory",
    paper="dca",
    examples=lambda: [ComponentClassifier(4, max_iter=30, tol=1e-3)],
    depends_on_scale="priors are added to counts of tokens",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class ComponentClassifier(ClassifierMixin, CountModel):
    """Classify rows of counts by components, of which the class is one more group of columns.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    label_weight : float or "auto", default="auto"
        Number of tokens that the class of a training row counts for; "auto" takes the mean total of rows, so that
        classes weigh as much as counts. 1 is the model without any emphasis on the class.
    doc_topic_prior : float, default=0.1
        Dirichlet prior of the shares of components in rows, alpha.
    topic_word_prior : float, default=0.5
        Prior of the components, gamma, added to every count of a column in a component.
    max_iter : int, default=200
        Maximum number of cycles.
    tol : float, default=1e-5
        Stop when the objective changes by less than this share of its size.
    n_init : int, default=1
        Number of starts, of which the one with the best objective is kept.
    vectorizer : CountVectorizer or None, default=None
        Makes counts of words, where ``X`` holds texts, as in ``DiscreteComponentAnalysis``.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    components_ : ndarray of shape (n_components, n_features)
        Distribution over columns of each component, those with the most tokens first.
    class_given_component_ : ndarray of shape (n_components, n_classes)
        Distribution over classes of each component.
    weights_ : ndarray of shape (n_components,)
        Share of all tokens that each component explains.
    objective_path_ : ndarray of shape (n_iter,)
        Bound with the log prior of the components at the beginning of each cycle.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Cycles of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "bound".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of components.
    vectorizer_ : CountVectorizer or None
        The fitted one, where texts were given.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ComponentFeatures : Components as features of another classifier.

    References
    ----------
    .. [1] Buntine, W. and Jakulin, A. (2006). Discrete component analysis. In Subspace, Latent Structure and Feature
       Selection, LNCS 3940, 1-33.

    Examples
    --------
    >>> from fewer.latent import ComponentClassifier
    >>> texts = ["rain wind storm", "wind rain cloud", "bread butter jam", "jam bread tea"]
    >>> model = ComponentClassifier(2, random_state=0).fit(texts, ["weather", "weather", "food", "food"])
    >>> model.predict(["storm and rain", "tea with jam"])
    array(['weather', 'food'], dtype='<U7')
    """

    _parameter_constraints = {
        **CountModel._parameter_constraints,
        "label_weight": [Interval(Real, 0, None, closed="neither"), str],
        "doc_topic_prior": [Interval(Real, 0, None, closed="neither")],
        "topic_word_prior": [Interval(Real, 0, None, closed="neither")],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
    }

    def __init__(
        self,
        n_components=10,
        *,
        label_weight="auto",
        doc_topic_prior=0.1,
        topic_word_prior=0.5,
        max_iter=200,
        tol=1e-5,
        n_init=1,
        vectorizer=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.label_weight = label_weight
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.vectorizer = vectorizer
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find components of counts and classes together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, none negative. Or texts, whose words are counted.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        counts = self._training_counts(X)
        warn_of_small_counts(counts, type(self).__name__)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.classes_, codes = encoded_classes(column_or_1d(y, warn=True), type(self).__name__)
        if len(codes) != counts.shape[0]:
            raise ValueError(
                f"X has {counts.shape[0]} rows, and y has {len(codes)} labels: inconsistent numbers of samples."
            )
        weights = row_weights(sample_weight, counts)
        self._dtype = counts.dtype.name
        self._mean_total = float(np.average(np.asarray(counts.sum(axis=1)).ravel(), weights=weights))
        tokens = self._mean_total if self.label_weight == "auto" else float(self.label_weight)
        n_rows, n_columns = counts.shape
        n_classes = len(self.classes_)
        labels = sparse.csr_array((np.full(n_rows, tokens), (np.arange(n_rows), codes)), shape=(n_rows, n_classes))
        table = count_table(sparse.csr_array(sparse.hstack([counts, labels], format="csr")), weights)
        groups = np.repeat([0, 1], [n_columns, n_classes])
        ones = np.ones(self.n_components)
        prior = Prior(True, self.doc_topic_prior * ones, ones, float(self.topic_word_prior), groups)
        fixed = constants(table.rows, prior)
        self._row_weights = table.weights

        def run(random, on_step):
            theta = random.standard_gamma(1.0, size=(n_columns + n_classes, self.n_components)) + 1.0
            start = State(starting_concentrations(table.totals, prior), normalised(theta, groups), prior)
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            return climb(start, lambda state: variational_cycle(table, fixed, state), **limits)

        return self._fit_starts(run, X, y)

    def _keep(self, state: State) -> None:
        totals = self._row_weights @ (state.a - state.prior.alpha)
        del self._row_weights
        order = np.argsort(-totals, kind="stable")
        n_columns = self.n_features_in_
        theta = state.theta.T[order]
        self.components_ = np.ascontiguousarray(theta[:, :n_columns]).astype(self._dtype)
        self.class_given_component_ = theta[:, n_columns:]
        self.weights_ = totals[order] / totals.sum()
        self.n_components_ = self.n_components
        self.n_parameters_ = self.n_components * (theta.shape[1] - 2)
        self.score_type_ = "bound"

    def _concentrations(self, counts: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, Prior]:
        """Posterior of rows from their counts alone, the components (columns, K), and the prior."""
        ones = np.ones(self.n_components_)
        groups = np.zeros(counts.shape[1], dtype=np.int64)
        prior = Prior(True, self.doc_topic_prior * ones, ones, float(self.topic_word_prior), groups)
        start = starting_concentrations(np.zeros(counts.shape[0]), prior)
        theta = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        limits: dict[str, Any] = {"bayes": True, "max_iter": 200, "tol": 1e-6}
        return folded_in(count_rows(counts), start, theta, prior.alpha, ones, **limits), theta, prior

    def _row_shares(self, counts: sparse.csr_array) -> np.ndarray:
        found = self._concentrations(counts)[0]
        return found / found.sum(axis=1, keepdims=True)

    def score_samples(self, X, y=None):
        """Lower bound on the log-likelihood of the counts of each row, and with ``y`` of its class, given the counts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.
        y : array-like of shape (n_samples,), default=None
            Classes.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats.
        """
        counts = self._new_counts(X)
        a, theta, prior = self._concentrations(counts)
        totals = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        bounds = row_bounds(count_rows(counts), totals, a, theta, prior)
        if y is None:
            return bounds
        codes = known_codes(y, self.classes_, counts.shape[0])
        return bounds + self.predict_log_proba(counts)[np.arange(len(codes)), codes]

    def sample(self, n_samples=1, random_state=None):
        """Draw rows and their classes from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : sparse array of shape (n_samples, n_features)
            Counts, with a Poisson number of tokens in each row, and the mean total of the training rows.
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        shares = random.dirichlet(np.full(self.n_components_, self.doc_topic_prior), size=n_samples)
        counts = random.poisson(self._mean_total * shares @ self.components_)
        running = np.cumsum(shares @ self.class_given_component_, axis=1)
        codes = (random.uniform(size=(n_samples, 1)) * running[:, -1:] >= running).sum(axis=1)
        return sparse.csr_array(counts.astype(np.float64)), self.classes_[codes]

    def transform(self, X):
        """Posterior means of the shares of components in rows, from their counts alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Shares that sum to 1.
        """
        counts = self._new_counts(X)
        return self._row_shares(counts).astype(counts.dtype)

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        shares = self._row_shares(self._new_counts(X))
        return shares @ self.class_given_component_

    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))

    def predict(self, X):
        """The most likely class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X, y=None, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        return ClassifierMixin.score(self, X, y, sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # On measurements that are large everywhere, rows differ in their totals, which shares do not see.
        tags.classifier_tags.poor_score = True
        return tags
