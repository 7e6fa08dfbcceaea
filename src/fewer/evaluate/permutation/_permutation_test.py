"""Permutation tests for the performance of a classifier, or of a whole procedure around one (Ojala and Garriga 2010).

The statistic ``e(f, D)`` is a cross-validated error. Its null distribution comes from randomised versions D' of the
data, on each of which the whole procedure runs again: ``p = (#{D' : e(D') <= e(D)} + 1) / (k + 1)``.

Every randomised data set has a number and a seed of its own, so that it is the same whoever computes it. A sequential
test stops at its h-th hit, in the order of the numbers.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import NOT_KNOWN, FastRoute, note_slow
from fewer.catalogue import method
from fewer.evaluate.permutation._randomize import NULLS, Null, column_positions, permuted_rows, randomize, strata_of
from fewer.evaluate.permutation._result import PermutationResult, p_values_of, stopping_times
from fewer.evaluate.permutation._statistic import (
    PERMUTATION,
    REPEAT,
    Protocol,
    SharedWork,
    protocol_for,
    run_seeds,
    seed_sequence,
    shared_work_for,
)
from fewer.evaluate.protocol._selection import scoring_name
from fewer.evaluate.protocol._table import checked_table, is_quantity
from fewer.evaluate.protocol._tasks import engine_for, workers

if TYPE_CHECKING:
    from fewer.engine import Engine
    from fewer.evaluate.protocol._tasks import Where


@dataclass(frozen=True)
class Experiment:
    """All that a worker needs to compute the statistic of any randomised data set by its number."""

    protocol: Protocol
    X: Any
    y: np.ndarray
    null: Null
    root: np.random.SeedSequence
    permutations: np.ndarray | None = None
    columns: Any = None
    jointly: bool = False
    shared: SharedWork | None = None
    fast_route: FastRoute = NOT_KNOWN

    def repeat(self, index: int) -> float:
        """Statistic of the data as they are."""
        _, seeds = run_seeds(self.root, REPEAT, index)
        return self.protocol.statistic(self.X, self.y, seeds)

    def draws(self, indices: range) -> np.ndarray:
        """Statistics of the randomised data sets with these numbers."""
        if self.shared is None:
            return np.array([self._draw(index) for index in indices])
        orders, seeds = [], []
        for index in indices:
            draw, run = run_seeds(self.root, PERMUTATION, index)
            orders.append(self._order(index, draw))
            seeds.append(run)
        return self.shared.statistics(self.protocol, self.X, self.y, np.array(orders), np.array(seeds))

    def _draw(self, index: int) -> float:
        draw, seeds = run_seeds(self.root, PERMUTATION, index)
        if self.null == "labels":
            return self.protocol.statistic(self.X, self.y[self._order(index, draw)], seeds)
        rng = np.random.default_rng(draw)
        groups, columns, jointly = self.protocol.groups, self.columns, self.jointly
        X, y = randomize(self.X, self.y, self.null, rng, groups=groups, columns=columns, jointly=jointly)
        return self.protocol.statistic(X, y, seeds)

    def _order(self, index: int, draw: np.random.SeedSequence) -> np.ndarray:
        if self.permutations is not None:
            return self.permutations[index]
        return permuted_rows(len(self.y), self.protocol.groups, np.random.default_rng(draw))


def _compute(task: "int | range", experiment: Experiment) -> "float | np.ndarray":
    """A repeat by its number, or some randomised data sets by theirs."""
    return experiment.repeat(task) if isinstance(task, int) else experiment.draws(task)


def statistics_of(
    experiment: Experiment,
    n_permutations: int,
    n_repeats: int,
    stop_after: int | None,
    higher_is_better: bool,
    engine: "Where",
    progress: Any,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Statistics of the repeats and of the randomised data sets, and whether Ctrl-C cut them short."""
    observed = np.full(n_repeats, np.nan)
    null_values = np.full(n_permutations, np.nan)
    with engine_for(engine) as running:
        size = 1 if experiment.shared is None else experiment.shared.batch_size(n_permutations, running.n_workers)
        batches = [range(start, min(start + size, n_permutations)) for start in range(0, n_permutations, size)]
        tasks: list[int | range] = [*range(n_repeats), *batches]
        run = running.run(
            _compute, tasks, shared=experiment, labels=_label, progress=progress, description="Permutation test"
        )
        for n_done, outcome in enumerate(run):
            value = outcome.unwrap()
            if n_done == 0:
                seconds = outcome.seconds * len(tasks) / running.n_workers
                what = f"The permutation test ({n_permutations:,} permutations)"
                note_slow(what, seconds, experiment.fast_route, run.note)
            if isinstance(outcome.task, int):
                observed[outcome.task] = value
            else:
                null_values[outcome.task.start : outcome.task.stop] = value
            if stop_after is not None and _seen_enough(observed, null_values, higher_is_better, stop_after):
                run.close()
                break
        interrupted = run.interrupted
    if np.isnan(observed).all() or np.isnan(null_values).all():
        raise KeyboardInterrupt("interrupted before the error on the data and one permutation were known.")
    observed = observed[~np.isnan(observed)]
    if stop_after is not None:
        null_values = _up_to_stop(observed, _first_gap_cut(null_values), higher_is_better, stop_after)
    return observed, null_values[~np.isnan(null_values)], interrupted


