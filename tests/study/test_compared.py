"""Candidates side by side: who is behind by how much, and how sure the curve is."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer.study._answers import compared_with, rivals_of, size_curves
from fewer.study._scores import AllScores, CandidateScores

PLAN = SimpleNamespace(
    candidates=[SimpleNamespace(is_simplest=True)] + 3 * [SimpleNamespace(is_simplest=False)],
    n_folds=3,
    level=0.05,
    parsimony=0.05,
    n_columns=9,
    n_rows=30,
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


def test_the_winner_stands_beside_the_best_with_all_columns_and_the_baseline(scores):
    answer = compared_with(scores, "accuracy")
    assert answer.sentence == (
        "Chosen from 2 combinations of selection method and learner: "
        "anova, ridge with 1 column (mean accuracy 0.900); best with all columns: ridge "
        "(0.700); a coin: 0.500."
    )
    assert answer.number == pytest.approx(0.9)


def test_the_frontier_is_the_best_candidate_at_each_size(scores):
    curves = size_curves(scores)
    frontier = curves["frontier"]
    assert frontier["sizes"] == [1, 9]
    assert frontier["candidates"] == ["anova, ridge", "all features, ridge"]
    assert frontier["mean"] == pytest.approx([0.9, 0.7])
    assert curves["chosen"] == {"size": 1, "mean": pytest.approx(0.9)}
    assert curves["simplest"] == pytest.approx(0.5)


def test_curves_have_the_standard_error_of_folds_that_share_training_rows(scores):
    first, second = size_curves(scores)["candidates"]
    assert (first["name"], second["name"]) == ("anova, ridge", "relief, ridge")
    assert first["mean"] == pytest.approx([0.9, 0.5])
    deviation = np.std([0.9, 0.8, 1.0, 0.9, 0.9, 0.9], ddof=1)
    assert first["standard_error"] == pytest.approx([deviation * np.sqrt(1 / 6 + 0.5), 0])
