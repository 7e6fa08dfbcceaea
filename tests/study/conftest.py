"""Small tables and quick plans for the tests of a study."""

import numpy as np
import pytest

from fewer.engine import Engine
from fewer.io import Dataset
from fewer.study import Journal, StudyInterruptedError, findings_of, make_plan, run_plan, study_data


@pytest.fixture(scope="session")
def make_table():
    """Tables with some informative columns (x0, x1, ...) among noise."""

    def make(n_rows=60, n_columns=20, n_informative=2, shift=1.5, classes=("ill", "well"), seed=0):
        rng = np.random.default_rng(seed)
        codes = rng.permutation(np.arange(n_rows) % len(classes))
        X = rng.normal(size=(n_rows, n_columns))
        X[:, :n_informative] += shift * codes[:, None]
        columns = {f"x{place}": column for place, column in enumerate(X.T)}
        return Dataset.from_frame(columns | {"state": np.array(classes)[codes]}, target="state")

    return make


@pytest.fixture(scope="session")
def quick_plan():
    """A plan that takes a second: one filter, two learners."""

    def make(data, **changes):
        effort = {"n_folds": 4, "n_repeats": 2, "n_permutations": 19, "learners": ["ridge", "knn"]}
        methods = ["anova"] if data.is_classification else ["pearson"]
        return make_plan(data, **({"preset": "quick", "methods": methods} | effort | changes))

    return make


@pytest.fixture(scope="session")
def studied(quick_plan, tmp_path_factory):
    """Findings of a quick study of a table."""

    def study(dataset, *, engine=None, progress=False, groups=None, **changes):
        data = study_data(dataset, groups=groups)
        plan = quick_plan(data, **changes)
        path = tmp_path_factory.mktemp("study") / "journal.sqlite"
        with Journal.create(path, plan) as journal, engine or Engine.local(1) as where:
            run_plan(plan, data, journal, engine=where, progress=progress)
            return findings_of(journal)

    return study


@pytest.fixture
def with_and_without_a_stop(tmp_path):
    """Findings, as JSON, of a study that ran to its end at once, and of one that was stopped and resumed."""

    from study.test_run import StoppingEngine

    def run(plan, data, after=6):
        found = []
        for name in ("undisturbed", "stopped"):
            path = tmp_path / f"{name}.sqlite"
            with Journal.create(path, plan) as journal:
                if name == "stopped":
                    with pytest.raises(StudyInterruptedError):
                        run_plan(plan, data, journal, engine=StoppingEngine(after))
            with Journal.open(path, plan) as journal, Engine.local(1) as engine:
                run_plan(plan, data, journal, engine=engine)
                found.append(findings_of(journal).to_json())
        return found

    return run
