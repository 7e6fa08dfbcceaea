"""A plan on a Dask cluster comes to the findings of this machine, also when a worker is lost on the way."""

import os
import signal

import pytest

from fewer.engine import Engine

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fewer[dask]'")


@pytest.fixture
def cluster(request):
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=request.param, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


def leave(cluster, client):
    """One worker says good-bye and goes."""
    cluster.sync(next(iter(cluster.workers.values())).close)


def kill(cluster, client):
    """The process of one worker is gone without a word."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.parametrize(
    ("cluster", "lose"),
    [pytest.param(False, leave, id="threads"), pytest.param(True, kill, id="processes", marks=pytest.mark.slow)],
    indirect=["cluster"],
)
def test_a_worker_lost_half_way_changes_no_finding(cluster, lose, studied, make_table):
    table, effort = make_table(n_rows=40), {"n_folds": 3, "learners": ["ridge"]}
    with distributed.Client(cluster, set_as_default=False) as client:
        workers = set(client.scheduler_info()["workers"])
        lost = []

        def lose_half_way(done, total, *_):
            if not lost and done >= total / 2:
                lose(cluster, client)
                lost.append(True)

        far = studied(table, engine=Engine.dask(client=client), progress=lose_half_way, **effort)
        assert lost
        assert set(client.scheduler_info()["workers"]) != workers
    assert far.to_json() == studied(table, **effort).to_json()
