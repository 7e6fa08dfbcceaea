"""Inner loops wake the threads of one BLAS only, NumPy's or SciPy's; see ``fewer._kernels._numpy_lapack``."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewer
from fewer._kernels._numpy_lapack import (
    generalized_eigh,
    inverse_of_lower,
    largest_eigh,
    solve_cholesky,
    solve_spd,
    solve_triangular,
)
from fewer._kernels._one_thread import scipy_on_one_thread

SOURCE = Path(fewer.__file__).parent

# Modules that call SciPy's LAPACK or its iterative solvers themselves: why their loops do not alternate.
BY_SCIPY = {
    "_kernels/_numpy_lapack.py": "on one thread, or a few eigenvectors of a large matrix",
    "_kernels/_scipy_solvers.py": "on one thread",
    "datasets/_gaussian_problems.py": "builds a matrix",
    "datasets/_graph_problems.py": "builds a matrix",
    "evaluate/clusterings/_consensus.py": "builds a matrix",
    "extract/_centred_table.py": "on one thread",
    "extract/gradients/_pair_problem.py": "factorises once",
    "extract/hyperbolic/_pairs.py": "on one thread",
    "graph/precision/_newton.py": "SciPy's alone",
    "latent/classes/_three_step.py": "after the loop",
    "latent/factors/_loadings.py": "matrices as large as there are factors",
    "latent/variational/_riemannian_cg.py": "a tridiagonal system has no threads",
    "learn/_kernel_ridge_loo.py": "an inverse, which NumPy has no quick one for, is most of the time",
    "learn/dantzig/_dantzig_problem.py": "matrices as large as there are columns in the model",
    "select/weights/_unit_columns.py": "a tridiagonal matrix has no threads",
}

FITS = """
import os
threads = lambda: set(os.listdir("/proc/self/task"))
before = threads()
import numpy as np
of_numpy = threads() - before
import scipy.linalg
of_scipy = threads() - before - of_numpy

def wakes(tasks):
    lines = [line for task in tasks for line in open(f"/proc/self/task/{task}/status") if "ctxt_switches" in line]
    return sum(int(line.split()[1]) for line in lines)

if not of_numpy or not of_scipy:
    print("one pool")
    raise SystemExit
import time
import warnings
warnings.simplefilter("ignore")
from fewer.extract import HDDA, ReconstructionPCA, RegularizedFisherCV
from fewer.graph import sparse_precision
from fewer.latent import FactorAnalysis, MixtureDiscriminantAnalysis
from fewer.learn import CompositeLossClassifier, RidgePathRegressorCV, WeightedLogisticRegression

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 120)) + rng.normal(size=(500, 120))
y = (X[:, 0] > 0).astype(int)
fits = {
    "FactorAnalysis": lambda: FactorAnalysis(3).fit(X),
    "RidgePathRegressorCV": lambda: RidgePathRegressorCV().fit(X, X[:, 1]),
    "WeightedLogisticRegression": lambda: WeightedLogisticRegression().fit(X, y),
    "CompositeLossClassifier": lambda: CompositeLossClassifier().fit(X, y),
    "MixtureDiscriminantAnalysis": lambda: MixtureDiscriminantAnalysis(2, random_state=0).fit(X, y),
    "RegularizedFisherCV": lambda: RegularizedFisherCV().fit(X, y),
    "HDDA": lambda: HDDA().fit(X, y),
    "ReconstructionPCA": lambda: ReconstructionPCA().fit(X),
}
def settled(tasks):
    # Threads spin for a while before they sleep.
    found = None
    for _ in range(100):
        if found == wakes(tasks):
            break
        found = wakes(tasks)
        time.sleep(0.3)
    return found

for name, fit in fits.items():
    asleep = settled(of_scipy)
    fit()
    print(name, "scipy", wakes(of_scipy) - asleep)