def _first_gap_cut(values: np.ndarray) -> np.ndarray:
    """The values before the first that is not known yet: what was drawn in order, whoever was faster."""
    gaps = np.flatnonzero(np.isnan(values))
    return values[: gaps[0]] if len(gaps) else values


def _seen_enough(observed: np.ndarray, null_values: np.ndarray, higher_is_better: bool, hits: int) -> bool:
    if np.isnan(observed).any():
        return False
    return bool(np.all(stopping_times(_first_gap_cut(null_values), observed, higher_is_better, hits) > 0))


def _up_to_stop(observed: np.ndarray, null_values: np.ndarray, higher_is_better: bool, hits: int) -> np.ndarray:
    times = stopping_times(null_values, observed, higher_is_better, hits)
    return null_values[: times.max()] if np.all(times > 0) else null_values


def _label(task: "int | range") -> str:
    if isinstance(task, int):
        return f"the error on the data, repeat {task + 1}"
    if len(task) == 1:
        return f"permutation {task.start + 1}"
    return f"permutations {task.start + 1} to {task.stop}"


FEW_ROWS = 5
"""Classes smaller than this hardly change when features are permuted inside them."""

HITS = 10
"""Hits after which ``sequential=True`` stops."""


@method(
    tasks=["evaluation"],
    when="Before trusting a classifier: is there any real signal (permute labels), and does it use interactions "
    "between columns (permute columns inside the classes)?",
    cost="n_permutations times one cross-validation; far less for label permutations of nearest neighbours, ridge, "
    "linear discriminants and naive Bayes, which share their work",
    paper="permutation-tests",
    handles=["missing", "sparse", "categorical"],
)
def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    null: Null = "labels",
    cv: Any = None,
    scoring: "str | Callable[..., float]" = "error",
    n_permutations: int = 1000,
    n_repeats: int = 10,
    sequential: "bool | int" = False,
    significance_level: float = 0.05,
    groups: Any = None,
    permutations: Any = None,
    share_work: bool = True,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    progress: Any = False,
    random_state: Any = None,
) -> PermutationResult:
    """Test whether a classifier's error could be chance, under a null hypothesis of your choice.

    Parameters
    ----------
    estimator : estimator
        The whole procedure, with its preprocessing, feature selection and tuning: all of it is run again on every
        randomised data set. Selection that was done before, on all rows, makes every p-value here meaningless.
    X : array, pandas or polars frame, or sparse of shape (n_samples, n_features)
        The table. Missing values and categories are for the estimator to handle.
    y : array-like of shape (n_samples,)
        Labels, or numbers for a regressor (with ``null="labels"`` or ``"columns"``).
    null : {"labels", "features_within_class", "columns"}, default="labels"
        What is permuted. Labels: a small p means that the classifier finds real structure. Every column inside each
        class: a small p means that it profits from dependence between columns. Every column over all rows joins
        both, and is there for comparison only.
    cv : splitter, int, iterable of splits or None, default=None
        How the error is estimated. An int, or None for 10 (fewer when a class has fewer rows), means shuffled
        folds, stratified for classifiers. A splitter that shuffles without a seed gets a new one for each repeat and
        each randomised data set; any other is used as it is. Splits are made on the randomised labels, as
        scikit-learn's ``permutation_test_score`` does: folds that were stratified by the true labels would be
        balanced for these alone, and favour them.
    scoring : str or callable, default="error"
        ``"error"`` is the share of wrong labels. Otherwise a scikit-learn score, where higher is better.
    n_permutations : int, default=1000
        Randomised data sets, k. The smallest p is 1 / (k + 1), so take at least 10 / significance_level; and 1,000 or
        more when many tests are made.
    n_repeats : int, default=10
        How often the error on the data as they are is estimated, each time with new folds; the p-values are averaged.
        Counts as 1 when nothing in the procedure is random.
    sequential : bool or int, default=False
        Stop after this many randomised data sets as good as the data (True for 10), since p is clearly large then:
        ``p = hits / draws``. Small p-values need all permutations and stay what they are.
    significance_level : float, default=0.05
        Significance level at which ``decision()`` rejects.
    groups : array-like of shape (n_samples,), default=None
        Rows are exchanged only inside their group, and a splitter that keeps groups together (GroupKFold) gets them.
    permutations : array-like of shape (n_permutations, n_samples), default=None
        Row orders of your own for ``null="labels"``, for designs that allow only some of them; randomised labels
        number i are ``y[permutations[i]]``. Replaces ``n_permutations``.
    share_work : bool, default=True
        For label permutations of nearest neighbours, ridge, linear discriminants and Gaussian naive Bayes, compute once
        what labels do not change. In a pipeline this works behind steps that ignore labels (scaling, imputation,
        PCA) when the folds ignore them too: pass ``cv=KFold(10, shuffle=True, random_state=0)``. Stratified folds, the
        default, change with the labels, and with them the rows that a step learns from; there only discriminants
        behind scalers and naive Bayes behind a StandardScaler share. The results are the same; False is for
        comparison.
    engine : Engine or None, default=None
        Where the randomised data sets are computed; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
    progress : bool, "auto" or callable, default=False
        As in ``Engine.run``. Ctrl-C keeps what is done, and the p-value of that many permutations.
    random_state : int, Generator, RandomState or None, default=None
        Draws everything; results do not depend on the engine.

    Returns
    -------
    result : PermutationResult
        p-value with its standard error, the null distribution, ``decision()`` and ``plot()``.

    Warns
    -----
    UserWarning
        When so few permutations cannot give a p-value as small as ``significance_level``, and when columns are permuted
        inside classes of less than 5 rows.

    Notes
    -----
    The test with permuted labels is significant on nearly all data that somebody cared to collect, so it does not show
    that a classifier is good. With columns permuted inside classes, p near 1 means that the data become easier
    without the dependence between their columns. With ``n_repeats=1`` the significance level holds exactly. The mean of
    several p-values is not exactly a p-value itself (twice the mean always is one); it steadies the answer on one
    table, and on tables of pure noise it was the more cautious: at 5% it rejected about 1% of them.

    References
    ----------
    .. [1] M. Ojala and G. C. Garriga. Permutation Tests for Studying Classifier Performance. Journal of Machine
       Learning Research 11:1833-1863, 2010.
    .. [2] J. Besag and P. Clifford. Sequential Monte Carlo p-values. Biometrika 78(2):301-304, 1991.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from fewer.evaluate import permutation_test
    >>> X, y = load_wine(return_X_y=True)
    >>> result = permutation_test(LinearDiscriminantAnalysis(), X, y, random_state=0)
    >>> round(result.p_value, 4), result.decision()
    (0.001, True)
    """
    return _tested(
        estimator, X, y, null=null, cv=cv, scoring=scoring, n_permutations=n_permutations, n_repeats=n_repeats,
        sequential=sequential, significance_level=significance_level, groups=groups, permutations=permutations,
        share_work=share_work, engine=engine, n_jobs=n_jobs, progress=progress, random_state=random_state,
    )  # fmt: skip


