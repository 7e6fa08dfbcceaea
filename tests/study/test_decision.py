"""The decision: the fewest columns that are good enough, scored on other folds, and what may be claimed of them."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from fewer.evaluate import corrected_interval
from fewer.study.answers._decision import Cells, Rule, choose, claim


def cells(scores, sizes, needed=None, candidates=None):
    scores = np.asarray(scores, dtype=float)
    sizes = np.asarray(sizes)
    return Cells(
        np.arange(len(sizes)) if candidates is None else np.asarray(candidates),
        sizes,
        sizes if needed is None else np.asarray(needed),
        scores[None] if scores.ndim == 2 else scores,
    )


BASELINE = np.full((1, 3), 0.5)


def test_parsimony_is_a_share_of_the_gain_over_the_baseline():
    """The gain is 0.4: a share of 0.1 gives up 0.04 and reaches two columns, 0.05 gives up 0.02 and does not."""
    table = cells([[0.6, 0.865, 0.885, 0.9]] * 3, [1, 2, 4, 8])
    assert choose(table, BASELINE, Rule(0.0)).cell == 3
    assert choose(table, BASELINE, Rule(0.05)).cell == 2
    assert choose(table, BASELINE, Rule(0.1)).cell == 1
    assert choose(table, np.full((1, 3), 0.8), Rule(0.1)).cell == 3


def test_where_the_best_errs_little_fewer_columns_may_add_a_share_of_its_errors_only():
    """The best lacks 0.02 to 1, twice a tenth of which is 0.004; a tenth of the gain of 0.48 would be 0.048."""
    table = cells([[0.94, 0.972, 0.977, 0.98]] * 3, [1, 2, 4, 8])
    rule = Rule(0.1)
    assert choose(table, BASELINE, rule).cell == 0
    assert choose(table, BASELINE, rule._replace(best_possible=1.0)).cell == 2
    assert choose(table, BASELINE, rule._replace(best_possible=1.0, least_error=0.04)).cell == 1
    assert choose(table, BASELINE, rule._replace(parsimony=0.0, best_possible=1.0)).cell == 3


@pytest.mark.parametrize(
    ("best", "baseline", "limit"),
    [(0.6, 0.5, 0.01), (0.8, 0.5, 0.02), (0.95, 0.5, 0.01), (1.0, 0.5, 0.006), (0.5, 0.5, 0.0), (0.4, 0.5, 0.0)],
)
def test_a_score_up_to_1_loses_a_tenth_of_the_gain_a_fifth_of_the_error_and_2_points_at_most(best, baseline, limit):
    assert Rule(0.1, best_possible=1.0, least_error=0.03).given_up(best, baseline) == pytest.approx(limit)


@pytest.mark.parametrize("r2", [0.05, 0.5, 0.99])
def test_squared_errors_and_r2_give_up_the_same(r2):
    """Two ways to write the same loss, here with a variance of 4."""
    of_r2, squares = Rule(0.1, best_possible=1.0), Rule(0.1, best_possible=0.0)
    assert squares.given_up(-4 * (1 - r2), -4.0) == pytest.approx(4 * of_r2.given_up(r2, 0.0))


def test_a_score_without_an_end_loses_a_share_of_the_gain():
    assert Rule(0.1).given_up(7.0, 2.0) == pytest.approx(0.5)


def test_of_equally_many_columns_the_best_mean_wins_whichever_candidate_has_it():
    table = cells([[0.88, 0.89, 0.9]] * 3, [2, 2, 8])
    assert choose(table, BASELINE, Rule(0.1)).cell == 1


def test_new_columns_need_all_of_the_table_so_a_choice_of_columns_comes_first():
    """One new column made of eight is dearer than four chosen ones, and cheaper than all eight as they are."""
    table = cells([[0.9, 0.9, 0.9]] * 3, [1, 4, 8], needed=[8, 4, 8])
    assert choose(table, BASELINE, Rule(0.05)).cell == 1
    table = cells([[0.9, 0.6, 0.9]] * 3, [1, 4, 8], needed=[8, 4, 8])
    assert choose(table, BASELINE, Rule(0.05)).cell == 0


def test_where_folds_disagree_the_number_was_tried_and_the_score_is_that_of_the_rule():
    """Half of the folds do best with 2 columns, half with all; 768 in between are near their mean, and bad."""
    table = cells([[0.6, 0.5, 0.9]] * 2 + [[0.9, 0.5, 0.6]] * 2, [2, 768, 4434])
    choice = choose(table, np.full((1, 4), 0.5), Rule(0.05))
    assert table.sizes[choice.cell] == 2
    np.testing.assert_array_equal(table.sizes[choice.by_fold], [[2, 2, 4434, 4434]])
    np.testing.assert_array_equal(choice.fold_scores, [[0.6] * 4])


def test_without_a_gain_the_best_mean_is_taken():
    table = cells([[0.3, 0.4]] * 3, [1, 8])
    assert choose(table, BASELINE, Rule(0.2)).cell == 1


@pytest.mark.filterwarnings("error")
def test_two_folds_choose_on_one_fold_each():
    found = choose(cells([[0.9, 0.8], [0.7, 0.9]], [1, 8]), np.full((1, 2), 0.5), Rule(0.05))
    np.testing.assert_array_equal(found.by_fold, [[1, 0]])
    np.testing.assert_array_equal(found.fold_scores, [[0.8, 0.7]])


def test_a_tie_up_to_rounding_is_a_tie():
    table = cells([[0.9, 0.9 + 1e-13]] * 3, [1, 8])
    assert choose(table, BASELINE, Rule(0.0)).cell == 0


def test_each_fold_is_scored_by_what_the_rule_takes_on_the_others():
    scores = np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.7]])
    found = choose(cells(scores, [1, 2]), np.zeros((1, 3)), Rule(0.0))
    # Without the first fold the second cell is best (0.65 to 0); without another, the first (0.5 to 0.35, 0.5 to 0.3).
    np.testing.assert_array_equal(found.by_fold, [[1, 0, 0]])
    np.testing.assert_array_equal(found.fold_scores, [[0.0, 0.0, 0.0]])


def test_repeats_choose_by_themselves_and_the_whole_by_all_of_them():
    scores = np.array([[[0.9, 0.8]] * 3, [[0.6, 0.8]] * 3])
    found = choose(cells(scores, [1, 2]), np.full((2, 3), 0.5), Rule(0.0))
    np.testing.assert_array_equal(found.by_fold, [[0, 0, 0], [1, 1, 1]])
    assert found.cell == 1


def claimed(few, everything=0.9, margin=0.1, n_rows=100):
    few = np.atleast_2d(np.asarray(few, dtype=float))
    everything = np.broadcast_to(everything, few.shape).astype(float)
    return claim(
        few,
        everything,
        np.full(few.shape, 0.5),
        margin=margin,
        confidence=0.95,
        test_ratio=0.25,
        n_rows=n_rows,
    )


@pytest.mark.parametrize(
    ("few", "outcome"),
    [
        ([0.95, 0.96, 0.95, 0.96], "better"),
        ([0.90, 0.90, 0.90, 0.90], "not worse"),
        ([0.88, 0.89, 0.88, 0.89], "not worse"),
        ([0.80, 1.00, 0.80, 1.00], "not shown"),
        ([0.80, 0.81, 0.80, 0.81], "not shown"),
    ],
)
def test_three_outcomes_by_the_lower_limit_of_the_difference_and_of_the_margin(few, outcome):
    found = claimed(few)
    assert found.outcome == outcome
    assert found.interval == corrected_interval(np.atleast_2d(few) - 0.9, 0.95, 0.25)
    assert found.above_margin == pytest.approx(np.mean(few) - 0.86)
    assert (found.interval[0] > 0) == (outcome == "better")


def test_a_larger_margin_claims_more():
    few = [0.84, 0.85, 0.84, 0.85]
    assert claimed(few, margin=0.1).outcome == "not shown"
    assert claimed(few, margin=0.2).outcome == "not worse"


def test_the_rows_that_would_show_it_have_a_power_of_80_percent():
    """With so many rows, a mean that is normal around the observed one exceeds its interval's reach in 80% of draws."""
    few = np.array([0.85, 0.92, 0.85, 0.92])
    found = claimed(few)
    assert found.outcome == "not shown"
    half = found.above_margin - found.above_margin_interval[0]
    shrunk = np.sqrt(100 / found.rows_needed)
    error = half * shrunk / student.ppf(0.975, 3)
    assert norm.cdf((found.above_margin - half * shrunk) / error) == pytest.approx(0.8, abs=0.01)
    assert claimed([0.80, 0.81, 0.80, 0.81]).rows_needed is None
    assert claimed([0.90] * 4).rows_needed is None


def test_nothing_is_claimed_where_nothing_is_gained_over_the_baseline():
    assert claimed([0.5, 0.5, 0.5, 0.5], everything=0.4).outcome == "not shown"
    assert claimed([0.51, 0.51, 0.51, 0.51], everything=0.4).outcome == "better"


def test_one_standard_error_takes_the_fewest_columns_of_the_candidate_with_the_best_mean():
    """The best cell has mean 0.9 and standard error 0.02; another candidate is as good with one column."""
    spread = 0.02 * np.sqrt(3) * np.array([-1.0, 0.0, 1.0])
    scores = np.full((3, 5), [0.89, 0.87, 0.885, 0.9, 0.89])
    scores[:, 3] += spread
    table = cells(scores, [1, 2, 4, 8, 16], candidates=[0, 1, 1, 1, 1])
    assert choose(table, BASELINE, Rule("one_se")).cell == 2
    scores[:, 1] += 0.01
    assert choose(table, BASELINE, Rule("one_se")).cell == 1
