"""The package as a whole: quick and silent to import, one version."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import fewer

ROOT = Path(__file__).parents[1]


def test_import_is_silent_and_leaves_heavy_things_alone():
    script = "import sys, fewer; print(sorted({'sklearn', 'scipy', 'polars', 'pandas', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_version_has_one_source():
    assert version("fewer") == fewer.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == fewer.__version__


def test_rooms_and_shortcuts_are_reached_from_the_top():
    assert fewer.extract.KurtosisICA.__name__ == "KurtosisICA"
    assert fewer.read_table is fewer.io.read_table
    assert {"extract", "read_table"} <= set(dir(fewer))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'fewer' has no attribute 'kitchen'"):
        fewer.kitchen  # noqa: B018  # the access is the test


def test_lowest_versions_are_the_bounds_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = ("sql", "excel", "dask", "wavelets", "graph", "data", "test")
    bounds = dict(
        bound
        for given in [*project["dependencies"], *(needed for name in names for needed in extras[name])]
        for bound in re.findall(r"^([\w-]+)>=([\d.]+)", given)
    )
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "tests/lowest-versions.txt").read_text("utf-8"), re.M))
    assert pinned.keys() == bounds.keys()
    for name, bound in bounds.items():
        assert re.fullmatch(rf"{bound}(\.0)*", pinned[name]), (
            f"{name}: >={bound} in pyproject.toml, {pinned[name]} tested"
        )
