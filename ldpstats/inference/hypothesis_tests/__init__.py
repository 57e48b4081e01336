"""Hypothesis tests for contingency tables: independence, homogeneity, trend, symmetry, log-linear models."""
