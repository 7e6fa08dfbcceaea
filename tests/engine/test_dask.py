import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from fewer.engine import Engine
from fewer.engine._attempt import packed
from fewer.engine._dask import Cargo

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewer[dask]'")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fewer[dask]'")


@pytest.fixture(scope="module")
def cluster():
    settings = {
        # A worker that was killed is replaced however long that takes: on a busy machine more than Dask's 15 s.
        "distributed.deploy.lost-worker-timeout": "300s",
        # Every two seconds it would drop copies of the shared data that no task waits for at that moment.
        "distributed.scheduler.active-memory-manager.start": False,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def engine(cluster):
    with Engine.dask(cluster.scheduler_address) as engine:
        patience = time.monotonic() + 60
        while engine.n_workers < 2:  # one may still be on its way back from the test before
            assert time.monotonic() < patience, "a worker of the cluster has not come back"
            time.sleep(0.05)
        yield engine


def test_values_are_the_same_as_on_this_machine(engine):
    def draw(seed, table):
        return np.random.default_rng(seed).permutation(table)[:3].tolist()

    table = np.arange(1000.0)
    far = engine.run(draw, range(20), shared=table).collect()
    with Engine.local(1) as inline:
        near = inline.run(draw, range(20), shared=table).collect()
    assert [outcome.unwrap() for outcome in far] == [outcome.unwrap() for outcome in near]
    assert all(outcome.worker.startswith("tcp://") for outcome in far)


def test_all_tasks_finish_when_a_worker_is_killed_during_the_run(engine):
    def work(x, table):
        time.sleep(0.05)
        return x, os.getpid(), float(table.sum())

    killed = None
    values = {}
    for outcome in engine.run(work, range(40), shared=np.ones(10)):
        x, pid, total = outcome.unwrap()
        values[x] = total
        if killed is None:
            killed = pid
            os.kill(pid, signal.SIGKILL)
    assert values == dict.fromkeys(range(40), 10.0)


def test_a_task_that_kills_every_worker_fails_and_the_others_do_not(engine):
    def deadly(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    outcomes = engine.run(deadly, range(8)).collect()
    guilty = outcomes.pop(3)
    assert guilty.failure.kind == "WorkerDied"
    assert "while running task 3" in guilty.failure.message
    assert [outcome.unwrap() for outcome in outcomes] == [0, 1, 2, 4, 5, 6, 7]


def test_failures_and_things_that_cannot_travel_leave_records(engine):
    def fail(make):
        return make() if callable(make) else 1 / make

    outcomes = engine.run(fail, [0, 4, threading.Lock(), threading.Lock]).collect()
    assert outcomes[1].value == 0.25
    kinds = [outcome.failure.kind for outcome in outcomes if not outcome.ok]
    assert kinds == ["ZeroDivisionError", "UnpicklableTask", "UnpicklableValue"]
    assert "in fail" in outcomes[0].failure.traceback


def test_shared_data_is_unpacked_once_by_a_worker_and_read_only(engine, tmp_path):
    class Announced:
        def __init__(self, folder, table):
            self.folder, self.table = folder, table

        def __setstate__(self, state):
            self.__dict__.update(state)
            with (self.folder / str(os.getpid())).open("a") as file:
                file.write("unpacked\n")

    def is_writeable(task, shared):
        return shared.table.flags.writeable

    outcomes = engine.run(is_writeable, range(30), shared=Announced(tmp_path, np.ones(100))).collect()
    assert {outcome.unwrap() for outcome in outcomes} == {False}
    assert all(path.read_text() == "unpacked\n" for path in tmp_path.iterdir())


def test_native_threads_fit_the_cores_of_the_host(engine):
    def most_threads(x):
        import joblib
        import sklearn.cluster  # noqa: F401 - brings its OpenMP along
        from threadpoolctl import threadpool_info

        return max(library["num_threads"] for library in threadpool_info()), joblib.effective_n_jobs(-1)

    share = max(1, len(os.sched_getaffinity(0)) // 2)
    for outcome in engine.run(most_threads, range(6)):
        assert max(outcome.unwrap()) <= share


def test_leaving_the_loop_gives_up_the_rest(engine, tmp_path):
    def note(x):
        (tmp_path / str(x)).touch()
        time.sleep(0.05)
        return x

    for _ in engine.run(note, range(1000)):
        break
    assert [outcome.value for outcome in engine.run(abs, [-1]).collect()] == [1]
    assert len(list(tmp_path.iterdir())) < 20


def test_ctrl_c_returns_what_is_done(engine, ctrl_c):
    run = engine.run(lambda x: time.sleep(0.01) or x, range(1000))
    for outcome in run:
        assert outcome.ok
        if run.done == 2:
            ctrl_c()
    assert run.interrupted
    assert 2 <= run.done < 20


def test_an_existing_client_is_used_and_left_open(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        with Engine.dask(client=client) as engine:
            assert engine.n_workers == 2
            assert [outcome.value for outcome in engine.run(abs, [-1]).collect()] == [1]
        assert client.status == "running"


def test_a_lost_scheduler_is_named_and_what_is_done_is_kept():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    ) as cluster:
        engine = Engine.dask(cluster.scheduler_address)
        run = engine.run(lambda x: x, range(100_000), progress=lambda done, *_: cluster.close() if done == 1 else None)
        with pytest.raises(ConnectionError, match="Dask scheduler was lost"):
            run.collect()
        assert [outcome.value for outcome in run.collect()] == list(range(run.done))
        assert run.done >= 1
        engine.close()


def test_a_wrong_address_is_explained():
    impatient = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with impatient, pytest.raises(ConnectionError, match="Start one with `dask scheduler`"):
        Engine.dask("tcp://127.0.0.1:1")


def test_neither_address_nor_client_is_explained():
    with pytest.raises(ValueError, match="Give the address"):
        Engine.dask()


def test_cargo_that_comes_twice_is_one():
    def shifted(task, by):
        return task + by

    sent = Cargo(packed((shifted, (2,))), "one run")
    first, again = (pickle.loads(pickle.dumps(sent)) for _ in range(2))
    other = pickle.loads(pickle.dumps(Cargo(packed((shifted, (3,))), "another")))
    assert again is first is pickle.loads(pickle.dumps(first))
    assert again.call is first.call
    assert [cargo.call(1) for cargo in (first, other)] == [3, 4]
