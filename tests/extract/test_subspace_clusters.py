"""Dense boxes: the search against brute force, special cases, bags, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial import ConvexHull
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fewer.datasets import make_subspace_clusters
from fewer.extract import FastProjectiveClustering, SubspaceDistanceFeatures, cluster_coverage
from fewer.extract.subspace_clusters._boxes import Rule, SortedColumns, _corners, logs_up_to
from fewer.learn import LPBoost
from tolerances import rounding


def one_block(n_rows=400, n_columns=5, seed=0):
    """Uniform rows, the first quarter of them in a narrow band of column 3."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    X[: n_rows // 4, 3] = 0.5 + 0.02 * X[: n_rows // 4, 3]
    return X


def gain(positions, counts, low, high):
    width = (positions[high] - positions[low]) / (positions[-1] - positions[0])
    inside, n_rows = counts[high] - counts[low], counts[-1]
    outside = n_rows - inside
    return inside * np.log(inside / (n_rows * width)) + outside * np.log(outside / (n_rows * (1 - width)))


def gain_of_all_pairs(x, least):
    """Gain and width by the paper's search: all pairs of coarse bounds, then all pairs up to their neighbours."""
    values, numbers = np.unique(x, return_counts=True)
    positions = np.r_[values[0], (values[1:] + values[:-1]) / 2, values[-1]]
    counts = np.r_[0, np.cumsum(numbers)]
    last, coarse = len(positions) - 1, [0]
    for bound in range(1, last):
        if counts[bound] - counts[coarse[-1]] >= least:
            coarse.append(bound)
    coarse.append(last)
    pairs = [(a, b) for a in range(len(coarse)) for b in range(a + 1, len(coarse)) if b - a < len(coarse) - 1]
    # What lies left of a bound gains as much as what lies right of it: the first of equals is taken.
    a, b = max(pairs, key=lambda pair: round(gain(positions, counts, coarse[pair[0]], coarse[pair[1]]), 9))
    lows = range(coarse[max(a - 1, 0)], coarse[min(a + 1, len(coarse) - 1)] + 1)
    highs = range(coarse[max(b - 1, 0)], coarse[min(b + 1, len(coarse) - 1)] + 1)
    fine = [(low, high) for low in lows for high in highs if low < high and (low, high) != (0, last)]
    return max((gain(positions, counts, low, high), positions[high] - positions[low]) for low, high in fine)


@pytest.mark.parametrize("decimals", [1, 2, 12])
@pytest.mark.parametrize("least", [3, 8, 20])
def test_corners_of_hulls_find_what_all_pairs_find(decimals, least):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = np.r_[rng.normal(size=60), rng.normal(rng.uniform(-2, 2), 0.05, size=30)].round(decimals)
        found = SortedColumns.of(x[:, None]).intervals(Rule(least), logs_up_to(90), n_passes=1)
        expected, width = gain_of_all_pairs(x, least)
        # Logarithms of the widths in and out, each times a number of rows; a width is a difference of two positions.
        condition = np.abs(x).max() / min(width, np.ptp(x) - width)
        tolerance = rounding(4, scale=90 * np.log(90), condition=condition)
        assert found.gains[0] == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("n_bounds", [1, 2, 3, 50])
def test_corners_are_those_of_the_hull_and_each_is_tried_once(n_bounds):
    positions = np.sort(np.random.default_rng(0).normal(size=n_bounds))
    corners = np.empty(2 * n_bounds, dtype=np.int64)
    found = corners[: _corners(positions, np.arange(n_bounds), 0, n_bounds - 1, corners)]
    expected = np.arange(n_bounds)
    if n_bounds > 2:
        expected = np.sort(ConvexHull(np.column_stack([positions, expected])).vertices)
    np.testing.assert_array_equal(np.sort(found), expected)


