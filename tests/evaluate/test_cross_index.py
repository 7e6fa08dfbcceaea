"""Cross-indexing of score matrices.

On pure noise the benefit is zero, and the intervals say so as often as they promise.

On pure noise no procedure is better than a coin and no selection gains, and the intervals say so at their rate.
"""

import json

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from fewer.evaluate import CrossIndex, NestedEvaluation, NestedSelectionCV, cross_index, selection_curve
from fewer.evaluate.curves._cross_index import corrected_interval
from fewer.select import NearestNeighbourObjective, SequentialSearch
from tolerances import rounding


def noise(shape, seed=0):
    return np.random.default_rng(seed).normal(0.7, 0.05, size=shape)


def by_definition(x, method):
    """Sizes and recorded scores of each fold, by loops."""
    n_folds = len(x)
    sizes, recorded = [], []
    for k in range(n_folds):
        others = [fold for fold in range(n_folds) if fold != k]
        if method == "A":
            d = int(np.argmax(np.mean(x[others], axis=0)))
            recorded.append(x[k, d])
        else:
            d = int(np.argmax(x[k]))
            recorded.append(np.mean(x[others, d]))
        sizes.append(d + 1)
    return sizes, recorded


@pytest.mark.parametrize("method", ["A", "B"])
@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_it_follows_the_definition(method, n_folds):
    for seed in range(20):
        x = noise((n_folds, 12), seed)
        sizes, recorded = by_definition(x, method)
        found = cross_index(x, method)
        np.testing.assert_array_equal(found.fold_sizes, sizes)
        np.testing.assert_allclose(found.fold_scores, recorded)
        assert found.size == pytest.approx(np.mean(sizes))
        assert found.score == pytest.approx(np.mean(recorded))
        assert found.full_score == pytest.approx(x[:, -1].mean())
        assert found.benefit == pytest.approx(found.fold_benefits.mean())


def test_two_folds_make_a_and_b_the_same():
    x = noise((2, 9))
    a, b = cross_index(x, "A"), cross_index(x, "B")
    assert a.score == pytest.approx(b.score)
    assert sorted(a.fold_sizes) == sorted(b.fold_sizes)


@pytest.mark.parametrize("method", ["A", "B", "outer"])
def test_repeats_are_averaged(method):
    x = noise((3, 5, 8))
    each = [cross_index(repeat, method) for repeat in x]
    found = cross_index(x, method)
    assert found.score == pytest.approx(np.mean([estimate.score for estimate in each]))
    assert found.size == pytest.approx(np.mean([estimate.size for estimate in each]))
    np.testing.assert_array_equal(found.fold_sizes, [estimate.fold_sizes for estimate in each])


def test_median_replaces_the_mean_everywhere():
    x = noise((5, 6))
    found = cross_index(x, "A", reduce="median")
    sizes = [int(np.argmax(np.median(np.delete(x, k, axis=0), axis=0))) for k in range(5)]
    assert found.size == np.median(np.array(sizes) + 1)
    assert found.score == pytest.approx(np.median([x[k, d] for k, d in enumerate(sizes)]))
    assert found.interval is None


def test_ties_go_to_the_smallest_size_whatever_floats_say():
    x = np.array([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], [0.3, 0.3]])
    assert cross_index(x, "B").fold_sizes.tolist() == [1, 1, 1]
    assert cross_index(x, "B", tie="largest").fold_sizes.tolist() == [2, 2, 2]
    assert cross_index(x, "A", sizes=[2, 1]).fold_sizes.tolist() == [1, 1, 1]


def test_ties_are_found_at_any_scale():
    x = np.array([[1e-9, 2e-9, 2e-9], [1e-9, 2e-9, 2e-9]])
    assert cross_index(x, "B").fold_sizes.tolist() == [2, 2]
    assert cross_index(x * 1e15, "B").fold_sizes.tolist() == [2, 2]


def test_sizes_and_the_model_to_compare_with_can_be_named():
    x = noise((4, 3))
    found = cross_index(x, "outer", sizes=[0.1, 1.0, 10.0], full=0)
    assert found.size in (0.1, 1.0, 10.0)
    assert found.nearest_size == found.size
    assert found.full_score == pytest.approx(x[:, 0].mean())


def test_the_interval_makes_up_for_overlapping_training_sets():
    benefits = np.array([0.01, 0.03, 0.02, 0.05, 0.04])
    low, high = corrected_interval(benefits, 0.95, 1 / 4)
    naive = 2.776445 * benefits.std(ddof=1) / np.sqrt(5)
    assert (high - low) / 2 == pytest.approx(naive * np.sqrt(5) * np.sqrt(1 / 5 + 1 / 4), rel=1e-6)
    assert (low + high) / 2 == pytest.approx(0.03)
    # With many repeats it does not shrink below what the overlap leaves, nor does Student's t become normal.
    many = corrected_interval(np.tile(benefits, (1000, 1)), 0.95, 1 / 4)
    assert (many[1] - many[0]) / 2 == pytest.approx(2.776445 * benefits.std() * np.sqrt(1 / 4), rel=1e-3)


