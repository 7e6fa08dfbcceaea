"""SelectTop: scores and rules, and estimators that see one column."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import false_discovery_control
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectFdr, SelectFwe, SelectKBest, chi2, f_classif
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from fewer import select
from fewer.datasets import load, make_five_classes
from fewer.evaluate import selection_curve
from fewer.select import ColumnScores, SelectTop, column_score, fisher_score, score_names, single_column_score
from fewer.select._select_top import adjusted_p_values
from fewer.select._selector import class_orders, class_ranks, n_among_first, ranks_by_best_class


@pytest.fixture(scope="module")
def three_classes():
    """Columns 0-1 tell class a, 2-3 class b, 4-5 class c; 30 more are noise."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [60, 20, 20])
    X = rng.normal(size=(100, 36))
    for place, label in enumerate("abc"):
        X[np.ix_(y == label, [2 * place, 2 * place + 1])] += [3.0, 2.5]
    return X, y


def class_means(X, y):
    return np.stack([X[y == c].mean(axis=0) for c in range(y.max() + 1)])


def test_the_k_best_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    ours = SelectTop(f_classif, n_features_to_select=2).fit(X, y)
    theirs = SelectKBest(f_classif, k=2).fit(X, y)
    assert np.array_equal(ours.get_support(), theirs.get_support())
    assert np.allclose(ours.scores_, theirs.scores_)
    assert np.allclose(ours.pvalues_, theirs.pvalues_)


def test_a_test_with_false_discovery_rate_agrees_with_scikit_learn():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 200)) + np.outer(y, np.r_[np.linspace(0.2, 1.5, 20), np.zeros(180)])
    for alpha in (0.01, 0.05, 0.3):
        ours = SelectTop(f_classif, significance_level=alpha).fit(X, y).get_support()
        assert np.array_equal(ours, SelectFdr(f_classif, alpha=alpha).fit(X, y).get_support())


def test_holm_keeps_all_that_bonferroni_keeps():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 100)) + np.outer(y, np.r_[np.full(30, 1.0), np.zeros(70)])
    holm = SelectTop(f_classif, significance_level=0.05, correction="holm").fit(X, y).get_support()
    bonferroni = SelectFwe(f_classif, alpha=0.05).fit(X, y).get_support()
    assert (holm >= bonferroni).all()
    assert holm.sum() > bonferroni.sum()


def test_corrections_have_their_closed_forms():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    assert np.allclose(adjusted_p_values(p, "fdr"), false_discovery_control(p))
    assert np.allclose(adjusted_p_values(p, "holm"), [0.04, 0.09, 0.09, 0.5])
    assert np.allclose(adjusted_p_values(p, None), p)


@pytest.mark.parametrize(("correction", "bound"), [("fdr", 0.05), ("holm", 0.05), (None, 0.99)])
def test_on_noise_a_test_finds_something_at_its_level(correction, bound):
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 100)), np.repeat([0, 1], 15)
        p = f_classif(X, y)[1]
        found += (adjusted_p_values(p, correction) <= 0.05).any()
    spread = 3 * np.sqrt(bound * (1 - bound) / 200)
    assert abs(found / 200 - bound) <= spread


def test_when_nothing_passes_the_best_column_is_kept_with_a_warning():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 50)), np.repeat([0, 1], 15)
    with pytest.warns(UserWarning, match="No column passes significance_level=1e-09"):
        select = SelectTop(f_classif, significance_level=1e-9).fit(X, y)
    assert select.get_support(indices=True).tolist() == [np.argmax(select.scores_)]


def test_a_fraction_is_of_the_columns():
    X, y = load_iris(return_X_y=True)
    assert SelectTop(fraction=0.5).fit(X, y).get_support().sum() == 2
    assert SelectTop(fraction=0.01).fit(X, y).get_support().sum() == 1
    assert SelectTop(fraction=1.0).fit(X, y).get_support().sum() == 4


def test_without_a_rule_ten_columns_are_kept(three_classes):
    assert SelectTop().fit(*three_classes).get_support().sum() == 10


