"""Sphinx configuration. Everything is built offline, and a warning is an error (`make docs`)."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import catalogue_pages
import draw_rooms
import draw_way
from plotly.offline import get_plotlyjs

import fewer

# Now, because autosummary looks for the pages as soon as it is set up.
catalogue_pages.write(HERE)
(HERE / "generated" / "rooms.svg").write_text(draw_rooms.rooms_picture(HERE.parent), encoding="utf-8")
(HERE / "generated" / "way.svg").write_text(draw_way.way_picture(HERE.parent), encoding="utf-8")

project = "fewer"
author = "The fewer developers"
copyright = "2026, the fewer developers"
version = release = fewer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = [
    "_build",
    "_templates",
    "gallery",
    "auto_gallery/*.ipynb",
    "auto_gallery/*.py",
    "how_to/*.py",
    "data/*.md",
    "generated/*.md",
]
templates_path = ["_templates"]

autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"

html_theme = "pydata_sphinx_theme"
html_title = "fewer"
html_static_path = ["_static", "generated/static"]
html_css_files = ["fewer.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 5,
    "abort_on_example_error": True,
    # Examples take most of the time. Each process that runs them learns here how figures look.
    "parallel": os.cpu_count(),
    "reset_modules": ("matplotlib", "gallery_look.set_look"),
}
# Figures of plotly work offline: its script lies beside the pages, and only those of the gallery load it.
(HERE / "generated" / "static").mkdir(exist_ok=True)
(HERE / "generated" / "static" / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")


def load_plotly(app, pagename, templatename, context, doctree):
    """Add plotly's script to the pages of the gallery, before the figures that call it."""
    if pagename.startswith("auto_gallery/"):
        app.add_js_file("plotly.min.js", priority=100)
        app.add_js_file("fit_figures.js")


def setup(app):
    app.connect("html-page-context", load_plotly)
