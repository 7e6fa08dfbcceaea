"""Columns chosen by a fitted model: its trees, its coefficients, its path of penalties, recursive elimination."""
