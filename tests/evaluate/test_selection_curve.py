"""Held-out scores over the number of columns."""

import json
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectorMixin,
    SequentialFeatureSelector,
    f_regression,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import selection_curve
from fewer.select import NearestNeighbourObjective, SequentialSearch

WINE = load_wine(return_X_y=True)


def jittered_wine():
    """Wine without ties, which neighbours would break in their own ways."""
    X, y = WINE
    return X + 1e-6 * X.std(axis=0) * np.random.default_rng(0).normal(size=X.shape), y


@pytest.mark.parametrize("scoring", [None, "accuracy", "balanced_accuracy", "f1_macro", "roc_auc_ovr"])
@pytest.mark.parametrize(
    "learner", [make_pipeline(StandardScaler(), KNeighborsClassifier(3)), GaussianNB(), LogisticRegression(max_iter=5)]
)
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_scores_are_those_of_cross_validated_pipelines(learner, scoring):
    X, y = jittered_wine()
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    sizes = [2, 13]
    curve = selection_curve(SelectKBest(), learner, X, y, sizes=sizes, cv=folds, scoring=scoring)
    for place, size in enumerate(sizes):
        expected = cross_val_score(make_pipeline(SelectKBest(k=size), clone(learner)), X, y, cv=folds, scoring=scoring)
        np.testing.assert_allclose(curve.scores[0, :, place], expected, rtol=1e-10)


@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_absolute_error"])
def test_regression_scores_are_those_of_cross_validated_pipelines(scoring):
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=1)
    curve = selection_curve(SelectKBest(f_regression), Ridge(0.1), X, y, cv=folds, scoring=scoring)
    for size in (1, 4, 10):
        model = make_pipeline(SelectKBest(f_regression, k=size), Ridge(0.1))
        expected = cross_val_score(model, X, y, cv=folds, scoring=scoring)
        np.testing.assert_allclose(curve.scores[0, :, size - 1], expected, rtol=1e-8)


class WatchedSelector(SelectorMixin, BaseEstimator):
    """Notes the rows that it sees; ranks columns by position."""

    seen = []

    def fit(self, X, y):
        type(self).seen.append(X[:, -1].copy())
        self.n_features_in_ = X.shape[1]
        self.ranking_ = np.arange(1, X.shape[1] + 1)
        return self

    def _get_support_mask(self):
        return self.ranking_ == 1


