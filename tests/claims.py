"""Pytest plugin: the claims of the literature, the tests that carry them, and the page of evidence.

``tests/papers/claims.toml`` lists the claims; a test carries one by ``@pytest.mark.claim(key, number)`` and notes the
figure that it reached through the fixture ``figure``. ``--evidence FILE`` writes what became of each.
"""

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

PAPERS = Path(__file__).parent / "papers"


@dataclass(frozen=True)
class Claim:
    """One entry of ``claims.toml``."""

    key: str
    number: int
    text: str
    verdict: str = ""
    measured: str = ""


@dataclass(frozen=True)
class Result:
    """What became of one test that carries a claim."""

    key: str
    number: int
    test: str
    outcome: str
    figure: str = ""


def read_claims(path=PAPERS / "claims.toml"):
    """All claims, and a ``ValueError`` for an entry that is twice there or incomplete."""
    claims = {}
    for key, entries in tomllib.loads(Path(path).read_text(encoding="utf-8")).items():
        for entry in entries:
            claim = Claim(key, entry["number"], entry["claim"], entry.get("verdict", ""), entry.get("measured", ""))
            if (key, claim.number) in claims:
                raise ValueError(f"{path}: claim {claim.number} of {key!r} is listed twice.")
            if bool(claim.verdict) != bool(claim.measured):
                raise ValueError(f"{path}: claim {claim.number} of {key!r} needs both a verdict and what was measured.")
            claims[key, claim.number] = claim
    return claims


def carried_claims(folder=PAPERS):
    """(key, number) of every claim mark in the test files of a folder, with the file and line."""
    carried = {}
    for path in sorted(Path(folder).rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.claim":
                key, number = (ast.literal_eval(argument) for argument in node.args)
                carried.setdefault((key, number), []).append(f"{path.name}:{node.lineno}")
    return carried


def unsettled_claims(claims, carried):
    """Complaints about claims without a test and tests without a claim."""
    without_test = [f"claim {number} of {key!r} has no test" for key, number in claims.keys() - carried.keys()]
    without_claim = [
        f"{', '.join(carried[key, number])} tests claim {number} of {key!r}, which claims.toml does not list"
        for key, number in carried.keys() - claims.keys()
    ]
    return sorted(without_test) + sorted(without_claim)


def evidence_page(claims, results, page=""):
    """The page of evidence, as Markdown; a claim that was not run keeps its row of the old page, if it is the same."""
    kept = _rows_of(page)
    lines = [
        "# Evidence",
        "",
        "What the literature says a right implementation shows, and whether ours does. `make evidence` runs every test",
        "below and writes this page; a claim that proved wrong stays listed, with what was measured instead. With some",
        "files of tests only, `pytest --slow -m claim --evidence docs/evidence.md FILE` writes their rows again.",
    ]
    for key in sorted({key for key, _ in claims}):
        lines += ["", f"## {key}", "", "| # | claim | tests | result | figure reached |", "|---|---|---|---|---|"]
        for claim in sorted((c for c in claims.values() if c.key == key), key=lambda c: c.number):
            own = sorted((r for r in results if (r.key, r.number) == (key, claim.number)), key=lambda r: r.test)
            tests = sorted({result.test.split("[")[0] for result in own})
            figures = [result.figure for result in own if result.figure]
            if claim.measured:
                figures.append(f"measured instead: {claim.measured}")
            cells = [
                str(claim.number),
                claim.text,
                ", ".join(f"`{test}`" for test in tests),
                _verdict(claim, own),
                "; ".join(figures),
            ]
            row = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
            old = kept.get((key, claim.number), "")
            same = all(text.replace("|", "\\|") in old for text in (claim.text, claim.verdict, claim.measured))
            lines.append(old if old and same and not own else row)
    return "\n".join(lines) + "\n"


def _rows_of(page):
    """The rows of a page by key and number."""
    rows, key = {}, ""
    for line in page.splitlines():
        if line.startswith("## "):
            key = line[3:]
        elif found := re.match(r"\| (\d+) \| ", line):
            rows[key, int(found[1])] = line
    return rows


def _verdict(claim, results):
    if not results:
        return "**not run**"
    if any(result.outcome != "passed" for result in results):
        return "**" + ", ".join(sorted({r.outcome for r in results if r.outcome != "passed"})) + "**"
    return f"{claim.verdict}; test of what holds passed" if claim.verdict else "passed"


class EvidenceWriter:
    """Collects the outcomes of the tests that carry claims and writes the page when all have run."""

    def __init__(self, path):
        self.path = Path(path)
        self.results = []

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        properties = dict(report.user_properties)
        for name, value in report.user_properties:
            if name == "claim":
                key, number = value.rsplit("/", 1)
                test = report.nodeid.rpartition("::")[2]
                self.results.append(Result(key, int(number), test, report.outcome, properties.get("figure", "")))

    def pytest_sessionfinish(self):
        page = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        self.path.write_text(evidence_page(read_claims(), self.results, page), encoding="utf-8")


def pytest_addoption(parser):
    parser.addoption("--evidence", metavar="FILE", help="write what became of every claim to this Markdown file")


def pytest_configure(config):
    if config.getoption("--evidence") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(EvidenceWriter(config.getoption("--evidence")))


def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("claim"):
            key, number = mark.args
            item.user_properties.append(("claim", f"{key}/{number}"))


@pytest.fixture
def figure(record_property):
    """Note the figure that a claim's test reached, for docs/evidence.md."""
    return lambda text: record_property("figure", text)
