"""Chosen mechanisms: one name for all answers, or a mechanism for each of them."""

from __future__ import annotations

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.mechanisms import Mechanism, checked_mechanism


def checked_choice(mechanism: object) -> str | tuple[Mechanism, ...]:
    """Return a name as it is, or mechanisms as a tuple; whether the name is known is seen when it is used."""
    if isinstance(mechanism, str):
        return mechanism
    if not isinstance(mechanism, (list, tuple)):
        raise LdpstatsError(
            f"mechanism = {shortened(mechanism)}", "a name out of mechanisms(), 'auto', or a list: one for every answer"
        )
    return tuple(checked_mechanism(one) for one in mechanism)


def for_each(mechanism: str | tuple[Mechanism, ...], answers: int) -> list[str | Mechanism]:
    """Return the name, or its own mechanism, for each answer of all units together."""
    listed: list[str | Mechanism] = [mechanism] * answers if isinstance(mechanism, str) else [*mechanism]
    if len(listed) != answers:
        raise LdpstatsError(f"{len(listed)} mechanisms", f"one for each of the {answers} answers, in their order")
    return listed
