"""When the dependencies between columns of a series change, and which ones: a posterior over changing networks.

Epochs 1..m have networks ``G_1, ..., G_m`` of edges from a column's value to another's next one; ``G_{i+1}`` is G_i
with a set of ``s_i >= 1`` edges switched on or off. With the score of `_nsbde`,

    log posterior = log nsBDeu - lambda_s sum_i s_i - lambda_m m + constant,

sampled by Metropolis-Hastings. Moves: an edge is switched in the first network or in a set of changes; a change moves
to another epoch's start; an epoch's start moves by a few rows; an epoch begins with one change, or ceases to; a start
with several changes becomes two, or two neighbouring ones become one.

Robinson, J. W. and Hartemink, A. J. (2010). Learning non-stationary dynamic Bayesian networks. Journal of Machine
Learning Research 11, 3647-3680.
"""

from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, known_column, validated, warn_caller
from fewer._kernels._cuts import column_cuts, levels_of
from fewer._wording import counted
from fewer.catalogue import method
from fewer.graph._frame import GraphMixin, edge_table, graph_figure, networkx_graph
from fewer.graph.changing._edge_course import EdgeCourse, consensus_epochs, course_figure, course_of
from fewer.graph.changing._kernels import run_chain
from fewer.graph.changing._nsbde import (
    Transitions,
    checked_times,
    network_score,
    refuse_large_tables,
    transitions_of,
)

if TYPE_CHECKING:
    import networkx
    import plotly.graph_objects as go
    import polars as pl

_N_TRACE = 1000
"""Log posteriors that are kept of each chain, whatever its length."""
_HIGH_R_HAT = 1.1
MOVES = (
    "switch in first network",
    "switch in changes",
    "move a change",
    "shift a time",
    "add or drop",
    "split or merge",
)


class Chain(NamedTuple):
    differences: np.ndarray
    edge_rows: np.ndarray
    transition_counts: np.ndarray
    epoch_counts: np.ndarray
    n_kept: int
    proposed: np.ndarray
    accepted: np.ndarray
    best: float
    best_changes: np.ndarray
    trace: np.ndarray


