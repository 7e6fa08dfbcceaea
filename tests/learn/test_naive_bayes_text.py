"""Naive Bayes by rates of occurrence: the formula, thresholds, learning piece by piece, and few words."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB

from fewer.datasets import make_topic_words
from fewer.learn import NaiveBayesText
from fewer.select import TextFeatureScorer


def word_counts(n_rows=300, n_words=12, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    rates = rng.exponential(0.4, size=(n_classes, n_words))
    return rng.poisson(rates[y]).astype(float), y


def test_probabilities_are_the_formula_word_by_word():
    X, y = word_counts()
    model = NaiveBayesText(smoothing=0.5).fit(X, y)
    for row, found in zip(X[:5], model.predict_proba(X[:5]), strict=True):
        weights = []
        for label in range(3):
            own = X[y == label]
            weight = len(own) / len(X)
            for word, times in enumerate(row):
                weight *= (((own[:, word] > 0).sum() + 0.5) / (len(own) + 1.0)) ** times
            weights.append(weight)
        assert found == pytest.approx(np.array(weights) / np.sum(weights))


def test_an_empty_document_gets_the_shares_of_the_classes():
    X, y = word_counts()
    found = NaiveBayesText().fit(X, y).predict_proba(np.zeros((1, 12)))
    assert found[0] == pytest.approx(np.bincount(y) / len(y))


def test_the_threshold_is_for_the_class_of_interest():
    X, y = word_counts(n_classes=2)
    labels = np.array(["ham", "spam"])[y]
    probabilities = NaiveBayesText().fit(X, labels).predict_proba(X)
    for threshold in (0.0, 0.05, 0.5, 0.95, 1.0):
        strict = NaiveBayesText(threshold=threshold).fit(X, labels).predict(X)
        assert np.array_equal(strict == "spam", probabilities[:, 1] >= threshold)
        other = NaiveBayesText(threshold=threshold, pos_label="ham").fit(X, labels).predict(X)
        assert np.array_equal(other == "ham", probabilities[:, 0] >= threshold)


def test_piece_by_piece_is_the_same_as_all_at_once():
    X, y = word_counts()
    whole = NaiveBayesText().fit(X, y)
    order = np.argsort(y, kind="stable")  # the first pieces have one class only
    pieces = NaiveBayesText()
    for rows in np.array_split(order, 7):
        pieces.partial_fit(sparse.csr_array(X[rows]), y[rows], classes=[0, 1, 2])
    assert np.array_equal(pieces.feature_log_prob_, whole.feature_log_prob_)
    assert np.array_equal(pieces.predict_proba(X), whole.predict_proba(X))


def test_a_class_without_rows_so_far_is_never_predicted():
    X, y = word_counts()
    first = NaiveBayesText().partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert (first.predict_proba(X)[:, 2] == 0).all()
    assert set(first.predict(X)) <= {0, 1}


def test_leaving_out_words_leaves_the_rates_of_the_others():
    X, y = word_counts()
    whole, some = NaiveBayesText().fit(X, y), NaiveBayesText().fit(X[:, [2, 5]], y)
    assert np.array_equal(some.feature_log_prob_, whole.feature_log_prob_[:, [2, 5]])


def test_words_of_one_class_only_serve_it_and_not_multinomial_naive_bayes():
    X, y, _ = make_topic_words(random_state=0)
    words = TextFeatureScorer("odds_ratio", n_features_to_select=100).fit(X, y).transform(X)
    topic = y == 1
    assert (NaiveBayesText().fit(words, y).predict(words)[topic] == 1).mean() > 0.9
    assert (MultinomialNB().fit(words, y).predict(words)[topic] == 1).mean() < 0.1


def test_long_documents_do_not_underflow():
    X, y = word_counts()
    found = NaiveBayesText().fit(X, y).predict_proba(X * 1e6)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)


def test_what_cannot_be_done_is_told():
    X, y = word_counts()
    with pytest.raises(ValueError, match="y has 3 classes"):
        NaiveBayesText(threshold=0.95).fit(X, y)
    with pytest.raises(ValueError, match="'spam' is not a class"):
        NaiveBayesText(pos_label="spam").fit(X, y)
    with pytest.raises(ValueError, match="Negative values"):
        NaiveBayesText().fit(-X, y)
    with pytest.raises(ValueError, match="class 2, which is not one of"):
        NaiveBayesText().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="at least two classes"):
        NaiveBayesText().fit(X, np.zeros(300))
