"""Damaged bytes in the files of a study are noticed: what can be computed again is, and the rest is refused."""

import contextlib
import json
import random
import shutil
import sqlite3
import warnings

import numpy as np
import pytest

from fewer.engine import Engine
from fewer.facade import Study, carry_out
from fewer.study import (
    Journal,
    Plan,
    StudyError,
    StudyFolder,
    StudyModel,
    findings_of,
    run_plan,
    studies_in,
    study_state,
)
from study.crashes import small_study

NEW_ROWS = np.linspace(-2, 2, 12).reshape(3, 4)


class Kept:
    """A finished study, and what it found."""

    def __init__(self, plan, data, folder):
        self.plan, self.data, self.folder = plan, data, folder
        carry_out(plan, data, folder, n_jobs=1)
        self.settled = Study(folder.path).plan
        self.findings = Study(folder.path).findings.to_json()
        self.predicted = self.predictions(folder)

    def predictions(self, folder):
        model = StudyModel.load(folder.model)
        rows = NEW_ROWS[:, : len(model.columns)]
        chances = model.probabilities(rows)[1].tolist()
        return list(model.columns), model.pipeline.predict(rows).tolist(), chances, model.calibration

    def read(self, folder):
        with Journal.read(folder.journal) as journal:
            return findings_of(journal).to_json()

    def go_on(self, folder):
        with Journal.open(folder.journal, self.plan) as journal, Engine.local(1) as engine:
            run_plan(self.plan, self.data, journal, engine=engine)
            return findings_of(journal).to_json()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    plan, data = small_study("whole", n_permutations=19)
    kept = Kept(plan, data, StudyFolder(tmp_path_factory.mktemp("kept") / "study"))
    assert kept.predicted[-1].threshold is not None
    return kept


@pytest.fixture
def copy(kept, tmp_path):
    """A copy of the study, to be damaged."""
    shutil.copytree(kept.folder.path, tmp_path / "study")
    return StudyFolder(tmp_path / "study")


def flip(path, sound, chance):
    """Write a file with one bit changed."""
    content = bytearray(sound)
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def check_flips(kept, copy, n, seed):
    """Flips of bits in each file: what is read is right, or it is refused; the journal is mended with a warning."""
    chance = random.Random(seed)
    mended = 0
    for _ in range(n):
        sound = kept.folder.journal.read_bytes()
        flip(copy.journal, sound, chance)
        with contextlib.suppress(StudyError):
            assert kept.read(copy) == kept.findings
        with warnings.catch_warnings(record=True) as caught, contextlib.suppress(StudyError):
            warnings.simplefilter("always")
            assert kept.go_on(copy) == kept.findings
            assert kept.read(copy) == kept.findings
        mended += any("was damaged" in str(warning.message) for warning in caught)
    reads = {
        "plan.json": (lambda: Plan.load(copy.plan), kept.settled),
        "findings.json": (lambda: study_state(copy.path).headline, study_state(kept.folder.path).headline),
        "model.json": (lambda: kept.predictions(copy), kept.predicted),
        "model.skops": (lambda: kept.predictions(copy), kept.predicted),
    }
    shutil.copy(kept.folder.journal, copy.journal)
    refused = 0
    for name, (read, right) in reads.items():
        sound = (kept.folder.path / name).read_bytes()
        for _ in range(n // 5):
            flip(copy.path / name, sound, chance)
            try:
                assert read() == right
            except StudyError:
                refused += 1
        (copy.path / name).write_bytes(sound)
    return mended, refused


def test_flipped_bits_never_change_what_was_found(kept, copy):
    mended, refused = check_flips(kept, copy, n=20, seed=3)
    assert mended > 0
    assert refused > 10


def test_flipped_bits_never_change_what_a_study_with_a_time_limit_found(limited, tmp_path):
    shutil.copytree(limited.folder.path, tmp_path / "study")
    mended, _ = check_flips(limited, StudyFolder(tmp_path / "study"), n=10, seed=5)
    assert mended > 0


@pytest.mark.slow
def test_five_hundred_flipped_bits_never_change_what_was_found(kept, copy):
    mended, refused = check_flips(kept, copy, n=500, seed=4)
    assert mended > 50
    assert refused > 300


def change(path, key, column, value):
    """Change a row behind the back of the journal, as a damaged disk does."""
    with sqlite3.connect(path) as connection:
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'work_is_never_changed'").fetchone()
        connection.execute("DROP TRIGGER work_is_never_changed")
        connection.execute(f"UPDATE work SET {column} = ? WHERE key = ?", (value, key))
        connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("payload", '{"score":0.123}'),
        ("payload", b"\xff\xfe"),
        ("seconds", 1e9),
        ("finished", "1999"),
        ("checksum", ""),
    ],
)
def test_a_row_that_does_not_match_its_checksum_is_computed_again_with_a_warning(kept, copy, column, value):
    change(copy.journal, "null/labels/5", column, value)
    with pytest.raises(StudyError, match=r"has a damaged journal; run `fewer resume .*` first"):
        kept.read(copy)
    with pytest.warns(UserWarning, match=r"was damaged. \d+ finished tasks match their checksums and are kept"):
        assert kept.go_on(copy) == kept.findings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kept.go_on(copy) == kept.findings
    assert kept.read(copy) == kept.findings


