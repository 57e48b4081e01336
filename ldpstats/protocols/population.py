"""Populations: respondents one by one or as joint counts, and what becomes of answers outside the questionnaire."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import is_bool_dtype, is_complex_dtype, is_hashable, is_numeric_dtype

from ldpstats.answers.columns import frame_column, refuse_frequencies
from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame, checked_frame, known_frame
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.numbers.arrays import NO_WEIGHTS, FloatArray, IntArray, as_array, counts_array
from ldpstats.numbers.randomness import Draws, client_draws
from ldpstats.protocols.summary import counted
from ldpstats.tables import Table, TableSet

Population: TypeAlias = "Frame | ArrayLike"
REFUSE, RANDOM = "refuse", "random"
"""What becomes of a missing or unknown answer.

An error tells something: the device that raises it stays silent, and silence shows that an answer was missing or no
category. Where a random category takes its place, before anything is asked, the law of the reports is the mean of those
of all records that the other answers leave possible. So no worst-case ratio grows, and the level covers such records.
What is estimated are frequencies of records with their substitutes. Where one group leaves more answers out than
another, that mixture differs between them, and tests see it.
"""
_LARGEST_POPULATION = 10**9 - 1
_LARGEST_FRAME = 10**8


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Respondents as rows of codes, in random order."""

    domain: Domain
    codes: IntArray

    @property
    def n(self) -> int:
        """How many they are."""
        return len(self.codes)

    def divided(self, sizes: Sequence[int], rng: np.random.Generator) -> Sequence[People]:
        """Cut the records, which are in random order already."""
        del rng
        ends = np.cumsum(sizes)
        return [Records(self.domain, self.codes[end - size : end]) for size, end in zip(sizes, ends, strict=True)]

    def block_counts(
        self, questions: Sequence[Question], size: int, rng: np.random.Generator
    ) -> list[NDArray[np.int64]]:
        """Cut the records into blocks of `size`, the last perhaps smaller, and count the answers: a row per block."""
        del rng
        blocks = -(-self.n // size)
        places = np.arange(self.n) // size
        counted = []
        for question in questions:
            answers = question.answer(self.domain, self.codes)
            flat = np.bincount(places * question.answers + answers, minlength=blocks * question.answers)
            counted.append(flat.reshape(blocks, question.answers))
        return counted

    def distinct(self, attributes: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count equal rows of codes."""
        axes = [self.domain.names.index(name) for name in attributes]
        # by hashing, which is several times faster than sorting rows; in the order of the rows all the same
        copies = pd.DataFrame(self.codes[:, axes]).groupby(list(range(len(axes)))).size()
        rows: NDArray[np.int64] = copies.index.to_frame().to_numpy().astype(np.int64)
        return rows, copies.to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class JointCounts:
    """Respondents as joint counts: how many of them are in every cell of the whole domain."""

    domain: Domain
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """How many they are."""
        return int(self.counts.sum())

    def divided(self, sizes: Sequence[int], rng: np.random.Generator) -> Sequence[People]:
        """Draw the parts without replacement."""
        return [JointCounts(self.domain, part) for part in _dealt(self.counts, sizes, rng)]

    def block_counts(
        self, questions: Sequence[Question], size: int, rng: np.random.Generator
    ) -> list[NDArray[np.int64]]:
        """Draw the blocks without replacement, and add their cells up by answer."""
        n = self.n
        blocks = _dealt(self.counts, [min(size, n - start) for start in range(0, n, size)], rng)
        positions = np.stack(np.unravel_index(np.arange(self.counts.size), self.domain.shape), axis=1)
        counted = []
        for question in questions:
            answers = np.zeros((len(blocks), question.answers), dtype=np.int64)
            np.add.at(answers.T, question.answer(self.domain, positions), blocks.T)
            counted.append(answers)
        return counted

    def distinct(self, attributes: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Add up the cells that differ in other attributes alone."""
        others = [axis for axis, name in enumerate(self.domain.names) if name not in attributes]
        counts = self.counts.reshape(self.domain.shape).sum(axis=tuple(others))
        return np.argwhere(counts), counts[counts > 0]


People: TypeAlias = Records | JointCounts
"""Respondents whose true answers are known."""


def people_of(
    domain: Domain,
    population: Population,
    rng: np.random.Generator,
    counts: str | None,
    *,
    substitutes: bool = False,
) -> People:
    """Return a data frame, or joint counts in domain order (flat or in the domain's shape), as people."""
    frame = known_frame(population)
    if frame is not None:
        codes = respondents(domain, frame, counts, client_draws(rng) if substitutes else None)
        return Records(domain, codes[rng.permutation(len(codes))])
    if counts is not None:
        raise LdpstatsError(f"counts = {counts!r} for an array", "an array of joint counts alone, or a data frame")
    return JointCounts(domain, _joint_counts(domain, population))


def respondents(domain: Domain, frame: Frame, counts: str | None = None, substitutes: Draws | None = None) -> IntArray:
    """Return the codes of every respondent of a data frame: a row each, or as many as the column `counts` says.

    With a source of `substitutes` every respondent draws her own for answers outside the questionnaire; without one
    such an answer is refused.

    Examples
    --------
    >>> frequencies = pd.DataFrame({"sex": ["F", "M"], "n": [2, 1]})
    >>> respondents(Domain({"sex": ["F", "M"]}), frequencies, counts="n").ravel()
    array([0, 0, 1], dtype=int8)
    """
    frame = checked_frame(frame)
    codes = domain.compact_codes(frame, marked=substitutes is not None)
    # of a column without a known answer that has some as another type: 1 or 1.0 where the category is '1'
    for (name, categories), column in zip(domain.categories.items(), codes.T, strict=True):
        if column.size > 1 and column.max() < 0:
            known = set(map(str, categories))
            twins = [raw for raw in frame[name] if known & {str(raw), f"{raw:g}" if isinstance(raw, float) else ""}]
            if twins:
                warnings.warn(
                    f"No answer in column {name!r} is a category, and all are replaced by random ones: {twins[0]!r} is "
                    f"none of {one_line(categories)}. Convert the column.",
                    stacklevel=2,
                )
    if counts is None:
        refuse_frequencies(frame, domain.names, domain.size())
    else:
        codes = np.repeat(codes, repetitions(frame, counts, domain), axis=0)
    return codes if substitutes is None else with_substitutes(codes, domain.shape, substitutes)


def repetitions(frame: pd.DataFrame, name: str, domain: Domain) -> NDArray[np.int64]:
    """Return how many respondents each row of a frequency table stands for."""
    if not is_hashable(name) or name in domain.categories:
        came = "an attribute of the domain" if is_hashable(name) else f"of type {type(name).__name__}"
        raise LdpstatsError(f"counts = {name!r}, {came}", "the name of a column beside the attributes")
    column = frame_column(frame, name).infer_objects()
    if not is_numeric_dtype(column) or is_bool_dtype(column) or is_complex_dtype(column):
        raise LdpstatsError(
            f"the column {name!r} of {column.dtype}",
            "whole numbers of respondents",
            f"pandas.to_numeric(frame[{name!r}]) makes numbers of text.",
        )
    values = column.to_numpy(dtype=float)
    wrong = np.flatnonzero(~((values >= 0) & (values < np.inf) & (values == np.floor(values))))
    if wrong.size:
        raise LdpstatsError(
            f"{values[wrong[0]]:g} in row {column.index[wrong[0]]!r} of the column {name!r} ({wrong.size} such rows)",
            "whole numbers: every row stands for so many respondents",
            NO_WEIGHTS,
        )
    if values.sum() > _LARGEST_FRAME:
        raise LdpstatsError(
            f"{values.sum():,.0f} respondents in the column {name!r}",
            f"at most {_LARGEST_FRAME:,}",
            "Simulate an array of joint counts, or collect in parts and add the table sets.",
        )
    return column.to_numpy(dtype=np.int64)


def _dealt(left: NDArray[np.int64], sizes: Sequence[int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Divide joint counts at random into parts of these sizes, a row each (multivariate hypergeometric)."""
    parts = np.empty((len(sizes), left.size), dtype=np.int64)
    for part, size in zip(parts, sizes, strict=True):
        part[:] = rng.multivariate_hypergeometric(left, size, method="marginals")
        left = left - part
    return parts


def _joint_counts(domain: Domain, population: Any) -> NDArray[np.int64]:
    joint = as_array(population, "the joint counts of the population")
    allowed = ((domain.size(),), domain.shape)
    # a Series of counts, such as value_counts makes, is labelled and rarely in domain order
    if isinstance(population, pd.Series) or joint.shape not in allowed:
        raise LdpstatsError(
            f"joint counts as {type(population).__name__} of shape {joint.shape}",
            f"a data frame of respondents, or an array of shape {allowed[0]} or {allowed[1]}",
            "A Series of counts: counts.reindex(domain.index(), fill_value=0).to_numpy().",
        )
    counts = counts_array(joint.reshape(-1), domain.size(), "the joint counts of the population")
    total = sum(counts.tolist())
    if total > _LARGEST_POPULATION:
        raise LdpstatsError(
            f"a population of {total:,}",
            f"at most {_LARGEST_POPULATION:,}",
            "Simulate it in parts and add the table sets.",
        )
    return counts


def checked_outside(outside: object) -> str:
    """Refuse a policy other than "refuse" and "random"."""
    if not isinstance(outside, str) or outside not in (REFUSE, RANDOM):
        raise LdpstatsError(
            f"outside = {outside!r}",
            f"{REFUSE!r} (an error) or {RANDOM!r} (answers for a uniformly random category)",
        )
    return outside


def with_substitutes(codes: IntArray, shape: Sequence[int], draws: Draws) -> IntArray:
    """Replace every code below 0 by a uniformly random category, drawn anew; where there is none, nothing is drawn."""
    filled = codes.copy()
    for column, categories in zip(filled.T, shape, strict=True):
        outside = column < 0
        column[outside] = draws.uniform(categories, int(outside.sum()))
    return filled


def raw_proportions(tables: Table | TableSet, truth: Population) -> Callable[[Sequence[str]], FloatArray]:
    """Return a function from attributes, in any order, to the proportions of their cells without noise.

    All reports of the tables must be simulated: of real respondents nobody has the raw answers. `truth` has those whose
    answers were simulated: a data frame, or joint counts of the attributes in domain order.
    """
    if not isinstance(tables, Table | TableSet):
        raise LdpstatsError(f"tables of type {type(tables).__name__}", "a Table or a TableSet of simulated reports")
    if not tables.n:
        raise LdpstatsError("tables without a single report", "tables of simulated reports")
    if tables.simulated < tables.n:
        raise LdpstatsError(
            f"{tables.n - tables.simulated:,} of {tables.n:,} reports that respondents sent",
            "tables whose reports are all simulated",
            "What respondents would have said without noise is not known; simulate() makes reports of known answers.",
        )
    domain, frame = tables.domain, known_frame(truth)
    joint: Any = None
    codes: Any = None
    if frame is None:
        joint = _joint_counts(domain, truth).reshape(domain.shape)
    else:
        # columns side by side are counted several times faster than rows, of which there may be millions
        codes = np.asfortranarray(respondents(domain, frame))
    n = len(codes) if joint is None else int(joint.sum())
    reports = max(table.n for table in (tables if isinstance(tables, TableSet) else [tables]))
    if n < reports:
        raise LdpstatsError(
            f"a truth of {counted(n, 'respondent')} for a table of {reports:,} reports",
            "all of those whose answers were simulated",
        )

    def proportions(attributes: Sequence[str]) -> FloatArray:
        if joint is None:
            cells = np.bincount(domain.cells(codes, attributes), minlength=domain.size(attributes))
            return cells.reshape(domain.project(attributes).shape) / n
        axes = [domain.names.index(name) for name in attributes]
        others = tuple({*range(joint.ndim)} - {*axes})
        return np.asarray(joint.sum(axis=others).transpose(np.argsort(np.argsort(axes))) / n)

    return proportions
