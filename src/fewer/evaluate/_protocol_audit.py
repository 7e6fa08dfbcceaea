"""The audit of shortcuts: how much too good a score looks when the selection is not repeated in every fold.

On the same realisations (training rows, test rows), four ways to evaluate one search:

    internal            the whole search on each training set: honest
    external            the search once on all rows; then its choice is frozen, and only refitted
    median              the search on the first five training sets; then the median of their choices is frozen
    external_selection  the columns chosen once on all rows; everything else on each training set

    bias = score under the protocol - internal score   (of errors: internal error - error under the protocol)

Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107, Section 5.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer.catalogue import method
from fewer.evaluate._checked_table import checked_table, columns_of
from fewer.evaluate._outer_folds import Fold, outer_folds
from fewer.evaluate._protocol_audit_result import ProtocolAudit
from fewer.evaluate._realisations import Table, all_folds, fitted_on, score_on
from fewer.evaluate._scoring import scoring_name, scoring_of
from fewer.evaluate._selection_inside import check_selection_inside
from fewer.evaluate._selection_outcome import (
    chosen_parameters,
    column_names,
    frozen,
    median_parameters,
    selected_columns,
    without_selection,
)
from fewer.evaluate._tasks import values_of

if TYPE_CHECKING:
    from fewer.evaluate._tasks import Where

PROTOCOLS = ("internal", "external", "median", "external_selection")
# The median protocol of the literature looks at the first five realisations.
_FIRST = 5


class _Frozen(NamedTuple):
    """A learner for one protocol, and the columns that it is given (all when None)."""

    protocol: str
    learner: Any
    columns: np.ndarray | None


@method(
    tasks=["evaluation"],
    when="Somebody tuned, or chose columns, on all rows before cross-validating, and you want to see on your own table "
    "what that shortcut does to the score.",
    cost="O(r) searches on training sets and O(r) fits for each shortcut, for r realisations",
    paper="selection-bias",
    handles=["missing", "sparse", "categorical"],
)
def protocol_audit(
    search: Any,
    X: Any,
    y: Any,
    protocols: Sequence[str] | None = None,
    *,
    cv: Any = 5,
    n_repeats: int = 10,
    scoring: Any = None,
    groups: Any = None,
    engine: "Where" = None,
    random_state: Any = None,
    progress: bool = False,
) -> ProtocolAudit:
    """Bias of the common shortcuts in evaluation, measured on your own table.

    Parameters
    ----------
    search : estimator
        A predictor that makes all its choices in ``fit``: a search such as ``GridSearchCV`` around a pipeline, a
        pipeline with a selection step, an estimator that tunes itself. Anything chosen outside is refused.
    X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        The whole table, before anything was chosen.
    y : array-like of shape (n_samples,)
        Target.
    protocols : sequence of {"internal", "external", "median", "external_selection"}, default=None
        What to compare. By default all that apply to this search; one that is asked for and does not apply is an error.
        The honest one, ``"internal"``, always runs.
    cv : int, splitter or iterable of (train, test), default=5
        Outer folds, the same for all protocols.
    n_repeats : int, default=10
        How often they are drawn anew.
    scoring : str or callable, default=None
        Score on the rows held out, higher being better. By default that of the search.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, for the outer folds and those of the search.
    engine : Engine, int or None, default=None
        Where to run: an engine, a number of processes on this machine, or None for this process.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, and seeds everything inside the search that draws and has no seed of its own.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    audit : ProtocolAudit
        Paired scores, the bias of each shortcut with its standard error and p-value, and a verdict.

    Raises
    ------
    TypeError, ValueError
        When a choice would be made outside of the folds: for a selector beside the estimator, a part that was fitted
        before and keeps it (``FrozenEstimator``, ``prefit=True``), a selection step in front of a search instead of
        inside it, or an estimator that chooses nothing. A table that was cut down beforehand cannot be told from any
        other: pass the whole one.

    See Also
    --------
    NestedEvaluation : The honest protocol alone.

    Notes
    -----
    ``"external"`` and ``"median"`` need hyper-parameters that can be read off and set again: those of a search, or of
    an estimator such as ``KernelRidgeClassifierLOO``. ``"external_selection"`` needs a pipeline, alone or in a search,
    with a selection step on the table's own columns. Standard errors and p-values are over the partitions of
    this one table: they tell whether a shortcut looks better on it, and are too small for saying so of other tables
    like it, whose rows would differ too.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from fewer.evaluate import protocol_audit
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 1000)), np.repeat(["a", "b"], 25)  # there is nothing to find
    >>> audit = protocol_audit(make_pipeline(SelectKBest(k=20), GaussianNB()), X, y, n_repeats=4, random_state=0)
    >>> bool(audit.scores["internal"].mean() < 0.6), bool(audit.scores["external_selection"].mean() > 0.9)
    (True, True)
    """
    from sklearn.base import is_classifier
    from sklearn.utils import check_random_state

    check_selection_inside(search)
    for protocol in protocols or ():
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol {protocol!r} is not one of {', '.join(PROTOCOLS)}.")
    table = Table(*checked_table(X, y, groups, learner=search), scoring_of(search, scoring))
    random = check_random_state(random_state)
    classifier = is_classifier(search)
    repeats = outer_folds(
        cv, table.X, table.y, classifier=classifier, n_repeats=n_repeats, groups=table.groups, random_state=random
    )
    folds = [fold for _, _, fold in all_folds(repeats)]
    seeds = [int(seed) for seed in random.randint(np.iinfo(np.int32).max, size=len(folds) + 1)]

    def run(function, tasks, shared, description, labels):
        # Ctrl-C is an interrupt here: the pairs would be incomplete.
        options = {"engine": engine, "progress": progress, "description": description, "labels": labels}
        done = values_of(function, tasks, shared, only_all=True, **options)
        return [done[place] for place in range(len(tasks))]

    wanted = PROTOCOLS if protocols is None else ("internal", *dict.fromkeys(p for p in protocols if p != "internal"))
    rows: list[Fold | None] = [*folds]
    if {"external", "external_selection"} & set(wanted):
        rows.append(None)  # all rows
    searched = run(
        _searched,
        [(fold, seed) for fold, seed in zip(rows, seeds, strict=False)],
        (search, table),
        "Searches",
        [f"search on training set {number}" for number in range(len(folds))] + ["search on all rows"],
    )
    shortcuts, left_out = _shortcuts(search, table, wanted, searched[: len(folds)], searched[-1])
    if protocols is not None and left_out:
        protocol, why = next(iter(left_out.items()))
        raise ValueError(f"the protocol {protocol!r} does not apply: {why}.")
    scores = {"internal": np.array([found.score for found in searched[: len(folds)]])}
    found = run(
        _shortcut_score,
        [(shortcut, fold, seed) for shortcut in shortcuts for fold, seed in zip(folds, seeds, strict=False)],
        table,
        "Shortcuts",
        [f"{shortcut.protocol}, training set {number}" for shortcut in shortcuts for number in range(len(folds))],
    )
    for shortcut, own in zip(shortcuts, np.reshape(found, (len(shortcuts), len(folds))), strict=True):
        scores[shortcut.protocol] = own
    return ProtocolAudit(
        scores,
        {shortcut.protocol: _what_is_frozen(shortcut, searched, table) for shortcut in shortcuts},
        left_out,
        scoring_name(table.scoring, search),
    )


class _Search(NamedTuple):
    score: float
    parameters: dict[str, Any]
    columns: np.ndarray | None


def _searched(task: tuple[Fold | None, int], shared: tuple[Any, Table]) -> _Search:
    """The search on one training set, scored on its test rows; or on all rows, and scored on none."""
    (fold, seed), (search, table) = task, shared
    fitted = fitted_on(search, table, None if fold is None else fold.train, seed)
    score = np.nan if fold is None else score_on(fitted, table, fold.test)
    return _Search(score, chosen_parameters(fitted), selected_columns(fitted, table.X))


def _shortcut_score(task: tuple[_Frozen, Fold, int], table: Table) -> float:
    shortcut, fold, seed = task
    if shortcut.columns is not None:
        table = table._replace(X=columns_of(table.X, shortcut.columns))
    return score_on(fitted_on(shortcut.learner, table, fold.train, seed), table, fold.test)


def _shortcuts(
    search: Any, table: Table, wanted: Sequence[str], inner: Sequence[_Search], everywhere: _Search
) -> tuple[list[_Frozen], dict[str, str]]:
    """Learners of the shortcuts that apply, and why others do not."""
    shortcuts, left_out = [], {}
    for protocol in wanted[1:]:
        if protocol == "external_selection":
            rest, columns = without_selection(search), everywhere.columns
            if rest is None:
                left_out[protocol] = "the search has no step that selects columns"
            elif columns is None:
                left_out[protocol] = "the columns that reach the learner are not those of the table"
            else:
                shortcuts.append(_Frozen(protocol, rest, columns))
        elif not inner[0].parameters:
            left_out[protocol] = "the search chooses no hyper-parameters that could be read off and frozen"
        elif protocol == "external":
            shortcuts.append(_Frozen(protocol, frozen(search, everywhere.parameters), None))
        else:
            middle = median_parameters([found.parameters for found in inner[:_FIRST]])
            shortcuts.append(_Frozen(protocol, frozen(search, middle), None))
    return shortcuts, left_out


def _what_is_frozen(shortcut: _Frozen, searched: Sequence[_Search], table: Table) -> Any:
    if shortcut.columns is not None:
        return tuple(column_names(table.X)[shortcut.columns])
    names: Mapping[str, Any] = searched[0].parameters
    return {name: shortcut.learner.get_params()[name] for name in names}
