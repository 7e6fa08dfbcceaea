"""What components are and whether they are real: top features, matching, stability, coherence, and their figures.

Components have no order, so two fits are compared after the assignment that makes their total distance smallest (the
Hungarian method). The distance of two distributions is total variation, ``sum_j |a_j - b_j| / 2``: the share of tokens
that would have to move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from fewer._estimators import each_warning_once, safe_indexing
from fewer._figures import BLUE, GREEN, GREY, PALETTE, RED, Result, new_figure, style_panels
from fewer._wording import counted, cut, listed, rounded_percent
from fewer.catalogue import method

if TYPE_CHECKING:
    import plotly.graph_objects as go

Metric = Literal["total_variation", "cosine"]


class Match(NamedTuple):
    """For each component of the first set, its partner in the second and their distance."""

    partners: np.ndarray
    distances: np.ndarray


@method(
    tasks=["evaluation"],
    when="Components of two fits, or of a fit and the truth, are to be compared although they have no order.",
    cost="O(k^2 p + k^3)",
    handles=(),
)
def match_components(first: Any, second: Any, *, metric: Metric = "total_variation") -> Match:
    """Pair the components of two fits so that their total distance is smallest.

    Parameters
    ----------
    first : array-like of shape (n_components, n_features)
        Components, one in each row.
    second : array-like of shape (n_other_components, n_features)
        Components to compare with, at least as many.
    metric : {"total_variation", "cosine"}, default="total_variation"
        Distance of distributions, between 0 and 1; or one minus the absolute cosine, for directions.

    Returns
    -------
    match : Match
        ``partners``, the row of ``second`` for each row of ``first``, and ``distances`` of the pairs.

    Examples
    --------
    >>> from fewer.latent import match_components
    >>> match_components([[1.0, 0.0], [0.2, 0.8]], [[0.0, 1.0], [1.0, 0.0]])
    Match(partners=array([1, 0]), distances=array([0. , 0.2]))
    """
    first, second = (np.atleast_2d(np.asarray(each, dtype=np.float64)) for each in (first, second))
    if first.shape[1] != second.shape[1] or len(first) > len(second):
        raise ValueError(
            f"Components of shape {first.shape} cannot be matched with {second.shape}: as many columns are needed, and "
            "at least as many components in the second."
        )
    if metric == "cosine":
        distances = 1 - np.abs(1 - cdist(first, second, "cosine"))
    elif metric == "total_variation":
        distances = cdist(first, second, "cityblock") / 2
    else:
        raise ValueError(f"metric must be 'total_variation' or 'cosine', not {metric!r}.")
    rows, partners = linear_sum_assignment(distances)
    return Match(partners, distances[rows, partners])


@dataclass(repr=False)
class TopFeatures(Result):
    """The features that stand for each component.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
        Share of all tokens that each component explains.
    names : list of list of str
        Features of each component, first ones first.
    shares : ndarray of shape (n_components, n_features)
        Share of each of them in the component.
    lifts : ndarray of shape (n_components, n_features)
        How many times more frequent the feature is in the component than in the whole table.
    """

    _data: ClassVar[tuple[str, ...]] = ("weights", "names", "shares", "lifts")

    weights: np.ndarray
    names: list[list[str]]
    shares: np.ndarray
    lifts: np.ndarray

    def __repr__(self) -> str:
        heading = "their share of all tokens, and the features that stand for them"
        lines = [f"{counted(len(self.names), 'component')}: {heading}"]
        width = len(str(len(self.names) - 1))
        for number, (weight, names) in enumerate(zip(self.weights, self.names, strict=True)):
            lines.append(f"  {number:>{width}}  {rounded_percent(float(weight)):>5}  {listed(names, len(names))}")
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Draw the shares of the top features of each component, darker the larger their lift.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A panel for each component.
        """
        return _bars_of_components(self)


