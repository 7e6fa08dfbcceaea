"""Findings as HTML and in the terminal."""

from fewer.report._describe import print_description
from fewer.report._methods import print_method, print_methods

__all__ = ["print_description", "print_method", "print_methods"]
