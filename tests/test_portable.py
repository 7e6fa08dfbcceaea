"""Configurations of other processors: what this one can run, and that none passes without its kernels in use."""

import pytest

import portable
from portable import CONFIGURATIONS

KERNELS = {"blas": ["sandybridge"], "blas_libraries": 2, "blas_threads": [1], "numpy": [], "numba": "znver3"} | {
    "numba_bounds": False
}


@pytest.mark.parametrize(
    ("flags", "n_cores", "expected"),
    [
        ({"sse3"}, 2, {"prescott-1", "prescott-2", "generic", "bounds"}),
        ({"sse3", "avx", "avx2"}, 1, {"haswell-1", "sandybridge-1", "prescott-1", "generic", "bounds"}),
        ({"sse3", "avx", "avx2", "avx512f"}, 8, set(CONFIGURATIONS)),
        (set(), 4, set()),
    ],
)
def test_a_processor_runs_only_kernels_whose_instructions_it_has(flags, n_cores, expected, monkeypatch):
    monkeypatch.setattr(portable, "_processor_flags", lambda: flags)
    monkeypatch.setattr(portable.os, "cpu_count", lambda: n_cores)
    assert set(portable.available()) == expected


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"blas": ["haswell", "sandybridge"]}, "not Sandybridge"),  # one of the two libraries did not react
        ({"blas": [], "blas_libraries": 0, "blas_threads": []}, "without OpenBLAS"),
        ({"blas_threads": [2]}, "has [2] threads, not 1"),
        ({"numpy": ["X86_V3"]}, "above its baseline"),
    ],
)
def test_kernels_that_are_not_in_use_are_named(changed, complaint):
    configuration = CONFIGURATIONS["sandybridge-1"]
    assert configuration.unmet(KERNELS) == []
    assert complaint in "; ".join(configuration.unmet(KERNELS | changed))


def test_numba_has_a_cache_of_its_own_where_it_compiles_for_any_processor():
    settings = CONFIGURATIONS["generic"].environment()
    assert settings["NUMBA_CPU_NAME"] == "generic"
    assert "generic" in settings["NUMBA_CACHE_DIR"]
    assert CONFIGURATIONS["generic"].unmet(KERNELS) == ["Numba compiles for znver3"]
    assert CONFIGURATIONS["bounds"].environment()["NUMBA_CACHE_DIR"] != settings["NUMBA_CACHE_DIR"]
    assert CONFIGURATIONS["bounds"].unmet(KERNELS) == ["Numba does not check bounds"]
    assert "NUMBA_CACHE_DIR" not in CONFIGURATIONS["haswell-1"].environment()


@pytest.mark.skipif("prescott-1" not in portable.available(), reason="the processor is not an x86")
def test_a_run_fails_where_the_kernels_did_not_change(monkeypatch, capfd):
    monkeypatch.setattr(portable.Configuration, "environment", lambda self: {"OPENBLAS_CORETYPE": "Nehalem"})
    assert portable.main(["prescott-1", "--workers", "0", "--", "--version"]) == 1
    assert "FAILED before any test: OpenBLAS uses the kernels ['nehalem'], not Prescott" in capfd.readouterr().out


def test_names_that_are_not_listed_are_refused(capsys):
    with pytest.raises(SystemExit):
        portable.main(["pentium"])
    assert "no configuration is called pentium; there are haswell-1," in capsys.readouterr().err
