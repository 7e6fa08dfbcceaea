"""Findings as HTML and in the terminal."""

from fewer.report._describe import print_description

__all__ = ["print_description"]
