"""The tests of a study: a reference procedure on the real table, and on tables that were randomised.

The statistic does not depend on the winner of the study: columns ranked by a filter (F test, or correlation), at all
sizes, with ridge, naive Bayes and nearest neighbours, whose closed forms make all sizes cost little more than one;
learner and size are chosen by cross-indexing over the folds of one repeat. So the test costs the same whatever the
winner costs, and being the best of many candidates counts for nothing.

Of very many rows, the tests take a random sample: a signal that can be used shows on thousands of rows.

Categories are encoded, and missing values filled with what their own column has, once for all tables and folds. Neither
looks at the target or at other columns, so both are the same whatever is permuted, and the tests stay exact.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from fewer._kernels._one_thread import one_thread
from fewer.catalogue import imputer_named
from fewer.evaluate import Fold, SubsetPath, cross_index, randomize, score_sizes, subset_path
from fewer.study.plan._candidates import size_path
from fewer.study.plan._plan import Plan
from fewer.study.plan._recipes import BALANCED_SCORES, POSITIVE_SCORES, Recipe, can_be_scored
from fewer.study.plan._scoring import scoring_of
from fewer.study.table._coded import words_of
from fewer.study.table._study_data import StudyData
from fewer.study.table._weights import fit_weighted, takes_weights, weighted_score
from fewer.study.work._preparation import fit_prepared, preparation, prepared_columns
from fewer.study.work._work import (
    Bench,
    Null,
    NullWork,
    PreparedFold,
    at_common_sizes,
    has_units,
    prepared_fold,
    rows_of,
    sample_of_rows,
    seed_of,
    study_folds,
    units_of,
)

MOST_ROWS = 5_000
_MOST_DRAWS = 1000
_MOST_COLUMNS = 1000


def do_null(work: NullWork, bench: Bench) -> dict[str, Any]:
    """Score of the reference procedure; what there is to warn of on a randomised table, is not of the user's table."""
    from sklearn import config_context

    bench.let_go()
    seed = seed_of(bench.plan, work.null, work.number)
    if bench.tested is None:
        rows = tested_rows(bench.data, bench.plan)
        bench.tested = rows, encoding_of(rows, bench.plan)
    data, encoding = bench.tested
    # Learners and their parameters are ours, and what they get is finite: on a small table, checks take a third.
    unchecked = config_context(skip_parameter_validation=True, assume_finite=True)
    with one_thread(), unchecked, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if work.number is None:
            folds = study_folds(bench.plan, data, np.asarray(data.dataset.y), seed % 2**31, n_repeats=1)[0]
        else:
            data, folds = randomised_with_folds(data, bench.plan, work.null, seed)
        return {"score": reference_score(data, folds, bench.plan, work.null, encoding)}


class Encoding:
    """What makes numbers of a table before it is cut into folds, as ``preparation`` does, but for the scale.

    Parameters
    ----------
    data : StudyData
        The table; its kinds of columns decide the steps.
    plan : Plan
        How missing values are imputed.
    """

    def __init__(self, data: StudyData, plan: Plan) -> None:
        prepare = preparation(data.dataset, plan.impute, seed=plan.seed)
        fit_prepared(prepare, data.dataset.X, keep=True)
        self._columns = prepared_columns(prepare, data.dataset)
        self._steps = prepare[:-1]
        self._last: tuple[Any, np.ndarray] | None = None

    def fold(self, data: StudyData, fold: Fold, plan: Plan) -> PreparedFold:
        """Rows held in and rows held out, on the scale of the rows held in."""
        X = data.dataset.X
        if self._last is None or self._last[0] is not X:  # where labels are permuted, the table stays
            self._last = X, np.asarray(self._steps.transform(X), dtype=float)
        train, test, vary = _standardised(self._last[1], fold)
        columns = list(compress(self._columns, vary.tolist()))
        units = units_of(plan, data.dataset, [column.source for column in columns])
        return PreparedFold(train, test, [column.name for column in columns], [], units)


def encoding_of(data: StudyData, plan: Plan) -> Encoding | None:
    """The encoding of a table that needs one; None where columns are filled from others, which is another for each."""
    dataset = data.dataset
    plain = isinstance(dataset.X, np.ndarray) and not (words_of(dataset) or dataset.has_missing)
    if dataset.is_sparse or (plain and data.weights is None and not has_units(plan, dataset)):
        return None
    return None if dataset.has_missing and imputer_named(plan.impute).from_others else Encoding(data, plan)


def reference_score(
    data: StudyData, folds: list[Fold], plan: Plan, null: Null, encoding: Encoding | None = None
) -> float:
    """Cross-indexed score of the best of a few quick learners behind a filter."""
    dataset, y = data.dataset, np.asarray(data.dataset.y)
    learners = _learners(plan, null, sparse=dataset.is_sparse, y=y, n_train=min(len(fold.train) for fold in folds))
    tables = [_fold_table(data, fold, plan, learners, encoding) for fold in folds]
    scores = np.concatenate([at_common_sizes([table[row] for table in tables])[1] for row in range(len(tables[0]))], 1)
    return cross_index(scores, "A").score


