"""``fewer.show_versions``: what a report of a problem needs."""

import platform
import re
from importlib.metadata import version

import fewer
from fewer.engine import _versions


def test_versions_of_python_packages_and_native_libraries_are_printed(capsys):
    fewer.show_versions()
    printed = capsys.readouterr().out
    assert f"python: {platform.python_version()}" in printed
    for name in ("fewer", "numpy", "scipy", "scikit-learn", "skops"):
        assert f"{name}: {version(name)}\n" in printed
    assert re.search(r"^Native libraries\n *1 \w+: .+, \d+ threads, ", printed, re.M)


def test_an_optional_package_that_is_absent_is_shown_and_tools_of_developers_are_not(capsys, monkeypatch):
    requirements = ["numpy>=2.0", "nosuchpackage>=1; extra == 'deep'", "ruff>=0.9; extra == 'dev'"]
    monkeypatch.setattr(_versions, "requires", lambda name: requirements)
    fewer.show_versions()
    printed = capsys.readouterr().out
    assert "nosuchpackage: not installed" in printed
    assert "ruff" not in printed
