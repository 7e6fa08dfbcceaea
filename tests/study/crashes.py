"""A study whose process ends at a chosen write, or at a random moment, and that is then run again.

Run as a script, because it forks: a process that has imported everything and has no threads. It prints one JSON object
with what it saw, for the tests beside it.
"""

import argparse
import importlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import time
import traceback
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

import fewer.report
from fewer.facade import carry_out
from fewer.io import Dataset
from fewer.study import Journal, Plan, StudyFolder, make_plan, study_data, study_state
from fewer.study.files import _journal as journal_module

DIED = 77


def small_study(kind="small", n_permutations=0):
    """A study with a time limit, or one of every kind of work: races, more repeats, tests, costs, weights, importance.

    The second is close, so that it draws its folds again, and some sizes are clearly behind, so that they leave a race.
    """
    n_rows, shift, seed = {"small": (24, 1.5, 0), "whole": (48, 1.0, 1)}[kind]
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    X = rng.normal(size=(n_rows, 4)) + shift * y[:, None] * (np.arange(4) < 2)
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    columns |= {"w": rng.uniform(0.5, 2, n_rows), "state": np.array(["ill", "well"])[y]}
    if kind == "small":
        del columns["w"]
        data = study_data(Dataset.from_frame(columns, target="state"))
        options = {"methods": ["anova"], "n_folds": 2, "n_repeats": 1, "budget": "1d"}
    else:
        data = study_data(Dataset.from_frame(columns, target="state"), weights="w")
        more = {"cost": "FN=5,FP=1", "scoring": "accuracy,roc_auc"}
        options = {
            "methods": ["anova", "variance"],
            "n_folds": 4,
            "n_repeats": 1,
            "max_repeats": 2,
            "racing": 0.5,
            **more,
        }
    return make_plan(data, preset="quick", learners=["ridge"], n_permutations=n_permutations, **options), data


