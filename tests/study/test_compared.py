"""Candidates side by side: who is behind by how much, and how sure the curve is."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer.study._compared import compared_with, rivals_of, size_curves
from fewer.study._scores import AllScores, CandidateScores

PLAN = SimpleNamespace(
    candidates=[SimpleNamespace(is_simplest=True)] + 3 * [SimpleNamespace(is_simplest=False)], n_folds=3, level=0.05
)


def candidate(number, name, scores, sizes):
    scores = np.array(scores, dtype=float)
    return CandidateScores(number, name, np.array(sizes), scores, (), test_ratio=0.5, confidence=0.9)


@pytest.fixture
def scores():
    return AllScores(
        PLAN,
        (
            candidate(0, "a coin", [[[0.5], [0.4], [0.6]]] * 2, [9]),
            candidate(1, "all features, ridge", [[[0.7], [0.6], [0.8]]] * 2, [9]),
            candidate(2, "anova, ridge", [[[0.9, 0.5], [0.8, 0.5], [1.0, 0.5]], [[0.9, 0.5]] * 3], [1, 9]),
            candidate(3, "relief, ridge", [[[0.8, 0.7], [0.7, 0.7], [0.9, 0.7]]] * 2, [1, 9]),
        ),
        {},
    )


def test_rivals_stand_in_order_of_their_scores_with_what_they_lack(scores):
    rivals = rivals_of(scores)
    assert [rival.name for rival in rivals] == ["anova, ridge", "relief, ridge", "all features, ridge", "a coin"]
    assert [rival.behind for rival in rivals] == pytest.approx([0, 0.1, 0.2, 0.4])
    assert [rival.size for rival in rivals] == [1, 1, None, None]
    assert rivals[0].benefit == pytest.approx(0.4)
    assert rivals[0].behind_interval == (0, 0)
    low, high = rivals[3].behind_interval
    assert 0 < low < 0.4 < high
    assert rivals[3].benefit is rivals[3].benefit_interval is None


def test_ranks_are_those_of_the_first_repeat(scores):
    found, answer = compared_with(scores, "accuracy", PLAN)
    assert found["mean_ranks"] == [4, 3, 1, 2]
    assert found["n_folds"] == 3
    assert answer.sentence == (
        "Best of 2 ways to reduce: anova, ridge (accuracy 0.900); best with all features: ridge (0.700); a coin: 0.500."
    )
    assert answer.number == pytest.approx(0.9)
    one = AllScores(PLAN, scores.candidates[:3], {})
    assert compared_with(one, "accuracy", PLAN)[1].sentence.startswith("The one way to reduce: anova, ridge")


def test_the_curve_has_the_standard_error_of_folds_that_share_training_rows(scores):
    curves = size_curves(scores)
    winner = curves["winner"]
    assert winner["mean"] == pytest.approx([0.9, 0.5])
    spread = np.std([0.9, 0.8, 1.0, 0.9, 0.9, 0.9], ddof=1)
    assert winner["standard_error"] == pytest.approx([spread * np.sqrt(1 / 6 + 0.5), 0])
    assert [curve["name"] for curve in curves["others"]] == ["relief, ridge"]
    assert curves["simplest"] == pytest.approx(0.5)
