"""The demonstration: a sensitive question, from what leaves a phone to tests of all pairs, beside the true answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.datasets import affairs, network, true_cramers_v
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import pvalue_in_words
from ldpstats.inference import independence_tests, naive_test
from ldpstats.inference.engine.detectability import NOT_KNOWN, RespondentsNeeded, respondents_with
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import chi_square_pvalue, evidence_of, noncentrality_of
from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues
from ldpstats.inference.hypothesis_tests.tested_pairs import DEPENDENT, NOT_SHOWN
from ldpstats.mechanisms import GRR
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import generator
from ldpstats.presentation import Summary, plain_rows, plain_values, progress, summary_of_figures
from ldpstats.protocols import SampledGroups
from ldpstats.report import report_page
from ldpstats.saving.files import write
from ldpstats.tables import Table, TableSet

_POWER = 0.8
_ALPHA = 0.05
_ROUNDING = 1e-9
_NEGLIGIBLE = 0.02
# Where the rarest report is expected less often, tests at the number of the χ² law have any power from 0 to .8.
_RAREST = 1.0
_HOLM = "holm"
_STARS = {0.001: "***", 0.01: "**", 0.05: "*"}
_MOST_ROWS = 15
_CANDIDATES = 1000
_REPORT_WIDTH = 20
_REPORTS, _DEBIASED = "the reports", "debiased reports"
_WHY_NAIVE_IS_WRONG = {
    _REPORTS: "But false reports are spread evenly over all answers, as people are not: so the reports are dependent.",
    _DEBIASED: "But debiased counts scatter more than counts of answers do, for which the textbook's test is made.",
}

_YOUR_OWN = """\
Your own data, as a file with a row per respondent and a column per question:
  import pandas as pd, ldpstats as ldp
  people = pd.read_csv("answers.csv")
  protocol = ldp.SampledGroups(ldp.Domain.from_frame(people), epsilon=2.0)
  tables = protocol.collect(people, rng=1)  # on respondents' own devices: protocol.reports(answers)
  print(ldp.independence_tests(tables)); tables.save("tables.json")
