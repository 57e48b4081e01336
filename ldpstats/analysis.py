"""The analysis of a file in one step: a simulated survey of its rows, beside what the raw answers show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.answers.answer_file import AnswerFile
from ldpstats.answers.coding import coded_answers
from ldpstats.answers.preparation import MISSING_CATEGORY, USUAL_CLASSES, Cut, Preparation, prepared
from ldpstats.demo import (
    association_in_words,
    at_least_in_words,
    beside_raw,
    classical_association,
    pair_counts,
    reports_in_words,
    reports_needed,
    respondents_in_words,
    v_in_words,
)
from ldpstats.errors import LdpstatsError
from ldpstats.inference.hypothesis_tests.tested_pairs import DEPENDENT
from ldpstats.presentation import Summary, plain_values, summary_of_figures
from ldpstats.protocols import SampledGroups
from ldpstats.protocols.summary import counted
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import TableSet

_POWER, _MOST_ROWS = 0.8, 40
_LEAST, _FEW, _ENOUGH = 2, 10, 100
"""Respondents of a pair: fewer are refused, so few are worth a word, and so many are proposed."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """A simulated survey of the rows of a file, and its findings beside those of the raw answers."""

    file: AnswerFile
    preparation: Preparation
    people: pd.DataFrame  # the answers as categories
    studied: StudiedTables
    pairs: pd.DataFrame  # a row per pair: the test of the reports, and V and the p-value of the raw answers
    seed: int
    counts: str | None  # the column that says how many respondents a row stands for

    @property
    def tables(self) -> TableSet:
        """What was counted of the simulated reports."""
        return self.studied.tables

    def findings(self) -> Summary:
        """Return what raw answers and what reports show of all pairs, those with the smallest p-values first."""
        rows = [
            (
                f"{row['first']} × {row['second']}",
                association_in_words(row["raw_v"], row["raw_adjusted"], row["raw_verdict"]),
                association_in_words(row["cramers_v"], row["adjusted"], row["verdict"]),
                respondents_in_words(row["needed"], row["needed_at_least"]) if row["raw_verdict"] == DEPENDENT else "-",
            )
            for row in self.pairs.head(_MOST_ROWS).to_dict(orient="records")
        ]
        left = len(self.pairs) - len(rows)
        return summary_of_figures(
            f"{self.tables.n:,} respondents of {self.file.name}, asked privately in a simulation",
            ["pair", "raw answers show", "private reports show", "respondents needed (by raw answers)"],
            rows,
            [*([f"And {left:,} pairs with larger p-values; --json has them all."] if left else []), *self._sentences()],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tables = "n=tables.n simulated=tables.simulated seed notes domain=tables.domain"
        return plain_values(self, f"file=file.name {tables} left_out=preparation.left_out privacy=tables.privacy pairs")

    @property
    def notes(self) -> list[str]:
        """What must be said about the file and its columns, a line each."""
        return [*self.file.notes, *self.preparation.lines()]

    def page(self, title: str | None = None) -> str:
        """Return the report about the tables as HTML, with the raw answers beside the private ones."""
        from ldpstats.report import report_page

        return report_page(self.studied, title or f"Analysis of {Path(self.file.name).name}", self._repeated)

    @property
    def _repeated(self) -> pd.DataFrame:
        people = self.people if self.counts is None else _repeated(self.people, self.counts)
        return people[list(self.tables.domain.names)]

    def _sentences(self) -> list[str]:
        raw = self.pairs[self.pairs["raw_verdict"] == DEPENDENT]
        groups = len(self.tables)
        each = self.tables.n / groups
        asked = f"About {each:,.0f} respondents were asked about each of {counted(groups, 'group')} of questions"
        done = f"This is a simulation (seed {self.seed}) of what respondents' devices would do"
        level = f"epsilon = {self.tables.privacy.epsilon:g}"
        return [
            f"Of {counted(len(raw), 'dependence')} that the raw answers show, {reports_in_words(self.pairs)}",
            f"{asked}; fewer questions (--columns), fewer classes (--cut) and more respondents show more.",
            (
                f"respondents needed: of the whole survey, to find what raw answers show with {_POWER:.0%} power, if "
                'they are the true table; "-" where they show nothing, or nobody was asked.'
            ),
            *at_least_in_words(raw),
            v_in_words(self.pairs),
            f"{done}: of each row one group of questions was randomized, and the tests saw the reports alone.",
            f"It protects nobody whose answers are in the file. Of answers collected so each respondent had {level}.",
            *self.tables.channel_fit().warning,
        ]


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
    made.notes.extend(_few(len(people) if counts is None else int(people[counts].sum()), len(domain), k))
    tell([*file.notes, *made.lines()])
    protocol = SampledGroups(domain, epsilon=epsilon, k=k)
    studied = StudiedTables(protocol.collect(people, rng=seed, counts=counts))
    return Analysis(file, made, people, studied, _beside_raw(studied, protocol, people, counts), seed, counts)


def _few(respondents: int, questions: int, k: int) -> list[str]:
    """Refuse so many pairs that each is asked of less than two respondents on average; say where they are few."""
    pairs, asked = math.comb(questions, 2), respondents * math.comb(k, 2)
    enough, most = (max(k, _largest(asked // each)) for each in (_ENOUGH, _LEAST))
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


def _largest(groups: int) -> int:
    """Return the largest number of questions that have at most so many pairs."""
    return (1 + math.isqrt(1 + 8 * groups)) // 2


def _beside_raw(
    studied: StudiedTables, protocol: SampledGroups, people: pd.DataFrame, counts: str | None
) -> pd.DataFrame:
    """Return the tests of all pairs beside what raw answers show, and the respondents needed to find that."""
    tests = studied.tests
    assert tests is not None  # every pair is in a group
    domain, tables = protocol.domain, studied.pairs
    weights = np.ones(len(people), dtype=np.int64) if counts is None else people[counts].to_numpy(dtype=np.int64)
    codes = np.column_stack([people[name].cat.codes.to_numpy(np.int64) for name in domain.names])
    respondents_each = math.comb(len(domain), 2) / math.comb(protocol.k, 2)  # of a pair's reports

    def known(first: str, second: str) -> dict[str, Any]:
        table = pair_counts(domain, codes, (first, second), weights)
        reports = reports_needed(tables[first, second], table / table.sum(), tests.level)
        least, needed, _ = (math.nan if one is None else one * respondents_each for one in reports)
        return {**classical_association(table), "needed": needed, "needed_at_least": least}

    return beside_raw(tests.to_frame(), known, "raw answers")


def _repeated(people: pd.DataFrame, counts: str) -> pd.DataFrame:
    return people.loc[people.index.repeat(people[counts].to_numpy(dtype=np.int64))].reset_index(drop=True)
