"""A study's model on other rows, and two studies side by side: scores beside scores.

What a study *promises* is the cross-indexed score of its rule with its interval. New rows with the target score
``s``, with an interval of bootstrap percentiles (rows drawn within their classes). The interval of the difference
``d = s - p`` of two independent estimates is made of theirs (Zou and Donner 2008)

    d - sqrt((s - s_low)^2 + (p_high - p)^2),   d + sqrt((s_high - s)^2 + (p - p_low)^2).

Two studies on the same folds are compared fold by fold instead.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._figures import Result, plain
from fewer._wording import counted, interval_words, listed, metric_words, signed
from fewer.evaluate import corrected_interval
from fewer.study._errors import StudyError
from fewer.study.answers._answers import findings_of
from fewer.study.files._folder import StudyFolder
from fewer.study.files._journal import Journal
from fewer.study.model._calibration_check import CalibrationCheck, calibration_check
from fewer.study.model._drift import ColumnDrift, drift_of
from fewer.study.model._model import StudyModel, as_trained, unseen_categories_named
from fewer.study.plan._scoring import scorer_named
from fewer.study.table._study_data import refuse_too_large, row_weights
from fewer.study.table._weights import weighted_score

if TYPE_CHECKING:
    from fewer.io import Dataset
    from fewer.study.answers._findings import Findings

Interval = tuple[float, float]

_FEWEST_ROWS = 10
_digits = "{:.3f}".format


@dataclass(frozen=True, eq=False)
class Promise:
    """The score that a study expects of its model on new rows.

    Attributes
    ----------
    score : float
        Cross-indexed score.
    interval : tuple of two floats
        Its confidence interval.
    scoring : str
        Which score, as scikit-learn calls it.
    confidence_level : float
        Of intervals.
    fold_scores : ndarray of shape (n_repeats, n_folds)
        What it is the mean of.
    test_ratio : float
        Rows in a fold over rows trained on.
    weights : str or None
        Column with the weight of each row.
    """

    score: float
    interval: Interval
    scoring: str
    confidence_level: float
    fold_scores: np.ndarray
    test_ratio: float
    weights: str | None = None


def promise_of(journal: Journal) -> Promise:
    """What the study of a journal promises.

    Parameters
    ----------
    journal : Journal
        Of a finished study.

    Returns
    -------
    promise : Promise
        The score and its interval.
    """
    plan, scores = journal.settled, journal.scores
    by_fold = scores.choice.fold_scores
    low, high = corrected_interval(by_fold, plan.confidence, scores.test_ratio)
    best = scores.baseline.best_possible
    return Promise(
        float(by_fold.mean()),
        (low, min(high, best)),
        plan.scoring,
        plan.confidence,
        by_fold,
        scores.test_ratio,
        plan.weights,
    )


@dataclass(frozen=True, repr=False)
class RowsScore(Result):
    """The score of a study's model on other rows.

    Attributes
    ----------
    verdict : {"as promised", "higher", "lower", "not tested"}
        The score compared with the promise; "not tested" with fewer than 10 rows.
    scoring : str
        Which score, as scikit-learn calls it.
    score : float
        On these rows.
    interval : tuple of two floats
        Its confidence interval.
    promised : float
        Score that the study expects.
    promised_interval : tuple of two floats
        Its confidence interval.
    difference : float
        Score minus promise.
    difference_interval : tuple of two floats
        Its confidence interval.
    confidence_level : float
        Of all intervals.
    n_rows : int
        Rows scored.
    classes_left_out : dict of str to int
        Rows of classes that the model does not know; they are not scored.
    drift : tuple of ColumnDrift
        The chosen columns, those that changed most first.
    calibration : CalibrationCheck or None
        Probabilities beside the classes; None for numbers, for rows of one class, and for models without probabilities.
    weights : str or None
        Column with the weights of these rows.
    without_weights : str or None
        Column with the weights of the study, if these rows have no such column and count alike.
    """

    verdict: str
    scoring: str
    score: float
    interval: Interval
    promised: float
    promised_interval: Interval
    difference: float
    difference_interval: Interval
    confidence_level: float
    n_rows: int
    classes_left_out: dict[str, int]
    drift: tuple[ColumnDrift, ...]
    calibration: CalibrationCheck | None = None
    weights: str | None = None
    without_weights: str | None = None

    def plot(self) -> Any:
        """Shares of rows over predicted probabilities, for models with probabilities.

        Returns
        -------
        figure : plotly.graph_objects.Figure or None
            See :meth:`CalibrationCheck.plot`.
        """
        return None if self.calibration is None else self.calibration.plot()

    @property
    def drifted(self) -> list[str]:
        """Columns whose distribution or range is not that of the study."""
        return [each.name for each in self.drift if each.drifted]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        drift = [plain(vars(each)) for each in self.drift]
        return {name: plain(value) for name, value in vars(self).items()} | {"drift": drift, "drifted": self.drifted}

    def __repr__(self) -> str:
        metric, level = metric_words(self.scoring), self.confidence_level
        verdict = {
            "as promised": "The model scores as the study promised.",
            "higher": "The model scores higher than the study promised.",
            "lower": "The model scores lower than the study promised.",
            "not tested": f"Fewer than {_FEWEST_ROWS} rows: the score is not compared with the promise.",
        }[self.verdict]
        lines = [
            verdict,
            f"{metric} on {counted(self.n_rows, 'row')}: {self.score:.3f} "
            f"({interval_words(self.interval, level, _digits, drawn='in samples of these rows')})",
            f"estimated by the study: {self.promised:.3f} ({interval_words(self.promised_interval, level, _digits)})",
            f"difference: {signed(self.difference)} ({interval_words(self.difference_interval, level, signed)})",
        ]
        if self.classes_left_out:
            rows = listed([f"{label} ({n:,})" for label, n in self.classes_left_out.items()])
            lines.append(f"rows of classes that the model does not know, not scored: {rows}")
        if self.weights is not None:
            lines.append(f"rows have the weights of {self.weights}")
        if self.without_weights is not None:
            lines.append(
                f"these rows have no column {self.without_weights!r}, the weights of the study: all count alike"
            )
        if self.calibration is not None:
            lines.append(f"calibration: {self.calibration!r}")
        changed = [each for each in self.drift if each.drifted]
        lines.append(f"columns that drifted: {len(changed):,} of {len(self.drift):,}")
        lines += [f"  {each}" for each in changed[:10]]
        return "\n".join(lines)


def score_model(
    model: StudyModel, dataset: "Dataset", promise: Promise, *, n_draws: int = 500, random_state: int = 0
) -> RowsScore:
    """The score of a study's model on other rows, beside what the study promised.

    Parameters
    ----------
    model : StudyModel
        Of a finished study.
    dataset : Dataset
        Other rows, with the target.
    promise : Promise
        Of the same study.
    n_draws : int, default=500
        Bootstrap samples for the interval.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    result : RowsScore
        Scores with intervals, and drift.
    """
    model.check_columns(dataset)
    if dataset.y is None:
        raise StudyError(f"A score needs the target {model.target!r}, and {dataset.source} has no such column.")
    refuse_too_large(dataset, model.columns)
    unknown: dict[str, int] = {}
    if model.task != "regression":
        labels = np.asarray(dataset.y).astype(str)
        known = np.isin(labels, [str(label) for label in model.pipeline.classes_])
        unknown = {str(label): int(n) for label, n in zip(*np.unique(labels[~known], return_counts=True), strict=True)}
        dataset = dataset.take(known)
    if not dataset.n_rows:
        known_classes = listed([repr(str(label)) for label in model.pipeline.classes_])
        raise StudyError(
            f"{dataset.source} has no row of a class that the model knows ({known_classes}): "
            f"{model.target!r} is {listed([repr(label) for label in unknown])}."
        )
    kept = dataset.keep(model.columns)
    X = as_trained(model, kept)
    with unseen_categories_named(model, X):
        recorded = _Recorded(model.pipeline, X, model.task)
    y = recorded.like_classes(np.asarray(dataset.y))
    scorer = scorer_named(promise.scoring)
    rows = np.arange(dataset.n_rows)
    weighted = promise.weights is not None and promise.weights in dataset.columns
    weights = row_weights(dataset, str(promise.weights)) if weighted else None
    try:
        score = weighted_score(scorer, recorded, rows, y, weights)
    except ValueError as error:  # such as ROC AUC of rows of one class
        raise StudyError(f"{promise.scoring} is not defined on these rows: {error}") from error
    drawn = [
        weighted_score(scorer, recorded, some, y[some], None if weights is None else weights[some])
        for some in _bootstrap_rows(y, weights, model.task, n_draws, random_state)
    ]
    tail = (1 - promise.confidence_level) / 2
    low, high = (float(value) for value in np.quantile(drawn, [tail, 1 - tail]))
    difference, between = interval_of_difference(score, (low, high), promise.score, promise.interval)
    verdict = "lower" if between[1] < 0 else "higher" if between[0] > 0 else "as promised"
    return RowsScore(
        verdict if dataset.n_rows >= _FEWEST_ROWS else "not tested",
        promise.scoring,
        score,
        (low, high),
        promise.score,
        promise.interval,
        difference,
        between,
        promise.confidence_level,
        dataset.n_rows,
        unknown,
        drift_of(dataset, model.profiles, significance_level=1 - promise.confidence_level),
        _calibration_of(model, X, y, weights, promise.confidence_level),
        promise.weights if weighted else None,
        None if weighted else promise.weights,
    )


def _calibration_of(
    model: StudyModel, X: Any, y: np.ndarray, weights: np.ndarray | None, confidence: float
) -> CalibrationCheck | None:
    """The check of the probabilities that ``apply`` gives for these rows."""
    if model.task == "regression" or len(y) < _FEWEST_ROWS or len(np.unique(y)) < 2:
        return None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")  # they were named when the rows were predicted
        classes, probabilities = model.probabilities(X)
    if not classes:
        return None
    weights = np.ones(len(y)) if weights is None else weights
    return calibration_check(classes, probabilities, np.asarray(y, dtype=str), weights, confidence)


class _Recorded:
    """A fitted model that has predicted all rows once, and takes their numbers: a bootstrap predicts nothing twice."""

    def __init__(self, pipeline: Any, X: Any, task: str) -> None:
        self._pipeline = pipeline
        self._task = task
        for name in ("predict", "predict_proba", "decision_function"):
            if hasattr(pipeline, name):
                setattr(self, name, _recalled(name, np.asarray(getattr(pipeline, name)(X))))
        if task != "regression":
            self.classes_ = pipeline.classes_

    def __sklearn_tags__(self) -> Any:
        return self._pipeline[-1].__sklearn_tags__()

    def like_classes(self, y: np.ndarray) -> np.ndarray:
        """The target with the labels of the model, whose type another table may read otherwise."""
        if self._task == "regression":
            return y.astype(float)
        place = {str(label): number for number, label in enumerate(self.classes_)}
        return self.classes_[[place[str(label)] for label in y]]


def _recalled(name: str, said: np.ndarray) -> Any:
    """A method that gives what was said of rows; scorers ask for its name."""

    def method(rows: np.ndarray) -> np.ndarray:
        return said[rows]

    method.__name__ = name
    return method


def _bootstrap_rows(y: np.ndarray, weights: np.ndarray | None, task: str, n_draws: int, random_state: int) -> Any:
    """Rows with a weight drawn with replacement, within their classes."""
    rng = np.random.default_rng(random_state)
    used = np.flatnonzero(np.ones(len(y)) if weights is None else weights)
    of_class = [used] if task == "regression" else [used[y[used] == label] for label in np.unique(y[used])]
    for _ in range(n_draws):
        yield np.concatenate([rng.choice(rows, len(rows)) for rows in of_class])


def interval_of_difference(
    first: float, of_first: Interval, second: float, of_second: Interval
) -> tuple[float, Interval]:
    """Difference of two independent estimates, and its interval made of theirs (Zou and Donner 2008).

    Examples
    --------
    >>> interval_of_difference(0.75, (0.5, 0.875), 0.5, (0.25, 0.75))[0]
    0.25
    """
    difference = first - second
    below = np.hypot(first - of_first[0], of_second[1] - second)
    above = np.hypot(of_first[1] - first, second - of_second[0])
    return difference, (float(difference - below), float(difference + above))


@dataclass(frozen=True, repr=False)
class StudyComparison(Result):
    """Two studies side by side.

    Attributes
    ----------
    folders : tuple of two str
        Where they are.
    headlines : tuple of two str
        Their first lines.
    same_table, same_folds : bool
        Whether both have the same rows, columns and target, and the same folds of them.
    differing_options : dict of str to tuple
        Options that the two plans do not share, with both values.
    winners : tuple of two str
        The winning candidates.
    chosen : tuple of two lists of str
        The chosen columns, best first.
    in_both, only_first, only_second : list of str
        What the lists share, and do not.
    jaccard : float
        Columns in both over columns in either.
    expected_in_both : float
        Columns in both if two lists of these lengths were drawn at random.
    scoring : tuple of two str
        Which scores.
    scores : tuple of two floats
        Cross-indexed scores.
    intervals : tuple of two intervals
        Their confidence intervals.
    difference : float or None
        Second score minus the first; None where they are different metrics or targets.
    difference_interval : tuple of two floats or None
        Its confidence interval; fold by fold where both have the same folds.
    confidence_level : float
        Of all intervals: that of the first study.
    """

    folders: tuple[str, str]
    headlines: tuple[str, str]
    same_table: bool
    same_folds: bool
    differing_options: dict[str, tuple[Any, Any]]
    winners: tuple[str, str]
    chosen: tuple[list[str], list[str]]
    in_both: list[str]
    only_first: list[str]
    only_second: list[str]
    jaccard: float
    expected_in_both: float
    scoring: tuple[str, str]
    scores: tuple[float, float]
    intervals: tuple[Interval, Interval]
    difference: float | None
    difference_interval: Interval | None
    confidence_level: float

    def __repr__(self) -> str:
        level = self.confidence_level
        lines = [f"{self.folders[0]} beside {self.folders[1]}"]
        if not self.same_table:
            lines.append("Warning: the two tables are not the same, so differences may be due to the data.")
        for place in (0, 1):
            lines += [
                f"{self.folders[place]}: {self.headlines[place]}",
                f"  {self.winners[place]}: {counted(len(self.chosen[place]), 'column')}, "
                f"{metric_words(self.scoring[place])} {self.scores[place]:.3f} "
                f"({interval_words(self.intervals[place], level, _digits)})",
            ]
        if self.difference is None or self.difference_interval is None:
            lines.append("The scores are of different metrics or targets; they are not compared.")
        else:
            how = "fold by fold" if self.same_folds else "as of independent studies"
            words = interval_words(self.difference_interval, level, signed)
            lines.append(f"second minus first, {how}: {signed(self.difference)} ({words})")
        lines.append(
            f"columns in both: {len(self.in_both):,} of {len({*self.chosen[0], *self.chosen[1]}):,} "
            f"({self.expected_in_both:.1f} expected of random lists)"
        )
        for what, names in (("both", self.in_both), ("only first", self.only_first), ("only second", self.only_second)):
            if names:
                lines.append(f"  {what}: {listed(names, 12)}")
        if self.differing_options:
            options = [f"{name} ({first!r}, {second!r})" for name, (first, second) in self.differing_options.items()]
            lines.append(f"options that differ: {listed(options, 12, longest=80)}")
        return "\n".join(lines)


_SHARED_BY_FOLDS = ("fingerprint", "n_folds", "n_repeats", "seed", "splitting", "scoring", "target")
_OPTIONS = ("preset", "n_folds", "n_repeats", "n_permutations", "seed", "scoring", "impute", "parsimony", "margin")


def compare_studies(first: "str | Path", second: "str | Path") -> StudyComparison:
    """Lists, scores and overlap of two finished studies, most usefully of one table.

    Parameters
    ----------
    first, second : str or Path
        Folders of the studies.

    Returns
    -------
    comparison : StudyComparison
        It prints itself; ``to_dict()`` is plain data.
    """
    pair = [_finished(folder) for folder in (first, second)]
    (one, one_promise), (two, two_promise) = pair
    plans = one.plan, two.plan
    same_folds = all(getattr(plans[0], name) == getattr(plans[1], name) for name in _SHARED_BY_FOLDS)
    difference, between = None, None
    if (one.plan.target, one_promise.scoring) == (two.plan.target, two_promise.scoring):
        difference, between = interval_of_difference(
            two_promise.score, two_promise.interval, one_promise.score, one_promise.interval
        )
        if same_folds:
            by_fold = two_promise.fold_scores - one_promise.fold_scores
            between = corrected_interval(by_fold, one.plan.confidence, one_promise.test_ratio)
    lists = one.chosen, two.chosen
    n_columns = max(plan.n_columns for plan in plans)
    both = [name for name in lists[0] if name in set(lists[1])]
    return StudyComparison(
        folders=(str(first), str(second)),
        headlines=(one.headline, two.headline),
        same_table=plans[0].fingerprint == plans[1].fingerprint,
        same_folds=same_folds,
        differing_options={
            name: (getattr(plans[0], name), getattr(plans[1], name))
            for name in _OPTIONS
            if getattr(plans[0], name) != getattr(plans[1], name)
        },
        winners=(plans[0].candidates[one.winner].name, plans[1].candidates[two.winner].name),
        chosen=lists,
        in_both=both,
        only_first=[name for name in lists[0] if name not in set(both)],
        only_second=[name for name in lists[1] if name not in set(both)],
        jaccard=len(both) / max(1, len({*lists[0], *lists[1]})),
        expected_in_both=len(lists[0]) * len(lists[1]) / max(1, n_columns),
        scoring=(one_promise.scoring, two_promise.scoring),
        scores=(one_promise.score, two_promise.score),
        intervals=(one_promise.interval, two_promise.interval),
        difference=difference,
        difference_interval=between,
        confidence_level=one.plan.confidence,
    )


def _finished(folder: "str | Path") -> "tuple[Findings, Promise]":
    with Journal.read(StudyFolder(Path(folder)).journal) as journal:
        return findings_of(journal), promise_of(journal)
