"""The number of clusters on which perturbed clusterings agree best, and whether there are clusters at all.

For each K, the estimator clusters B perturbed versions of the table (part of the columns, or of the rows), and

    CI(K) = mean over pairs of AMI(U_b, U_c),     K* = argmax_K CI(K).

Agreement alone does not prove clusters: a single long cloud is cut in two at the same place every time. So the same
procedure runs on tables without clusters: columns permuted, each by itself, and rows of one normal cloud with the
covariance of the table. These are the centred rows, rotated at random: rows of any normal distribution are as likely as
their rotations, so that the p-value is exact whatever the covariance is. With A(t, K) the index of table t (the data
are t = 0), the statistic is the largest excess over the mean of all tables, ``T_t = max_K (A(t, K) - mean_s A(s, K))``,
and ``p = #{t : T_t >= T_0} / (number of tables)``.

Vinh, N. X., Epps, J. and Bailey, J. (2010). Information theoretic measures for clusterings comparison. JMLR 11,
2837-2854.
Langsrud, O. (2005). Rotation tests. Statistics and Computing 15, 53-60.
"""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import helmert
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from fewer._estimators import HasMethods, Interval, StrOptions, fit_context, validated, warn_caller
from fewer._figures import AMBER, BLUE, GREY, VIOLET, band, line, mark_point, new_figure
from fewer._kernels._one_thread import one_thread
from fewer._wording import p_digits
from fewer.catalogue import method
from fewer.evaluate.clusterings._comparison import cluster_codes
from fewer.evaluate.clusterings._measures import AVERAGES, MEASURES, logarithms, mean_of_pairs
from fewer.evaluate.protocol._tasks import values_of, workers

if TYPE_CHECKING:
    import plotly.graph_objects as go

NULLS = ("columns", "gaussian")


def consensus_index(labelings: Any, *, measure: str = "ami", average_method: str = "max") -> float:
    """Mean agreement of all pairs of clusterings of the same rows.

    Parameters
    ----------
    labelings : array-like of shape (n_labelings, n_samples)
        Cluster of each row in each clustering; -1 for rows that a clustering left out, which are not compared.
    measure : {"ami", "ari", "nmi", "mi", "ri", "vi"}, default="ami"
        Agreement of two: adjusted mutual information, adjusted Rand index, their forms without correction for chance,
        or the variation of information, which is a distance.
    average_method : {"max", "sum", "sqrt", "min", "joint"}, default="max"
        Upper bound for "ami" and "nmi"; "joint" for "nmi" alone.

    Returns
    -------
    index : float
        Mean over pairs.

    Examples
    --------
    >>> from fewer.evaluate import consensus_index
    >>> round(consensus_index([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 2, 2]]), 3)
    0.63
    """
    if measure not in MEASURES:
        raise ValueError(f"measure={measure!r} is not one of {', '.join(map(repr, MEASURES))}.")
    if average_method not in AVERAGES or (measure, average_method) == ("ami", "joint"):
        raise ValueError(f"average_method={average_method!r} does not go with measure={measure!r}.")
    # Iterating over a frame gives its column names, and over a matrix its rows.
    rows = [
        _codes_with_gaps(labels) for labels in (np.asarray(labelings) if hasattr(labelings, "shape") else labelings)
    ]
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        raise ValueError("Agreement needs at least two clusterings, of the same rows.")
    codes = np.array(rows)
    present = (codes >= 0).astype(float)
    if (present @ present.T).min() == 0:
        raise ValueError("Two clusterings have no row in common.")
    places = (MEASURES.index(measure), AVERAGES.index(average_method))
    return float(mean_of_pairs(codes, int(codes.max()) + 1, *places, logarithms(codes.shape[1])))


def _codes_with_gaps(labels: Any) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"Each clustering must hold one label for each row, and one has the shape {labels.shape}.")
    absent = labels == -1 if labels.dtype.kind in "if" else np.zeros(len(labels), dtype=bool)
    codes = np.full(len(labels), -1, dtype=np.int64)
    if not absent.all():
        codes[~absent] = cluster_codes(labels[~absent], "labelings")[0]
    return codes


class _Procedure(NamedTuple):
    """What a worker needs to cluster any perturbed version of any table."""

    X: np.ndarray
    estimator: Any
    numbers: tuple[int, ...]
    perturbation: str
    fraction: float
    seed: int