def test_each_class_gets_its_columns(three_classes):
    X, y = three_classes
    select = SelectTop("fisher", n_features_to_select=2, per_class=True).fit(X, y)
    assert select.get_support(indices=True).tolist() == [0, 1, 2, 3, 4, 5]
    assert select.class_scores_.shape == (3, 36)
    for row, label in enumerate("abc"):
        assert np.allclose(select.class_scores_[row], fisher_score(X, y == label))
        assert set(np.argsort(-select.class_scores_[row])[:2]) == {2 * row, 2 * row + 1}


def test_the_union_of_the_first_of_each_class_heads_the_ranking(three_classes):
    X, y = three_classes
    select = SelectTop(per_class=True).fit(X, y)
    orders = np.argsort(-select.class_scores_, axis=1, kind="stable")
    for k in range(1, 37):
        union = set(orders[:, :k].ravel())
        assert set(np.flatnonzero(select.ranking_ <= len(union))) == union
        assert n_among_first(select.class_scores_, k) == len(union)


def test_a_score_for_each_class_is_asked_once():
    asked = []

    @column_score(tasks=("classification",), for_each_class=True)
    def asked_once_score(X, y):
        asked.append(len(y))
        return class_means(X, y)

    X, y = load_iris(return_X_y=True)
    select = SelectTop(asked_once_score, n_features_to_select=1, per_class=True).fit(X, y)
    assert asked == [150]
    assert np.allclose(select.class_scores_, class_means(X, y))
    assert np.allclose(select.scores_, class_means(X, y).max(axis=0))


def test_tests_within_each_class_keep_the_union(three_classes):
    X, y = three_classes
    select = SelectTop(f_classif, significance_level=1e-4, per_class=True).fit(X, y)
    expected = np.zeros(36, dtype=bool)
    for label in "abc":
        expected |= false_discovery_control(f_classif(X, y == label)[1]) <= 1e-4
    assert np.array_equal(select.get_support(), expected)


@pytest.mark.parametrize("score", ["welch", "signal_to_noise", "anova", "fold_change"])
def test_two_classes_are_served_in_turn_by_every_kind_of_score(score):
    cancer = load("breast_cancer")
    select = SelectTop(score, n_features_to_select=3, per_class=True).fit(cancer.X, cancer.y)
    assert select.class_scores_.shape == (2, 30)
    assert 3 <= select.get_support().sum() <= 6
    np.testing.assert_array_equal(select.scores_, select.class_scores_.max(axis=0))


def test_a_test_for_each_of_two_classes_counts_as_two_tests():
    cancer = load("breast_cancer")
    together = SelectTop("welch", significance_level=0.01).fit(cancer.X, cancer.y)
    by_class = SelectTop("welch", significance_level=0.01, per_class=True).fit(cancer.X, cancer.y)
    np.testing.assert_allclose(by_class.pvalues_, np.minimum(2 * together.pvalues_, 1))


