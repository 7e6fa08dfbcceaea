"""The findings of a study in the terminal."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console

from fewer.report import print_study


def _printed(study, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding=encoding, newline="\n") as stream:
        print_study(study.findings, Console(file=stream, width=width, highlight=False), study.seconds)
        stream.flush()
        return raw.getvalue().decode(encoding)


def test_verdict_questions_columns_candidates_and_cautions_are_there(wide_study):
    text = _printed(wide_study, width=900)
    findings = wide_study.findings
    assert text.startswith(findings.headline)
    assert all(answer.question in text and answer.sentence in text for answer in findings.shown.values())
    assert all(name in text for name in findings.chosen[:15])
    assert all(rival.name in text for rival in findings.rivals)
    assert findings.cautions
    assert all(caution.sentence in text for caution in findings.cautions)


@pytest.mark.parametrize("name", ["nasty_study", "noise_study", "wide_study"])
def test_nothing_is_wider_than_the_terminal(name, request):
    lines = _printed(request.getfixturevalue(name)).splitlines()
    assert max(cell_len(line) for line in lines) <= 80


def test_terminal_without_unicode_gets_none(nasty_study):
    text = _printed(nasty_study, encoding="ascii")
    assert text.isascii()
    assert "####" in text
    assert "? parrot" in text


def test_names_do_not_steer_the_terminal(nasty_study):
    text = _printed(nasty_study)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "bell\\x07" in text


def test_bars_mark_the_chosen_number(wide_study):
    chosen = int(wide_study.findings.how_few.number)
    (line,) = [line for line in _printed(wide_study).splitlines() if line.endswith(" chosen")]
    assert line.split()[0] == f"{chosen:,}"


def test_bar_of_all_columns_is_marked_where_columns_are_chosen(wide_study):
    *others, last = _bars(wide_study)
    assert last.split()[0] == "20,000"
    assert last.endswith(" all")
    assert not any(line.endswith(" all") for line in others)


def test_only_the_columns_of_the_table_are_all_beside_numbers_of_new_ones(made_study):
    assert made_study.findings.n_made < 4
    bars = _bars(made_study)
    assert [line.split()[0] for line in bars] == ["1", "2", "4", "12"]
    assert [line.endswith(" all") for line in bars] == [False, False, False, True]


def test_candidate_without_features_uses_no_columns(noise_study):
    (line,) = [line for line in _printed(noise_study).splitlines() if line.startswith("  most frequent class")]
    assert "none" in line


def test_of_many_candidates_the_best_are_shown_and_all_that_they_are_compared_with(noise_study):
    findings = noise_study.findings
    best = next(rival for rival in findings.rivals if rival.size is not None)
    many = [replace(best, name=f"way {place}, ridge") for place in range(30)]
    others = [rival for rival in findings.rivals if rival.size is None]
    answers = {**findings.answers, "compared": replace(findings.compared, rivals=(*many, *others))}
    text = _printed(SimpleNamespace(findings=replace(findings, answers=answers), seconds={}))
    assert "way 11, ridge" in text
    assert "way 12, ridge" not in text
    assert "and 18 more, in the report" in text
    assert all(rival.name in text for rival in others)


def test_time_of_candidates_is_told_where_there_is_room(noise_study):
    header = {width: _line(_printed(noise_study, width), "candidate ") for width in (80, 120)}
    assert "time" not in header[80]
    assert "time" in header[120]


def _line(text: str, beginning: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(beginning))


def _bars(study) -> list[str]:
    """Lines of the curve, without its title, its header and the note below."""
    lines = [line.rstrip() for line in _printed(study).splitlines()]
    start = next(place for place, line in enumerate(lines) if line.startswith("Best fixed-size score by number of "))
    end = next(place for place, line in enumerate(lines) if line.startswith("  Fixed-size scores"))
    return lines[start + 2 : end]