@method(
    tasks=["evaluation"],
    when="The classifier uses interactions (by permutation_test), and you ask which columns take part in them.",
    cost="n_permutations times one cross-validation",
    paper="permutation-tests",
    handles=["missing", "sparse", "categorical"],
)
def interaction_test(
    estimator: Any, X: Any, y: Any, *, group: Iterable[Any], jointly: bool = True, **options: Any
) -> PermutationResult:
    """Test whether a classifier uses the dependence of some columns on the others.

    Only the columns of the group are permuted inside each class; y and the other columns stay.

    Parameters
    ----------
    estimator : estimator
        The whole procedure.
    X : array, pandas or polars frame, or sparse of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,)
        Class labels.
    group : iterable of int or str
        The columns, by position or, in a frame, by name.
    jointly : bool, default=True
        Move the columns of the group together: then only their dependence on the rest is broken. With False each moves
        by itself, which breaks the dependence inside the group as well.
    **options : object
        All else as in :func:`permutation_test`.

    Returns
    -------
    result : PermutationResult
        A small p means that the classifier profits from the dependence that was broken.

    References
    ----------
    .. [1] M. Ojala and G. C. Garriga. Permutation Tests for Studying Classifier Performance. Journal of Machine
       Learning Research 11:1833-1863, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fewer.evaluate import interaction_test
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> for column in (1, 2):
    ...     tested = interaction_test(
    ...         DecisionTreeClassifier(), X, y, group=[column], cv=3, n_permutations=49, n_repeats=3, random_state=0
    ...     )
    ...     print(f"column {column}: {'used with' if tested.decision() else 'not used with'} the others")
    column 1: used with the others
    column 2: not used with the others
    """
    group = [group] if isinstance(group, str) else list(group)
    if not group:
        raise ValueError("group names no column.")
    for name in ("null", "permutations"):
        if name in options:
            raise TypeError(f"interaction_test permutes columns within classes; it does not take {name!r}.")
    return _tested(estimator, X, y, null="features_within_class", columns=group, jointly=jointly, **options)


