"""How many deliberate faults in a room do the tests notice?

    python tests/mutants.py evaluate --sample 150
    python tests/mutants.py evaluate --module src/fewer/evaluate/_compare.py

Each fault is put into a copy of the tree, and the tests that run the faulty line are run there: those of the room
first, the quickest first, up to the first that fails. What no test notices is printed. The working tree is not touched,
and may be edited meanwhile. Which tests run which lines is noted once, which takes as long as these tests, and kept in
~/.cache/fewer.
"""

import argparse
import ast
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from mutation.faults import LOOKS, Fault, faults_in
from mutation.forks import Job, outcomes
from mutation.touched import Archive, Record, record_tests

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (
    ".git",
    ".venv",
    "_build",
    "auto_gallery",
    "generated",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    "*.pyc",
)
# One thread each, as several forks share the machine.
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "SCIPY_ARRAY_API": "1",
}
LIBRARIES = ("hypothesis.extra.numpy", "pandas", "plotly.graph_objects", "sklearn.utils.estimator_checks")
METHOD_ROOMS = ("select", "extract", "latent", "complete", "graph", "learn", "evaluate", "theory")


@dataclass(frozen=True)
class Mutant:
    """A fault in a module, with the tests that should notice it."""

    module: str
    fault: Fault
    tests: tuple[str, ...]
    seconds: float
    compiled: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.fault.line}  {self.fault}"


def main() -> None:
    options = _options()
    os.environ |= SETTINGS
    # When told to stop, clean up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="fewer-mutants-") as scratch:
        copies = [Path(scratch) / str(number) for number in range(options.jobs)]
        for copy in copies:
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        _import_libraries(copies[0])
        records = _records(options.room, copies)
        mutants = _mutants(options, copies[0], records)
        results = _tried(mutants, records, copies)
    _print_score(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", help="a folder of src/fewer, such as evaluate")
    parser.add_argument("--module", help="only this file of the room")
    parser.add_argument("--sample", type=int, help="so many faults, spread over the modules; without it, all")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--jobs", type=int, default=1, help="so many faults at a time")
    parser.add_argument(
        "--budget", type=float, default=20.0, help="seconds of CPU for the tests of each fault (%(default)s)"
    )
    parser.add_argument("--json", type=Path, help="write every fault and what became of it to this file")
    options = parser.parse_args()
    if not (ROOT / "src" / "fewer" / options.room).is_dir():
        parser.error(f"src/fewer has no folder {options.room!r}")
    return options


def _import_libraries(copy: Path) -> None:
    """Import all that the package and its tests import, and forget the package itself."""
    sys.path = [str(copy / "src"), *(path for path in sys.path if path != str(ROOT / "tests"))]
    for name in (*LIBRARIES, "fewer.facade", "fewer.cli"):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "fewer"]:
        del sys.modules[name]
    sys.path.pop(0)


def _test_files(room: str, root: Path) -> list[str]:
    """The examples and tests of the room; if it holds methods, also the contract and the papers that speak of it."""
    own = sorted((root / "src" / "fewer" / room).rglob("*.py"))
    chosen = [path for path in own if ">>>" in path.read_text(encoding="utf-8")]
    for path in sorted((root / "tests").rglob("test_*.py")):
        folder = path.relative_to(root / "tests").parts[0]
        paper = folder == "papers" and f"fewer.{room}" in path.read_text(encoding="utf-8")
        if folder == room.strip("_") or (room in METHOD_ROOMS and (paper or folder == "contract")):
            chosen.append(path)
    return [str(path.relative_to(root)) for path in chosen]