All of it on a page to send: ldpstats report tables.json -o report.html"""


@dataclass(frozen=True, slots=True, eq=False)
class KnownPopulation:
    """A population to draw respondents from, of whom the joint distributions of all pairs are known."""

    name: str
    question: str
    source: str  # where the respondents come from, behind their number
    domain: Domain
    sample: Callable[[int, int], pd.DataFrame]
    pair: Callable[[str, str], FloatArray]

    @classmethod
    def of_network(cls, name: str) -> KnownPopulation:
        """Return the population of a packaged network."""
        found = network(name)
        return cls(
            name,
            "Which attributes of a network depend on each other?",
            f"simulated from the network {name!r}",
            found.domain,
            lambda n, seed: found.sample(n, rng=seed),
            found.pair,
        )

    @classmethod
    def of_affairs(cls) -> KnownPopulation:
        """Return women who were asked about their marriages."""
        rows = affairs()
        domain = Domain.from_frame(rows)

        def pair(first: str, second: str) -> FloatArray:
            joint: FloatArray = pair_counts(domain, domain.encode(rows), (first, second)) / len(rows)
            return joint

        return cls(
            "affairs",
            '"Did you ever have an affair?" Few answer that truthfully, unless nobody can know.',
            f"simulated from {len(rows):,} women's real answers (Redbook magazine 1974; Fair 1978)",
            domain,
            lambda n, seed: rows.iloc[generator(seed).integers(len(rows), size=n)].reset_index(drop=True),
            pair,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Demonstration:
    """A protocol, what it collected, and the tests of all pairs beside the true answers."""

    population: KnownPopulation
    people: pd.DataFrame  # the true answers
    protocol: SampledGroups
    tables: TableSet
    # a row per pair: the tests of reports, of true answers, the naive test, and the respondents needed
    pairs: pd.DataFrame
    seed: int

    def __str__(self) -> str:
        people = "respondent" if len(self.people) == 1 else "respondents"
        opening = f"{self.population.question}\n{len(self.people):,} {people}, {self.population.source}."
        chapters = [self.what_is_sent(), *self.what_goes_wrong(), self.all_pairs()]
        return "\n\n".join([opening, *map(str, chapters), _YOUR_OWN])

    @property
    def strongest(self) -> Table:
        """The table of the pair with the strongest true dependence of those that were asked for."""
        return self.tables[self._first["first"], self._first["second"]]

    @property
    def _first(self) -> pd.Series[Any]:
        return self.pairs[self.pairs["n"] > 0].iloc[0]

    @property
    def misleading(self) -> pd.Series[Any] | None:
        """The pair that the naive test is surest of, of those next to independent in the true answers."""
        nothing = (self.pairs["raw_v"] < _NEGLIGIBLE) & (self.pairs["verdict"] == NOT_SHOWN)
        wrong = self.pairs[nothing & (self.pairs["naive_pvalue"] < _ALPHA)]
        return wrong.sort_values("naive_pvalue").iloc[0] if len(wrong) else None

    def what_is_sent(self) -> Summary:
        """Return one respondent's answers, what her device sends, and what that tells about her."""
        answers, report = self._example()
        domain, pair = self.population.domain, self.strongest.attributes
        rows = [
            (name, ", ".join(map(str, domain.categories[name])), answers[name], report.get(name, ""))
            for name in domain.names[:_MOST_ROWS]
        ]
        drawn = f"Which two questions are hers is drawn at random from {len(self.protocol.groups)} pairs, and public."
        sentences = [
            f"{drawn} {self._randomized(pair)}",
            f"Privacy: {self.protocol.privacy().headline}. {self._belief()}",
        ]
        headers = ["question", "possible answers", "her answers, which stay", "her report, which leaves"]
        return summary_of_figures("What leaves the phone of one respondent", headers, rows, sentences)

    def what_goes_wrong(self) -> list[Summary]:
        """Return what the textbook's test makes of reports, if there is a pair that it gets wrong."""
        wrong = self.misleading
        if wrong is None:
            return []
        rows = [
            (
                _named(row),
                _figures(row["raw_v"], row["raw_pvalue"]),
                _figures(row["naive_v"], row["naive_pvalue"]),
                _figures(row["cramers_v"], row["pvalue"]),
            )
            for row in (wrong, self._first)
        ]
        why = _WHY_NAIVE_IS_WRONG[wrong["naive_on"]]
        sentence = f"{wrong['first']!r} and {wrong['second']!r} are next to independent in the true answers. {why}"
        headers = ["pair", "χ² on the true answers", f"χ² on {wrong['naive_on']}", "ldpstats on the reports"]
        title = "The textbook's test takes the noise for a dependence"
        return [summary_of_figures(title, headers, rows, [f"{sentence} ldpstats allows for how they were randomized."])]

    def all_pairs(self) -> Summary:
        """Return all pairs by the strength of their true dependence, with what it takes to show it."""
        shown = self.pairs.head(_MOST_ROWS)
        rows = [
            (
                _named(row),
                association_in_words(row["raw_v"], row["raw_adjusted"], row["raw_verdict"]),
                association_in_words(row["cramers_v"], row["adjusted"], row["verdict"]),
                respondents_in_words(row["needed"], row["needed_at_least"]),
            )
            for _, row in shown.iterrows()
        ]
        headers = ["pair", "raw data would show", "private shows", "respondents needed (by the truth)"]
        more = len(self.pairs) - len(rows)
        return summary_of_figures(
            "All pairs, the strongest dependence first",
            headers,
            rows,
            [*([f"and {more:,} weaker pairs; --json has them all."] if more else []), *self._legend(), self._balance()],
        )

    def report(self, path: Path) -> None:
        """Write everything that the tables tell as a page, beside the true answers."""
        write(path, self.page())

    def page(self) -> str:
        """Return what `report` writes."""
        return report_page(self.tables, f"Demonstration: {self.population.name}", self.people)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        about = "population=population.name simulated=tables.simulated n=tables.n domain=protocol.domain"
        strongest = self.strongest
        cells = plain_rows(strongest.to_frame().reset_index())
        table = {"attributes": list(strongest.attributes), "cells": cells}
        return plain_values(self, f"{about} privacy=protocol.privacy tests=pairs table", table=table)

    def _example(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the answers of somebody with something to hide, and what leaves her device, by question.

        Of those who gave the last answer to the first question it is the first whose report is false, if there is one.
        """
        name, pair, domain = self.population.domain.names[0], self.strongest.attributes, self.population.domain
        hiding = self.people[self.people[name] == domain.categories[name][-1]]
        some = (hiding if len(hiding) else self.people).head(_CANDIDATES)
        true = domain.cells(domain.encode(some), pair)
        sent = self.protocol.mechanism_for(pair).privatize(true, rng=self.seed).data
        if not self._names_cells:
            return _texts(some.iloc[0]), {pair[0]: _cut(str(np.asarray(sent[0]).tolist())), pair[1]: "(of both)"}
        place = int((sent != true).argmax())
        codes = np.unravel_index(int(sent[place]), domain.project(pair).shape)
        reported = {one: str(domain.categories[one][code]) for one, code in zip(pair, codes, strict=True)}
        return _texts(some.iloc[place]), reported

    @property
    def _names_cells(self) -> bool:
        """Whether the report about the strongest pair is a pair of answers itself."""
        return isinstance(self.protocol.mechanism_for(self.strongest.attributes), GRR)

    def _randomized(self, pair: tuple[str, ...]) -> str:
        used = self.protocol.mechanism_for(pair)
        if not isinstance(used, GRR):
            return f"Her answers are randomized by {used.name.upper()} before they leave."
        true = used.truth / GRID
        return f"Her report holds her answers with {true:.0%}, else any other of {used.k - 1}, each as likely."

    def _belief(self) -> str:
        """Say how far a report can move the probability that anybody gives to her sensitive answer."""
        name, answers = next(iter(self.population.domain.categories.items()))
        share, level = float((self.people[name] == answers[-1]).mean()), self.protocol.privacy().epsilon
        if not 0 < share < 1:
            return ""
        low, high = (1 / (1 + (1 / share - 1) * math.exp(sign * level)) for sign in (1, -1))
        least, most = math.floor(100 * low), math.ceil(100 * high)
        return (
            f"Without her report {name!r} is {str(answers[-1])!r} with {share:.0%}, as for everybody here; with it, at "
            f"least {least}% and at most {most}%, whatever it says."
        )

    def _legend(self) -> list[str]:
        return [
            v_in_words(self.pairs),
            "raw data would show: the classical χ² test of the true answers of all these respondents.",
            "private shows: ldpstats on the randomized reports, which are all that it sees.",
            f'respondents needed: for {_POWER:.0%} power, at the adjusted level, by the true shares; "-": over 10^12.',
            *at_least_in_words(self.pairs),
        ]

    def _balance(self) -> str:
        raw = (self.pairs["raw_verdict"] == DEPENDENT).sum()
        return f"Of {raw} dependences in the raw data {reports_in_words(self.pairs)}"


def demonstrate(
    name: str | None = None, n: int = 100_000, epsilon: float = 2.0, mechanism: str = "auto", seed: int = 1
) -> Demonstration:
    """Draw respondents from a packaged network or `affairs`; let each answer one pair of questions, and test all."""
    population = KnownPopulation.of_affairs() if name is None else KnownPopulation.of_network(name)
    protocol = SampledGroups(population.domain, epsilon=epsilon, mechanism=mechanism)
    people = population.sample(n, seed)
    tables = protocol.collect(people, rng=seed)
    pairs = _compared(population, people, protocol, tables)
    return Demonstration(population, people, protocol, tables, pairs, seed)


def _compared(
    population: KnownPopulation, people: pd.DataFrame, protocol: SampledGroups, tables: TableSet
) -> pd.DataFrame:
    domain = population.domain
    codes = domain.encode(people)

    def known(first: str, second: str) -> dict[str, Any]:
        joint = population.pair(first, second)
        least, needed = _needed(joint, protocol, (first, second))
        truth = {"true_v": true_cramers_v(joint), "needed": needed, "needed_at_least": least}
        raw = classical_association(pair_counts(domain, codes, (first, second)))
        return {**raw, **naive_association(tables[first, second]), **truth}

    compared = beside_raw(independence_tests(tables, adjust=_HOLM).to_frame(), known, "comparing")
    compared["truth"] = np.where(compared["true_v"] > _ROUNDING, DEPENDENT, "independent")
    return compared.sort_values("true_v", ascending=False, kind="stable", ignore_index=True)


def beside_raw(tests: pd.DataFrame, known: Callable[[str, str], dict[str, Any]], doing: str) -> pd.DataFrame:
    """Return tests of all pairs beside what is `known` of each, whose raw p-values are adjusted alike."""
    pairs = progress(zip(tests["first"], tests["second"], strict=True), doing, len(tests), "pair")
    compared = pd.concat([tests, pd.DataFrame([known(*pair) for pair in pairs])], axis=1)
    asked = compared["raw_pvalue"].notna()
    pvalues = compared.loc[asked, "raw_pvalue"].to_numpy()
    compared.loc[asked, "raw_adjusted"] = adjusted_pvalues(pvalues, _ALPHA, _HOLM)
    compared["raw_verdict"] = np.where(compared["raw_adjusted"] <= _ALPHA, DEPENDENT, NOT_SHOWN)
    return compared


def pair_counts(
    domain: Domain, codes: NDArray[np.integer], pair: tuple[str, str], weights: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return how many respondents gave each pair of answers; `weights` say how many each row stands for."""
    counts = np.bincount(domain.cells(codes, pair), weights, minlength=domain.size(pair))
    return counts.astype(np.int64).reshape(domain.project(pair).shape)


def classical_association(counts: NDArray[np.int64]) -> dict[str, float]:
    """Return Cramér's V of a table of true counts, and the p-value of the classical χ² test of independence.

    Categories that nobody gave are left out.
    """
    kept = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(kept.shape) < 2:
        return {"raw_v": math.nan, "raw_pvalue": math.nan}
    v, n = true_cramers_v(kept / kept.sum()), int(kept.sum())
    df = (kept.shape[0] - 1) * (kept.shape[1] - 1)
    return {"raw_v": v, "raw_pvalue": chi_square_pvalue(df, n * v**2 * (min(kept.shape) - 1))}


def naive_association(table: Table) -> dict[str, Any]:
    """Return Cramér's V and the p-value of the naive χ² test, and what it took for answers."""
    if not table.n:
        return {"naive_v": math.nan, "naive_pvalue": math.nan, "naive_on": _REPORTS}
    try:
        naive, counts = naive_test(table), _REPORTS
    except NotIdentifiedError:  # reports that name no cell can only be taken for answers once they are debiased
        naive, counts = naive_test(table, on="debiased"), _DEBIASED
    v = math.sqrt(naive.statistic / table.n / (min(table.shape) - 1))
    return {"naive_v": v, "naive_pvalue": naive.pvalue, "naive_on": counts}


def _needed(joint: FloatArray, protocol: SampledGroups, pair: tuple[str, str]) -> tuple[float, float]:
    """Return how many respondents of the whole protocol finding this dependence takes: at least, and likely."""
    if true_cramers_v(joint) < _ROUNDING:
        return math.inf, math.inf
    # the pair may not have been asked for
    alone = SampledGroups(protocol.domain.project(pair), epsilon=protocol.epsilon, mechanism=protocol.mechanism)
    table, tests = alone.simulate(np.ones(joint.shape, dtype=np.int64), rng=0)[pair], len(protocol.groups)
    reports = reports_needed(table, joint, _ALPHA / tests)
    least, needed = (math.nan if one is None else float(one * tests) for one in reports[:2])
    return least, needed


def reports_needed(table: Table, joint: FloatArray, level: float) -> RespondentsNeeded:
    """Return how many reports like those of a table find the dependence of a joint distribution with power .8.

    Only the least number is known where rare answers would be too rare among so many for the law of the statistic.
    """
    if not table.n:
        return NOT_KNOWN
    evidence, model = evidence_of(table), ProductOfConditionals.independent(joint.shape)
    number = respondents_with(*noncentrality_of(joint.ravel(), model, evidence), table.n, _POWER, level)
    if number is None:
        return NOT_KNOWN
    rarest = evidence.rarest_expected_report(model.frequencies(model.nearest(joint.ravel()))) / table.n
    return RespondentsNeeded(number, number if number * rarest >= _RAREST else None, None)


def _texts(row: pd.Series[Any]) -> dict[str, str]:
    return {str(name): str(answer) for name, answer in row.items()}


def _cut(report: str) -> str:
    return report if len(report) <= _REPORT_WIDTH else f"{report[: _REPORT_WIDTH - 3]}..."


def _named(row: pd.Series[Any]) -> str:
    return f"{row['first']}, {row['second']}"


def _v(value: float) -> str:
    return "not estimable" if math.isnan(value) else f"V = {value:.3f}"


def _figures(v: float, pvalue: float) -> str:
    return f"{_v(v)}, p = {pvalue_in_words(pvalue, digits=2)}".replace("= <", "<")


def association_in_words(v: float, adjusted: float, verdict: str) -> str:
    """Say how strong a dependence is and whether it was shown; a verdict of another kind stands for itself."""
    if verdict not in (DEPENDENT, NOT_SHOWN):
        return verdict
    stars = next((stars for level, stars in _STARS.items() if adjusted <= level), "not shown")
    return f"{_v(v)} {stars}"


def v_in_words(pairs: pd.DataFrame) -> str:
    """Say what V and asterisks are."""
    adjusted = f"adjusted for {len(pairs)} tests by Holm's method, up to .05 (*), .01 (**), .001 (***)"
    return f"V: Cramér's V, from 0 (independent) to 1, of reports corrected for the noise. Asterisks: p {adjusted}."


def reports_in_words(pairs: pd.DataFrame) -> str:
    """Compare the verdicts on reports with those on the raw answers."""
    found, raw = (pairs[name] == DEPENDENT for name in ("verdict", "raw_verdict"))
    both, others = (found & raw).sum(), (found & ~raw).sum()
    return f"the reports show {both}, and {others or 'no'} others. Not shown is not a proof of independence."


def respondents_in_words(needed: float, at_least: float) -> str:
    """Say how many respondents it takes: nan where that is not known, infinity where there is nothing to find."""
    if math.isinf(at_least):
        return "independent"
    if math.isnan(at_least):
        return "-"
    return f"at least {at_least:,.0f}" if math.isnan(needed) else f"{needed:,.0f}"


def at_least_in_words(pairs: pd.DataFrame) -> list[str]:
    """Say why only the least number of respondents is known of some pairs, if it is so."""
    some = (pairs["needed"].isna() & pairs["needed_at_least"].notna()).any()
    return ['"at least": rare answers would come so seldom that the law of the test is not known.'] if some else []
