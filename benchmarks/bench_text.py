"""Scores of words on sparse counts, and rates of occurrence, beside scikit-learn and plain scipy."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest, UnavailableError


def word_counts(n_rows: int, n_words: int, n_entries: int) -> tuple[sparse.csc_array, np.ndarray]:
    """Counts of words in two classes, in places drawn at random."""
    rng = np.random.default_rng(0)
    places = rng.integers(n_rows, size=n_entries), rng.integers(n_words, size=n_entries)
    X = sparse.csc_array((np.ones(n_entries), places), shape=(n_rows, n_words))
    X.sum_duplicates()
    return X, rng.integers(0, 2, n_rows)


def seven_scores(n_rows: int, n_words: int, n_entries: int, folder: Path) -> Contest:
    """All seven formulas of text retrieval for every word; the positive class's row where there is one for each."""
    X, y = word_counts(n_rows, n_words, n_entries)

    def fewer() -> np.ndarray:
        from fewer import select

        of_all = (
            select.info_gain_score,
            select.cross_entropy_score,
            select.occurrence_mutual_info_score,
            select.frequency_score,
        )
        of_one = (select.odds_ratio_score, select.bns_score, select.occurrence_fisher_score)
        return np.stack([score(X, y) for score in of_all] + [score(X, y)[1] for score in of_one])

    def scipy() -> np.ndarray:
        from scipy.special import xlogy
        from scipy.stats import norm

        occurs = (X > 0).astype(float)
        members = sparse.csr_array((np.ones(n_rows), (y, np.arange(n_rows))))
        counts, sizes = (members @ occurs).toarray(), np.bincount(y)
        total, prior = counts.sum(axis=0), sizes[:, None] / n_rows
        present, absent = counts / n_rows, (sizes[:, None] - counts) / n_rows
        with np.errstate(divide="ignore", invalid="ignore"):
            here = np.where(present > 0, xlogy(present, present / (prior * total / n_rows)), 0).sum(axis=0)
            gone = np.where(absent > 0, xlogy(absent, absent / (prior * (1 - total / n_rows))), 0).sum(axis=0)
        rates = (counts + 1) / (sizes[:, None] + 2)
        q, p = rates
        overall = (prior * rates).sum(axis=0)
        apart = [
            np.abs((prior * np.log(rates / overall)).sum(axis=0)),
            np.log(p * (1 - q) / ((1 - p) * q)),
            norm.ppf(np.clip(p, 5e-4, 1 - 5e-4)) - norm.ppf(np.clip(q, 5e-4, 1 - 5e-4)),
            (p - q) ** 2 / (p * (1 - p) + q * (1 - q)),
        ]
        apart = [np.where(total > 0, score, 0.0) for score in apart]
        return np.stack([here + gone, here, apart[0], np.asarray(X.sum(axis=0)).ravel(), *apart[1:]])

    return Contest(ours={"fewer": fewer}, peers={"scipy": scipy}, objective=np.asarray, tolerance=1e-10)


def information_gain(n_rows: int, n_words: int, n_entries: int, folder: Path) -> Contest:
    """Mutual information of occurrence and class, for every word."""
    X, y = word_counts(n_rows, n_words, n_entries)
    occurs = (X > 0).astype(float)

    def fewer() -> np.ndarray:
        from fewer.select import info_gain_score

        return info_gain_score(occurs, y)

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import mutual_info_classif

        return mutual_info_classif(occurs, y, discrete_features=True)

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=np.asarray, tolerance=1e-8)


def long_information_gain(n_rows: int, n_words: int, n_entries: int, folder: Path) -> Contest:
    """The same, where scikit-learn takes minutes."""
    if not os.environ.get("FEWER_LONG_BENCH"):
        raise UnavailableError("takes the peer minutes: set FEWER_LONG_BENCH=1 to run it")
    return information_gain(n_rows, n_words, n_entries, folder)


def one_score(n_rows: int, n_words: int, n_entries: int, folder: Path) -> Contest:
    """One score for every word: the odds ratio here, chi-square there, which are not the same number."""
    X, y = word_counts(n_rows, n_words, n_entries)

    def fewer() -> np.ndarray:
        from fewer.select import odds_ratio_score

        return odds_ratio_score(X, y)[1]

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import chi2

        return chi2(X, y)[0]

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=len, tolerance=0)


def rates_of_occurrence(n_rows: int, n_words: int, n_entries: int, folder: Path) -> Contest:
    """Fit of naive Bayes: logarithms of the rates at which words occur in each class."""
    X, y = word_counts(n_rows, n_words, n_entries)
    rows = X.tocsr()

    def rates(model: Any) -> np.ndarray:
        return model.fit(rows, y).feature_log_prob_

    def fewer() -> np.ndarray:
        from fewer.learn import NaiveBayesText

        return rates(NaiveBayesText())

    def scikit_learn() -> np.ndarray:
        from sklearn.naive_bayes import BernoulliNB

        return rates(BernoulliNB())

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=np.asarray, tolerance=1e-12)


LARGE = (20_000, 50_000, 2_000_000)

CASES = [
    Case("seven scores, 20,000 x 50,000, 2 million entries", partial(seven_scores, *LARGE)),
    Case("one score, 20,000 x 50,000, 2 million entries", partial(one_score, *LARGE)),
    Case("information gain, 20,000 x 200, 8,000 entries", partial(information_gain, 20_000, 200, 8_000), 3),
    Case("information gain, 20,000 x 50,000, 2 million entries", partial(long_information_gain, *LARGE), 1),
    Case("naive Bayes, 20,000 x 50,000, 2 million entries", partial(rates_of_occurrence, *LARGE)),
]
