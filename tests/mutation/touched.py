"""Which tests run which lines of the package, and how long each takes.

The record of a test file is made once, by coverage.py, and kept outside of the tree until that file changes. When the
source has changed since, a line is looked up by its place in its function; in a function that has itself changed, any
line counts.
"""

import ast
import hashlib
import json
import os
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import coverage
import pytest

Functions = dict[str, tuple[int, int, str]]


@dataclass
class Record:
    """What the tests of some files ran: ``lines[test][module]`` and ``seconds[test]``."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    functions: dict[str, Functions] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def tests_of(self, module: str, line: int, source: str) -> set[str]:
        """The tests that run a line of the source as it is now; for a line outside of functions, those that run any."""
        name, first, text = _function_at(line, functions_of(source))
        start, end, text_then = self.functions.get(module, {}).get(name, (0, 0, ""))
        if start and text == text_then:
            wanted = {each - first + start for each in _statement_lines(line, source)}
        elif start:
            wanted = set(range(start + 1, end + 1))
        else:
            inner = [range(s + 1, e + 1) for s, e, _ in self.functions.get(module, {}).values()]
            wanted = set().union(*inner)
        return {test for test, touched in self.lines.items() if not wanted.isdisjoint(touched.get(module, ()))}


@cache
def functions_of(source: str) -> Functions:
    """First line, last line and a digest of each function of a source text, by qualified name."""
    found: Functions = {}
    lines = source.split("\n")

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}.{child.name}"
                if not isinstance(child, ast.ClassDef):
                    last = child.end_lineno or child.lineno
                    text = "\n".join(lines[child.lineno - 1 : last])
                    found[name] = (child.lineno, last, hashlib.sha1(text.encode()).hexdigest())
            visit(child, name)

    visit(ast.parse(source), "")
    return found


def _function_at(line: int, functions: Functions) -> tuple[str, int, str]:
    """Name, first line and digest of the innermost function around a line; an empty name outside of all."""
    around = [(start, name, text) for name, (start, end, text) in functions.items() if start <= line <= end]
    start, name, text = max(around, default=(0, "", ""))
    return name, start, text


@cache
def _statement_lines(line: int, source: str) -> range:
    """The lines of the innermost statement around a line; of one with a block below it, those of its head."""
    around = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt) and n.lineno <= line <= n.end_lineno]
    innermost = max(around, key=lambda node: (node.lineno, -node.end_lineno), default=None)
    if innermost is None:
        return range(line, line + 1)
    body = getattr(innermost, "body", None)
    return range(innermost.lineno, body[0].lineno if body else innermost.end_lineno + 1)


def record_tests(root: Path, files: list[str]) -> Record:
    """Run the tests of these files, in this process, and note what they run."""
    tracer = coverage.Coverage(data_file=None, source=[str(root / "src" / "fewer")], config_file=False)
    watcher = _Watcher(tracer)
    tracer.start()
    try:
        pytest.main(["-q", "-p", "no:cacheprovider", *files], plugins=[watcher])
    finally:
        tracer.stop()
    record = Record(failed=sorted(watcher.failed))
    data = tracer.get_data()
    lines_of: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for path in data.measured_files():
        module = str(Path(path).relative_to(root))
        record.functions[module] = functions_of(Path(path).read_text(encoding="utf-8"))
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in contexts:
                lines_of[context][module].append(line)
    for test in [test for test in watcher.passed if test not in watcher.failed]:
        record.seconds[test] = watcher.seconds[test]
        merged: dict[str, set[int]] = defaultdict(set)
        for context in (test, *watcher.shared[test]):
            for module, lines in lines_of[context].items():
                merged[module].update(lines)
        record.lines[test] = {module: sorted(lines) for module, lines in merged.items()}
    return record


class _Watcher:
    """Pytest plugin: gives each test, and each fixture that several tests share, a context of its own."""

    def __init__(self, tracer: coverage.Coverage):
        self.tracer = tracer
        self.contexts = [""]
        self.seconds: dict[str, float] = defaultdict(float)
        self.shared: dict[str, set[str]] = defaultdict(set)
        self.passed: list[str] = []
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        for definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
            self.shared[item.nodeid].update(map(_fixture_name, definitions))
        for name, function in list(vars(getattr(item, "module", object)).items()):
            if hasattr(function, "cache_info"):
                setattr(item.module, name, self._watched(function, f"cached {item.path} {name}"))
        self._enter(item.nodeid)
        start = _cpu_seconds()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = _cpu_seconds() - start
            self._leave()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        shared = fixturedef.scope != "function"
        if shared:
            self._enter(_fixture_name(fixturedef))
        try:
            return (yield)
        finally:
            if shared:
                self._leave()

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)

    def _watched(self, function, name):
        """A cached function of a test file: what it ran counts for every test that called it."""

        def call(*args, **kwargs):
            self.shared[self.contexts[1]].add(name)
            self._enter(name)
            try:
                return function(*args, **kwargs)
            finally:
                self._leave()

        return call

    def _enter(self, context: str) -> None:
        self.contexts.append(context)
        self.tracer.switch_context(context)

    def _leave(self) -> None:
        self.contexts.pop()
        self.tracer.switch_context(self.contexts[-1])


def _cpu_seconds() -> float:
    """CPU of this process and of the children that it has waited for: a busy machine does not count."""
    return sum(os.times()[:4])


def _fixture_name(definition) -> str:
    return f"fixture {definition.baseid} {definition.argname}"


class Archive:
    """Records on disk, one for each test file, valid as long as the file is what it was.

    The record of a file with a test that failed serves for one run only: what that test reaches is not known.
    """

    def __init__(self, folder: Path, root: Path):
        self.folder, self.root = folder, root
        folder.mkdir(parents=True, exist_ok=True)

    def stale(self, files: list[str]) -> list[str]:
        """The files whose tests must be run again."""
        return [file for file in files if not self._path(file).exists()]

    def keep(self, record: Record, files: list[str]) -> None:
        """Write what was recorded, file by file."""
        for file in files:
            tests = [test for test in record.seconds if test.partition("::")[0] == file]
            modules = {module for test in tests for module in record.lines[test]}
            part = {
                "seconds": {test: record.seconds[test] for test in tests},
                "lines": {test: record.lines[test] for test in tests},
                "functions": {module: record.functions[module] for module in modules},
            }
            whole = not any(test.partition("::")[0] == file for test in record.failed)
            self._path(file, whole=whole).write_text(json.dumps(part), encoding="utf-8")

    def record_of(self, file: str) -> Record:
        """What is on record for a test file."""
        path = self._path(file)
        path = path if path.exists() else self._path(file, whole=False)
        return Record(**json.loads(path.read_text(encoding="utf-8")))

    def _path(self, file: str, *, whole: bool = True) -> Path:
        digest = hashlib.sha1((self.root / file).read_bytes()).hexdigest()[:16]
        return self.folder / f"{file.replace('/', '__')}.{digest}{'' if whole else '.with-failures'}.json"
