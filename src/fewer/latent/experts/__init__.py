"""Mixtures of normal gates with a probit expert in each: classifiers that integrate missing values out."""
