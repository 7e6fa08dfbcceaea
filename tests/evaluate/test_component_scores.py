"""Scores over the number of new columns, on rows held out."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from fewer.evaluate import score_components

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:120], order[120:]
HALVES = X[train], y[train], X[test], y[test]


class NestedPCA(PCA):
    """Principal components do not change with their number."""

    _nested = True


@pytest.mark.parametrize("learner", [RidgeClassifier(), KNeighborsClassifier(3)])
@pytest.mark.parametrize("extractor", [PCA(), NestedPCA()])
def test_each_size_scores_as_a_pipeline_of_its_own(extractor, learner):
    found = score_components(extractor, learner, *HALVES, sizes=[1, 2, 5])
    expected = [make_pipeline(PCA(size), learner).fit(X[train], y[train]).score(X[test], y[test]) for size in (1, 2, 5)]
    expected.append(learner.fit(X[train], y[train]).score(X[test], y[test]))
    assert found.sizes == [1, 2, 5, 13]
    np.testing.assert_allclose(found.scores, expected)


def test_one_fit_serves_all_sizes_of_nested_columns():
    class Counted(NestedPCA):
        fits = 0

        def fit(self, X, y=None):
            type(self).fits += 1
            return super().fit(X, y)

    score_components(Counted(), RidgeClassifier(), *HALVES, sizes=[1, 2, 5])
    assert Counted.fits == 1


def test_sizes_that_cannot_be_had_are_left_out():
    class FewPCA(PCA):
        def transform(self, X):
            return super().transform(X)[:, :2]

    found = score_components(FewPCA(), RidgeClassifier(), *HALVES, sizes=[1, 2, 3, 40])
    assert found.sizes == [1, 2, 13]


def test_held_out_rows_have_no_say_in_what_is_made():
    spoilt = X.copy()
    spoilt[test] = 1e6
    clean = score_components(PCA(), RidgeClassifier(), *HALVES, sizes=[2])
    other = score_components(PCA(), RidgeClassifier(), spoilt[train], y[train], spoilt[test], y[test], sizes=[2])
    np.testing.assert_array_equal(clean.weights, other.weights)
    assert other.scores[0] != clean.scores[0]


def test_weights_are_the_lengths_of_correlations():
    found = score_components(PCA(), RidgeClassifier(), *HALVES, sizes=[2])
    new = PCA(2).fit_transform(X[train])
    expected = [np.hypot(*(np.corrcoef(column, each)[0, 1] for each in new.T)) for column in X[train].T]
    np.testing.assert_allclose(found.weights, expected)


def test_a_sparse_table_and_numbers_as_target():
    table = sparse.csr_array(np.where(X > 0, X, 0))
    halves = table[train], X[train, 0], table[test], X[test, 0]
    found = score_components(TruncatedSVD(random_state=0), Ridge(), *halves, sizes=[1, 6], scoring="r2")
    dense = score_components(
        TruncatedSVD(random_state=0),
        Ridge(),
        *(part.toarray() if sparse.issparse(part) else part for part in halves),
        sizes=[1, 6],
        scoring="r2",
    )
    np.testing.assert_allclose(found.scores, dense.scores, rtol=1e-4)
