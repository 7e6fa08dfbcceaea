"""Figures of all rooms look alike; results are text, a figure in a notebook, and plain data."""

import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

from fewer import _figures
from fewer._figures import Result, new_figure, plain


def test_a_translucent_colour_is_the_same_colour():
    assert _figures.translucent("#0a80ff", 0.25) == "rgba(10, 128, 255, 0.25)"


def test_a_new_figure_has_its_titles_and_room_for_them():
    plain, titled = _figures.new_figure(x="columns", y="score"), _figures.new_figure(title="Scores")
    assert (plain.layout.xaxis.title.text, plain.layout.yaxis.title.text) == ("columns", "score")
    assert titled.layout.title.text == "Scores"
    assert titled.layout.margin.t > plain.layout.margin.t


def test_a_figure_can_be_seen_on_light_and_dark_pages():
    assert _figures.new_figure().layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_a_band_runs_along_the_upper_edge_and_back_along_the_lower():
    band = _figures.band("error", np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3]), np.array([0.7, 0.8, 0.9]))
    assert band.x.tolist() == [1, 2, 3, 3, 2, 1]
    assert band.y.tolist() == [0.7, 0.8, 0.9, 0.3, 0.2, 0.1]
    assert band.fill == "toself"


def test_a_line_has_its_name_and_colour():
    line = _figures.line("winner", [1, 2], [3, 4], _figures.RED, line_dash="dot")
    assert (line.name, line.line.color, line.line.dash, line.mode) == ("winner", _figures.RED, "dot", "lines")


@dataclass(frozen=True, repr=False)
class Toy(Result):
    value: object
    hidden: int = 0
    reading: str = "a < b & c"

    _data = ("value",)

    def __repr__(self):
        return "Toy: <1>\n  two & three"


def test_words_are_escaped_and_the_reading_comes_last():
    assert Toy(1)._repr_html_() == (
        "<div><strong>Toy: &lt;1&gt;</strong>"
        '<pre style="margin: 0.3em 0; white-space: pre-wrap">  two &amp; three</pre>'
        '<p style="margin: 0.3em 0; max-width: 60em">a &lt; b &amp; c</p></div>'
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([[1.5, np.nan], [np.inf, 2]]), [[1.5, None], [None, 2.0]]),
        (np.float64(0.5), 0.5),
        (np.array([True, False]), [True, False]),
        ({2: (1, "a")}, {"2": [1, "a"]}),
        (Toy(3), {"value": 3}),
        (None, None),
        (len, repr(len)),
    ],
)
def test_plain_data_is_what_json_can_hold(value, expected):
    assert plain(value) == expected
    assert Toy(value).to_dict() == {"value": expected}


@pytest.fixture
def shown(monkeypatch):
    """What a notebook was asked to show."""
    things = []
    notebook = ModuleType("IPython.display")
    notebook.HTML = lambda words: ("words", words)
    notebook.display = things.append
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    return things


def test_a_notebook_shows_the_words_and_then_the_picture(shown):
    class Drawn(Toy):
        def plot(self):
            return new_figure(title="here")

    Drawn(1)._ipython_display_()
    assert shown[0] == ("words", Drawn(1)._repr_html_())
    assert shown[1].layout.title.text == "here"


def test_a_result_without_a_picture_shows_its_words_only(shown):
    Toy(1)._ipython_display_()
    assert len(shown) == 1
