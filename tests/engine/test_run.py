import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from fewer.engine import Engine

SCRIPT = """
import json, os, sys, time
from pathlib import Path
from fewer.engine import Engine

started = Path(sys.argv[1])

def work(x):
    (started / str(os.getpid())).touch()
    if x >= 4:
        (started / f"long-{x}").touch()
        time.sleep(600)
    return x

with Engine.local(2) as engine:
    run = engine.run(work, range(20), progress=True)
    done = [outcome.value for outcome in run]
    print(json.dumps({"done": sorted(done), "interrupted": run.interrupted}), flush=True)
    again = engine.run(abs, [-1, -2])
    print(json.dumps([outcome.value for outcome in again.collect()]))
"""


def test_outcomes_collect_in_the_order_of_the_tasks(engine):
    outcomes = engine.run(lambda x: x * x, range(50)).collect()
    assert [outcome.value for outcome in outcomes] == [x * x for x in range(50)]
    assert [outcome.index for outcome in outcomes] == list(range(50))
    assert [outcome.task for outcome in outcomes] == list(range(50))
    assert all(outcome.ok and outcome.attempts == 1 and outcome.worker for outcome in outcomes)


def test_no_tasks_make_an_empty_run(engine):
    run = engine.run(abs, [])
    assert run.collect() == []
    assert not run.interrupted


def test_what_cannot_be_called_is_refused_before_the_run(engine):
    with pytest.raises(TypeError, match="callable, not 5"):
        engine.run(5, [1, 2])


def test_a_task_that_raises_leaves_a_record_and_does_not_stop_the_rest(engine):
    def inverse_of_this_number(x):
        return 1 / x

    outcomes = engine.run(inverse_of_this_number, [1, 0, 2]).collect()
    assert [outcome.value for outcome in outcomes] == [1, None, 0.5]
    failure = outcomes[1].failure
    assert (failure.kind, failure.message) == ("ZeroDivisionError", "division by zero")
    assert "inverse_of_this_number" in failure.traceback
    assert "_attempt.py" not in failure.traceback
    with pytest.raises(RuntimeError, match="inverse_of_this_number"):
        outcomes[1].unwrap()


def test_a_task_that_exits_fails_alone(engine):
    def leave(x):
        if x == 1:
            raise SystemExit(3)
        return x

    outcomes = engine.run(leave, range(3)).collect()
    assert [outcome.ok for outcome in outcomes] == [True, False, True]
    assert outcomes[1].failure.kind == "SystemExit"


def test_exceptions_that_cannot_travel_or_speak_still_leave_a_record(engine):
    class StubbornError(Exception):
        def __init__(self):
            self.lock = threading.Lock()

        def __str__(self):
            raise ValueError("no words")

    def fail(x):
        raise StubbornError

    (outcome,) = engine.run(fail, [0]).collect()
    assert "StubbornError" in outcome.failure.kind
    assert "no message" in outcome.failure.message


def test_shared_data_reaches_every_task_and_is_read_only(engine):
    def spoil(task, table):
        total = float(table["X"].sum())
        try:
            table["X"][0] = 1.0
        except ValueError as error:
            return total, str(error)
        return total, "changed"

    outcomes = engine.run(spoil, range(4), shared={"X": np.ones(100)}).collect()
    assert {outcome.value for outcome in outcomes} == {(100.0, "assignment destination is read-only")}


def test_results_are_the_same_with_one_job_and_with_many(pool):
    def draw(seed, table):
        return np.random.default_rng(seed).permutation(table)[:3].tolist()

    table = np.arange(1000.0)
    with Engine.local(1) as inline:
        alone = [outcome.value for outcome in inline.run(draw, range(20), shared=table).collect()]
    together = [outcome.value for outcome in pool.run(draw, range(20), shared=table).collect()]
    assert alone == together


def test_what_cannot_be_shared_is_refused_at_once(engine):
    with pytest.raises(TypeError, match="cannot be sent to workers"):
        engine.run(lambda task, lock: task, [1], shared=threading.Lock())


def test_an_endless_iterable_is_taken_a_few_tasks_at_a_time(engine):
    taken = 0

    def tasks():
        nonlocal taken
        while True:
            taken += 1
            yield taken

    def slow(x):
        time.sleep(0.01)
        return x

    run = engine.run(slow, tasks())
    for outcome in run:
        assert outcome.ok
        assert taken <= run.done + 3 * engine.n_workers
        if run.done == 15:
            break
    assert taken <= 15 + 3 * engine.n_workers


def test_leaving_the_loop_gives_up_the_rest(engine):
    def wait_if_told(seconds):
        time.sleep(seconds)
        return seconds

    run = engine.run(wait_if_told, [0, 600, 600, 600])
    for outcome in run:
        assert outcome.value == 0
        break
    assert list(run) == []
    assert [outcome.value for outcome in engine.run(wait_if_told, [0, 0]).collect()] == [0, 0]


def test_a_forgotten_run_gives_up_the_rest(engine):
    outcome = next(engine.run(lambda x: x, itertools.count()))
    assert outcome.value >= 0
    assert [outcome.value for outcome in engine.run(abs, [-1]).collect()] == [1]


def test_two_runs_may_take_turns(engine):
    one, two = engine.run(abs, [-1, -2, -3]), engine.run(str, [1, 2, 3])
    pairs = list(zip(one, two, strict=True))
    assert sorted(left.value for left, _ in pairs) == [1, 2, 3]
    assert sorted(right.value for _, right in pairs) == ["1", "2", "3"]


def test_an_error_of_the_iterable_comes_after_the_outcomes_in_flight(engine):
    def tasks():
        yield from range(3)
        raise OSError("the list of tasks ends here")

    run = engine.run(abs, tasks())
    with pytest.raises(OSError, match="ends here"):
        run.collect()
    assert [outcome.value for outcome in run.collect()] == [0, 1, 2]