@method(
    tasks=["unsupervised", "evaluation"],
    when="You cluster rows and want to know how many clusters there are, and whether there are any: clusterings of "
    "perturbed tables are compared, and so are those of tables without clusters.",
    cost="n_resamples fits of the estimator for each K and table, and O(n_resamples^2 n) for each K; n_null more "
    "tables for each null",
    paper="clusterings",
    examples=lambda: [ConsensusClusterNumber(n_clusters_range=(2, 3), n_resamples=3)],
)
class ConsensusClusterNumber(ClusterMixin, BaseEstimator):
    """The number of clusters on which clusterings of perturbed tables agree best, beside tables without clusters.

    Parameters
    ----------
    estimator : clusterer with ``n_clusters`` or None, default=None
        Not fitted; ``KMeans(n_init=5)`` by default. A single random start finds local minima, whose agreement peaks at
        too many clusters.
    n_clusters_range : tuple of two int, default=(2, 10)
        Smallest and largest number of clusters to try.
    n_resamples : int, default=100
        Perturbed versions of the table for each number.
    perturbation : {"features", "samples"}, default="features"
        Draw columns, or rows; rows that two clusterings do not share are not compared.
    fraction : float, default=0.8
        Share of the columns or rows that are drawn.
    measure : {"ami", "ari", "nmi", "mi", "ri", "vi"}, default="ami"
        Agreement of two clusterings, as in :func:`consensus_index`.
    average_method : {"max", "sum", "sqrt", "min", "joint"}, default="max"
        Upper bound for "ami" and "nmi".
    null : {"columns", "gaussian", "both"} or None, default=None
        Tables without clusters to compare with: columns permuted, each by itself; rows of one normal cloud with the
        covariance of the table, which may be long in some directions (rows rotated at random [2]_); or both.
    n_null : int, default=19
        Tables for each null. The smallest p-value is 1 / (n_null + 1), so fewer than 19 never show clusters.
    n_jobs : int or None, default=None
        Number of workers.
    engine : Engine or None, default=None
        Where to run instead.
    random_state : int, RandomState or None, default=None
        Random seed.

    Attributes
    ----------
    k_values_ : ndarray of int of shape (n_numbers,)
        Numbers of clusters tried.
    consensus_index_ : ndarray of shape (n_numbers,)
        Agreement for each number.
    best_k_ : int
        The number with the best agreement.
    labelings_ : ndarray of int of shape (n_numbers, n_resamples, n_samples)
        Clusters of each perturbed table; -1 for rows that were left out.
    null_index_ : dict of str to ndarray of shape (n_null, n_numbers)
        Agreement on the tables without clusters.
    p_values_ : dict of str to float
        For each null, the p-value of "there are no clusters", over all numbers tried.
    excess_ : dict of str to ndarray of shape (n_numbers,)
        Agreement less its mean on the tables without clusters; positive is in favour of clusters.
    n_clusters_ : int
        The honest number: the one with the largest excess over the nulls (over the larger of their means, with two),
        or 1 if a p-value is above 0.05. Without a null, ``best_k_``.
    labels_ : ndarray of int of shape (n_samples,)
        Clusters of all rows by the estimator with ``n_clusters_`` clusters.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    consensus_index : Agreement of given clusterings.

    References
    ----------
    .. [1] Vinh, N. X., Epps, J. & Bailey, J. (2010). Information theoretic measures for clusterings comparison:
       variants, properties, normalization and correction for chance. Journal of Machine Learning Research 11,
       2837-2854.
    .. [2] Langsrud, O. (2005). Rotation tests. Statistics and Computing 15, 53-60.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import ConsensusClusterNumber
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 20)) + np.repeat(3 * rng.normal(size=(3, 20)), 20, axis=0)
    >>> model = ConsensusClusterNumber(n_clusters_range=(2, 5), n_resamples=10, random_state=0).fit(X)
    >>> model.best_k_, model.consensus_index_.round(2)
    (3, array([0.61, 1.  , 0.83, 0.7 ]))
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "set_params"]), None],
        "n_clusters_range": [tuple, list],
        "n_resamples": [Interval(Integral, 2, None, closed="left")],
        "perturbation": [StrOptions({"features", "samples"})],
        "fraction": [Interval(Real, 0, 1, closed="right")],
        "measure": [StrOptions(set(MEASURES))],
        "average_method": [StrOptions(set(AVERAGES))],
        "null": [StrOptions({*NULLS, "both"}), None],
        "n_null": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "engine": [object],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_clusters_range=(2, 10),
        n_resamples=100,
        perturbation="features",
        fraction=0.8,
        measure="ami",
        average_method="max",
        null=None,
        n_null=19,
        n_jobs=None,
        engine=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.n_clusters_range = n_clusters_range
        self.n_resamples = n_resamples
        self.perturbation = perturbation
        self.fraction = fraction
        self.measure = measure
        self.average_method = average_method
        self.null = null
        self.n_null = n_null
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Cluster perturbed versions of the table, and of tables without clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.
        y : None
            Ignored; present for scikit-learn's conventions.

        Returns
        -------
        self : object
            The fitted object.
        """
        X = validated(self, X, dtype=np.float64, ensure_min_samples=2)
        numbers = self._numbers(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        estimator = KMeans(n_init=5) if self.estimator is None else self.estimator
        if "n_clusters" not in estimator.get_params():
            raise ValueError(
                f"{type(estimator).__name__} has no n_clusters; give a clusterer that has, such as KMeans."
            )
        if (self.measure, self.average_method) == ("ami", "joint"):
            raise ValueError("average_method='joint' does not go with measure='ami'.")
        nulls = NULLS if self.null == "both" else () if self.null is None else (self.null,)
        if nulls and self.n_null < 19:
            warn_caller(
                f"With n_null={self.n_null} no p-value can be below {1 / (self.n_null + 1):.2g}, so that clusters "
                "cannot be shown; give at least 19."
            )
        tables = [("data", 0), *((null, number) for null in nulls for number in range(self.n_null))]
        tasks = [(table, resample) for table in tables for resample in range(self.n_resamples)]
        procedure = _Procedure(X, estimator, numbers, self.perturbation, self.fraction, seed)
        found = values_of(
            _labelings, tasks, procedure,
            engine=workers(self.engine, self.n_jobs), description="Consensus", only_all=True,
        )  # fmt: skip
        labelings = np.array([found[place] for place in range(len(tasks))])
        labelings = labelings.reshape(len(tables), self.n_resamples, len(numbers), len(X)).swapaxes(1, 2)
        index = np.array([[self._index(each) for each in table] for table in labelings])
        self.k_values_ = np.array(numbers)
        self.consensus_index_, self.labelings_ = index[0], labelings[0]
        sign = -1 if self.measure == "vi" else 1
        self.best_k_ = int(self.k_values_[np.argmax(sign * index[0])])
        of_null = {name: index[[place for place, table in enumerate(tables) if table[0] == name]] for name in nulls}
        self.null_index_ = of_null
        self.excess_ = {name: sign * (index[0] - values.mean(axis=0)) for name, values in of_null.items()}
        self.p_values_ = {name: _p_value(sign * index[0], sign * values) for name, values in of_null.items()}
        self.n_clusters_ = self._honest_number()
        self.labels_ = np.zeros(len(X), dtype=np.int64)
        if self.n_clusters_ > 1:
            with one_thread():
                self.labels_ = _clusters(estimator, X, self.n_clusters_, seed)
        return self

    def _numbers(self, X: np.ndarray) -> tuple[int, ...]:
        if len(self.n_clusters_range) != 2 or not all(isinstance(each, Integral) for each in self.n_clusters_range):
            raise ValueError(
                f"n_clusters_range={self.n_clusters_range!r} must be the smallest and the largest number of clusters."
            )
        first, last = self.n_clusters_range
        n_drawn = max(1, round(self.fraction * len(X))) if self.perturbation == "samples" else len(X)
        if not 2 <= first <= last:
            raise ValueError(
                f"n_clusters_range={self.n_clusters_range!r} must be two numbers of clusters, from 2 on, in order."
            )
        if last > n_drawn:
            raise ValueError(
                f"n_clusters_range={self.n_clusters_range!r} asks for {last} clusters of n_samples = {n_drawn} rows."
            )
        return tuple(range(first, last + 1))

    def _index(self, labelings: np.ndarray) -> float:
        places = (MEASURES.index(self.measure), AVERAGES.index(self.average_method))
        return float(mean_of_pairs(labelings, int(labelings.max()) + 1, *places, logarithms(labelings.shape[1])))

    def _honest_number(self) -> int:
        if not self.p_values_:
            return self.best_k_
        if max(self.p_values_.values()) > 0.05:
            return 1
        return int(self.k_values_[np.argmax(np.min(list(self.excess_.values()), axis=0))])

    @property
    def reading_(self) -> str:
        """Whether there are clusters, and how many, in words."""
        best = f"Clusterings of perturbed tables agree best with {self.best_k_} clusters."
        if not self.p_values_:
            return f"{best} Whether there are clusters at all, null='both' tests."
        names = {"columns": "permuted columns", "gaussian": "one normal cloud of the same covariance"}
        tested = ", ".join(f"{names[name]}: p = {p_digits(p)}" for name, p in self.p_values_.items())
        if self.n_clusters_ == 1:
            return (
                f"{best} But tables without clusters agree as well ({tested}, {self.n_null} tables each): there is no "
                "evidence of clusters."
            )
        honest = f" The excess is largest with {self.n_clusters_}." if self.n_clusters_ != self.best_k_ else ""
        return f"{best}{honest} Tables without clusters agree less ({tested}, {self.n_null} tables each)."

    def plot(self) -> "go.Figure":
        """Agreement for each number of clusters, and that of tables without clusters.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        figure = new_figure(
            title="Agreement of perturbed clusterings", x="clusters", y=f"consensus ({self.measure.upper()})"
        )
        looks = {"columns": ("permuted columns", GREY), "gaussian": ("one normal cloud", AMBER)}
        for name, values in self.null_index_.items():
            words, colour = looks[name]
            figure.add_trace(band(f"{words}, range", self.k_values_, values.min(axis=0), values.max(axis=0), colour))
            figure.add_trace(line(words, self.k_values_, values.mean(axis=0), colour))
        figure.add_trace(line("this table", self.k_values_, self.consensus_index_, BLUE))
        if self.n_clusters_ > 1:
            place = int(np.flatnonzero(self.k_values_ == self.n_clusters_)[0])
            mark_point(figure, self.n_clusters_, self.consensus_index_[place], str(self.n_clusters_), name="chosen")
        else:
            figure.update_layout(title_text="No evidence of clusters", title_font_color=VIOLET)
        return figure.update_xaxes(dtick=1)


def _labelings(task: tuple[tuple[str, int], int], procedure: _Procedure) -> np.ndarray:
    """Clusters of one perturbed version of one table for each number; -1 for rows that were not drawn."""
    (kind, number), resample = task
    X = procedure.X
    if kind in NULLS:
        X = without_clusters(X, kind, np.random.default_rng([procedure.seed, NULLS.index(kind) + 1, number]))
    # The same draws for the data and for every null.
    rng = np.random.default_rng([procedure.seed, 0, resample])
    n_rows, n_columns = X.shape
    rows, columns = np.arange(n_rows), np.arange(n_columns)
    if procedure.perturbation == "features":
        columns = rng.choice(n_columns, max(1, round(procedure.fraction * n_columns)), replace=False)
    else:
        rows = np.sort(rng.choice(n_rows, max(1, round(procedure.fraction * n_rows)), replace=False))
    drawn = X[np.ix_(rows, columns)]
    labels = np.full((len(procedure.numbers), n_rows), -1, dtype=np.int64)
    with one_thread():
        for place, n_clusters in enumerate(procedure.numbers):
            labels[place, rows] = _clusters(procedure.estimator, drawn, n_clusters, int(rng.integers(2**31 - 1)))
    return labels


def _clusters(estimator: Any, X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    model = clone(estimator).set_params(n_clusters=n_clusters)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return cluster_codes(model.fit(X).labels_, "labels_")[0]


def without_clusters(X: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """A table without clusters: every column in an order of its own, or the centred rows, rotated at random."""
    if kind == "columns":
        return rng.permuted(X, axis=0)
    n_rows, n_columns = X.shape
    mean = X.mean(axis=0)
    # Orthonormal columns with sums of zero, of a uniformly random direction, times a root of the cross-products.
    draws = rng.normal(size=(n_rows, min(n_rows - 1, n_columns)))
    basis, triangle = np.linalg.qr(draws - draws.mean(axis=0))
    basis *= np.sign(np.diag(triangle))
    root = np.linalg.qr(X - mean, mode="r") if n_columns < n_rows else helmert(n_rows) @ (X - mean)
    return basis @ root + mean


def _p_value(observed: np.ndarray, null: np.ndarray) -> float:
    """Share of all tables whose largest excess over the mean of all tables is at least that of the data."""
    tables = np.vstack([observed, null])
    excess = (tables - tables.mean(axis=0)).max(axis=1)
    return float(np.mean(excess >= excess[0] - 1e-12))
