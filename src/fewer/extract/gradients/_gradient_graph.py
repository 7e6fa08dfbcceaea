"""A graph of the columns that act on the target together, from the mean outer product Gamma of its gradients.

As partial correlations come from the inverse of a covariance, dependences come from the pseudo-inverse of Gamma,

    J = sum over lambda_k > epsilon of v_k v_k' / lambda_k,    R_ij = -J_ij / sqrt(J_ii J_jj).

J is kept as a factor, J = T T' with one row of T for each column of the table.
"""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, validated, warn_caller
from fewer._figures import AMBER, BLUE, RED, new_figure
from fewer.catalogue import method
from fewer.extract.gradients._gradient_learner import NO_GRADIENT, GradientLearner, OuterProduct, outer_product
from fewer.extract.gradients._gradient_outer_product import learnt_gradients

if TYPE_CHECKING:
    import plotly.graph_objects as go


_PAIRS_AT_ONCE = 4_000_000


class Edges(NamedTuple):
    """Pairs of columns (edges, 2), the smaller number first, and what each is worth, strongest first."""

    pairs: np.ndarray
    values: np.ndarray


def inverse_factor(product: OuterProduct, epsilon: float) -> np.ndarray:
    """T of the pseudo-inverse ``J = T T'`` (columns, directions)."""
    kept = product.eigenvalues > epsilon
    return product.directions[kept].T / np.sqrt(product.eigenvalues[kept])


def strongest_edges(factor: np.ndarray, columns: np.ndarray, n_edges: int) -> Edges:
    """The partial correlations R between some columns that are largest in absolute value; those of 0 are none."""
    units = factor[columns] / np.linalg.norm(factor[columns], axis=1, keepdims=True)
    pairs = np.empty((0, 2), dtype=int)
    values = np.empty(0)
    for block in gen_batches(len(columns), max(1, _PAIRS_AT_ONCE // max(len(columns), 1))):
        correlations = -units[block] @ units.T
        firsts, seconds = np.nonzero(np.triu(np.abs(correlations) > np.finfo(float).eps, k=block.start + 1))
        pairs = np.concatenate([pairs, columns[np.column_stack([firsts + block.start, seconds])]])
        values = np.concatenate([values, correlations[firsts, seconds]])
        best = np.argsort(-np.abs(values), kind="stable")[:n_edges]
        pairs, values = pairs[best], values[best]
    return Edges(pairs, np.clip(values, -1, 1))


_WIDEST = 5.0
_LARGEST_DOT, _SMALLEST_DOT = 26.0, 7.0


def graph_figure(names: list[str], scores: np.ndarray, correlations: np.ndarray) -> "go.Figure":
    """Columns by name, larger with a higher score; a line for each correlation, red for negative ones."""
    import plotly.graph_objects as go

    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(len(names), 1)
    x, y = np.cos(angles), np.sin(angles)
    figure = new_figure(height=480)
    for first, second in zip(*np.nonzero(np.triu(correlations, k=1)), strict=True):
        value = correlations[first, second]
        figure.add_trace(
            go.Scatter(
                x=x[[first, second]],
                y=y[[first, second]],
                mode="lines",
                line={"width": max(0.5, _WIDEST * abs(value)), "color": RED if value < 0 else BLUE},
                opacity=0.25 + 0.6 * abs(value),
                hoverinfo="skip",
                showlegend=False,
            )
        )
    sizes = np.sqrt(np.maximum(scores, 0) / max(scores.max(initial=0), np.finfo(float).tiny))
    words = [f"{name}<br>score {score:.3g}" for name, score in zip(names, scores, strict=True)]
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="markers",
            marker={"size": _SMALLEST_DOT + (_LARGEST_DOT - _SMALLEST_DOT) * sizes, "color": AMBER, "opacity": 1},
            hovertext=words,
            hoverinfo="text",
            showlegend=False,
        )
    )
    for name, angle in zip(names, angles, strict=True):
        side = "left" if np.cos(angle) > 0.1 else "right" if np.cos(angle) < -0.1 else "center"
        figure.add_annotation(x=1.12 * np.cos(angle), y=1.12 * np.sin(angle), text=name, showarrow=False, xanchor=side)
    figure.update_xaxes(visible=False, range=[-1.3, 1.3])
    figure.update_yaxes(visible=False, range=[-1.3, 1.3], scaleanchor="x")
    return figure.update_layout(margin={"l": 20, "r": 20, "t": 20, "b": 20})


