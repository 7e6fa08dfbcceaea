"""Columns as a few levels, their entropies, and the information that they share."""