class Deadline:
    """Names what is about to be written in a folder, and ends the process before the write of a given name."""

    def __init__(self, folder, last):
        self.folder, self.last, self.seen = str(folder), last, []
        sys.addaudithook(self.audited)
        whole_fsync, connected = os.fsync, journal_module._connected

        def fsync(file):
            name = Path(os.readlink(f"/proc/self/fd/{file}")).name
            if name.endswith(".new"):
                self.meet(f"fsync {name}", lambda: os.ftruncate(file, os.fstat(file).st_size // 2))
            whole_fsync(file)

        def traced(*arguments):
            connection = connected(*arguments)
            connection.set_trace_callback(self.stated)
            return connection

        os.fsync, journal_module._connected = fsync, traced

    def audited(self, event, arguments):
        if event in ("open", "os.rename", "os.remove", "os.mkdir") and arguments:
            path, *more = map(str, arguments)
            reads = event == "open" and not int(arguments[2]) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if self.folder in path and not reads:
                self.meet(f"{event} {Path(path).name} {Path(more[0]).name if event == 'os.rename' else ''}".strip())

    def stated(self, sql):
        if not sql.startswith(("SELECT", "PRAGMA query_only", "PRAGMA quick_check", "PRAGMA synchronous")):
            key = re.search(r"VALUES \('([^']*)'", sql)
            self.meet(" ".join(sql.split()[:3]) + (f" {key[1]}" if key else ""))

    def meet(self, what, before_the_end=lambda: None):
        self.seen.append(what)
        if what == self.last:
            before_the_end()
            os._exit(DIED)


def in_a_fork(call):
    """Process id of a fork that makes a call and ends."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        call()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kept(folder):
    """All that a user keeps of a study and that does not depend on the clock."""
    return {
        path.name: path.read_bytes() for path in (folder.findings, folder.plan, folder.features, folder.predictions)
    }


def calibration(folder):
    """What the shipped model gives probabilities by."""
    return json.loads(folder.model.with_suffix(".json").read_text())["calibration"]


def check_whole(folder, truth):
    """Whatever a study has under its name is whole, and as it should be."""
    for name, content in truth.items():
        path = folder.path / name
        assert not path.exists() or path.read_bytes() == content, f"{name} is not whole"
    assert not folder.model.exists() or zipfile.is_zipfile(folder.model)
    assert not folder.report.exists() or folder.report.read_text() == PAGE
    if folder.exists:
        state = study_state(folder.path)
        assert state.owner is None, "the lock of a process that has ended is held"
        with Journal.read(folder.journal) as journal:
            assert journal.n_damaged == 0
            assert isinstance(journal.plan, Plan)
    if folder.journal.exists():
        assert sqlite3.connect(folder.journal).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def last_of_each_kind(writes):
    """The last row of each kind of work in the journal, in order."""
    rows = [what for what in writes if what.startswith("INSERT INTO work")]
    kinds = {what.partition("/")[0]: what for what in rows}
    return [what for what in rows if what in kinds.values()]


PAGE = "<p>A report</p>\n" * 500


class Studies:
    """Runs of one small study in folders of a root, each in a fork.

    This process computes nothing: the threads of polars, once they run, would not come along into forks.
    """

    def __init__(self, root, kind, n_permutations=0, n_jobs=1):
        self.root, self.kind, self.n_permutations, self.n_jobs = root, kind, n_permutations, n_jobs
        fewer.report.study_page = lambda *_: PAGE  # the real one takes longer than the study
        folder = self.folder("truth")

        def first():
            self.run(folder)
            (root / "modules.json").write_text(json.dumps(list(sys.modules)))

        assert ended(in_a_fork(first)) == 0
        for name in json.loads((root / "modules.json").read_text()):  # else each fork imports them anew
            with suppress(ImportError):
                importlib.import_module(name)
        self.truth, self.calibration = kept(folder), calibration(folder)

    def folder(self, name):
        shutil.rmtree(self.root / name, ignore_errors=True)
        return StudyFolder(self.root / name)

    def run(self, folder):
        carry_out(*small_study(self.kind, self.n_permutations), folder, n_jobs=self.n_jobs)

    def run_until(self, folder, last):
        def call():
            deadline = Deadline(folder.path, last)
            self.run(folder)
            (self.root / "writes.json").write_text(json.dumps(deadline.seen))

        return ended(in_a_fork(call))

    def finished_in(self, folder):
        assert ended(in_a_fork(lambda: self.run(folder))) == 0, "it cannot be run again"
        check_whole(folder, self.truth)
        return kept(folder) == self.truth and calibration(folder) == self.calibration

    def writes(self):
        """What is written in an undisturbed run, in order, each once."""
        assert self.run_until(self.folder("study"), None) == 0
        return list(dict.fromkeys(json.loads((self.root / "writes.json").read_text())))

    def ended_in_turn_at(self, writes):
        """One study that ends at the first of these writes, is run again and ends at the second one, and so on."""
        folder = self.folder("study")
        for last in writes:
            assert self.run_until(folder, last) == DIED, last
            check_whole(folder, self.truth)
        return {"writes": len(writes), "equal": self.finished_in(folder)}

    def ended_at_each_write(self):
        """A fresh study for every write: ended there, and run again."""
        writes, equal = self.writes(), 0
        for last in writes:
            folder = self.folder("study")
            assert self.run_until(folder, last) == DIED, last
            check_whole(folder, self.truth)
            equal += self.finished_in(folder)
        return {"writes": len(writes), "equal": equal}

    def killed(self, n, seed):
        """Killed at random moments, in one folder until it is finished, then in the next."""
        chance, kills, studies, equal = random.Random(seed), 0, 0, 0
        started = time.monotonic()
        assert ended(in_a_fork(lambda: self.run(self.folder("study")))) == 0
        takes = time.monotonic() - started
        while kills < n:
            folder = self.folder("study")
            studies += 1
            for _ in range(min(3, n - kills)):
                child = in_a_fork(lambda where=folder: self.run(where))
                time.sleep(chance.uniform(0, takes))
                os.kill(child, signal.SIGKILL)
                kills += ended(child) == -signal.SIGKILL
                check_whole(folder, self.truth)
            equal += self.finished_in(folder)
        return {"kills": kills, "studies": studies, "equal": equal}


def main():
    words = argparse.ArgumentParser()
    words.add_argument("root", type=Path)
    words.add_argument("--study", choices=("small", "whole"), default="small")
    words.add_argument("--in-turn", action="store_true")
    words.add_argument("--kinds", action="store_true", help="in turn at the last row of each kind in the journal")
    words.add_argument("--writes", action="store_true")
    words.add_argument("--kills", type=int, default=0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--permutations", type=int, default=0)
    words.add_argument("--jobs", type=int, default=1)
    asked = words.parse_args()
    studies = Studies(asked.root, asked.study, asked.permutations, asked.jobs)
    seen = {"study": asked.study, "written": studies.writes(), "calibrated": studies.calibration is not None}
    if asked.in_turn:
        seen["in_turn"] = studies.ended_in_turn_at(seen["written"])
    if asked.kinds:
        seen["in_turn"] = studies.ended_in_turn_at(last_of_each_kind(seen["written"]))
    if asked.writes:
        seen["each"] = studies.ended_at_each_write()
    if asked.kills:
        seen["killed"] = studies.killed(asked.kills, asked.seed)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