_SHARE_OF_LARGEST = 0.05
_MOST_EDGES = 5000


@method(
    tasks=["classification", "regression"],
    when="You want to see which columns drive the target, and which of them do so together: a network of genes behind "
    "an outcome. Unlike a graphical model of the columns alone, it shows nothing of columns that do not matter.",
    cost="O(n^2 min(n, p)) for each of some tens of steps, O(p^2 k) for the edges; O(n^2 + n p + edges) memory",
    paper="learning-gradients",
    depends_on_scale="alpha_grad penalises slopes, whose unit is the inverse of that of the columns",
)
class GradientGraph(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Partial correlations of columns in their effect on the target.

    It makes no new columns; ``transform`` keeps those of the graph.

    Parameters
    ----------
    estimator : GradientLearner, default=None
        Learns the gradient. By default with the squared loss for numbers and the logistic loss for classes.
    epsilon : {"auto", "permutation"} or float, default="auto"
        Eigenvalues of the mean outer product of gradients up to this are taken for noise. "auto" is 5% of the largest;
        "permutation" the largest one that is seen in any of ``n_permutations`` fits with shuffled target.
    n_edges : int or None, default=None
        How many edges to keep, the strongest; None for all, up to 5,000.
    floor : float, default=0.05
        Columns whose entry of the inverse's diagonal is below this share of the largest are irrelevant, and get no
        edges.
    n_permutations : int, default=20
        Fits with shuffled target, for ``epsilon="permutation"``.
    random_state : int, RandomState or None, default=None
        Shuffles the target.
    n_features_to_select : int or None, default=None
        How many columns ``transform`` keeps, the first of the ranking; None for the relevant ones. It makes no
        difference to the graph.

    Attributes
    ----------
    partial_correlations_ : sparse matrix of shape (n_features, n_features)
        Partial correlation R of each pair that has an edge; symmetric, 0 on the diagonal.
    edges_ : ndarray of shape (n_edges, 2)
        The pairs of columns, strongest first.
    edge_values_ : ndarray of shape (n_edges,)
        Partial correlation of each pair.
    inverse_diagonal_ : ndarray of shape (n_features,)
        Diagonal of the inverse of the outer product.
    relevant_ : ndarray of bool of shape (n_features,)
        Which columns are above the floor.
    feature_scores_ : ndarray of shape (n_features,)
        Mean squared slope of the target along each column: the diagonal of the outer product.
    scores_ : ndarray of shape (n_features,)
        The same.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: relevant ones first, those with higher scores before others; 1 is the best.
    n_features_to_select_ : int
        How many columns ``transform`` keeps.
    eigenvalues_ : ndarray of shape (n_directions,)
        Eigenvalues of the outer product, decreasing.
    epsilon_ : float
        Eigenvalues up to this were taken for noise.
    n_directions_ : int
        Number of eigenvalues above it.
    estimator_ : GradientLearner
        The fitted estimator of the gradient.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    GradientOuterProduct : The directions themselves.
    sklearn.covariance.GraphicalLasso : Dependence between columns, without a target.

    Notes
    -----
    If the target depends on one direction only, all columns in it have a partial correlation of -1 or 1 with each
    other: only that they act together is known then. ``feature_scores_`` has the contribution of each.

    References
    ----------
    .. [1] Wu, Q., Guinney, J., Maggioni, M. and Mukherjee, S. (2010). Learning gradients: predictive models that infer
       geometry and statistical dependence. Journal of Machine Learning Research 11, 2175-2198.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import GradientGraph
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> graph = GradientGraph().fit(X, X[:, 0] + X[:, 3])
    >>> graph.edges_.tolist()
    [[0, 3]]
    """

    _parameter_constraints = {
        "estimator": [GradientLearner, None],
        "epsilon": [StrOptions({"auto", "permutation"}), Interval(Real, 0, None, closed="left")],
        "n_edges": [Interval(Integral, 1, None, closed="left"), None],
        "floor": [Interval(Real, 0, 1, closed="both")],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        epsilon="auto",
        n_edges=None,
        floor=0.05,
        n_permutations=20,
        random_state=None,
        n_features_to_select=None,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.n_edges = n_edges
        self.floor = floor
        self.n_permutations = n_permutations
        self.random_state = random_state
        self.n_features_to_select = n_features_to_select

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the edges.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers or classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), ensure_min_samples=2)
        with learnt_gradients(self, X, y) as learner:
            product = outer_product(learner._slopes, learner._axes)
            if not len(product.eigenvalues):
                raise ValueError(NO_GRADIENT)
            self.estimator_ = learner
            self.eigenvalues_ = product.eigenvalues
            self.feature_scores_ = product.diagonal
            self.epsilon_ = self._noise(learner, X, y)
            factor = inverse_factor(product, self.epsilon_)
            self.n_directions_ = factor.shape[1]
            if self.n_directions_ == 0:
                raise ValueError(
                    f"No eigenvalue is above epsilon={self.epsilon_:.3g}, the largest is {product.eigenvalues[0]:.3g}: "
                    "nothing is left to draw a graph from."
                )
            self.inverse_diagonal_ = np.einsum("ij,ij->i", factor, factor)
            self.relevant_ = self.inverse_diagonal_ >= self.floor * self.inverse_diagonal_.max()
            self.relevant_ &= self.inverse_diagonal_ > 0
            relevant = np.flatnonzero(self.relevant_)
            self.edges_, self.edge_values_ = strongest_edges(factor, relevant, self.n_edges or _MOST_EDGES)
            self._rank()
        if self.n_edges is None and len(self.edges_) == _MOST_EDGES:
            warn_caller(
                f"{len(relevant):,} columns are relevant, and of all edges between them the {_MOST_EDGES:,} strongest "
                "are kept. Raise floor for fewer columns, or set n_edges."
            )
        return self

    def _rank(self) -> None:
        """Relevant columns first, then the others, by score."""
        order = np.lexsort((-self.feature_scores_, ~self.relevant_))
        self.ranking_ = np.empty(len(order), dtype=int)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        n_relevant, wanted = int(self.relevant_.sum()), self.n_features_to_select
        if wanted is not None and wanted > len(order):
            warn_caller(
                f"n_features_to_select={wanted} columns are asked for, and the table has {len(order)}; all of them are "
                "kept."
            )
        self.n_features_to_select_ = n_relevant if wanted is None else min(wanted, len(order))

    @property
    def scores_(self) -> np.ndarray:
        """Mean squared slope of the target along each column."""
        return self.feature_scores_

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.ranking_ <= self.n_features_to_select_

    @property
    def partial_correlations_(self) -> sparse.csr_array:
        """The edges as a matrix."""
        shape = (self.n_features_in_, self.n_features_in_)
        upper = sparse.csr_array((self.edge_values_, self.edges_.T), shape=shape)
        return (upper + upper.T).tocsr()

    def _noise(self, learner: GradientLearner, X: Any, y: np.ndarray) -> float:
        """Eigenvalues up to this are noise."""
        if self.epsilon == "auto":
            return float(_SHARE_OF_LARGEST * self.eigenvalues_[0])
        if self.epsilon != "permutation":
            return float(self.epsilon)
        rng = check_random_state(self.random_state)
        shuffled = GradientLearner(**learner.get_params(deep=False))
        fits = (shuffled.fit(X, rng.permutation(y)) for _ in range(self.n_permutations))
        return max(float(outer_product(fit._slopes, fit._axes).eigenvalues.max(initial=0)) for fit in fits)

    def plot(self, n_columns: int = 30) -> "go.Figure":
        """Draw the graph: columns on a circle, larger the more the target changes with them.

        Parameters
        ----------
        n_columns : int, default=30
            How many columns to draw at most, those with the highest scores among the relevant ones.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{column}" for column in range(self.n_features_in_)])
        scores = np.where(self.relevant_, self.feature_scores_, -1)
        columns = np.argsort(-scores, kind="stable")[: min(n_columns, int(self.relevant_.sum()))]
        correlations = self.partial_correlations_[columns][:, columns].toarray()
        return graph_figure([str(names[column]) for column in columns], self.feature_scores_[columns], correlations)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
