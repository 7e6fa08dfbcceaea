"""Findings as HTML and in the terminal."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.report._describe import print_description
    from fewer.report._methods import print_method, print_methods
    from fewer.report._panel import Panel, Picture
    from fewer.report._study_numbers import Shown
    from fewer.report._study_page import study_page, study_summary_html
    from fewer.report._study_terminal import print_study

__all__ = [
    "Panel",
    "Picture",
    "Shown",
    "print_description",
    "print_method",
    "print_methods",
    "print_study",
    "study_page",
    "study_summary_html",
]

__getattr__, __dir__ = lazy_names(__name__)
