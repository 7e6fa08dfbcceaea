"""Figures of all rooms start from the same look."""

import numpy as np

from fewer import _figures


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
