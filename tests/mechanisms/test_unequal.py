"""Randomizers for sensitive values are those of Murakami & Kawamoto 2019, and protect what they say, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.conformance.enumeration import exact_channel
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import URAP, URR, Channel
from ldpstats.numbers.grid import GRID
from ldpstats.protocols import Protocol

SETTINGS = [
    *((3, 1.0, (0,)), (4, 0.5, (1, 3)), (5, 2.0, (0, 1, 2, 3)), (5, 4.0, (2, 4)), (2, 1.0, (1,))),
    *((4, 1e-12, (0, 1)), (4, 30.0, (0, 2)), (4, 200.0, (0, 2))),
]


def probability_of_urr(value: int, output: int, k: int, epsilon: float, sensitive: tuple[int, ...]) -> float:
    """Return Q(y | x) of the paper's Eq. 5, for protected outputs that are the sensitive values."""
    del k
    e, s = math.exp(epsilon), len(sensitive)
    if output in sensitive:
        return (e if output == value else 1) / (s + e - 1)
    return (e - 1) / (s + e - 1) if output == value else 0.0


def probability_of_urap(value: int, bits: str, k: int, epsilon: float, sensitive: tuple[int, ...]) -> float:
    """Return the product of the bits' probabilities: theta, d1 and d2 of the paper's Eqs. 6 to 8."""
    theta = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
    d1 = theta / ((1 - theta) * math.exp(epsilon) + theta)
    d2 = ((1 - theta) * math.exp(epsilon) + theta) / math.exp(epsilon)
    total = 1.0
    for place in range(k):
        true, other = (theta, d1) if place in sensitive else (1 - d2, 0.0)
        is_set = true if place == value else other
        total *= is_set if bits[place] == "1" else 1 - is_set
    return total


@pytest.mark.parametrize(("k", "epsilon", "sensitive"), [one for one in SETTINGS if 0.1 < one[1] < 10])
def test_probabilities_are_those_of_the_paper(k: int, epsilon: float, sensitive: tuple[int, ...]) -> None:
    urr, urap = URR(k, epsilon, sensitive), URAP(k, epsilon, sensitive)
    for value in range(k):
        for output in range(k):
            expected = probability_of_urr(value, output, k, epsilon, sensitive)
            assert urr.rows[value][output] / GRID == pytest.approx(expected, abs=1e-15)
        for place, bits in enumerate(urap.outputs):
            expected = probability_of_urap(value, bits, k, epsilon, sensitive)
            assert urap.rows[value][place] / GRID == pytest.approx(expected, abs=1e-12)
    others = [bits for bits in map("".join, product("01", repeat=k)) if bits not in urap.outputs]
    assert not any(probability_of_urap(value, bits, k, epsilon, sensitive) for bits in others for value in range(k))


@pytest.mark.parametrize("name", ["urr", "urap"])
@pytest.mark.parametrize(("k", "epsilon", "sensitive"), SETTINGS)
def test_sensitive_values_keep_their_level_exactly(
    name: str, k: int, epsilon: float, sensitive: tuple[int, ...]
) -> None:
    """As rational numbers, by the outputs themselves; the level is reached, but where the grid is too coarse for it."""
    mechanism = ldp.mechanism(name, k=k, epsilon=epsilon, sensitive=sensitive)
    assert all(sum(row) == GRID and min(row) >= 0 for row in mechanism.rows)
    worst = Fraction(1)
    for value, other in product(sensitive, range(k)):
        for own, beside in zip(mechanism.rows[value], mechanism.rows[other], strict=True):
            assert not own or beside, "an output of a sensitive value that rules out another one"
            if own:
                worst = max(worst, Fraction(own, beside))
    statement = mechanism.privacy()
    levels = [statement.between(value, other).epsilon for value, other in product(sensitive, range(k))]
    assert max(levels) <= epsilon
    assert math.log(worst) == pytest.approx(max(levels), rel=1e-9)
    assert max(levels) == pytest.approx(epsilon, rel=1e-6) or epsilon > 40
    others = [value for value in range(k) if value not in sensitive]
    assert all(
        statement.between(value, other).epsilon == math.inf for value in others for other in range(k) if other != value
    )
    assert statement.per_value()["for"].to_numpy()[list(sensitive)].max() == max(levels)
    assert mechanism.epsilon == statement.epsilon == math.inf
    assert {told.rpartition(" shows that ")[2] for told in statement.certain} == {
        f"{value} is true" for value in others
    }