def test_labels_name_tasks_by_function_or_by_list(engine):
    by_function = engine.run(abs, ["x"], labels=lambda task: f"task of {task}").collect()
    by_list = engine.run(abs, ["x"], labels=["first"]).collect()
    assert by_function[0].label == "task of x"
    with pytest.raises(RuntimeError, match="first failed"):
        by_list[0].unwrap()


def test_closing_the_engine_ends_its_runs_with_a_clear_error():
    with Engine.local(2) as engine:
        run = engine.run(abs, range(5))
        next(run)
    with pytest.raises(RuntimeError, match="engine was closed before"):
        run.collect()
    with pytest.raises(RuntimeError, match="closed"):
        engine.run(abs, [1])


def test_ctrl_c_in_the_body_of_the_loop_ends_it_after_that_body(engine, ctrl_c):
    seen = []
    run = engine.run(lambda x: x, itertools.count())
    for outcome in run:
        seen.append(outcome.index)
        if len(seen) == 3:
            ctrl_c()
            seen.append("body went on")
    assert run.interrupted
    assert seen[3] == "body went on"
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()


def test_ctrl_c_reaches_a_run_inside_the_loop_of_another(engine, ctrl_c):
    outer = engine.run(lambda x: x, itertools.count())
    for _ in outer:
        if outer.interrupted:
            continue  # an outcome that was on its way
        inner = engine.run(lambda x: x, itertools.count())
        for _ in inner:
            if not inner.interrupted:
                ctrl_c()
        assert inner.interrupted
    assert outer.interrupted


def test_a_second_ctrl_c_interrupts_at_once(engine, ctrl_c):
    run = engine.run(lambda x: x, itertools.count())
    next(run)
    ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()
    run.close()


def test_ctrl_c_stops_a_task_in_this_process(ctrl_c):
    def press(x):
        if x == 2:
            ctrl_c()
        return x

    with Engine.local(1) as engine:
        run = engine.run(press, range(10))
        assert [outcome.value for outcome in run.collect()] == [0, 1]
        assert run.interrupted


@pytest.mark.parametrize(("n_jobs", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
def test_senseless_numbers_of_jobs_are_refused(n_jobs, error):
    with pytest.raises(error, match="n_jobs"):
        Engine.local(n_jobs)


def test_negative_numbers_of_jobs_count_from_all_cores(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", str(cores := min(2, len(os.sched_getaffinity(0)))))
    assert Engine.local().n_workers == Engine.local(-1).n_workers == cores
    assert Engine.local(-1000).n_workers == 1


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize("whole_group", [True, False], ids=["as a terminal does", "to the main process"])
def test_ctrl_c_returns_what_is_done_and_leaves_no_process_behind(tmp_path, whole_group):
    started = tmp_path / "started"
    started.mkdir()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, script, started],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background are deaf to it
    )
    try:
        while len(list(started.glob("long-*"))) < 2:  # both workers are in the middle of a task
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        if whole_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    first, second = out.splitlines()
    assert json.loads(first) == {"done": [0, 1, 2, 3], "interrupted": True}
    assert json.loads(second) == [1, 2]
    assert process.returncode == 0
    assert "Traceback" not in err
    for path in started.iterdir():
        if path.name.isdigit():
            assert not Path("/proc", path.name).exists()
    assert not list(tmp_path.glob("fewer-*"))


@pytest.mark.skipif(os.name != "posix", reason="uses POSIX process groups")
def test_a_script_that_forgets_its_engine_ends_and_takes_its_workers_along(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "from fewer.engine import Engine\n"
        "engine = Engine.local(2)\n"
        "run = engine.run(lambda x: (time.sleep(600 * x), os.getpid())[1], [0, 1, 1])\n"
        "print(next(run).value)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert "Traceback" not in done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


@pytest.fixture
def inline():
    with Engine.local(1) as engine:
        yield engine


def test_a_function_is_told_of_every_outcome(inline):
    told = []
    inline.run(abs, [-1, "x"], progress=lambda done, total, outcome: told.append((done, total, outcome.ok))).collect()
    inline.run(abs, iter([-1]), progress=lambda done, total, outcome: told.append((done, total, outcome.ok))).collect()
    assert told == [(1, 2, True), (2, 2, False), (1, None, True)]


def test_the_bar_counts_tasks_and_failures_on_the_error_stream(inline, capsys):
    inline.run(abs, [-1, "x", -3], progress=True, description="Fitting [folds]").collect()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Fitting [folds]" in captured.err
    assert "3/3" in captured.err
    assert "1 failed" in captured.err


@pytest.mark.parametrize("progress", [False, "auto"])
def test_nothing_is_shown_where_there_is_no_terminal(inline, capsys, progress):
    inline.run(abs, [-1], progress=progress).collect()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("how", ["to the end", "left early", "forgotten", "failing task list"])
def test_the_cursor_is_back_however_the_run_ends(inline, capsys, monkeypatch, how):
    def tasks():
        yield -1
        if how == "failing task list":
            raise OSError

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run = inline.run(abs, tasks(), progress="auto")
    if how == "forgotten":
        next(run)
        del run
    elif how == "left early":
        for _ in run:
            break
    elif how == "to the end":
        run.collect()
    else:
        with pytest.raises(OSError):
            run.collect()
    written = capsys.readouterr().err
    assert "\x1b[?25l" in written
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_an_unknown_kind_of_progress_is_refused(inline):
    with pytest.raises(ValueError, match="progress must be"):
        inline.run(abs, [1], progress="loud").collect()
