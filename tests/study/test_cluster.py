"""A plan on a Dask cluster comes to the findings of this machine, also when a worker is lost on the way."""

import os
import signal

import pytest

from fewer.engine import Engine

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fewer[dask]'")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


def test_a_worker_killed_half_way_changes_no_finding(cluster, studied, make_table):
    table, effort = make_table(n_rows=40), {"n_folds": 3, "learners": ["ridge"]}
    with distributed.Client(cluster, set_as_default=False) as client:
        workers = client.run(os.getpid)
        killed = []

        def kill_half_way(done, total, *_):
            if not killed and done >= total / 2:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)

        far = studied(table, engine=Engine.dask(client=client), progress=kill_half_way, **effort)
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
    assert far.to_json() == studied(table, **effort).to_json()
