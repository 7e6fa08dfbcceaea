"""On pure noise the benefit is zero, and the intervals say so as often as they promise."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fewer.evaluate import selection_curve
from fewer.select import NearestNeighbourObjective, SequentialSearch
from tolerances import rounding

N_TABLES = 200


def covered(selector, learner, *, n_rows, n_columns, n_repeats, sizes=None, cv=5, n_tables=N_TABLES):
    """Share of noise tables whose interval holds zero, by method and level, and the mean benefit by method."""
    benefits = {method: [] for method in ("A", "B", "outer")}
    hits = dict.fromkeys([(method, level) for method in "AB" for level in (0.8, 0.95)], 0)
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n_rows, n_columns)), rng.permutation(np.arange(n_rows) % 2)
        curve = selection_curve(selector, learner, X, y, sizes=sizes, cv=cv, n_repeats=n_repeats, random_state=seed)
        for method, level in hits:
            low, high = curve.cross_index(method, confidence=level).interval
            hits[method, level] += low <= rounding(n_rows) and high >= -rounding(n_rows)
        for method, found in benefits.items():
            found.append(curve.cross_index(method).benefit)
    means = {method: float(np.mean(found)) for method, found in benefits.items()}
    return {key: n / n_tables for key, n in hits.items()}, means


def check(shares, means, n_tables=N_TABLES):
    for (_, level), share in shares.items():
        chance = 3 * np.sqrt(level * (1 - level) / n_tables)
        assert share >= level - chance, shares
    assert max(abs(means["A"]), abs(means["B"])) < means["outer"] / 2, means
    # An interval that always covers would be no news.
    assert min(shares["A", 0.8], shares["B", 0.8]) < 0.97, shares


def test_intervals_cover_zero_on_pure_noise():
    found = covered(SelectKBest(), GaussianNB(), n_rows=50, n_columns=10, n_repeats=1, n_tables=80)
    check(*found, n_tables=80)


@pytest.mark.slow
@pytest.mark.parametrize("n_repeats", [1, 4])
@pytest.mark.parametrize("learner", [GaussianNB(), RidgeClassifier(), KNeighborsClassifier(1)], ids=str)
def test_intervals_cover_zero_on_pure_noise_with_repeats(learner, n_repeats):
    check(*covered(SelectKBest(), learner, n_rows=60, n_columns=20, n_repeats=n_repeats))


@pytest.mark.slow
def test_intervals_cover_zero_on_wide_noise_where_a_little_optimism_is_left():
    sizes = [1, 2, 5, 10, 20, 50, 100]
    shares, means = covered(SelectKBest(), GaussianNB(), n_rows=60, n_columns=1000, n_repeats=3, sizes=sizes)
    check(shares, means)
    # The folds that choose the size were scored by models that had learnt from the fold that judges it.
    assert 0.01 < means["A"] < 0.05
    assert 0 < means["B"] < means["A"]
    assert means["outer"] > 0.07


@pytest.mark.slow
@pytest.mark.parametrize("n_repeats", [1, 5])
def test_intervals_of_ten_folds_cover_zero_on_wide_noise_where_more_optimism_is_left(n_repeats):
    sizes = [1, 2, 5, 10, 20, 50, 100]
    shares, means = covered(
        SelectKBest(), GaussianNB(), n_rows=60, n_columns=1000, n_repeats=n_repeats, sizes=sizes, cv=10
    )
    assert min(shares["A", 0.95], shares["B", 0.95]) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / N_TABLES), shares
    # Ten training sets overlap more than five, so the folds that choose know more of the one that judges.
    assert 0.03 < means["A"] < 0.08, means
    assert 0.01 < means["B"] < means["A"], means


@pytest.mark.slow
def test_intervals_cover_zero_when_a_search_chases_noise():
    search = SequentialSearch(NearestNeighbourObjective())
    check(*covered(search, KNeighborsClassifier(1), n_rows=60, n_columns=15, n_repeats=1))