def top_features(model: Any, *, n_features: int = 8, feature_names: Sequence[str] | None = None) -> TopFeatures:
    """The features that stand for each component of a model of counts.

    Features are ordered by ``share log(lift)``: what a component says more often than the whole table does, weighted by
    how often.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        A model of counts of ``fewer.latent``, or a pipeline that ends with one, such as ``make_pipeline(
        CountVectorizer(), PLSA())``.
    n_features : int, default=8
        Features of each component.
    feature_names : sequence of str, default=None
        Names of the columns; by default those that the model, or the pipeline before it, knows.

    Returns
    -------
    features : TopFeatures
        It prints the words, and ``plot()`` draws them.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from fewer.latent import PLSA, top_features
    >>> texts = ["rain wind rain", "wind rain", "bread jam", "jam bread jam", "rain wind wind rain"]
    >>> pipeline = make_pipeline(CountVectorizer(), PLSA(2, early_stopping=False, random_state=0)).fit(texts)
    >>> top_features(pipeline, n_features=2).names
    [['rain', 'wind'], ['jam', 'bread']]
    """
    given: Any = feature_names
    if isinstance(model, Pipeline):
        if given is None and len(model) > 1:
            given = model[:-1].get_feature_names_out()
        model = model[-1]
    names = np.asarray(model.feature_names() if given is None else given)
    shares = np.asarray(model.components_, dtype=np.float64)
    if len(names) != shares.shape[1]:
        raise ValueError(f"feature_names has {len(names)} names, and the model has {shares.shape[1]} columns.")
    overall = np.maximum(model.weights_ @ shares, 1e-300)
    lifts = shares / overall
    worth = shares * np.log(np.maximum(lifts, 1e-300))
    order = np.argsort(-worth, axis=1, kind="stable")[:, :n_features]
    return TopFeatures(
        np.asarray(model.weights_),
        [[str(names[column]) for column in row] for row in order],
        np.take_along_axis(shares, order, axis=1),
        np.take_along_axis(lifts, order, axis=1),
    )


