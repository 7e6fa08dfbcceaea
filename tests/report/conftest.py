"""Real small studies, run once for all tests of the report."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fewer

NASTY = (
    "<script>alert(1)</script>",
    "</script>",
    "say \"hi\" & 'bye'",
    "<img src=x onerror=alert(2)>",
    "<b>bold</b><br>%{x} {{ 7 * 7 }}",
    "🦜 parrot",
    "مرحبا بالعالم",
    "very " * 59 + "long",
    "a, b, c",
    "bell\x07 and \x1b[31mred",
)


def _study(X: np.ndarray, y: np.ndarray, names: "list[str]", **options) -> "fewer.facade.Study":
    table = pl.DataFrame({**{name: X[:, place] for place, name in enumerate(names)}, "state": y})
    effort = {"preset": "quick", "methods": ["anova"], "learners": ["knn"], "n_folds": 3, "n_repeats": 1, "n_jobs": 1}
    return fewer.run_study(table, "state", **(effort | {"sizes": [1, 2, 4, 10], "n_permutations": 19} | options))


@pytest.fixture(scope="session")
def nasty_names() -> tuple[str, ...]:
    """Names that try to be markup, script or escape sequences."""
    return NASTY


@pytest.fixture(scope="session")
def nasty_study() -> "fewer.facade.Study":
    """Ten informative columns with nasty names, ten more of noise, and classes that look like tags."""
    rng = np.random.default_rng(0)
    high = np.tile([False, True], 30)
    X = rng.normal(size=(60, 20))
    X[:, :10] += 1.5 * high[:, None]
    return _study(X, np.where(high, "<i>ill</i>", "well"), [*NASTY, *(f"noise_{place}" for place in range(10))])


@pytest.fixture(scope="session")
def noise_study() -> "fewer.facade.Study":
    """Nothing to learn."""
    rng = np.random.default_rng(3)
    return _study(rng.normal(size=(60, 20)), np.tile(["ill", "well"], 30), [f"x{place}" for place in range(20)])


@pytest.fixture(scope="session")
def wide_study() -> "fewer.facade.Study":
    """Twenty thousand columns."""
    rng = np.random.default_rng(0)
    high = np.tile([False, True], 20)
    X = rng.normal(size=(40, 20_000))
    X[:, :5] += 2 * high[:, None]
    names = [f"gene_{place}" for place in range(20_000)]
    return _study(X, np.where(high, "ill", "well"), names, n_permutations=0)


@pytest.fixture(scope="session")
def made_study() -> "fewer.facade.Study":
    """The winner makes new columns of all twelve, four at most."""
    rng = np.random.default_rng(0)
    high = np.tile([False, True], 30)
    X = rng.normal(size=(60, 12)) + high[:, None]
    options = {"methods": ["ReconstructionPCA"], "sizes": [1, 2, 4], "n_permutations": 0}
    return _study(X, np.where(high, "ill", "well"), [f"x{place}" for place in range(12)], **options)


@pytest.fixture(scope="session")
def report(nasty_study, tmp_path_factory) -> Path:
    """The report of the nasty study, as a file."""
    return nasty_study.report(tmp_path_factory.mktemp("report") / "report.html")
