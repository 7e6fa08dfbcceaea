"""The forest of random columns: what it predicts, and what it says about rows that a tree did not see."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from fewer.datasets import load, make_simple_relevance
from fewer.learn import RandomColumnForestClassifier


def test_it_is_as_good_as_scikit_learns_forest_of_one_column():
    cancer = load("breast_cancer")
    X, X_test, y, y_test = train_test_split(cancer.X, cancer.y, test_size=0.5, random_state=0)
    ours = RandomColumnForestClassifier(200, random_state=0).fit(X, y)
    theirs = RandomForestClassifier(200, max_features=1, criterion="entropy", random_state=0).fit(X, y)
    assert ours.score(X_test, y_test) == pytest.approx(theirs.score(X_test, y_test), abs=0.02)
    shares = ours.predict_proba(X_test)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares, theirs.predict_proba(X_test), atol=0.25)


def test_trees_know_their_own_rows_by_heart():
    X, y, _ = make_simple_relevance(random_state=0)
    single = RandomColumnForestClassifier(1, random_state=0).fit(X, y)
    seen = np.isnan(single.oob_decision_function_[:, 0])
    assert seen.mean() == pytest.approx(1 - np.exp(-1), abs=0.08)
    assert (single.predict(X[seen]) == y[seen]).all()
    assert (single.predict(X[~seen]) == single.oob_decision_function_[~seen].argmax(axis=1)).all()
    assert single.oob_score_ == np.mean(single.predict(X[~seen]) == y[~seen])


def test_the_out_of_bag_score_tells_the_truth():
    X, y, _ = make_simple_relevance(n_samples=2000, random_state=0)
    forest = RandomColumnForestClassifier(100, random_state=0).fit(X[:500], y[:500])
    assert forest.oob_score_ == pytest.approx(forest.score(X[500:], y[500:]), abs=0.04)


def test_rows_that_are_the_same_share_a_leaf_by_their_classes():
    X = np.zeros((90, 2))
    y = np.repeat(["a", "b", "c"], [60, 20, 10])
    forest = RandomColumnForestClassifier(50, random_state=0).fit(X, y)
    assert (forest.tree_sizes_ == 1).all()
    np.testing.assert_allclose(forest.predict_proba(X[:1])[0], [6 / 9, 2 / 9, 1 / 9], atol=0.03)


def test_sparse_tables_of_any_form_give_the_same_even_with_entries_in_parts():
    rng = np.random.default_rng(0)
    X = sparse.random_array((100, 20), density=0.3, rng=rng, format="coo")
    X.data -= 0.5  # negative values come before the zeros
    y = np.asarray(X.sum(axis=1) > 0).ravel()
    dense = RandomColumnForestClassifier(20, random_state=0).fit(X.toarray(), y)
    in_parts = sparse.coo_array(
        (np.append(X.data / 2, X.data / 2), (np.tile(X.coords[0], 2), np.tile(X.coords[1], 2))), shape=X.shape
    )
    for table in (X.tocsr(), X.tocsc(), in_parts):
        forest = RandomColumnForestClassifier(20, random_state=0).fit(table, y)
        assert np.array_equal(forest.predict_proba(table), dense.predict_proba(X.toarray()))
        assert forest.oob_score_ == dense.oob_score_


def test_the_users_table_is_left_as_it_is():
    table = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3, 3, 3])), shape=(4, 3))
    before = table.indices.copy()
    RandomColumnForestClassifier(3, random_state=0).fit(table, [0, 1, 0, 1]).predict(table)
    assert np.array_equal(table.indices, before)