class WatchedLearner(KNeighborsClassifier):
    """Notes the number of fits."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        return super().fit(X, y)


def test_each_selector_is_fitted_once_a_fold_on_the_rows_held_in():
    X, y = WINE
    X = np.column_stack([X, np.arange(len(X))])
    WatchedSelector.seen, WatchedLearner.fits = [], 0
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    selection_curve(WatchedSelector(), WatchedLearner(1), X, y, cv=folds)
    assert len(WatchedSelector.seen) == 5
    for seen, (train, _) in zip(WatchedSelector.seen, folds.split(X, y), strict=True):
        assert set(seen.astype(int)) == set(train)
    assert WatchedLearner.fits == 5 * 14


def test_the_full_set_is_always_there_and_sizes_are_sorted():
    curve = selection_curve(SelectKBest(), GaussianNB(), *WINE, sizes=[5, 2, 2], random_state=0)
    assert curve.sizes.tolist() == [2, 5, 13]


def test_wide_tables_get_sizes_that_grow():
    rng = np.random.default_rng(0)
    curve = selection_curve(SelectKBest(), GaussianNB(), rng.normal(size=(30, 3000)), np.arange(30) % 2, cv=2)
    assert curve.sizes[:5].tolist() == [1, 2, 3, 4, 5]
    assert curve.sizes[-1] == 3000
    assert 40 <= len(curve.sizes) <= 70


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "lists"])
def test_any_kind_of_table_gives_the_same_curve(kind):
    X, y = jittered_wine()
    table = {
        "pandas": pd.DataFrame(X, columns=[f"c{j}" for j in range(13)], index=np.arange(len(X))[::-1]),
        "polars": pl.DataFrame({f"c{j}": X[:, j] for j in range(13)}),
        "sparse": sparse.csr_array(X),
        "lists": X.tolist(),
    }[kind]
    options = {"sizes": [2, 6], "random_state": 3}
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    expected = selection_curve(SelectKBest(), KNeighborsClassifier(1), X, y, **options)
    found = selection_curve(SelectKBest(), KNeighborsClassifier(1), table, names.tolist(), **options)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_preprocessing_in_the_selectors_pipeline_is_inside_the_folds():
    X, y = jittered_wine()
    X = X.copy()
    X[::7, 3] = np.nan
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    selector = make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest())
    curve = selection_curve(selector, KNeighborsClassifier(1), X, y, sizes=[4], cv=folds)
    whole = make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest(k=4), KNeighborsClassifier(1))
    np.testing.assert_allclose(curve.scores[0, :, 0], cross_val_score(whole, X, y, cv=folds))


@pytest.mark.filterwarnings("ignore:Features .* are constant")
def test_columns_made_inside_the_folds_may_differ_in_number():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(60, 4)).astype(object)
    X[0, 0], X[1, 0] = 7, 8  # levels that some training sets lack
    y = rng.integers(2, size=60)
    selector = make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), SelectKBest())
    curve = selection_curve(selector, GaussianNB(), X, y, cv=3, random_state=0)
    assert len({path.n_features for path in curve.paths}) > 1
    assert np.isfinite(curve.scores).all()
    assert curve.rankings is None
    with pytest.raises(ValueError, match="different numbers of columns"):
        curve.supports(3)


@pytest.mark.parametrize(
    "selector",
    [
        RFE(LogisticRegression(max_iter=200), n_features_to_select=1),
        SelectFromModel(RidgeClassifier()),
        SelectFromModel(RandomForestClassifier(10, random_state=0)),
        SelectKBest(),
    ],
    ids=["RFE", "coefficients", "importances", "scores"],
)
def test_selectors_of_scikit_learn_are_read(selector):
    X, y = WINE
    X = StandardScaler().fit_transform(X)
    curve = selection_curve(selector, GaussianNB(), X, y, cv=3, random_state=0)
    assert sorted(curve.rankings[0, 0]) == list(range(1, 14))
    assert curve.supports(4).sum(axis=2).tolist() == [[4, 4, 4]]
    np.testing.assert_array_equal(curve.supports(4), curve.rankings <= 4)


def test_equal_ranks_have_no_subsets_between_them():
    X, y = WINE
    selector = RFE(GaussianNBWithCoefficients(), n_features_to_select=5)
    with pytest.raises(ValueError, match="no subset of 3"):
        selection_curve(selector, GaussianNB(), X, y, sizes=[3, 5], random_state=0)
    curve = selection_curve(selector, GaussianNB(), X, y, random_state=0)
    assert curve.sizes.tolist() == list(range(5, 14))


class GaussianNBWithCoefficients(GaussianNB):
    """Importance of a column: how far apart its class means are."""

    @property
    def feature_importances_(self):
        return self.theta_.std(axis=0) / np.sqrt(self.var_.mean(axis=0))


def test_a_search_that_stops_early_has_its_sizes_and_the_full_set():
    X, y = jittered_wine()
    search = SequentialSearch(NearestNeighbourObjective(), n_features_to_select=4)
    curve = selection_curve(search, RidgeClassifier(), X, y, cv=3, random_state=0)
    assert curve.sizes.tolist() == [1, 2, 3, 4, 13]
    assert np.isnan(curve.inner_scores[..., -1]).all()
    assert np.isfinite(curve.inner_scores[..., :-1]).all()
    with pytest.raises(ValueError, match="no subset of 7"):
        selection_curve(search, RidgeClassifier(), X, y, sizes=[7])


class SearchLike(SelectorMixin, BaseEstimator):
    """Leaves what a search leaves: subsets that are not nested, and the scores that it believed in."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.subset_path_ = {1: (3,), 2: (0, 1), 3: (0, 1, 2)}
        self.path_scores_ = {1: 0.9, 2: 0.95, 3: 0.97}
        return self

    def _get_support_mask(self):
        return np.arange(self.n_features_in_) == 3


