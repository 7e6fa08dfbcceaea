"""The report for black-and-white print has no colour, and tells apart by dashes and symbols what colours told apart."""

import re

import pytest

from fewer import _figures
from fewer._figures import AMBER, BLUE, GREY, PALETTE, RED
from fewer.report._black_and_white import in_black_and_white, without_colours
from fewer.report._study_page import study_page
from fewer.study import StudyError

_HEX = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})\b")


def test_colours_become_dashes_and_symbols():
    figure = _figures.new_figure()
    for colour in PALETTE:
        figure.add_trace(_figures.line(colour, [0, 1], [0, 1], colour))
    figure.add_trace(_figures.line("chosen", [0, 1], [0, 1], AMBER, line_dash="dot"))
    figure.add_scatter(x=[0], y=[0], mode="markers", marker={"color": [BLUE, RED, GREY]})
    found = in_black_and_white(figure)
    looks = {(trace.line.color, trace.line.dash) for trace in found.data[: len(PALETTE)]}
    assert len(looks) == len(PALETTE)
    assert found.data[len(PALETTE)].line.dash == "dot"  # a dash that was chosen stays
    assert list(found.data[-1].marker.symbol) == ["circle", "diamond", "circle-open"]
    assert figure.data[0].line.color == BLUE  # the figure itself is as it was


def test_translucent_lines_are_dashed_by_their_colour():
    figure = _figures.new_figure()
    for colour in (BLUE, RED):
        figure.add_trace(_figures.line("edge", [0, 1], [0, 1], _figures.translucent(colour, 0.4)))
    assert [trace.line.dash for trace in in_black_and_white(figure).data] == ["solid", "dash"]


def test_bars_differ_by_their_greys():
    figure = _figures.new_figure()
    for colour in (GREY, AMBER):
        figure.add_bar(x=[0], y=[1], marker={"color": colour})
    light, dark = (int(trace.marker.color[1:3], 16) for trace in in_black_and_white(figure).data)
    assert light - dark >= 0x60


def test_captions_speak_of_shapes():
    assert "red" not in without_colours("A line: blue positive, red negative, wider the stronger.").split()


@pytest.fixture(scope="module")
def page(made_study):
    return study_page(made_study.findings, made_study.seconds, None, "print")


def test_the_page_has_no_colour(page, made_study):
    assert '<html lang="en" class="print">' in page
    assert 'content="light"' in page
    figures = re.findall(r'<script type="application/json" id="data-[^>]*>(.*?)</script>', page, re.DOTALL)
    legends = re.findall(r'<ul class="legend".*?</ul>', page, re.DOTALL)
    assert figures
    for text in (*figures, *legends):
        assert all(red == green == blue for red, green, blue in _HEX.findall(text))
        assert not re.search(r"rgba\((?!0, ?0, ?0)", text)
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert not any(re.search(r"\b(red|blue|colours?)\b", caption, re.IGNORECASE) for caption in captions)
    assert study_page(made_study.findings) != page


def test_another_theme_is_refused(made_study):
    with pytest.raises(StudyError, match="theme must be one of screen, print, not 'dark'"):
        made_study.report(theme="dark")
