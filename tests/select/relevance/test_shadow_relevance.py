"""The contest with shadows: its trees, its rounds, its verdicts, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from fewer._kernels._draws import distinct_bootstrap_rows
from fewer.datasets import load, make_friedman_classes
from fewer.evaluate import selection_curve
from fewer.select import ShadowRelevanceSelector
from fewer.select.relevance._binned_trees import binned_columns, tree_importances
from fewer.select.relevance._shadow_relevance import relative_to, shadow_rounds, shadow_sources, significant


def told(*rounds):
    """Importances that are written down beforehand: one for each column, and one for the best shadow."""
    rounds = iter(rounds)

    def importances(active):
        *own, shadow = next(rounds)
        return np.array(own)[active], np.array([0.0, shadow])

    return importances


def contest(importances, n_columns, **options):
    settings = {"max_iter": 100, "significance_level": 0.05, "percentile": 100, "correction": None} | options
    return list(shadow_rounds(importances, n_columns, **settings))


def test_verdicts_follow_the_binomial_test():
    # Column 0 always hits, column 1 never, column 2 every other time: 5 rounds are needed for p = 1/32.
    states = contest(told(*[(2.0, 0.0, 2.0 * (r % 2), 1.0) for r in range(12)]), 3, max_iter=12)
    assert [state.confirmed[0] for state in states[:6]] == [False] * 4 + [True] * 2
    assert [state.rejected[1] for state in states[:6]] == [False] * 4 + [True] * 2
    last = states[-1]
    assert last.tentative.tolist() == [False, False, True]
    assert last.hits.tolist() == [12, 0, 6]
    assert last.rounds.tolist() == [12, 5, 12], "a rejected column takes part no longer"
    assert last.ranking.tolist() == [1, 3, 2]
    assert last.scores.tolist() == [2, 0, 1]


def test_the_contest_is_over_when_all_have_a_verdict():
    assert len(contest(told(*[(2.0, 0.0, 1.0)] * 50), 2)) == 5


def test_ties_with_the_best_shadow_are_no_hits():
    assert contest(told(*[(1.0, 1.0)] * 5), 1)[-1].rejected.all()


def test_a_correction_asks_for_more_rounds():
    def n_rounds(correction):
        return len(contest(told(*[(2.0,) * 100 + (1.0,)] * 50), 100, correction=correction))

    assert n_rounds(None) == 5
    assert n_rounds("fdr") == 5  # all are relevant, so none is false
    assert n_rounds("bonferroni") == 11  # 2**-11 * 100 < .05


def test_corrected_significance():
    pvalues = np.array([0.0004, 0.02, 0.03, 0.5])
    assert significant(pvalues, 0.05, "bonferroni", 100).tolist() == [True, False, False, False]
    assert significant(pvalues, 0.05, "fdr", 100).tolist() == (stats.false_discovery_control(pvalues) <= 0.05).tolist()


def test_a_lower_percentile_is_easier_to_beat():
    def importances(active):
        return np.full(len(active), 5.0), np.arange(11.0)

    assert contest(importances, 2, percentile=100)[-1].rejected.all()
    assert contest(importances, 2, percentile=40)[-1].confirmed.all()


def test_scores_are_bounded_when_shadows_have_no_importance():
    assert relative_to(np.array([0.0, 0.3]), 0.0).tolist() == [0, 1000]


def test_few_columns_still_meet_five_shadows():
    assert shadow_sources(2).tolist() == [0, 1, 0, 1, 0]
    assert shadow_sources(7).tolist() == list(range(7))


def test_bins_keep_the_order_and_all_levels_where_there_is_room():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=1000), rng.integers(-3, 4, 1000), np.ones(1000)])
    bins = binned_columns(X, 64)
    assert (np.diff(bins[0][np.argsort(X[:, 0])].astype(int)) >= 0).all()
    assert np.bincount(bins[0]).min() >= 15
    assert np.array_equal(bins[1], X[:, 1] + 3)
    assert not bins[2].any()


def best_decrease(X, y, rows):
    """Largest decrease of the sum of squares by one cut of one column."""
    best = (0.0, None)
    for column in range(X.shape[1]):
        values = X[rows, column]
        for cut in np.unique(values)[:-1]:
            sides = y[rows[values <= cut]], y[rows[values > cut]]
            decrease = sum(len(side) * np.mean(side, axis=0) @ np.atleast_1d(np.mean(side, axis=0)) for side in sides)
            decrease -= len(rows) * np.mean(y[rows], axis=0) @ np.atleast_1d(np.mean(y[rows], axis=0))
            best = max(best, (decrease, column), key=lambda pair: pair[0])
    return best


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_stump_lowers_impurity_as_much_as_the_best_cut(n_classes):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 12, (80, 4)).astype(float)
    y = rng.normal(size=80) + (X[:, 2] > 6) if n_classes == 0 else rng.integers(0, n_classes, 80)
    codes = y if n_classes else np.zeros(80, dtype=np.int64)
    target = (y - y.mean()).astype(float)
    bins = binned_columns(X, 64)
    nothing = np.empty((0, 80), dtype=np.uint8)
    found = tree_importances(
        bins, nothing, np.arange(4), target, codes, np.ones(len(target)), n_classes, 4, 1, 1, np.uint64(5)
    )
    rows = distinct_bootstrap_rows(80, np.array([5], dtype=np.uint64))
    decrease, column = best_decrease(X, np.eye(3)[codes] if n_classes == 3 else target[:, None], rows)
    assert np.flatnonzero(found).tolist() == [column]
    assert found[column] == pytest.approx(decrease / len(rows), rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_importances_agree_with_scikit_learns_forest(n_classes):
    X, y = make_classification(
        400, 10, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    bins, nothing = binned_columns(X, 256), np.empty((0, 400), dtype=np.uint8)
    ours = np.mean(
        [
            tree_importances(
                bins, nothing, np.arange(10), y - y.mean(), y, np.ones(len(y)), n_classes, 3, 5, 1, np.uint64(seed)
            )
            for seed in range(300)
        ],
        axis=0,
    )
    theirs = RandomForestClassifier(300, max_depth=5, max_features=3, random_state=0).fit(X, y).feature_importances_
    np.testing.assert_allclose(ours / ours.sum(), theirs, atol=0.03)


def test_all_useful_columns_are_found_and_few_others():
    X, y = make_classification(600, 60, n_informative=5, n_redundant=5, shuffle=False, random_state=0)
    selector = ShadowRelevanceSelector(50, random_state=0).fit(X, y)
    assert selector.get_support()[:10].sum() >= 9
    assert selector.get_support()[10:].sum() <= 1
    assert (selector.ranking_[:10] <= 12).all()


def test_regression_finds_friedmans_columns():
    X, y = make_friedman1(400, 15, noise=1.0, random_state=0)
    selector = ShadowRelevanceSelector(50, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2, 3, 4]


def test_whole_numbers_are_regression_when_asked_for():
    X, y = make_friedman1(300, 8, noise=1.0, random_state=0)
    counts = np.round(y).astype(int)
    selector = ShadowRelevanceSelector(40, task="regression", random_state=0).fit(X, counts)
    assert selector.get_support()[[0, 1, 3]].all()
    with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
        ShadowRelevanceSelector(task="classification").fit(X, y)


@pytest.mark.filterwarnings("ignore:No column is confirmed")
def test_noise_is_hardly_ever_confirmed():
    confirmed = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(150, 20)), rng.integers(0, 2, 150)
        confirmed += ShadowRelevanceSelector(30, max_iter=40, random_state=seed).fit(X, y).confirmed_.sum()
    assert confirmed <= 8  # of 160


def test_nothing_confirmed_keeps_the_first_and_says_so():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="No column is confirmed after 3 rounds"):
        selector = ShadowRelevanceSelector(5, max_iter=3, random_state=0).fit(
            rng.normal(size=(40, 5)), np.arange(40) % 2
        )
    assert selector.get_support().sum() == 1
    assert selector.ranking_[selector.get_support()] == 1
    assert selector.tentative_.all()


def test_tentative_columns_are_kept_on_demand():
    X, y, _ = make_friedman_classes(random_state=0)
    strict, lenient = (
        ShadowRelevanceSelector(20, max_iter=12, keep_tentative=keep, random_state=0).fit(X, y)
        for keep in (False, True)
    )
    assert np.array_equal(strict.get_support(), strict.confirmed_)
    assert np.array_equal(lenient.get_support(), lenient.confirmed_ | lenient.tentative_)
    assert lenient.get_support().sum() > strict.get_support().sum()
    assert (lenient.confirmed_ + lenient.tentative_ + lenient.rejected_ == 1).all()


@pytest.mark.parametrize("estimator", [RandomForestClassifier(15, max_depth=4), LogisticRegression()])
def test_any_estimator_that_tells_importances_serves(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 1] + X[:, 3] > 0).astype(int)
    selector = ShadowRelevanceSelector(estimator=estimator, max_iter=12, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [1, 3]


def test_an_estimator_without_importances_is_refused():
    X, y, _ = make_friedman_classes(random_state=0)
    with pytest.raises(ValueError, match="KNeighborsClassifier has no importances"):
        ShadowRelevanceSelector(estimator=KNeighborsClassifier()).fit(X, y)


class SeesClasses(LogisticRegression):
    """Fails unless it gets the classes as the user gave them."""

    def fit(self, X, y):
        assert set(y) == {"ill", "well"}
        return super().fit(X, y)


def test_the_estimator_gets_the_target_as_it_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = np.where(X[:, 0] > 0, "ill", "well")
    assert ShadowRelevanceSelector(estimator=SeesClasses(), max_iter=10, random_state=0).fit(X, y).confirmed_[0]


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(5)])
@pytest.mark.filterwarnings("ignore:No column is confirmed")
def test_the_same_seed_gives_the_same_contest_with_any_number_of_threads(estimator):
    X, y, _ = make_friedman_classes(random_state=0)
    first, second = (
        ShadowRelevanceSelector(20, max_iter=8, estimator=estimator, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (None, 2)
    )
    assert np.array_equal(first.scores_, second.scores_)
    assert np.array_equal(first.hits_, second.hits_)


@pytest.mark.filterwarnings("ignore:No column is confirmed")
@pytest.mark.parametrize("shape", [(60, 2000), (20_000, 4), (50, 1)])
def test_tables_of_any_shape(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    selector = ShadowRelevanceSelector(10, max_iter=15, random_state=0).fit(X, y)
    assert sorted(selector.ranking_) == list(range(1, shape[1] + 1))
    if shape[1] < 5:
        assert selector.confirmed_[0]


def test_constant_columns_are_rejected_and_copies_are_all_confirmed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[:, 1], X[:, 2] = X[:, 0], 7.0
    selector = ShadowRelevanceSelector(30, random_state=0).fit(X, X[:, 0] > 0)
    assert selector.confirmed_[:2].all()
    assert selector.rejected_[2]


def test_a_constant_target_is_refused():
    with pytest.raises(ValueError, match="y is constant"):
        ShadowRelevanceSelector(task="regression").fit(np.eye(5), np.ones(5))


class StopAfter:
    """A callback that stops after some rounds."""

    def __init__(self, n_steps=3):
        self.n_steps, self.seen = n_steps, []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.parent is None:
            return False
        self.seen.append(fitted_estimator.get_support().sum())
        return len(self.seen) >= self.n_steps


@pytest.mark.filterwarnings("ignore:No column is confirmed")
def test_a_callback_stops_the_rounds_and_keeps_the_verdicts():
    X, y, _ = make_friedman_classes(random_state=0)
    stop = StopAfter(3)
    selector = ShadowRelevanceSelector(10, random_state=0).set_callbacks(stop).fit(X, y)
    assert selector.n_iter_ == 3
    assert len(stop.seen) == 3


def test_it_works_in_a_pipeline_on_a_frame_and_gives_a_selection_curve():
    wine = load("wine")
    frame = pd.DataFrame(wine.X, columns=wine.columns)
    model = make_pipeline(ShadowRelevanceSelector(10, max_iter=20, random_state=0), LinearRegression())
    model.fit(frame, wine.X[:, 0] + 0.01)
    assert "alcohol" in model[0].get_feature_names_out()
    selector = ShadowRelevanceSelector(10, max_iter=12, random_state=0)
    curve = selection_curve(selector, KNeighborsClassifier(), wine.X, wine.y, sizes=[2, 13], cv=3, random_state=0)
    assert curve.scores.shape == (1, 3, 2)
