"""Racing: what is clearly behind gets no more folds, and the estimate of the study stays unbiased."""

from dataclasses import replace

import numpy as np
import pytest

from fewer.engine import Engine
from fewer.study import Journal, make_plan, run_plan, study_data
from fewer.study.answers._decision import Cells, Rule, choose
from fewer.study.answers._scores import read_scores
from fewer.study.work._race import fold_rounds, out_of_race
from fewer.study.work._work import Bench, do_fold
from fewer.study.work._work import finished as finished_work

BASELINE = np.full(3, 0.5)
RULE = {"rule": Rule(0.1), "standard_errors": 2.0, "test_ratio": 0.25}


def raced(scores, stays=None):
    scores = np.asarray(scores, dtype=float)
    stays = np.zeros(scores.shape[1], dtype=bool) if stays is None else np.asarray(stays)
    return out_of_race(scores, BASELINE[: len(scores)], stays, **RULE).tolist()


def test_what_is_clearly_behind_is_out_and_what_the_rule_may_give_up_is_not():
    """The gain is 0.4, so 0.04 may be given up; 0.03 behind stays even where the folds agree on it."""
    assert raced([[0.9, 0.87, 0.6]] * 3) == [False, False, True]
    assert raced([[0.9, 0.8, 0.6], [0.9, 0.95, 0.6], [0.9, 0.6, 0.6]]) == [False, False, True]


def test_where_the_best_errs_little_its_error_limits_what_may_be_given_up():
    """Of a score up to 1, a fifth of the error of 0.01 is far less than a tenth of the gain of 0.49, and never more
    than 0.02; with 100 rows, 0.03 of error are not told from it."""
    scores = np.tile([0.99, 0.985, 0.975, 0.95], (3, 1))
    stays = np.zeros(4, dtype=bool)
    rules = Rule(0.1, 1.0, 0.001), Rule(0.1, 1.0, 0.03), Rule(0.1, 1.0, 0.5), Rule(0.1)
    found = [np.flatnonzero(out_of_race(scores, BASELINE, stays, **RULE | {"rule": rule})).tolist() for rule in rules]
    # Pooled over the cells, two standard errors are 0 where all folds agree.
    assert found == [[1, 2, 3], [2, 3], [3], []]


def test_no_single_fold_decides():
    assert raced([[0.9, 0.9, 0.0], [0.9, 0.9, 0.9], [0.9, 0.9, 0.9]]) == [False, False, False]
    assert raced([[0.9, 0.9, 0.2], [0.9, 0.9, 0.2], [0.9, 0.9, 0.2]]) == [False, False, True]


def test_all_columns_and_the_best_with_fewer_stay():
    assert raced([[0.9, 0.3, 0.2, 0.5]] * 3, stays=[True, True, False, False]) == [False, False, True, False]


@pytest.fixture(scope="module")
def finished(make_table, tmp_path_factory):
    """A plan and its journal: five informative columns, of which the variance knows nothing."""
    data = study_data(make_table(120, 30, 5, shift=1.2, seed=3))
    effort = {"learners": ["ridge", "knn"], "sizes": [1, 2, 3, 5, 8], "n_repeats": 2, "n_permutations": 0}
    plan = make_plan(data, preset="quick", methods=["anova", "variance"], **effort)
    path = tmp_path_factory.mktemp("race") / "journal.sqlite"
    with Journal.create(path, plan) as journal, Engine.local(1) as engine:
        run_plan(plan, data, journal, engine=engine)
    return plan, data, path


def works_of(path, plan):
    with Journal.read(path) as journal:
        return [[work for task in tasks for work in task] for tasks in fold_rounds(journal, plan)]


def test_sizes_leave_the_race_from_the_fourth_fold_on_and_never_come_back(finished):
    plan, _, path = finished
    rounds = works_of(path, plan)
    assert [{(work.repeat, work.fold) for work in works} for works in rounds] == [
        {(0, 0), (0, 1), (0, 2)},
        {(0, 3)},
        {(0, 4)},
        {(1, fold) for fold in range(5)},
    ]
    sizes = [{(work.candidate, size) for work in works for size in work.sizes} for works in rounds]
    assert sizes[0] == {(number, size) for number, each in enumerate(plan.candidates) for size in each.sizes}
    assert sizes[0] > sizes[1] >= sizes[2] >= sizes[3]
    whole = {number for number, each in enumerate(plan.candidates) if each.reducer is None}
    assert all(whole <= {work.candidate for work in works} for works in rounds)
    assert {work.candidate for work in rounds[3]} < {work.candidate for work in rounds[0]}