def split_r_hat(traces: np.ndarray) -> float:
    """Potential scale reduction of chains (rows), each cut into halves: near 1 where all of them agree."""
    half = traces.shape[1] // 2
    if half < 2:
        return np.nan
    parts = np.concatenate([traces[:, :half], traces[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean()
    between = parts.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt((half - 1) / half + between / within))


def start_changes(times: np.ndarray, n_columns: int, max_parents: int, self_edges: bool, rng: Any) -> np.ndarray:
    """One random edge switched at each time, from a first network without edges."""
    network = np.zeros((n_columns, n_columns), dtype=bool)
    changes = []
    for time in times:
        while True:
            parent, child = rng.randint(n_columns, size=2)
            if parent == child and not self_edges:
                continue
            if network[parent, child] or network[:, child].sum() < max_parents:
                break
        network[parent, child] ^= True
        changes.append((time, parent, child))
    return np.array(changes, dtype=np.int64).reshape(-1, 3)


def networks_of(changes: np.ndarray, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts of the epochs after the first, and the network of each epoch."""
    times = np.unique(np.append(changes[:, 0], 0))
    networks = np.zeros((len(times), n_columns, n_columns), dtype=bool)
    for time, parent, child in changes:
        networks[np.searchsorted(times, time) :, parent, child] ^= True
    return times[1:], networks


@method(
    tasks=["unsupervised"],
    when="A series of discrete values (or values to be cut into levels) whose dependencies may change: which column "
    "acts on which at the next time step, when that begins and ends, with a probability for each. Not for gradual "
    "changes, nor for changes of strength between the same columns.",
    cost="O(n_chains max_iter) cached interval scores, each O(n r) when new, for n rows and r replicates; memory "
    "O(n p^2) at most, whatever max_iter",
    paper="nsdbn",
    examples=lambda: [NonStationaryDBN(discretisation="equal_frequency", max_iter=2000, n_chains=2, n_burn_in=500)],
)
class NonStationaryDBN(CallbackSupportMixin, GraphMixin, BaseEstimator):
    """Dynamic Bayesian network whose edges change at unknown times.

    Parameters
    ----------
    transition_times : array-like of int or None, default=None
        Rows at which an epoch begins, after the first, where these are known; ``[]`` for a network that never changes.
    n_epochs : int or None, default=None
        Number of epochs, where that is known but not the times. Without either, both are inferred.
    lambda_s : float, default=5.0
        Penalty, in units of log probability, of each edge that changes.
    lambda_m : float, default=2.0
        Penalty of each epoch.
    count_prior : float, default=1.0
        Pseudo-counts of a column in all, ``alpha`` in the paper.
    max_parents : int, default=4
        Parents of a column at most.
    max_changes : int or None, default=None
        Edges that change at one time at most; None for no limit.
    shift_width : int, default=5
        Rows by which a time moves at most in one step of the sampler.
    max_iter : int, default=100_000
        Steps of each chain, with those of the burn-in.
    n_burn_in : int or None, default=None
        First steps, which are not used; None for a quarter.
    thin : int, default=20
        Keep the state after every ``thin`` steps.
    n_chains : int, default=25
        Chains; their mean is used, since single ones may stick.
    threshold : float, default=0.5
        Probability from which an edge is in a network of ``networks_``.
    allow_self_edges : bool, default=True
        Whether a column may depend on its own last value.
    pool : {"counts", "chains"}, default="counts"
        Several series: one posterior from the counts of all, or the mean of their posteriors.
    discretisation : {"equal_frequency", "equal_width"} or None, default=None
        How columns are cut into levels. None takes whole numbers as levels, and refuses others.
    n_bins : int, default=3
        Levels at most where columns are cut.
    n_jobs : int or None, default=None
        Chains at the same time, in threads.
    random_state : int, RandomState instance or None, default=None
        Draws the starts and the steps.

    Attributes
    ----------
    edge_proba_ : EdgeCourse of shape (n_times - 1, n_features, n_features)
        Probability of each edge, stored as runs: ``edge_proba_[t - 1]`` has [parent, child] for row t, and
        ``np.asarray(edge_proba_)`` all of them.
    epochs_ : ndarray of shape (n_stretches, 2)
        First row and row after the last of each stretch with the same edges above ``threshold``.
    networks_ : ndarray of bool of shape (n_stretches, n_features, n_features)
        These edges, [stretch, parent, child].
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        Edges that are above ``threshold`` at any time.
    transition_proba_ : ndarray of shape (n_times - 1,)
        Probability that an epoch begins at rows 1, 2, ...
    transition_proba_std_ : ndarray of shape (n_times - 1,)
        Its standard deviation over the chains.
    n_epochs_posterior_ : ndarray
        Probability of 1, 2, ... epochs.
    acceptance_rates_ : dict
        Share of accepted proposals, by move.
    log_posterior_trace_ : ndarray of shape (n_chains, n_points)
        Log posterior along each chain, at 1,000 points at most.
    r_hat_ : float
        Potential scale reduction of the log posterior after the burn-in: near 1 where chains agree.
    best_networks_ : ndarray of bool of shape (n_epochs, n_features, n_features)
        The most probable state of all chains.
    best_transition_times_ : ndarray of int
        Rows at which its epochs begin, after the first.
    levels_ : list of ndarray
        Values (or cuts, with ``discretisation``) that define the levels of each column.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when they are strings.

    See Also
    --------
    nsbde_score : Score of given networks.
    independent_edge_proba : Exact probabilities where epochs share nothing.

    Notes
    -----
    The prior counts epochs and changed edges, but not the ways to place them. In long series of many columns a small
    ``lambda_m`` gives epochs of a few rows, most of them at the ends of the series; they hardly change the
    probabilities of edges. Look at ``n_epochs_posterior_``. In the paper's prior every row ends its epoch with a
    probability of ``(1 - q) / (2 - q)``, where ``q = 1 - exp(-lambda_m)``.

    Two moves are added to those of the paper, without which chains stick: an edge is switched at two times at once, and
    an edge appears or vanishes between two new times. The posterior is that of the paper.

    References
    ----------
    .. [1] Robinson, J. W. and Hartemink, A. J. (2010). Learning non-stationary dynamic Bayesian networks. Journal of
       Machine Learning Research 11, 3647-3680.

    Examples
    --------
    >>> from fewer.datasets import make_changing_network
    >>> from fewer.graph import NonStationaryDBN
    >>> edges, changes = [(0, 1), (1, 2)], [(0, 1)]
    >>> X, _, truth = make_changing_network([150, 150], edges, changes, n_features=3, random_state=0)
    >>> model = NonStationaryDBN(lambda_m=5, max_iter=20_000, n_chains=3, random_state=0).fit(X)
    >>> sorted(model.edges_at(100).select("from", "to").rows()), model.edges_at(250).select("from", "to").rows()
    ([('x0', 'x1'), ('x1', 'x2')], [('x1', 'x2')])
    >>> abs(int(model.best_transition_times_[0]) - 150) < 20
    True
    """

    _parameter_constraints = {
        "transition_times": ["array-like", None],
        "n_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "lambda_s": [Interval(Real, 0, None, closed="left")],
        "lambda_m": [Interval(Real, 0, None, closed="left")],
        "count_prior": [Interval(Real, 0, None, closed="neither")],
        "max_parents": [Interval(Integral, 1, None, closed="left")],
        "max_changes": [Interval(Integral, 1, None, closed="left"), None],
        "shift_width": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_burn_in": [Interval(Integral, 0, None, closed="left"), None],
        "thin": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "allow_self_edges": ["boolean"],
        "pool": [StrOptions({"counts", "chains"})],
        "discretisation": [StrOptions({"equal_frequency", "equal_width"}), None],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _directed = True
    _rows_in_order = True
    _weight_words = "share of the rows"

    def __init__(
        self,
        transition_times=None,
        n_epochs=None,
        *,
        lambda_s=5.0,
        lambda_m=2.0,
        count_prior=1.0,
        max_parents=4,
        max_changes=None,
        shift_width=5,
        max_iter=100_000,
        n_burn_in=None,
        thin=20,
        n_chains=25,
        threshold=0.5,
        allow_self_edges=True,
        pool="counts",
        discretisation=None,
        n_bins=3,
        n_jobs=None,
        random_state=None,
    ):
        self.transition_times = transition_times
        self.n_epochs = n_epochs
        self.lambda_s = lambda_s
        self.lambda_m = lambda_m
        self.count_prior = count_prior
        self.max_parents = max_parents
        self.max_changes = max_changes
        self.shift_width = shift_width
        self.max_iter = max_iter
        self.n_burn_in = n_burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.threshold = threshold
        self.allow_self_edges = allow_self_edges
        self.pool = pool
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "NonStationaryDBN":
        """Sample the posterior.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features) or (n_replicates, n_times, n_features)
            A series, its rows in order of time; or several of the same length, whose networks change together.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        series = self._series(X, reset=True)
        self.levels_ = self._found_levels(series)
        levels = self._levels(series)
        n_levels = np.array([len(each) + (self.discretisation is not None) for each in self.levels_])
        varying = np.flatnonzero(n_levels > 1)
        if not len(varying):
            raise ValueError("Every column of X is constant: there is nothing that could depend on anything.")
        for column in np.flatnonzero(n_levels == 1)[:1]:
            name = known_column(int(column), len(n_levels))
            warn_caller(f"Column {name} is constant: it has no edge that the data could support.")
        # Edges of a constant column would have their prior probability of one half.
        n_levels = n_levels[varying]
        refuse_large_tables(n_levels, self.max_parents)
        data = transitions_of(levels[:, :, varying], n_levels)
        times, n_moves = self._times(data.n_rows)
        parts = [data]
        if self.pool == "chains":
            parts = [Transitions(data.before[r : r + 1], data.after[r : r + 1], n_levels) for r in range(len(levels))]
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_chains * len(parts))
        run = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self._chain)(parts[number % len(parts)], times, n_moves, int(seed))
            for number, seed in enumerate(seeds)
        )
        chains = []
        with fit_steps(self, X, n_steps=len(seeds)) as after_step:
            for chain in run:
                chains.append(chain)
                if after_step("chain"):
                    run.close()
                    break
            self._keep(chains, data.n_rows, len(parts), varying)
        return self

    def _series(self, X: Any, *, reset: bool) -> np.ndarray:
        """One series or several as numbers, (n_replicates, n_times, n_columns)."""
        several = np.ndim(X) == 3
        shape = np.shape(X) if several else None
        table = np.reshape(X, (-1, shape[2])) if several else X  # type: ignore[index]
        checked = validated(self, table, dtype=(np.float64, np.float32), reset=reset, ensure_min_samples=3)
        return checked.reshape(shape if several else (1, *checked.shape))

    def _found_levels(self, series: np.ndarray) -> list[np.ndarray]:
        """Cuts of the columns, or their values where these are whole numbers."""
        table = series.reshape(-1, series.shape[2])
        if self.discretisation is not None:
            return column_cuts(table, method=self.discretisation, n_bins=self.n_bins)
        fractions = (table != np.round(table)).any(axis=0)
        if fractions.any():
            column = int(np.flatnonzero(fractions)[0])
            raise ValueError(
                f"Column {known_column(column, table.shape[1])} holds numbers with fractions, and NonStationaryDBN "
                "counts levels. Choose how to cut columns, for instance discretisation='equal_frequency', n_bins=3."
            )
        return [np.unique(column) for column in table.T]

    def _levels(self, series: np.ndarray) -> np.ndarray:
        """Level of each entry."""
        table = series.reshape(-1, series.shape[2])
        if self.discretisation is not None:
            return levels_of(table, self.levels_).reshape(series.shape)
        found = np.column_stack(
            [np.searchsorted(own, column) for own, column in zip(self.levels_, table.T, strict=True)]
        )
        for column, own in enumerate(self.levels_):
            new = own[np.minimum(found[:, column], len(own) - 1)] != table[:, column]
            if new.any():
                name = known_column(column, table.shape[1])
                raise ValueError(f"Column {name} holds {table[new, column][0]:g}, which was not seen in fit.")
        return found.reshape(series.shape)

    def _times(self, n_rows: int) -> tuple[np.ndarray, int]:
        """First times of the chains, and the number of moves that are tried."""
        if self.transition_times is not None:
            times = checked_times(self.transition_times, n_rows)
            if self.n_epochs not in (None, len(times) + 1):
                raise ValueError(
                    f"n_epochs={self.n_epochs} does not fit transition_times, which begin {len(times) + 1} epochs: "
                    "leave one of them out."
                )
            return times, 3 if len(times) else 1
        if self.n_epochs is None:
            return np.zeros(0, dtype=np.int64), 6
        if self.n_epochs > n_rows:
            raise ValueError(
                f"n_epochs={self.n_epochs} is more than the {n_rows} steps between rows: each epoch needs one."
            )
        times = np.arange(1, self.n_epochs) * n_rows // self.n_epochs
        return times, 4 if len(times) else 1

    def _chain(self, data: Transitions, times: np.ndarray, n_moves: int, seed: int) -> Chain:
        n_columns = data.before.shape[2]
        rng = np.random.RandomState(seed)
        changes = start_changes(times, n_columns, self.max_parents, self.allow_self_edges, rng)
        trace = np.full(min(_N_TRACE, self.max_iter), np.nan)
        state = rng.randint(2**32, size=1, dtype=np.uint64)
        found: tuple = run_chain(
            *data, times, changes, n_moves, (float(self.lambda_s), float(self.lambda_m)), float(self.count_prior),
            self.max_parents, self.max_changes or n_columns**2, self.shift_width, self.allow_self_edges,
            self.max_iter, self._n_burn_in, self.thin, trace, state,
        )  # fmt: skip
        return Chain(*(*found, trace))

    @property
    def _n_burn_in(self) -> int:
        burn_in = self.max_iter // 4 if self.n_burn_in is None else self.n_burn_in
        if burn_in >= self.max_iter:
            raise ValueError(f"n_burn_in={burn_in} leaves none of max_iter={self.max_iter} steps.")
        return burn_in

    def _keep(self, chains: list[Chain], n_rows: int, n_posteriors: int, varying: np.ndarray) -> None:
        """Means over chains; every ``n_posteriors``-th of them has the same posterior, of the ``varying`` columns."""
        n_columns = len(self.levels_)
        n_kept = sum(chain.n_kept for chain in chains)

        def held(parent: int, child: int) -> np.ndarray:
            rows = [(chain, chain.edge_rows[parent, child]) for chain in chains]
            return np.sum([np.cumsum(chain.differences[row, :n_rows]) for chain, row in rows if row >= 0], axis=0)

        seen = np.argwhere(np.any([chain.edge_rows >= 0 for chain in chains], axis=0))
        course = course_of(seen, held, n_kept, n_rows, n_columns)
        self.edge_proba_: EdgeCourse = replace(course, edges=varying[course.edges])
        stretches, self.networks_ = consensus_epochs(self.edge_proba_, self.threshold)
        self.epochs_ = stretches + 1  # the step from row t - 1 to row t is about row t
        self.adjacency_ = self.networks_.any(axis=0)
        begins = np.array([chain.transition_counts / chain.n_kept for chain in chains])
        self.transition_proba_, self.transition_proba_std_ = begins.mean(axis=0), begins.std(axis=0)
        epochs = np.sum([chain.epoch_counts for chain in chains], axis=0) / n_kept
        self.n_epochs_posterior_ = epochs[: np.flatnonzero(epochs)[-1] + 1]
        proposed, accepted = (sum(getattr(chain, part) for chain in chains) for part in ("proposed", "accepted"))
        self.acceptance_rates_ = {
            move: float(yes / tried) for move, yes, tried in zip(MOVES, accepted, proposed, strict=True) if tried
        }
        self.log_posterior_trace_ = np.array([chain.trace for chain in chains])
        kept = self.log_posterior_trace_[:, -(-self._n_burn_in * len(chains[0].trace) // self.max_iter) :]
        self.r_hat_ = max(split_r_hat(kept[first::n_posteriors]) for first in range(min(n_posteriors, len(kept))))
        if len(chains) > n_posteriors and self.r_hat_ > _HIGH_R_HAT:
            warn_caller(
                f"The chains disagree: R-hat of the log posterior is {self.r_hat_:.2f}, above {_HIGH_R_HAT}. Their "
                "mean is used; raise max_iter or n_chains."
            )
        best = max(chains, key=lambda chain: chain.best)
        times, networks = networks_of(best.best_changes, len(varying))
        self.best_networks_ = np.zeros((len(networks), n_columns, n_columns), dtype=networks.dtype)
        self.best_networks_[:, varying[:, None], varying] = networks
        self.best_transition_times_ = times + 1

    def score(self, X: Any, y: Any = None) -> float:
        """Log marginal likelihood of a series under the most probable state.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features) or (n_replicates, n_times, n_features)
            A series as long as that of ``fit``.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            ``nsbde_score`` of ``best_networks_`` and ``best_transition_times_``.
        """
        check_is_fitted(self)
        levels = self._levels(self._series(X, reset=False))
        if levels.shape[1] != len(self.edge_proba_) + 1:
            raise ValueError(
                f"X has {levels.shape[1]} rows and the series of fit {len(self.edge_proba_) + 1}: epochs are rows."
            )
        n_levels = np.array([len(each) + (self.discretisation is not None) for each in self.levels_])
        data = transitions_of(levels, n_levels)
        return network_score(data, self.best_networks_, list(self.best_transition_times_), self.count_prior)

    def _edge_weights(self) -> np.ndarray:
        """Share of the rows in which an edge is above the threshold."""
        lengths = np.diff(self.epochs_, axis=1)[:, :, None]
        return (self.networks_ * lengths).sum(axis=0) / lengths.sum()

    def _edge_probabilities(self) -> np.ndarray:
        return self.edge_proba_.largest()

    def _at(self, t: int) -> np.ndarray:
        check_is_fitted(self)
        if not 1 <= t <= len(self.edge_proba_):
            raise ValueError(f"t={t} is not a row with a row before it: 1 to {len(self.edge_proba_)}.")
        return self.edge_proba_[t - 1]

    def edges_at(self, t: int) -> "pl.DataFrame":
        """Edges above the threshold at one row of the series.

        Parameters
        ----------
        t : int
            The row, from 1 on: edges lead from the row before to it.

        Returns
        -------
        edges : polars.DataFrame
            Columns ``from``, ``to`` and ``probability``, the most probable first.
        """
        proba = self._at(t)
        return edge_table(proba > self.threshold, self._node_names(), {"probability": proba}, directed=True)

    def to_networkx(self, t: int | None = None) -> "networkx.DiGraph":
        """The graph for networkx, of one row or of all.

        Parameters
        ----------
        t : int or None, default=None
            The row, from 1 on; None for the edges of ``adjacency_``.

        Returns
        -------
        graph : networkx.DiGraph
            Its nodes are the names of the columns, its edges have the columns of ``edges_`` or ``edges_at(t)``.
        """
        return networkx_graph(self._node_names(), self.edges_ if t is None else self.edges_at(t), directed=True)

    def plot(self, *, t: int | None = None, title: str | None = None) -> "go.Figure":
        """Picture of the edges over time, or of the network at one row.

        Parameters
        ----------
        t : int or None, default=None
            The row, from 1 on; None for all of them.
        title : str or None, default=None
            Title of the figure; None for one that counts epochs or edges.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Over time: a row for each edge, darker where it is more probable, above the probability that an epoch
            begins. At one row: dots and arrows; a column that depends on its own last value has the sign ↻.
        """
        check_is_fitted(self)
        names = self._node_names()
        if t is None:
            n_edges = counted(int(self.adjacency_.sum()), "edge")
            title = title or f"{n_edges}, {counted(len(self.epochs_) - 1, 'change')} of the network"
            return course_figure(self.edge_proba_, self.transition_proba_, names, threshold=self.threshold, title=title)
        proba = self._at(t)
        shown = np.where(proba > self.threshold, proba, 0.0)
        names = [f"{name} ↻" if shown[place, place] else name for place, name in enumerate(names)]
        title = title or f"{counted(int(np.count_nonzero(shown)), 'edge')} at row {t}"
        np.fill_diagonal(shown, 0.0)
        return graph_figure(names, shown, proba, directed=True, title=title, weight_words="probability")
