"""Confidence sets by inverting tests, and the quantities of a few shares that score tests are inverted for."""
