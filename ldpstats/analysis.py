"""Private beside raw: a simulated survey of people whose answers are known, from a file or as a demonstration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

import numpy as np
import pandas as pd

from ldpstats.answers.answer_file import AnswerFile
from ldpstats.answers.coding import coded_answers
from ldpstats.answers.domain import Domain
from ldpstats.answers.preparation import MISSING_CATEGORY, USUAL_CLASSES, Cut, prepared
from ldpstats.datasets import affairs, network, true_cramers_v
from ldpstats.errors import LdpstatsError
from ldpstats.estimation import pvalue_in_words
from ldpstats.inference import naive_test
from ldpstats.inference.engine.detectability import NOT_KNOWN, RespondentsNeeded, respondents_with
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import chi_square_pvalue, evidence_of, noncentrality_of
from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues
from ldpstats.inference.hypothesis_tests.tested_pairs import DEPENDENT, NOT_SHOWN
from ldpstats.mechanisms import GRR
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import generator
from ldpstats.presentation import Summary, plain_values, progress, summary_of_figures
from ldpstats.protocols import SampledGroups
from ldpstats.protocols.population import raw_proportions, respondents
from ldpstats.protocols.summary import counted
from ldpstats.report import report_page
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import Table, TableSet

_POWER, _ALPHA, _MOST_ROWS = 0.8, 0.05, 40
_LEAST, _FEW, _ENOUGH = 2, 10, 100
"""Respondents of a pair: fewer are refused, so few are worth a word, and so many are proposed."""
# Where the rarest report is expected less often, tests at the number of the χ² law have any power from 0 to .8.
_RAREST = 1.0
_STARS = {0.001: "***", 0.01: "**", 0.05: "*"}
_NEGLIGIBLE = 0.02
_CANDIDATES, _REPORT_WIDTH = 1000, 20
_YOUR_OWN = """\
Your own data, as a file with a row per respondent and a column per question:
  import pandas as pd, ldpstats as ldp
  people = pd.read_csv("answers.csv")
  protocol = ldp.SampledGroups(ldp.Domain.from_frame(people), epsilon=2.0)
  tables = protocol.collect(people, rng=1)  # on respondents' own devices: protocol.reports(answers)
  print(ldp.independence_tests(tables)); tables.save("tables.json")
