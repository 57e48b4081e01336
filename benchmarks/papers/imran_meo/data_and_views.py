"""Tables 1 to 3, the views of Section 4 and Figure 2: the data, the notation, and who is asked what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd

from ldpstats import RRBA, Domain
from ldpstats.datasets import network
from ldpstats.views import views
from papers.comparisons import Comparison, compared
from papers.exhibits import Effort, Exhibit, Measured
from papers.imran_meo.findings import Finding, Place, judged, judged_by_row, places

ATTRIBUTES = "AREOST"
NOT_AVAILABLE = "The paper's records are not available; from a network a sample of any size can be drawn."


def printed_data() -> tuple[Domain, pd.DataFrame]:
    """Return the domain of Example 3.1 and the data set of Table 1a, as they are printed."""
    printed = {row: text for _, row, _, text in places("imran-meo-2024-table-1")}
    domain = Domain({name: printed[f"domain of {name}"].split(", ") for name in ATTRIBUTES})
    records = [text.split() for row, text in printed.items() if row.startswith("(a)")]
    return domain, pd.DataFrame(records, columns=list(ATTRIBUTES))


def _table_1(_: Effort) -> Measured:
    return Measured([_of_table_1(place, *printed_data()) for place in places("imran-meo-2024-table-1")])


def _of_table_1(place: Place, domain: Domain, data: pd.DataFrame) -> Comparison:
    _, row, column, printed = place
    if column == "number":
        return compared(place, len(domain))
    if row.startswith("domain"):
        found = data[row[-1]].unique()
        return judged(place, Finding(", ".join(found), set(found) == set(printed.split(", "))))
    if row.startswith("(a)"):
        record = domain.decode(domain.encode(pd.DataFrame([printed.split()], columns=list(ATTRIBUTES))))
        return judged(place, Finding(" ".join(record.iloc[0]), " ".join(record.iloc[0]) == printed))
    if column.startswith("T_"):
        values = dict(zip(column[2:], row[4:].split(", "), strict=True))
        return compared(place, int((data[list(values)] == pd.Series(values)).all(axis=1).sum()))
    heading = {value for text in ("big, high", "small, uni") for value in text.split(", ")}
    named = {name for name in ATTRIBUTES if heading & set(domain.categories[name])}
    cells = domain.size(("A", "T"))
    because = f"The heading and the cells are those of R and E; T_AT has {cells} cells, and four are printed."
    return judged(place, Finding(f"T_{''.join(sorted(named, reverse=True))}", named == {"A", "T"}, because))


def _table_2(_: Effort) -> Measured:
    domain, data = printed_data()
    group = ("R", "E")
    counts = np.bincount(domain.cells(domain.encode(data), group), minlength=domain.size(group))
    sizes = sorted({network("survey").domain.size(pair) for pair in combinations(network("survey").domain.names, 2)})
    beyond = f"Only of binary attributes: tables of two of survey's attributes have {', '.join(map(str, sizes))} cells."
    found = {
        "attribute name": Finding(", ".join(domain.names), len(domain) == 6),
        "single value of A_i": Finding(str(domain.categories["R"][0]), domain.categories["R"][0] == "big"),
        "attribute set": Finding(", ".join(group), set(group) <= set(domain.names)),
        "contingency table on S_i": Finding(str(counts.tolist()), counts.sum() == len(data)),
        "contingency table entry point": Finding("big, high", domain.size(group) == len(counts)),
        "contingency table cell value": Finding(str(counts[0]), counts[0] == 2),
        "cells of a k-way table": Finding("the product of the numbers of categories", sizes == [4], beyond),
        "constraints of j common attributes": Finding("as many as the common table has cells", sizes == [4], beyond),
    }
    return Measured(judged_by_row("imran-meo-2024-table-2", found))


def _table_3(_: Effort) -> Measured:
    return Measured([_of_table_3(place) for place in places("imran-meo-2024-table-3")])


def _of_table_3(place: Place) -> Comparison:
    name = place[1].lower()
    known = network(name)
    if place[2] == "records":
        larger = " Tables 5 and 6 use n = 8000 records of this network." if name == "survey" else ""
        return compared(place, math.nan, because=NOT_AVAILABLE + larger)
    if place[2] == "attributes":
        return compared(place, len(known.domain))
    shares = np.concatenate([np.ravel(known.joint((one,))) for one in known.domain.names])
    if name != "alarm":
        return compared(place, len(shares))
    seen = float(np.sum(1 - (1 - shares) ** 10_000))
    because = "The network has more, and 10,000 records show them all (`reproduced`: expected number that occurs)."
    return compared(place, len(shares), reproduced=seen, because=because)


def _section_4(_: Effort) -> Measured:
    printed = places("imran-meo-2024-section-4")
    lists = {d: [_pairs(text) for _, row, _, text in printed if row.startswith(f"d = {d}, V")][:5] for d in (6, 5)}
    return Measured([_of_section_4(place, lists) for place in printed])


def _pairs(text: str) -> list[frozenset[str]]:
    return [frozenset(pair) for pair in text.split()]


def _of_section_4(place: Place, lists: dict[int, list[list[frozenset[str]]]]) -> Comparison:
    _, row, column, printed = place
    if column == "views":
        return compared(place, len(views(list(ATTRIBUTES[: int(row[-1])]))))
    if column == "pairs":
        own, once = _pairs(printed), Counter(chain(*lists[int(row[4])]))
        fine = _disjoint(own) and all(once[pair] == 1 for pair in own)
        return judged(place, Finding("disjoint pairs, in no other view" if fine else "not so", fine))
    if column == "left out":
        rest = set(ATTRIBUTES[:5]) - set(chain(*lists[5][int(row[-1]) - 1]))
        return judged(place, Finding(", ".join(sorted(rest)), rest == {printed}))
    if row == "coverage":
        fine = all(_covers_once(lists[d], ATTRIBUTES[:d]) for d in (5, 6))
        return judged(place, Finding("in exactly one, of five and of six attributes", fine))
    numbers = {d: len(views(d)) for d in (5, 6, 20, 37)}
    ours = ", ".join(f"{number} views of {d}" for d, number in numbers.items())
    because = "Pairs of an even number d of attributes take d - 1 views, as in the paper's example of six."
    return judged(place, Finding(ours, all(d == number for d, number in numbers.items()), because))


def _disjoint(pairs: Iterable[Iterable[str]]) -> bool:
    return max(Counter(chain(*pairs)).values()) == 1


def _covers_once(found: list[list[frozenset[str]]], attributes: str) -> bool:
    return Counter(chain(*found)) == Counter(map(frozenset, combinations(attributes, 2)))


def _figure_2(_: Effort) -> Measured:
    domain, data = printed_data()
    protocol = RRBA(domain, p=0.5, block_size=250, answer="view")
    tables = protocol.collect(data.sample(600, replace=True, random_state=2, ignore_index=True), rng=2)
    asked: list[Any] = [set(table.attributes) for table in tables]
    every = all({one, other} in asked for one, other in combinations(domain.names, 2))
    once = all(_disjoint(view) for view in protocol.views) and all(table.n > 0 for table in tables)
    found = {
        "views": Finding(f"{len(asked)} tables, of {len(protocol.views)} views", every and len(asked) == 15),
        "one respondent": Finding("no attribute stands twice in a view", once),
    }
    return Measured(judged_by_row("imran-meo-2024-figure-2", found))


EXHIBITS = (
    Exhibit(
        "imran-meo-2024-table-1",
        "Table 1: a data set, a contingency table, and a marginal",
        "The tables are counted anew from the printed data set. The caption of (b) names another table than (b) shows.",
        _table_1,
    ),
    Exhibit(
        "imran-meo-2024-table-2",
        "Table 2: notation, here with what it names in Table 1",
        "The notation is that of the tables of Table 1. Two formulas of the text count cells as if all attributes were "
        "binary.",
        _table_2,
    ),
    Exhibit(
        "imran-meo-2024-table-3",
        "Table 3: the networks, their attributes and categories",
        "Attributes and categories are counted in the networks of the repository that the paper names. Alarm has two "
        "categories more than printed. The records were drawn for the paper and are not available; the number printed "
        "for survey is smaller than the one in the captions of Tables 5 and 6.",
        _table_3,
    ),
    Exhibit(
        "imran-meo-2024-section-4",
        "Section 4: views of pairs of five and of six attributes",
        "The printed views are a correct design: each has disjoint pairs, and each pair stands in one of them. The "
        "package finds as few views for any number of attributes and any size of groups.",
        _section_4,
    ),
    Exhibit(
        "imran-meo-2024-figure-2",
        "Figure 2: aggregator and clients",
        "The figure is a diagram without numbers. Simulated respondents of Table 1 went through the protocol.",
        _figure_2,
    ),
)
