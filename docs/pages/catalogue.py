"""The catalogue of mechanisms: a table of exact figures and a section for each, from the registry alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism, OpenRAPPOR, OpenRR, registered_mechanisms
from ldpstats.numbers.grid import GRID
from pages import markdown
from pages.reference import CATALOGUE, entry
from pages.staging import Staging

_K, _EPSILON = 16, 1.0
_LEVELS = ((4, 1.0), (16, 1.0), (16, 4.0), (128, 1.0))
"""Numbers of values and privacy levels at which variances are shown."""


def write_catalogue(pages: Staging) -> None:
    """Write the page of all registered mechanisms.

    Parameters
    ----------
    pages : Staging
    """
    kinds = registered_mechanisms()
    parts = [_introduction(), _figures(), *(_section(kind) for kind in kinds), _open_alphabets()]
    pages.write(f"reference/{CATALOGUE}.md", "\n".join(parts))


def _introduction() -> str:
    return f"""# Mechanism catalogue

A mechanism randomizes one value out of k on the respondent's device. This page is made from the registry of the
package: a mechanism that is added there appears here. All have the same methods, which stand under
{{py:class}}`Mechanism <ldpstats.extend.Mechanism>`; `ldpstats.mechanism(name, k=..., epsilon=...)` makes one by name.

*Strict ε* is the exact level of everything that a respondent ever sends about one value, computed from the
probabilities as they are implemented, where ε = {_EPSILON:g} is asked for with k = {_K}, or the only k there is.
*Bits* are those of one report. *Variance* is the exact variance of the unbiased estimate of a frequency, times the
number of respondents,
where all k values are equally frequent (the mean over the values, where public hash functions make them differ). A
dash stands where a mechanism does not take so many values, or so low a level.
"""


def _figures() -> str:
    frames = [ldp.mechanisms(k, epsilon).set_index("name") for k, epsilon in _LEVELS]
    first = ldp.mechanisms(_K, _EPSILON)
    headers = ["mechanism", "for", ">strict ε", ">bits"]
    headers += [f">variance, k = {k}, ε = {epsilon:g}" for k, epsilon in _LEVELS]
    rows = [
        [
            f"[{row.name_}](#mechanism-{row.name_})",
            row.purpose,
            markdown.number(row.epsilon, 4),
            markdown.number(row.bits, 4),
            *(_variance(frame, row.name_, k) for frame, (k, _) in zip(frames, _LEVELS, strict=True)),
        ]
        for row in first.rename(columns={"name": "name_"}).itertuples()
    ]
    return markdown.table(headers, rows)


def _variance(frame: pd.DataFrame, name: str, k: int) -> str:
    # a mechanism for two values only has its figures for these, whatever k is
    return markdown.number(frame.loc[name, "variance"]) if frame.loc[name, "k"] == k else "–"


def _section(kind: type[Mechanism]) -> str:
    also = f"Also known as {', '.join(kind.aliases)}. " if kind.aliases else ""
    facts = f"{also}For: {kind.purpose}. Source: {kind.source}.\n"
    documented = f"```{{eval-rst}}\n{entry(kind.__name__, kind)}```\n"
    heading = f"(mechanism-{kind.name})=\n## {kind.__name__}: `{kind.name}`\n"
    return "\n".join([heading, facts, _as_implemented(kind), documented])


def _as_implemented(kind: type[Mechanism]) -> str:
    """Return what leaves the device and with which probabilities, for one choice of k and ε."""
    k = kind.only_k or _K
    try:
        one = ldp.mechanism(kind.name, k=k, epsilon=_EPSILON)
    except LdpstatsError as error:
        return f"With k = {k} and ε = {_EPSILON:g} it is refused: {markdown.plain(error)}\n"
    rows = [["what leaves the device", _report(one)], *_sizes(one), *_chances(one.probabilities)]
    rows.append(["strict ε", markdown.number(one.strict_epsilon(), 6)])
    if one.slack_reason:
        rows.append(["why less than was asked for", markdown.plain(one.slack_reason)])
    return markdown.table([f"with k = {k}, ε = {_EPSILON:g}", ""], rows)


def _report(one: Mechanism) -> str:
    form = one.report_format
    if form.width is None:
        return f"one whole number; {one.report_bits} bits"
    return f"a row of {form.width} whole numbers ({form.dtype}); {one.report_bits} bits are enough"


def _sizes(one: Mechanism) -> list[list[str]]:
    given = {name: value for name, value in one.to_dict().items() if name not in {"name", "k", "epsilon"}}
    sizes = {name: value for name, value in (given | one.derived).items() if value is not None}
    return [[f"`{name}`", _value(value)] for name, value in sizes.items()]


def _value(value: Any) -> str:
    return markdown.number(value, 6) if isinstance(value, int | float) else markdown.plain(value)


def _chances(probabilities: dict[str, int | list[int]]) -> list[list[str]]:
    """Return the probabilities that reports are drawn with."""

    def shown(numerators: int | Sequence[int]) -> str:
        if isinstance(numerators, int):
            return f"{numerators / GRID:.6f} ({numerators} / 2^64)"
        return ", ".join(f"{one / GRID:.4f}" for one in numerators)

    return [[f"probability `{name}`", shown(value)] for name, value in probabilities.items()]


def _open_alphabets() -> str:
    documented = "\n".join(entry(kind.__name__, kind) for kind in (OpenRR, OpenRAPPOR))
    words = "For strings that nobody listed before. They have no number of values, and stand in no registry.\n"
    return f"## Open alphabets\n\n{words}\n```{{eval-rst}}\n{documented}```\n"
