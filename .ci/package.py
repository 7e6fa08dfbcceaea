"""Build the sdist and the wheel, and test them as a user gets them: installed, with the core dependencies only.

The wheel is built from the sdist, so that what the sdist lacks is noticed. The tests come from the unpacked sdist, and
``fewer`` from the wheel. ``make test-package`` runs this file with the Python of ``.venv``.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / ".venv" / "package.log"
# None of these is a core dependency: commands and readers must do without them.
ABSENT = ("pandas", "pyarrow", "distributed", "fastexcel", "matplotlib", "torch")
# Tests that need the core dependencies only, from the command line down to the reading of tables.
CORE_TESTS = (
    "test_package.py",
    "test_cli.py",
    "test_cli_study.py",
    "catalogue",
    "overview",
    "io/test_csv.py",
    "io/test_arff.py",
)
TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis")


def step(title, *command, cwd=ROOT):
    """Run a command under a one-line title and return what it printed; if it fails, print the end of that and leave."""
    print(f"{title} ...", flush=True)
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(map(str, command))}\n{done.stdout}\n")
    if done.returncode:
        print(*done.stdout.splitlines()[-40:], sep="\n")
        sys.exit(f"{title} failed with exit code {done.returncode}: the end of {LOG} is above.")
    return done.stdout


def check(holds, complaint):
    if not holds:
        sys.exit(complaint)


def built_files(folder):
    """The sdist and the wheel, built into a folder."""
    step("Building the sdist and the wheel", sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def try_commands(environment, wheel, folder):
    """The commands of an installed wheel, in a folder of their own."""
    python, fewer = environment / "bin" / "python", environment / "bin" / "fewer"
    find = f"from importlib.util import find_spec; print(*filter(find_spec, {ABSENT!r}))"
    present = step("Checking that no extra is installed", python, "-c", find, cwd=folder).split()
    check(not present, f"The core dependencies bring {', '.join(present)}: the tests below would prove nothing.")

    version = re.match(r"fewer-(.+?)-", wheel.name)[1]
    printed = step("fewer --version", fewer, "--version", cwd=folder)
    check(version in printed, f"fewer --version prints {printed!r}, and the wheel has version {version}.")
    check("MRMR" in step("fewer methods", fewer, "methods", cwd=folder), "fewer methods does not list MRMR.")
    step("fewer describe", fewer, "describe", "dataset:wine", cwd=folder)
    printed = step(
        "fewer study", fewer, "study", "dataset:wine", "--preset", "quick", "-j", "2", "--out", "wine", cwd=folder
    )
    check("Can the target be predicted?" in printed, f"The study of wine answers no question:\n{printed}")
    check((folder / "wine" / "report.html").stat().st_size > 10_000, "The study of wine left no report.")


def run_shipped_tests(environment, sdist, folder):
    """The tests of an unpacked sdist, against the installed wheel."""
    python = environment / "bin" / "python"
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    step("Installing " + ", ".join(TEST_TOOLS), python, "-m", "pip", "install", *TEST_TOOLS)
    check_origin(environment, source)
    tests = [f"tests/{name}" for name in CORE_TESTS]
    printed = step(
        "Running the tests of the sdist that need no extra", python, "-m", "pytest", "-q", *tests, cwd=source
    )
    print(printed.splitlines()[-1])

    # What else the tests need is in .venv; the environment's own packages, fewer among them, come first.
    own_packages = next(environment.glob("lib/python*/site-packages"))
    further = [folder for folder in sys.path if folder.endswith("site-packages")]
    (own_packages / "what-the-tests-need.pth").write_text("\n".join(further), encoding="utf-8")
    check_origin(environment, source)
    collect = ("-m", "pytest", "--collect-only", "-q", "--slow", "tests")
    print(step("Collecting all tests of the sdist", python, *collect, cwd=source).splitlines()[-1])


def check_origin(environment, folder):
    """Leave if a process in this folder would import ``fewer`` from anywhere but the environment."""
    command = [environment / "bin" / "python", "-c", "import fewer; print(fewer.__file__)"]
    origin = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    check(Path(origin).is_relative_to(environment), f"The tests would import {origin}, not the wheel.")


def main():
    LOG.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="fewer-package-") as scratch:
        folders = [Path(scratch).resolve() / name for name in ("dist", "environment", "commands", "source")]
        for folder in folders:
            folder.mkdir()
        dist, environment, commands, source = folders
        sdist, wheel = built_files(dist)
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        step(f"Installing {wheel.name} with the core dependencies", python, "-m", "pip", "install", wheel)
        try_commands(environment, wheel, commands)
        run_shipped_tests(environment, sdist, source)
        print(f"{sdist.name} and {wheel.name} pass.")


if __name__ == "__main__":
    main()
