"""What the fits of a study warn of reaches the user once, by the names of the table."""

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from fewer import run_study
from fewer.study import Journal
from fewer.study.work._notes import noted, warn_again


def table() -> pl.DataFrame:
    """Numbers, but for a column of two values, and one that is the same in all rows and so never gets to a fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    return pl.DataFrame({"same": np.ones(150), "sex": np.arange(150) % 2 + 1.0, **columns, "y": X[:, 0] + X[:, 1]})


def studied(tmp_path, n_jobs):
    return run_study(
        table(),
        target="y",
        methods=["SubspaceDistanceFeatures"],
        learners=["ridge", "knn"],
        sizes=[1, 2],
        n_folds=3,
        n_repeats=1,
        n_permutations=19,
        n_jobs=n_jobs,
        out=tmp_path / f"{n_jobs}",
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_every_fold_warns_of_is_told_once_and_by_name(tmp_path, capfd, n_jobs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        studied(tmp_path, n_jobs)
    said = [str(each.message) for each in caught if "different values" in str(each.message)]
    assert len(said) == 1
    assert said[0].startswith("Column 'sex' has at most 10 different values")
    assert caught[-1].filename == __file__
    assert "different values" not in capfd.readouterr().err  # workers do not speak for themselves


def test_a_note_is_kept_with_each_piece_of_work_wherever_it_ran(tmp_path):
    notes = {}
    for n_jobs in (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = studied(tmp_path, n_jobs)
        with Journal.read(study.folder.journal) as journal:
            notes[n_jobs] = {key: journal[key].get("notes") for key in journal.keys("fold/")}
    assert notes[1] == notes[2]
    assert sum(each is not None for each in notes[1].values()) == 6  # two learners, three folds


def test_a_study_that_goes_on_tells_what_was_noted_before(tmp_path):
    for _ in range(2):
        with pytest.warns(UserWarning, match="Column 'sex' has") as caught:
            studied(tmp_path, 1)
        assert len(caught) == 1


def test_filters_decide_when_notes_are_told_and_not_before():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with noted() as notes:
            for _ in range(2):
                warnings.warn("not there yet", ConvergenceWarning, stacklevel=1)
            warnings.warn("no such rows", UndefinedMetricWarning, stacklevel=1)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert notes == [["ConvergenceWarning", "not there yet"], ["UserWarning", "no such rows"]]
    with pytest.warns(ConvergenceWarning, match="not there yet") as caught:
        warn_again([{"notes": notes[:1]}, {}, {"notes": notes[:1]}])
    assert len(caught) == 1


def test_folds_within_the_training_rows_that_lack_a_rare_class_are_not_noted():
    from sklearn.model_selection import StratifiedKFold

    with noted() as notes:
        list(StratifiedKFold(5).split(np.zeros((12, 1)), np.repeat([0, 1], [4, 8])))
        warnings.warn("something else", UserWarning, stacklevel=1)
    assert notes == [["UserWarning", "something else"]]
