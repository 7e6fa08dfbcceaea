import importlib

import numpy as np
import pytest

from benchmarks import Case, Contest, UnavailableError, real_file
from benchmarks.cases import TooSlowError
from benchmarks.contest import disagreement, run_case


def run(clock, ours, peers, **options):
    contest = Contest(ours=ours, peers=peers, objective=np.asarray, **options)
    result = run_case(Case("toy", lambda folder: contest), repeats=3, clock=clock)
    return result, {standing.name: standing for standing in result.standings}


def missing_package():
    return importlib.import_module("a_package_that_nobody_has")


def test_ratio_is_our_time_over_that_of_the_first_peer(clock):
    result, standings = run(
        clock, {"fewer": clock.work(2.0, 1.0)}, {"first": clock.work(8.0, 1.0), "second": clock.work(1.0, 1.0)}
    )
    assert result.baseline == "first"
    assert [standings[name].ratio for name in ("fewer", "first", "second")] == [0.25, 1.0, 0.125]
    assert standings["fewer"].timing.seconds == (2.0, 2.0, 2.0)
    assert standings["fewer"].objective == 1.0
    assert result.sound


def test_a_peer_that_takes_too_long_is_told_and_spoils_nothing(clock):
    def too_slow():
        raise TooSlowError("> 10 s")

    result, standings = run(clock, {"fewer": clock.work(1.0, 1.0)}, {"slow": too_slow, "peer": clock.work(2.0, 1.0)})
    assert (standings["slow"].status, standings["slow"].trouble) == ("too slow", "> 10 s")
    assert standings["fewer"].ratio == 0.5
    assert result.sound
    result, _ = run(clock, {"fewer": too_slow}, {"peer": clock.work(2.0, 1.0)})
    assert not result.sound


def test_the_first_run_warms_up_and_is_not_timed(clock):
    seconds = iter([100.0, 1.0, 1.0, 1.0])

    def compiles_first():
        clock.now += next(seconds)
        return 1.0

    _, standings = run(clock, {"fewer": compiles_first}, {"peer": clock.work(1.0, 1.0)})
    assert standings["fewer"].ratio == 1.0


def test_no_ratio_when_results_disagree(clock):
    result, standings = run(clock, {"fewer": clock.work(1.0, 0.5)}, {"peer": clock.work(2.0, 0.4)})
    assert standings["fewer"].ratio is None
    assert standings["fewer"].status == "disagrees"
    assert standings["fewer"].trouble == "disagrees with peer: 0.5 instead of 0.4"
    assert not result.sound


def test_results_within_the_tolerance_agree(clock):
    _, standings = run(clock, {"fewer": clock.work(1.0, 1.0005)}, {"peer": clock.work(2.0, 1.0)}, tolerance=1e-3)
    assert standings["fewer"].ratio == 0.5


def test_a_missing_peer_is_reported_and_the_next_is_the_measure(clock):
    result, standings = run(
        clock, {"fewer": clock.work(1.0, 1.0)}, {"absent": missing_package, "present": clock.work(4.0, 1.0)}
    )
    assert standings["absent"].status == "missing"
    assert "a_package_that_nobody_has" in standings["absent"].trouble
    assert result.baseline == "present"
    assert standings["fewer"].ratio == 0.25
    assert result.sound


def test_without_any_peer_there_is_a_time_but_no_ratio(clock):
    result, standings = run(clock, {"fewer": clock.work(1.0, 1.0)}, {"absent": missing_package})
    assert standings["fewer"].timing.median == 1.0
    assert standings["fewer"].ratio is None
    assert standings["fewer"].trouble == "no peer could be run"
    assert result.baseline is None


def test_a_broken_import_of_ours_is_no_missing_peer(clock):
    with pytest.raises(ModuleNotFoundError):
        run(clock, {"fewer": missing_package}, {"peer": clock.work(1.0, 1.0)})


def test_a_contender_that_fails_is_told_and_does_not_stop_the_rest(clock):
    def fails():
        raise ValueError("singular matrix")

    result, standings = run(clock, {"fewer": clock.work(1.0, 1.0)}, {"fails": fails, "peer": clock.work(1.0, 1.0)})
    assert standings["fails"].trouble == "failed: ValueError: singular matrix"
    assert standings["fewer"].ratio == 1.0
    assert not result.sound


def test_the_folder_of_a_case_is_empty_and_removed_afterwards(clock):
    folders = []

    def prepare(folder):
        folders.append(folder)
        assert list(folder.iterdir()) == []
        (folder / "table.csv").write_text("a\n1\n")
        return Contest(ours={"fewer": clock.work(1, 1)}, peers={"peer": clock.work(1, 1)}, objective=float)

    run_case(Case("toy", prepare), repeats=1, clock=clock)
    assert not folders[0].exists()


def test_a_case_without_its_data_says_what_it_needs(clock, monkeypatch, tmp_path):
    monkeypatch.delenv("FEWER_DATA", raising=False)
    result = run_case(Case("ALLAML", lambda folder: real_file("ALLAML.mat")), clock=clock)
    assert result.unavailable == "needs ALLAML.mat: set FEWER_DATA to the folder that holds it"
    assert result.sound
    monkeypatch.setenv("FEWER_DATA", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"ALLAML\.mat, which is not in"):
        real_file("ALLAML.mat")
    (tmp_path / "ALLAML.mat").touch()
    assert real_file("ALLAML.mat") == tmp_path / "ALLAML.mat"


def test_a_contest_needs_somebody_on_both_sides():
    with pytest.raises(ValueError, match="one peer"):
        Contest(ours={"fewer": int}, peers={}, objective=float)


@pytest.mark.parametrize(
    ("expected", "reached", "message"),
    [
        ([1.0, np.nan], [1.0, np.nan], ""),
        ([1.0, np.nan], [1.0, 2.0], "NaN or infinite in different places"),
        ([1.0, np.inf], [1.0, -np.inf], "NaN or infinite in different places"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], "shape (3,) instead of (2,)"),
        ([100.0, 0.0], [100.0, 0.05], "differs by up to 0.05 where the largest entry is 100"),
        (["a", "b"], ["a", "c"], "1 of 2 entries differ"),
        ([200, 1], np.array([199, 1], dtype=np.uint8), "differs by up to 1 where the largest entry is 200"),
        ([], [], ""),
        (0.0, 0.0, ""),
        (0.0, 1e-9, "1e-09 instead of 0"),
    ],
)
def test_disagreement_is_put_in_words(expected, reached, message):
    assert disagreement(np.asarray(expected), np.asarray(reached), 1e-6) == message