def test_columns_for_each_class_need_a_score_that_looks_at_classes():
    with pytest.raises(ValueError, match="the score 'variance' does not look at classes"):
        SelectTop("variance", per_class=True).fit([[0.0, 1.0], [2.0, 1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="requires y to be passed"):
        SelectTop(lambda X, y: X.sum(axis=0), per_class=True).fit([[0.0, 1.0], [2.0, 1.0]])


@pytest.mark.parametrize("per_class", [False, True])
def test_a_score_that_prefers_no_column_is_reported(per_class):
    wine = load("wine")  # every measurement is above zero, so that occurrence tells nothing
    with pytest.warns(UserWarning, match="All 13 columns have the same score, 0, so the first ones are kept"):
        select = SelectTop("info_gain", n_features_to_select=2, per_class=per_class).fit(wine.X, wine.y)
    assert select.get_support(indices=True).tolist() == [0, 1]


def test_ranks_over_classes_break_ties_by_index():
    scores = np.zeros((2, 4))
    assert ranks_by_best_class(class_ranks(class_orders(scores)), scores).tolist() == [1, 2, 3, 4]


def test_columns_without_a_number_come_last():
    select = SelectTop(lambda X, y: np.array([np.nan, 1.0, -5.0, 2.0]), n_features_to_select=2).fit(
        *load_iris(return_X_y=True)
    )
    assert select.ranking_.tolist() == [4, 2, 3, 1]


def test_a_sparse_table_reaches_a_function_that_takes_it():
    X, y = load_iris(return_X_y=True)
    assert np.allclose(SelectTop(chi2, n_features_to_select=1).fit(sparse.csr_matrix(X), y).scores_, chi2(X, y)[0])


def test_options_of_a_score_go_in_with_partial():
    @column_score(tasks=("unsupervised",))
    def power_score(X, y, *, power=1):
        return (X**power).mean(axis=0)

    X = load_iris().data
    assert np.allclose(SelectTop(partial(power_score, power=3)).fit(X).scores_, (X**3).mean(axis=0))


def test_chance_goes_in_with_random_state():
    @column_score(tasks=("unsupervised",))
    def dice_score(X, y, *, random_state=None):
        return np.random.default_rng(random_state).random(X.shape[1])

    X = np.zeros((5, 20))
    first = SelectTop("dice", random_state=1).fit(X).scores_
    assert np.array_equal(first, SelectTop("dice", random_state=1).fit(X).scores_)
    assert not np.array_equal(first, SelectTop("dice", random_state=2).fit(X).scores_)


def test_names_of_a_frame_come_out(three_classes):
    X, y = three_classes
    frame = pl.DataFrame({f"gene{i}": column for i, column in enumerate(X.T)})
    select = SelectTop(n_features_to_select=1, per_class=True).set_output(transform="polars").fit(frame, y)
    assert select.transform(frame).columns == ["gene0", "gene2", "gene4"]


def test_it_serves_a_curve_of_sizes_and_a_pipeline():
    sonar = load("sonar")
    curve = selection_curve(SelectTop(), KNeighborsClassifier(1), sonar.X, sonar.y, sizes=[1, 5, 60], cv=3, n_repeats=1)
    assert curve.scores.shape == (1, 3, 3)
    pipeline = make_pipeline(SelectTop(n_features_to_select=5), KNeighborsClassifier(1)).fit(sonar.X, sonar.y)
    assert pipeline.score(sonar.X, sonar.y) == 1.0


def test_two_rules_at_once_are_refused():
    with pytest.raises(ValueError, match="n_features_to_select and significance_level were given"):
        SelectTop(n_features_to_select=2, significance_level=0.1).fit(*load_iris(return_X_y=True))


def test_a_test_needs_a_score_with_p_values():
    with pytest.raises(ValueError, match=r"significance_level=0.1 needs p-values, and this score has none"):
        SelectTop("fisher", significance_level=0.1).fit(*load_iris(return_X_y=True))


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"There is no score 'fischer' \(did you mean 'fisher'\?\); there are .*fisher"
    ):
        SelectTop("fischer").fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize(("wanted", "meant"), [("f_classif", "anova"), ("Fisher", "fisher"), ("chi-2", "chi2")])
def test_names_from_elsewhere_are_answered_with_ours(wanted, meant):
    with pytest.raises(ValueError, match=rf"did you mean '{meant}'"):
        SelectTop(wanted).fit(*load_iris(return_X_y=True))


def test_one_class_is_refused():
    X, _ = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="y has one class only"):
        SelectTop().fit(X, np.zeros(150))


def test_numbers_are_refused_where_classes_are_needed():
    X, _ = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"'fisher' needs classes.*take a score for numbers \(.*pearson"):
        SelectTop().fit(X, np.linspace(0, 1, 150))


def test_counts_that_are_taken_for_classes_are_reported():
    diabetes = load("diabetes")
    with pytest.warns(UserWarning, match=r"214 different numbers in 442 rows, and the score 'fisher' .*pearson"):
        SelectTop(n_features_to_select=3).fit(diabetes.X, diabetes.y)


def test_names_of_classes_are_shown_as_a_user_writes_them():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"y has 3 classes, such as 'c0'; take a score for classes"):
        SelectTop("pearson").fit(X, pl.Series([f"c{code}" for code in y]))
    with pytest.raises(ValueError, match=r"y is 'c0' in every row"):
        SelectTop("pearson").fit(X, ["c0"] * 150)


