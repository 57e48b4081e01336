"""Mechanisms by name and as plain values: those of the package, and those from outside wherever names are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import ldpstats as ldp
from ldpstats.attacks.auditing import audit
from ldpstats.cli import main
from ldpstats.conformance import certify
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import (
    GRR,
    HR,
    LH,
    REGISTRY,
    SS,
    FakeResponse,
    Mechanism,
    mechanism,
    plain_mechanism,
    read_mechanism,
    recommend,
    register_mechanism,
    registered_mechanisms,
    registry,
)
from ldpstats.mechanisms.patterns import Patterns
from ldpstats.numbers.grid import GRID
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

    def test_audits_take_it(self) -> None:
        register_mechanism(Rotation)
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


MADE: list[Mechanism] = [
    *(mechanism(kind.name, kind.only_k or k, epsilon) for kind in REGISTRY for k in (2, 7) for epsilon in (0.3, 4.0)),
    SS(9, 1.0, omega=4),
    LH(9, 1.0, symbols=300),
    HR(9, 1.0, blocks=3),
    FakeResponse.telling(0.5, (GRID - 2, 1, 1)),
    FakeResponse.telling(0.5, (GRID, 0)),
]


def plain(made: Mechanism) -> dict[str, Any]:
    return json.loads(json.dumps(plain_mechanism(made)))


@pytest.mark.parametrize("made", MADE, ids=str)
def test_it_comes_back_as_it_was(made: Mechanism) -> None:
    assert read_mechanism(plain(made)) == made
    assert plain_mechanism(made)["probabilities"]
    numbers = np.hstack([np.array(one, dtype=object) for one in made.probabilities.values()])
    assert all(type(one) is int and 0 <= one <= GRID for one in numbers)
    # readers of JSON with doubles lose nothing
    whole = json.loads(json.dumps(plain_mechanism(made)), parse_int=float)
    assert {name: whole[name] for name in whole} == plain(made)


def test_a_way_to_count_writes_what_its_sender_writes() -> None:
    counted = Patterns(SS(5, 1.0))
    assert (counted.probabilities, counted.derived) == (SS(5, 1.0).probabilities, SS(5, 1.0).derived)


def altered(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in said.items():
        for other in (None, True, 0, -1, 1.5, "x", [], {}, [value], {"same": 0}, {"GRR": {"k": 2, "epsilon": 1.0}}):
            yield {**said, name: other}
        yield {key: one for key, one in said.items() if key != name}
    for name, value in said["probabilities"].items():
        other = str(int(value) - 1) if isinstance(value, str) else [*value[1:], value[0]]
        for wrong in (other, value[:-1], f" {value}", f"0{value}"):
            yield {**said, "probabilities": {**said["probabilities"], name: wrong}}
    for more in ({"more": 1}, {"__class__": "x"}):
        yield {**said, **more}
        yield {**said, "probabilities": {**said["probabilities"], **more}}


@pytest.mark.parametrize("made", MADE[::3], ids=str)
def test_what_is_altered_is_refused_or_another_mechanism_altogether(made: Mechanism) -> None:
    read = []
    for other in altered(plain(made)):
        try:
            read.append(read_mechanism(other))
        except LdpstatsError:
            continue
        assert json.dumps(plain(read[-1]), sort_keys=True) == json.dumps(other, sort_keys=True)
    assert len(read) <= 2


def test_an_altered_probability_is_said() -> None:
    said = plain(GRR(4, 1.0))
    said["probabilities"]["truth"] = "9000000000000000000"
    with pytest.raises(LdpstatsError, match=r"GRR\(k=4, epsilon=1.0\) with .*9000000000000000000.*8768971294881393556"):
        read_mechanism(said)


@pytest.mark.parametrize("other", [None, 5, "grr", [], {}, {"name": []}, {"name": "nobody"}, {"name": "auto"}])
def test_what_is_no_mechanism_is_refused(other: Any) -> None:
    with pytest.raises(LdpstatsError):
        read_mechanism(other)


@dataclass(frozen=True, slots=True)
class Own(GRR):
    """A mechanism from outside that says no probabilities, with options that JSON does not know."""

    k: int
    epsilon: float
    words: tuple[str, ...] = ("a", "b")
    large: int = 1 << 60

    name: ClassVar[str] = "own"
    aliases: ClassVar[tuple[str, ...]] = ()

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        return {}


def test_one_from_outside_comes_back_after_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Own(3, 1.0, ("c",))
    with pytest.raises(LdpstatsError, match="the mechanism 'own'"):
        read_mechanism(plain(made))
    monkeypatch.setattr(registry, "_registered", (Own,))
    assert read_mechanism(plain(made)) == made
    assert plain(made)["large"] == {"int": str(1 << 60)}
    assert len(fields(Own)) == 4
