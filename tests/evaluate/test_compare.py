"""Methods over data sets: scipy, the published example of Demšar (2006), closed forms, cliques and the picture."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from fewer.evaluate import compare_methods
from fewer.evaluate._compare import (
    _rank_tests,
    critical_difference,
    exact_signed_rank_p_value,
    holm_adjusted,
    maximal_cliques,
    ranks_of,
)

# Table 6 of Demšar (2006): AUC of C4.5 with its parameters m and cf left alone or tuned, on 14 data sets.
DEMSAR = pd.DataFrame(
    [
        (0.763, 0.768, 0.771, 0.798),
        (0.599, 0.591, 0.590, 0.569),
        (0.954, 0.971, 0.968, 0.967),
        (0.628, 0.661, 0.654, 0.657),
        (0.882, 0.888, 0.886, 0.898),
        (0.936, 0.931, 0.916, 0.931),
        (0.661, 0.668, 0.609, 0.685),
        (0.583, 0.583, 0.563, 0.625),
        (0.775, 0.838, 0.866, 0.875),
        (1.000, 1.000, 1.000, 1.000),
        (0.940, 0.962, 0.965, 0.962),
        (0.619, 0.666, 0.614, 0.669),
        (0.972, 0.981, 0.9751, 0.975),  # printed as equal, but ranked 2 and 3
        (0.957, 0.978, 0.946, 0.970),
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)


def test_the_published_example():
    comparison = compare_methods(DEMSAR)
    np.testing.assert_allclose(comparison.mean_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    # Printed without the correction for ties: chi2 = 9.28, F = 3.69, critical difference 1.25 (1.12 at 10%).
    uncorrected = 12 * 14 / 20 * (np.sum(comparison.mean_ranks**2) - 4 * 25 / 4)
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.005)
    assert comparison.friedman > uncorrected
    assert comparison.critical_difference == pytest.approx(1.25, abs=0.005)
    # "At p = 0.05 ... not even the best and the worst are different; at 10%, C4.5 is worse than C4.5+m and C4.5+m+cf."
    assert not comparison.differs.any()
    assert comparison.cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)
    lenient = compare_methods(DEMSAR, significance_level=0.1)
    assert lenient.critical_difference == pytest.approx(1.12, abs=0.005)
    assert [DEMSAR.columns[j] for j in np.flatnonzero(lenient.differs[0])] == ["C4.5+m", "C4.5+m+cf"]
    assert lenient.cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


@pytest.mark.parametrize(
    ("alpha", "printed"),
    [
        (0.05, (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)),
        (0.10, (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920)),
    ],
)
def test_critical_values_are_those_of_the_printed_table(alpha, printed):
    for k, q in enumerate(printed, start=2):
        assert critical_difference(k, 10, alpha) / np.sqrt(k * (k + 1) / 60) == pytest.approx(q, abs=1.1e-3)


@pytest.mark.parametrize("ties", [False, True])
def test_friedmans_statistic_is_scipys(ties):
    scores = np.random.default_rng(0).normal(size=(20, 5)) + np.array([0, 0, 0.3, 0.5, 1])
    scores = scores.round(0) if ties else scores
    comparison = compare_methods(scores)
    expected = stats.friedmanchisquare(*scores.T)
    assert comparison.friedman == pytest.approx(expected.statistic)
    assert comparison.friedman_p == pytest.approx(expected.pvalue)
    iman = 19 * expected.statistic / (20 * 4 - expected.statistic)
    assert comparison.iman_davenport == pytest.approx(iman)
    assert comparison.p_value == comparison.iman_davenport_p == pytest.approx(stats.f.sf(iman, 4, 76))


def test_iman_and_davenport_is_the_analysis_of_variance_of_the_ranks():
    comparison = compare_methods(np.random.default_rng(1).normal(size=(12, 4)) + np.array([0, 0.2, 0.4, 0.8]))
    ranks = comparison.ranks
    between = 12 * np.sum((comparison.mean_ranks - 2.5) ** 2) / 3
    within = np.sum((ranks - comparison.mean_ranks) ** 2) / (3 * 11)
    assert comparison.iman_davenport == pytest.approx(between / within)


def test_equal_methods_are_told_apart_at_the_nominal_rate():
    rng = np.random.default_rng(2)
    rejected = np.mean([_rank_tests(ranks_of(rng.normal(size=(15, 4))))[3] < 0.05 for _ in range(400)])
    assert rejected == pytest.approx(0.05, abs=3.5 * np.sqrt(0.05 * 0.95 / 400))


def test_pairs_are_tested_by_wilcoxon_with_holms_correction():
    scores = np.random.default_rng(3).normal(size=(25, 3)) + np.array([0, 0.4, 1.5])
    single = [stats.wilcoxon(scores[:, i], scores[:, j]).pvalue for i, j in ((0, 1), (0, 2), (1, 2))]
    order = np.argsort(single)
    by_hand = np.empty(3)
    by_hand[order] = np.maximum.accumulate(np.array(single)[order] * [3, 2, 1]).clip(max=1)
    comparison = compare_methods(scores, test="wilcoxon")
    np.testing.assert_allclose(comparison.wilcoxon_p[[0, 0, 1], [1, 2, 2]], by_hand)
    np.testing.assert_array_equal(comparison.wilcoxon_p, comparison.wilcoxon_p.T)
    np.testing.assert_array_equal(comparison.differs, comparison.wilcoxon_p < 0.05)


def test_holms_correction_by_hand():
    p = np.ones((3, 3))
    p[0, 1] = p[1, 0] = 0.01
    p[0, 2] = p[2, 0] = 0.04
    p[1, 2] = p[2, 1] = 0.03
    np.testing.assert_allclose(holm_adjusted(p)[[0, 0, 1], [1, 2, 2]], [0.03, 0.06, 0.06])


def test_two_methods_are_compared_by_wilcoxon():
    scores = np.random.default_rng(4).normal(size=(20, 2)) + np.array([0, 1])
    comparison = compare_methods(scores, methods=["old", "new"])
    assert comparison.test == "wilcoxon"
    assert comparison.p_value == pytest.approx(stats.wilcoxon(scores[:, 0], scores[:, 1]).pvalue)
    assert np.isnan(comparison.friedman)
    assert np.isnan(comparison.critical_difference)
    assert comparison.reading.endswith("new has the best mean rank and is better than old.")


def test_errors_are_ranked_the_other_way_round():
    errors = np.array([[0.1, 0.2, 0.3]] * 6)
    assert compare_methods(errors, higher_is_better=False).mean_ranks.tolist() == [1, 2, 3]
    assert compare_methods(errors).mean_ranks.tolist() == [3, 2, 1]


def test_the_same_order_everywhere_and_no_order_at_all_have_their_p_values():
    same = compare_methods(np.tile([3.0, 2.0, 1.0], (8, 1)) + np.arange(8)[:, None])
    assert same.iman_davenport == np.inf
    assert same.p_value == 0
    assert same.friedman == pytest.approx(16)
    tied = compare_methods(np.ones((5, 3)))
    assert (tied.friedman, tied.p_value, tied.friedman_p) == (0, 1, 1)
    assert "no method is shown to be better" in tied.reading
    assert tied.wilcoxon_p.tolist() == np.ones((3, 3)).tolist()


def test_cliques_are_maximal_and_may_overlap():
    ranks = np.array([1.0, 2.0, 3.0, 4.0, 6.0])
    differs = np.abs(ranks[:, None] - ranks) > 1.5
    assert maximal_cliques(ranks, differs) == ((0, 1), (1, 2), (2, 3))
    assert maximal_cliques(ranks[::-1], np.abs(ranks[::-1, None] - ranks[::-1]) > 2.5) == ((4, 3, 2), (3, 2, 1), (1, 0))
    assert maximal_cliques(ranks, np.ones((5, 5), dtype=bool)) == ()
    assert maximal_cliques(ranks, np.zeros((5, 5), dtype=bool)) == ((0, 1, 2, 3, 4),)


def test_every_form_of_input_gives_the_same():
    expected = compare_methods(DEMSAR).mean_ranks
    by_set = {name: {f"set {i}": v for i, v in enumerate(DEMSAR[name])} for name in DEMSAR}
    by_set["C4.5"] = dict(reversed(by_set["C4.5"].items()))
    for form in (DEMSAR.to_numpy(), DEMSAR.to_dict("list"), pl.from_pandas(DEMSAR), by_set, DEMSAR.to_numpy().tolist()):
        np.testing.assert_array_equal(compare_methods(form).mean_ranks, expected)
    assert compare_methods(pl.from_pandas(DEMSAR)).methods == tuple(DEMSAR.columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"results": [[1.0, 2.0]]}, "at least 2 data sets"),
        ({"results": {"a": [1, 2], "b": [1]}}, "different numbers of scores"),
        ({"results": {"a": {"x": 1, "y": 2}, "b": {"x": 1, "z": 2}}}, r"same data sets: \['y', 'z'\]"),
        ({"results": {"a": {"x": 1, "y": 2}, "b": [1, 2]}}, "some methods have their scores by data set"),
        ({"results": {"a": [1, 2], "b": [1, np.nan]}}, "score of 'b' on data set 1 is nan"),
        ({"results": np.ones((3, 2)), "methods": ["a"]}, "1 names for 2 methods"),
        ({"results": np.ones((3, 2)), "test": "t"}, "'friedman' or 'wilcoxon'"),
        ({"results": np.ones((3, 2)), "significance_level": 1}, "significance_level=1"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare_methods(**arguments)


def test_the_result_reads_well_and_saves():
    comparison = compare_methods(DEMSAR)
    assert repr(comparison).splitlines()[1].split() == ["C4.5+m+cf", "1.964"]
    assert json.loads(json.dumps(comparison.to_dict()))["mean_ranks"]["C4.5"] == pytest.approx(3.143, abs=5e-4)
    assert "no single method is shown to be worse" in comparison.reading


@pytest.mark.parametrize("k", [2, 4, 7, 12])
def test_no_two_labels_or_bars_of_the_picture_meet(k):
    scores = np.random.default_rng(k).normal(size=(20, k)) + np.linspace(0, 1.5, k)
    comparison = compare_methods(scores)
    figure = comparison.plot()
    labels = [note for note in figure.layout.annotations if note.text.startswith("method")]
    assert len(labels) == len({(note.xanchor, note.y) for note in labels}) == k
    for side in ("left", "right"):
        heights = sorted(note.y for note in labels if note.xanchor == side)
        assert np.all(np.diff(heights) > 0.99)
    bars = [shape for shape in figure.layout.shapes if shape.line.width == 5]
    assert len(bars) == len(comparison.cliques)
    lowest_bar = min((bar.y0 for bar in bars), default=0)
    assert max(note.y for note in labels) < lowest_bar
    for one in bars:
        assert not any(
            other is not one and other.y0 == one.y0 and other.x0 <= one.x1 and one.x0 <= other.x1 for other in bars
        )


def test_pairs_compared_by_wilcoxon_are_not_told_a_critical_difference():
    scores = np.random.default_rng(0).normal(size=(8, 3))
    assert "critical difference" in repr(compare_methods(scores))
    assert "pairs by Wilcoxon's test" in repr(compare_methods(scores, test="wilcoxon"))
    assert "critical difference" not in repr(compare_methods(scores, test="wilcoxon"))


@pytest.mark.parametrize("n_sets", [3, 6, 9])
def test_exact_p_values_of_the_signed_rank_test_are_those_of_scipy(n_sets):
    rng = np.random.default_rng(n_sets)
    for digits in (0, 1, 8):  # zeros and ties, ties, neither
        differences = np.round(rng.normal(0.4, 1.0, size=n_sets), digits)
        expected = stats.wilcoxon(differences, zero_method="zsplit", method=stats.PermutationMethod(n_resamples=10_000))
        assert exact_signed_rank_p_value(differences) == pytest.approx(expected.pvalue)
