"""The pages of the docs: examples run, commands parse, and the names on them are public."""

import ast
import doctest
import importlib
import re
import shlex
import warnings
from pathlib import Path

import plotly.graph_objects as go
import plotly.io as pio
import pytest
from typer.main import get_command

from fewer._figures import new_figure
from fewer.catalogue import public_objects
from fewer.cli import app
from fewer.datasets import PackageMissingError

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(DOCS.glob("*.md"))]
PAGES += sorted(DOCS.glob("how_to/*.md"))
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def text_of(page):
    return page.read_text(encoding="utf-8")


def blocks(page, language):
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.S | re.M)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "pycon")], ids=lambda page: page.stem)
def test_examples_give_the_output_that_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    try:
        doctest.DebugRunner(optionflags=OPTIONS).run(test)
    except doctest.UnexpectedException as error:
        if isinstance(error.exc_info[1], PackageMissingError):
            pytest.skip(str(error.exc_info[1]))
        raise error.exc_info[1] from None
    except doctest.DocTestFailure as failure:
        pytest.fail(f"{failure.example.source}\nexpected:\n{failure.example.want}\ngot:\n{failure.got}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_are_python(page):
    for block in blocks(page, "python"):
        ast.parse(block)


COMMANDS = [
    pytest.param(shlex.split(line, comments=True), id=f"{page.stem}: {line[:60]}")
    for page in PAGES
    for block in blocks(page, "console")
    for line in re.findall(r"^\$ fewer (.*)", block, re.M)
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_commands_have_only_options_that_exist(arguments):
    name, *options = arguments
    if not name.startswith("-"):
        get_command(app).commands[name].make_context(name, options)


def test_every_name_on_the_page_of_methods_is_public():
    public = {dotted.rpartition(".")[2] for dotted, _ in public_objects()}
    named = set(re.findall(r"`([A-Za-z]\w*)`", text_of(DOCS / "which-method.md"))) - {"fewer", "OneHotEncoder"}
    assert len(named) > 80
    assert named <= public


def test_figures_of_the_gallery_look_the_same_in_every_process(monkeypatch):
    """A process that has run other examples, or imported nothing of ``conf.py``, draws the same figure."""
    monkeypatch.setattr(pio.templates, "default", pio.templates.default)
    monkeypatch.setattr(pio.renderers, "default", pio.renderers.default)
    monkeypatch.syspath_prepend(DOCS)
    look = importlib.import_module("gallery_look")
    drawn = []
    for _ in range(2):
        with warnings.catch_warnings():
            look.set_look({}, "plot_any.py")
        drawn.append(go.Figure().to_json())
    assert drawn[0] == drawn[1]
    assert new_figure().layout.colorway[0] in drawn[0]
    assert len(go.Figure()._repr_html_()) < 100_000  # without a copy of plotly.js


def test_links_from_the_front_pages_reach_a_file():
    for page in PAGES[:3]:
        for target in re.findall(r"\]\(([^)#:]+)\)", text_of(page)):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_gallery_scripts_import_public_names_only():
    private = [
        f"{script.name}: {node.module}.{alias.name}"
        for script in sorted(DOCS.glob("gallery/*.py"))
        for node in ast.walk(ast.parse(text_of(script)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fewer")
        for alias in node.names
        if "._" in f"{node.module}.{alias.name}"
    ]
    assert not private
