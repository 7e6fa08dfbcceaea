"""Clusters of words: what they keep, sums, names, and words that never occur."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import entropy
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from fewer.extract import WordClusters
from fewer.extract._word_clusters import (
    agglomerative_labels,
    cluster_sums,
    distinct_words,
    divisive_labels,
    information,
)
from tolerances import rounding

METHODS = ["agglomerative", "divisive"]


def themed_counts(n_rows=600, n_themes=6, words_per_theme=30, n_classes=3, seed=0):
    """Counts of words that follow themes: the words of one theme have the same class distribution."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    themes = np.repeat(np.arange(n_themes), words_per_theme)
    rates = rng.exponential(size=(n_classes, n_themes)) ** 2
    weights = 0.05 + rng.exponential(0.3, size=len(themes))
    return rng.poisson(rates[y][:, themes] * weights).astype(float), y, themes


def plain_greedy(joint, n_clusters):
    """Merging as written down: try all pairs each time."""
    members = [[word] for word in range(len(joint))]
    while len(members) > n_clusters:
        losses = {}
        for i in range(len(members)):
            for j in range(i):
                pair = np.stack([joint[members[i]].sum(axis=0), joint[members[j]].sum(axis=0)])
                losses[i, j] = information_terms(pair).sum() - information_terms(pair.sum(axis=0)[None]).sum()
        i, j = min(losses, key=losses.get)
        members[j] += members.pop(i)
    labels = np.empty(len(joint), dtype=int)
    for number, words in enumerate(members):
        labels[words] = number
    return labels


def information_terms(joint):
    weights = joint.sum(axis=1)
    return (joint * np.log(joint)).sum(axis=1) - weights * np.log(weights)


def same_partition(first, second):
    return np.array_equal(first[:, None] == first, second[:, None] == second)


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 20])
def test_with_a_place_for_every_word_merging_is_the_greedy_one(n_clusters):
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(4), 25) * rng.dirichlet(np.ones(25))[:, None]
    assert same_partition(agglomerative_labels(joint, n_clusters, window=25), plain_greedy(joint, n_clusters))


def test_few_open_clusters_keep_about_as_much():
    X, y, _ = themed_counts()
    exact, few = (WordClusters(8, window=window).fit(X, y).information_kept_ for window in (1000, 20))
    assert few > 0.98 * exact


def test_dividing_never_keeps_less_from_one_iteration_to_the_next():
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.full(4, 0.3), 300) / 300
    kept = []
    found = divisive_labels(
        joint, 12, max_iter=100, on_step=lambda labels: kept.append(information(cluster_sums(joint, labels, 12)))
    )
    assert found.converged
    assert len(kept) > 3
    assert (np.diff(kept) >= -rounding(joint.size, scale=np.log(4))).all()
    assert len(set(found.labels)) == 12


@pytest.mark.parametrize("method", METHODS)
def test_words_of_one_theme_come_together_and_keep_what_there_is_to_keep(method):
    X, y, themes = themed_counts(n_rows=30_000)
    clusters = WordClusters(6, method=method).fit(X, y)
    assert clusters.information_kept_ > 0.97 * clusters.information_
    if method == "agglomerative":
        most = [np.bincount(clusters.labels_[themes == theme]).max() for theme in range(6)]
        assert np.sum(most) >= 0.9 * len(themes)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_kept_grows_with_the_clusters_and_is_all_with_as_many_as_words(method):
    X, y, _ = themed_counts(words_per_theme=5)
    kept = [WordClusters(k, method=method).fit(X, y) for k in (1, 3, 10, 30, 100)]
    shares = [clusters.information_kept_ / clusters.information_ for clusters in kept]
    assert shares[0] == pytest.approx(0, abs=rounding(30 * 3, condition=np.log(3) / kept[0].information_))
    assert shares[-1] == pytest.approx(1)
    assert (np.diff(shares) >= 0).all()
    assert [clusters.n_clusters_ for clusters in kept] == [1, 3, 10, 30, 30]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_the_new_columns_are_sums_and_sparse_stays_sparse(method, form):
    X, y, _ = themed_counts()
    clusters = WordClusters(5, method=method).fit(form(X), y)
    expected = np.stack([X[:, clusters.labels_ == number].sum(axis=1) for number in range(5)], axis=1)
    found = clusters.transform(form(X))
    assert sparse.issparse(found)
    assert np.array_equal(found.toarray(), expected)
    assert np.array_equal(clusters.transform(X), expected)
    shares = np.array([expected[y == label].sum(axis=0) for label in range(3)]).T
    assert clusters.class_distributions_ == pytest.approx(shares / shares.sum(axis=1, keepdims=True))


