"""The engine of all tests: evidence, null models, test statistics, and Monte Carlo p-values."""
