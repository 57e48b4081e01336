"""Tables of several collectors with everything that can be said against them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import ldpstats as ldp
from ldpstats.protocols.repeated_rows import Copy, RepeatedRows

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["old", "mid", "young"]})
PEOPLE = np.array([[[40, 5, 5], [10, 10, 30]], [[10, 5, 5], [20, 20, 60]]]) * 100


def collected(seed: int = 1) -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr").simulate(PEOPLE, rng=seed)


def merged() -> ldp.TableSet:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr")
    forged = PEOPLE.copy()
    forged[0, 0, 0] += 3000
    return ldp.merge([collected(1), collected(2), protocol.simulate(forged, rng=3)], ["north", "south", "<west>"])


def doubted() -> ldp.TableSet:
    """Return tables with everything that can be said against them."""
    tables = merged()
    privacy = replace(tables.privacy, set_aside=1234)
    found = RepeatedRows(50_000, 64, (Copy(1, 9000, 40_001, 8500),))
    return ldp.TableSet(DOMAIN, tables, privacy, (*tables.checks, found))
