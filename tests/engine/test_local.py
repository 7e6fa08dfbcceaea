import os
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

from fewer.engine import Engine


def test_a_slow_first_task_does_not_hold_up_the_others(pool, tmp_path):
    gate = tmp_path / "open"

    def wait_for_gate(x):
        while x == 0 and not gate.exists():
            time.sleep(0.01)
        return x

    order = []
    for outcome in pool.run(wait_for_gate, range(10)):
        order.append(outcome.value)
        if len(order) == 9:
            gate.touch()
    assert sorted(order[:9]) == list(range(1, 10))
    assert order[9] == 0


def test_a_worker_gets_shared_data_once(pool, tmp_path):
    class Announced:
        def __init__(self, folder):
            self.folder = folder

        def __setstate__(self, state):
            self.__dict__.update(state)
            with (self.folder / str(os.getpid())).open("a") as file:
                file.write("unpacked\n")

    def name_worker(task, shared):
        return os.getpid()

    workers = {outcome.unwrap() for outcome in pool.run(name_worker, range(60), shared=Announced(tmp_path))}
    assert {int(path.name) for path in tmp_path.iterdir()} >= workers
    assert all(path.read_text() == "unpacked\n" for path in tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="shows memory maps as Linux does")
def test_shared_arrays_are_mapped_from_one_file_that_has_no_name(pool):
    def where(task, table):
        for line in Path("/proc/self/maps").read_text().splitlines():
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if start <= table.ctypes.data < end:
                return line.split(maxsplit=5)[5]
        return None

    run = pool.run(where, range(8), shared=np.ones(100_000))
    files = {outcome.unwrap() for outcome in run}
    assert len(files) == 1
    (file,) = files
    assert file.endswith(" (deleted)")
    assert not Path(file.removesuffix(" (deleted)")).exists()


def test_the_tasks_of_a_killed_worker_run_again(tmp_path):
    marker = tmp_path / "killed"

    def die_once(x):
        if x == 5 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    with Engine.local(2) as engine:
        outcomes = engine.run(die_once, range(40)).collect()
    assert [outcome.value for outcome in outcomes] == list(range(40))
    assert [outcome.index for outcome in outcomes if outcome.attempts > 1] == [5]
    assert outcomes[5].attempts == 2


@pytest.mark.parametrize(
    ("death", "told"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL: .*out of memory"),
        (lambda: os._exit(7), "exit code 7"),
    ],
)
def test_a_task_that_always_kills_its_worker_fails_and_its_neighbours_do_not_notice(death, told):
    def deadly(x):
        if x == 3:
            death()
        return x

    with Engine.local(2) as engine:
        outcomes = engine.run(deadly, range(12), labels=lambda task: f"fold {task}").collect()
    guilty = outcomes.pop(3)
    assert guilty.failure.kind == "WorkerDied"
    assert "worker died 3 times while running fold 3" in guilty.failure.message
    with pytest.raises(RuntimeError, match=told):
        guilty.unwrap()
    assert all(outcome.ok and outcome.attempts == 1 for outcome in outcomes)


def test_a_neighbour_of_a_dying_worker_is_not_disturbed(tmp_path):
    gate = tmp_path / "open"

    def die_or_wait(x):
        if x == 0:
            os._exit(1)
        while x == 1 and not gate.exists():
            time.sleep(0.01)
        return x, os.getpid()

    with Engine.local(2) as engine:
        for outcome in engine.run(die_or_wait, [1, 0]):
            if outcome.task == 0:
                assert outcome.failure.kind == "WorkerDied"
                gate.touch()  # the neighbour was running all the while
            else:
                assert outcome.attempts == 1


def test_a_task_that_cannot_be_pickled_fails_alone(pool):
    outcomes = pool.run(lambda task: "ran", [1, threading.Lock(), 2]).collect()
    assert [outcome.value for outcome in outcomes] == ["ran", None, "ran"]
    assert outcomes[1].failure.kind == "UnpicklableTask"
    assert "task 1, a lock, cannot be sent" in outcomes[1].failure.message


def test_a_task_that_cannot_be_rebuilt_in_the_worker_fails_alone(pool):
    def refuse():
        raise OSError("not on this machine")

    class Homesick:
        def __reduce__(self):
            return refuse, ()

    outcomes = pool.run(lambda task: "ran", [1, Homesick(), 2]).collect()
    assert [outcome.ok for outcome in outcomes] == [True, False, True]
    assert "not on this machine" in outcomes[1].failure.message


def test_a_value_that_cannot_travel_fails_alone(pool):
    def refuse():
        raise OSError("not on this machine")

    class Homesick:
        def __reduce__(self):
            return refuse, ()

    values = [lambda: 1, threading.Lock, Homesick, lambda: 2]
    outcomes = pool.run(lambda make: make(), values).collect()
    assert [outcome.value for outcome in outcomes] == [1, None, None, 2]
    assert [outcome.failure.kind for outcome in outcomes[1:3]] == ["UnpicklableValue"] * 2
    assert "returned a lock, which cannot be sent back" in outcomes[1].failure.message
    assert "not on this machine" in outcomes[2].failure.message


