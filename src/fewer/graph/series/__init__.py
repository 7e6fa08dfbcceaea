"""Graphs of time series: which series depend on each other given all the others, over all lags."""
