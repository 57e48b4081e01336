"""A mechanism from outside the package is registered by its name, and found wherever names are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import ldpstats as ldp
from ldpstats.attacks.auditing import audit
from ldpstats.cli import main
from ldpstats.conformance import certify, check_named
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import (
    GRR,
    Mechanism,
    recommend,
    register_mechanism,
    registered_mechanisms,
    registry,
)
from ldpstats.numbers.randomness import Draws


@dataclass(frozen=True, slots=True)
class Rotation(GRR):
    """Randomized response whose lies are the value turned round by a random number of places."""

    name: ClassVar[str] = "rotation"
    aliases: ClassVar[tuple[str, ...]] = ("turned response",)
    source: ClassVar[str] = "a test"

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        turns = 1 + draws.uniform(self.k - 1, values.shape)
        return np.where(draws.bernoulli(self.truth, values.shape), values, (values + turns) % self.k)


@dataclass(frozen=True, slots=True)
class OneBit(Rotation):
    """The same, with a report of one bit, as it says: what `recommend` ranks best of all that are as exact."""

    name: ClassVar[str] = "one bit"
    aliases: ClassVar[tuple[str, ...]] = ()
    report_bits: ClassVar[int] = 1  # type: ignore[assignment]  # a class attribute is enough of a property here


@pytest.fixture
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no mechanism behind."""
    monkeypatch.setattr(registry, "_registered", ())


@pytest.mark.usefixtures("_registry")
class TestRegistered:
    """What a registered mechanism can do."""

    def test_it_is_found_by_its_name_and_its_alias_in_any_case(self) -> None:
        with pytest.raises(LdpstatsError, match="the mechanism 'rotation'"):
            ldp.mechanism("rotation", k=3, epsilon=1.0)
        assert register_mechanism(register_mechanism(Rotation)) is Rotation
        assert ldp.mechanism(" Turned Response", k=3, epsilon=1.0) == Rotation(3, 1.0)
        assert registered_mechanisms().count(Rotation) == 1
        row = ldp.mechanisms(k=3).set_index("name").loc["rotation"]
        assert row["variance"] == pytest.approx(ldp.mechanisms(k=3).set_index("name").loc["grr", "variance"], rel=1e-12)
        assert "rotation" in CliRunner().invoke(main, ["mechanisms"]).output
        with pytest.raises(LdpstatsError, match="rotation"):
            ldp.mechanism("unheard of", k=3, epsilon=1.0)

    def test_the_best_one_is_recommended_and_chosen_even_if_another_was_before(self) -> None:
        domain = ldp.Domain({"a": range(3), "b": range(2)})
        before = ldp.SampledGroups(domain, epsilon=5.0).mechanism_for(("a", "b"))
        assert before.name == recommend(6, 5.0)["name"].iloc[0] != "one bit"
        register_mechanism(OneBit)
        assert recommend(6, 5.0)["name"].iloc[0] == "one bit"
        assert ldp.SampledGroups(domain, epsilon=5.0).mechanism_for(("a", "b")) == OneBit(6, 5.0)

    def test_protocols_collect_with_it_and_are_read_again(self) -> None:
        register_mechanism(Rotation)
        domain = ldp.Domain({"a": range(3), "b": range(2)})
        protocol = ldp.SampledGroups(domain, epsilon=2.0, mechanism="rotation")
        tables = protocol.simulate(np.array([[300, 100], [100, 300], [200, 200]]), rng=1)
        assert protocol.mechanism_for(("a", "b")) == Rotation(6, 2.0)
        assert ldp.independence_test(tables["a", "b"]).pvalue < 1e-6
        assert ldp.SampledGroups.from_json(protocol.to_json()) == protocol

    def test_the_class_of_a_cell_that_is_run_again_takes_its_place(self) -> None:
        register_mechanism(Rotation)
        again = register_mechanism(type(Rotation.__name__, (Rotation,), {"__module__": __name__, "__slots__": ()}))
        assert type(ldp.mechanism("rotation", k=3, epsilon=1.0)) is again
        assert Rotation not in registered_mechanisms()

    def test_the_suite_and_audits_take_it(self) -> None:
        register_mechanism(Rotation)
        kind: Any = type(ldp.mechanism("rotation", k=2, epsilon=1.0))
        assert check_named("privacy_is_exact")(kind) is None
        assert audit(ldp.mechanism("rotation", k=4, epsilon=1.0), n=20_000, rng=1).verdict.startswith("HOLDS")


def test_it_is_certified() -> None:
    assert certify(Rotation) is None


def named(name: Any, *aliases: Any) -> type[Mechanism]:
    """Return a mechanism with such names."""
    made: Any = type("Named", (Rotation,), {"name": name, "aliases": aliases, "__slots__": ()})
    return dataclass(frozen=True)(made)


@dataclass(frozen=True, slots=True)
class WithoutASampler(Mechanism):
    """Nothing is randomized, for there is no sampler."""

    k: int
    epsilon: float
    name: ClassVar[str] = "nothing"
    source: ClassVar[str] = "a test"


class Plain(GRR):
    """A class that is a dataclass by inheritance only, and has the name of another one."""


@pytest.mark.usefixtures("_registry")
@pytest.mark.parametrize(
    "kind",
    [
        named("grr"),
        named("GRR2"),
        named(" padded"),
        named(""),
        named("auto"),
        named("mine", "warner"),
        named("turned", "k-RR"),
        Plain,
        WithoutASampler,
        Mechanism,
        ldp.RRBA,
        GRR(3, 1.0),
        "grr",
        None,
    ],
    ids=str,
)
def test_taken_names_and_what_is_no_mechanism_are_refused(kind: Any) -> None:
    with pytest.raises(LdpstatsError):
        register_mechanism(kind)
    assert len(registered_mechanisms()) == len(set(registered_mechanisms()))
    assert registered_mechanisms()[-1].name == "dbitflip-pm"
