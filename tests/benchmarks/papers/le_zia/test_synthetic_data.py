"""Statements about geometric data are judged by one law, on hand-made errors."""

from __future__ import annotations

import pandas as pd
import pytest
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE
from papers.le_zia.algorithms import AS_RUN, AT_ITS_WORD, NAMES
from papers.le_zia.synthetic_data import JUDGED, LAWS, _judged

PLACE = ("a figure", "ε = 2", "statement", "k-RR generally has the highest accuracy")


def errors(least: set[tuple[str, str]]) -> pd.DataFrame:
    """Return errors of which k-RR has the least with some readings and laws, and HR with the others."""
    rows = [
        (2.0, law, reading, name, n, 0.1 if name == ("k-RR" if (reading, law) in least else "HR") else 0.2)
        for law in LAWS
        for reading in (AT_ITS_WORD, AS_RUN)
        for name in NAMES
        for n in (1_000, 2_000, 3_000)
    ]
    return pd.DataFrame(rows, columns=["epsilon", "law", "reading", "algorithm", "n", "mean"])


(OTHER,) = set(LAWS) - {JUDGED}


@pytest.mark.parametrize(
    ("least", "verdict", "named"),
    [
        ({(AT_ITS_WORD, law) for law in LAWS}, AGREES, ""),
        ({(AT_ITS_WORD, JUDGED)}, AGREES, JUDGED),
        ({(AT_ITS_WORD, OTHER)}, DIFFERS, f"{OTHER}, not the {JUDGED}"),
        ({(AS_RUN, JUDGED)}, DIFFERS, "as they were run"),
        (set(), NOT_REPRODUCIBLE, "No reading"),
    ],
)
def test_a_statement_agrees_only_as_described_with_the_law_of_all_statements(
    least: set[tuple[str, str]], verdict: str, named: str
) -> None:
    found = _judged(PLACE, errors(least), large=False)
    assert found.verdict == verdict
    assert named in found.because
