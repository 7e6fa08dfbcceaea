"""Probabilistic latent semantic analysis, alias the aspect model: mixtures of aspects, by EM.

    P(x_j | d_i) = sum_k P(z_k | d_i) P(x_j | z_k),   or   P(i, j) = sum_k P(z_k) P(i | z_k) P(j | z_k),

which are one model. With ``R = N / (P(z|d) P(x|z))`` on the non-zeros of the counts N, a step of EM is
``P(z|d) ~ P(z|d) * (R P(x|z)')`` and ``P(x|z) ~ P(x|z) * (P(z|d)' R)``, both from the same R. Tempered EM takes
responsibilities to a power below 1 (Hofmann 2001); it climbs ``1/b sum_ij n_ij log sum_k (P(z|d) P(x|z))^b``.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.callback import with_callbacks
from sklearn.metrics import average_precision_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import HasMethods, Interval, fit_context, warn_caller
from fewer._figures import PALETTE, Result, new_figure
from fewer._wording import counted
from fewer.catalogue import method
from fewer.latent._count_model import CountModel, split_tokens
from fewer.latent._latent_model import Climb, climb, row_weights
from fewer.latent._passes import CountTable, count_rows, count_table, folded_in, mixture_sums

if TYPE_CHECKING:
    import plotly.graph_objects as go

_FOLD_TOL = 1e-6
_CHECK_EVERY = 5
_FEWEST_ROWS = 20
_FLOOR = 1e-12
_DASHES = ("solid", "dash", "dot")


class Aspects(NamedTuple):
    """``P(z|d)`` (rows, K) and ``P(x|z)`` transposed (columns, K)."""

    shares: np.ndarray
    theta: np.ndarray


def starting_aspects(n_rows: int, n_columns: int, n_components: int, random: np.random.RandomState) -> Aspects:
    """Random aspects, and rows that have equal shares of all."""
    theta = random.standard_gamma(1.0, size=(n_columns, n_components)) + 1.0
    return Aspects(np.full((n_rows, n_components), 1 / n_components), theta / theta.sum(axis=0))


def em_step(table: CountTable, aspects: Aspects, *, tempering: float = 1.0, smoothing: float = 0.0):
    """The next aspects, and the (tempered) log-likelihood of the present ones."""
    shares, theta = aspects if tempering == 1 else (each**tempering for each in aspects)
    sums, fits = mixture_sums(table.rows, shares, theta)
    objective = float(table.weights @ fits) / tempering
    expected = theta * mixture_sums(table.columns, theta, shares)[0] + smoothing
    lengths = expected.sum(axis=0)
    # An aspect that no token has keeps its distribution.
    new_theta = np.divide(expected, lengths, out=aspects.theta.copy(), where=lengths > 0)
    new_shares = shares * sums
    totals = new_shares.sum(axis=1, keepdims=True)
    new_shares = np.divide(new_shares, totals, out=np.full_like(new_shares, 1 / shares.shape[1]), where=totals > 0)
    return Aspects(new_shares, new_theta), objective


def fold_in(counts: sparse.csr_array, theta: np.ndarray, *, max_iter: int, tol: float = _FOLD_TOL) -> np.ndarray:
    """``P(z|d)`` of rows for fixed aspects, from equal shares; rows without counts stay there."""
    n_components = theta.shape[1]
    start = np.ones((counts.shape[0], n_components))
    limits: dict[str, Any] = {"bayes": False, "max_iter": max_iter, "tol": tol}
    found = folded_in(count_rows(counts), start, theta, np.zeros(n_components), np.ones(n_components), **limits)
    totals = found.sum(axis=1, keepdims=True)
    return np.divide(found, totals, out=np.full_like(found, 1 / n_components), where=totals > 0)


@dataclass(repr=False)
class TopicPrecision(Result):
    """Precision and recall of classes along rows sorted by one aspect.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes.
    average_precision : ndarray of shape (n_components, n_classes)
        Average precision of each class along each aspect.
    best_class : ndarray of int of shape (n_components,)
        The class with the largest average precision of each aspect.
    precision : ndarray of shape (n_components, n_samples)
        Share of the first rows of each aspect that are of its best class.
    recall : ndarray of shape (n_components, n_samples)
        Share of its best class that is among these rows.
    """

    _data: ClassVar[tuple[str, ...]] = ("classes", "average_precision", "best_class", "precision", "recall")

    classes: np.ndarray
    average_precision: np.ndarray
    best_class: np.ndarray
    precision: np.ndarray
    recall: np.ndarray

    def __repr__(self) -> str:
        lines = [f"Precision of {counted(len(self.best_class), 'aspect')} for the class that each is best at"]
        top = min(10, self.precision.shape[1])
        for number, best in enumerate(self.best_class):
            lines.append(
                f"  {number}: {self.classes[best]}, precision at {top} {self.precision[number, top - 1]:.2f}, "
                f"average precision {self.average_precision[number, best]:.2f}"
            )
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Draw precision over recall, for the best aspect of each class.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            One curve for each class.
        """
        import plotly.graph_objects as go

        figure = new_figure(x="recall", y="precision")
        for number, label in enumerate(self.classes):
            aspect = int(np.argmax(np.where(self.best_class == number, self.average_precision[:, number], -1)))
            if self.best_class[aspect] != number:
                continue
            curve = go.Scatter(
                x=self.recall[aspect],
                y=self.precision[aspect],
                mode="lines",
                name=f"{label} (aspect {aspect})",
                line={"color": PALETTE[number % len(PALETTE)], "dash": _DASHES[number // len(PALETTE) % 3]},
            )
            figure.add_trace(curve)
        return figure.update_yaxes(range=[0, 1.02])


class AspectBase(CountModel):
    """What PLSA and the aspect model share."""

    _smoothing = 0.01

    tempering: float
    doc_topic_: np.ndarray
    max_doc_update_iter: int

    def _keep(self, state: Aspects) -> None:
        totals = self._totals @ state.shares
        order = np.argsort(-totals, kind="stable")
        self.components_ = np.ascontiguousarray(state.theta.T[order]).astype(self._dtype)
        self.doc_topic_ = state.shares[:, order].astype(self._dtype)
        self.weights_ = totals[order] / totals.sum()
        n_rows, n_components = state.shares.shape
        self.n_components_ = n_components
        self.n_parameters_ = n_components * (len(state.theta) - 1) + n_rows * (n_components - 1)
        self.score_type_ = "log-likelihood"

    def _prepared(self, X: Any, sample_weight: Any) -> tuple[sparse.csr_array, CountTable]:
        counts = self._training_counts(X)
        table = count_table(counts, row_weights(sample_weight, counts))
        self._dtype, self._totals = counts.dtype.name, table.totals * table.weights
        empty = np.flatnonzero(table.totals == 0)
        if len(empty):
            rows = (
                f"row {empty[0]} holds" if len(empty) == 1 else f"{len(empty)} rows, the first is row {empty[0]}, hold"
            )
            warn_caller(f"{rows} no counts: {type(self).__name__} gives them equal shares of all components.")
        return counts, table

    def _row_shares(self, counts: sparse.csr_array) -> np.ndarray:
        theta = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        return fold_in(counts, theta, max_iter=self.max_doc_update_iter)

    def transform(self, X):
        """Shares of the components in rows, ``P(z|d)``, for fixed components (folding in).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts. Columns without a count in ``fit`` are ignored.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Shares that sum to 1; equal ones for a row without counts.
        """
        counts = self._new_counts(X)
        return self._row_shares(counts).astype(counts.dtype)

    def inverse_transform(self, X):
        """Shares of columns, for shares of components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Shares, as ``transform`` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            ``P(x|d)``.
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.components_

    def score_samples(self, X):
        """Log-likelihood of the tokens of each row, with its shares folded in from the same tokens.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats. It does not show overfitting, as ``score_completion`` does.
        """
        counts = self._new_counts(X)
        theta = np.maximum(np.ascontiguousarray(self.components_.T, dtype=np.float64), _FLOOR)
        return mixture_sums(count_rows(counts), self._row_shares(counts), theta)[1]

    def perplexity(self, X):
        """``exp`` of minus the mean log-likelihood of a token: less is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
            Counts, or texts where ``fit`` saw texts.

        Returns
        -------
        perplexity : float
            Number of equally likely columns that would be as hard to predict.
        """
        counts = self._new_counts(X)
        return float(np.exp(-self.score_samples(counts).sum() / counts.sum()))

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the model, each with the shares of a random training row.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : sparse array of shape (n_samples, n_features)
            Counts; each row has as many as the training row whose shares it has.
        shares : ndarray of shape (n_samples, n_components)
            The shares of components that they were drawn with.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        rows = random.choice(len(self.doc_topic_), n_samples)
        shares = self.doc_topic_[rows].astype(np.float64)
        means = shares @ self.components_
        means /= means.sum(axis=1, keepdims=True)
        totals = np.round(self._totals[rows]).astype(np.int64)
        drawn = [random.multinomial(total, mean) for total, mean in zip(totals, means, strict=True)]
        return sparse.csr_array(np.array(drawn, dtype=np.float64)), shares

    def rank_documents(self, component, X=None):
        """Rows by their share of one component, largest first.

        Parameters
        ----------
        component : int
            Number of the component.
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str, default=None
            Rows; those of the fit by default.

        Returns
        -------
        rows : ndarray of int of shape (n_samples,)
            Numbers of the rows.
        """
        check_is_fitted(self)
        if not 0 <= component < self.n_components_:
            raise ValueError(f"There is no component {component}; they are counted from 0 to {self.n_components_ - 1}.")
        shares = self.doc_topic_ if X is None else self.transform(X)
        return np.argsort(-shares[:, component], kind="stable")

    def topic_precision_recall(self, y, X=None):
        """How purely the components rank classes that the fit has not seen.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes of the rows.
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str, default=None
            Rows; those of the fit by default.

        Returns
        -------
        precision : TopicPrecision
            Precision and recall of the best class of each component along its ranking.
        """
        check_is_fitted(self)
        shares = np.asarray(self.doc_topic_ if X is None else self.transform(X), dtype=np.float64)
        y = np.asarray(y)
        if len(y) != len(shares):
            raise ValueError(f"y has {len(y)} labels, and there are {len(shares)} rows.")
        classes, codes = np.unique(y, return_inverse=True)
        average = np.array(
            [[average_precision_score(codes == c, share) for c in range(len(classes))] for share in shares.T]
        )
        best = average.argmax(axis=1)
        order = np.argsort(-shares, axis=0, kind="stable")
        right = np.cumsum(codes[order] == best, axis=0).T
        found = right / np.arange(1, len(y) + 1)
        return TopicPrecision(classes, average, best, found, right / right[:, -1:])


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
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tempering": [Interval(Real, 0, 1, closed="right")],
        "max_doc_update_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
        "random_state": ["random_state"],
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
            logs += float(weights @ mixture_sums(count_rows(second), shares, smooth)[1])
            totals += float(weights @ np.asarray(second.sum(axis=1)).ravel())
        return logs / max(totals, 1e-300)


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
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "tempering": [Interval(Real, 0, 1, closed="right")],
        "max_doc_update_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
        "random_state": ["random_state"],
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