All of it on a page to send: ldpstats report tables.json -o report.html"""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """A simulated survey of people, and its findings beside those of their raw answers."""

    name: str  # of the file, or of the packaged people
    people: pd.DataFrame  # the raw answers as categories, a row per respondent
    protocol: SampledGroups
    studied: StudiedTables
    pairs: pd.DataFrame  # a row per pair: the test of the reports, and V and the p-value of the raw answers
    seed: int
    notes: Sequence[str]  # what must be said about the file and its columns
    left_out: Mapping[str, str]  # why columns are no questions

    @property
    def tables(self) -> TableSet:
        """What was counted of the simulated reports."""
        return self.studied.tables

    def findings(self) -> Summary:
        """Return what raw answers and what reports show of all pairs, those with the smallest p-values first."""
        raw = self.pairs["raw_verdict"] == DEPENDENT
        shown = self.pairs["verdict"] == DEPENDENT
        rows = [
            (
                f"{row['first']} × {row['second']}",
                _association(row["raw_v"], row["raw_adjusted"], row["raw_verdict"]),
                _association(row["cramers_v"], row["adjusted"], row["verdict"]),
                _respondents(row["needed"], row["needed_at_least"]) if row["raw_verdict"] == DEPENDENT else "-",
            )
            for row in self.pairs.head(_MOST_ROWS).to_dict(orient="records")
        ]
        left, others = len(self.pairs) - len(rows), (shown & ~raw).sum() or "no"
        rare = (raw & self.pairs["needed"].isna() & self.pairs["needed_at_least"].notna()).any()
        sentences = [
            *([f"And {left:,} pairs with larger p-values; --json has them all."] if left else []),
            (
                f"Of {counted(int(raw.sum()), 'dependence')} that the raw answers show, the reports show "
                f"{(shown & raw).sum()}, and {others} others. Not shown is not a proof of independence."
            ),
            (
                f"respondents needed (by raw answers): of the whole survey, to find what these show with {_POWER:.0%} "
                'power, if they are the true table; "-" where they show nothing, or nobody was asked.'
            ),
            *(['"at least": rare answers would come so seldom that the law of the test is not known.'] if rare else []),
            (
                "V: Cramér's V, from 0 (independent) to 1, of reports corrected for the noise. Asterisks: p adjusted "
                f"for {len(self.pairs)} tests by Holm's method, up to .05 (*), .01 (**), .001 (***)."
            ),
            *self._remarks(),
            *self.tables.channel_fit().warning,
        ]
        title = f"{counted(self.tables.n, 'respondent')} of {self.name}, asked privately in a simulation"
        headers = ["pair", "raw answers show", "private reports show", "respondents needed"]
        return summary_of_figures(title, headers, rows, sentences)

    def _remarks(self) -> list[str]:
        """Say what somebody with a file of answers must know."""
        each = self.tables.n / len(self.tables)
        asked = f"About {each:,.0f} respondents were asked about each of {counted(len(self.tables), 'group')}"
        done = f"This is a simulation (seed {self.seed}) of what respondents' devices would do"
        level = f"epsilon = {self.tables.privacy.epsilon:g}"
        return [
            f"{asked} of questions; fewer questions (--columns), fewer classes (--cut) and more respondents show more.",
            f"{done}: of each row one group of questions was randomized, and the tests saw the reports alone.",
            f"It protects nobody whose answers are in the file. Of answers collected so each respondent had {level}.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tables = "n=tables.n simulated=tables.simulated seed notes domain=tables.domain"
        return plain_values(self, f"file=name {tables} left_out privacy=tables.privacy pairs")

    def page(self, title: str = "") -> str:
        """Return the report about the tables as HTML, with the raw answers beside the private ones."""
        about = title or f"Analysis of {Path(self.name).name}"
        return report_page(self.studied, about, self.people[list(self.tables.domain.names)])


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration(Analysis):
    """The analysis of packaged people, told as a story: what leaves a phone, what goes wrong, and all pairs."""

    opening: str

    def __str__(self) -> str:
        return "\n\n".join(
            map(str, [self.opening, self.what_is_sent(), *self.what_goes_wrong(), self.findings(), _YOUR_OWN])
        )

    def what_is_sent(self) -> Summary:
        """Return one respondent's answers, what her device sends, and what that tells about her.

        Of those who gave the last answer to the first question it is the first whose report is false, if there is one.
        """
        domain, pair = self.protocol.domain, self._strongest
        name, categories = next(iter(domain.categories.items()))
        hides = (self.people[name] == categories[-1]).to_numpy()
        some = (self.people[hides] if hides.any() else self.people).head(_CANDIDATES)
        true, used = domain.cells(domain.encode(some), pair), self.protocol.mechanism_for(pair)
        sent = used.privatize(true, rng=self.seed).data
        if isinstance(used, GRR):
            row = int((sent != true).argmax())
            codes = np.unravel_index(int(sent[row]), domain.project(pair).shape)
            report = {
                attribute: str(domain.categories[attribute][code]) for attribute, code in zip(pair, codes, strict=True)
            }
            truth = f"{used.truth / GRID:.0%}"
            drawn = f"Her report holds her answers with {truth}, else any other of {used.k - 1}, each as likely."
        else:
            row, words = 0, str(np.asarray(sent[0]).tolist())
            report = {pair[0]: shorten(words, _REPORT_WIDTH, placeholder="..."), pair[1]: "(of both)"}
            drawn = f"Her answers are randomized by {used.name.upper()} before they leave."
        rows = [
            (question, ", ".join(map(str, possible)), str(some.iloc[row][question]), report.get(question, ""))
            for question, possible in [*domain.categories.items()][:_MOST_ROWS]
        ]
        known = ""
        if 0 < hides.mean() < 1:
            odds, level = 1 / hides.mean() - 1, self.protocol.privacy().epsilon
            least, most = (1 / (1 + odds * math.exp(sign * level)) for sign in (1, -1))
            known = (
                f"Without her report {name!r} is {str(categories[-1])!r} with {hides.mean():.0%}, as for everybody "
                f"here; with it, at least {math.floor(100 * least)}% and at most {math.ceil(100 * most)}%, whatever "
                "it says."
            )
        groups = len(self.protocol.groups)
        sentences = [
            f"Which two questions are hers is drawn at random from {groups} pairs, and public. {drawn}",
            f"Privacy: {self.protocol.privacy().headline}. {known}",
        ]
        headers = ["question", "possible answers", "her answers, which stay", "her report, which leaves"]
        return summary_of_figures("What leaves the phone of one respondent", headers, rows, sentences)

    def what_goes_wrong(self) -> list[Summary]:
        """Return what the textbook's test makes of reports, if it finds a dependence that the raw answers do not have.

        It is shown with the pair of which it is surest.
        """
        shown = self.pairs.set_index(["first", "second"])
        on: Literal["reports", "debiased"]
        if isinstance(self.protocol.mechanism_for(self._strongest), GRR):
            on, counts = "reports", "the reports"
            why = "false reports are spread evenly over all answers, as people are not: so the reports are dependent."
        else:  # what names no answers can only be taken for answers once it is debiased
            on, counts = "debiased", "debiased reports"
            why = "debiased counts scatter more than counts of answers do, for which the textbook's test is made."
        nothing = shown.index[(shown["raw_v"] < _NEGLIGIBLE) & (shown["verdict"] == NOT_SHOWN)]
        tests = {pair: naive_test(self.tables[pair], on=on) for pair in [*nothing, self._strongest]}
        misled = [pair for pair in nothing if tests[pair].pvalue < _ALPHA]
        if not misled:
            return []

        def figures(v: float, pvalue: float) -> str:
            return f"{_v(v)}, p = {pvalue_in_words(pvalue, digits=2)}".replace("= <", "<")

        wrong = min(misled, key=lambda pair: tests[pair].pvalue)
        rows = []
        for pair in (wrong, self._strongest):
            row: Any = shown.loc[pair]
            table, naive = self.tables[pair], tests[pair]
            v = math.sqrt(naive.statistic / table.n / (min(table.shape) - 1))
            raw, private = figures(row["raw_v"], row["raw_pvalue"]), figures(row["cramers_v"], row["pvalue"])
            rows.append((" × ".join(pair), raw, figures(v, naive.pvalue), private))
        headers = ["pair", "χ² on the raw answers", f"χ² on {counts}", "ldpstats on the reports"]
        sentence = f"{wrong[0]!r} and {wrong[1]!r} are next to independent in the raw answers. But {why}"
        title = "The textbook's test takes the noise for a dependence"
        return [summary_of_figures(title, headers, rows, [f"{sentence} ldpstats allows for how they were randomized."])]

    @property
    def _strongest(self) -> tuple[str, str]:
        """The pair with the strongest raw dependence of those that anybody was asked about."""
        asked = self.pairs[self.pairs["n"] > 0].sort_values("raw_v", ascending=False, kind="stable")
        return asked["first"].iloc[0], asked["second"].iloc[0]

    def _remarks(self) -> list[str]:
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"population": self.name, **Analysis.to_dict(self)}

    def page(self, title: str = "") -> str:
        """Return the report about the tables as HTML, with the raw answers beside the private ones."""
        return Analysis.page(self, title or f"Demonstration: {self.name}")


def demonstrate(
    name: str | None = None, n: int = 100_000, epsilon: float = 2.0, mechanism: str = "auto", seed: int = 1
) -> Demonstration:
    """Draw respondents from a packaged network or `affairs`; let each answer one pair of questions, and test all."""
    if name is None:
        rows = affairs()
        domain = Domain.from_frame(rows)
        people = rows.iloc[generator(seed).integers(len(rows), size=n)].reset_index(drop=True)
        question = '"Did you ever have an affair?" Few answer that truthfully, unless nobody can know.'
        source = f"{len(rows):,} women's real answers (Redbook magazine 1974; Fair 1978)"
    else:
        known = network(name)
        domain, people = known.domain, known.sample(n, rng=seed)
        question, source = "Which attributes of a network depend on each other?", f"the network {name!r}"
    protocol = SampledGroups(domain, epsilon=epsilon, mechanism=mechanism)
    opening = f"{question}\n{counted(n, 'respondent')}, simulated from {source}."
    return Demonstration(name or "affairs", people, protocol, *_surveyed(protocol, people, seed), seed, [], {}, opening)


def analyse(
    file: AnswerFile,
    *,
    epsilon: float,
    k: int = 2,
    columns: Sequence[str] = (),
    cuts: Mapping[str, Cut] | None = None,
    missing_as: str = MISSING_CATEGORY,
    counts: str | None = None,
    seed: int = 1,
    tell: Callable[[list[str]], object] = len,
) -> Analysis:
    """Simulate a private survey of the rows of a file, and test all pairs of its columns.

    Each respondent is asked k questions together, at the level epsilon. `columns` are by default all that are
    questions, `cuts` put numbers into classes, the column `counts` says how many respondents a row stands for, and
    `tell` takes the notes about the file before the work that takes long. See `ldpstats.answers.prepared`.
    """
    made = prepared(file, columns, cuts, classes=USUAL_CLASSES, missing_as=missing_as, counts=counts)
    domain = made.domain
    if len(domain) < max(k, 2):
        raise LdpstatsError(
            f"{counted(len(domain), 'question')} in {file.name}: {', '.join(domain.names)}",
            f"at least {max(k, 2)}",
            " ".join(f"Column {name!r}: {why}." for name, why in list(made.left_out.items())[:4])
            or "`ldpstats protocol DOMAIN --epsilon E --k 1` asks single questions.",
        )
    people = coded_answers(file, domain, missing_as=missing_as, counts=counts)
    if counts is not None:
        people = domain.decode(respondents(domain, people, counts))
    made.notes.extend(_few(len(people), len(domain), k))
    notes = [*file.notes, *made.lines()]
    tell(notes)
    protocol = SampledGroups(domain, epsilon=epsilon, k=k)
    return Analysis(file.name, people, protocol, *_surveyed(protocol, people, seed), seed, notes, made.left_out)


def _few(respondents: int, questions: int, k: int) -> list[str]:
    """Refuse so many pairs that each is asked of less than two respondents on average; say where they are few."""
    pairs, asked = math.comb(questions, 2), respondents * math.comb(k, 2)
    # the largest number of questions that have at most so many pairs
    enough, most = (max(k, (1 + math.isqrt(1 + 8 * (asked // each))) // 2) for each in (_ENOUGH, _LEAST))
    fewer = (
        f"--columns names those that matter: with {enough} of them, each pair has about {_ENOUGH} respondents or more"
    )
    came = (
        f"{respondents:,} respondents for {pairs:,} pairs of {questions:,} questions: {asked / pairs:.2g} for each pair"
    )
    if pairs > 1 and asked < pairs * _LEAST:
        raise LdpstatsError(
            f"{came}, which shows no dependence",
            f"at least {_LEAST} for each pair: here up to {most} questions",
            f"{fewer}. `ldpstats protocol DOMAIN --epsilon E` asks for groups that you name (--groups ONE,OTHER), or "
            "for single questions (--k 1).",
        )
    return [f"{came}, where next to nothing is shown. {fewer}"] if asked < pairs * _FEW else []


def _surveyed(protocol: SampledGroups, people: pd.DataFrame, seed: int) -> tuple[StudiedTables, pd.DataFrame]:
    """Ask people, and test all pairs: of reports, of raw answers, with the respondents needed to find the latter."""
    studied = StudiedTables(protocol.collect(people, rng=seed))
    assert studied.tests is not None  # every pair is in a group
    tests, raw_of = studied.tests.to_frame(), raw_proportions(studied.tables, people)
    pairs = math.comb(len(protocol.domain), 2) / math.comb(protocol.k, 2)
    raw = []
    for pair in progress(zip(tests["first"], tests["second"], strict=True), "raw answers", len(tests), "pair"):
        joint = raw_of(pair)
        reports = reports_needed(studied.pairs[pair], joint, studied.tests.level)
        least, needed, _ = (math.nan if number is None else number * pairs for number in reports)
        raw.append({**classical_association(joint, len(people)), "needed": needed, "needed_at_least": least})
    compared = pd.concat([tests, pd.DataFrame(raw)], axis=1)
    known = compared["raw_pvalue"].notna()
    pvalues = compared.loc[known, "raw_pvalue"].to_numpy()
    compared.loc[known, "raw_adjusted"] = adjusted_pvalues(pvalues, _ALPHA, "holm")
    compared["raw_verdict"] = np.where(compared["raw_adjusted"] <= _ALPHA, DEPENDENT, NOT_SHOWN)
    return studied, compared


def classical_association(joint: FloatArray, n: int) -> dict[str, float]:
    """Return Cramér's V of true proportions, and the p-value of the classical χ² test of independence.

    Categories that nobody gave are left out.
    """
    kept = joint[joint.any(axis=1)][:, joint.any(axis=0)]
    if min(kept.shape) < 2:
        return {"raw_v": math.nan, "raw_pvalue": math.nan}
    v, df = true_cramers_v(kept), (kept.shape[0] - 1) * (kept.shape[1] - 1)
    return {"raw_v": v, "raw_pvalue": chi_square_pvalue(df, n * v**2 * (min(kept.shape) - 1))}


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


def _association(v: float, adjusted: float, verdict: str) -> str:
    """Say how strong a dependence is and whether it was shown; a verdict of another kind stands for itself."""
    if verdict not in (DEPENDENT, NOT_SHOWN):
        return verdict
    stars = next((stars for level, stars in _STARS.items() if adjusted <= level), "not shown")
    return f"{_v(v)} {stars}"


def _v(value: float) -> str:
    return "not estimable" if math.isnan(value) else f"V = {value:.3f}"


def _respondents(needed: float, at_least: float) -> str:
    if math.isnan(at_least):
        return "-"
    return f"at least {at_least:,.0f}" if math.isnan(needed) else f"{needed:,.0f}"