def _bars_of_components(found: TopFeatures) -> "go.Figure":
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    n_components, n_features = found.shares.shape
    n_wide = min(n_components, 4)
    n_high = -(-n_components // n_wide)
    titles = [f"{number}: {rounded_percent(float(weight))} of tokens" for number, weight in enumerate(found.weights)]
    figure = make_subplots(
        rows=n_high, cols=n_wide, subplot_titles=titles, horizontal_spacing=0.12, vertical_spacing=0.3 / n_high
    )
    for number, names in enumerate(found.names):
        strength = np.clip(np.log2(np.maximum(found.lifts[number], 1)) / np.log2(n_components + 1), 0, 1)
        bars = go.Bar(
            x=found.shares[number],
            y=[cut(name, 18) for name in names],
            orientation="h",
            marker={"color": BLUE, "opacity": 0.35 + 0.65 * strength},
            customdata=found.lifts[number],
            hovertemplate="%{y}: %{x:.2%} here, %{customdata:.1f} times its share in the table<extra></extra>",
        )
        figure.add_trace(bars, row=number // n_wide + 1, col=number % n_wide + 1)
    style_panels(figure, 60 + n_high * (60 + 20 * n_features), l=80, r=20, t=40, b=40)
    figure.update_annotations(font_size=13)
    figure.update_xaxes(tickformat=".0%", nticks=3, gridcolor="rgba(138, 143, 152, 0.25)")
    return figure.update_yaxes(autorange="reversed")


def plot_rows(
    model: Any, X: Any, *, row_names: Sequence[str] | None = None, n_rows: int = 60, y: Any = None
) -> "go.Figure":
    """Draw rows by components: each row a bar, divided into the shares of its components.

    Parameters
    ----------
    model : fitted estimator
        A latent-variable model whose ``transform`` gives non-negative scores or responsibilities.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    row_names : sequence of str, default=None
        Names of the rows, on hovering.
    n_rows : int, default=60
        Rows to draw, spread evenly over those of each component.
    y : array-like of shape (n_samples,), default=None
        Classes: rows are sorted by them first.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        Rows are ordered by their largest component, purest first.
    """
    import plotly.graph_objects as go

    shares = np.asarray(model.transform(X), dtype=np.float64)
    sums = shares.sum(axis=1, keepdims=True)
    shares = np.divide(shares, sums, out=np.full_like(shares, 1 / shares.shape[1]), where=sums > 0)
    largest = shares.argmax(axis=1)
    keys = [-shares.max(axis=1), largest]
    labels = None if y is None else np.asarray(y)
    if labels is not None:
        keys.append(np.unique(labels, return_inverse=True)[1])
    order = np.lexsort(keys)
    shown = order[np.unique(np.linspace(0, len(order) - 1, min(n_rows, len(order))).astype(int))]
    names = [str(row) if row_names is None else str(row_names[row]) for row in shown]
    if labels is not None:
        names = [f"{name} ({labels[row]})" for name, row in zip(names, shown, strict=True)]
    figure = new_figure(x="rows", y="share of components", height=340)
    figure.update_layout(barmode="stack", bargap=0, legend={"traceorder": "normal"})
    for component in range(shares.shape[1]):
        figure.add_trace(
            go.Bar(
                x=np.arange(len(shown)),
                y=shares[shown, component],
                name=str(component),
                marker={"color": _shade(component), "line": {"width": 0}},
                customdata=names,
                hovertemplate=f"%{{customdata}}: component {component}, %{{y:.0%}}<extra></extra>",
            )
        )
    if labels is None:
        figure.update_xaxes(showticklabels=False)
    else:
        classes, first, sizes = np.unique(labels[shown], return_index=True, return_counts=True)
        figure.update_xaxes(tickvals=first + (sizes - 1) / 2, ticktext=[cut(str(each), 20) for each in classes])
        figure.update_layout(height=400, margin={"b": 160}, legend={"y": -0.6})
    return figure.update_yaxes(range=[0, 1], tickformat=".0%", showgrid=False)


def _shade(component: int) -> str:
    """A colour of the palette, paler in every further round."""
    colour, pale = PALETTE[component % len(PALETTE)], 0.45 * (component // len(PALETTE) % 3) / 1.5
    parts = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(part + pale * (255 - part)):02x}" for part in parts)


@dataclass(repr=False)
class ComponentStability(Result):
    """Which components come back in fits to resampled rows.

    Attributes
    ----------
    similarities : ndarray of shape (n_repeats, n_components)
        Similarity (1 minus distance) of each component and its partner in each resample.
    threshold : float
        A component comes back where its similarity is at least this.
    confidence_level : float
        Confidence level of the intervals.
    names : list of str
        Top features of each component, or its number.
    """

    _data: ClassVar[tuple[str, ...]] = ("names", "frequencies", "intervals", "similarities", "threshold")

    similarities: np.ndarray
    threshold: float
    confidence_level: float
    names: list[str]

    @property
    def frequencies(self) -> np.ndarray:
        """Share of the resamples in which each component came back."""
        return np.mean(self.similarities >= self.threshold, axis=0)

    @property
    def intervals(self) -> np.ndarray:
        """Wilson's interval of each frequency, of shape (n_components, 2)."""
        n_repeats = len(self.similarities)
        hits = np.sum(self.similarities >= self.threshold, axis=0)
        level = {"confidence_level": self.confidence_level, "method": "wilson"}
        return np.array([binomtest(int(each), n_repeats).proportion_ci(**level) for each in hits])

    @property
    def stable(self) -> np.ndarray:
        """Components whose interval is above one half."""
        return self.intervals[:, 0] > 0.5

    @property
    def reading(self) -> str:
        """What it means, in words."""
        return (
            f"{int(self.stable.sum())} of {counted(len(self.names), 'component')} come back in most resamples; the "
            "others depend on the sample or on the start."
        )

    def __repr__(self) -> str:
        lines = [f"Components that come back in {counted(len(self.similarities), 'resample')} of the rows"]
        for name, share, (low, high), mean in zip(
            self.names, self.frequencies, self.intervals, self.similarities.mean(axis=0), strict=True
        ):
            lines.append(f"  {share:4.0%} ({low:.0%} to {high:.0%}), similarity {mean:.2f}: {name}")
        return "\n".join([*lines, self.reading])

    def plot(self) -> "go.Figure":
        """Draw how often each component came back.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            With the intervals.
        """
        import plotly.graph_objects as go

        low, high = self.intervals.T
        shares = self.frequencies
        figure = new_figure(x="share of resamples with this component", height=90 + 24 * len(self.names))
        figure.add_trace(
            go.Scatter(
                x=shares,
                y=[cut(name, 60) for name in self.names],
                error_x={"symmetric": False, "array": high - shares, "arrayminus": shares - low, "color": GREY},
                mode="markers",
                marker={"color": np.where(self.stable, GREEN, RED), "size": 9},
            )
        )
        figure.add_vline(x=0.5, line={"color": GREY, "dash": "dot"})
        return figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%").update_yaxes(autorange="reversed")


@method(
    tasks=["evaluation"],
    when="Topics or other components are to be shown to people: which are found again in other samples of rows?",
    cost="O(repeats) fits",
    handles=("sparse",),
)
@each_warning_once()
def component_stability(
    estimator: Any,
    X: Any,
    *,
    n_repeats: int = 20,
    threshold: float = 0.5,
    metric: Metric = "total_variation",
    confidence_level: float = 0.95,
    random_state: Any = 0,
) -> ComponentStability:
    """Find which components come back when rows are resampled and the start is another.

    Parameters
    ----------
    estimator : estimator
        A model with ``components_`` or ``means_``: fitted to ``X``, or not fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or list of str
        Rows.
    n_repeats : int, default=20
        Bootstrap samples of the rows.
    threshold : float, default=0.5
        Similarity (1 minus distance) from which a component counts as the same.
    metric : {"total_variation", "cosine"}, default="total_variation"
        Distance of two components.
    confidence_level : float, default=0.95
        Confidence level of the intervals.
    random_state : int, RandomState instance or None, default=0
        Draws the samples and the starts.

    Returns
    -------
    stability : ComponentStability
        How often each component of the fit to all rows was found again, with an interval.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import PLSA, component_stability
    >>> rng = np.random.default_rng(0)
    >>> topics = np.kron(np.eye(3), np.full(10, 0.1))
    >>> X = np.array([rng.multinomial(60, topics[row % 3]) for row in range(120)])
    >>> component_stability(PLSA(3, random_state=0), X, n_repeats=10).frequencies
    array([1., 1., 1.])
    """
    random = check_random_state(random_state)
    reference = estimator
    if not _is_fitted(estimator):
        reference = clone(estimator).fit(X)
    target = _components_of(reference)
    texts = getattr(reference, "vectorizer_", None) is not None
    # Every sample has the columns of the whole table, whichever words it holds.
    table = reference.vectorizer_.transform(list(X)) if texts else X
    n_rows = table.shape[0] if hasattr(table, "shape") else len(table)
    similarities = []
    for _ in range(n_repeats):
        rows = random.randint(n_rows, size=n_rows)
        again = clone(estimator)
        if "random_state" in again.get_params():
            again.set_params(random_state=random.randint(2**31 - 1))
        found = _components_of(again.fit(safe_indexing(table, rows)))
        similarities.append(1 - match_components(target, found, metric=metric).distances)
    named = hasattr(reference, "weights_") and hasattr(reference, "feature_names")
    names = [listed(words, 5) for words in top_features(reference, n_features=5).names] if named else None
    return ComponentStability(
        np.array(similarities), threshold, confidence_level, names or [f"component {k}" for k in range(len(target))]
    )


def _is_fitted(estimator: Any) -> bool:
    return hasattr(estimator, "components_") or hasattr(estimator, "means_")


def _components_of(model: Any) -> np.ndarray:
    return np.asarray(model.components_ if hasattr(model, "components_") else model.means_)


@method(
    tasks=["evaluation"],
    when="Topics are to be judged as people do: the top words of a good one occur in the same rows.",
    cost="O(nnz) for the columns of the top features",
    handles=("sparse",),
)
def component_coherence(model: Any, X: Any, *, n_features: int = 10) -> np.ndarray:
    """Coherence of each component: mean normalised pointwise mutual information of pairs of its top features.

    ``npmi(i, j) = log(p_ij / (p_i p_j)) / -log p_ij``, where the p are shares of rows in which features occur: 1 where
    two features always occur together, 0 where they are independent, and -1 where they never meet.

    Parameters
    ----------
    model : fitted estimator
        A model of counts of ``fewer.latent``, or an array of components, one in each row.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or list of str
        Rows in which features are looked up, best others than those of the fit.
    n_features : int, default=10
        Top features of each component.

    Returns
    -------
    coherence : ndarray of shape (n_components,)
        Between -1 and 1.

    Examples
    --------
    >>> from fewer.latent import component_coherence
    >>> X = [[1, 2, 0, 0], [3, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    >>> component_coherence([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]], X, n_features=2)
    array([ 1., -1.])
    """
    components = np.asarray(getattr(model, "components_", model), dtype=np.float64)
    if hasattr(model, "_new_counts"):
        X = model._new_counts(X)
    occurs = sparse.csc_array(sparse.csc_array(X) > 0).astype(np.float64)
    if n_features < 2:
        raise ValueError(f"n_features={n_features} features have no pairs; at least two are needed.")
    return np.array([_mean_npmi(occurs[:, np.argsort(-row)[:n_features]]) for row in components])


def _mean_npmi(occurs: sparse.csc_array) -> float:
    together = np.asarray((occurs.T @ occurs).todense()) / occurs.shape[0]
    single = np.diag(together)
    first, second = np.triu_indices(len(single), 1)
    pair, product = together[first, second], single[first] * single[second]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(pair > 0, np.log(pair / product) / -np.log(pair), -1.0)
    return float(np.mean(np.where(pair >= 1, 1.0, values)))
