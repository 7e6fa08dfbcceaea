"""What a command imports: the rooms that it uses, and no package that it can do without."""

import contextlib
import gc
import json
import subprocess
import sys

import pytest

# The packages in NEVER cannot be found, as in an environment with the core dependencies alone: scikit-learn, numba and
# skops import some of them where they are installed.
SCRIPT = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {never!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from fewer.cli import app
try:
    app({arguments!r})
except SystemExit as end:
    assert not end.code, end.code
json.dump(sorted(sys.modules), sys.stderr)
"""
NEVER = {"dask", "distributed", "pytest", "_pytest", "coverage", "torch", "matplotlib", "pandas", "IPython"}


def modules_of(*arguments, cwd):
    """Modules that are there at the end of a command."""
    script = SCRIPT.format(never=NEVER, arguments=[str(each) for each in arguments])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


def of_room(modules, *rooms):
    return sorted(name for name in modules for room in rooms if name.startswith(f"fewer.{room}."))


@pytest.fixture(scope="module")
def study_modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start-up")
    options = ("--preset", "quick", "--permutations", "0", "--jobs", "1", "--quiet", "--out", folder / "wine")
    return modules_of("study", "dataset:wine", *options, cwd=folder)


def test_help_imports_no_package_for_numbers(tmp_path):
    modules = modules_of("--help", cwd=tmp_path)
    assert not modules & {"numpy", "scipy", "polars", "sklearn", "numba", "joblib", *NEVER}
    assert len([name for name in modules if name.startswith("fewer")]) <= 10


@pytest.mark.parametrize("table", [("table.csv", "--target", "y"), ("dataset:wine",)], ids=["csv", "wine"])
def test_describe_imports_tables_and_the_overview_alone(table, tmp_path):
    (tmp_path / "table.csv").write_text("a,b,y\n" + "".join(f"{i},{i % 7},{'uv'[i % 2]}\n" for i in range(40)))
    modules = modules_of("describe", *table, cwd=tmp_path)
    assert not modules & {"sklearn", "numba", "plotly", "jinja2", "skops", *NEVER}
    assert of_room(modules, "select", "extract", "learn", "complete", "evaluate", "study", "engine", "catalogue") == []


def test_a_study_does_without_packages_that_are_not_core_dependencies(study_modules):
    assert "skops.io" in study_modules  # to its end: the model is saved last
    assert not study_modules & NEVER


def test_a_study_imports_of_our_rooms_what_it_uses(study_modules):
    assert of_room(study_modules, "complete", "latent", "web") == []
    precision = ("fewer.graph._", "fewer.graph.precision")
    assert all(name.startswith(precision) for name in of_room(study_modules, "graph"))
    learners = ("fewer.learn.ridge", "fewer.learn._linear")
    assert all(name.startswith(learners) for name in of_room(study_modules, "learn"))
    assert len(of_room(study_modules, "extract")) <= 2
    assert of_room(study_modules, "select.information") == []  # classes need not be cut into levels
    ours = [name for name in study_modules if name.startswith("fewer")]
    assert len(ours) <= 185, sorted(ours)  # of more than 700; six are packages of the study room


def test_skops_and_templates_come_last():
    script = """
import sys
import fewer
data = fewer.study.study_data(fewer.datasets.load("wine"))
plan = fewer.study.make_plan(data, preset="quick")
fewer.study.time_estimate
print(sorted({"skops", "plotly", "jinja2"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_garbage_is_searched_for_among_what_a_command_imports():
    from fewer.cli._app import without_collector

    def state():
        return gc.isenabled(), gc.get_freeze_count() > 0

    gc.unfreeze()  # what a plugin may have frozen
    with without_collector() as imported:
        assert state() == (False, False)
        imported()
        assert state() == (True, True)
        with without_collector() as again:  # what others have frozen stays so
            again()
        assert state() == (True, True)
    assert state() == (True, False)
    with contextlib.suppress(KeyError), without_collector():
        raise KeyError
    assert state() == (True, False)