def _records(room: str, copies: list[Path]) -> list[Record]:
    """What the tests of the room run; new or changed test files are run for it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fewer" / "mutants"
    archive = Archive(cache / hashlib.sha1(str(ROOT).encode()).hexdigest()[:8], copies[0])
    files = _test_files(room, copies[0])
    stale = archive.stale(files)
    parts = [stale[start : start + 10] for start in range(0, len(stale), 10)]
    jobs = [Job(part, partial(_recorded, part, archive.folder), limit=3600) for part in parts]
    for done, (part, _, result) in enumerate(outcomes(jobs, copies), 1):
        if result is None:
            sys.exit(f"The tests of {', '.join(part)} cannot be run here; mend them first.")
        print(f"noted what the tests run: {done} of {len(parts)} parts ({result['passed']} tests)", flush=True)
        for test in result["failed"]:
            print(f"  fails without any fault, and is left out: {test}", flush=True)
    return [archive.record_of(file) for file in files]


def _recorded(files: list[str], folder: Path, copy: Path) -> dict:
    record = record_tests(copy, files)
    Archive(folder, copy).keep(record, files)
    return {"passed": len(record.seconds), "failed": record.failed}


def _mutants(options: argparse.Namespace, root: Path, records: list[Record]) -> list[Mutant]:
    """A sample of the faults of the room, spread evenly over its modules."""
    places = []
    for path in sorted((root / "src" / "fewer" / options.room).rglob("*.py")):
        module = str(path.relative_to(root))
        if LOOKS.fullmatch(path.stem) or (options.module and not module.endswith(options.module)):
            continue
        found = faults_in(path.read_text(encoding="utf-8"))
        random.Random(f"{options.seed} {module}").shuffle(found)
        places += [(module, fault) for fault in found]
    if not places:
        sys.exit("No fault can be put there: is the name of the module right?")
    if options.sample and options.sample < len(places):
        step = len(places) / options.sample
        offset = random.Random(options.seed).random()
        places = [places[int((offset + number) * step)] for number in range(options.sample)]
    print(f"{len(places)} faults to try", flush=True)
    return [_mutant(module, fault, root, records, options) for module, fault in places]


def _mutant(module: str, fault: Fault, root: Path, records: list[Record], options: argparse.Namespace) -> Mutant:
    source = (root / module).read_text(encoding="utf-8")
    compiled = "njit" in source
    places = [(module, fault.line), *(_uses_of(module, root) if compiled else [])]
    seconds: dict[str, float] = {}
    for record in records:
        for place, line in places:
            text = (root / place).read_text(encoding="utf-8")
            seconds |= {test: record.seconds[test] for test in record.tests_of(place, line, text)}
    order = sorted(seconds, key=lambda test: (not _is_near(test, module), seconds[test]))
    chosen, spent = [], 0.0
    for test in order:
        if not chosen or spent + seconds[test] <= options.budget:
            chosen.append(test)
            spent += seconds[test]
    return Mutant(module, fault, tuple(chosen), spent, compiled)


def _is_near(test: str, module: str) -> bool:
    """Whether a test belongs to the room of the module."""
    room = module.split("/")[2]
    return test.startswith((f"src/fewer/{room}/", f"tests/{room.strip('_')}/"))


def _uses_of(module: str, root: Path) -> list[tuple[str, int]]:
    """Where other modules call what this one defines: coverage.py cannot look into compiled functions."""
    dotted = module.removeprefix("src/").removesuffix(".py").replace("/", ".")
    uses = []
    for path in sorted((root / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if dotted not in text:
            continue
        tree = ast.parse(text)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == dotted]
        names = {alias.asname or alias.name for node in imports for alias in node.names}
        place = str(path.relative_to(root))
        uses += [(place, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
        if names and "njit" in text:
            uses += _uses_of(place, root)
    return uses


def _tried(mutants: list[Mutant], records: list[Record], copies: list[Path]) -> list[dict]:
    """What became of each mutant; a survivor is printed at once."""
    seconds = {test: duration for record in records for test, duration in record.seconds.items()}
    results = []

    def note(mutant: Mutant, noticed: str) -> None:
        results.append(
            {"module": mutant.module, **asdict(mutant.fault), "noticed": noticed, "tests": len(mutant.tests)}
        )
        if not noticed:
            print(f"{mutant}  [{len(mutant.tests) or 'no'} tests run it]", flush=True)

    for mutant in mutants:
        if not mutant.tests:
            note(mutant, "")
    jobs = (
        Job(mutant, partial(_noticed, mutant, seconds), limit=(240 if mutant.compiled else 60) + 3 * mutant.seconds)
        for mutant in mutants
        if mutant.tests
    )
    start, originals = time.monotonic(), {m.module: (copies[0] / m.module).read_text(encoding="utf-8") for m in mutants}
    for mutant, copy, result in outcomes(jobs, copies):
        (copy / mutant.module).write_text(originals[mutant.module], encoding="utf-8")
        note(mutant, "time" if result is None else result)
    print(f"{(time.monotonic() - start) / len(mutants):.1f} s a fault\n")
    return results


def _noticed(mutant: Mutant, seconds: dict[str, float], copy: Path) -> str:
    """The test that noticed the fault, or nothing. Runs in a fork."""
    path = copy / mutant.module
    path.write_text(mutant.fault.applied_to(path.read_text(encoding="utf-8")), encoding="utf-8")
    # A time of its own, so that no compiled file made from another text of this length is taken for it.
    digest = int.from_bytes(hashlib.sha1(path.read_bytes()).digest()[:4]) // 2
    os.utime(path, (digest, digest))
    if mutant.compiled:
        import numba

        numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=copy)
    floor = 60.0 if mutant.compiled else 15.0
    limits = {test: max(floor, 10 * seconds[test]) for test in mutant.tests}
    near = {test for test in limits if _is_near(test, mutant.module)}
    for tests in (near, set(limits) - near):
        if tests:
            chosen = _Chosen({test: limits[test] for test in tests}, seconds)
            files = sorted({test.partition("::")[0] for test in tests})
            code = pytest.main(["-xq", "-p", "no:cacheprovider", "--tb=line", *files], plugins=[chosen])
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return chosen.failed or "import"
    return ""


class _Chosen:
    """Pytest plugin: runs only the chosen tests, the quickest first; one that takes too much CPU ends this process."""

    def __init__(self, limits: dict[str, float], seconds: dict[str, float]):
        self.limits, self.seconds, self.failed = limits, seconds, ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in self.limits), key=lambda item: self.seconds[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + self.limits[item.nodeid]) + 1, -1))

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = report.nodeid


def _print_score(results: list[dict]) -> None:
    by_module = defaultdict(lambda: SimpleNamespace(noticed=0, all=0))
    for result in results:
        for name in (result["module"], "in total"):
            by_module[name].all += 1
            by_module[name].noticed += bool(result["noticed"])
    for name in [*sorted(by_module.keys() - {"in total"}), "in total"]:
        score = by_module[name]
        print(f"{score.noticed / score.all:5.0%}  {score.noticed:4d} of {score.all:4d}  {name}")
    late = sum(result["noticed"] == "time" for result in results)
    if late:
        print(f"{late} of those noticed only died or ran out of time")


if __name__ == "__main__":
    main()
