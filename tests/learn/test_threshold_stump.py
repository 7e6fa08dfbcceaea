"""ThresholdStump: the best of all thresholds on all columns, as brute force finds it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from fewer.learn import ThresholdStump


def best_edge(X, signed, both):
    """The largest edge of any threshold, by trying all."""
    edges = []
    for column in X.T:
        for threshold in [np.inf, -np.inf, *np.unique(column)]:
            edge = np.where(column < threshold, signed, -signed).sum()
            edges += [edge, -edge] if both else [edge]
    return max(edges)


@pytest.mark.parametrize("side", ["both", "below"])
@pytest.mark.parametrize("decimals", [0, 6])
def test_no_threshold_is_better(side, decimals):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y = rng.normal(size=(25, 4)).round(decimals), rng.integers(2, size=25)
        weights = rng.uniform(size=25)
        model = ThresholdStump(side).fit(X, y, sample_weight=weights)
        signed = (2 * y - 1) * weights / weights.sum()
        assert model.edge_ == pytest.approx(best_edge(X, signed, side == "both"))
        assert signed @ model.decision_function(X) == pytest.approx(model.edge_)


def test_without_weights_it_is_the_tree_of_one_split_by_errors():
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert ThresholdStump().fit(X, y).score(X, y) >= tree.score(X, y)


def test_the_second_class_is_below_unless_it_may_be_on_either_side():
    x = np.arange(10.0)[:, None]
    y = np.where(x[:, 0] < 4, "near", "far")
    above = ThresholdStump().fit(x, np.where(x[:, 0] < 4, "far", "near"))
    assert (ThresholdStump("below").fit(x, y).threshold_, above.threshold_, above.sign_) == (3.5, 3.5, -1)
    below = ThresholdStump("below").fit(x, np.where(x[:, 0] < 4, "far", "near"))
    assert below.threshold_ == np.inf
    assert set(below.predict(x)) == {"near"}


def test_numbers_next_to_each_other_are_parted():
    x = np.array([1.0, 1.0, np.nextafter(1, 2), np.nextafter(1, 2)])[:, None]
    assert ThresholdStump().fit(x, [0, 0, 1, 1]).score(x, [0, 0, 1, 1]) == 1


def test_adaboost_of_scikit_learn_boosts_it():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(ThresholdStump(), n_estimators=30).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93


def test_rows_without_weight_do_not_matter():
    X, y = load_iris(return_X_y=True)
    kept = y < 2
    model = ThresholdStump().fit(X[:120], np.minimum(y[:120], 1), sample_weight=kept[:120].astype(float))
    assert model.threshold_ == ThresholdStump().fit(X[kept], y[kept]).threshold_


def test_bad_input_is_told():
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=r"Only binary .* 3 classes\. Take sklearn\.multiclass\.OneVsRestClassifier"):
        ThresholdStump().fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        ThresholdStump().fit(X, y > 0, sample_weight=np.zeros(150))
    holes = pd.DataFrame(X).mask(X > 6)
    with pytest.raises(ValueError, match="contains NaN, in column 'sepal length"):
        ThresholdStump().fit(holes, y > 0)


@pytest.mark.parametrize("side", ["both", "below"])
@pytest.mark.parametrize("signs", ["positive", "negative", "both"])
def test_a_sparse_table_gives_the_stump_of_the_dense_one(side, signs):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = np.round(rng.normal(size=(30, 6)), 1) * (rng.uniform(size=(30, 6)) < 0.4)
        X = {"positive": np.abs(X), "negative": -np.abs(X), "both": X}[signs]
        y, weights = rng.integers(2, size=30), rng.uniform(size=30)
        weights[::5] = 0
        dense = ThresholdStump(side).fit(X, y, weights)
        for form in (sparse.csr_array, sparse.csc_matrix):
            found = ThresholdStump(side).fit(form(X), y, weights)
            assert (found.feature_, found.threshold_, found.sign_) == (dense.feature_, dense.threshold_, dense.sign_)
            assert found.edge_ == pytest.approx(dense.edge_)
            np.testing.assert_array_equal(found.predict(form(X)), dense.predict(X))


def test_zeros_and_duplicates_that_are_stored_change_nothing():
    X = sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]]))
    stored = X.tocsc()
    stored.data[:] = np.where(stored.data == 3, 0, stored.data)
    doubled = sparse.coo_array(([1.0, 1.0, -1.0, 1.0], ([1, 1, 3, 0], [0, 0, 0, 1])), shape=(4, 2))
    y = ["a", "b", "a", "b"]
    expected = ThresholdStump().fit(stored.toarray(), y)
    for table in (stored, doubled):
        found = ThresholdStump().fit(table, y)
        assert (found.feature_, found.threshold_, found.edge_) == (
            expected.feature_,
            expected.threshold_,
            expected.edge_,
        )


def test_a_million_columns_of_words_are_never_made_dense():
    words = sparse.random_array((1000, 1_000_000), density=1e-5, format="csr", rng=np.random.default_rng(0))
    told = sparse.csr_array((np.ones(500), (np.arange(500), np.full(500, 123_456))), shape=words.shape)
    model = ThresholdStump().fit(words + told, np.arange(1000) < 500)
    assert model.feature_ == 123_456
    assert model.score(words + told, np.arange(1000) < 500) == 1