def _fold_table(
    data: StudyData, fold: Fold, plan: Plan, learners: list[Any], encoding: Encoding | None
) -> list[dict[str, Any]]:
    """Scores of every learner at every size on one fold."""
    dataset, y, w = data.dataset, np.asarray(data.dataset.y), data.weights
    score_func = "anova" if plan.classify else "pearson"
    selector = Recipe("SelectTop", {"score_func": score_func}).reducer(seed=plan.seed)
    path: Any
    sizes: Any
    if w is None and not has_units(plan, dataset):
        X_train, X_test = _prepared(data, fold, plan, encoding)[:2]
        path = _by_strength(selector, X_train, y[fold.train], classify=plan.classify)
        sizes = size_path(X_train.shape[1], _MOST_COLUMNS)
    else:
        rows = _prepared(data, fold, plan, encoding)
        X_train, X_test = rows.X_train, rows.X_test
        of_train = None if w is None else w[fold.train]
        X = X_train if rows.units is None else rows.units.choosable(X_train, of_train)
        of_units = rows.path(fit_weighted(selector, X, y[fold.train], of_train))
        path, ends = of_units.units.frozen(of_units.order)
        sizes = [ends[size - 1] for size in size_path(rows.n_units, _MOST_COLUMNS)]
    scoring = (
        _of_positive(plan.scoring, float(np.mean(y))) if plan.scoring in POSITIVE_SCORES else scoring_of(plan.scoring)
    )
    found = []
    for learner in learners:
        halves = X_train, y[fold.train], X_test, y[fold.test]
        if w is None:
            scored = score_sizes(path, learner, *halves, sizes=sizes, scoring=scoring)
            found.append({"sizes": scored.sizes, "scores": scored.scores})
        else:
            found.append(_weighted_table(learner, rows, path, sizes, scoring, y, w, fold))
    return found


def _by_strength(selector: Any, X: Any, y: np.ndarray, *, classify: bool) -> Any:
    """The path of ``SelectTop``; its checks of a table and of classes take ten times as long as the F test."""
    from fewer.select.scores import anova_score, score_card

    if classify and isinstance(X, np.ndarray):
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 1:
            card = score_card(anova_score)
            assert card is not None
            scores, _ = card.function(X, codes)
            return SubsetPath(X.shape[1], np.argsort(-scores, kind="stable"))
    return subset_path(selector.fit(X, y), X.shape[1])


def _prepared(data: StudyData, fold: Fold, plan: Plan, encoding: Encoding | None) -> PreparedFold:
    """Rows held in and rows held out, as numbers on one scale."""
    if encoding is not None:
        return encoding.fold(data, fold, plan)
    dataset = data.dataset
    if not isinstance(dataset.X, np.ndarray) or dataset.has_missing:
        return prepared_fold(dataset, fold, plan)
    train, test, vary = _standardised(dataset.X, fold)
    return PreparedFold(train, test, list(compress(dataset.columns, vary.tolist())), [])


