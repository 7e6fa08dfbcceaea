"""Fewer, new columns: linear, discriminant, kernel, deep."""