def test_many_values_keep_the_level_too() -> None:
    """Rows of so many are not compared pair by pair when they are rounded."""
    urr = URR(300, 1.0, tuple(range(200)))
    assert urr.privacy().per_value()["for"].iloc[:200].max() == pytest.approx(1.0, abs=1e-12)
    assert urr.privacy().per_value()["for"].iloc[:200].max() <= 1.0
    urap = URAP(300, 1.0, (7, 8, 9))
    assert urap.privacy().per_value()["for"].iloc[[7, 8, 9]].max() <= 1.0


@pytest.mark.parametrize("name", ["urr", "urap"])
def test_the_sampler_has_the_law_of_the_rows_and_estimates_are_unbiased(name: str) -> None:
    mechanism = ldp.mechanism(name, k=3, epsilon=1.5, sensitive=[1])
    law = exact_channel(mechanism)
    assert [sorted(row.values()) for row in law] == [
        sorted(Fraction(entry, GRID) for entry in row if entry) for row in mechanism.rows
    ]
    frequencies = np.array([0.2, 0.5, 0.3])
    matrix = np.array([[entry / GRID for entry in row] for row in mechanism.rows])
    assert np.allclose(mechanism.noise.debias(frequencies @ matrix), frequencies, atol=1e-12)
    assert np.allclose(mechanism.noise.covariance(frequencies), mechanism.sender.noise.covariance(frequencies))


@pytest.mark.parametrize("name", ["urr", "urap"])
def test_they_travel_as_the_channel_of_their_rows(name: str, tmp_path: Path) -> None:
    domain = ldp.Domain({"drug": ["no", "yes"], "sex": ["F", "M"]})
    mechanism = ldp.mechanism(name.upper(), k=4, epsilon=1.0, sensitive=[2, 3])
    protocol = ldp.SampledGroups(domain, epsilon=math.inf, mechanism=[mechanism])
    sent = protocol.mechanism_for(["drug", "sex"])
    assert (type(sent), sent) == (Channel, mechanism.sender)
    again = Protocol.from_json(protocol.to_json())
    assert (again, again.privacy(), again.fingerprint()) == (protocol, protocol.privacy(), protocol.fingerprint())
    assert all("('no', " in told for told in protocol.privacy().certain)
    table = protocol.simulate([[500, 100], [200, 200]], rng=1)["drug", "sex"]
    assert np.all(np.abs(table.estimate.ravel() - [0.5, 0.1, 0.2, 0.2]) < 5 * table.std_err.ravel())
    mechanism.save(tmp_path / "mechanism.json")
    assert ldp.load(tmp_path / "mechanism.json") == mechanism
    reports = mechanism.privatize([0, 1, 2, 3] * 5, rng=1)
    assert sent.count(reports.data).counts.sum() == mechanism.count(reports).n == 20


def test_an_audit_holds_them_to_their_strict_level() -> None:
    found = ldp.audit(URR(4, 1.0, (2, 3)), n=2_000, rng=1)
    assert (found.asked, found.exact, found.failures) == (math.inf, math.inf, ())


@pytest.mark.parametrize("name", ["urr", "urap"])
@pytest.mark.parametrize(
    "options",
    [
        *({"sensitive": []}, {"sensitive": [0, 1, 2, 3]}, {"sensitive": [0, 0]}, {"sensitive": [4]}),
        *({"sensitive": [-1]}, {"sensitive": [0.5]}, {"sensitive": {0}}, {"sensitive": "yes"}, {}),
        *({"sensitive": [0], "epsilon": 0}, {"sensitive": [0], "epsilon": math.inf}, {"sensitive": [0], "k": 1}),
        *({"sensitive": [0], "k": 4097}, {"sensitive": [True]}, {"sensitive": [0], "epsilon": math.nan}),
    ],
)
def test_other_parameters_are_refused_kindly(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(LdpstatsError):
        ldp.mechanism(name, **{"k": 4, "epsilon": 1.0, **options})


def test_what_is_too_large_is_refused_before_it_is_made() -> None:
    with pytest.raises(LdpstatsError, match="outputs of urap with 4000 values"):
        ldp.mechanism("urap", k=4000, epsilon=1.0, sensitive=range(3999))
    domain = ldp.Domain({"drug": ["no", "yes"]})
    with pytest.raises(LdpstatsError, match=r"epsilon=math\.inf"):
        ldp.SampledGroups(domain, k=1, epsilon=1.0, mechanism=[URR(2, 1.0, (1,))])
