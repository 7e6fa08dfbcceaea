import joblib
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fewer.engine._threads import thread_environment, within


def test_a_lower_limit_of_the_user_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "64")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    environment = thread_environment(4)
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["MKL_NUM_THREADS"] == "4"
    assert environment["OPENBLAS_NUM_THREADS"] == "4"


def test_native_threads_are_lowered_to_the_budget_and_never_raised():
    with threadpool_limits(limits=3), within(2):
        assert max(library["num_threads"] for library in threadpool_info()) == 2
    with threadpool_limits(limits=1), within(5):
        assert max(library["num_threads"] for library in threadpool_info()) == 1


@pytest.mark.parametrize("budget", [1, 3])
def test_nested_joblib_calls_get_threads_up_to_the_budget(budget):
    with within(budget):
        assert joblib.effective_n_jobs(8) == budget
        assert joblib.effective_n_jobs(1) == 1
        assert joblib.Parallel(n_jobs=8)(joblib.delayed(abs)(-x) for x in range(5)) == list(range(5))