def test_folds_that_all_agree_do_not_tell_how_sure_they_are():
    found = cross_index([[0.9, 0.5], [0.9, 0.5]])
    assert found.interval == (pytest.approx(0.4), found.interval[0])
    assert "benefit +0.4000 on every fold, so there is no interval" in repr(found)
    assert "95%" not in repr(found)


def test_it_tells_itself_in_words_json_and_a_picture():
    found = cross_index(noise((5, 8)), "A")
    assert isinstance(found, CrossIndex)
    assert "cross-indexing A" in repr(found)
    assert "95% interval" in repr(found)
    assert json.loads(json.dumps(found.to_dict()))["fold_sizes"] == found.fold_sizes.tolist()
    assert {trace.name for trace in found.plot().data} >= {"folds", "benefit"}


@pytest.mark.parametrize(
    ("scores", "options", "said"),
    [
        (np.ones(4), {}, "neither folds x sizes"),
        (np.ones((1, 4)), {}, "two folds"),
        ([[0.1, np.nan], [0.2, 0.3]], {}, "fold 0, column 1"),
        (np.ones((3, 4)), {"method": "C"}, "method='C'"),
        (np.ones((3, 4)), {"sizes": [1, 2]}, "4 numbers"),
        (np.ones((3, 4)), {"full": 4}, "no column"),
        (np.ones((3, 4)), {"confidence_level": 95}, "between 0 and 1"),
        (np.ones((3, 4)), {"tie": "first"}, "tie='first'"),
        (np.ones((3, 4)), {"reduce": "mode"}, "reduce='mode'"),
    ],
)
def test_what_makes_no_sense_is_refused(scores, options, said):
    with pytest.raises(ValueError, match=said):
        cross_index(scores, **options)


@pytest.mark.parametrize("method", ["A", "B", "outer"])
def test_the_model_to_compare_with_need_not_be_a_choice(method):
    rng = np.random.default_rng(0)
    scores = rng.random((4, 5, 6))
    scores[..., 2] += 1  # best everywhere
    found = cross_index(scores, method, full=2, choose_full=False)
    without = cross_index(np.delete(scores, 2, axis=2), method, sizes=[1, 2, 4, 5, 6])
    assert found.size == without.size
    assert found.score == without.score
    assert found.benefit == pytest.approx(without.score - scores[..., 2].mean())
    assert cross_index(scores, method, full=2).size == 3


def test_without_a_choice_there_is_nothing_to_index():
    with pytest.raises(ValueError, match="nothing to choose"):
        cross_index([[0.1], [0.2]], choose_full=False)


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
            low, high = curve.cross_index(method, confidence_level=level).interval
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


LEVELS = (0.8, 0.95)


def pure_noise(n_tables, n_rows, n_columns):
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


def check_coverage(shares, means):
    for level, share in shares.items():
        assert share >= level - 3 * np.sqrt(level * (1 - level) / len(means)), shares
    assert abs(means.mean() - 0.5) < 4 * means.std() / np.sqrt(len(means))


def test_the_interval_of_a_nested_score_covers_a_coin_on_pure_noise():
    check_coverage(*nested_scores(make_pipeline(SelectKBest(k=5), GaussianNB()), pure_noise(40, 40, 20)))


@pytest.mark.slow
@pytest.mark.parametrize("n_repeats", [1, 4])
@pytest.mark.parametrize("learner", [GaussianNB(), RidgeClassifier(), KNeighborsClassifier(1)], ids=str)
def test_the_interval_of_a_nested_score_covers_a_coin_over_200_tables(learner, n_repeats):
    shares, means = nested_scores(
        make_pipeline(SelectKBest(k=5), learner), pure_noise(200, 60, 20), n_repeats=n_repeats
    )
    check_coverage(shares, means)


@pytest.mark.slow
@pytest.mark.parametrize("cv", [5, 10])
def test_the_interval_of_a_nested_score_covers_a_coin_on_wide_noise(cv):
    shares, means = nested_scores(make_pipeline(SelectKBest(k=5), GaussianNB()), pure_noise(200, 60, 500), cv=cv)
    check_coverage(shares, means)


@pytest.mark.slow
def test_the_interval_of_a_search_covers_a_coin_while_its_own_score_does_not():
    search = GridSearchCV(make_pipeline(SelectKBest(), GaussianNB()), {"selectkbest__k": [2, 5, 20]}, cv=3)
    shares, means = nested_scores(search, pure_noise(200, 60, 20))
    check_coverage(shares, means)
    believed = [search.fit(X, y).best_score_ for _, X, y in pure_noise(50, 60, 20)]
    assert np.mean(believed) > 0.53


def benefits(n_tables, n_rows, n_columns, **options):
    """Share of tables whose interval of the benefit holds zero, and the mean benefit of all three estimates."""
    inside, found = 0, []
    for seed, X, y in pure_noise(n_tables, n_rows, n_columns):
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