def test_what_is_left_has_all_folds_and_what_is_not_cannot_be_chosen(finished):
    plan, _, path = finished
    last = works_of(path, plan)[-1]
    with Journal.read(path) as journal:
        scores = journal.scores
    assert {each.number for each in scores.candidates} == {work.candidate for work in last}
    assert len(scores.candidates) + len(scores.dropped) == len(plan.candidates)
    sizes = {work.candidate: work.sizes for work in last}
    assert all(tuple(each.sizes[:-1]) == sizes[each.number] for each in scores.reduced)
    assert np.isfinite(scores.cells.scores).all()


def test_from_the_second_repeat_on_learners_with_all_columns_race_among_themselves(make_table):
    """One that no selection method has any more, and that is clearly behind the best, gets no further folds."""
    data = study_data(make_table(120, 30, 5, shift=1.2, seed=3))
    effort = {"methods": ["anova"], "learners": ["ridge", "knn", "naive_bayes"], "sizes": [5]}
    plan = make_plan(data, preset="quick", **effort, n_repeats=3)
    level = {"baseline": 0.5, "ridge": 0.9, "knn": 0.8, "naive_bayes": 0.8}

    def journal_with(of_knn):
        return {
            work.key: {"sizes": sizes, "scores": [score] * len(sizes), "names": []}
            for tasks in fold_rounds({}, replace(plan, racing=0.0))
            for task in tasks
            for work in task
            for name in [plan.candidates[work.candidate].learner.name]
            for sizes in [work.sizes or (30,)]
            for score in [({"ridge": 0.9, "knn": of_knn, "naive_bayes": 0.3} if work.sizes else level)[name]]
        }

    def learners_with_all(of_knn):
        rounds = [[work for task in tasks for work in task] for tasks in fold_rounds(journal_with(of_knn), plan)]
        whole = [{plan.candidates[work.candidate].learner.name for work in works if not work.sizes} for works in rounds]
        assert all(each == set(level) for each in whole[:3])
        return whole[3:]

    assert learners_with_all(0.9) == [{"baseline", "ridge", "knn"}] * 2
    assert learners_with_all(0.3) == [{"baseline", "ridge"}] * 2


@pytest.mark.parametrize("changes", [{"racing": 0.0}, {"parsimony": "one_se"}])
def test_without_racing_all_get_all_folds(finished, changes):
    _, data, path = finished
    plan = make_plan(data, preset="quick", methods=["anova"], learners=["ridge"], n_repeats=2, **changes)
    with Journal.read(path) as journal:
        works = [work for tasks in fold_rounds(journal, plan) for task in tasks for work in task]
    assert len(works) == plan.n_evaluations
    assert all(work.sizes == plan.candidates[work.candidate].sizes for work in works)


@pytest.mark.parametrize("n_done", [5, 30])
def test_a_resumed_race_comes_to_the_same(finished, tmp_path, n_done):
    """Whatever was finished, in any order, when the study was killed: the same pieces with the same bits."""
    plan, data, path = finished
    with Journal.read(path) as journal:
        whole = {key: journal[key] for key in journal.keys("fold/")}
    rounds = [[work.key for work in works] for works in works_of(path, plan)]
    rng = np.random.default_rng(n_done)
    in_order = [str(key) for keys in rounds for key in rng.permutation(keys)]
    with Journal.create(tmp_path / "journal.sqlite", plan) as journal, Engine.local(1) as engine:
        for key in in_order[:n_done]:
            journal.add(key, whole[key])
        run_plan(plan, data, journal, engine=engine)
        assert {key: journal[key] for key in journal.keys("fold/")} == whole


def optimism(accuracy, rule, *, n_tables, n_rows, seed, n_sizes=12, n_learners=8, n_repeats=4):
    """Score of a study minus the accuracy of what it chose, for each of some simulated tables.

    Rows that a cell predicts correctly are drawn; in the repeats they are the same but for three in ten, and half
    of them are the same at all sizes of a learner.
    """
    rng = np.random.default_rng(seed)
    sizes = np.tile(np.round(1.45 ** np.arange(n_sizes)) + np.arange(n_sizes), n_learners)
    learners = np.repeat(np.arange(n_learners), n_sizes)
    truth = accuracy(sizes)
    baseline, found = np.full((n_repeats, 5), 0.5), []
    for _ in range(n_tables):
        shared, own = rng.random((n_rows, n_learners))[:, learners], rng.random((n_rows, len(sizes)))
        luck = np.where(rng.random(own.shape) < 0.5, shared, own)
        scores = np.empty((n_repeats, 5, len(sizes)))
        for repeat in range(n_repeats):
            right = np.where(rng.random(own.shape) < 0.7, luck, rng.random(own.shape)) < truth
            scores[repeat] = right[rng.permutation(n_rows)].reshape(5, -1, len(sizes)).mean(axis=1)
        left = np.arange(len(sizes))
        for n_folds in (3, 4, *range(5, 5 * n_repeats, 5)):
            left = left[~rule(scores.reshape(-1, len(sizes))[:n_folds, left], baseline.ravel()[:n_folds])]
        cells = Cells(learners[left], sizes[left], sizes[left], scores[..., left])
        choice = choose(cells, baseline, Rule(0.1, 1.0, 3 / n_rows))
        found.append((choice.fold_scores - truth[left][choice.by_fold]).mean())
    return np.array(found)


