"""The aspect model of a two-way table whose rows are fixed.

    P(i, j) = sum_k P(z_k) P(i | z_k) P(j | z_k),

the symmetric form of probabilistic latent semantic analysis. `_aspect_base` has the steps of EM.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.callback import with_callbacks

from fewer._estimators import HasMethods, Interval, fit_context
from fewer.catalogue import method
from fewer.latent._latent_model import Climb, climb
from fewer.latent.aspects._aspect_base import AspectBase, Aspects, em_step, starting_aspects


@method(
    tasks=["unsupervised"],
    when="A two-way table of counts (customers and items, places and species) as a mixture of a few aspects, in which "
    "rows and columns are independent.",
    cost="O(nnz k) time an iteration, O(nnz + (n + p) k) memory",
    paper="zhu-mixture-aspect",
    examples=lambda: [
        AspectModel(2, max_iter=30, tol=1e-3),
        AspectModel(2, tempering=0.8, n_init=2, max_iter=30, tol=1e-3),
    ],
    depends_on_scale="the log-likelihood of a row is a sum over its tokens",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class AspectModel(AspectBase):
    """A two-way table of counts as a mixture of aspects: ``P(i, j) = sum_a P(a) P(i|a) P(j|a)``.

    It is PLSA written symmetrically, for tables whose rows are not a sample.

    Parameters
    ----------
    n_components : int, default=5
        Number of aspects.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Stop when the log-likelihood changes by less than this share of its size.
    smoothing : float, default=0.0
        Added to every expected count of a column in an aspect, against overfitting of sparse tables.
    tempering : float, default=1.0
        Power of the responsibilities, at most 1: less smooths them.
    max_doc_update_iter : int, default=100
        Maximum number of iterations for the shares of new rows.
    n_init : int, default=1
        Number of starts, of which the one with the largest likelihood is kept.
    vectorizer : CountVectorizer or None, default=None
        Makes counts of words, where ``X`` holds texts, as in ``PLSA``.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        ``P(a)``, largest first.
    components_ : ndarray of shape (n_components, n_features)
        ``P(j|a)``, the distribution over columns of each aspect.
    row_distributions_ : ndarray of shape (n_components, n_samples)
        ``P(i|a)``, the distribution over rows of each aspect.
    doc_topic_ : ndarray of shape (n_samples, n_components)
        ``P(a|i)``, the shares of aspects in the training rows.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood (tempered, if ``tempering`` is below 1) at the beginning of each iteration, up to the part that
        the totals of rows have.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of aspects.
    vectorizer_ : CountVectorizer or None
        The fitted one, where texts were given.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSA : The same model with early stopping.
    AspectModelWithCovariates : Rows are described by columns, so that new rows have a distribution of items.

    References
    ----------
    .. [1] Hofmann, T. and Puzicha, J. (1998). Unsupervised learning from dyadic data. ICSI TR-98-042.
    .. [2] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import AspectModel
    >>> counts = np.array([[4, 4, 0, 0], [2, 2, 0, 0], [0, 0, 3, 3]])
    >>> model = AspectModel(2, random_state=0).fit(counts)
    >>> model.weights_.round(3), model.row_distributions_[0].round(3)
    (array([0.667, 0.333]), array([0.667, 0.333, 0.   ]))
    """

    _parameter_constraints = {
        **AspectBase._parameter_constraints,
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "tempering": [Interval(Real, 0, 1, closed="right")],
        "max_doc_update_iter": [Interval(Integral, 1, None, closed="left")],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
    }

    def __init__(
        self,
        n_components=5,
        *,
        max_iter=500,
        tol=1e-6,
        smoothing=0.0,
        tempering=1.0,
        max_doc_update_iter=100,
        n_init=1,
        vectorizer=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.smoothing = smoothing
        self.tempering = tempering
        self.max_doc_update_iter = max_doc_update_iter
        self.n_init = n_init
        self.vectorizer = vectorizer
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the aspects.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, none negative. Or texts, whose words are counted.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _, table = self._prepared(X, sample_weight)

        def run(random: np.random.RandomState, on_step) -> Climb:
            def step(aspects: Aspects):
                new, objective = em_step(table, aspects, tempering=self.tempering, smoothing=self.smoothing)
                # Smoothing is a prior, whose logarithm belongs to what is climbed.
                prior = self.smoothing * np.log(aspects.theta).sum() if self.smoothing else 0.0
                return new, objective + prior

            start = starting_aspects(*table.shape, self.n_components, random)
            return climb(start, step, max_iter=self.max_iter, tol=self.tol, on_step=on_step)

        return self._fit_starts(run, X)

    def _keep(self, state: Aspects) -> None:
        super()._keep(state)
        joint = self._totals[:, None] * self.doc_topic_.astype(np.float64)
        self.row_distributions_ = (joint / np.maximum(joint.sum(axis=0), 1e-300)).T.astype(self._dtype)
