"""Sparse precision matrices: which columns depend on each other given all the others."""
