"""Probabilistic latent semantic analysis: a distribution of aspects for each row, which stops before it overfits.

    P(x_j | d_i) = sum_k P(z_k | d_i) P(x_j | z_k).

`_aspect_base` has the steps of EM.
"""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.callback import with_callbacks

from fewer._estimators import HasMethods, Interval, fit_context
from fewer.catalogue import method
from fewer.latent._count_model import split_tokens
from fewer.latent._latent_model import Climb, climb
from fewer.latent._passes import CountTable, count_rows, count_table, mixture_fits
from fewer.latent.aspects._aspect_base import AspectBase, Aspects, em_step, fold_in, starting_aspects

_CHECK_EVERY = 5
_FEWEST_ROWS = 20
_FLOOR = 1e-12


@method(
    tasks=["unsupervised"],
    when="Topics of counts without priors, stopped before they fit accidents of the rows; new columns from many rows "
    "without labels for a classifier that has few. For priors, or uncertain scores, use DiscreteComponentAnalysis.",
    cost="O(nnz k) time an iteration, O(nnz + (n + p) k) memory",
    paper="plsa-visual",
    # With early_stopping the validation rows are drawn from all rows, so that a row twice is not a row of weight 2.
    examples=lambda: [
        PLSA(2, early_stopping=False, max_iter=30, tol=1e-3),
        PLSA(2, early_stopping=False, tempering=0.8, max_iter=30, tol=1e-3, n_init=2),
    ],
    depends_on_scale="the log-likelihood of a row is a sum over its tokens",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class PLSA(AspectBase):
    """Topics of counts by maximum likelihood, stopped early on held-out tokens.

    Probabilistic latent semantic analysis: the shares of columns in each row are a mixture of a few distributions.

    Parameters
    ----------
    n_components : int, default=10
        Number of aspects (topics).
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Stop when the log-likelihood changes by less than this share of its size.
    early_stopping : bool, default=True
        Stop when held-out tokens become less likely: in every fifth iteration, each half of the tokens of the
        validation rows gives the shares by which the other half is scored. Tables of fewer than 20
        rows have no validation rows.
    validation_fraction : float, default=0.1
        Share of the rows held out for that.
    n_iter_no_change : int, default=2
        Checks in a row without an improvement, after which the best aspects so far are kept.
    tempering : float, default=1.0
        Power of the responsibilities, at most 1: less smooths them, against overfitting.
    max_doc_update_iter : int, default=100
        Maximum number of iterations for the shares of new rows.
    n_init : int, default=1
        Number of starts, of which the best is kept: by held-out tokens with ``early_stopping``, else by likelihood.
    vectorizer : CountVectorizer or None, default=None
        Makes counts of words, where ``X`` holds texts. By default a ``CountVectorizer`` that, of more than 50
        texts, leaves out words of one text only and words of more than half of them.
    random_state : int, RandomState instance or None, default=None
        Draws the starts and the validation rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        ``P(x|z)``, the distribution over columns of each aspect, those with the most tokens first.
    doc_topic_ : ndarray of shape (n_samples, n_components)
        ``P(z|d)``, the shares of aspects in the training rows.
    weights_ : ndarray of shape (n_components,)
        Share of all tokens that each aspect explains.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood (tempered, if ``tempering`` is below 1) at the beginning of each iteration.
    objectives_ : ndarray of shape (n_init,)
        What the starts are compared by.
    validation_scores_ : ndarray
        Mean log-probability of held-out tokens after every fifth iteration; empty without ``early_stopping``.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol`` or by early stopping.
    score_type_ : str
        What ``score`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters, of which every row has ``n_components - 1``.
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
    AspectModel : The same model of a two-way table, whose rows are fixed.
    DiscreteComponentAnalysis : With priors on rows and components.
    aspect_report : What the aspects show, beside classes that the fit has not seen.

    References
    ----------
    .. [1] Hofmann, T. (2001). Unsupervised learning by probabilistic latent semantic analysis. Machine Learning 42,
       177-196.
    .. [2] Monay, F., Quelhas, P., Gatica-Perez, D. and Odobez, J.-M. (2006). Constructing visual models with a latent
       space approach. In Subspace, Latent Structure and Feature Selection, LNCS 3940, 115-126.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import PLSA
    >>> counts = np.array([[4, 3, 0, 0], [2, 3, 0, 0], [0, 0, 2, 5], [0, 0, 1, 1], [2, 2, 1, 3]])
    >>> PLSA(2, early_stopping=False, random_state=0).fit_transform(counts).round(2)
    array([[1. , 0. ],
           [1. , 0. ],
           [0. , 1. ],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    _parameter_constraints = {
        **AspectBase._parameter_constraints,
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tempering": [Interval(Real, 0, 1, closed="right")],
        "max_doc_update_iter": [Interval(Integral, 1, None, closed="left")],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
    }

    def __init__(
        self,
        n_components=10,
        *,
        max_iter=500,
        tol=1e-6,
        early_stopping=True,
        validation_fraction=0.1,
        n_iter_no_change=2,
        tempering=1.0,
        max_doc_update_iter=100,
        n_init=1,
        vectorizer=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
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
        counts, table = self._prepared(X, sample_weight)
        early = self.early_stopping and counts.shape[0] >= _FEWEST_ROWS
        scores_of_best: list[list[float]] = []

        def run(random: np.random.RandomState, on_step) -> Climb:
            if not early:
                start = starting_aspects(*table.shape, self.n_components, random)
                scores_of_best.append([])
                return climb(start, self._step(table), max_iter=self.max_iter, tol=self.tol, on_step=on_step)
            found, scores = self._stopped_early(counts, table, random, on_step)
            scores_of_best.append(scores)
            return found

        self._fit_starts(run, X)
        self.validation_scores_ = np.array(scores_of_best[int(self.objectives_.argmax())])
        return self

    def _step(self, table: CountTable):
        return lambda aspects: em_step(table, aspects, tempering=self.tempering)

    def _stopped_early(self, counts: sparse.csr_array, table: CountTable, random: np.random.RandomState, on_step):
        """Climb on some of the rows until the tokens of others become less likely; the best aspects, for all rows."""
        order = random.permutation(counts.shape[0])
        n_validation = max(1, round(self.validation_fraction * len(order)))
        held, kept = np.sort(order[:n_validation]), np.sort(order[n_validation:])
        weights = table.weights
        training = count_table(counts[kept], weights[kept])
        seen, held_out = split_tokens(counts[held], random)
        step = self._step(training)
        scores: list[float] = []
        best = starting_aspects(*training.shape, self.n_components, random)
        start, n_steps, done = best, 0, False

        def checked_step(aspects: Aspects):
            nonlocal best, n_steps, done
            aspects, objective = step(aspects)
            n_steps += 1
            if n_steps % _CHECK_EVERY == 0:
                scores.append(self._validation_score(seen, held_out, aspects.theta, weights[held]))
                if scores[-1] == max(scores):
                    best = aspects
                done = len(scores) - 1 - int(np.argmax(scores)) >= self.n_iter_no_change
            return aspects, objective

        stopped = False

        def on_any_step() -> bool:
            nonlocal stopped
            stopped = on_step()
            return stopped or done

        found = climb(start, checked_step, max_iter=self.max_iter, tol=self.tol, on_step=on_any_step)
        theta = best.theta if scores else found.state.theta
        shares = fold_in(counts, theta, max_iter=self.max_doc_update_iter)
        worth = max(scores) if scores else found.value
        return Climb(Aspects(shares, theta), found.path, found.converged or done, stopped, worth), scores

    def _validation_score(self, seen, held_out, theta: np.ndarray, weights: np.ndarray) -> float:
        """Mean log-probability of a token of either half, given the other."""
        smooth = (1 - self._smoothing) * theta + self._smoothing / len(theta)
        logs = totals = 0.0
        for first, second in ((seen, held_out), (held_out, seen)):
            shares = fold_in(first, theta, max_iter=self.max_doc_update_iter)
            logs += float(weights @ mixture_fits(count_rows(second), shares, smooth))
            totals += float(weights @ np.asarray(second.sum(axis=1)).ravel())
        return logs / max(totals, 1e-300)