def test_a_search_gives_its_path_and_what_it_believed():
    X, y = jittered_wine()
    curve = selection_curve(SearchLike(), KNeighborsClassifier(1), X, y, cv=3, random_state=0)
    assert curve.sizes.tolist() == [1, 2, 3, 13]
    np.testing.assert_array_equal(curve.inner_scores[0, 0], [0.9, 0.95, 0.97, np.nan])
    assert curve.rankings is None
    assert np.flatnonzero(curve.supports(2)[0, 1]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="no subset of 4 columns"):
        selection_curve(SearchLike(), KNeighborsClassifier(1), X, y, sizes=[4])


def test_the_same_seed_gives_the_same_folds_here_and_on_workers(workers):
    X, y = WINE
    options = {"sizes": [1, 3, 5], "n_repeats": 2, "random_state": 5}
    here = selection_curve(SelectKBest(), GaussianNB(), X, y, **options)
    assert here.scores.shape == (2, 5, 4)
    assert not np.array_equal(here.scores[0], here.scores[1])
    there = selection_curve(SelectKBest(), GaussianNB(), X, y, engine=workers, **options)
    np.testing.assert_array_equal(here.scores, there.scores)
    np.testing.assert_array_equal(here.rankings, there.rankings)


def test_groups_stay_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 5)
    X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    X = np.column_stack([X, groups])

    class GroupWatch(WatchedSelector):
        seen = []

    curve = selection_curve(GroupWatch(), GaussianNB(), X, y, groups=groups, cv=GroupKFold(3))
    assert curve.scores.shape == (1, 3, 5)
    assert all(len(set(seen)) == 8 for seen in GroupWatch.seen)
    GroupWatch.seen = []
    selection_curve(GroupWatch(), GaussianNB(), X, y, groups=groups, cv=3, random_state=0)
    assert all(np.bincount(seen.astype(int), minlength=12).max() == 5 for seen in GroupWatch.seen)
    assert sum(len(set(seen)) for seen in GroupWatch.seen) == 24


def test_a_splitter_that_repeats_itself_gives_repeats():
    curve = selection_curve(
        SelectKBest(), GaussianNB(), *WINE, sizes=[3], cv=RepeatedStratifiedKFold(n_splits=4, n_repeats=3)
    )
    assert curve.scores.shape == (3, 4, 2)


def test_splitters_that_cannot_repeat_say_so():
    for cv in (KFold(5), PredefinedSplit(np.arange(178) % 4), [([0, 1], [2])]):
        with pytest.raises(ValueError, match="n_repeats"):
            selection_curve(SelectKBest(), GaussianNB(), *WINE, cv=cv, n_repeats=2)


def test_overlapping_folds_make_a_curve_but_no_cross_index():
    cv = StratifiedShuffleSplit(4, test_size=0.5, random_state=0)
    curve = selection_curve(SelectKBest(), GaussianNB(), *WINE, sizes=[3], cv=cv)
    assert curve.cross_index("outer").score == curve.mean.max()
    assert "optimistic" in repr(curve)
    with pytest.raises(ValueError, match="more than once"):
        curve.cross_index("A")


