"""What results share: words, a picture in a notebook, plain data."""

import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

from fewer._figures import Result, new_figure, plain


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
