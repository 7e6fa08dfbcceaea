"""Words by where they occur: the scores, the class of interest, how many are kept, and tables that are no counts."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from fewer.datasets import make_topic_words
from fewer.evaluate import selection_curve
from fewer.extract import WordClusters
from fewer.learn import NaiveBayesText
from fewer.select import (
    SelectTop,
    TextFeatureScorer,
    bns_score,
    cross_entropy_score,
    frequency_score,
    info_gain_score,
    occurrence_fisher_score,
    occurrence_mutual_info_score,
    odds_ratio_score,
    svm_weight_score,
)
from tolerances import rounding

NAMES = [
    "odds_ratio",
    "bns",
    "info_gain",
    "cross_entropy",
    "mutual_info",
    "fisher",
    "frequency",
    "svm_weight",
    "random",
]


def word_counts(n_rows=300, n_words=40, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    rates = rng.exponential(0.4, size=(n_classes, n_words))
    return rng.poisson(rates[y]).astype(float), y


def plain_rates(X, y, label, smoothing):
    """Rates of one class and of all others, word by word."""
    own = X[y == label] > 0
    rest = X[y != label] > 0
    return (
        (own.sum(axis=0) + smoothing) / (len(own) + 2 * smoothing),
        (rest.sum(axis=0) + smoothing) / (len(rest) + 2 * smoothing),
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_follow_their_formulas_for_each_class_against_the_rest(n_classes):
    from scipy.stats import norm

    X, y = word_counts(n_classes=n_classes)
    odds, separation, fisher = odds_ratio_score(X, y), bns_score(X, y), occurrence_fisher_score(X, y)
    assert odds.shape == separation.shape == fisher.shape == (n_classes, 40)
    for label in range(n_classes):
        p, q = plain_rates(X, y, label, 1.0)
        assert odds[label] == pytest.approx(np.log(p * (1 - q) / ((1 - p) * q)))
        assert separation[label] == pytest.approx(norm.ppf(p) - norm.ppf(q))
        assert fisher[label] == pytest.approx((p - q) ** 2 / (p * (1 - p) + q * (1 - q)))


def test_without_smoothing_the_fisher_index_is_the_spread_of_occurrence_within_the_classes():
    X, y = word_counts()
    occurs = (X > 0).astype(float)
    means = np.array([occurs[y == label].mean(axis=0) for label in (0, 1)])
    within = sum(((occurs[y == label] - means[label]) ** 2).mean(axis=0) for label in (0, 1))
    assert occurrence_fisher_score(X, y, smoothing=0.0)[1] == pytest.approx((means[1] - means[0]) ** 2 / within)


@pytest.mark.parametrize("form", [np.asfortranarray, sparse.csr_array, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_every_form_of_the_table_gives_the_same_scores(form, dtype):
    X, y = word_counts()
    for name in NAMES:
        expected = TextFeatureScorer(name, random_state=0).fit(X, y).scores_
        found = TextFeatureScorer(name, random_state=0).fit(form(X.astype(dtype)), y).scores_
        assert found == pytest.approx(expected, rel=1e-4), name


def test_stored_zeros_do_not_occur_and_entries_stored_twice_occur_once():
    y = np.array([0, 0, 1, 1])
    rows, columns, values = [0, 1, 2, 2, 3], [0, 0, 1, 1, 1], [0.0, 1.0, 1.0, 1.0, 0.0]
    X = sparse.coo_array((values, (rows, columns)), shape=(4, 2))
    twice = sparse.csr_array((values, columns, [0, 1, 2, 4, 5]), shape=(4, 2))
    select = TextFeatureScorer(smoothing=0.0)
    expected = [[0.5, 0.0], [0.0, 0.5]]
    assert select.fit(X, y).class_probabilities_.tolist() == expected
    assert select.fit(twice, y).class_probabilities_.tolist() == expected


def test_the_selector_has_the_scores_of_the_functions():
    X, y = word_counts()
    labels = np.array(["ham", "spam"])[y]
    expected = {
        "odds_ratio": odds_ratio_score(X, y)[1],
        "bns": bns_score(X, y)[1],
        "fisher": occurrence_fisher_score(X, y)[1],
        "info_gain": info_gain_score(X, y),
        "cross_entropy": cross_entropy_score(X, y),
        "mutual_info": occurrence_mutual_info_score(X, y),
        "frequency": X.sum(axis=0),
        "svm_weight": svm_weight_score(X, y, random_state=0)[1],
    }
    for name, scores in expected.items():
        select = TextFeatureScorer(name, n_features_to_select=5, random_state=0).fit(X, labels)
        assert select.scores_ == pytest.approx(scores), name
        assert select.get_support(indices=True).tolist() == sorted(np.argsort(-scores, kind="stable")[:5]), name


def test_with_two_classes_the_last_one_is_of_interest_unless_another_is_named():
    X, y = word_counts()
    labels = np.array(["ham", "spam"])[y]
    spam = TextFeatureScorer().fit(X, labels).scores_
    assert np.array_equal(TextFeatureScorer(pos_label="spam").fit(X, labels).scores_, spam)
    assert TextFeatureScorer(pos_label="ham").fit(X, labels).scores_ == pytest.approx(-spam)
    assert np.array_equal(TextFeatureScorer(pos_label=1).fit(X, y).scores_, spam)
    assert np.array_equal(TextFeatureScorer().fit(X, np.where(y == 1, 1, -1)).scores_, spam)
    assert np.array_equal(TextFeatureScorer(pos_label=True).fit(X, y == 1).scores_, spam)


def test_one_class_of_several_against_all_others():
    X, y = word_counts(n_classes=3)
    for name in NAMES:
        one = TextFeatureScorer(name, pos_label=2, random_state=0).fit(X, y)
        two = TextFeatureScorer(name, random_state=0).fit(X, y == 2)
        assert one.scores_ == pytest.approx(two.scores_), name
    assert one.class_probabilities_.shape == (3, 40)


def test_several_classes_are_combined_by_the_best_or_by_the_mean():
    X, y = word_counts(n_classes=3)
    rows, shares = bns_score(X, y), np.bincount(y) / len(y)
    assert np.array_equal(TextFeatureScorer("bns").fit(X, y).scores_, rows.max(axis=0))
    assert TextFeatureScorer("bns", multiclass="avg").fit(X, y).scores_ == pytest.approx(shares @ rows)


def test_how_many_are_kept():
    X, y = word_counts()
    X[:, 30:] = 0
    X[0, 35] = 1  # row 0 may be of either class
    y[0] = 0
    assert TextFeatureScorer(n_features_to_select=7).fit(X, y).support_.sum() == 7
    assert TextFeatureScorer(n_features_to_select=0.25).fit(X, y).support_.sum() == 10
    assert TextFeatureScorer(n_features_to_select=1.0).fit(X, y).support_.sum() == 31
    assert TextFeatureScorer(n_features_to_select=1).fit(X, y).support_.sum() == 1
    words = TextFeatureScorer(n_features_to_select="pos_vocab").fit(X, y)
    assert words.support_.sum() == (X[y == 1] > 0).any(axis=0).sum() == 30


def test_rare_words_come_last_and_are_never_kept():
    X, y = word_counts()
    X[:, 3] = 0
    X[np.flatnonzero(y == 1)[:4], 3] = 1
    kept = TextFeatureScorer(n_features_to_select=40).fit(X, y)
    assert kept.support_[3]
    pruned = TextFeatureScorer(n_features_to_select=40, min_df=5).fit(X, y)
    assert pruned.ranking_[3] == 40
    assert pruned.scores_[3] == -np.inf
    assert pruned.support_.tolist() == [column != 3 for column in range(40)]
    with pytest.raises(ValueError, match="at least min_df=301 rows"):
        TextFeatureScorer(min_df=301).fit(X, y)


def test_words_that_are_everywhere_or_nowhere_tell_nothing():
    X, y = word_counts()
    y[:280] = 0  # a small class, which smoothing alone would favour
    X[:, 0], X[:, 1] = 0, 1
    for score in (odds_ratio_score, bns_score, occurrence_fisher_score):
        for smoothing in (0.0, 1.0):
            assert (score(X, y, smoothing=smoothing)[:, :2] == 0).all()
    for score in (info_gain_score, cross_entropy_score, occurrence_mutual_info_score):
        assert score(X, y)[:2] == pytest.approx([0, 0], abs=rounding(2))  # a term for each class
    assert frequency_score(X)[:2].tolist() == [0, 300]


def test_select_top_knows_the_scores_by_name():
    X, y = word_counts(n_classes=3)
    select = SelectTop("odds_ratio", n_features_to_select=5).fit(X, y)
    assert np.array_equal(select.scores_, odds_ratio_score(X, y).max(axis=0))
    assert SelectTop("random", n_features_to_select=5, random_state=0).fit(X).get_support().sum() == 5


def test_odds_find_the_words_of_a_rare_topic_and_information_gain_also_boilerplate():
    X, y, truth = make_topic_words(random_state=3)
    odds, gain = (TextFeatureScorer(name, n_features_to_select=100).fit(X, y) for name in ("odds_ratio", "info_gain"))
    assert truth["topic"][odds.support_].mean() > 0.9
    assert truth["boilerplate"][gain.support_].mean() > 0.25
    assert not truth["boilerplate"][odds.support_].any()


def test_probabilities_are_those_of_the_truth():
    X, y, truth = make_topic_words(n_samples=20_000, share=0.5, n_neutral=100, random_state=0)
    found = TextFeatureScorer().fit(X, y).class_probabilities_
    assert np.abs(found - truth["probabilities"]).max() < 5 * np.sqrt(0.25 / 10_000)


def test_inside_a_pipeline_and_a_selection_curve():
    X, y, _ = make_topic_words(n_samples=1500, n_neutral=300, share=0.1, random_state=0)
    model = make_pipeline(TextFeatureScorer(n_features_to_select=50), LinearSVC()).fit(X, y)
    assert model.score(X, y) > 0.9
    curve = selection_curve(TextFeatureScorer(), NaiveBayesText(), X, y, sizes=[10, 100], scoring="f1", random_state=0)
    assert curve.sizes.tolist() == [10, 100, 800]
    assert curve.mean[1] > curve.mean[0]


def test_names_of_a_frame_are_kept():
    X, y = word_counts(n_words=3)
    frame = pd.DataFrame(X, columns=["goal", "match", "the"])
    select = TextFeatureScorer(n_features_to_select=2).fit(frame, y)
    assert len(select.get_feature_names_out()) == 2
    assert list(select.feature_names_in_) == ["goal", "match", "the"]


def test_what_is_no_count_is_refused_or_told():
    X, y = word_counts()
    with pytest.raises(ValueError, match="Negative values"):
        TextFeatureScorer().fit(X - 1, y)
    with pytest.raises(ValueError, match="Negative values"):
        odds_ratio_score(X - 1, y)
    with pytest.warns(UserWarning, match="occurs in all rows or in none"):
        TextFeatureScorer().fit(X + 0.5, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TextFeatureScorer().fit(X, y)


def test_what_cannot_be_done_is_told():
    X, y = word_counts(n_classes=3)
    with pytest.raises(ValueError, match="'spam' is not a class of y; the classes are 0, 1, 2"):
        TextFeatureScorer(pos_label="spam").fit(X, y)
    with pytest.raises(ValueError, match="y has 3 classes; say which one by pos_label"):
        TextFeatureScorer(n_features_to_select="pos_vocab").fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        TextFeatureScorer().fit(X, np.ones(300))
    with pytest.raises(ValueError, match="'score_func' parameter"):
        TextFeatureScorer("chi2").fit(X, y)


def test_wide_and_long_tables_and_a_single_column():
    rng = np.random.default_rng(0)
    wide = sparse.random_array((60, 20_000), density=0.01, rng=rng, format="csr")
    y = np.repeat([0, 1], 30)
    assert TextFeatureScorer(n_features_to_select=10).fit(wide, y).support_.sum() == 10
    long = (rng.random((200_000, 20), dtype=np.float32) < 0.1).astype(np.float32)
    target = (long[:, 7] > 0) ^ (rng.random(200_000) < 0.2)
    assert TextFeatureScorer(n_features_to_select=1).fit(long, target).ranking_[7] == 1
    assert TextFeatureScorer().fit(long[:, [7]], target).support_.tolist() == [True]


@pytest.mark.parametrize("method", [TextFeatureScorer(), WordClusters(), NaiveBayesText()])
@pytest.mark.parametrize("column", [list, np.array, pl.Series])
def test_texts_are_answered_with_the_step_that_counts_their_words(method, column):
    texts = column(["a cat and a dog", "a road", "a bus", "a dog"])
    with pytest.raises(ValueError, match=rf"'a cat and a dog', and {type(method).__name__} .*CountVectorizer"):
        method.fit(texts, ["pet", "way", "way", "pet"])