def test_a_training_set_without_a_class_is_refused():
    y = np.repeat([0, 1, 2], [30, 29, 1])
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(ValueError, match="no row of class"):
        selection_curve(SelectKBest(), GaussianNB(), X, y, cv=KFold(5, shuffle=True, random_state=0))


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ([0, 3, 5], "before the folds"),
        (np.array([True, False]), "before the folds"),
        (SelectKBest, "pass an instance"),
        (SelectKBest().fit(*WINE), "fitted already"),
        (make_pipeline(StandardScaler().fit(WINE[0]), SelectKBest()), "fitted already"),
        (FrozenEstimator(SelectKBest().fit(*WINE)), "keeps what it learnt"),
        (SelectFromModel(DecisionTreeClassifier().fit(*WINE), prefit=True), "keeps what it learnt"),
        (make_pipeline(SelectKBest(), "passthrough"), "last step"),
    ],
)
def test_a_selection_that_has_seen_the_held_out_rows_is_refused(selector, said):
    with pytest.raises((TypeError, ValueError), match=said):
        selection_curve(selector, GaussianNB(), *WINE)


def test_a_selector_without_a_ranking_is_refused():
    selector = SequentialFeatureSelector(GaussianNB(), n_features_to_select=2, cv=2)
    with pytest.raises(TypeError, match="has no ranking of the columns"):
        selection_curve(selector, GaussianNB(), WINE[0][:, :4], WINE[1], cv=2)


@pytest.mark.parametrize("sizes", [[0, 1], [1.5], [True], ["3"]])
def test_sizes_that_are_none_are_refused(sizes):
    with pytest.raises(ValueError, match="whole number of columns"):
        selection_curve(SelectKBest(), GaussianNB(), *WINE, sizes=sizes)


def test_it_tells_itself_in_words_json_and_a_picture():
    curve = selection_curve(SelectKBest(), GaussianNB(), *load_breast_cancer(return_X_y=True), random_state=0)
    assert repr(curve).startswith("SelectionCurve: 30 sizes from 1 to 30, 5 folds, accuracy")
    assert json.loads(json.dumps(curve.to_dict()))["sizes"][-1] == 30
    names = [trace.name for trace in curve.plot("B").data]
    assert {"held-out", "all columns", "standard deviation over folds", "chosen (cross-indexing B)"} <= set(names)
    assert (curve.selector_seconds > 0).all()
    assert (curve.learner_seconds > 0).all()


def test_a_target_with_one_class_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match="one class only, 'same'"):
        selection_curve(SelectKBest(), RidgeClassifier(), X, np.full(30, "same"))


def test_fewer_rows_than_folds_are_refused():
    X = np.random.default_rng(0).normal(size=(4, 4))
    with pytest.raises(ValueError, match="There are 4 rows, too few for 5 folds"):
        selection_curve(SelectKBest(), RidgeClassifier(), X, np.array([0, 1, 0, 1]))


class InterruptsAfter(SelectKBest):
    """Sends Ctrl-C to this process when it was fitted so many times."""

    fits = 0
    last = 0

    def fit(self, X, y):
        type(self).fits += 1
        if self.fits == self.last:
            signal.raise_signal(signal.SIGINT)
        return super().fit(X, y)


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize(("after", "n_repeats"), [(6, 1), (14, 2)])
def test_ctrl_c_keeps_the_repeats_that_are_done(monkeypatch, after, n_repeats):
    X, y = load_wine(return_X_y=True)
    whole = selection_curve(SelectKBest(), GaussianNB(), X, y, n_repeats=4, random_state=0)
    monkeypatch.setattr(InterruptsAfter, "last", after)
    monkeypatch.setattr(InterruptsAfter, "fits", 0)
    cut = selection_curve(InterruptsAfter(), GaussianNB(), X, y, n_repeats=4, random_state=0, progress=True)
    np.testing.assert_array_equal(cut.scores, whole.scores[:n_repeats])
    assert len(cut.paths) == 5 * n_repeats


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_before_one_repeat_is_done_stops(monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(InterruptsAfter, "last", 3)
    monkeypatch.setattr(InterruptsAfter, "fits", 0)
    with pytest.raises(KeyboardInterrupt):
        selection_curve(InterruptsAfter(), GaussianNB(), X, y, n_repeats=4, random_state=0, progress=True)
