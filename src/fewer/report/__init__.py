"""Findings as HTML and in the terminal."""
