"""The journal only grows, survives a kill at any moment, and belongs to one plan."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from fewer.study import Journal, Plan, StudyError, study_data
from fewer.study.files._journal import glance

WRITER = """
import itertools, sys
from fewer.study import Journal
with Journal.open(sys.argv[1]) as journal:
    for number in itertools.count():
        journal.add(f"fold/{number}", {"number": number, "words": "x" * 500}, 0.1)
        print(number, flush=True)
"""


@pytest.fixture
def plan(make_table, quick_plan):
    return quick_plan(study_data(make_table()))


@pytest.fixture
def path(tmp_path, plan):
    path = tmp_path / "study" / "journal.sqlite"
    Journal.create(path, plan).close()
    return path


def test_what_is_written_is_there_when_it_is_opened_again(path, plan):
    with Journal.open(path, plan) as journal:
        journal.add("fold/0", {"scores": [0.1, 1 / 3]}, 2.5)
        assert "fold/0" in journal
    with Journal.read(path) as journal:
        assert journal["fold/0"] == {"scores": [0.1, 1 / 3]}
        assert journal.seconds() == {"fold/0": 2.5}
        assert journal.plan == plan
        assert len(journal) == 1


def test_the_first_word_counts(path):
    with Journal.open(path) as journal:
        journal.add("fold/0", {"score": 1})
        journal.add("fold/0", {"score": 2})
        assert journal["fold/0"] == {"score": 1}


@pytest.mark.parametrize("change", ["UPDATE work SET payload = '{}'", "DELETE FROM work"])
def test_nothing_is_ever_changed(path, change):
    with Journal.open(path) as journal:
        journal.add("fold/0", {"score": 1})
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="only grows"):
        connection.execute(change)
    connection.close()


def test_keys_come_by_prefix_in_the_order_of_work(path):
    with Journal.open(path) as journal:
        for key in ("null/labels/1", "fold/2", "fold/1", "final"):
            journal.add(key, {})
        assert journal.keys("fold/") == ["fold/2", "fold/1"]
        assert journal.keys() == ["null/labels/1", "fold/2", "fold/1", "final"]


def test_another_plan_is_refused_with_what_differs(path, plan):
    with pytest.raises(StudyError, match=r"has another plan; differences: seed \(0 and 1\)"):
        Journal.open(path, replace(plan, seed=1))
    with pytest.raises(StudyError, match="the table itself"):
        Journal.open(path, replace(plan, fingerprint="0" * 32))


def test_where_the_table_was_found_makes_no_difference(path, plan):
    Journal.open(path, replace(plan, source="elsewhere.csv", reading={"table": "b"})).close()


def test_a_second_journal_in_the_same_place_is_refused(path, plan):
    with pytest.raises(StudyError, match="There is a journal"):
        Journal.create(path, plan)


def test_a_file_that_is_no_journal_is_named(tmp_path):
    path = tmp_path / "journal.sqlite"
    path.write_text("hello, this is no database at all, only some words in a file of more than a hundred letters ...")
    with pytest.raises(StudyError, match="not a journal of fewer, or it is damaged"):
        Journal.read(path)


def test_a_folder_without_a_study_is_named(tmp_path):
    with pytest.raises(StudyError, match="There is no study in"):
        Journal.read(tmp_path / "journal.sqlite")


def test_an_older_form_is_refused(path):
    connection = sqlite3.connect(path)
    connection.execute("UPDATE about SET value = '0' WHERE key = 'schema'")
    connection.commit()
    connection.close()
    with pytest.raises(StudyError, match="has format version 0"):
        Journal.open(path)


def test_it_can_be_read_while_it_is_written(path):
    with Journal.open(path) as writer, Journal.read(path) as reader:
        writer.add("fold/0", {"score": 1})
        assert reader["fold/0"] == {"score": 1}


def test_a_kill_loses_nothing_that_was_confirmed(path):
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    confirmed = [int(process.stdout.readline()) for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with Journal.open(path) as journal:
        assert len(journal) >= len(confirmed)
        assert all(journal[f"fold/{number}"]["number"] == number for number in confirmed)
        journal.add("after", {})


def test_a_place_that_cannot_be_written_is_named(tmp_path, plan):
    (tmp_path / "study").write_text("a file where the folder should be")
    with pytest.raises(StudyError, match="choose another with out="):
        Journal.create(tmp_path / "study" / "journal.sqlite", plan)


def test_a_journal_that_may_only_be_read_says_so(path):
    with Journal.read(path) as journal, pytest.raises(StudyError, match="read-only: choose another"):
        journal.add("fold/0", {})


def test_a_full_disk_is_told_and_leaves_the_journal_sound(path):
    with Journal.open(path) as journal:
        journal.add("fold/0", {"score": 1})
        # SQLite fails in the same way when a file may not grow as when the disk may not.
        pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
        journal._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StudyError, match="The disk is full: free some space"):
            journal.add("fold/1", {"words": "x" * 300_000})
    with Journal.open(path) as journal:
        assert journal["fold/0"] == {"score": 1}
        assert journal._connection.execute("PRAGMA integrity_check").fetchone() == (b"ok",)
        journal.add("after", {})


def test_a_journal_that_cannot_be_begun_leaves_nothing_behind(tmp_path, plan, monkeypatch):
    monkeypatch.setattr("fewer.study.files._journal._TABLES", "CREATE nonsense;")
    with pytest.raises(StudyError):
        Journal.create(tmp_path / "journal.sqlite", plan)
    assert list(tmp_path.iterdir()) == []


def test_time_is_that_of_the_start(path):
    with Journal.read(path) as journal:
        assert journal.started[:4] == time.strftime("%Y", time.gmtime())


@pytest.mark.parametrize("n_pages", [0, 1], ids=["empty", "without tables"])
def test_what_a_kill_has_left_of_a_journal_counts_as_none(tmp_path, plan, n_pages):
    path = tmp_path / "journal.sqlite"
    path.touch()
    if n_pages:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()
        assert path.stat().st_size == 4096
    assert not Journal.begun(path)
    with pytest.raises(StudyError, match="There is no study in"):
        Journal.read(path)
    with Journal.create(path, plan) as journal:
        journal.add("fold/0", {"score": 1})
    with Journal.read(path) as journal:
        assert journal["fold/0"] == {"score": 1}


def test_pages_that_another_journal_has_left_are_not_played_into_a_new_one(tmp_path, plan):
    path = tmp_path / "journal.sqlite"
    with Journal.create(path, plan) as journal:
        journal.add("fold/0", {"score": 1})
        left = path.with_name("journal.sqlite-wal").read_bytes()
    path.write_bytes(b"")
    path.with_name("journal.sqlite-wal").write_bytes(left)
    with Journal.create(path, plan) as journal:
        assert len(journal) == 0


def test_a_closed_journal_is_one_file_that_can_be_read_where_nothing_can_be_written(path):
    with Journal.open(path) as journal:
        journal.add("fold/0", {"score": 1})
        assert len(list(path.parent.iterdir())) > 1
    assert [each.name for each in path.parent.iterdir()] == ["journal.sqlite"]
    with Journal.read(path) as journal:
        assert journal["fold/0"] == {"score": 1}
        assert [each.name for each in path.parent.iterdir()] == ["journal.sqlite"]


def test_a_glance_reads_no_payload(path, plan):
    with Journal.open(path) as journal:
        for key in ("fold/0/0/0", "fold/0/0/1", "final", "null/labels/0/0"):
            journal.add(key, {})
    found, started, done = glance(path)
    assert Plan.from_dict(found) == plan
    assert started[:2] == "20"
    assert done == 2
