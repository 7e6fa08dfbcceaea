"""Mladenic (2006), Feature selection for dimensionality reduction: scores of words, and naive Bayes on a rare class."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import fbeta_score, mutual_info_score, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold

from fewer.datasets import make_topic_words
from fewer.learn import NaiveBayesText
from fewer.select import (
    TextFeatureScorer,
    bns_score,
    cross_entropy_score,
    frequency_score,
    info_gain_score,
    occurrence_fisher_score,
    occurrence_mutual_info_score,
    odds_ratio_score,
)
from tolerances import rounding

SEVEN = [
    info_gain_score,
    cross_entropy_score,
    occurrence_mutual_info_score,
    frequency_score,
    odds_ratio_score,
    bns_score,
    occurrence_fisher_score,
]


def word_counts(n_rows=400, n_words=150, n_classes=3, seed=0):
    """Counts of words, some of them tied to a class, most zero."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    rates = rng.exponential(0.3, size=(n_classes, n_words)) * (rng.random(n_words) < 0.8)
    return rng.poisson(rates[y]), y


@pytest.mark.claim("mladenic-text-fs", 1)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_information_gain_is_the_mutual_information_of_occurrence_and_class(n_classes, figure):
    X, y = word_counts(n_classes=n_classes)
    expected = np.array([mutual_info_score(word > 0, y) for word in X.T])
    found = info_gain_score(sparse.csr_array(X), y)
    assert np.abs(found - expected).max() < 1e-10
    halves = cross_entropy_score(X, y) + cross_entropy_score((X == 0).astype(int), y)
    assert np.abs(found - halves).max() < rounding(2 * n_classes, scale=np.log(n_classes), condition=np.log(len(y)))
    figure(f"{n_classes} classes: {np.abs(found - expected).max():.1g} and {np.abs(found - halves).max():.1g}")


@pytest.mark.claim("mladenic-text-fs", 2)
def test_scores_of_a_word_with_rates_of_80_and_20_percent(figure):
    word = np.repeat([1, 0, 1, 0], [80, 20, 20, 80])[:, None]
    y = np.repeat([1, 0], 100)
    found = [
        float(score(word, y, smoothing=0.0)[1, 0]) for score in (odds_ratio_score, bns_score, occurrence_fisher_score)
    ]
    assert found == pytest.approx([np.log(16), 1.6832424, 0.36 / 0.32], abs=1e-6)
    figure(", ".join(f"{value:.4f}" for value in found))


def topic_scores(names, n_words, seeds=(0, 1)):
    """Mean F2, precision and recall of naive Bayes on the words of each score, words chosen inside of each fold."""
    found = {name: [] for name in names}
    for seed in seeds:
        X, y, _ = make_topic_words(random_state=seed)
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            for name in names:
                select = TextFeatureScorer(name, n_features_to_select=n_words, random_state=seed).fit(
                    X[train], y[train]
                )
                model = NaiveBayesText().fit(select.transform(X[train]), y[train])
                predicted = model.predict(select.transform(X[test]))
                found[name].append(
                    (
                        fbeta_score(y[test], predicted, beta=2, zero_division=0),
                        precision_score(y[test], predicted, zero_division=1),
                        recall_score(y[test], predicted),
                    )
                )
    return {name: np.mean(values, axis=0) for name, values in found.items()}


@pytest.mark.claim("mladenic-text-fs", 3)
def test_on_a_rare_topic_the_odds_ratio_recalls_what_information_gain_misses(figure):
    found = topic_scores(["odds_ratio", "info_gain", "random"], 100)
    figure("; ".join(f"{name} F2 {f2:.2f} ({p:.2f}, {r:.2f})" for name, (f2, p, r) in found.items()))
    assert found["odds_ratio"][0] - found["info_gain"][0] > 0.1
    assert found["odds_ratio"][2] > 0.85
    assert found["info_gain"][1] > 0.9
    assert found["info_gain"][2] < 0.55
    assert found["random"][0] < 0.2


@pytest.mark.claim("mladenic-text-fs", 4)
def test_the_mean_log_ratio_is_never_positive_and_its_absolute_value_ranks(figure):
    X, y = word_counts(n_rows=2000, n_classes=3)
    raw = occurrence_mutual_info_score(X, y, smoothing=0.0, absolute=False)
    assert raw.max() <= rounding(3, np.abs(raw).max())
    assert raw.min() < -0.1

    documents, topic, truth = make_topic_words(random_state=0)
    raw = occurrence_mutual_info_score(documents, topic, absolute=False)
    select = TextFeatureScorer("mutual_info", n_features_to_select=100).fit(documents, topic)
    first_by_raw = np.argsort(-raw)[:100]
    assert np.array_equal(select.scores_[select.support_], np.abs(raw)[select.support_])
    by_raw, by_size = truth["topic"][first_by_raw].sum(), truth["topic"][select.support_].sum()
    figure(f"words of the topic among the first 100: {by_raw} by the value itself, {by_size} by its size")
    assert by_raw < 5
    assert by_size > 80


@pytest.mark.claim("mladenic-text-fs", 6)
def test_a_large_sparse_table_is_scored_without_a_dense_copy(figure):
    rng = np.random.default_rng(0)
    shape, n_entries = (20_000, 50_000), 2_000_000
    places = rng.integers(shape[0], size=n_entries), rng.integers(shape[1], size=n_entries)
    X = sparse.csc_array((np.ones(n_entries), places), shape=shape)
    y = rng.integers(0, 2, shape[0])
    small = X[:, :20], y
    for score in SEVEN:
        score(*small)  # compiled before memory is watched
    tracemalloc.start()
    for score in SEVEN:
        assert np.isfinite(score(X, y)).all()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    figure(f"peak {peak:.0f} MB, of {8 * shape[0] * shape[1] / 2**20:,.0f} MB that a dense table takes")
    assert peak < 100
