"""A run does what the journal lacks, in any order and with any interruption, and comes to the same findings."""

import json

import numpy as np
import polars as pl
import pytest

from fewer.engine import Engine, Failure, Outcome
from fewer.io import Dataset
from fewer.study import Journal, StudyError, findings_of, held_out_predictions, make_plan, run_plan, study_data
from fewer.study.answers import _scores as scores_module
from fewer.study.work import _work as work_module
from fewer.study.work._reference import do_null, randomised, randomised_with_folds
from fewer.study.work._run import StudyInterruptedError
from fewer.study.work._work import Bench, FoldWork, NullWork, do_fold


class Outcomes(list):
    """Outcomes of a run that was, or was not, interrupted."""

    interrupted = False


class DeadlyEngine:
    """An engine whose workers die of every task."""

    def run(self, function, tasks, **options):
        dead = Failure("WorkerDied", "the worker died 3 times")
        return Outcomes(Outcome(index, task, failure=dead) for index, task in enumerate(tasks))


class StoppingEngine:
    """An engine whose run ends as after Ctrl-C, when some tasks are done."""

    n_workers = 1

    def __init__(self, after):
        self.after = after
        self.inner = Engine.local(1)

    def run(self, *args, **options):
        run = self.inner.run(*args, **options)
        engine = self

        class Stopping:
            interrupted = False

            def __iter__(self):
                for outcome in run:
                    if engine.after <= 0:
                        self.interrupted = True
                        return
                    engine.after -= 1
                    yield outcome

        return Stopping()


@pytest.fixture(scope="module")
def data(make_table):
    return study_data(make_table())


@pytest.fixture(scope="module")
def undisturbed(data, quick_plan, tmp_path_factory):
    plan = quick_plan(data)
    path = tmp_path_factory.mktemp("undisturbed") / "journal.sqlite"
    with Journal.create(path, plan) as journal, Engine.local(1) as engine:
        run_plan(plan, data, journal, engine=engine)
        return plan, findings_of(journal), {key: journal[key] for key in journal.keys()}  # noqa: SIM118 - not a dict


@pytest.mark.parametrize("after", [0, 20])
def test_a_stopped_run_goes_on_and_finds_the_same(data, undisturbed, tmp_path, after):
    plan, findings, work = undisturbed
    path = tmp_path / "journal.sqlite"
    with Journal.create(path, plan) as journal, pytest.raises(StudyInterruptedError, match="Run the same command"):
        run_plan(plan, data, journal, engine=StoppingEngine(after))
    with Journal.open(path, plan) as journal:
        done = set(journal.keys())
        assert len(done) >= after  # a task may do several pieces
        with Engine.local(1) as engine:
            run_plan(plan, data, journal, engine=engine)
        assert findings_of(journal).to_json() == findings.to_json()
        assert {key: journal[key] for key in journal.keys()} == work  # noqa: SIM118 - not a dict


def test_a_piece_that_no_worker_survives_is_no_failure_of_its_candidate(data, undisturbed, tmp_path):
    """It is left to do, for a machine with more memory, and the findings will be those of an undisturbed run."""
    plan, findings, _ = undisturbed

    with Journal.create(tmp_path / "journal.sqlite", plan) as journal:
        with pytest.raises(StudyError, match=r"^12 tasks .* died 3 times\..*n_jobs=1"):
            run_plan(plan, data, journal, engine=DeadlyEngine())
        assert len(journal) == 0
        with Engine.local(1) as engine:
            run_plan(plan, data, journal, engine=engine)
        assert findings_of(journal).to_json() == findings.to_json()


def test_finished_work_is_not_done_again(data, undisturbed, tmp_path):
    plan, findings, _ = undisturbed
    path = tmp_path / "journal.sqlite"
    with Journal.create(path, plan) as journal, Engine.local(1) as engine:
        run_plan(plan, data, journal, engine=engine)
        before = len(journal)

        class NoEngine:
            def run(self, *args, **options):
                raise AssertionError("there is nothing left to do")

        run_plan(plan, data, journal, engine=NoEngine())
        assert len(journal) == before
        assert findings_of(journal).to_json() == findings.to_json()


