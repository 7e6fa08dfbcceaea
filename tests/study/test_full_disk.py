"""A full disk at any write ends a study with a sentence; what is finished is kept, and the next run goes on."""

import contextlib
import errno
import os
import subprocess
import sys

import pytest

import fewer.report
from fewer.facade import Study, carry_out
from fewer.study import Journal, StudyError, StudyFolder, study_data

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at open files in /proc")


@pytest.fixture(scope="module")
def small(make_table, quick_plan):
    data = study_data(make_table(n_rows=24, n_columns=4))
    return quick_plan(data, learners=["ridge"], n_folds=2, n_repeats=1, n_permutations=0), data


@pytest.fixture(autouse=True)
def short_report(monkeypatch):
    monkeypatch.setattr(fewer.report, "study_page", lambda *_: "<p>A report</p>\n" * 5000)


@pytest.fixture(scope="module")
def undisturbed(small, tmp_path_factory):
    folder = StudyFolder(tmp_path_factory.mktemp("undisturbed"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fewer.report, "study_page", lambda *_: "")
        carry_out(*small, folder, n_jobs=1)
    return folder.findings.read_text()


@pytest.mark.parametrize(
    "name",
    ["plan.json", "features.txt", "predictions.parquet", "model.skops", "model.json", "report.html", "findings.json"],
)
def test_a_result_that_finds_no_room_leaves_what_was_there(small, undisturbed, tmp_path, monkeypatch, name):
    folder = StudyFolder(tmp_path / "study")
    carry_out(*small, folder, n_jobs=1)
    before = (folder.path / name).read_bytes()
    flush = os.fsync

    def full(file):
        if os.readlink(f"/proc/self/fd/{file}").endswith(f"{name}.new"):
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(file)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StudyError, match=r"cannot be written to .*: No space left on device\. Finished tasks are kept"):
        carry_out(*small, folder, n_jobs=1)
    assert (folder.path / name).read_bytes() == before
    assert not list(folder.path.glob("*.new"))
    monkeypatch.undo()
    carry_out(*small, folder, n_jobs=1)
    assert folder.findings.read_text() == undisturbed


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own; its size can be changed."""

    def mount(*options):
        return subprocess.run(["mount", *options, str(tmp_path)], capture_output=True, text=True)

    made = mount("-t", "tmpfs", "-o", "size=4k", "tmpfs")
    if made.returncode:
        pytest.skip(f"a file system cannot be mounted here: {made.stderr.strip()}")
    yield lambda kilobytes: mount("-o", f"remount,size={kilobytes}k")
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_a_study_on_a_disk_that_grows_too_slowly_comes_to_the_same_findings(small, undisturbed, disk, tmp_path):
    folder = StudyFolder(tmp_path / "study")
    refusals, done = [], 0
    for kilobytes in range(8, 400, 8):
        assert disk(kilobytes).returncode == 0
        try:
            carry_out(*small, folder, n_jobs=1)
            break
        except StudyError as error:
            refusals.append(str(error))
        with contextlib.suppress(StudyError), Journal.read(folder.journal) as journal:  # needs some room, too
            assert len(journal) >= done
            done = len(journal)
    assert len(refusals) > 5
    assert done > 0
    assert all("full" in each or "No space left" in each for each in refusals), refusals
    assert any("journal.sqlite cannot be written" in each for each in refusals)
    assert any("results cannot be written" in each for each in refusals)
    assert folder.findings.read_text() == undisturbed
    assert Study(folder.path).columns_
