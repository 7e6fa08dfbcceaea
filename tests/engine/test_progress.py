import sys

import pytest

from fewer.engine import Engine


@pytest.fixture
def inline():
    with Engine.local(1) as engine:
        yield engine


def test_a_function_is_told_of_every_outcome(inline):
    told = []
    inline.run(abs, [-1, "x"], progress=lambda done, total, outcome: told.append((done, total, outcome.ok))).collect()
    inline.run(abs, iter([-1]), progress=lambda done, total, outcome: told.append((done, total, outcome.ok))).collect()
    assert told == [(1, 2, True), (2, 2, False), (1, None, True)]


def test_the_bar_counts_tasks_and_failures_on_the_error_stream(inline, capsys):
    inline.run(abs, [-1, "x", -3], progress=True, description="Fitting [folds]").collect()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Fitting [folds]" in captured.err
    assert "3/3" in captured.err
    assert "1 failed" in captured.err


@pytest.mark.parametrize("progress", [False, "auto"])
def test_nothing_is_shown_where_there_is_no_terminal(inline, capsys, progress):
    inline.run(abs, [-1], progress=progress).collect()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("how", ["to the end", "left early", "forgotten", "failing task list"])
def test_the_cursor_is_back_however_the_run_ends(inline, capsys, monkeypatch, how):
    def tasks():
        yield -1
        if how == "failing task list":
            raise OSError

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run = inline.run(abs, tasks(), progress="auto")
    if how == "forgotten":
        next(run)
        del run
    elif how == "left early":
        for _ in run:
            break
    elif how == "to the end":
        run.collect()
    else:
        with pytest.raises(OSError):
            run.collect()
    written = capsys.readouterr().err
    assert "\x1b[?25l" in written
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_an_unknown_kind_of_progress_is_refused(inline):
    with pytest.raises(ValueError, match="progress must be"):
        inline.run(abs, [1], progress="loud").collect()
