"""Reunanen (2006), Less biased measurement of feature selection benefits: cross-indexing."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewer.datasets import make_waveform
from fewer.evaluate import cross_index, selection_curve
from fewer.evaluate.curves._cross_index import indexed
from fewer.select import NearestNeighbourObjective, SequentialSearch
from fewer.theory import selection_bias_experiment
from tolerances import rounding

NEAREST = KNeighborsClassifier(1)


def forward_search(cv):
    """The paper's search, on columns standardised inside of each training set."""
    return make_pipeline(StandardScaler(), SequentialSearch(NearestNeighbourObjective(cv=cv), random_state=0))


def points(experiment):
    """Mean bias of the naive, outer, A and B estimates, in points."""
    return 100 * experiment.bias.mean(axis=0)


def estimates(scores, method):
    """Estimate of each matrix of a stack, with the last column as the full set."""
    sizes = np.arange(1, scores.shape[2] + 1)
    return indexed(scores, sizes, method=method, reduce="mean", tie="smallest", full=-1).recorded.mean(axis=1)


@pytest.mark.claim("less-biased", 1)
def test_a_is_never_above_the_largest_outer_mean(figure):
    rng = np.random.default_rng(0)
    n_matrices, largest = 0, -np.inf
    for n_folds in (2, 3, 5, 10):
        for n_sizes in (2, 10, 60, 200):
            # Half of them with the ties of accuracies on small folds.
            scores = rng.normal(0.7, 0.05, size=(700, n_folds, n_sizes))
            scores[::2] = np.round(scores[::2] * 20) / 20
            excess = estimates(scores, "A") - estimates(scores, "outer")
            assert (excess <= rounding(n_folds)).all()
            n_matrices, largest = n_matrices + len(excess), max(largest, excess.max())
    assert n_matrices >= 10_000

    dominated = rng.uniform(0.5, 0.6, size=(5, 12))
    dominated[:, 7] += 0.2
    outer, a = cross_index(dominated, "outer"), cross_index(dominated, "A")
    assert a.score == pytest.approx(outer.score, abs=rounding(5))
    assert a.size == outer.size == 8
    figure(f"{n_matrices:,} matrices, largest A - outer {largest:.1g}")


@pytest.mark.claim("less-biased", 2)
@pytest.mark.parametrize(("n_sizes", "outer_bias"), [(10, 0.034), (30, 0.046), (100, 0.056)])
def test_independent_scores_bias_outer_and_neither_a_nor_b(n_sizes, outer_bias, figure):
    # 8,000 matrices, because with 4,000 the standard error of A's mean is .0005
    scores = np.random.default_rng(n_sizes).normal(0.7, 0.05, size=(8000, 5, n_sizes))
    found = {method: estimates(scores, method) for method in ("outer", "A", "B")}
    bias = {method: values.mean() - 0.7 for method, values in found.items()}
    assert abs(bias["A"]) < 0.002
    assert abs(bias["B"]) < 0.002
    assert bias["outer"] == pytest.approx(outer_bias, rel=0.05)
    assert found["B"].std() < found["A"].std() / 2
    figure(
        f"D={n_sizes}: outer {bias['outer']:+.4f}, A {bias['A']:+.4f}, B {bias['B']:+.4f}; "
        f"sd A {found['A'].std():.3f}, B {found['B'].std():.3f}"
    )


@pytest.mark.claim("less-biased", 3)
def test_examples_computed_by_hand(figure):
    scores = [[0.90, 0.60, 0.70], [0.52, 0.80, 0.71], [0.60, 0.71, 0.81]]
    outer, a, b = (cross_index(scores, method) for method in ("outer", "A", "B"))
    assert (outer.size, outer.score) == (3, pytest.approx(0.740))
    assert a.fold_sizes.tolist() == [3, 3, 1]
    np.testing.assert_allclose(a.fold_scores, [0.70, 0.71, 0.60])
    assert (a.size, a.score) == (pytest.approx(7 / 3), pytest.approx(0.670))
    assert b.fold_sizes.tolist() == [1, 2, 3]
    np.testing.assert_allclose(b.fold_scores, [0.560, 0.655, 0.705])
    assert (b.size, b.score) == (2, pytest.approx(0.640))

    tied = [[0.9, 0.6, 0.7], [0.5, 0.8, 0.7], [0.6, 0.7, 0.8]]
    outer, a, b = (cross_index(tied, method) for method in ("outer", "A", "B"))
    assert (outer.size, outer.score) == (3, pytest.approx(2.2 / 3))
    assert a.fold_sizes.tolist() == [2, 1, 1]
    np.testing.assert_allclose(a.fold_scores, [0.6, 0.5, 0.6])
    assert a.score == pytest.approx(1.7 / 3)
    assert b.fold_sizes.tolist() == [1, 2, 3]
    assert b.score == pytest.approx(1.9 / 3)
    figure("all sizes and scores as computed by hand, ties included")


