"""The targets of `make`: a quiet set-up with a log, and which of them a commit runs."""

import os
import re
import shutil
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"
# Stands for python3: it makes an environment whose pip prints much and ends with the given exit code.
PYTHON = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "WARNING: pip has much to print"; echo "$@"; exit {exit_code}\\n' > "$3/bin/python"
printf '#!/bin/sh\\necho "fewer $@"\\n' > "$3/bin/fewer"
chmod +x "$3/bin/python" "$3/bin/fewer"
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def make(tmp_path):
    """A function that runs a target in a folder that has never been set up."""
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / "pyproject.toml").touch()

    def run(*words, exit_code=0):
        python = tmp_path / "python3"
        python.write_text(PYTHON.format(exit_code=exit_code))
        python.chmod(0o755)
        # The options of a make that runs these tests are none of this one's business.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        command = ["make", f"PYTHON={python}", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def test_a_first_study_prints_one_line_for_each_step_of_the_set_up(make, tmp_path):
    done = make("study")
    assert (done.returncode, done.stderr) == (0, "")
    *steps, study = done.stdout.splitlines()
    assert len(steps) == 3
    assert all(line.endswith(" ...") and ".venv" in line for line in steps)
    assert study.startswith("fewer study dataset:khan")
    assert "pip has much to print" in (tmp_path / ".venv" / "setup.log").read_text()


def test_a_second_study_sets_up_nothing(make):
    make("study")
    assert make("study", "TABLE=t.csv").stdout == "fewer study t.csv --preset quick\n"


def test_a_step_that_fails_names_its_log_and_runs_again(make):
    failed = make("study", exit_code=1)
    assert failed.returncode != 0
    assert "pip has much to print" in failed.stderr
    assert "failed: the end of .venv/setup.log is above" in failed.stderr
    assert "fewer study" not in failed.stdout
    assert "Installing" in make("study").stdout


def test_the_lowest_versions_have_an_environment_of_their_own(make, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "lowest-versions.txt").touch()
    assert make("test-lowest").returncode == 0
    assert not (tmp_path / ".venv").exists()
    log = (tmp_path / ".venv-lowest" / "setup.log").read_text()
    assert log.count("--constraint tests/lowest-versions.txt") == 2


def test_every_part_of_the_rotation_is_a_target_and_each_commit_has_one():
    path = str(MAKEFILE.parent / ".ci" / "rotation")
    loader = SourceFileLoader("rotation", path)
    rotation = module_from_spec(spec_from_loader("rotation", loader))
    loader.exec_module(rotation)
    parts = rotation.parts()
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE.read_text(encoding="utf-8"), re.M))
    assert {target for target, *_ in parts.values()} <= targets
    assert {rotation.part_of_hash(f"{number:040x}") for number in range(len(parts))} == set(parts)


@pytest.fixture
def continuous_integration(tmp_path):
    """A function that runs ``.ci/run`` with a make that notes its target, and fails for one of them."""
    shutil.copytree(MAKEFILE.parent / ".ci", tmp_path / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    commands = tmp_path / "bin"
    commands.mkdir()
    make = (
        f"#!/bin/sh\nfor word; do target=$word; case $word in -*) ;; *) break;; esac; done\n"
        f'echo "$target" >> {tmp_path}/targets\necho "output of $target"\n[ "$target" != "$FAILS" ]\n'
    )
    for name, script in {"make": make, "apt-get": "#!/bin/sh\n"}.items():
        (commands / name).write_text(script)
        (commands / name).chmod(0o755)

    def run(fails=""):
        (tmp_path / "targets").unlink(missing_ok=True)
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "PART": "slow:2/4", "FAILS": fails}
        done = subprocess.run([tmp_path / ".ci" / "run"], env=environment, capture_output=True, text=True)
        return done, (tmp_path / "targets").read_text().split()

    return run


def test_continuous_integration_runs_each_step_once(continuous_integration):
    done, targets = continuous_integration()
    assert done.returncode == 0, done.stderr
    assert targets[0] == "set-up"
    assert sorted(targets[1:3]) == ["lint", "test-package"]
    assert targets[3:] == ["test", "test-slow"]
    assert "output of lint" in done.stdout


@pytest.mark.parametrize("fails", ["set-up", "lint", "test-package", "test", "test-slow"])
def test_continuous_integration_fails_where_one_step_does(continuous_integration, fails):
    done, targets = continuous_integration(fails)
    assert done.returncode != 0
    assert f"output of {fails}" in done.stdout
    assert ("test" in targets) == (fails in ("test", "test-slow"))
