"""What is concluded from printed distances and trials, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from papers.imran_meo.distances import Reading
from papers.imran_meo.tables_5_6 import _best, ratios

PLACES = [("a paper", "l2, Survey, RRBA", f"{size}-way", printed) for size, printed in ((2, "100"), (3, "200"))]


def test_the_printed_laplace_figures_have_these_ratios() -> None:
    # 59.58/109.60, 307.588/154.02, 715.05/372.63, 117.42/61.69, typed in once more
    assert ratios() == pytest.approx([0.5436, 1.9971, 1.9189, 1.9034], abs=5e-5)


def test_the_best_reading_gives_most_figures() -> None:
    one, other = Reading("RRBA", "mle", "any"), Reading("RRBA", "two blocks", "any")
    around = np.array([-1.0, 1.0] * 50)
    data = {("Survey", 2, one, "ℓ2"): 100 + around, ("Survey", 3, one, "ℓ2"): 260 + around}
    data |= {("Survey", 2, other, "ℓ2"): 700 + around, ("Survey", 3, other, "ℓ2"): 800 + around}
    assert _best(PLACES, data) == (one, "ℓ2", 1, 2)
