"""The subsets of all sizes that a fitted selector found."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer.evaluate import subset_path
from fewer.evaluate._subset_path import default_sizes, inner_scores


def fitted(**attributes):
    return SimpleNamespace(**attributes)


def columns(path):
    return [path.columns(size).tolist() for size in range(1, path.n_features + 1)]


@pytest.mark.parametrize(
    "selector",
    [
        fitted(subset_path_={1: [2], 2: [2, 0], 3: [0, 1, 2]}),
        fitted(ranking_=[2, 3, 1]),
        fitted(scores_=[0.5, np.nan, 0.7]),
        fitted(estimator_=fitted(feature_importances_=[0.3, 0.1, 0.6])),
        fitted(estimator_=fitted(coef_=[[-2.0, 1.0, 1.5], [0.0, 0.5, -1.5]])),
        fitted(estimator_=fitted(coef_=np.array([-2.0, 1.0, 3.0]))),
    ],
    ids=["subsets", "ranking", "scores", "importances", "coefficients of classes", "coefficients"],
)
def test_every_form_of_a_ranking_gives_the_best_columns_first(selector):
    path = subset_path(selector, 3)
    assert path.order.tolist() == [2, 0, 1]
    assert columns(path) == [[2], [0, 2], [0, 1, 2]]
    assert path.sizes(None) == [1, 2, 3]


def test_subsets_come_before_a_ranking_and_a_ranking_before_scores():
    selector = fitted(subset_path_={1: [0], 2: [0, 1]}, ranking_=[2, 1], scores_=[0, 1])
    assert subset_path(selector, 2).order.tolist() == [0, 1]
    assert subset_path(fitted(ranking_=[1, 2], scores_=[0, 1]), 2).order.tolist() == [0, 1]


def test_sizes_inside_a_tie_are_not_defined():
    path = subset_path(fitted(ranking_=[1, 2, 2, 2, 3]), 5)
    assert path.ties == ((1, 4),)
    assert path.sizes(None) == [1, 4, 5]
    assert path.sizes([4, 1, 4, 9]) == [1, 4, 5]
    with pytest.raises(ValueError, match="does not rank the columns in places 2 to 4, so it has no subset of 3"):
        path.sizes([3])


def test_columns_that_a_search_did_not_reach_are_tied():
    path = subset_path(fitted(subset_path_={0: [], 1: [3], 2: [3, 1]}), 5)
    assert path.order.tolist() == [3, 1, 0, 2, 4]
    assert path.ties == ((2, 5),)
    assert subset_path(fitted(subset_path_={1: [1]}), 2).ties == ()


def test_subsets_that_are_not_nested_are_kept_as_they_are():
    path = subset_path(fitted(subset_path_={1: [2], 2: [1, 0]}), 4)
    assert path.order is None
    assert path.columns(2).tolist() == [0, 1]
    assert path.sizes(None) == [1, 2, 4]
    with pytest.raises(ValueError, match=r"no subset of 3 columns \(it has 1 to 2\)"):
        path.sizes([3])
    gap = subset_path(fitted(subset_path_={2: [1, 0], 3: [0, 1, 2]}), 4)
    assert gap.order is None
    assert gap.sizes(None) == [2, 3, 4]


def test_default_sizes_are_all_up_to_100_and_then_grow_by_their_own_share():
    assert default_sizes(100) == list(range(1, 101))
    wide = default_sizes(101)
    assert wide[:9] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert wide[-3:] == [85, 98, 101]
    steps = np.diff(default_sizes(20_000))
    assert (steps > 0).all()
    assert steps[-2] / default_sizes(20_000)[-3] == pytest.approx(0.15, abs=0.001)


def test_scores_of_the_search_come_by_size():
    assert inner_scores(fitted(path_scores_={2: 0.5})) == {2: 0.5}
    assert inner_scores(fitted()) == {}


def test_what_does_not_rank_is_refused_with_a_cure():
    with pytest.raises(
        TypeError, match=r"no subset_path_, ranking_ or scores_ after fit\. The selectors of fewer\.select"
    ):
        subset_path(fitted(), 3)
    with pytest.raises(TypeError, match=r"Wrap it: SelectFromModel\(SimpleNamespace\(\.\.\.\)\)"):
        subset_path(fitted(coef_=[1.0, 2.0]), 2)