def check_breast_cancer(inner, n_repeats, figure):
    X, y = load_breast_cancer(return_X_y=True)
    found = selection_bias_experiment(forward_search(inner), NEAREST, X, y, n_repeats=n_repeats, random_state=0)
    naive, outer, a, b = points(found)
    assert naive > 2
    assert outer > 0.5
    assert abs(a) < 1.5
    assert abs(b) < 1.5
    assert naive > outer > a
    figure(f"inner {inner}, {n_repeats} repeats: {naive:.1f}, {outer:.1f}, {a:.1f}, {b:.1f}")


@pytest.mark.claim("less-biased", 4)
def test_bias_on_breast_cancer(figure):
    check_breast_cancer("loo", 12, figure)


@pytest.mark.slow
@pytest.mark.claim("less-biased", 4)
@pytest.mark.parametrize("inner", ["loo", 5])
def test_bias_on_breast_cancer_in_full(inner, figure):
    check_breast_cancer(inner, 40, figure)


def check_pure_noise(n_tables, figure):
    estimated, true = [], []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(400, 30)), rng.integers(2, size=400)
        found = selection_bias_experiment(
            forward_search("loo"), NEAREST, X, y, train_size=100, n_repeats=1, random_state=seed
        )
        estimated.append(found.estimated[0])
        true.append(found.true[0])
    naive, outer, a, b = 100 * np.mean(estimated, axis=0)
    assert naive > 15
    assert outer > 5
    assert a < 4
    assert b < 4
    # the truth is that there is nothing to gain: 300 rows and n_tables tables leave this much to chance
    assert np.abs(np.mean(true, axis=0)).max() < 4 * np.sqrt(0.5 / 300 / n_tables)
    figure(f"{n_tables} tables, gain claimed by naive, outer, A, B: {naive:.1f}, {outer:.1f}, {a:.1f}, {b:.1f}")


@pytest.mark.claim("less-biased", 5)
def test_gain_claimed_on_pure_noise(figure):
    check_pure_noise(20, figure)


@pytest.mark.slow
@pytest.mark.claim("less-biased", 5)
def test_gain_claimed_on_pure_noise_in_full(figure):
    check_pure_noise(150, figure)


def check_waveform(n_repeats, figure):
    X, y, _ = make_waveform(random_state=0)
    found = selection_bias_experiment(
        forward_search("loo"), NEAREST, X, y, train_size=200, n_repeats=n_repeats, random_state=0
    )
    naive, outer, a, b = points(found)
    assert naive > 8
    assert outer > 2.5
    assert abs(a) < 3
    figure(f"{n_repeats} repeats: {naive:.1f}, {outer:.1f}, {a:.1f}, {b:.1f}")


@pytest.mark.claim("less-biased", 6)
def test_bias_on_waveforms(figure):
    check_waveform(10, figure)


@pytest.mark.slow
@pytest.mark.claim("less-biased", 6)
def test_bias_on_waveforms_in_full(figure):
    check_waveform(60, figure)


class CountingBayes(GaussianNB):
    """Counts its fits; being derived, it is fitted for each size like any learner."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


class CountingSelector(SelectKBest):
    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        return super().fit(X, y)


@pytest.mark.claim("less-biased", 8)
def test_all_estimates_come_from_the_fits_of_one_nested_cross_validation(figure):
    X, y = load_breast_cancer(return_X_y=True)
    CountingBayes.fits = CountingSelector.fits = 0
    curve = selection_curve(CountingSelector(), CountingBayes(), X, y, n_repeats=2, random_state=0)
    plain = (2 * 5 * 30, 2 * 5)  # repeats x folds x sizes, and repeats x folds
    assert (CountingBayes.fits, CountingSelector.fits) == plain
    for method in ("outer", "A", "B"):
        curve.cross_index(method)
    assert (CountingBayes.fits, CountingSelector.fits) == plain
    figure(f"{CountingBayes.fits} fits of the learner and {CountingSelector.fits} of the selector for all three")
