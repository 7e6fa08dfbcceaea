"""Run the numeric tests as other processors would compute them.

    python tests/portable.py --list
    python tests/portable.py haswell-1 prescott-2
    python tests/portable.py generic -- tests/extract -k pls

OpenBLAS has a set of kernels for each family of processors, NumPy a set of loops for each instruction set, and Numba
compiles for the processor at hand: each sums in an order of its own. A configuration makes them compute as one family
of processors does, with one or two BLAS threads. Before the tests start, a process of that configuration reports which
kernels it uses; if they are not the ones asked for, the configuration fails. What follows ``--`` goes to pytest, in
place of the numeric tests.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMERIC_TESTS = (
    "tests/complete",
    "tests/datasets",
    "tests/estimators",
    "tests/evaluate",
    "tests/extract",
    "tests/graph",
    "tests/kernels",
    "tests/latent",
    "tests/learn",
    "tests/papers",
    "tests/select",
    "tests/theory",
    "src",
)
# Prints what a process of the configuration computes with.
REPORT = """
import json, numba, numpy, scipy.linalg, threadpoolctl
from numba.core.registry import cpu_target
numpy.ones((2, 2)) @ numpy.ones((2, 2))
blas = [found for found in threadpoolctl.threadpool_info() if found["internal_api"] == "openblas"]
print(json.dumps({
    "blas": sorted({found["architecture"].lower() for found in blas}),
    "blas_libraries": len(blas),
    "blas_threads": sorted({found["num_threads"] for found in blas}),
    "numpy": numpy.show_config("dicts")["SIMD Extensions"].get("found", []),
    "numba": cpu_target.target_context.codegen().magic_tuple()[1],
    "numba_bounds": bool(numba.config.BOUNDSCHECK),
}))
"""


@dataclass(frozen=True)
class Configuration:
    """What the libraries below the tests are made to compute with.

    Parameters
    ----------
    core : the family of processors whose kernels OpenBLAS uses, by its ``OPENBLAS_CORETYPE``; "" for its own choice.
    reported : the names by which OpenBLAS may report these kernels.
    threads : of OpenBLAS.
    needs : the flag in /proc/cpuinfo without which the kernels stop with an illegal instruction.
    numpy_baseline : whether NumPy uses only the instructions that every processor of its build has.
    numba_generic : whether Numba compiles for any 64-bit processor instead of the one at hand.
    numba_bounds : whether Numba's loops raise an IndexError where they would read or write outside of an array.
    """

    core: str
    reported: tuple[str, ...]
    threads: int = 1
    needs: str = "sse3"
    numpy_baseline: bool = False
    numba_generic: bool = False
    numba_bounds: bool = False

    def environment(self) -> dict[str, str]:
        """The variables that set all this, on top of those of this process."""
        settings = {"OPENBLAS_NUM_THREADS": str(self.threads)}
        if self.core:
            settings["OPENBLAS_CORETYPE"] = self.core
        if self.numpy_baseline:
            settings["NPY_DISABLE_CPU_FEATURES"] = " ".join(_kernels_in_use({})["numpy"])
        if self.numba_generic:
            # The default cache keeps what was compiled for the processor at hand.
            settings |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(ROOT / ".venv" / "numba-generic")}
        if self.numba_bounds:
            settings |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / ".venv" / "numba-bounds")}
        return settings

    def unmet(self, kernels: dict) -> list[str]:
        """What the kernels in use lack of this configuration."""
        complaints = []
        if kernels["blas_libraries"] == 0:
            complaints.append("NumPy and SciPy compute without OpenBLAS")
        if self.core and not set(kernels["blas"]) <= set(self.reported):
            complaints.append(f"OpenBLAS uses the kernels {kernels['blas']}, not {self.core}")
        if kernels["blas_threads"] != [self.threads]:
            complaints.append(f"OpenBLAS has {kernels['blas_threads']} threads, not {self.threads}")
        if self.numpy_baseline and kernels["numpy"]:
            complaints.append(f"NumPy uses {kernels['numpy']} above its baseline")
        if self.numba_generic and kernels["numba"] != "generic":
            complaints.append(f"Numba compiles for {kernels['numba']}")
        if self.numba_bounds and not kernels["numba_bounds"]:
            complaints.append("Numba does not check bounds")
        return complaints


def _pair(name: str, *args, **options) -> dict[str, Configuration]:
    return {f"{name}-{threads}": Configuration(*args, threads=threads, **options) for threads in (1, 2)}


CONFIGURATIONS = {
    **_pair("haswell", "Haswell", ("haswell", "zen"), needs="avx2"),
    **_pair("sandybridge", "Sandybridge", ("sandybridge",), needs="avx", numpy_baseline=True),
    # A build without the oldest kernels uses those of Prescott for all of them, and reports the first of these names.
    **_pair("prescott", "Prescott", ("prescott", "katmai"), numpy_baseline=True),
    **_pair("skylakex", "SkylakeX", ("skylakex",), needs="avx512f"),
    "generic": Configuration("", (), numba_generic=True),
    "bounds": Configuration("", (), numba_bounds=True),
}


def _processor_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return set()
    flags = {flag for line in lines if line.startswith("flags") for flag in line.partition(":")[2].split()}
    return flags | ({"sse3"} if "pni" in flags else set())  # Linux lists SSE3 under its first name


def available() -> list[str]:
    """The configurations that this processor can run; OpenBLAS takes no more threads than there are cores."""
    flags, n_cores = _processor_flags(), os.cpu_count() or 1
    return [name for name, each in CONFIGURATIONS.items() if each.needs in flags and each.threads <= n_cores]


def _kernels_in_use(settings: dict[str, str]) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", REPORT], env=os.environ | settings, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def run(name: str, pytest_options: list[str]) -> bool:
    """Run the tests in one configuration; whether all passed."""
    configuration = CONFIGURATIONS[name]
    settings = configuration.environment()
    kernels = _kernels_in_use(settings)
    print(f"== {name}: " + " ".join(f"{key}={value}" for key, value in settings.items()))
    print(f"   in use: {kernels}", flush=True)
    complaints = configuration.unmet(kernels)
    if complaints:
        print(f"== {name}: FAILED before any test: {'; '.join(complaints)}", flush=True)
        return False
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *pytest_options], cwd=ROOT, env=os.environ | settings, check=False
    )
    outcome = "passed" if done.returncode == 0 else f"FAILED (exit code {done.returncode})"
    print(f"== {name}: {outcome} in {time.monotonic() - start:.0f} s", flush=True)
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Run the configurations named, or all that this processor can run."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    tests = arguments[cut + 1 :] or list(NUMERIC_TESTS)
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], usage="%(prog)s [CONFIG ...] [-- PYTEST ...]"
    )
    parser.add_argument("names", nargs="*", metavar="CONFIG", help="a name of --list; all of them by default")
    parser.add_argument("--list", action="store_true", help="list the configurations that this processor can run")
    parser.add_argument("--workers", default="auto", help="processes that run tests (auto)")
    options = parser.parse_args(arguments[:cut])
    names = available()
    if options.list:
        print("\n".join(names))
        return 0
    unknown = sorted(set(options.names) - set(CONFIGURATIONS))
    if unknown:
        parser.error(f"no configuration is called {', '.join(unknown)}; there are {', '.join(CONFIGURATIONS)}")
    beyond = sorted(set(options.names) - set(names))
    if beyond:
        parser.error(f"this processor cannot run {', '.join(beyond)}")
    chosen = options.names or names
    failed = [name for name in chosen if not run(name, ["-n", options.workers, "--dist", "worksteal", *tests])]
    print(
        f"{len(chosen) - len(failed)} of {len(chosen)} configurations passed"
        + "".join(f"\nfailed: {n}" for n in failed)
    )
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