def _tested(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    null: Null,
    cv: Any = None,
    scoring: Any = "error",
    n_permutations: int = 1000,
    n_repeats: int = 10,
    sequential: "bool | int" = False,
    significance_level: float = 0.05,
    groups: Any = None,
    permutations: Any = None,
    share_work: bool = True,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    progress: Any = False,
    random_state: Any = None,
    columns: Any = None,
    jointly: bool = False,
) -> PermutationResult:
    X, y, groups = checked_table(X, y, groups, learner=estimator)
    if columns is not None:
        columns = column_positions(X, columns)
    orders = _checked_permutations(permutations, null, len(y))
    n_permutations = n_permutations if orders is None else len(orders)
    _check_numbers(null, n_permutations, n_repeats, sequential, significance_level)
    _check_exchangeable(null, y, groups)
    notes = _resolution_notes(n_permutations, significance_level)
    protocol = protocol_for(estimator, y, cv, scoring, groups)
    shared, fast_route = None, FastRoute(False, "share_work=False asks for fits")
    if null != "labels":
        fast_route = FastRoute(False, f"null={null!r} changes the table, so that every data set is fitted by itself")
    elif share_work:
        shared, fast_route = shared_work_for(protocol, X, y)
    experiment = Experiment(
        protocol, X, y, null, seed_sequence(random_state), orders, columns, jointly, shared, fast_route
    )
    stop_after = None if not sequential else HITS if sequential is True else int(sequential)
    higher_is_better = not protocol.as_error
    observed, null_values, interrupted = statistics_of(
        experiment,
        n_permutations,
        n_repeats if protocol.is_random else 1,
        stop_after,
        higher_is_better,
        workers(engine, n_jobs),
        progress,
    )
    if interrupted:
        notes.append(f"interrupted: p is that of {len(null_values):,} permutations out of {n_permutations:,}")
    return PermutationResult(
        null=null,
        scoring=scoring_name(scoring, estimator),
        observed=observed,
        null_errors=null_values,
        p_values=p_values_of(null_values, observed, higher_is_better, stop_after),
        n_permutations=n_permutations,
        significance_level=significance_level,
        higher_is_better=higher_is_better,
        stop_after=stop_after,
        route="plain" if shared is None else shared.name,
        fast_route=fast_route,
        notes=tuple(notes),
    )


