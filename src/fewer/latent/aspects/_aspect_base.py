"""Probabilistic latent semantic analysis, alias the aspect model: mixtures of aspects, by EM.

    P(x_j | d_i) = sum_k P(z_k | d_i) P(x_j | z_k),   or   P(i, j) = sum_k P(z_k) P(i | z_k) P(j | z_k),

which are one model. With ``R = N / (P(z|d) P(x|z))`` on the non-zeros of the counts N, a step of EM is
``P(z|d) ~ P(z|d) * (R P(x|z)')`` and ``P(x|z) ~ P(x|z) * (P(z|d)' R)``, both from the same R. Tempered EM takes
responsibilities to a power below 1 (Hofmann 2001); it climbs ``1/b sum_ij n_ij log sum_k (P(z|d) P(x|z))^b``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import average_precision_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import warn_caller
from fewer._figures import PALETTE, Result, new_figure
from fewer._wording import counted
from fewer.latent._count_model import CountModel
from fewer.latent._latent_model import row_weights
from fewer.latent._passes import CountTable, count_rows, count_table, folded_in, mixture_fits, mixture_sums

if TYPE_CHECKING:
    import plotly.graph_objects as go

_FOLD_TOL = 1e-6
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
        return mixture_fits(count_rows(counts), self._row_shares(counts), theta)

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
