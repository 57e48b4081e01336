"""Plain mechanisms: name, parameters and probabilities as plain values that any language can read, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.grr import FakeResponse
from ldpstats.mechanisms.registry import kind_named
from ldpstats.numbers.grid import read_numerator
from ldpstats.privacy import plain_level
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.files import differences

_PROBABILITIES = "probabilities"


def plain_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as plain values: also the sizes and probabilities that follow from its parameters today.

    Probabilities are whole numbers of 2^-64, as texts: many a language would round the numbers.

    Parameters
    ----------
    mechanism : Mechanism
    """
    numerators, own = mechanism.probabilities, {one.name: getattr(mechanism, one.name) for one in fields(mechanism)}
    options = {
        name: encoded(value)
        for name, value in own.items()
        # parameters that are probabilities stand among these
        if numerators.get(name) != (list(value) if isinstance(value, tuple) else value)
    }
    own_level = encoded(plain_level(mechanism.epsilon))
    sizes = {"k": encoded(mechanism.k), **options, "epsilon": own_level, **mechanism.derived}
    return {
        "name": mechanism.name,
        **sizes,
        _PROBABILITIES: {name: _texts(numerator) for name, numerator in numerators.items()},
    }


def read_mechanism(plain: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism that `plain_mechanism` wrote; refuse it where name and parameters give another one today.

    Parameters
    ----------
    plain : mapping
    """
    if not isinstance(plain, Mapping) or "name" not in plain:
        raise LdpstatsError(f"the mechanism {shortened(plain)}", "its name, parameters and probabilities")
    kind = FakeResponse if plain["name"] == FakeResponse.name else kind_named(plain["name"])
    given = plain.get(_PROBABILITIES)
    numbers = {name: _whole(text) for name, text in given.items()} if isinstance(given, Mapping) else {}
    values = numbers | {name: decoded(value) for name, value in plain.items() if name != _PROBABILITIES}
    try:
        made = kind(**{field.name: values[field.name] for field in fields(kind) if field.name in values})
    except TypeError as error:
        raise LdpstatsError(f"the mechanism {shortened(plain)}", f"the parameters of {kind.name}") from error
    known = plain_mechanism(made)
    other = differences(known, plain)
    if other:
        raise LdpstatsError(
            f"the mechanism {made} with {shortened({name: plain.get(name) for name in other}, 200)}",
            f"what it has in this version of ldpstats: {shortened({name: known.get(name) for name in other}, 200)}",
            "The file was altered, or another version wrote it.",
        )
    return made


def _texts(numerator: int | list[int]) -> str | list[str]:
    return [str(one) for one in numerator] if isinstance(numerator, list) else str(numerator)


def _whole(plain: Any) -> Any:
    """Turn texts of digits back into whole numbers."""
    return tuple(map(read_numerator, plain)) if isinstance(plain, list) else read_numerator(plain)