def test_workers_make_no_difference(data, undisturbed, tmp_path, workers):
    plan, findings, _ = undisturbed
    with Journal.create(tmp_path / "journal.sqlite", plan) as journal:
        run_plan(plan, data, journal, engine=workers)
        assert findings_of(journal).to_json() == findings.to_json()


def test_another_table_is_refused(undisturbed, make_table, tmp_path):
    plan, _, _ = undisturbed
    other = study_data(make_table(seed=1))
    with (
        Journal.create(tmp_path / "journal.sqlite", plan) as journal,
        Engine.local(1) as engine,
        pytest.raises(StudyError, match="its cells, columns or row order have changed"),
    ):
        run_plan(plan, other, journal, engine=engine)


def test_findings_of_a_study_that_is_not_finished_are_refused(data, quick_plan, tmp_path):
    with (
        Journal.create(tmp_path / "journal.sqlite", quick_plan(data)) as journal,
        pytest.raises(StudyError, match="not finished; run `fewer resume"),
    ):
        findings_of(journal)


def test_held_out_rows_have_no_say(data, quick_plan):
    """Spoiling the rows of a fold changes its scores, and nothing that was chosen or fitted without them."""
    plan = quick_plan(data)
    bench = Bench(plan, data)
    number = next(n for n, candidate in enumerate(plan.candidates) if candidate.reducer is not None)
    before = do_fold(FoldWork(number, 0, 0), bench)
    spoilt = data.dataset.X.copy()
    spoilt[bench.repeats[0][0].test] = 1e6
    other = type(data)(Dataset(spoilt, data.dataset.columns, data.dataset.kinds, data.dataset.y, "state", "binary"))
    after = do_fold(FoldWork(number, 0, 0), Bench(plan, other))
    assert after["names"] == before["names"]
    assert after["scores"] != before["scores"]


def test_every_piece_of_work_has_chance_of_its_own(data, quick_plan):
    bench = Bench(quick_plan(data), data)
    scores = {do_null(NullWork("labels", number), bench)["score"] for number in range(6)}
    assert len(scores) > 2
    assert do_null(NullWork("labels", 0), bench) == do_null(NullWork("labels", 0), bench)


def test_labels_of_whole_groups_move_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 5)
    frame = {"x": rng.normal(size=40), "patient": groups.astype(str), "y": np.where(groups % 2, "a", "b")}
    data = study_data(Dataset.from_frame(pl.DataFrame(frame), target="y"), groups="patient")
    moved = randomised(data, "labels", np.random.default_rng(1)).dataset.y
    assert all(len(set(moved[data.groups == group])) == 1 for group in range(8))
    assert sorted(moved) == sorted(data.dataset.y)
    assert (moved != data.dataset.y).any()


def test_labels_that_vary_within_groups_stay_in_their_group():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 5)
    frame = {"x": rng.normal(size=40), "patient": groups.astype(str), "y": rng.choice(["a", "b"], size=40)}
    data = study_data(Dataset.from_frame(pl.DataFrame(frame), target="y"), groups="patient")
    moved = randomised(data, "labels", np.random.default_rng(1)).dataset.y
    for group in range(8):
        rows = data.groups == group
        assert sorted(moved[rows]) == sorted(data.dataset.y[rows])


def test_groups_are_never_parted_and_time_never_runs_backwards():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=60),
            "z": rng.normal(size=60),
            "patient": [f"p{i}" for i in rng.integers(0, 15, size=60)],
            "day": rng.permutation(60) + 0.5,
            "y": rng.normal(size=60),
        }
    )
    table = Dataset.from_frame(frame, target="y")
    grouped = study_data(table.keep(["x", "z", "patient"]), groups="patient")
    for folds in Bench(make_plan(grouped, preset="quick", methods=["pearson"]), grouped).repeats:
        for fold in folds:
            assert not set(grouped.groups[fold.train]) & set(grouped.groups[fold.test])
    timed = study_data(table.keep(["x", "z", "day"]), time="day")
    plan = make_plan(timed, preset="quick", methods=["pearson"])
    assert plan.n_repeats == 1
    for fold in Bench(plan, timed).repeats[0]:
        assert fold.train.max() < fold.test.min()