def _checked_permutations(permutations: Any, null: Null, n_rows: int) -> np.ndarray | None:
    if permutations is None:
        return None
    if null != "labels":
        raise ValueError(f'permutations are orders of the labels; null={null!r} draws its own. Use null="labels".')
    orders = np.asarray(permutations)
    if orders.ndim != 2 or orders.shape[1] != n_rows:
        raise ValueError(f"permutations must be a table of {n_rows} row numbers each, not of shape {orders.shape}.")
    wrong = np.flatnonzero((np.sort(orders, axis=1) != np.arange(n_rows)).any(axis=1))
    if len(wrong):
        raise ValueError(f"permutations[{wrong[0]}] does not name every row from 0 to {n_rows - 1} once.")
    return orders.astype(np.intp)


def _check_numbers(null: Null, n_permutations: int, n_repeats: int, sequential: Any, significance_level: float) -> None:
    if null not in NULLS:
        raise ValueError(f"null must be one of {', '.join(map(repr, NULLS))}, not {null!r}.")
    for name, value in (("n_permutations", n_permutations), ("n_repeats", n_repeats)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}.")
    if sequential < 0:
        raise ValueError(f"sequential is a number of hits, True or False, not {sequential}.")
    if not 0 < significance_level < 1:
        raise ValueError(f"significance_level must lie between 0 and 1, not {significance_level}.")


def _check_exchangeable(null: Null, y: np.ndarray, groups: np.ndarray | None) -> None:
    """Refuse a test in which no permutation changes anything, and warn where few do."""
    from sklearn.utils.multiclass import type_of_target

    if null == "labels":
        if all(len(np.unique(y[rows])) < 2 for rows in strata_of(None, groups, len(y))):
            where = "" if groups is None else " inside every group, so that permuting within groups changes nothing"
            raise ValueError(f"y has the same value{where or ' everywhere'}: there is nothing to test.")
        return
    if null == "columns":
        return
    if type_of_target(y).startswith("continuous") or is_quantity(y):
        raise ValueError('y has numbers instead of classes: only null="labels" and null="columns" fit a regression.')
    counts = {str(y[rows[0]]): len(rows) for rows in strata_of(y, None, len(y))}
    small = [f"{name} ({count})" for name, count in counts.items() if count < FEW_ROWS]
    if small:
        warnings.warn(
            f"Columns are permuted inside classes, which changes little in a class of less than {FEW_ROWS} rows: "
            f"{', '.join(small)}. Join or drop such classes before testing for interactions.",
            UserWarning,
            stacklevel=4,
        )


def _resolution_notes(n_permutations: int, significance_level: float) -> list[str]:
    """What the number of permutations means for the p-value; a warning when no p-value can be small enough."""
    smallest, several = 1 / (n_permutations + 1), round(10 / significance_level)
    if smallest > significance_level:
        warnings.warn(
            f"With {n_permutations} permutations p is at least {smallest:.3g}, so a test at significance level "
            f"{significance_level:g} never rejects; set n_permutations >= {int(np.ceil(1 / significance_level)) - 1}, "
            f"better {several}.",
            UserWarning,
            stacklevel=4,
        )
    if n_permutations < several:
        return [f"p has steps of {smallest:.2g}; {several:,} permutations decide better at {significance_level:g}"]
    return []
