"""Cross-indexing of score matrices."""

import json

import numpy as np
import pytest

from fewer.evaluate import CrossIndex, cross_index
from fewer.evaluate._cross_index import corrected_interval


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
    assert "benefit +0.4000 on every fold, which does not tell how far off" in repr(found)
    assert "interval" not in repr(found)


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
        (np.ones((3, 4)), {"confidence": 95}, "between 0 and 1"),
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
