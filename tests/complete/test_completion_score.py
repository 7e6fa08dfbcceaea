"""Held-out entries judge a completer that has never seen them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge

from fewer.complete import PCAMissing, completion_score


def low_rank(n_rows=150, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, 8)) + noise * rng.normal(size=(n_rows, 8))
    return np.where(rng.random(X.shape) < 0.2, np.nan, X * [1, 1, 1, 1, 1, 1, 1000, 0.001])


class Spy(SimpleImputer):
    """Keeps the tables that it is fitted to."""

    seen: list = []

    def fit(self, X, y=None):
        self.seen.append(np.asarray(X).copy())
        return super().fit(X)

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


def test_the_model_is_refitted_without_the_hidden_entries():
    X = low_rank()
    Spy.seen.clear()
    score = completion_score(Spy(), X, fraction=0.25, n_repeats=3, random_state=0)
    observed = ~np.isnan(X)
    assert len(Spy.seen) == 3
    for table in Spy.seen:
        left = ~np.isnan(table)
        assert not (left & ~observed).any()
        assert observed.sum() - left.sum() == score.n_hidden == round(0.25 * observed.sum())
        np.testing.assert_array_equal(table[left], X[left])
    assert (np.isnan(Spy.seen[0]) != np.isnan(Spy.seen[1])).any()


def test_column_means_save_nothing_and_their_error_is_one_standard_deviation():
    score = completion_score(SimpleImputer(), low_rank(), random_state=0)
    np.testing.assert_allclose(score.errors, score.mean_errors)
    assert score.gain == pytest.approx(0)
    assert score.error == pytest.approx(1, abs=0.15)
    assert score.coverage is None


def test_the_error_is_that_of_an_independent_calculation():
    X = low_rank()
    Spy.seen.clear()
    score = completion_score(Spy(), X, n_repeats=1, random_state=0)
    table = Spy.seen[0]
    hidden = np.isnan(table) & ~np.isnan(X)
    wrong = (np.nanmean(table, axis=0) - X) / np.nanstd(X, axis=0)
    assert score.error == pytest.approx(np.sqrt(np.mean(wrong[hidden] ** 2)))
    for column in range(8):
        own = wrong[hidden[:, column], column]
        assert score.column_errors[column] == pytest.approx(np.sqrt(np.mean(own**2)))


def test_no_column_counts_more_because_of_its_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=200)
    scores = [
        completion_score(SimpleImputer(), X * units, random_state=0).error
        for units in ([1, 1, 1, 1], [1, 1e6, 1e-6, 1])
    ]
    assert scores[0] == pytest.approx(scores[1])


def test_a_better_model_has_a_better_score_with_an_interval_that_says_so():
    X = low_rank()[:, :6]
    score = completion_score(PCAMissing(2, random_state=0), X, n_repeats=6, random_state=0)
    low, high = score.gain_interval
    assert 0.5 < low < score.gain < high < 1
    assert score.interval[0] < score.error < score.interval[1] < score.mean_error
    assert 0.85 < score.coverage <= 1
    assert "better than column means" in score.reading


def test_on_noise_nothing_is_better_than_column_means():
    X = np.random.default_rng(0).normal(size=(100, 6))
    score = completion_score(KNNImputer(n_neighbors=1), X, n_repeats=8, random_state=0)
    assert score.gain < 0
    assert "Column means impute better" in score.reading


def test_the_interval_covers_the_error_of_new_entries():
    """Over many tables, the mean error lies in 95% of the intervals, or more: they allow for repeats that overlap."""
    scores = [
        completion_score(SimpleImputer(), low_rank(60, seed=seed), n_repeats=4, random_state=seed) for seed in range(40)
    ]
    truth = np.mean([score.error for score in scores])
    inside = np.mean([score.interval[0] < truth < score.interval[1] for score in scores])
    assert inside >= 0.9


def test_one_repeat_gives_no_interval():
    score = completion_score(SimpleImputer(), low_rank(), n_repeats=1, random_state=0)
    assert np.isnan(score.interval).all()
    assert "One repeat" in score.reading
    assert "hidden once" in repr(score)


def test_sparse_tables_are_judged_like_dense_ones():
    X = low_rank()[:, :6]
    rows, columns = np.nonzero(~np.isnan(X))
    stored = sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)
    dense, thin = (
        completion_score(PCAMissing(2, random_state=0), table, n_repeats=2, random_state=0) for table in (X, stored)
    )
    np.testing.assert_allclose(thin.errors, dense.errors, rtol=1e-6)
    with pytest.raises(TypeError, match="SimpleImputer has no predict_entries"):
        completion_score(SimpleImputer(), stored)


def test_empty_and_constant_columns_do_not_get_in_the_way():
    frame = pd.DataFrame(low_rank()[:, :6], columns=list("abcdef"))
    frame["empty"] = np.nan
    frame["same"] = 3.0
    frame["single"] = np.nan
    frame.loc[3, "single"] = 1.0
    score = completion_score(PCAMissing(2, random_state=0), frame, n_repeats=2, random_state=0)
    assert score.columns == ("a", "b", "c", "d", "e", "f", "same", "single")
    assert np.isfinite(score.error)
    assert np.isnan(score.column_errors[-2:]).all()
    with pytest.raises(ValueError, match="nothing to hide"):
        completion_score(SimpleImputer(), np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="one observed entry only"):
        completion_score(SimpleImputer(), np.diag([1.0, 2.0]) + np.where(np.eye(2), 0, np.nan))


def test_the_same_seed_gives_the_same_score_with_any_number_of_jobs():
    X = low_rank()
    with parallel_config(backend="threading"):
        scores = [completion_score(SimpleImputer(), X, n_jobs=n_jobs, random_state=3).errors for n_jobs in (None, 2)]
    np.testing.assert_array_equal(*scores)


def test_it_prints_itself_becomes_json_and_draws_the_worst_columns_red():
    rng = np.random.default_rng(0)
    X = np.column_stack([low_rank()[:, :3], rng.normal(size=150)])
    score = completion_score(KNNImputer(n_neighbors=1), X, n_repeats=3, random_state=0)
    assert repr(score).startswith("CompletionScore: KNNImputer(n_neighbors=1)")
    assert json.loads(json.dumps(score.to_dict()))["n_hidden"] == score.n_hidden
    figure = score.plot()
    drawn = {trace.name: np.array(trace.y) for trace in figure.data}
    worse = np.flatnonzero(score.column_errors > score.column_mean_errors)
    assert 3 in worse
    assert len(drawn["worse than the column's mean"]) == len(worse)
    assert len(score.plot(n_columns=2).data[-1].x) == 2


def test_bad_arguments_are_refused():
    for wrong in ({"fraction": 0}, {"fraction": 1.5}, {"n_repeats": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            completion_score(SimpleImputer(), low_rank(), **wrong)


def test_what_is_no_imputer_is_refused_in_words():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(TypeError, match=r"must be an imputer, .* not Ridge"):
        completion_score(Ridge(), X)
    with pytest.raises(TypeError, match="not the class PCAMissing"):
        completion_score(PCAMissing, X)


def test_intervals_stay_where_errors_and_gains_can_be():
    score = completion_score(SimpleImputer(), low_rank(), n_repeats=2, random_state=0)
    score = replace(score, errors=np.array([0.1, 0.6]), mean_errors=np.ones(2))
    assert score.interval[0] == 0 < score.error < score.interval[1]
    assert score.gain_interval[0] < score.gain < score.gain_interval[1] == 1
