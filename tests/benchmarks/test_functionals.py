"""The study of functionals: a slice of it, and that what it counts is what tables say."""

from __future__ import annotations

import functionals as study
import numpy as np
import pytest


@pytest.mark.parametrize(("kind", "epsilon", "n"), [("mean", 1.0, 500), ("given", 8.0, 50), ("one bit", 2.0, 500)])
def test_a_slice(kind: str, epsilon: float, n: int) -> None:
    """Of 200 intervals that hold the truth 95 % of the time, fewer than 160 do less than once in 10^12."""
    assert study.measured((1, study.Setting(kind, epsilon, n), 200))["covers"] > 0.8  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["given", "difference", "one bit"])
def test_tables_say_what_is_counted(kind: str) -> None:
    setting, rng = study.Setting(kind, 2.0, 200), np.random.default_rng(3)
    shares = study.SHARES.reshape(2, 5).sum(axis=0) if kind == "one bit" else study.SHARES
    table = setting.table(rng.multinomial(setting.n, study.SHARES), rng)
    functional = setting.functional(table)
    (means,) = functional.means
    truth = float(means.value(shares @ means.members))
    counted = study.holds(setting, shares, [block.tally.counts[None, :] for block in table.blocks], table)
    low, high = functional.conf_int()
    assert counted[0] == (low <= truth <= high)
    assert (functional.test(truth) >= study.ALPHA) == counted[0]
