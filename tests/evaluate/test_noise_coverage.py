"""On pure noise no procedure is better than a coin and no selection gains, and the intervals say so at their rate."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from fewer.evaluate import NestedEvaluation, NestedSelectionCV
from tolerances import rounding

LEVELS = (0.8, 0.95)


def noise(n_tables, n_rows, n_columns):
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        yield seed, rng.normal(size=(n_rows, n_columns)), rng.permutation(np.arange(n_rows) % 2)


def nested_scores(search, tables, **options):
    """Share of tables whose interval of the score holds a half, by level, and the mean score."""
    hits, means = dict.fromkeys(LEVELS, 0), []
    for seed, X, y in tables:
        result = NestedEvaluation(search, random_state=seed, **options).run(X, y)
        for level in LEVELS:
            low, high = result.interval(level)
            hits[level] += low <= 0.5 <= high
        means.append(result.mean)
    return {level: count / len(means) for level, count in hits.items()}, np.array(means)


def check(shares, means):
    for level, share in shares.items():
        assert share >= level - 3 * np.sqrt(level * (1 - level) / len(means)), shares
    assert abs(means.mean() - 0.5) < 4 * means.std() / np.sqrt(len(means))


def test_the_interval_of_a_nested_score_covers_a_coin_on_pure_noise():
    check(*nested_scores(make_pipeline(SelectKBest(k=5), GaussianNB()), noise(40, 40, 20)))


@pytest.mark.slow
@pytest.mark.parametrize("n_repeats", [1, 4])
@pytest.mark.parametrize("learner", [GaussianNB(), RidgeClassifier(), KNeighborsClassifier(1)], ids=str)
def test_the_interval_of_a_nested_score_covers_a_coin_over_200_tables(learner, n_repeats):
    shares, means = nested_scores(make_pipeline(SelectKBest(k=5), learner), noise(200, 60, 20), n_repeats=n_repeats)
    check(shares, means)


@pytest.mark.slow
@pytest.mark.parametrize("cv", [5, 10])
def test_the_interval_of_a_nested_score_covers_a_coin_on_wide_noise(cv):
    shares, means = nested_scores(make_pipeline(SelectKBest(k=5), GaussianNB()), noise(200, 60, 500), cv=cv)
    check(shares, means)


@pytest.mark.slow
def test_the_interval_of_a_search_covers_a_coin_while_its_own_score_does_not():
    search = GridSearchCV(make_pipeline(SelectKBest(), GaussianNB()), {"selectkbest__k": [2, 5, 20]}, cv=3)
    shares, means = nested_scores(search, noise(200, 60, 20))
    check(shares, means)
    believed = [search.fit(X, y).best_score_ for _, X, y in noise(50, 60, 20)]
    assert np.mean(believed) > 0.53


def benefits(n_tables, n_rows, n_columns, **options):
    """Share of tables whose interval of the benefit holds zero, and the mean benefit of all three estimates."""
    inside, found = 0, []
    for seed, X, y in noise(n_tables, n_rows, n_columns):
        model = NestedSelectionCV(SelectKBest(), GaussianNB(), random_state=seed, **options).fit(X, y)
        low, high = model.benefit_interval_
        inside += low <= rounding(n_rows) and high >= -rounding(n_rows)
        found.append([model.estimates_[name].benefit for name in ("outer", "A", "B")])
    return inside / n_tables, np.mean(found, axis=0)


@pytest.mark.parametrize("method", ["A", "B"])
def test_the_benefit_of_the_estimator_covers_zero_on_pure_noise(method):
    share, (outer, a, b) = benefits(40, 50, 10, method=method)
    assert share >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)
    assert max(abs(a), abs(b)) < outer


@pytest.mark.slow
@pytest.mark.parametrize("method", ["A", "B"])
@pytest.mark.parametrize("n_repeats", [1, 4])
def test_the_benefit_of_the_estimator_covers_zero_over_200_tables(method, n_repeats):
    share, (outer, a, b) = benefits(200, 60, 20, method=method, n_repeats=n_repeats)
    assert share >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)
    assert max(abs(a), abs(b)) < outer / 2
