"""Columns that gain more than chance in a forest of random columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fewer._kernels._random_column_trees import FORMULA_WITHOUT_TIES, grown_trees, ranked_columns
from fewer.datasets import load, make_friedman_classes, make_simple_relevance
from fewer.evaluate import selection_curve
from fewer.select import (
    ForestRelevanceSelector,
    irrelevant_feature_curve,
    majority_vote_convergence,
    midpoint_chance_gain,
)
from fewer.select._select_top import adjusted_p_values
from fewer.select.relevance._forest_relevance import (
    empty_tally,
    gain_test,
    merged,
    moments_by_group,
    node_weights,
    splits_of,
    tally_with,
)
from tolerances import rounding


def trees_on(X, y, n_trees=6, seed=0, min_leaf=1):
    batches = grown_trees(
        ranked_columns(X),
        y,
        n_classes=int(y.max()) + 1,
        n_columns=X.shape[1],
        n_estimators=n_trees,
        min_leaf=min_leaf,
        chance_rule=FORMULA_WITHOUT_TIES,
        n_jobs=None,
        random_state=np.random.RandomState(seed),
    )
    return [tree for batch in batches for tree in batch]


def entropy(labels):
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(shares * np.log2(shares)).sum())


def rows_of_nodes(tree, X):
    """Rows in every node, by walking down from the root."""
    rows = {0: tree.rows}
    for node in np.flatnonzero(tree.column >= 0):
        values = X[rows[node], tree.column[node]]
        left = values <= X[tree.below[node], tree.column[node]]
        rows[node + 1], rows[tree.right[node]] = rows[node][left], rows[node][~left]
    return rows


@pytest.mark.parametrize("n_levels", [None, 4])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_split_is_the_best_cut_of_its_column(n_levels, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5)) if n_levels is None else rng.integers(0, n_levels, (150, 5)).astype(float)
    y = rng.integers(0, n_classes, 150)
    for tree in trees_on(X, y, n_trees=3):
        rows = rows_of_nodes(tree, X)
        for node, own in rows.items():
            assert np.array_equal(np.bincount(y[own], minlength=n_classes), tree.counts[node])
            if tree.column[node] < 0:
                constant = np.ptp(X[own], axis=0).max() == 0
                assert constant or len(np.unique(y[own])) == 1, "a leaf that could still be split"
                continue
            values = X[own, tree.column[node]]
            gains = []
            for cut in np.unique(values)[:-1]:
                left, right = y[own[values <= cut]], y[own[values > cut]]
                gains.append(entropy(y[own]) - (len(left) * entropy(left) + len(right) * entropy(right)) / len(own))
            assert tree.gain[node] == pytest.approx(max(gains), abs=rounding(150, scale=np.log2(n_classes)))


def test_trees_grow_on_distinct_rows_of_a_bootstrap_sample():
    rng = np.random.default_rng(0)
    trees = trees_on(rng.normal(size=(500, 3)), rng.integers(0, 2, 500), n_trees=30)
    sizes = [len(tree.rows) for tree in trees]
    assert all(len(np.unique(tree.rows)) == len(tree.rows) for tree in trees)
    assert np.mean(sizes) == pytest.approx(500 * (1 - np.exp(-1)), rel=0.02)


def test_columns_are_drawn_evenly():
    rng = np.random.default_rng(0)
    trees = trees_on(rng.normal(size=(400, 8)), rng.integers(0, 2, 400), n_trees=60)
    used = np.bincount(np.concatenate([tree.column[tree.column >= 0] for tree in trees]), minlength=8)
    assert stats.chisquare(used).pvalue > 1e-3


def test_statistics_agree_with_trees_of_scikit_learn():
    X, y, _ = make_friedman_classes(random_state=1)
    differences = [[] for _ in range(10)]
    for seed in range(100):
        rows = np.unique(np.random.default_rng(seed).integers(0, 300, 300))
        tree = DecisionTreeClassifier(criterion="entropy", max_features=1, random_state=seed)
        tree = tree.fit(X[rows], y[rows]).tree_
        inner = np.flatnonzero(tree.children_left >= 0)
        size, impurity = tree.n_node_samples, tree.impurity
        left, right = tree.children_left[inner], tree.children_right[inner]
        gain = impurity[inner] - (size[left] * impurity[left] + size[right] * impurity[right]) / size[inner]
        for column, value in zip(tree.feature[inner], gain - midpoint_chance_gain(size[inner]), strict=True):
            differences[column].append(value)
    selector = ForestRelevanceSelector(100, refit=False, random_state=0).fit(X, y)
    error = np.array([np.std(values) / np.sqrt(len(values)) for values in differences])
    gap = selector.gain_diff_ - [np.mean(values) for values in differences]
    assert (np.abs(gap) < 4.5 * np.sqrt(2) * error).all()


def test_p_values_are_those_of_the_t_test_over_nodes_and_over_trees():
    X, y, _ = make_simple_relevance(random_state=0)
    trees = trees_on(X, y, n_trees=20)
    splits = splits_of(trees, "midpoint", None)
    tally = empty_tally(9)
    for start in range(0, 20, 7):  # in pieces, as they come
        tally = tally_with(tally, splits_of(trees[start : start + 7], "midpoint", None))
    difference = splits.gain - splits.chance
    for column in range(9):
        own = splits.column == column
        by_tree = [difference[own & (splits.tree == tree)] for tree in range(20)]
        means = [values.mean() for values in by_tree if len(values)]
        for unit, values in (("node", difference[own]), ("tree", means)):
            expected = stats.ttest_1samp(values, 0, alternative="greater")
            found = gain_test(tally, unit)
            assert found.pvalues[column] == pytest.approx(expected.pvalue, rel=1e-9)
            assert found.statistic[column] == pytest.approx(expected.statistic, rel=1e-9)
        assert gain_test(tally, "node").difference[column] == pytest.approx(difference[own].mean())


def test_moments_of_parts_merge_to_those_of_the_whole():
    rng = np.random.default_rng(0)
    values, group = rng.normal(1e6, 1, 400), rng.integers(0, 3, 400)
    first, second = (moments_by_group(values[part], group[part], 4) for part in (slice(0, 90), slice(90, None)))
    for found, expected in zip(merged(first, second), moments_by_group(values, group, 4), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_no_verdict_without_two_values_that_differ():
    tally = empty_tally(3)._replace(
        n_splits=np.array([0, 1, 5]),
        of_nodes=moments_by_group(np.array([0.3, 0.2, 0.2, 0.2]), np.array([1, 2, 2, 2]), 3),
    )
    assert gain_test(tally, "node").pvalues.tolist() == [1, 1, 1]


def test_chance_level_of_ties_is_the_mean_over_label_orders():
    # One column with two levels: all cuts are the same one, and its expected gain over orders is a plain average.
    rng = np.random.default_rng(0)
    X = (np.arange(60) % 3 == 0).astype(float)[:, None]
    y = rng.integers(0, 2, 60)
    levels = [tree.chance[0] for tree in trees_on(X, y, n_trees=400)]
    expected = []
    for _ in range(1500):
        rows = np.unique(rng.integers(0, 60, 60))
        labels = rng.permutation(y[rows])
        sides = [labels[X[rows, 0] == side] for side in (0, 1)]
        expected.append(entropy(labels) - sum(len(side) * entropy(side) for side in sides) / len(rows))
    assert np.mean(levels) == pytest.approx(np.mean(expected), rel=0.1)
    assert np.mean(levels) < 0.5 * midpoint_chance_gain(38)


def test_exact_chance_level_is_fair_to_columns_with_few_levels():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = np.column_stack([rng.random(400) < 0.38 + 0.24 * y, rng.uniform(size=(400, 9))]).astype(float)
    midpoint, exact = (
        ForestRelevanceSelector(200, chance=chance, refit=False, random_state=0).fit(X, y)
        for chance in ("midpoint", "exact")
    )
    assert midpoint.pvalues_[0] > 0.05
    assert exact.pvalues_[0] < 1e-4


def test_irrelevant_columns_of_any_kind_gain_at_the_root_as_much_as_chance_says():
    rng = np.random.default_rng(0)
    gaps = []
    for seed in range(60):
        X = np.column_stack([*rng.integers(0, [[2], [3], [5]], (3, 120)), *rng.uniform(size=(3, 120))]).astype(float)
        y = rng.integers(0, 2 + seed % 2, 120)
        for tree in trees_on(X, y, n_trees=30, seed=seed):
            root = tree._replace(column=np.where(np.arange(len(tree.column)) == 0, tree.column, -1))
            splits = splits_of([root], "exact", None)
            gaps.append((seed, splits.column[0], splits.gain[0] - splits.chance[0]))
    gaps = pd.DataFrame(gaps, columns=["table", "column", "gap"]).groupby(["column", "table"]).mean().unstack()
    means = gaps.mean(axis=1)
    assert (means.abs() < 3.5 * gaps.std(axis=1) / np.sqrt(60)).all()
    assert means.abs().max() < 0.1 * midpoint_chance_gain(76)


def test_weights_of_nodes():
    counts = np.array([[3, 1], [2, 2], [1, 1]])
    assert node_weights(counts, None).tolist() == [1, 1, 1]
    assert node_weights(counts, "n_samples").tolist() == [4, 4, 2]
    np.testing.assert_allclose(node_weights(counts, "log_arrangements"), np.log2([4, 6, 2]))


def test_weights_with_the_exact_level_find_more_and_the_midpoint_would_not_hold():
    X, y = make_classification(800, 100, n_informative=4, n_redundant=4, shuffle=False, random_state=3)
    found = {}
    for chance, weight in (("midpoint", None), ("midpoint", "n_samples"), ("exact", "n_samples")):
        kept = ForestRelevanceSelector(
            200, chance=chance, weight=weight, correction="bonferroni", refit=False, random_state=0
        )
        kept = kept.fit(X, y).get_support()
        found[chance, weight] = kept[:8].sum(), kept[8:].sum()
    assert found["exact", "n_samples"][0] > found["midpoint", None][0]
    assert found["exact", "n_samples"][1] <= 3
    assert found["midpoint", "n_samples"][1] > found["exact", "n_samples"][1]


def test_corrections():
    pvalues = np.array([0.001, 0.02, 0.04, 0.9])
    assert adjusted_p_values(pvalues, None).tolist() == pvalues.tolist()
    np.testing.assert_allclose(adjusted_p_values(pvalues, "bonferroni"), [0.004, 0.08, 0.16, 1.0])
    np.testing.assert_allclose(adjusted_p_values(pvalues, "fdr"), [0.004, 0.04, 0.16 / 3, 0.9])


def test_more_rules_keep_more_or_fewer_columns():
    X, y, _ = make_friedman_classes(random_state=0)

    def kept(**options):
        return ForestRelevanceSelector(random_state=0, refit=False, **options).fit(X, y).get_support()

    test, bonferroni, threshold = kept(), kept(correction="bonferroni"), kept(method="threshold")
    assert (bonferroni <= test).all()
    assert (test <= threshold).all()
    assert threshold.sum() > test.sum() > 0


def test_the_forest_is_grown_on_the_columns_kept():
    X, y, _ = make_simple_relevance(n_samples=800, random_state=0)
    selector = ForestRelevanceSelector(significance_level=1e-6, random_state=0).fit(X[:400], y[:400])
    assert selector.forest_.n_features_in_ == selector.get_support().sum() == 2
    accuracy = selector.forest_.score(selector.transform(X[400:]), y[400:])
    assert accuracy > 0.93
    assert selector.oob_score_ == pytest.approx(accuracy, abs=0.05)
    assert ForestRelevanceSelector(refit=False, random_state=0).fit(X, y).forest_ is None


def test_nothing_relevant_keeps_the_nearest_and_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(80, 4)), rng.integers(0, 2, 80)
    with pytest.warns(UserWarning, match="No column gains more than chance"):
        selector = ForestRelevanceSelector(10, significance_level=1e-9, random_state=0).fit(X, y)
    assert selector.get_support().sum() == 1
    assert selector.ranking_[selector.get_support()] == 1


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs):
    X, y, _ = make_friedman_classes(random_state=0)
    one, many = (ForestRelevanceSelector(40, n_jobs=jobs, random_state=0).fit(X, y) for jobs in (None, n_jobs))
    np.testing.assert_allclose(one.pvalues_, many.pvalues_, rtol=1e-9)
    assert one.oob_score_ == many.oob_score_


def test_sparse_tables_are_not_densified_and_give_the_same():
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 30), density=0.1, rng=rng, format="csc")
    y = (X.sum(axis=1) > np.median(X.sum(axis=1))).astype(int)
    dense = ForestRelevanceSelector(30, chance="exact", random_state=0).fit(X.toarray(), y)
    for form in ("csc", "csr", "coo"):
        found = ForestRelevanceSelector(30, chance="exact", random_state=0).fit(X.asformat(form), y)
        assert np.array_equal(found.pvalues_, dense.pvalues_)
        assert found.oob_score_ == dense.oob_score_


def test_a_wide_sparse_table_needs_no_dense_copy():
    X = sparse.random_array((20_000, 20_000), density=3e-5, rng=np.random.default_rng(0), format="csc")
    X = sparse.hstack([sparse.csc_array((np.arange(20_000) % 7 == 0).astype(float)[:, None]), X]).tocsc()
    y = (np.arange(20_000) % 7 == 0).astype(int)
    selector = ForestRelevanceSelector(2, refit=False, method="threshold", random_state=0).fit(X, y)  # dense: 3 GB
    assert selector.n_nodes_.sum() > 0


@pytest.mark.filterwarnings("ignore:No column gains")
@pytest.mark.parametrize(
    "shape", [(60, 3000), (20_000, 5), (50, 1)], ids=["far more columns", "far more rows", "one column"]
)
def test_tables_of_any_shape(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = (X[:, 0] + 0.3 * rng.normal(size=shape[0]) > 0).astype(int)
    selector = ForestRelevanceSelector(20, random_state=0).fit(X, y)
    assert sorted(selector.ranking_) == list(range(1, shape[1] + 1))
    if shape[1] <= 5:
        assert selector.get_support()[0]
        assert selector.ranking_[0] == 1


def test_constant_columns_never_split_and_duplicates_share_the_splits():
    X, y, _ = make_simple_relevance(random_state=0)
    X = np.column_stack([np.ones(300), X[:, 1], X[:, 1], X])
    selector = ForestRelevanceSelector(random_state=0).fit(X, y)
    assert selector.n_nodes_[0] == 0
    assert selector.pvalues_[0] == 1
    assert selector.get_support()[[1, 2, 4]].all()


@pytest.mark.filterwarnings("ignore:No column gains")
def test_a_table_without_any_difference_is_survived():
    selector = ForestRelevanceSelector(5, random_state=0).fit(np.ones((20, 3)), np.arange(20) % 2)
    assert selector.get_support().sum() == 1
    assert selector.n_nodes_.sum() == 0


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # scikit-learn looks for infinity by a sum
def test_values_at_the_limits_of_numbers():
    y = np.arange(40) % 2
    huge = np.where(y == 1, 1.7e308, -1.7e308)
    next_to_each_other = np.where(y == 1, np.nextafter(1.0, 2), 1.0)
    X = np.column_stack([huge, next_to_each_other])
    selector = ForestRelevanceSelector(20, significance_level=0.9, random_state=0).fit(X, y)
    assert selector.forest_.score(selector.transform(X), y) == 1


def test_integers_and_single_precision_give_what_doubles_give():
    X, y, _ = make_friedman_classes(random_state=0)
    coarse = np.round(X * 20)
    kinds = (float, np.float32, int)
    fits = [ForestRelevanceSelector(20, random_state=0).fit(coarse.astype(kind), y) for kind in kinds]
    for other in fits[1:]:
        assert np.array_equal(fits[0].pvalues_, other.pvalues_)
        assert fits[0].oob_score_ == other.oob_score_


def test_leaves_are_as_large_as_asked_for():
    X, y, _ = make_friedman_classes(random_state=0)
    for tree in trees_on(X, y, min_leaf=7):
        assert tree.counts[tree.column < 0].sum(axis=1).min() >= 7


def test_a_level_by_out_of_bag_error_needs_a_test():
    X, y, _ = make_simple_relevance(random_state=0)
    with pytest.raises(ValueError, match="method='threshold'"):
        ForestRelevanceSelector(significance_level="oob", method="threshold").fit(X, y)


def test_numbers_as_target_are_refused():
    X, _, truth = make_friedman_classes(random_state=0)
    with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
        ForestRelevanceSelector().fit(X, truth["response"])


class StopAfter:
    """A callback that stops after some steps, and keeps what it was shown."""

    def __init__(self, n_steps):
        self.n_steps, self.seen = n_steps, []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.parent is None:
            return False
        self.seen.append(fitted_estimator.n_iter_)
        return len(self.seen) >= self.n_steps


def test_a_callback_stops_the_forest_and_keeps_its_statistics():
    X, y, _ = make_simple_relevance(random_state=0)
    stop = StopAfter(20)
    selector = ForestRelevanceSelector(1000, random_state=0).set_callbacks(stop).fit(X, y)
    assert 20 <= selector.n_iter_ <= 40
    assert selector.forest_.n_iter_ == selector.n_iter_
    assert selector.get_support()[1]
    shorter = ForestRelevanceSelector(selector.n_iter_, random_state=0).fit(X, y)
    assert shorter.n_nodes_.sum() == pytest.approx(selector.n_nodes_.sum(), rel=0.2)


def test_it_works_in_a_pipeline_on_a_frame_with_words_as_classes():
    wine = load("wine")
    frame = pd.DataFrame(wine.X, columns=wine.columns)
    labels = np.array(["first", "second", "third"])[np.unique(wine.y, return_inverse=True)[1]]
    model = make_pipeline(ForestRelevanceSelector(30, random_state=0), StandardScaler(), LogisticRegression())
    model.fit(frame, labels)
    assert model.score(frame, labels) > 0.9
    assert set(model[0].get_feature_names_out()) <= set(wine.columns)


def test_its_ranking_gives_a_selection_curve():
    X, y, _ = make_simple_relevance(random_state=0)
    selector = ForestRelevanceSelector(30, refit=False, random_state=0)
    curve = selection_curve(selector, LogisticRegression(), X, y, sizes=[1, 2, 9], cv=3, random_state=0)
    assert curve.scores.shape == (1, 3, 3)
    assert np.mean(np.sort(curve.rankings, axis=-1)[..., 0]) == 1
    assert curve.scores[..., 1].mean() > 0.9


def test_scores_are_what_the_columns_are_judged_by():
    X, y, _ = make_simple_relevance(100, random_state=0)
    test = ForestRelevanceSelector(20, refit=False, random_state=0).fit(X, y)
    assert test.scores_ == pytest.approx(-np.log10(test.pvalues_))
    threshold = ForestRelevanceSelector(20, refit=False, method="threshold", random_state=0).fit(X, y)
    assert threshold.scores_ is threshold.gain_diff_
    assert np.array_equal(threshold.get_support(), threshold.gain_diff_ > 0)


def test_noise_costs_accuracy_and_nodes():
    X, y, _ = make_simple_relevance(random_state=0)
    curve = irrelevant_feature_curve(X[:, :2], y, n_noise=[0, 40], n_repeats=8, test_size=0.3, random_state=0)
    assert curve.errors.shape == curve.tree_sizes.shape == (2, 8)
    assert curve.errors[1].mean() > curve.errors[0].mean() + 0.05
    assert curve.tree_sizes[1].mean() > 2 * curve.tree_sizes[0].mean()
    assert "40 noise columns" in repr(curve)


def test_without_noise_it_is_the_learner_itself():
    X, y, _ = make_simple_relevance(random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    first, second = (
        irrelevant_feature_curve(X, y, tree, n_noise=sizes, n_repeats=2, random_state=1) for sizes in ([0], [0, 0])
    )
    assert np.array_equal(first.errors[0], second.errors[1])
    assert first.tree_sizes.min() > 1


@pytest.mark.parametrize(("learner", "has_size"), [(LogisticRegression(), False), (RandomForestRegressor(3), True)])
def test_any_learner_serves(learner, has_size):
    X, y, _ = make_simple_relevance(random_state=0)
    curve = (
        irrelevant_feature_curve(X, y + 0.5 * X[:, 0], learner, n_noise=[5], n_repeats=2, random_state=0)
        if has_size
        else (irrelevant_feature_curve(X, y, learner, n_noise=[5], n_repeats=2, random_state=0))
    )
    assert np.isfinite(curve.errors).all()
    assert np.isfinite(curve.tree_sizes).all() == has_size


@pytest.mark.parametrize("wish", [{"n_noise": []}, {"n_noise": [-1]}, {"n_repeats": 0}])
def test_impossible_wishes_are_refused(wish):
    X, y, _ = make_simple_relevance(random_state=0)
    with pytest.raises(ValueError, match=r"n_noise must hold numbers"):
        irrelevant_feature_curve(X, y, **wish)


def test_certain_and_impossible_votes():
    assert majority_vote_convergence([0.0, 1.0], 7).tolist() == [0, 1]
    assert majority_vote_convergence(0.5, 11) == pytest.approx(0.5)


@pytest.mark.parametrize(("p", "n"), [(1.2, 3), (-0.1, 3), (0.5, 0), (0.5, 2.5)])
def test_no_probability_and_no_number_of_trees(p, n):
    with pytest.raises(ValueError, match="must be"):
        majority_vote_convergence(p, n)
