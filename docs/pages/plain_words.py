"""What levels of ε mean: tables that the package computes, for people who answer a survey or decide about one."""

from __future__ import annotations

import math

import ldpstats as ldp
from ldpstats.mechanisms import LGRR, DBitFlipPM
from ldpstats.noise import TruthOrFake
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import GRID
from pages import markdown

_LEVELS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
BELIEFS = (0.5, 0.01)
SHARE, WITHIN = 0.3, 0.03
VALUES, EPSILON, FORGED = 16, 1.0, 0.05
_Z = 1.959963984540054
"""Of a 95 % interval."""
_QUESTIONS = {"smokes": ["no", "yes"], "asthma": ["no", "yes"], "sex": ["F", "M"], "age": ["<40", "40-59", "60+"]}


def percent(share: float) -> str:
    """Return a share in percent, with a decimal where it is near none or all.

    Parameters
    ----------
    share : float
    """
    near_the_end = share > 0.95 or share < 0.1
    return f"{100 * share:.{1 if near_the_end and not (100 * share).is_integer() else 0}f} %"


def levels() -> str:
    """Return what ε means for a yes-or-no question: truth, odds, beliefs before and after, and the price."""
    headers = [">ε", ">the device sends the truth", ">odds move by at most"]
    headers += [f">who thought {percent(before)}" for before in BELIEFS]
    headers.append(f">respondents for ± {100 * WITHIN:.0f} points")
    rows = []
    for level in _LEVELS:
        asked = ldp.RR(2, level)
        factor = math.exp(asked.strict_epsilon())
        kept = asked.probabilities["truth"] / GRID
        after = [percent(_posterior(before, factor)) for before in BELIEFS]
        rows.append([f"{level:g}", percent(kept), f"× {factor:,.4g}", *after, f"{_needed(asked.variance(SHARE, 1)):,}"])
    rows.append(["no noise", "100 %", "all there is", "100 %", "100 %", f"{_needed(SHARE * (1 - SHARE)):,}"])
    return markdown.table(headers, rows)


def units() -> str:
    """Return the levels of several ways to ask four questions at the same ε."""
    domain = ldp.Domain(_QUESTIONS)
    ways = {
        "one pair of questions, drawn at random": ldp.SampledGroups(domain, k=2, epsilon=2.0),
        "all questions, as two pairs": ldp.WholeView(domain, k=2, epsilon=2.0),
        "every question by itself": ldp.PerAttribute(domain, epsilon=2.0),
    }
    rows = []
    for words, protocol in ways.items():
        stated = protocol.privacy()
        single = sorted({f"{level:g}" for level in stated.per_group.values()})
        kind = f"{{py:class}}`{type(protocol).__name__} <ldpstats.{type(protocol).__name__}>`"
        rows.append([words, kind, f"{stated.epsilon:g}", ", ".join(single), f"{2 * stated.epsilon:g}"])
    headers = ["what one respondent is asked", "protocol", ">ε of her whole record", ">ε of each report"]
    return markdown.table([*headers, ">ε if she answers twice"], rows)


def nominal() -> str:
    """Return what the accounting of a paper says, beside the exact level of the same mechanism."""
    sizes = (2, 4, 9, 36)
    headers = [">chance of the truth, p", ">ε as printed, ln(1 / (1 − p))", *(f">exact ε, {m} cells" for m in sizes)]
    rows = []
    for p in (0.221, 0.4, 0.5):
        exact = [TruthOrFake(p, (1 / m,) * m).epsilon for m in sizes]
        rows.append([f"{p:g}", f"{-math.log(1 - p):.2f}", *(f"{level:.2f}" for level in exact)])
    return markdown.table(headers, rows)


def changing() -> str:
    """Return how plainly a single change of an answer shows in repeated reports."""
    courses = (2, 4, 8, 16, 64)
    response, bits = LGRR(2, EPSILON), DBitFlipPM(2, EPSILON)
    rows = [["an answer that never changes (L-GRR)", *(_level(response.strict_epsilon()) for _ in courses)]]
    for name, mechanism in (("L-GRR", response), ("dBitFlip", bits)):
        shown = [_level(mechanism.changing_epsilon(rounds, others=0)) for rounds in courses]
        rows.append([f"one change ({name})", *shown])
    return markdown.table(["the answer", *(f">{rounds} reports" for rounds in courses)], rows)


def forged() -> str:
    """Return what a share of forged reports does at worst to one frequency."""
    found = ldp.poisoning_table(VALUES, EPSILON, FORGED).set_index("name")
    names = ("sue", "hr", "ss", "olh", "grr", "rappor")
    worst = found.loc[list(names), ["rise", "amplification"]].itertuples()
    rows = [[f"`{name}`", f"{100 * rise:.0f}", f"{outweighed:.1f}"] for name, rise, outweighed in worst]
    headers = [
        f">percentage points, at {100 * FORGED:.0f} % forged reports",
        ">honest reports that a forged one outweighs",
    ]
    return markdown.table(["mechanism", *headers], rows)


def _posterior(before: float, factor: float) -> float:
    """Return the largest probability that somebody with this one before can give to a yes afterwards."""
    return factor * before / (factor * before + 1 - before)


def _needed(variance: float | FloatArray) -> int:
    """Return how many respondents have a 95 % interval of this half-width."""
    return math.ceil(float(variance) * (_Z / WITHIN) ** 2)


def _level(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:.2f}"
