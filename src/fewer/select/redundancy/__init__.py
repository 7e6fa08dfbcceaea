"""Filters that see when columns repeat each other, and the groups of columns that do."""
