"""Data sets to try things on, and the papers' synthetic generators."""