def the_race(scores, baseline):
    return out_of_race(scores, baseline, np.zeros(scores.shape[1], dtype=bool), **RULE | {"rule": Rule(0.1, 1.0, 0.02)})


def a_greedy_race(scores, baseline):
    return scores.mean(axis=0) < scores.mean(axis=0).max() - 0.05


def in_standard_errors(found):
    return found.mean() / (found.std(ddof=1) / np.sqrt(len(found)))


TRUTHS = {
    "noise": lambda sizes: np.full(len(sizes), 0.5),
    "planted": lambda sizes: 0.9 - 0.4 * np.exp(-sizes / 3),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_the_score_of_a_raced_study_is_unbiased(truth):
    found = optimism(TRUTHS[truth], the_race, n_tables=200, n_rows=60, seed=0)
    assert abs(in_standard_errors(found)) < 3


def test_a_greedy_race_would_be_biased():
    assert in_standard_errors(optimism(TRUTHS["noise"], a_greedy_race, n_tables=200, n_rows=60, seed=0)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [60, 200])
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_score_of_a_raced_study_is_unbiased_on_many_tables(truth, n_rows):
    """The race changes the score by less than a tenth of a point on the same tables."""
    raced, whole = (
        optimism(TRUTHS[truth], rule, n_tables=1000, n_rows=n_rows, seed=1)
        for rule in (the_race, lambda scores, baseline: np.zeros(scores.shape[1], dtype=bool))
    )
    assert abs(in_standard_errors(raced)) < 3
    assert abs(np.mean(raced - whole)) < 0.001


def scores_of_study(data, *, seed):
    """Score of the first line of a study with the candidates of quick: raced, and with all folds for all candidates.

    A piece of work is a pure function of plan, table and key, so that one run with all of them has those of the race.
    """
    plan = make_plan(data, preset="quick", n_permutations=0, seed=seed)
    bench = Bench(plan, data)
    whole = {}
    for tasks in fold_rounds({}, replace(plan, racing=0.0)):
        whole |= {key: payload for task in tasks for key, (payload, _) in finished_work(do_fold, task, bench).items()}
    left = {}
    for tasks in fold_rounds(left, plan):
        for work in (work for task in tasks for work in task):
            found = whole[work.key]
            kept = [place for place, size in enumerate(found["sizes"]) if not work.sizes or size in work.sizes]
            left[work.key] = found | {name: [found[name][place] for place in kept] for name in ("sizes", "scores")}
    n_left, n_whole = (sum(len(each["scores"]) for each in journal.values()) for journal in (left, whole))
    raced, not_raced = (read_scores(journal, plan, 0.25).choice.fold_scores.mean() for journal in (left, whole))
    return raced, not_raced, n_left / n_whole


# Informative columns, and tables.
REAL = {
    "noise": (0, 40),
    "planted": (5, 20),
}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", REAL)
def test_real_studies_stay_unbiased_when_raced(make_table, kind):
    """On noise, the score is a half within its error; on both, racing changes it by less than half a point."""
    n_informative, n_tables = REAL[kind]
    found = np.array(
        [
            scores_of_study(study_data(make_table(60, 30, n_informative, shift=1.0, seed=seed)), seed=seed)
            for seed in range(n_tables)
        ]
    )
    raced, whole, share = found.T
    print(f"{kind}: raced {raced.mean():.4f}, not raced {whole.mean():.4f}, {share.mean():.2f} of the scores")
    difference = raced - whole
    error = difference.std(ddof=1) / np.sqrt(n_tables)
    assert abs(difference.mean()) < max(0.005, 3 * error)
    assert difference.mean() < 0.005
    if kind == "noise":
        assert abs(in_standard_errors(raced - 0.5)) < 3