def test_classes_of_the_caller_come_back_as_themselves(pool):
    class Point:
        def __init__(self, x):
            self.x = x

    (outcome,) = pool.run(lambda point: Point(point.x + 1), [Point(1)]).collect()
    assert isinstance(outcome.unwrap(), Point)
    assert outcome.value.x == 2


def test_large_tasks_and_values_pass_through_the_pipes(pool):
    tasks = [np.full(500_000, float(number)) for number in range(6)]
    outcomes = pool.run(lambda array: array + 1, tasks).collect()
    assert all((outcome.unwrap() == outcome.index + 1).all() for outcome in outcomes)


def test_workers_stay_for_the_next_run_and_leave_with_the_engine():
    with Engine.local(2) as engine:
        first = {outcome.unwrap() for outcome in engine.run(lambda x: os.getpid(), range(20))}
        second = {outcome.unwrap() for outcome in engine.run(lambda x: os.getpid(), range(20))}
        assert len(first | second) <= 2
        assert os.getpid() not in first
    for pid in first | second:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def maps_the_table(process, table):
    """Whether a process maps a file without a name that is as large as the table."""
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        start, end = (int(number, 16) for number in line.split()[0].split("-"))
        if line.endswith(" (deleted)") and end - start >= table.nbytes:
            return True
    return False


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="shows memory maps as Linux does")
def test_idle_workers_let_go_of_shared_data():
    """The file has no name, so its space is free when nobody maps it any more."""
    table = np.ones(1_000_000)
    with Engine.local(2) as engine:
        run = engine.run(lambda x, shared: (os.getpid(), float(shared[x])), range(20), shared=table)
        workers = set()
        for outcome in run:
            workers.add(outcome.unwrap()[0])
            assert outcome.index > 0 or maps_the_table(outcome.unwrap()[0], table)
        deadline = time.monotonic() + 10
        while any(maps_the_table(each, table) for each in workers):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert {outcome.unwrap() for outcome in engine.run(lambda x: os.getpid(), range(20))} & workers


def test_running_tasks_are_ended_when_the_loop_is_left(tmp_path):
    def note_and_wait(x):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(600 * x)

    with Engine.local(2) as engine:
        for _ in engine.run(note_and_wait, [0, 1, 1]):
            while not list(tmp_path.iterdir()):
                time.sleep(0.01)
            break
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)


def test_native_threads_of_side_by_side_tasks_fit_the_cores(pool):
    def most_threads(x):
        import numpy as np
        import sklearn.cluster  # noqa: F401 - brings its OpenMP along
        from threadpoolctl import threadpool_info

        np.ones((50, 50)) @ np.ones((50, 50))
        return max(library["num_threads"] for library in threadpool_info())

    cores = joblib.cpu_count()
    for outcome in pool.run(most_threads, range(6)):
        assert 1 <= outcome.unwrap() <= max(1, cores // 2)


def test_joblib_inside_a_task_stays_within_its_share(pool):
    def nested(x):
        import joblib

        pids = joblib.Parallel(n_jobs=8)(joblib.delayed(os.getpid)() for _ in range(16))
        return os.getpid(), set(pids), joblib.effective_n_jobs(-1), joblib.effective_n_jobs(8)

    share = max(1, joblib.cpu_count() // 2)
    for outcome in pool.run(nested, range(4)):
        own, pids, all_jobs, eight_jobs = outcome.unwrap()
        assert pids == {own}
        assert all_jobs <= share
        assert eight_jobs <= share


def test_an_engine_inside_a_task_works():
    def nested(x):
        from fewer.engine import Engine

        with Engine.local(2) as engine:
            return sum(outcome.unwrap() for outcome in engine.run(abs, [-1, -2]))

    with Engine.local(2) as engine:
        assert [outcome.unwrap() for outcome in engine.run(nested, range(2)).collect()] == [3, 3]


def test_short_tasks_run_in_this_process():
    with Engine.local(2) as engine:
        outcomes = engine.run(abs, range(-20, 0), short_tasks=True).collect()
    assert [outcome.value for outcome in outcomes] == list(range(20, 0, -1))
    assert {outcome.worker for outcome in outcomes} == {"this process"}


def test_tasks_that_are_not_short_after_all_go_on_in_workers(monkeypatch):
    monkeypatch.setattr("fewer.engine._local._START_SECONDS", 0.0)
    with Engine.local(2) as engine:
        outcomes = engine.run(abs, range(-20, 0), short_tasks=True).collect()
        again = engine.run(abs, [-1], short_tasks=True).collect()
    assert [outcome.value for outcome in outcomes] == list(range(20, 0, -1))
    workers = [outcome.worker for outcome in outcomes]
    assert workers[0] == "this process"
    assert "this process" not in workers[5:]
    assert again[0].worker != "this process"  # workers that have started serve the next run