covariance = np.corrcoef(X.T)
asleep = settled(of_numpy)
sparse_precision(covariance, alpha=0.05)
print("sparse_precision", "numpy", wakes(of_numpy) - asleep)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_named_fits_wake_the_threads_of_one_blas_only():
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="2", OMP_NUM_THREADS="2")
    run = subprocess.run([sys.executable, "-c", FITS], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    if "one pool" in run.stdout:
        pytest.skip("NumPy and SciPy have one BLAS here, or no threads")
    counts = [line.split() for line in run.stdout.splitlines()]
    assert len(counts) == 9
    # A loop that alternates wakes them hundreds of times; a wake or two may come of the machine.
    assert [line for line in counts if int(line[2]) > 2] == []


def modules_that_call_scipy():
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{each.name}" for each in node.names}
            elif isinstance(node, ast.Import):
                names = {each.name for each in node.names}
            elif isinstance(node, ast.Attribute):
                names = {"scipy." + ast.unparse(node)}
            else:
                continue
            if any(re.match(r"scipy\.(linalg\b|optimize\.minimize$|sparse\.linalg\.(eigsh|svds)$)", n) for n in names):
                found.add(path.relative_to(SOURCE).as_posix())
    return found


def test_modules_that_call_scipys_lapack_have_a_reason():
    assert modules_that_call_scipy() == set(BY_SCIPY)


def test_scipy_has_its_threads_again_after_an_error():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = [each["num_threads"] for each in threadpoolctl.threadpool_info()]
    with pytest.raises(ZeroDivisionError), scipy_on_one_thread():
        raise ZeroDivisionError
    assert [each["num_threads"] for each in threadpoolctl.threadpool_info()] == before


@pytest.mark.parametrize("size", [1, 2, 95, 96, 97, 200, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solutions_of_every_size_leave_a_residual_of_rounding(size, dtype):
    """Each is backward stable: the residual is rounding of the matrix times the solution, whatever the condition."""
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(size + 5, size)) * np.geomspace(1, 1e3, size)
    matrix = (rows.T @ rows).astype(dtype)
    if dtype == np.float32:
        matrix += np.eye(size, dtype=dtype) * matrix.max() * 1e-3
    factor = np.linalg.cholesky(matrix)
    allowed = 20 * size * np.finfo(dtype).eps
    for right in (rng.normal(size=size).astype(dtype), rng.normal(size=(size, 7)).astype(dtype)):
        for given, options in ((factor, {}), (factor, {"transposed": True}), (factor.T, {"lower": False})):
            x = solve_triangular(given, right, **options)
            assert x.dtype == dtype
            assert x.shape == right.shape
            whole = given.T if options.get("transposed") else given
            assert np.all(np.abs(whole @ x - right) <= allowed * (np.abs(whole) @ np.abs(x)))
        for x in (solve_cholesky(factor, right), solve_spd(matrix, right)):
            assert np.abs(matrix @ x - right).max() <= allowed * np.abs(matrix).sum(axis=1).max() * np.abs(x).max()
    inverse = inverse_of_lower(factor)
    assert np.all(np.abs(inverse @ factor - np.eye(size)) <= allowed * (np.abs(inverse) @ np.abs(factor)))


def test_matrices_that_are_not_positive_definite_raise():
    with pytest.raises(np.linalg.LinAlgError):
        solve_spd(np.diag([1.0, -1.0]), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError):
        solve_triangular(np.diag([1.0, 0.0]), np.ones(2))


@pytest.mark.parametrize("size", [5, 650])
def test_the_largest_eigenvalues_are_those_of_all(size):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(size, size))
    matrix = rows @ rows.T
    values, vectors = largest_eigh(matrix, 3)
    allowed = 20 * size * np.finfo(float).eps * values[-1]
    assert np.abs(values - np.linalg.eigvalsh(matrix)[-3:]).max() <= allowed
    assert np.abs(matrix @ vectors - vectors * values).max() <= allowed


def test_generalized_eigenvectors_have_unit_length_in_the_metric():
    rng = np.random.default_rng(0)
    rows, other = rng.normal(size=(2, 200, 120))
    matrix, metric = rows.T @ rows, other.T @ other
    values, vectors = generalized_eigh(matrix, metric)
    condition = np.linalg.cond(metric)
    allowed = 20 * 120 * np.finfo(float).eps * condition
    assert np.all(np.diff(values) >= 0)
    assert np.abs(vectors.T @ metric @ vectors - np.eye(120)).max() <= allowed
    assert np.abs(vectors.T @ matrix @ vectors - np.diag(values)).max() <= allowed * values[-1]
