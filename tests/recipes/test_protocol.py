"""A protocol written by following ARCHITECTURE.md: every respondent answers two neighbours in a chain of attributes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.extend import Asked, AssignedQuestions, certify_protocol, register_protocol
from ldpstats.protocols.kinds import PROTOCOLS

DOMAIN = ldp.Domain({name: ["no", "yes"] for name in ("smokes", "drinks", "drives", "votes")})


@dataclass(frozen=True)
class Chain(AssignedQuestions):
    """Asks for the pairs of neighbours, which is enough for a chain in which only neighbours influence each other."""

    kind: ClassVar[str] = "chain of neighbours"
    saved: ClassVar[tuple[str, ...]] = ("epsilon",)

    domain: ldp.Domain
    epsilon: float
    outside: str = "refuse"

    def units(self) -> list[list[Asked]]:
        """Return the pairs, of which a respondent answers one."""
        return [[Asked.about(self.domain, pair, "grr", self.epsilon)] for pair in pairwise(self.domain.names)]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> type[Chain]:
    monkeypatch.setattr("ldpstats.protocols.kinds.PROTOCOLS", PROTOCOLS | {})
    return register_protocol(Chain)


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return DOMAIN.decode(np.cumsum(rng.random((6_000, 4)) < 0.3, axis=1) % 2)


def test_it_is_certified_without_new_test_code(registered: type[Chain]) -> None:
    certify_protocol(lambda domain, epsilon: registered(domain, epsilon=epsilon))


def test_it_can_be_read_from_its_file(registered: type[Chain]) -> None:
    made = registered(DOMAIN, epsilon=1.0)
    assert ldp.Protocol.from_json(made.to_json()) == made
    with pytest.raises(ldp.LdpstatsError, match="chain of neighbours"):
        ldp.SampledGroups.from_json(made.to_json())


def test_it_says_what_it_does_and_what_that_costs() -> None:
    made = Chain(DOMAIN, epsilon=1.0)
    assert 1 - 1e-9 < made.privacy().epsilon <= 1
    assert "smokes × drinks; drinks × drives; drives × votes" in spoken(made)


@pytest.mark.parametrize("units", [[], [[]]])
def test_nothing_to_ask_is_refused(monkeypatch: pytest.MonkeyPatch, units: list[list[Asked]]) -> None:
    monkeypatch.setattr(Chain, "units", lambda _: units)
    with pytest.raises(ldp.LdpstatsError, match=r"whose units\(\) are"):
        Chain(DOMAIN, epsilon=1.0)


@pytest.mark.parametrize("formed", [(("smokes",), [0]), (("smokes", "drinks"), [9])])
def test_tables_of_other_rows_are_refused(monkeypatch: pytest.MonkeyPatch, formed: tuple[Any, Any]) -> None:
    monkeypatch.setattr(Chain, "formed", lambda _: [formed])
    for use in (Chain.privacy, lambda one: one.simulate([1] * 16, rng=1)):
        with pytest.raises(ldp.LdpstatsError, match="formed of"):
            use(Chain(DOMAIN, epsilon=1.0))


def test_it_collects_what_is_tested(people: pd.DataFrame) -> None:
    made = Chain(DOMAIN, epsilon=4.0)
    for tables in (made.collect(people, rng=1), made.simulate(people, rng=1), made.tables(made.reports(people, rng=1))):
        assert [table.n for table in tables] == [2_000] * 3
        assert ldp.independence_test(tables["drinks", "drives"]).pvalue < 1e-6
    assert ldp.reconstruct(tables, ["smokes", "drives"]).estimate.sum() == pytest.approx(1)