def test_a_function_with_the_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"a number for each of the 4 columns .* shape \(3,\)"):
        SelectTop(lambda X, y: np.zeros(3)).fit(*load_iris(return_X_y=True))


def test_scores_take_frames_and_strings():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    assert np.allclose(fisher_score(frame, names), fisher_score(X, y))


def test_scores_say_what_they_are_for():
    assert "fisher" in score_names(task="classification")
    assert "fisher" not in score_names(task="regression")
    assert "fisher" not in score_names(p_values=True)


def test_scores_with_p_values_unpack_like_those_of_scikit_learn():
    given = ColumnScores(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 0.4, 0.3, 0.01]))
    select = SelectKBest(lambda X, y: given, k=1).fit(*load_iris(return_X_y=True))
    assert select.get_support().tolist() == [False, False, False, True]


def test_fisher_score_is_the_f_statistic_without_its_degrees_of_freedom():
    X, y, _ = make_five_classes(random_state=0)
    assert fisher_score(X, y) == pytest.approx(f_classif(X, y)[0] * 4 / (300 - 5))


def test_fisher_score_of_constant_columns():
    y = np.array([0, 0, 1, 1])
    X = np.column_stack([np.ones(4), y, [0, 1, 0, 1]]).astype(float)
    assert fisher_score(X, y).tolist() == [0.0, np.inf, 0.0]


def test_single_columns_are_scored_by_the_estimator():
    X, y, _ = make_five_classes(random_state=1)
    learner = LinearDiscriminantAnalysis()
    expected = [cross_val_score(learner, X[:, [column]], y, cv=5).mean() for column in range(4)]
    assert np.array_equal(single_column_score(X, y, estimator=learner), expected)
    ranked = SelectTop(learner, n_features_to_select=1).fit(X, y)
    assert np.array_equal(ranked.scores_, expected)
    assert ranked.get_support().tolist() == [True, False, False, False]


def test_of_equal_scores_the_first_column_comes_first():
    ranked = SelectTop(lambda X, y: np.array([1.0, 2.0, 2.0, 0.0]), n_features_to_select=2)
    assert ranked.fit(np.eye(4), [0, 1, 0, 1]).ranking_.tolist() == [3, 1, 2, 4]


def test_a_score_for_each_column_is_asked_for():
    with pytest.raises(ValueError, match="a number for each of the 4 columns"):
        SelectTop(lambda X, y: np.ones(3)).fit(np.eye(4), [0, 1, 0, 1])
    ranked = SelectTop(lambda X, y: np.array([1.0, np.nan, 0.0, 0.0])).fit(np.eye(4), [0, 1, 0, 1])
    assert ranked.ranking_.tolist() == [1, 4, 2, 3]


def test_any_score_is_known_by_name():
    X, y, _ = make_five_classes(random_state=0)
    for name, options in {"anova": {}, "mutual_information": {}, "relieff": {"random_state": 0}}.items():
        ranked = SelectTop(name, n_features_to_select=2, random_state=0).fit(X, y)
        given = getattr(select, f"{name}_score")(X, y, **options)
        assert np.array_equal(ranked.scores_, given[0] if isinstance(given, tuple) else given)
    with pytest.raises(ValueError, match=r"no score 'fischer' .*; there are"):
        SelectTop("fischer").fit(X, y)


def test_scores_without_target_and_sparse_tables_are_taken():
    X = sparse.csr_array(np.diag([1.0, 3.0, 2.0, 0.5]))
    assert SelectTop("variance").fit(X).ranking_.tolist() == [3, 1, 2, 4]
    target = [0.1, 0.9, 0.2, 0.3]
    dense = SelectTop("pearson").fit(X.toarray(), target)
    assert SelectTop("pearson").fit(X, target).scores_ == pytest.approx(dense.scores_)
    with pytest.raises(TypeError, match="parse"):
        SelectTop("relieff").fit(X, target)


def test_a_classifier_has_nothing_to_rank_by_with_one_class():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(
        ValueError, match="by LinearDiscriminantAnalysis needs at least two classes, and y has one class only"
    ):
        SelectTop(LinearDiscriminantAnalysis()).fit(X, ["a"] * 20)
