"""The demonstration: a simulated survey from the questions asked to the p-values, with the truth beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.datasets import Network, network, true_cramers_v
from ldpstats.estimation import pvalue_in_words
from ldpstats.inference import independence_tests
from ldpstats.protocols import SampledGroups
from ldpstats.tables import Table, TableSet

_ROUNDING = 1e-9
_HEADINGS = {
    "first": "attribute",
    "second": "attribute",
    "cramers_v": "V",
    "true_v": "true V",
    "statistic": "statistic",
    "df": "df",
    "pvalue": "p-value",
    "adjusted": "adjusted p",
    "power": "power*",
    "verdict": "verdict",
    "truth": "truth",
}


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """A protocol, what it collected, the tests of all pairs, and the network that the respondents were drawn from."""

    network: Network
    protocol: SampledGroups
    tables: TableSet
    tests: pd.DataFrame

    def strongest(self) -> Table:
        """Return the table with the smallest p-value."""
        first = self.tests.sort_values(["pvalue", "statistic"], ascending=[True, False]).iloc[0]
        return self.tables[first["first"], first["second"]]

    def text(self) -> str:
        """Return everything as it should stand in a terminal."""
        used = sorted({self.protocol.mechanism_for(group).name.upper() for group in self.protocol.groups})
        lines = [
            f"{self.tables.n:,} simulated respondents of the network {self.network.name!r}",
            *(f"  {name}: {', '.join(map(str, values))}" for name, values in self.protocol.domain.categories.items()),
            "",
            f"Each answers one of {len(self.protocol.groups)} pairs of attributes, randomized by {' or '.join(used)}.",
            f"Privacy: {self.protocol.privacy()}",
            "",
            "Are the attributes independent? Every pair is tested through the noise (p-values adjusted by Holm's",
            "method; V is Cramér's V, corrected for the noise; 'true' is read off the network).",
            "",
            _formatted(self.tests),
            "",
            "* the power of this pair's test, at level 0.05, to find a dependence of V = 0.1",
            "",
            *self._balance(),
            "",
            str(self.strongest().summary()),
        ]
        return "\n".join(lines)

    def _balance(self) -> list[str]:
        """Compare the verdicts with the truth."""
        found, real = self.tests["verdict"] == "dependent", self.tests["truth"] == "dependent"
        missed = self.tests.loc[real & ~found, "true_v"]
        strongest = f", the strongest of them with V = {missed.max():.3f}" if len(missed) else ""
        shown = f"{found.sum()} dependences shown, of which {(found & real).sum()} are real"
        return [
            f"{shown}; {len(missed)} real ones not shown{strongest}.",
            "'No dependence shown' is not a proof of independence: weak dependences need more respondents.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        strongest = self.strongest()
        return {
            "network": self.network.name,
            "simulated": self.tables.simulated,
            "n": self.tables.n,
            "domain": {name: list(values) for name, values in self.protocol.domain.categories.items()},
            "privacy": self.protocol.privacy().to_dict(),
            "tests": _plain(self.tests),
            "table": {
                "attributes": list(strongest.attributes),
                "cells": _plain(strongest.to_frame().reset_index()),
            },
        }


def demonstrate(
    name: str = "survey", n: int = 100_000, epsilon: float = 2.0, mechanism: str = "auto", seed: int = 1
) -> Demonstration:
    """Draw respondents from a network, let each answer one pair of attributes privately, and test all pairs."""
    source = network(name)
    protocol = SampledGroups(source.domain, epsilon=epsilon, mechanism=mechanism)
    tables = protocol.collect(source.sample(n, rng=seed), rng=seed)
    tests = independence_tests(tables)
    pairs = zip(tests["first"], tests["second"], strict=True)
    tests["true_v"] = [true_cramers_v(source.pair(first, second)) for first, second in pairs]
    tests["truth"] = np.where(tests["true_v"] > _ROUNDING, "dependent", "independent")
    return Demonstration(source, protocol, tables, tests)


def _formatted(tests: pd.DataFrame) -> str:
    pvalues = partial(pvalue_in_words, digits=2)
    numbers: dict[str, Callable[[float], str]] = {
        "power": "{:.2f}".format,
        "cramers_v": "{:.3f}".format,
        "true_v": "{:.4f}".format,
        "statistic": "{:.2f}".format,
        "pvalue": pvalues,
        "adjusted": pvalues,
    }
    shown = tests[list(_HEADINGS)].copy()
    for column, shown_as in numbers.items():
        missing = "not estimable" if column == "cramers_v" else "-"
        shown[column] = [missing if pd.isna(value) else shown_as(value) for value in tests[column]]
    return shown.rename(columns=_HEADINGS).to_string(index=False)


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows for JSON, which knows neither nan nor infinity."""
    finite = frame.astype(object).where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None)
    return [{str(name): value for name, value in row.items()} for row in finite.to_dict(orient="records")]
