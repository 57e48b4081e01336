"""Classical tables of the literature."""

from __future__ import annotations

import numpy as np

from ldpstats import Domain

STUDENTS = np.array([911, 538, 44, 456, 3, 43, 2, 279])
SURVEY = STUDENTS.reshape(2, 2, 2)
"""Alcohol, cigarettes, marijuana: 2,276 students, Dayton (Agresti, Categorical Data Analysis)."""
HABITS = Domain({"alcohol": ["yes", "no"], "cigarettes": ["yes", "no"], "marijuana": ["yes", "no"]})
VISION = np.array([[1520, 266, 124, 66], [234, 1512, 432, 78], [117, 362, 1772, 205], [36, 82, 179, 492]])
"""Distance vision, right and left eyes of 7,477 women (Stuart 1953; the example of statsmodels' SquareTable)."""
