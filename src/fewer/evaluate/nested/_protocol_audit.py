"""The audit of shortcuts: how much too good a score looks when the selection is not repeated in every fold.

On the same realisations (training rows, test rows), four ways to evaluate one search:

    internal            the whole search on each training set: unbiased
    external            the search once on all rows; then its choice is frozen, and only refitted
    median              the search on the first five training sets; then the median of their choices is frozen
    external_selection  the columns chosen once on all rows; everything else on each training set

    bias = score under the protocol - internal score   (of errors: internal error - error under the protocol)

Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107, Section 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer._figures import Result
from fewer.catalogue import method
from fewer.evaluate.protocol._selection import (
    check_selection_inside,
    chosen_parameters,
    column_names,
    frozen,
    median_parameters,
    scoring_name,
    scoring_of,
    selected_columns,
    without_selection,
)
from fewer.evaluate.protocol._table import Fold, checked_table, columns_of, outer_folds
from fewer.evaluate.protocol._tasks import Table, all_folds, fitted_on, score_on, values_of, workers

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.engine import Engine

_WORDS = {
    "external": "choosing hyper-parameters once on all rows",
    "median": "freezing the median of the first choices",
    "external_selection": "choosing columns before splitting",
}


@dataclass(frozen=True)
class ProtocolBias:
    """One shortcut beside the unbiased protocol.

    Attributes
    ----------
    protocol : str
        Its name.
    score : float
        Mean score that it gives.
    bias : float
        By how much that is too good: its score minus the internal one, or the internal error minus its error.
    se : float
        Standard error of the bias over the paired realisations.
    p_value : float
        Of Wilcoxon's signed-rank test, two-sided; 1 when all pairs are equal.
    """

    protocol: str
    score: float
    bias: float
    se: float
    p_value: float

    @property
    def verdict(self) -> str:
        """How to read the figures, in words."""
        figures = f"bias {self.bias:+.4f}, standard error {self.se:.4f}, p = {self.p_value:.2g}"
        if self.p_value < 0.05 and self.bias > 0:
            return f"{self.protocol}: {_WORDS[self.protocol]} makes the score look better than it is ({figures})."
        if self.p_value < 0.05 and self.bias < 0:
            return f"{self.protocol}: {_WORDS[self.protocol]} makes the score look worse than it is ({figures})."
        return f"{self.protocol}: no bias that these realisations could show ({figures}). It may still be there."


def paired_bias(protocol: str, scores: np.ndarray, internal: np.ndarray) -> ProtocolBias:
    """Bias of a protocol from paired scores."""
    from scipy.stats import wilcoxon

    differences = scores - internal
    # Rounding must not make pairs of equal scores differ.
    differences[np.isclose(scores, internal, rtol=0, atol=1e-12)] = 0
    p_value = float(wilcoxon(differences).pvalue) if differences.any() else 1.0
    se = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return ProtocolBias(protocol, float(scores.mean()), float(differences.mean()), se, p_value)


@dataclass(frozen=True, eq=False, repr=False)
class ProtocolAudit(Result):
    """Scores of one search under several protocols, on the same realisations; made by :func:`protocol_audit`.

    Attributes
    ----------
    scores : dict of str to ndarray
        Score of each realisation, for every protocol; ``"internal"`` is the unbiased one.
    frozen : dict of str to object
        What the shortcuts froze: parameters, or the names of columns.
    left_out : dict of str to str
        Protocols that do not apply to this search, and why.
    scoring : str
        Name of the score.
    """

    scores: dict[str, np.ndarray]
    frozen: dict[str, Any]
    left_out: dict[str, str]
    scoring: str = "score"

    _data = ("scoring", "scores", "left_out", "verdict")

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """``1 - score``, which is the error rate where the score is an accuracy."""
        return {protocol: 1 - scores for protocol, scores in self.scores.items()}

    @property
    def biases(self) -> dict[str, ProtocolBias]:
        """Bias of every shortcut."""
        return {
            protocol: paired_bias(protocol, scores, self.scores["internal"])
            for protocol, scores in self.scores.items()
            if protocol != "internal"
        }

    @property
    def verdict(self) -> str:
        """What to make of it, one sentence for each shortcut."""
        said = [bias.verdict for bias in self.biases.values()]
        return "\n".join([*said, f"Report the internal score, {self.scores['internal'].mean():.4f}."])

    def table(self) -> list[dict[str, Any]]:
        """One row for each protocol, ready for a data frame.

        Returns
        -------
        rows : list of dict
            Protocol, whether it is unbiased, score, its standard error, bias with standard error and p-value.
        """
        internal = self.scores["internal"]
        biases = {"internal": ProtocolBias("internal", float(internal.mean()), 0.0, 0.0, 1.0)} | self.biases
        return [
            {
                "protocol": protocol,
                "unbiased": protocol == "internal",
                "score": biases[protocol].score,
                "score_se": float(scores.std(ddof=1) / np.sqrt(len(scores))),
                "bias": biases[protocol].bias,
                "bias_se": biases[protocol].se,
                "p_value": biases[protocol].p_value,
            }
            for protocol, scores in self.scores.items()
        ]

    def __repr__(self) -> str:
        n = len(self.scores["internal"])
        lines = [
            f"ProtocolAudit: {self.scoring} over {n} realisations",
            f"  {'protocol':<20}{'score':>8}{'bias':>10}{'se':>9}{'p':>10}",
        ]
        for row in self.table():
            figures = "" if row["unbiased"] else f"{row['bias']:>+10.4f}{row['bias_se']:>9.4f}{row['p_value']:>10.2g}"
            lines.append(f"  {row['protocol']:<20}{row['score']:>8.4f}{figures or '    unbiased'}")
        lines += [f"  {protocol}: left out, {why}" for protocol, why in self.left_out.items()]
        return "\n".join([*lines, self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; with a flag for the unbiased protocol.

        Returns
        -------
        data : dict
            The table, the verdict, and the scores of every realisation.
        """
        return super().to_dict() | {"protocols": self.table()}

    def plot(self) -> "go.Figure":
        """How much too good each shortcut looks, with two standard errors on either side.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        import plotly.graph_objects as go

        from fewer import _figures

        figure = _figures.new_figure(
            title=f"Unbiased score: {self.scores['internal'].mean():.3f}",
            x="looks better than it is by",
            y="",
            height=260,
        )
        biases = list(self.biases.values())
        figure.add_trace(
            go.Scatter(
                x=[bias.bias for bias in biases],
                y=[bias.protocol.replace("_", " ") for bias in biases],
                error_x={"type": "data", "array": [2 * bias.se for bias in biases], "color": _figures.RED},
                mode="markers",
                marker={"color": _figures.RED, "size": 11},
                text=[bias.verdict for bias in biases],
                name="bias",
                showlegend=False,
            )
        )
        figure.add_vline(x=0, line={"color": _figures.GREY, "dash": "dot"})
        figure.update_layout(margin={"l": 140})
        return figure


PROTOCOLS = ("internal", "external", "median", "external_selection")
# The median protocol of the literature looks at the first five realisations.
_FIRST = 5


class _Frozen(NamedTuple):
    """An estimator for one protocol, and the columns that it is given (all when None)."""

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
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
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
        The unbiased one, ``"internal"``, always runs.
    cv : int, splitter or iterable of (train, test), default=5
        Outer folds, the same for all protocols.
    n_repeats : int, default=10
        How often they are drawn anew.
    scoring : str or callable, default=None
        Score on the rows held out, higher being better. By default that of the search.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, for the outer folds and those of the search.
    engine : Engine or None, default=None
        Where to run; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
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
        inside it, or an estimator that chooses nothing. A table that was cut down beforehand cannot be distinguished
        from any other: pass the whole one.

    See Also
    --------
    NestedEvaluation : The unbiased protocol alone.

    Notes
    -----
    ``"external"`` and ``"median"`` need hyper-parameters that can be read off and set again: those of a search, or of
    an estimator such as ``KernelRidgeClassifierLOO``. ``"external_selection"`` needs a pipeline, alone or in a search,
    with a selection step on the table's own columns. Standard errors and p-values are over the partitions of
    this one table: they test whether a shortcut looks better on it, and are too small for other tables
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
        options = {
            "engine": workers(engine, n_jobs),
            "progress": progress,
            "description": description,
            "labels": labels,
        }
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
                left_out[protocol] = "the columns that reach the estimator are not those of the table"
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
