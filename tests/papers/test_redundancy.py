"""Filters that see redundancy: Peng, Long and Ding (2005), Hall (2000), Yu and Liu (2003), Koller and Sahami (1996)."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fewer.select import CFS, FCBF, MRMR, KollerSahami
from fewer.select.information._levels import Information, discretise
from fewer.select.redundancy._cfs import merit
from tolerances import rounding

VARIANTS = {
    "MID": {},
    "MIQ": {"criterion": "quotient"},
    "FCQ": {"relevance": "f", "redundancy": "correlation", "criterion": "quotient"},
    "FCD": {"relevance": "f", "redundancy": "correlation"},
}


def make_groups(seed, n_rows=300):
    """Five hidden numbers that decide a class, eight noisy copies of each, and 60 columns of noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 5))
    y = (hidden @ [1.0, 0.9, 0.8, 0.7, 0.6] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)
    copies = np.repeat(hidden, 8, axis=1) + 0.3 * rng.normal(size=(n_rows, 40))
    return np.column_stack([copies, rng.normal(size=(n_rows, 60))]), y


def n_groups_covered(columns):
    return len({column // 8 for column in columns if column < 40})


def make_simple(rng, n_rows):
    X = rng.uniform(size=(n_rows, 9))
    target = X[:, 0] ** 2 + 2 * X[:, 1]
    return X, (target > np.median(target)).astype(int)


def make_friedman(rng, n_rows):
    X = rng.uniform(size=(n_rows, 10))
    target = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, (target + rng.normal(size=n_rows) > 14).astype(int)


@pytest.mark.claim("mrmr", 1)
def test_mrmr_takes_no_two_copies_of_a_column(figure):
    n_pairs = 0
    for seed in range(5):
        X, y = make_groups(seed, n_rows=120)
        originals = X[:, [0, 8, 16, 24, 32, *range(40, 60)]]
        X = np.column_stack([originals, 2 * originals, -originals])
        for options in VARIANTS.values():
            kept = MRMR(25, **options).fit(X, y).get_support(indices=True) % 25
            n_pairs += 25 - len(set(kept))
    figure(f"{n_pairs} pairs of copies among the first 25 of 75 columns, in 20 runs")
    assert n_pairs == 0


@pytest.mark.claim("mrmr", 2)
def test_mrmr_covers_what_relevance_alone_repeats(figure):
    covered = {name: [] for name in ("relevance", *VARIANTS)}
    scores = {"relevance": [], "MID": []}
    for seed in range(10):
        X, y = make_groups(seed)
        for name, options in VARIANTS.items():
            covered[name].append(n_groups_covered(MRMR(5, **options).fit(X, y).get_support(indices=True)))
        covered["relevance"].append(n_groups_covered(SelectKBest(f_classif, k=5).fit(X, y).get_support(indices=True)))
        for name, select in [("relevance", SelectKBest(f_classif, k=5)), ("MID", MRMR(5))]:
            scores[name].append(cross_val_score(make_pipeline(select, GaussianNB()), X, y, cv=5).mean())
    means = {name: float(np.mean(values)) for name, values in covered.items()}
    gain = np.mean(scores["MID"]) - np.mean(scores["relevance"])
    figure(
        ", ".join(f"{name} {value:.1f}" for name, value in means.items())
        + f" of 5 groups; naive Bayes {np.mean(scores['MID']):.1%} instead of {np.mean(scores['relevance']):.1%}"
    )
    assert min(means["MID"], means["MIQ"], means["FCQ"]) > 4.5
    assert means["relevance"] < 2
    assert means["FCD"] < 2  # F is in the hundreds, and a correlation at most 1
    assert gain > 0.08


@pytest.mark.claim("cfs", 1)
def test_merit_is_the_correlation_of_the_sum_with_the_target(figure):
    rng = np.random.default_rng(0)
    worst = 0.0
    for n_columns in (1, 2, 5, 20):
        X = rng.normal(size=(200, 1)) * rng.uniform(0.5, 2, n_columns) + rng.normal(size=(200, n_columns))
        y = X.sum(axis=1) + 3 * rng.normal(size=200)
        r = np.corrcoef(np.column_stack([X, y]).T)
        assert (r > 0).all()  # the merit takes absolute correlations
        total = ((X - X.mean(axis=0)) / X.std(axis=0)).sum(axis=1)
        worst = max(worst, abs(merit(r[-1, :-1], r[:-1, :-1]) - np.corrcoef(total, y)[0, 1]))
    figure(f"largest difference {worst:.1g}")
    assert worst < rounding(200 + 20)


@pytest.mark.claim("cfs", 2)
def test_a_copy_beside_others_can_raise_the_merit(figure):
    alone = merit(np.array([0.8, 0.8]), np.ones((2, 2)))
    assert alone == pytest.approx(0.8)
    independent = np.eye(2)
    with_copy = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    before = merit(np.array([0.8, 0.5]), independent)
    after = merit(np.array([0.8, 0.8, 0.5]), with_copy)
    figure(f"{before:.3f} without, {after:.3f} with the copy")
    assert after > before + 0.01
    X, y = load_breast_cancer(return_X_y=True)
    kept = CFS().fit(np.column_stack([X, X]), y).get_support(indices=True) % 30
    assert len(set(kept)) == len(kept)


@pytest.mark.claim("cfs", 3)
def test_cfs_keeps_as_few_columns_as_in_the_table(figure):
    kept = {"Simple": [], "Friedman": []}
    for seed in range(50):
        for name, make in [("Simple", make_simple), ("Friedman", make_friedman)]:
            X, y = make(np.random.default_rng(seed), 300)
            select = CFS().fit(X[:270], y[:270])
            kept[name].append(select.n_features_to_select_)
    means = {name: float(np.mean(numbers)) for name, numbers in kept.items()}
    figure(f"Simple {means['Simple']:.2f} of 9 columns, Friedman {means['Friedman']:.2f} of 10")
    assert means["Simple"] == pytest.approx(1.0, abs=0.05)
    # The number of rows is not told; 300 here.
    assert means["Friedman"] == pytest.approx(3.05, abs=0.6)


@pytest.mark.claim("fcbf", 1)
def test_fcbf_keeps_one_of_several_copies(figure):
    X, y = load_breast_cancer(return_X_y=True)
    alone = FCBF().fit(X, y).get_support(indices=True)
    shuffled = np.random.default_rng(0).permutation(120)
    copies = FCBF().fit(np.tile(X, 4)[:, shuffled], y).get_support(indices=True)
    figure(f"{len(alone)} of 30 columns; {len(copies)} of 120 with every column four times")
    assert sorted(shuffled[copies] % 30) == sorted(alone)


@pytest.mark.claim("fcbf", 2)
def test_every_dropped_column_has_a_better_one_that_is_closer_than_the_target(figure):
    X, y = make_groups(0)
    select = FCBF().fit(X, y)
    information = Information(discretise(X, y, method="mdl"))
    kept = select.get_support(indices=True)
    dropped = np.flatnonzero(select.dropped_by_ >= 0)
    for column in dropped:
        by = select.dropped_by_[column]
        assert by in kept
        assert select.scores_[by] >= select.scores_[column]
        assert information.symmetric_uncertainty_with_column(by)[column] >= select.scores_[column] - rounding(len(y))
    for column in kept:
        better = kept[select.scores_[kept] > select.scores_[column]]
        assert (information.symmetric_uncertainty_with_column(column)[better] < select.scores_[column]).all()
    figure(f"{len(kept)} kept, from {n_groups_covered(kept)} of 5 groups; {len(dropped)} dropped by one of them")
    assert n_groups_covered(kept) == 5
    assert len(dropped) > 20


@pytest.mark.claim("koller-sahami", 1)
def test_without_conditioning_columns_the_order_is_that_of_mutual_information(figure):
    for seed in range(5):
        X, y = make_groups(seed)
        select = KollerSahami(5, blanket_size=0).fit(X, y)
        relevance = Information(discretise(X)).with_target(y)
        steps = np.diff(relevance[np.argsort(select.ranking_)])
        assert (steps < rounding(len(y))).all()  # levels of equal counts tie
    figure("equal in 5 data sets of 100 columns")


@pytest.mark.claim("koller-sahami", 2)
def test_a_column_with_a_blanket_is_removed_before_any_that_tells_something(figure):
    n_right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        useful = rng.integers(3, size=(400, 4))
        y = (useful.sum(axis=1) + rng.integers(3, size=400) > 4).astype(int)
        functions = np.column_stack([useful[:, 0] > 1, useful[:, 1] > 0, useful[:, 2] > 0])
        X = np.column_stack([functions, useful])
        n_right += KollerSahami(4, blanket_size=1).fit(X, y).get_support()[3:].all()
    figure(f"functions of other columns go first in {n_right} of 20 data sets")
    assert n_right == 20


@pytest.mark.claim("koller-sahami", 3)
def test_the_two_columns_of_an_exclusive_or_are_kept_beside_copies_but_lost_among_noise(figure):
    def n_found(n_noise, blanket_size):
        found = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            a, b = rng.integers(2, size=(2, 400))
            X = np.column_stack([a, b, a, 1 - b, rng.integers(2, size=(400, n_noise))])
            kept = KollerSahami(2, blanket_size=blanket_size).fit(X, a ^ b).get_support(indices=True)
            found += {column % 2 for column in kept if column < 4} == {0, 1} and kept.max() < 4
        return found

    beside_copies, among_noise = n_found(0, 1), {size: n_found(8, size) for size in (1, 2, 3)}
    figure(
        f"beside copies {beside_copies} of 10; among 8 columns of noise "
        + ", ".join(f"{found} with K = {size}" for size, found in among_noise.items())
    )
    assert beside_copies == 10
    assert among_noise[1] <= 3
    assert n_found(0, 0) <= 3
