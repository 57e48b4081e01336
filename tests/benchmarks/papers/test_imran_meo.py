"""What is stored of Imran & Meo's Table 4 follows from the rejections that are stored beside it."""

from __future__ import annotations

import pytest
from papers.catalogue import EXHIBITS
from papers.imran_meo.table_4 import LARGE, SPARSE, judged_rows


def test_verdicts_on_table_4_follow_from_the_stored_rejections() -> None:
    comparisons, curves = EXHIBITS["imran-meo-2024-table-4"].stored()
    assert curves is not None
    rejected = {key: rows.set_index("test")["rejected"] / 100 for key, rows in curves.groupby(["table", "w"])}
    numbers = {"2-way": 200, "3-way": 200, "4-way": 200, SPARSE: 60, LARGE: 60}
    found = judged_rows(rejected, numbers)
    stored = list(zip(comparisons["verdict"], comparisons["because"], strict=True))
    assert [(one.verdict, one.because) for one in found] == stored
    assert [one.std_err for one in found] == pytest.approx(comparisons["std_err"].tolist(), rel=1e-4, nan_ok=True)
