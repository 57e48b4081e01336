"""Plain mechanisms: every one comes back as it was, with the probabilities that it draws with, and no other does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pytest

from ldpstats import LdpstatsError
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
    registry,
)
from ldpstats.mechanisms.patterns import Patterns
from ldpstats.numbers.grid import GRID

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
