"""Scores of candidates: chosen on other folds, the best of equals first, never beyond the best there is."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer.study.answers._scores import AllScores, CandidateScores, read_scores
from fewer.study.work._work import FoldWork


def candidate(number, scores, sizes=(1, 5), **others):
    scores = np.asarray(scores, dtype=float)[None]
    facts = {"orders": (), "test_ratio": 0.5, "confidence": 0.9, "labels": ("", f"candidate {number}")} | others
    return CandidateScores(number=number, sizes=np.array(sizes), scores=scores, **facts)


def all_scores(*candidates):
    plan = SimpleNamespace(
        candidates=[SimpleNamespace(is_baseline=number == 0) for number in range(len(candidates))],
        scoring="max_error",
        parsimony=0.05,
        margin=0.1,
        confidence=0.9,
        n_rows=30,
        n_columns=5,
    )
    return AllScores(plan, candidates, {})


def test_the_winner_is_the_cell_with_the_fewest_columns_that_is_good_enough():
    scores = all_scores(
        candidate(0, [[0.5], [0.5], [0.5]], sizes=(5,)),
        candidate(1, [[0.81], [0.81], [0.81]], sizes=(5,)),
        candidate(2, [[0.7, 0.6]] * 3),
        candidate(3, [[0.8, 0.6]] * 3),
        candidate(4, [[0.8 + 1e-13, 0.6]] * 3),
        candidate(5, [[0.81 + 1e-13], [0.81], [0.81]], sizes=(5,)),
    )
    assert scores.winner.number == 3
    assert scores.size == 1
    assert scores.ranker.number == 3
    assert scores.best_with_everything.number == 1
    assert scores.baseline.number == 0
    assert [each.number for each in scores.with_everything] == [1, 5]
    assert [each.number for each in scores.reduced] == [2, 3, 4]
    assert scores.claim.outcome == "not worse"
    assert scores.test_ratio == 0.5


def test_where_all_columns_win_the_best_way_to_reduce_ranks_them():
    scores = all_scores(
        candidate(0, [[0.5]] * 3, sizes=(5,)),
        candidate(1, [[0.9]] * 3, sizes=(5,)),
        candidate(2, [[0.6, 0.9]] * 3),
        candidate(3, [[0.7, 0.8]] * 3),
    )
    assert (scores.winner.number, scores.size) == (1, 5)
    assert scores.ranker.number == 2


def test_the_learner_with_all_columns_is_chosen_on_the_other_folds():
    scores = all_scores(
        candidate(0, [[0.1]] * 3, sizes=(5,)),
        candidate(1, [[1.0], [0.0], [0.0]], sizes=(5,)),
        candidate(2, [[0.0], [0.6], [0.7]], sizes=(5,)),
        candidate(3, [[0.5, 0.5]] * 3),
    )
    # Without the first fold the second learner is best; without another, the first (0.5 and 0.35, 0.5 and 0.3).
    np.testing.assert_array_equal(scores.fold_scores_with_everything, [[0.0, 0.0, 0.0]])


def test_what_makes_columns_chooses_among_numbers_of_new_columns_alone():
    """The table's own columns, last, are best on all folds, and only there to compare with."""
    scores = [[0.5, 0.6, 0.9], [0.4, 0.7, 0.9], [0.5, 0.8, 0.9]]
    made = candidate(1, scores, sizes=(1, 2, 5), makes_columns=True)
    assert made.indexed.fold_sizes.tolist() == [[2, 2, 2]]
    assert made.score == pytest.approx(0.7)
    assert made.indexed.benefit == pytest.approx(-0.2)
    chosen = candidate(2, scores, sizes=(1, 2, 5))
    assert chosen.indexed.fold_sizes.tolist() == [[5, 5, 5]]
    assert all_scores(candidate(0, [[0.1]] * 3, sizes=(5,)), made).cells.needed.tolist() == [5, 5]


def test_an_interval_ends_at_the_best_score_there_is():
    scores = [[0.9], [1.0], [0.9], [1.0]]
    free, capped = (candidate(1, scores, sizes=(5,), best_possible=best) for best in (np.inf, 1.0))
    assert free.interval[1] > 1
    assert capped.interval == (free.interval[0], 1.0)
    assert capped.score == pytest.approx(0.95)
    assert capped.indexed is None


@pytest.mark.parametrize(("scoring", "best"), [("accuracy", 1.0), ("neg_log_loss", 0.0), ("max_error", np.inf)])
def test_scores_are_read_fold_by_fold_and_a_failure_leaves_its_candidate_out(scoring, best):
    plan = SimpleNamespace(
        candidates=[
            SimpleNamespace(name=name, labels=("", name), makes_columns=False, reducer=reducer, learner="ridge")
            for name, reducer in (("all", None), ("works", "anova"), ("fails", "anova"), ("dropped", "anova"))
        ],
        skipped=(),
        n_folds=2,
        n_repeats=1,
        confidence=0.9,
        scoring=scoring,
    )
    done = {"sizes": [1, 2], "scores": [0.5, 0.4], "names": ["a", "b"]}
    journal = {
        FoldWork(0, 0, 0).key: {"sizes": [4], "scores": [0.6], "names": []},
        FoldWork(0, 0, 1).key: {"sizes": [3], "scores": [0.8], "names": []},
        FoldWork(1, 0, 0).key: done,
        FoldWork(1, 0, 1).key: done | {"sizes": [1], "scores": [0.7]},
        FoldWork(2, 0, 0).key: done,
        FoldWork(2, 0, 1).key: {"failure": "no way"},
        FoldWork(3, 0, 0).key: done,
    }
    found = read_scores(journal, plan, 1.0)
    assert found.failures == {"fails": "no way"}
    assert found.dropped == ("dropped",)
    everything, works = found.candidates
    assert everything.scores.tolist() == [[[0.6], [0.8]]]
    assert works.sizes.tolist() == [1, 4]
    assert works.scores.tolist() == [[[0.5, 0.6], [0.7, 0.8]]]
    assert works.best_possible == best
    assert read_scores(journal, plan, 1.0, n_columns=9).candidates[1].sizes.tolist() == [1, 9]
