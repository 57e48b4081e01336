"""What is counted of the claims about convergence, on hand-made data; and exact chances."""

from __future__ import annotations

import pandas as pd
import pytest
from papers.imran_meo.convergence import LETTER, NAMED
from papers.imran_meo.convergence_figures import Claim, covered, least_sizes, nearest_share, right, within


def shares(kind: tuple[str, str], by_size: dict[int, float]) -> pd.DataFrame:
    rows = [
        (*kind, p, size, cell, share, share)
        for p in (0.221, 0.5)
        for size, share in by_size.items()
        for cell in (0.072, 0.116, 0.356, 0.446)
    ]
    columns = ["width", "estimate", "p", "block_size", "probability", "converged", "converged_by_half"]
    return pd.DataFrame(rows, columns=columns)


def test_a_claim_is_right_where_half_of_the_trials_converge_and_should() -> None:
    data = pd.concat([shares(LETTER[0], {18: 0.5, 250: 0.4}), shares(NAMED[0], {18: 0.1, 250: 1.0})])
    claims = (Claim(0.221, (250,)), Claim(0.221, (18,), converges=False))
    assert right(claims, data, LETTER) == (0, 8)
    assert right(claims, data, NAMED) == (8, 8)
    assert right(claims[:1], data, LETTER) == (0, 4)


def test_the_least_block_size_is_the_first_with_which_all_cells_converge() -> None:
    data = shares(LETTER[0], {18: 0.4, 50: 0.6, 150: 0.9, 250: 1.0})
    found = [one for one in least_sizes(data, LETTER) if one != float("inf")]
    assert found == [50, 50]


def test_without_fakes_the_printed_interval_holds_its_level_and_with_them_it_does_not() -> None:
    assert within(0.05, 1.0, 1.0) == pytest.approx(0.95, abs=0.02)  # what the binomial's steps leave of it
    assert within(0.05, 0.5, 1.0) == pytest.approx(0.673, abs=0.02)  # 2 Φ(1.96 / 2) - 1
    assert within(0.05, 0.5, 2.0) == pytest.approx(0.95, abs=0.02)


def test_the_nearest_share_counts_records() -> None:
    share, name, value = nearest_share(0.4)
    assert (name, value) == ("survey", "sex = F")
    assert share == pytest.approx(0.4, abs=0.01)


def test_nearly_every_probability_is_near_to_one_of_some_value_so_that_nearness_is_no_verdict() -> None:
    assert 0.9 < covered() < 1
