"""`fewer methods` lists the catalogue, shows one card, and refuses words that it does not know."""

import json

import pytest
from typer.testing import CliRunner

from fewer.catalogue import method, methods
from fewer.cli import app
from fewer.report import print_methods


def run(*arguments):
    return CliRunner().invoke(app, ["methods", *arguments])


def test_every_method_is_listed_with_when_to_use_it_its_cost_and_its_authors():
    said = run().stdout
    for card in methods():
        assert card.name in said
    assert "When: The columns mix a few independent sources" in said
    assert "Cost: O(n p^2 + p^3) time" in said
    assert "From: Cardoso, J.-F. (1989)\n" in said


def test_one_method_is_shown_with_its_paper_and_its_cost():
    said = " ".join(run("kurtosisica").stdout.split())
    assert "Cardoso, J.-F. (1989)" in said
    assert "O(n p^2 + p^3)" in said


def test_json_holds_the_whole_card():
    (card,) = json.loads(run("ReconstructionPCA", "--json").stdout)
    assert card["room"] == "extract"
    assert card["handles"] == ["sparse"]
    assert card["citation"].startswith("Jolliffe")


def test_filters_narrow_the_list():
    assert {card["room"] for card in json.loads(run("--room", "extract", "--json").stdout)} == {"extract"}
    assert all("sparse" in card["handles"] for card in json.loads(run("--handles", "sparse", "--json").stdout))


def test_where_nothing_matches_the_nearest_are_named():
    said = run("--room", "extract", "--handles", "missing,sparse,categorical").stdout
    assert said.startswith("No method matches all of these options.\n")
    extract = ", ".join(card.name for card in methods(room="extract"))
    assert f"Without --handles: {extract}.\n" in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["KurtosICA"], "Did you mean KurtosisICA?"),
        (["--room", "kitchen"], "There is no room 'kitchen'"),
        (["--handles", "dirt"], "There is no kind of data 'dirt'"),
    ],
)
def test_unknown_words_end_with_a_message_and_no_traceback(arguments, complaint):
    done = run(*arguments)
    assert done.exit_code == 2
    assert complaint in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_card_with_markup_in_it_stays_text(capsys):
    declare = method(room="select", tasks=["evaluation"], when="[red]always[/red] and [bold", cost="O(1)", handles=[])
    print_methods([declare(lambda X: X).__fewer_method__])
    assert "When: [red]always[/red] and [bold" in capsys.readouterr().out


def test_one_method_is_shown_with_what_units_do():
    shown = " ".join(run("RegularizedFisher").stdout.split())
    assert "The result depends on the unit of the columns: alpha is added to sums of squares of the columns." in shown
    shown = " ".join(run("ReconstructionPCA").stdout.split())
    assert "The result does not depend on the unit or the origin of the columns." in shown
    assert json.loads(run("BasisPursuit", "--json").stdout)[0]["depends_on_shift"]
