"""The share of forged reports that explains a dependence: closed forms, other mixtures, and where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.attacks.forged_dependence import Attack, attack_on, explaining_share
from ldpstats.attacks.poisoning import amplification
from ldpstats.tables import Table


def table_of(mechanism: str, counts: np.ndarray, epsilon: float = 1.0, seed: int = 1) -> Table:
    domain = ldp.Domain({"a": list(range(counts.shape[0])), "b": list(range(counts.shape[1]))})
    return ldp.SampledGroups(domain, epsilon=epsilon, mechanism=mechanism).simulate(counts, rng=seed)["a", "b"]


def attack_of(mechanism: str, counts: np.ndarray, epsilon: float = 1.0) -> Attack:
    found = attack_on(table_of(mechanism, counts, epsilon))
    assert isinstance(found, Attack)
    return found


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("mechanism", ["grr", "oue", "sue"])
def test_of_four_equal_cells_it_is_a_closed_form(mechanism: str, epsilon: float) -> None:
    """Forgers support one diagonal and not the other: V = 2 (a − b) / √(2a + 2b), noise being nothing."""
    attack = attack_of(mechanism, np.full((2, 2), 2 * 10**8), epsilon)
    noise = attack.block.noise
    up, down = noise.bounds()[::-1, 0] if noise.size is None else noise.debias(np.array([1, 0, 0, 1]) / 2)[:2]
    for cramers_v in (0.05, 0.3):
        found = attack.least_share(cramers_v)
        assert found is not None
        total = 1 + found[0] * (2 * (up + down) - 1)
        assert 2 * found[0] * (up - down) / np.sqrt(total) == pytest.approx(cramers_v, rel=5e-3)


@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss", "olh", "hr"])
def test_no_other_mixture_needs_fewer(mechanism: str) -> None:
    attack = attack_of(mechanism, np.array([[50, 20, 2], [20, 10, 8]]) * 10_000)
    found = attack.least_share(0.3)
    assert found is not None
    goal, rng = 0.3**2, np.random.default_rng(1)
    assert attack._expected_share(found[1], goal) == pytest.approx(found[0], rel=0.02)
    ends = np.array([attack.block.noise.loudest(one) for one in rng.standard_normal((40, 6))])
    for weights in [*np.eye(40), *rng.dirichlet(np.full(40, 0.1), 400)]:
        assert attack._expected_share(weights @ ends, goal) >= found[0] * 0.98


PAIRINGS: dict[str, Any] = {
    # reports that support half of the columns in one row, and the others in the other
    "oue": (1.0, 0.4, [0.5, 0.5], [0.25] * 4, [[(0, 0), (0, 1), (1, 2), (1, 3)]]),
    # three cells, none in the row or the column of another
    "grr": (3.6, 0.46, [0.14, 0.08, 0.54, 0.12, 0.12], [0.14, 0.22, 0.22, 0.28, 0.14], [[(1, 4)], [(2, 2)], [(4, 0)]]),
}


@pytest.mark.parametrize("mechanism", PAIRINGS)
def test_pairings_of_categories_are_tried(mechanism: str) -> None:
    """An eighth, and a fifth, more were said to be needed: ascents from single cells ended elsewhere."""
    epsilon, cramers_v, rows, columns, pairings = PAIRINGS[mechanism]
    counts = np.round(10**6 * np.outer(rows, columns)).astype(int)
    attack, worth = attack_of(mechanism, counts, epsilon), []
    for cells in pairings:
        direction = np.zeros(counts.shape)
        direction[tuple(zip(*cells, strict=True))] = 1
        worth.append(attack._loudest(direction.ravel()))
    goal, found = cramers_v**2 * (len(rows) - 1), attack.least_share(cramers_v)
    assert found is not None
    assert found[0] <= 1.02 * attack._expected_share(np.mean(worth, axis=0), goal)


@pytest.mark.parametrize(
    "name",
    [
        "grr",
        "oue",
        "she",
        *(pytest.param(one, marks=pytest.mark.exhaustive) for one in ("ss", "olh", "hr", "dbitflip")),
    ],
)
def test_stronger_dependences_take_more_forged_reports(name: str) -> None:
    table = table_of(name, np.array([[2, 3, 5], [2, 3, 5]]) * 100_000)
    shares = [explaining_share(table, strength) for strength in (0.02, 0.05, 0.1)]
    assert 0 < shares[0] < shares[1] < shares[2] < 0.2  # type: ignore[operator]  # numbers
    assert amplification(table) == pytest.approx(
        ldp.poisoning(ldp.mechanism(name, k=6, epsilon=1.0), 0.1).amplification
    )


def test_a_margin_that_vanishes_explains_nothing() -> None:
    """A rare category may be pushed out of the expected table: then no V of it is estimated, nor an infinite one."""
    attack = attack_of("hr", np.array([[900, 950], [20, 10]]) * 3, epsilon=3.0)
    rare = np.where(np.arange(4) < 2, 1.0, -1.0)
    worth = attack.block.noise.loudest(rare)
    shares = np.linspace(0, 0.5, 26)
    medians = [attack.median_square(share, worth) for share in shares]
    assert np.all(np.isfinite(medians))
    assert medians[-1] <= 0


@pytest.mark.parametrize("seed", range(4))
def test_margins_that_noise_makes_negative_are_no_difficulty(seed: int) -> None:
    table = table_of("grr", np.array([[300, 200, 1], [150, 250, 0], [1, 0, 0]]), epsilon=2.0, seed=seed)
    found = explaining_share(table, 0.3)
    assert isinstance(found, str) or 0 < found <= 0.5


def test_why_no_share_is_named_is_said() -> None:
    table = table_of("grr", np.array([[2, 3, 5], [2, 3, 5]]) * 1000, epsilon=4.0)
    assert explaining_share(table, 0.99) == "not even 50 % of forged reports would be enough"
    assert "tables of two attributes" in str(explaining_share(table.marginal("a"), 0.1))
    curator = ldp.CentralLaplace(table.domain, k=2, epsilon=1.0).simulate(np.full((2, 3), 500), rng=1)["a", "b"]
    assert "one tally" in str(explaining_share(curator, 0.1))
    assert amplification(curator) is None
    drowned = table_of("grr", np.full((2, 2), 3), epsilon=0.1)
    assert isinstance(explaining_share(drowned, 0.1), (str, float))
    wide = table_of("grr", np.full((16, 16), 50), epsilon=8.0)
    assert "up to 225 cells" in str(explaining_share(wide, 0.1))


def test_a_table_in_another_order_has_the_same_share() -> None:
    table = table_of("hr", np.array([[50, 20, 12], [20, 10, 8]]) * 1000)
    assert explaining_share(table.reordered(["b", "a"]), 0.2) == pytest.approx(explaining_share(table, 0.2), rel=0.02)