def test_a_row_under_another_key_is_not_taken_for_it(kept, copy):
    change(copy.journal, "null/labels/5", "key", "null/labels/95")
    with pytest.raises(StudyError):
        kept.read(copy)
    with pytest.warns(UserWarning, match="was damaged"):
        assert kept.go_on(copy) == kept.findings


def lose(path, key):
    """Delete a row behind the back of the journal, as a damaged page does."""
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER work_is_never_deleted")
        connection.execute("DELETE FROM work WHERE key = ?", (key,))
    connection.close()


def test_findings_are_not_made_from_a_journal_that_lacks_work_of_any_kind(kept, copy):
    with Journal.read(kept.folder.journal) as journal:
        of_each_kind = {key.partition("/")[0]: key for key in journal.keys("")}
    assert {"fold", "columns", "repeats", "null", "final", "importance", "held-out rows", "cost"} <= set(of_each_kind)
    for key in of_each_kind.values():
        shutil.copy(kept.folder.journal, copy.journal)
        lose(copy.journal, key)
        with pytest.raises(StudyError, match="is not finished; run `fewer resume"):
            kept.read(copy)


@pytest.mark.parametrize("lost", ["null/labels/18", "null/labels/0", "fold/0/0/1", "fold/3/1/3", "repeats/1", "final"])
def test_work_that_a_journal_has_lost_is_done_again(kept, copy, lost):
    lose(copy.journal, lost)
    with pytest.raises(StudyError, match="is not finished; run `fewer resume"):
        kept.read(copy)
    with pytest.warns(UserWarning, match="was damaged"):  # the trigger is missing
        assert kept.go_on(copy) == kept.findings


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A study with a time limit, which has decided twice what there is time for."""
    plan, data = small_study("small", n_permutations=19)
    return Kept(plan, data, StudyFolder(tmp_path_factory.mktemp("limited") / "study"))


@pytest.mark.parametrize(
    "damage", [lose, lambda path, key: change(path, key, "payload", "{}")], ids=["lost", "changed"]
)
@pytest.mark.parametrize("key", ["budget", "budget/tests"])
def test_what_was_decided_from_times_is_not_decided_again(limited, tmp_path, monkeypatch, key, damage):
    def decide(*_, **__):
        pytest.fail("times are not the same a second time")

    monkeypatch.setattr("fewer.study.work._run.decision", decide)
    monkeypatch.setattr("fewer.study.work._run.with_tests_within", decide)
    shutil.copytree(limited.folder.path, tmp_path / "study")
    copy = StudyFolder(tmp_path / "study")
    with Journal.read(copy.journal) as journal:
        before = journal[key]
    for _ in range(2):  # what was mended can be mended again
        damage(copy.journal, key)
        with pytest.raises(StudyError, match="run `fewer resume"):
            limited.read(copy)
        with pytest.warns(UserWarning, match="was damaged"):
            assert limited.go_on(copy) == limited.findings
        with Journal.read(copy.journal) as journal:
            assert journal[key] == before
            assert len(journal) == len(set(journal.keys()))
    with sqlite3.connect(copy.journal) as connection:
        place = "UPDATE about SET value = replace(value, 'n_permutations', 'n_permutation') WHERE key = ?"
        assert connection.execute(place, (f"work/{key}",)).rowcount == 1
    connection.close()
    with pytest.raises(StudyError, match="its plan does not match its checksum"):
        limited.go_on(copy)


@pytest.mark.parametrize("key", ["plan", "started"])
def test_a_damaged_plan_in_the_journal_is_refused(copy, key):
    with sqlite3.connect(copy.journal) as connection:
        connection.execute("UPDATE about SET value = replace(value, '2', '3') WHERE key = ?", (key,))
    connection.close()
    for look in (Journal.read, Journal.open):
        with pytest.raises(StudyError, match=r"its plan does not match its checksum\. Remove the study with `fewer rm"):
            look(copy.journal)


def test_what_can_be_read_of_a_journal_with_a_broken_page_is_kept(kept, copy):
    content = bytearray(copy.journal.read_bytes())
    starts = range(0, len(content), 4096)
    leaves = [at for at in starts if content[at] == 13 and b"null/" in content[at : at + 4096]]
    content[leaves[-1] : leaves[-1] + 4096] = bytes(4096)
    copy.journal.write_bytes(content)
    with pytest.raises(StudyError, match="damaged"):
        kept.read(copy)
    with pytest.warns(UserWarning, match="was damaged") as warned:
        assert kept.go_on(copy) == kept.findings
    assert int(str(warned[0].message).split("damaged. ")[1].split()[0]) > 3


def test_a_journal_that_was_cut_off_is_refused_or_mended(kept, copy):
    whole = copy.journal.read_bytes()
    for size in (100, 4096, 4097, len(whole) // 2, len(whole) - 1):
        copy.journal.write_bytes(whole[:size])
        with pytest.raises(StudyError, match=r"damaged|no study"):
            kept.read(copy)


def test_a_damaged_study_does_not_hide_the_others(kept, tmp_path):
    for name in ("a", "b", "c", "d"):
        shutil.copytree(kept.folder.path, tmp_path / name)
    (tmp_path / "a" / "journal.sqlite").write_text("no database " * 50)
    (tmp_path / "b" / "findings.json").write_text("{}")
    (tmp_path / "c" / "journal.sqlite").write_bytes(b"")  # what a kill left of an earlier version's study
    broken, half, sound = studies_in(tmp_path)
    assert "damaged" in broken.damage
    assert "findings.json does not match its checksum" in half.damage
    assert (sound.folder.path.name, sound.damage) == ("d", None)
    assert sound.headline == json.loads(kept.findings)["headline"]


def test_the_plan_of_a_report_is_checked_as_well(kept, copy):
    page = copy.report.read_text()
    place = page.index('"seed": 0')
    copy.report.write_text(page[:place] + '"seed": 1' + page[place + 9 :])
    with pytest.raises(StudyError, match="This plan does not match its checksum"):
        Plan.load(copy.report)
    assert Plan.load(kept.folder.report) == kept.settled


def test_a_plan_that_was_changed_by_hand_is_used_without_its_checksum(kept, copy):
    plan = json.loads(copy.plan.read_text()) | {"seed": 5}
    copy.plan.write_text(json.dumps(plan))
    with pytest.raises(StudyError, match="remove its entry 'checksum'"):
        Plan.load(copy.plan)
    copy.plan.write_text(json.dumps({key: value for key, value in plan.items() if key != "checksum"}))
    assert Plan.load(copy.plan).seed == 5


def test_a_model_whose_two_files_do_not_belong_together_is_refused(kept, copy):
    with copy.model.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(StudyError, match=r"it is damaged. Run `fewer resume"):
        StudyModel.load(copy.model)
    carry_out(kept.plan, kept.data, copy, n_jobs=1)
    assert kept.predictions(copy) == kept.predicted