def _standardised(X: np.ndarray, fold: Fold) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers held in and held out on the scale of the former, without columns that are constant there; and which vary.

    On a small table, scikit-learn's checks take a hundred times as long, and a test prepares hundreds of folds.
    """
    train, test = X[fold.train].astype(float), X[fold.test].astype(float)
    vary = train.min(axis=0) < train.max(axis=0)
    train, test = train[:, vary], test[:, vary]
    middle = train.mean(axis=0)
    width = np.sqrt(((train - middle) ** 2).mean(axis=0))
    # Of values that differ by rounding alone, the deviations are as large as the rounding of the mean.
    width = np.where(width <= 10 * np.finfo(float).eps * np.abs(middle), 1.0, width)
    return (train - middle) / width, (test - middle) / width, vary


def _weighted_table(
    learner: Any, rows: Any, path: Any, sizes: list[int], scoring: Any, y: np.ndarray, w: np.ndarray, fold: Fold
) -> dict[str, Any]:
    """Scores of one learner at every size on one fold, with the weights of the rows."""
    from sklearn.base import clone
    from sklearn.metrics import check_scoring

    scorer = check_scoring(learner, scoring=scoring)
    tables = [rows.keep(np.argsort(path.ranking_)[:size]) for size in sizes] + [rows]
    models = [fit_weighted(clone(learner), table.X_train, y[fold.train], w[fold.train]) for table in tables]
    scores = [
        weighted_score(scorer, model, table.X_test, y[fold.test], w[fold.test])
        for model, table in zip(models, tables, strict=True)
    ]
    return {"sizes": [*sizes, rows.X_train.shape[1]], "scores": scores}


def _learners(plan: Plan, null: Null, *, sparse: bool, y: np.ndarray, n_train: int) -> list[Any]:
    """Ridge with a fixed penalty, nearest neighbours, and naive Bayes, which looks at one column at a time."""
    from sklearn.linear_model import Ridge, RidgeClassifier

    classes = len(np.unique(y)) if plan.classify and plan.scoring in BALANCED_SCORES else 0
    knn = Recipe("knn", {"n_neighbors": min(5, n_train)}).learner(classify=plan.classify, seed=plan.seed)
    if not plan.classify:
        return [Ridge(), knn] if plan.weights is None else [Ridge()]
    learners = [RidgeClassifier(class_weight="balanced" if classes else None), knn]
    if not sparse and null == "labels":
        learners.append(Recipe("naive_bayes").learner(classify=True, classes=classes, seed=plan.seed))
    return [
        learner
        for learner in learners
        if can_be_scored(learner, plan.scoring) and (plan.weights is None or takes_weights(learner))
    ]


def _of_positive(scoring: str, mean: float) -> Any:
    """The score for learners that may predict numbers below zero: predictions count as a tenth of the mean at least."""
    from sklearn.metrics import get_scorer, make_scorer

    score = get_scorer(scoring)

    def clipped(truth: np.ndarray, predicted: np.ndarray) -> float:
        return score._sign * score._score_func(truth, np.maximum(predicted, mean / 10))

    return make_scorer(clipped)


def tested_rows(data: StudyData, plan: Plan) -> StudyData:
    """The rows that the tests look at: all, or a random sample of very many; groups stay whole."""
    n_rows = data.dataset.n_rows
    if n_rows <= MOST_ROWS:
        return data
    rng = np.random.default_rng(seed_of(plan, "tested rows"))
    if data.groups is not None:
        order = rng.permutation(int(data.groups.max()) + 1)[data.groups]
        last = np.sort(order)[MOST_ROWS - 1]
        rows = np.flatnonzero(order <= last)
    else:
        rows = sample_of_rows(np.arange(n_rows), np.asarray(data.dataset.y), MOST_ROWS, rng, classify=plan.classify)
    groups = None if data.groups is None else np.unique(data.groups[rows], return_inverse=True)[1]
    weights = None if data.weights is None else data.weights[rows]
    return replace(data, dataset=rows_of(data.dataset, rows), groups=groups, weights=weights)


def randomised_with_folds(data: StudyData, plan: Plan, null: Null, seed: int) -> tuple[StudyData, list[Fold]]:
    """A randomised table, and folds that leave some rows of every class to learn from.

    Where rows are in order or in groups, a shuffled rare class may be missing from all rows of a training set. Such
    draws are put aside. The real table is not one of those, so the test stays exact.
    """
    rng = np.random.default_rng(seed)
    for draw in range(_MOST_DRAWS):
        drawn = randomised(data, null, rng, plan.always)
        try:
            y = np.asarray(drawn.dataset.y)
            return drawn, study_folds(plan, data, y, (seed + draw) % 2**31, n_repeats=1)[0]
        except ValueError as error:
            without_folds = error
    raise without_folds


def randomised(data: StudyData, null: Null, rng: np.random.Generator, always: Sequence[str] = ()) -> StudyData:
    """The table under a null hypothesis.

    Weights move with the target, so that the weights of the classes stay. Where columns are always in, these stay with
    the target, and the rows of all other columns are permuted: the test is about what they add.
    """
    dataset = data.dataset
    y = np.asarray(dataset.y)
    if null == "features_within_class":
        X, _ = randomize(dataset.X, y, null, rng, groups=None)
        return replace(data, dataset=replace(dataset, X=X))
    if data.groups is not None and _one_label_for_each_group(y, data.groups):
        return replace(data, dataset=replace(dataset, y=_labels_moved_by_group(y, data.groups, rng)))
    if data.weights is None and not always:
        _, permuted = randomize(dataset.X, y, "labels", rng, groups=data.groups)
        return replace(data, dataset=replace(dataset, y=permuted))
    _, moved = randomize(dataset.X, np.arange(len(y)), "labels", rng, groups=data.groups)
    if always:
        others = [place for place, name in enumerate(dataset.columns) if name not in set(always)]
        table: Any = dataset.X.tolil(copy=True) if dataset.is_sparse else np.array(dataset.X)
        table[:, others] = dataset.X[moved][:, others]
        return replace(data, dataset=replace(dataset, X=table.tocsr() if dataset.is_sparse else table))
    assert data.weights is not None
    return replace(data, dataset=replace(dataset, y=y[moved]), weights=data.weights[moved])


def _one_label_for_each_group(y: np.ndarray, groups: np.ndarray) -> bool:
    pairs = {(group, label) for group, label in zip(groups.tolist(), y.tolist(), strict=True)}
    return len(pairs) == len(np.unique(groups))


def _labels_moved_by_group(y: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each group gets the label of another one: rows of a group are not exchangeable with those of others."""
    first = np.unique(groups, return_index=True)[1]
    return y[first][rng.permutation(len(first))][groups]