def test_a_candidate_that_fails_does_not_stop_the_others(data, quick_plan, tmp_path, monkeypatch):
    from fewer.study.work import _work

    real = _work.scored

    def fails_for_neighbours(candidate, *rest, **options):
        if candidate.learner.name == "knn" and candidate.reducer is not None:
            raise ValueError("no neighbours today")
        return real(candidate, *rest, **options)

    monkeypatch.setattr(_work, "scored", fails_for_neighbours)
    plan = quick_plan(data, n_permutations=0)
    with Journal.create(tmp_path / "journal.sqlite", plan) as journal, Engine.local(1) as engine:
        run_plan(plan, data, journal, engine=engine)
        findings = findings_of(journal)
    assert "anova, nearest neighbours" not in [rival.name for rival in findings.rivals]
    assert any("no neighbours today" in caution.sentence for caution in findings.cautions)
    json.loads(findings.to_json())


def test_folds_without_a_choice_are_told(quick_plan, tmp_path):
    """Two columns, one of which varies in one row alone: it is constant wherever that row is held out."""
    X = np.column_stack([np.arange(24.0), np.eye(24)[0]])
    data = study_data(Dataset.from_frame(X, target=np.array(["ill", "well"])[np.arange(24) % 2]))
    plan = quick_plan(data, n_permutations=0)
    with (
        Journal.create(tmp_path / "journal.sqlite", plan) as journal,
        Engine.local(1) as engine,
        pytest.raises(StudyError, match="no selection is possible"),
    ):
        run_plan(plan, data, journal, engine=engine)


@pytest.mark.filterwarnings("error")
def test_a_rare_class_that_is_shuffled_to_the_end_of_time_is_drawn_again():
    """Of rows in order of time, the first fold learns from a few: no permutation may leave it without a class."""
    rng = np.random.default_rng(0)
    rare = np.isin(np.arange(60), [0, 3, 30, 45])
    frame = {f"x{i}": rng.normal(size=60) for i in range(4)} | {"day": np.arange(60.0), "y": np.where(rare, "b", "a")}
    timed = study_data(Dataset.from_frame(pl.DataFrame(frame), target="y"), time="day")
    bench = Bench(make_plan(timed, preset="quick", n_folds=5, methods=["anova"], learners=["knn"]), timed)
    for number in range(10):
        drawn, folds = randomised_with_folds(timed, bench.plan, "labels", number)
        y = drawn.dataset.y
        assert sorted(y) == sorted(timed.dataset.y)
        assert all(set(y[fold.train]) == {"a", "b"} for fold in folds)
        assert np.isfinite(do_null(NullWork("labels", number), bench)["score"])


def test_all_rows_are_prepared_once_and_scores_are_read_once(data, quick_plan, tmp_path, monkeypatch):
    whole, read = [], []
    prepared, read_scores = work_module.fit_prepared, scores_module.read_scores

    def counted(pipeline, X, **options):
        whole.append(X.shape[0] == data.dataset.n_rows)
        return prepared(pipeline, X, **options)

    monkeypatch.setattr(work_module, "fit_prepared", counted)
    monkeypatch.setattr(scores_module, "read_scores", lambda *given: read.append(given) or read_scores(*given))
    plan = quick_plan(data, n_permutations=0, n_repeats=1)
    with Journal.create(tmp_path / "journal.sqlite", plan) as journal, Engine.local(1) as engine:
        run_plan(plan, data, journal, engine=engine)
        findings_of(journal)
        held_out_predictions(journal)
    assert whole.count(True) == 1
    assert len(read) == 1
