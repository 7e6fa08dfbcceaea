"""Baker and McCallum (1998), Dhillon, Mallela and Kumar (2003): clusters of words by what they tell about the class."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from fewer.extract import WordClusters
from fewer.extract._word_clusters import agglomerative_labels, cluster_sums, divisive_labels, information
from fewer.select import TextFeatureScorer
from tolerances import rounding


def some_words(seed, n_words=8, n_classes=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_classes, 0.5), n_words) * rng.dirichlet(np.ones(n_words))[:, None]


def clusterings(n_words, n_clusters):
    """All ways to put words into so many clusters."""
    for labels in product(range(n_clusters), repeat=n_words - 1):
        labels = np.array([0, *labels])
        _, first = np.unique(labels, return_index=True)
        if len(first) == n_clusters and (np.diff(first) > 0).all():
            yield labels


@pytest.mark.claim("word-clusters", 1)
def test_a_merge_costs_the_jensen_shannon_divergence_and_greed_loses_little(figure):
    joint = some_words(0)
    weights, shares = joint.sum(axis=1), joint / joint.sum(axis=1, keepdims=True)
    for first, second in [(0, 1), (3, 6)]:
        labels = np.arange(8)
        labels[second] = first
        lost = information(joint) - information(cluster_sums(joint, labels, 8))
        pair, both = weights[[first, second]], weights[first] + weights[second]
        mean = pair @ shares[[first, second]] / both
        divergence = pair @ [entropy(shares[first], mean), entropy(shares[second], mean)]
        assert lost == pytest.approx(divergence, rel=1e-9)
        if first == 0:  # scipy knows the divergence for equal weights only
            equal = shares[[0, 1]] / 2
            halves = information(equal) - information(equal.sum(axis=0)[None])
            assert halves == pytest.approx(jensenshannon(shares[0], shares[1]) ** 2, rel=1e-9)

    kept = []
    for seed in range(10):
        joint = some_words(seed)
        best = max(information(cluster_sums(joint, labels, 3)) for labels in clusterings(8, 3))
        exact = agglomerative_labels(joint, 3, window=8)
        few_open = agglomerative_labels(joint, 3, window=4)
        divided = divisive_labels(joint, 3, max_iter=100).labels
        kept.append([information(cluster_sums(joint, labels, 3)) / best for labels in (exact, few_open, divided)])
        assert max(kept[-1]) <= 1 + rounding(joint.size, scale=np.log(3) / best)
    exact, few_open, divided = np.mean(kept, axis=0)
    figure(
        f"of what the best clustering keeps: {exact:.1%} merging, {few_open:.1%} with four open clusters, "
        f"{divided:.1%} dividing"
    )
    assert exact > 0.97
    assert few_open > 0.97
    assert divided > 0.9


@pytest.mark.claim("word-clusters", 2)
@pytest.mark.parametrize("method", ["agglomerative", "divisive"])
def test_few_sums_of_words_keep_more_than_as_many_single_words(method, figure):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 1000)
    rates = 0.02 * rng.exponential(size=(5, 400)) ** 2
    X = rng.poisson(rates[y])
    joint = np.array([X[y == label].sum(axis=0) for label in range(5)]).T / X.sum()
    clusters = WordClusters(10, method=method).fit(X, y)
    select = TextFeatureScorer("info_gain", n_features_to_select=10).fit(X, y)
    # The words that are not among the ten are one more event, that of any other word.
    kept_by_words = information(np.vstack([joint[select.support_], joint[~select.support_].sum(axis=0, keepdims=True)]))
    shares = clusters.information_kept_ / clusters.information_, kept_by_words / clusters.information_
    figure(f"{method}: ten clusters keep {shares[0]:.0%} of the information, ten words {shares[1]:.0%}")
    assert shares[0] > 2 * shares[1]
