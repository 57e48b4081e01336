"""Encodings of few values in bits, of which reports reveal some, small enough to be enumerated."""

from __future__ import annotations

import numpy as np

from ldpstats.noise import RevealedBits

SKETCH = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0]])
FILTERS = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1], [1, 0, 0]])
DEPENDENT = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]])

UNARY = RevealedBits(np.eye(3), 0.75, 0.2)
DBITFLIP = RevealedBits(np.eye(4), 0.7, 0.3, revealed=2)
COHORTS = RevealedBits(SKETCH, 0.8, 0.3, cohorts=3)
BLOOM = RevealedBits(FILTERS, 0.6, 0.4, cohorts=2)
SOME_OF_A_COHORT = RevealedBits(FILTERS, 0.65, 0.1, cohorts=2, revealed=2)
UNIDENTIFIED = RevealedBits(DEPENDENT, 0.8, 0.3, cohorts=2)
REVEALED = {
    "unary": UNARY,
    "dbitflip": DBITFLIP,
    "one bit": RevealedBits(np.eye(3), 0.9, 0.4, revealed=1),
    "cohorts": COHORTS,
    "bloom": BLOOM,
    "some of a cohort": SOME_OF_A_COHORT,
    "single slots": RevealedBits(FILTERS, 0.65, 0.1, cohorts=6),
    "unidentified": UNIDENTIFIED,
}
