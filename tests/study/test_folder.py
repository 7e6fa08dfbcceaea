"""The folder of a study: one process at a time, and what is removed is the study's alone."""

import os

import pytest

from fewer.study import Journal, StudyError, StudyFolder, study_data
from fewer.study.files._checked_file import write_checked
from fewer.study.files._folder import studies_in, study_state
from fewer.study.work._work import FoldWork


@pytest.fixture
def folder(tmp_path):
    where = StudyFolder(tmp_path / "study")
    with where.locked():
        for path in (where.journal, where.plan, where.report, where.findings):
            path.write_text("x")
    return where


def test_a_removed_study_takes_its_folder_along(folder):
    folder.remove()
    assert not folder.path.exists()


def test_files_of_others_stay(folder):
    (folder.path / "notes.txt").write_text("mine")
    folder.remove()
    assert [path.name for path in folder.path.iterdir()] == ["notes.txt"]


def test_what_is_no_study_is_not_removed(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StudyError, match="There is no study"):
        StudyFolder(tmp_path).remove()
    assert (tmp_path / "notes.txt").exists()


def test_a_study_is_run_by_one_process_at_a_time(folder):
    with (
        folder.locked(),
        pytest.raises(StudyError, match=rf"is run by process {os.getpid()} on "),
        StudyFolder(folder.path).locked(),
    ):
        pass


def test_how_far_studies_have_come_is_read_from_their_journals(make_table, quick_plan, tmp_path):
    plan = quick_plan(study_data(make_table(n_rows=30, n_columns=4)))
    for name in ("b", "a"):
        folder = StudyFolder(tmp_path / name)
        folder.path.mkdir()
        with Journal.create(folder.journal, plan) as journal:
            journal.add(FoldWork(0, 0, 0).key, {"scores": [1.0]}, 0.1)
            journal.add("null/labels/0/0", {"score": 1.0}, 0.1)
    write_checked(folder.findings, {"headline": "All is well."})
    (tmp_path / "notes").mkdir()
    first, second = studies_in(tmp_path)
    assert (first.folder.path.name, first.headline) == ("a", "All is well.")
    assert (second.folder.path.name, second.headline) == ("b", None)
    state = study_state(tmp_path / "b")
    assert (state.done, state.total, state.target) == (1, plan.n_evaluations, "state")
    assert studies_in(tmp_path / "nowhere") == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StudyError, match=r"cannot be written: Not a directory\. Choose another with out="),
        StudyFolder(tmp_path / "file" / "study").locked(),
    ):
        pass