def test_the_band_is_found_and_told_by_its_column():
    X = one_block()
    names = ["height", "weight", "width", "depth", "age"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = FastProjectiveClustering().fit(frame)
        assert [list(bounds) for bounds in model.bounds_] == [["depth"], []]
        np.testing.assert_allclose(model.bounds_[0]["depth"], (0.5, 0.52), atol=0.005)
        np.testing.assert_array_equal(model.subspace_dims_, [1, 0])
        assert np.mean(model.labels_[:100] == 0) > 0.95
    features = SubspaceDistanceFeatures().fit(pd.DataFrame(X, columns=names))
    assert list(features.clustering_.bounds_[0]) == ["depth"]


def test_centres_and_sizes_are_those_of_the_rows():
    X = one_block()
    model = FastProjectiveClustering().fit(X)
    for label in range(model.n_clusters_):
        np.testing.assert_allclose(model.centers_[label], X[model.labels_ == label].mean(axis=0))
        assert model.sizes_[label] == np.sum(model.labels_ == label)


def test_the_first_clusters_are_those_of_a_fit_that_stops_there():
    X, _, _ = make_subspace_clusters(2000, n_clusters=5, random_state=0)
    whole = FastProjectiveClustering().fit(X)
    first = FastProjectiveClustering(max_clusters=2).fit(X)
    assert first.bounds_ == whole.bounds_[:2]
    np.testing.assert_array_equal(first.labels_, np.where(whole.labels_ < 2, whole.labels_, -1))
    np.testing.assert_array_equal(first.predict(X), first.labels_)
    np.testing.assert_array_equal(first.transform(X), whole.transform(X)[:, :2])
    for outside in ("far", "exp", "inf", 7.0):
        few, all_of_them = (SubspaceDistanceFeatures(size, outside=outside).fit_transform(X) for size in (2, None))
        np.testing.assert_array_equal(few, all_of_them[:, :2])


@pytest.mark.parametrize(
    ("support", "least"), [("sqrt", 20), (30, 30), (0.1, 40), (np.int64(30), 30), (np.float32(0.5), 200)]
)
def test_support_is_a_root_a_number_or_a_share(support, least):
    model = FastProjectiveClustering(min_support=support, min_gain=None).fit(one_block())
    assert model.sizes_.min() >= least
    assert least > 100 or model.n_clusters_ > 1


def test_support_of_the_current_set_allows_for_smaller_clusters():
    X = one_block()
    small = FastProjectiveClustering(support_scope="current", min_gain=None).fit(X)
    assert small.sizes_.min() < 20
    assert small.sizes_.sum() == 400


def test_more_gain_asked_for_means_fewer_cuts():
    X, _, _ = make_subspace_clusters(2000, n_clusters=5, random_state=0)
    numbers = [FastProjectiveClustering(min_gain=each).fit(X).n_clusters_ for each in (None, 10.0, 100.0, 1e6)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > numbers[2] > numbers[3] == 1


def test_float32_finds_the_same_boxes():
    X = one_block().astype(np.float32)
    model, wide = FastProjectiveClustering().fit(X), FastProjectiveClustering().fit(X.astype(float))
    np.testing.assert_array_equal(model.labels_, wide.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.transform(X).dtype == np.float32
    assert SubspaceDistanceFeatures(outside="exp").fit_transform(X).dtype == np.float32


@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_a_handful_of_rows_is_one_cluster(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    model = FastProjectiveClustering(min_gain=None).fit(X)
    assert model.n_clusters_ in (1, 2)
    assert model.bounds_[-1] == {}
    assert FastProjectiveClustering().fit(X).n_clusters_ == 1


def test_constant_and_repeated_columns_are_no_hindrance():
    X = one_block()
    model = FastProjectiveClustering().fit(np.column_stack([np.ones(400), X, X[:, 3]]))
    assert list(model.bounds_[0]) == [4]
    assert FastProjectiveClustering().fit(np.ones((50, 2))).n_clusters_ == 1


def test_equal_rows_make_a_cluster_without_extent():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    X[:80] = 0.5
    model = SubspaceDistanceFeatures().fit(X)
    assert model.clustering_.sizes_[0] >= 80
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(SubspaceDistanceFeatures(outside="exp").fit(X).transform(X)).all()


def test_wide_tables_are_searched_in_full():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3000))
    X[:60, 1234] = 0.3 + 0.01 * X[:60, 1234]
    model = FastProjectiveClustering().fit(X)
    assert list(model.bounds_[0]) == [1234]
    assert model.n_clusters_ == 2


def test_columns_with_few_values_are_named():
    frame = pd.DataFrame(one_block(), columns=list("abcde")).assign(sex=np.arange(400) % 2, constant=1.0)
    with pytest.warns(UserWarning, match="Column 'sex' has at most 10 different values"):
        FastProjectiveClustering().fit(frame)


@pytest.mark.parametrize(
    ("bad", "message"),
    [({"min_support": 0.7}, "min_support"), ({"min_support": 0}, "min_support"), ({"min_gain": "aic"}, "min_gain")],
)
def test_parameters_are_checked(bad, message):
    with pytest.raises(ValueError, match=message):
        FastProjectiveClustering(**bad).fit(one_block())


def test_a_callback_can_end_the_search():
    class AfterOne:
        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            return context.parent is not None

    X, _, _ = make_subspace_clusters(2000, n_clusters=5, random_state=0)
    stopped = FastProjectiveClustering().set_callbacks(AfterOne()).fit(X)
    assert stopped.n_clusters_ == 1
    assert stopped.bounds_ == FastProjectiveClustering(max_clusters=1).fit(X).bounds_


def test_what_stands_for_no_row_in_a_box():
    X = one_block()
    plain = FastProjectiveClustering(max_clusters=1).fit(X).transform(X)[:, 0]
    inside = np.isfinite(plain)
    told = {each: SubspaceDistanceFeatures(1, outside=each).fit(X) for each in ("far", "exp", "inf", 9.0)}
    values = {each: model.transform(X)[:, 0] for each, model in told.items()}
    np.testing.assert_array_equal(values["inf"], plain)
    for each in ("far", 9.0):
        np.testing.assert_array_equal(values[each][inside], plain[inside])
    assert set(values["far"][~inside]) == {2 * plain[inside].max()}
    assert set(values[9.0][~inside]) == {9.0}
    assert set(values["exp"][~inside]) == {0.0}
    np.testing.assert_allclose(values["exp"][inside], np.exp(-plain[inside] / plain[inside].mean()))


def bags_of_rows(n_bags=60, seed=0):
    """Objects with 5 to 30 rows each; those of the class "bike" have a few rows in one box of two columns."""
    rng = np.random.default_rng(seed)
    bags, y = [], np.where(np.arange(n_bags) % 2, "bike", "none")
    for label in y:
        rows = rng.uniform(size=(rng.integers(5, 30), 6))
        if label == "bike":
            rows[:4, 1:3] = 0.3 + 0.03 * rows[:4, 1:3]
        bags.append(rows)
    return bags, y


def test_bags_have_the_distance_of_their_nearest_row():
    bags, _ = bags_of_rows()
    model = SubspaceDistanceFeatures(outside="inf").fit(bags)
    single = SubspaceDistanceFeatures(outside="inf").fit(np.vstack(bags))
    expected = [single.transform(bag).min(axis=0) for bag in bags]
    np.testing.assert_array_equal(model.transform(bags), expected)
    as_objects = np.empty(60, dtype=object)
    as_objects[:] = bags
    np.testing.assert_array_equal(model.transform(as_objects), expected)
    np.testing.assert_array_equal(model.transform([np.empty((0, 6))]), np.inf)
    cube = np.stack([bag[:5] for bag in bags])
    assert SubspaceDistanceFeatures().fit(cube).transform(cube).shape[0] == 60


def test_bags_are_told_apart_by_a_pipeline_under_cross_validation():
    bags, y = bags_of_rows()
    model = make_pipeline(SubspaceDistanceFeatures(), LPBoost(nu=0.2))
    assert cross_val_score(model, bags, y, cv=3).mean() > 0.9


def test_bags_that_do_not_fit_together_are_told():
    with pytest.raises(ValueError, match="from 3 to 4 columns"):
        SubspaceDistanceFeatures().fit([np.ones((5, 3)), np.ones((5, 4))])
    with pytest.raises(ValueError, match="entry 1 is none"):
        SubspaceDistanceFeatures().fit([np.ones((5, 3)), np.ones(3)])
    bags, _ = bags_of_rows()
    with pytest.raises(ValueError, match="5 features"):
        SubspaceDistanceFeatures().fit(bags).transform([bag[:, :5] for bag in bags])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_bags_keep_the_names_of_columns(frame):
    plain, _ = bags_of_rows()
    names = list("abcdef")
    bags = [frame(dict(zip(names, bag.T, strict=True))) for bag in plain]
    model = SubspaceDistanceFeatures().fit(bags)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_array_equal(model.clustering_.feature_names_in_, names)
    unnamed = SubspaceDistanceFeatures().fit(plain)
    by_name = [{names[j]: sides for j, sides in box.items()} for box in unnamed.clustering_.bounds_]
    assert model.clustering_.bounds_ == by_name
    np.testing.assert_array_equal(model.transform(bags), unnamed.transform(plain))
    assert not hasattr(model.fit(plain), "feature_names_in_")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_bags_with_other_names_are_refused_as_a_frame_is(frame):
    bags = [frame(dict(zip("abcdef", bag.T, strict=True))) for bag in bags_of_rows()[0]]
    turned = [bag[list("fedcba")] for bag in bags]
    model = SubspaceDistanceFeatures().fit(bags)
    with pytest.raises(ValueError) as as_a_frame:
        model.transform(turned[0])
    with pytest.raises(ValueError, match="in the same order") as as_bags:
        model.transform(turned)
    assert str(as_a_frame.value) == str(as_bags.value)
    with pytest.raises(ValueError, match="In entry 3 of X: The feature names should match"):
        model.transform(bags[:3] + turned)
    with pytest.raises(ValueError, match="In entry 3 of X: The feature names should match"):
        SubspaceDistanceFeatures().fit(bags[:3] + turned)
    with pytest.warns(UserWarning, match="does not have valid feature names") as told:
        model.transform([np.asarray(bag) for bag in bags])
    assert len(told) == 1


def test_more_columns_than_boxes_are_told():
    with pytest.warns(UserWarning, match="n_components=9 are asked for, and there are 2"):
        model = SubspaceDistanceFeatures(9).fit(one_block())
    assert model.transform(one_block()).shape == (400, 2)


def test_a_linear_learner_sees_classes_that_have_no_means_of_their_own():
    X, y, _ = make_subspace_clusters(1500, n_features=10, n_clusters=3, random_state=0)
    linear = LogisticRegression()
    with_boxes = cross_val_score(make_pipeline(SubspaceDistanceFeatures(outside="exp"), linear), X, y, cv=3).mean()
    assert with_boxes > cross_val_score(linear, X, y, cv=3).mean() + 0.2


@pytest.mark.parametrize(
    ("y_true", "labels", "expected"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 1.0),
        ([0, 0, 1, 1], [5, 5, 5, 5], 0.5),
        ([0, 0, 1, -1], [0, 0, 1, 1], 0.75),
        ([0, 0, 1, 1], [0, 0, 1, -1], 0.75),
        ([-1, -1], [0, 0], 0.0),
        (["a", "a", "b"], [0, 1, 1], 2 / 3),
    ],
)
def test_coverage_by_hand(y_true, labels, expected):
    assert cluster_coverage(y_true, labels) == pytest.approx(expected)


def test_coverage_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="inconsistent numbers"):
        cluster_coverage([0, 1], [0])
    with pytest.raises(ValueError, match="empty"):
        cluster_coverage([], [])


@pytest.mark.parametrize("model", [FastProjectiveClustering(), SubspaceDistanceFeatures()], ids=["boxes", "distances"])
def test_a_sparse_table_is_refused_with_what_to_do(model):
    with pytest.raises(TypeError, match=r"X is sparse.* by TruncatedSVD of scikit-learn or fewer.extract.Random"):
        model.fit(sparse.csr_array(np.eye(20)))


def test_columns_with_one_value_in_most_rows_are_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(size=(400, 3)), columns=list("abc"))
    X["b"] *= rng.uniform(size=400) < 0.3
    with pytest.warns(UserWarning, match="Column 'b' has the same value in more than half of the rows"):
        FastProjectiveClustering().fit(X)
