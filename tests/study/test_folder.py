"""The folder of a study: one process at a time, and what is removed is the study's alone."""

import pytest

from fewer.study import StudyError, StudyFolder


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
    with folder.locked(), pytest.raises(StudyError, match="Another process"), StudyFolder(folder.path).locked():
        pass
