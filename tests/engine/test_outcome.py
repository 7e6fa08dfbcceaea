import pytest

from fewer.engine import Engine, Failure, Outcome


def test_unwrap_gives_the_value():
    assert Outcome(0, "task", value=3).unwrap() == 3


def test_unwrap_of_a_failure_names_the_task_and_shows_the_remote_traceback():
    outcome = Outcome(4, "task", failure=Failure("ValueError", "bad", "Traceback: line 7"), label="fold 4", worker="w")
    with pytest.raises(RuntimeError, match=r"fold 4 failed on w: ValueError: bad(.|\n)*line 7"):
        outcome.unwrap()


def test_a_failure_reads_like_the_last_line_of_a_traceback():
    assert str(Failure("ValueError", "bad")) == "ValueError: bad"
    assert str(Failure("AssertionError", "")) == "AssertionError"


def test_engines_print_how_to_make_them():
    engine = Engine.local(2)
    assert repr(engine) == "Engine.local(2)"
    engine.close()
    assert repr(engine) == "Engine.local(2) (closed)"
