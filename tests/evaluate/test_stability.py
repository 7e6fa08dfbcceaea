"""Stability of selections: closed forms, bounds, chance, intervals, and the forms of input."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats

from fewer.evaluate import selection_stability, stability_difference
from fewer.evaluate._stability import chance_jaccard
from tolerances import rounding


def bernoulli(shares, n_selections, seed):
    return np.random.default_rng(seed).random((n_selections, len(shares))) < np.asarray(shares)


def true_stability(shares):
    q = np.mean(shares)
    return 1 - np.mean(np.multiply(shares, 1 - np.asarray(shares))) / (q * (1 - q))


def test_a_small_case_by_hand():
    # h = (1, 3/4, 1/2, 0), 4/3 h (1 - h) = (0, 1/4, 1/3, 0), q = 9/16.
    masks = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]])
    stability = selection_stability(masks)
    assert stability.value == pytest.approx(1 - (7 / 48) / (9 / 16 * 7 / 16))
    assert stability.frequencies.tolist() == [1, 0.75, 0.5, 0]
    assert stability.sizes.tolist() == [2, 2, 2, 3]


def test_it_is_one_only_for_equal_selections():
    rng = np.random.default_rng(0)
    one = rng.random(30) < 0.3
    masks = np.tile(one, (10, 1))
    equal = selection_stability(masks)
    assert (equal.value, equal.variance, equal.interval) == (1.0, 0.0, (1.0, 1.0))
    masks[0, 0] = ~masks[0, 0]
    assert selection_stability(masks).value < 1


@pytest.mark.parametrize("sizes", [(5,), (1, 20), (3, 10, 35)])
def test_random_selections_of_any_sizes_have_stability_near_zero_on_average(sizes):
    shares = np.resize(sizes, 12) / 40
    expected = -shares.var() / (11 * shares.mean() * (1 - shares.mean()))
    assert -0.05 < expected <= 0
    rng = np.random.default_rng(1)
    values = []
    for _ in range(400):
        masks = np.zeros((12, 40), dtype=bool)
        for row in range(12):
            masks[row, rng.choice(40, size=sizes[row % len(sizes)], replace=False)] = True
        values.append(selection_stability(masks).value)
    assert np.mean(values) == pytest.approx(expected, abs=4 * np.std(values) / np.sqrt(400))


def test_disjoint_selections_reach_the_lower_bound():
    for n_selections in (2, 3, 6):
        disjoint = np.eye(n_selections, dtype=bool)
        stability = selection_stability(disjoint)
        assert stability.value == pytest.approx(-1 / (n_selections - 1))
        assert n_selections == 2 or stability.interval[0] >= -1 / (n_selections - 1) - rounding(disjoint.size)
    rng = np.random.default_rng(2)
    for _ in range(200):
        masks = rng.random((rng.integers(2, 8), rng.integers(2, 12))) < rng.random()
        value = selection_stability(masks).value
        assert np.isnan(value) or -1 / (len(masks) - 1) - rounding(masks.size) <= value <= 1


def test_with_equal_sizes_it_is_kunchevas_mean_over_pairs():
    rng = np.random.default_rng(3)
    n_features, k = 25, 6
    sets = [set(rng.choice(n_features, size=k, replace=False).tolist()) for _ in range(9)]
    pairs = [(len(a & b) * n_features - k**2) / (k * (n_features - k)) for a, b in combinations(sets, 2)]
    for index in ("kuncheva", "nogueira"):
        assert selection_stability(sets, n_features=n_features, index=index).value == pytest.approx(np.mean(pairs))


def test_jaccard_is_the_mean_over_pairs_with_its_jackknife_variance():
    sets = [{0, 1, 2}, {0, 1}, {0, 3}, {2}, set()]
    values = {
        pair: len(a & b) / len(a | b)
        for pair, (a, b) in zip(combinations(range(5), 2), combinations(sets, 2), strict=True)
    }
    stability = selection_stability(sets, n_features=6, index="jaccard")
    assert stability.value == pytest.approx(np.mean(list(values.values())))
    left_out = [np.mean([v for pair, v in values.items() if i not in pair]) for i in range(5)]
    assert stability.variance == pytest.approx(4 / 5 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    assert np.isnan(selection_stability([{0}, {0, 1}], n_features=3, index="jaccard").variance)


def test_two_empty_selections_share_everything():
    assert selection_stability([set(), set(), {0}], n_features=2, index="jaccard").value == pytest.approx(1 / 3)


def test_the_chance_level_of_jaccard_is_near_that_of_random_selections():
    rng = np.random.default_rng(4)
    found = []
    for _ in range(100):
        masks = np.array([np.isin(np.arange(60), rng.choice(60, 15, replace=False)) for _ in range(6)])
        found.append(selection_stability(masks, index="jaccard"))
    assert np.mean([one.value for one in found]) == pytest.approx(found[0].chance, abs=0.01)
    assert found[0].chance == pytest.approx(3.75 / 26.25)


def test_the_variance_agrees_with_the_infinitesimal_jackknife():
    masks = bernoulli(np.linspace(0.05, 0.9, 15), 40, seed=5)

    def weighted_index(weights):
        shares = weights @ masks
        q = shares.mean()
        return 1 - 40 / 39 * np.mean(shares * (1 - shares)) / (q * (1 - q))

    step, even = 1e-6, np.full(40, 1 / 40)
    slopes = [
        (weighted_index((1 - step) * even + step * np.eye(40)[i]) - weighted_index(even)) / step for i in range(40)
    ]
    # The jackknife leaves a whole selection out, not a little of it, hence the tolerance.
    assert selection_stability(masks).variance == pytest.approx(np.sum(np.square(slopes)) / 40**2, rel=0.15)


@pytest.mark.parametrize("kind", ["mixed", "sparse"])
def test_the_interval_covers_the_truth_at_its_rate(kind):
    shares = {"mixed": np.linspace(0.02, 0.95, 30), "sparse": np.r_[np.full(5, 0.8), np.full(95, 0.03)]}[kind]
    truth, n_runs = true_stability(shares), 300
    inside = 0
    for seed in range(n_runs):
        low, high = selection_stability(bernoulli(shares, 60, seed), confidence_level=0.9).interval
        inside += low <= truth <= high
    assert inside / n_runs == pytest.approx(0.9, abs=3.5 * np.sqrt(0.9 * 0.1 / n_runs))


def test_the_variance_is_that_of_repeated_draws():
    found = [selection_stability(bernoulli(np.linspace(0, 1, 20), 80, seed)) for seed in range(300)]
    assert np.mean([one.variance for one in found]) == pytest.approx(
        np.var([one.value for one in found]), rel=3 * np.sqrt(2 / 300)
    )


def test_equal_stabilities_differ_at_the_nominal_rate_and_unequal_ones_are_found():
    shares, other = np.r_[np.full(5, 0.8), np.full(20, 0.1)], np.r_[np.full(5, 0.5), np.full(20, 0.1)]
    p_values, power = [], []
    for seed in range(200):
        first = selection_stability(bernoulli(shares, 50, seed))
        p_values.append(stability_difference(first, selection_stability(bernoulli(shares, 50, 10_000 + seed))).p_value)
        power.append(stability_difference(first, selection_stability(bernoulli(other, 50, 20_000 + seed))).p_value)
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=3.5 * np.sqrt(0.05 * 0.95 / 200))
    assert np.mean(np.array(power) < 0.05) > 0.9


def test_pairing_sharpens_the_difference_of_selections_from_the_same_rows():
    first = bernoulli(np.linspace(0.05, 0.9, 20), 60, seed=0)
    second = first.copy()
    second[:, 0] = ~second[:, 0]
    one, two = selection_stability(first), selection_stability(second)
    loose, sharp = stability_difference(one, two), stability_difference(one, two, paired=True)
    assert loose.difference == sharp.difference == pytest.approx(one.value - two.value)
    assert np.diff(sharp.interval) < np.diff(loose.interval) / 2
    welch = (one.variance + two.variance) ** 2 / ((one.variance**2 + two.variance**2) / 59)
    assert loose.p_value == pytest.approx(2 * stats.t.sf(abs(loose.statistic), welch))
    assert sharp.p_value == pytest.approx(2 * stats.t.sf(abs(sharp.statistic), 59))


def test_stabilities_that_do_not_vary_differ_for_sure_or_not_at_all():
    firm = selection_stability(np.tile([True, False, True], (5, 1)))
    assert stability_difference(firm, firm).p_value == 1.0
    assert repr(stability_difference(firm, firm)) == "StabilityDifference: +0.000 (+0.000 to +0.000), p = 1"
    with pytest.raises(TypeError, match=r"0\.3 is no result of selection_stability"):
        stability_difference(firm, 0.3)


@pytest.mark.parametrize(
    ("masks", "what"), [(np.zeros((4, 6), bool), "no column"), (np.ones((4, 6), bool), "all columns")]
)
def test_selecting_everything_or_nothing_is_said_to_have_no_stability(masks, what):
    stability = selection_stability(masks)
    assert np.isnan(stability.value)
    assert stability.reading == f"Every selection has {what}, so nothing was selected and stability is not defined."
    with pytest.raises(ValueError, match="not defined"):
        stability_difference(stability, stability)


def test_every_form_of_input_gives_the_same():
    masks = bernoulli([0.9, 0.5, 0.2, 0.4], 8, seed=0)
    names = ["a", "b", "c", "d"]
    expected = selection_stability(masks).value
    numbers = [np.flatnonzero(row) for row in masks]
    forms = [
        ({"supports": masks.astype(int)}, "0 and 1"),
        ({"supports": masks.tolist()}, "lists of bool"),
        ({"supports": list(masks)}, "list of arrays"),
        ({"supports": pd.DataFrame(masks, columns=names)}, "frame"),
        ({"supports": sparse.csr_array(masks)}, "sparse"),
        ({"supports": numbers, "n_features": 4}, "arrays of numbers"),
        ({"supports": [set(row.tolist()) for row in numbers], "n_features": 4}, "sets"),
        ({"supports": [[names[j] for j in row] for row in numbers], "feature_names": names}, "names"),
    ]
    for arguments, form in forms:
        assert selection_stability(**arguments).value == expected, form


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"supports": [[True, False]]}, "There is 1 selection; stability is about how selections agree"),
        ({"supports": [{1}, {2}]}, "give n_features or feature_names"),
        (
            {"supports": [{1}, {7}], "n_features": 5},
            "Selection 1 has the column 7, which is not among the columns 0 to 4",
        ),
        ({"supports": [["a"], ["z"]], "feature_names": ["a", "b"]}, "'z', which is not among feature_names"),
        ({"supports": ["ab", "b"], "feature_names": ["a", "b"]}, "Selection 0 is 'ab'"),
        ({"supports": [[True], [True, False]]}, "different lengths"),
        ({"supports": np.array([[0, 2], [1, 1]])}, "True or 1 for a column chosen"),
        ({"supports": np.eye(3), "n_features": 4}, "3 columns, not the 4"),
        ({"supports": np.eye(2), "feature_names": ["a", "a"]}, "a name twice"),
        ({"supports": [{0}, {0, 1}], "n_features": 3, "index": "kuncheva"}, "these have 1 to 2 columns"),
        ({"supports": np.eye(3), "index": "dice"}, "'nogueira', 'jaccard' or 'kuncheva'"),
        ({"supports": np.eye(3), "confidence_level": 0}, "confidence_level=0"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        selection_stability(**arguments)


def test_differences_need_a_corrected_index_and_equal_numbers_when_paired():
    one = selection_stability(np.eye(3), index="jaccard")
    with pytest.raises(ValueError, match="not corrected for chance"):
        stability_difference(one, one)
    with pytest.raises(ValueError, match="Paired selections must be as many"):
        stability_difference(selection_stability(np.eye(3)), selection_stability(np.eye(4)), paired=True)


def test_readings_follow_the_value():
    strong = selection_stability(bernoulli(np.r_[np.full(5, 0.97), np.full(45, 0.005)], 60, 0))
    weak = selection_stability(bernoulli(np.r_[np.full(5, 0.5), np.full(45, 0.1)], 60, 0))
    chance = selection_stability(bernoulli(np.full(50, 0.1), 60, 3))
    assert "excellent" in strong.reading
    assert "poor" in weak.reading
    assert "better than random ones" in chance.reading
    assert "by chance" in selection_stability(np.eye(3), index="jaccard").reading


def test_the_result_reads_well_saves_and_plots():
    names = [f"gene {number}" for number in range(60)]
    masks = bernoulli(np.r_[np.full(5, 0.9), np.full(55, 0.1)], 30, 0)
    stability = selection_stability(masks, feature_names=names)
    assert repr(stability).startswith(f"Stability: {stability.value:.3f} (")
    assert json.loads(json.dumps(stability.to_dict()))["frequencies"]["gene 0"] == stability.frequencies[0]
    figure = stability.plot(n_features=20)
    heights = np.array(figure.data[0].y)
    assert len(heights) == 20
    assert (np.diff(heights) <= 0).all()
    assert figure.data[1].y[0] == pytest.approx(masks.mean())
    assert figure.data[2].y[0] == stats.binom.ppf(0.95, 30, masks.mean()) / 30
    ever = masks.any(axis=0).sum()
    assert f"({ever - 20} more not shown); {60 - ever} never chosen" in figure.layout.xaxis.title.text


@pytest.mark.parametrize("n_selections", [3, 5, 10])
def test_the_interval_covers_the_truth_with_few_selections(n_selections):
    shares, n_runs = np.r_[np.full(5, 0.8), np.full(25, 0.08)], 500
    truth, inside = true_stability(shares), 0
    for seed in range(n_runs):
        low, high = selection_stability(bernoulli(shares, n_selections, seed)).interval
        inside += low <= truth <= high
    assert inside / n_runs >= 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / n_runs)


def test_the_variance_is_the_jackknife():
    masks = bernoulli(np.linspace(0.1, 0.9, 12), 7, seed=3)
    without = np.array([selection_stability(np.delete(masks, i, axis=0)).value for i in range(7)])
    expected = 6 / 7 * np.sum((without - without.mean()) ** 2)
    assert selection_stability(masks).variance == pytest.approx(expected)


def test_two_selections_have_a_value_but_no_interval():
    pair = selection_stability([{0, 1}, {0, 2}], n_features=6)
    assert pair.value == pytest.approx(0.25)
    assert np.isnan(pair.variance)
    assert np.isnan(pair.interval).all()
    assert pair.reading == "Stability 0.25; 2 selections are too few for an interval."
    assert pair.plot().layout.title.text == "Stability 0.25"
    with pytest.raises(ValueError, match="three or more are needed"):
        stability_difference(pair, pair)
    with pytest.raises(ValueError, match="three or more are needed"):
        stability_difference(pair, selection_stability([{0, 1}, {0, 2}, {0, 1}], n_features=6))


def test_what_chance_shares_is_that_of_the_sizes_alone():
    masks = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)
    # |A| |B| / p columns are common: 1/2 of a union of 5/2, and none with the empty selection.
    assert chance_jaccard(masks) == pytest.approx((0.2 + 0 + 0) / 3)
    assert chance_jaccard(masks[[2, 2]]) == 1.0


def test_a_frame_brings_the_names_of_its_columns():
    masks = bernoulli(np.linspace(0.1, 0.9, 4), 10, seed=0)
    names = ("age", "dose", "sex", "weight")
    assert selection_stability(pd.DataFrame(masks, columns=names)).feature_names == names
    assert selection_stability(pl.DataFrame(masks, schema=names)).feature_names == names
    assert selection_stability(pd.DataFrame(masks)).feature_names == (0, 1, 2, 3)


def test_the_supports_of_a_curve_are_taken_as_they_are():
    masks = bernoulli(np.linspace(0.1, 0.9, 8), 10, seed=0)
    assert selection_stability(masks.reshape(2, 5, 8)).value == selection_stability(masks).value


def test_a_list_of_zeros_and_ones_is_not_read_as_column_numbers():
    with pytest.raises(ValueError, match=r"Selection 0 names a column twice.*pass all masks as one array"):
        selection_stability([[1, 0, 1], [1, 1, 0]], n_features=3)


def test_only_columns_that_were_ever_chosen_are_drawn():
    figure = selection_stability([{0, 1}, {0, 2}, {0, 1}], n_features=500).plot()
    assert len(figure.data[0].y) == 3
    assert "497 never chosen" in figure.layout.xaxis.title.text


def test_the_interval_ends_where_no_stability_can_lie():
    apart = selection_stability([{0, 1}, {2, 3}, {0, 4}], n_features=10, confidence_level=0.99)
    assert apart.value > -0.5
    assert apart.interval == (-0.5, 1.0)
    assert (
        selection_stability([{0, 1}, {2, 3}, {0, 4}], n_features=10, confidence_level=0.99, index="jaccard").interval[0]
        == 0
    )