def test_words_with_one_distribution_are_never_apart():
    sums = np.array([[1.0, 2.0], [3.0, 6.0], [2.0, 1.0], [4.0, 2.0], [5.0, 5.0]])
    assert same_partition(distinct_words(sums).group, np.array([0, 0, 1, 1, 2]))
    counts = np.array([[1, 3, 2, 4, 5], [2, 6, 1, 2, 5]])
    assert WordClusters(5).fit(counts, [0, 1]).labels_.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("method", METHODS)
def test_a_word_that_never_occurs_goes_where_least_is_said(method):
    X, y, _ = themed_counts()
    X = np.column_stack([X, np.zeros(600), (y == 0).astype(float), np.ones(600)])
    clusters = WordClusters(4, method=method).fit(X, y)
    nearest = np.argmin([entropy(np.bincount(y), shares) for shares in clusters.class_distributions_])
    assert clusters.labels_[-3] == nearest


def test_names_tell_the_heaviest_word_and_how_many_others():
    X = pd.DataFrame({"goal": [3, 1, 0, 0], "match": [2, 1, 0, 0], "price": [0, 0, 2, 1], "the": [1, 1, 1, 1]})
    clusters = WordClusters(3).fit(X, [0, 0, 1, 1])
    assert clusters.get_feature_names_out().tolist() == ["goal+1", "price", "the"]
    assert list(clusters.set_output(transform="pandas").transform(X).columns) == ["goal+1", "price", "the"]


def test_a_few_sums_serve_a_learner_as_well_as_all_words():
    X, y, _ = themed_counts(n_rows=400, words_per_theme=100)
    learner = MultinomialNB()
    sums = cross_val_score(make_pipeline(WordClusters(10), learner), X, y)
    assert sums.mean() > cross_val_score(learner, X, y).mean() - 0.03


def test_a_fit_that_runs_out_of_iterations_says_so():
    X, y, _ = themed_counts(words_per_theme=200)
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        WordClusters(20, method="divisive", max_iter=1).fit(X, y)


def test_more_classes_than_clusters():
    X, y, _ = themed_counts(n_classes=5)
    for method in METHODS:
        assert WordClusters(2, method=method).fit(X, y).n_clusters_ == 2


def test_what_cannot_be_done_is_told():
    X, y, _ = themed_counts()
    with pytest.raises(ValueError, match="Negative values"):
        WordClusters().fit(-X, y)
    with pytest.raises(ValueError, match="All entries of the table are zero"):
        WordClusters().fit(np.zeros((4, 3)), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="one class only"):
        WordClusters().fit(X, np.zeros(600))


def test_float32_integers_and_a_wide_table():
    X, y, _ = themed_counts()
    expected = WordClusters(5).fit(X, y).labels_
    assert np.array_equal(WordClusters(5).fit(X.astype(np.float32), y).labels_, expected)
    assert np.array_equal(WordClusters(5).fit(X.astype(int), y).labels_, expected)
    wide = sparse.random_array((60, 20_000), density=0.01, rng=np.random.default_rng(0), format="csr")
    for method in METHODS:
        assert WordClusters(10, method=method).fit_transform(wide, np.repeat([0, 1], 30)).shape == (60, 10)
