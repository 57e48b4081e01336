"""Preparation: which columns of a file are questions, and the categories of their answers, also classes of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from shlex import quote
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.answer_file import AnswerFile
from ldpstats.answers.columns import Category, is_called_like_counts, missing_codes, refuse_frequencies
from ldpstats.answers.domain import Domain
from ldpstats.answers.ordered import Ordered
from ldpstats.answers.text_column import TextColumn
from ldpstats.errors import DomainError, LdpstatsError, one_line, shortened

MISSING_CATEGORY = "(missing)"
"""The category of missing answers in every domain that has one of this name."""
MANY = 30
"""More different answers than these are no categories: tables of them would be noise."""
USUAL_CLASSES = 4
_LONGEST = 200
"""Letters of an answer that may be a category."""
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})?")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./](\d{2}|\d{4})( .*)?")
_TRUTHS = {"true": True, "false": False}
_DIGITS, _ALL_DIGITS = 3, 17
_FIGURE = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
_UNDER, _BETWEEN, _MORE = (
    re.compile(words.format(_FIGURE, _FIGURE)) for words in ("under {}", "{} to under {}", "{} or more")
)


@dataclass(frozen=True, slots=True)
class Cut:
    """How the numbers of a column are put into classes."""

    classes: int = USUAL_CLASSES  # of about equally many respondents each
    limits: tuple[float, ...] = ()  # if given, where one class ends and the next one begins

    @classmethod
    def read(cls, text: str) -> Cut:
        """Parse a number of classes such as "5", or limits: "18,65" for three classes, "65," for two."""
        parts = [part.strip() for part in text.split(",")]
        try:
            if len(parts) == 1 and 2 <= int(parts[0]) <= 1000:
                return cls(int(parts[0]))
            limits = tuple(float(part) for part in parts if part)
        except ValueError:
            limits = ()
        if (
            len(parts) == 1
            or not limits
            or not all(map(math.isfinite, limits))
            or not all(a < b for a, b in pairwise(limits))
        ):
            raise LdpstatsError(
                f"the classes {text!r}", "a number of classes such as 5, or limits in ascending order such as 18,65"
            )
        return cls(limits=limits)


@dataclass(slots=True, eq=False)
class Preparation:
    """The domain of a file, and what became of its columns."""

    categories: dict[str, Sequence[Category]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # why columns are no questions, by their names
    notes: list[str] = field(default_factory=list)  # about columns that are questions

    @property
    def domain(self) -> Domain:
        """Domain of the questions; refused if there is none."""
        if not self.categories:
            why = "; ".join(f"{name!r}: {words}" for name, words in list(self.left_out.items())[:4])
            raise DomainError(f"no column that is a question ({why})", "columns with a few categories each")
        return Domain(self.categories)

    def lines(self) -> list[str]:
        """All notes, and why columns are left out, a line each."""
        return [*self.notes, *(f"column {name!r} is left out: {why}" for name, why in self.left_out.items())]


def prepared(
    file: AnswerFile,
    columns: Sequence[str] = (),
    cuts: Mapping[str, Cut] | None = None,
    *,
    classes: int | None = None,
    missing_as: str | None = None,
    counts: str | None = None,
) -> Preparation:
    """Choose the columns of a file that are questions, and their categories.

    Left out, unless they are named, are columns with fewer than two different answers, identifiers, and those with more
    than 30 different words or dates. So are more than 30 different numbers, unless classes are asked for.

    Parameters
    ----------
    file : AnswerFile
    columns : sequence of str
        Those to take, whatever is in them; all by default.
    cuts : mapping of str to Cut, optional
        Which columns of numbers to put into classes, and how.
    classes : int, optional
        Into how many classes to put all other columns with more than 30 different numbers.
    missing_as : str, optional
        The category to be made of missing answers, in columns that have some.
    counts : str, optional
        The column that says how many respondents a row stands for, which is no question.
    """
    wanted = dict(cuts or {})
    named = [*dict.fromkeys(columns)]
    for name in [*named, *wanted, *([counts] if counts else [])]:
        file[name]  # refuses a column that is not there
    if unused := [name for name in wanted if named and name not in named]:
        raise DomainError(f"--cut for {one_line(unused)}", f"columns that are taken: {one_line(named)}")
    made = Preparation()
    for name in named or file.names:
        if name == counts:
            continue
        cut = wanted.get(name) or (Cut(classes) if classes else None)
        _ColumnDecision(file, file[name], made, missing_as).decide(cut, chosen=name in named, wanted=name in wanted)
    if counts is None:
        refuse_counts(file, tuple(made.categories), math.prod(map(len, made.categories.values())))
    return made


def codes_in_words(file: AnswerFile, column: TextColumn) -> str:
    """Warn that a column has what looks like codes for missing answers, such as 99 or -9; empty if it has none."""
    counts, numbers = column.counts, file.numbers(column)
    kept = [index for index, text in enumerate(column.texts) if text not in file.missing and counts[index]]
    texts = [column.texts[index] for index in kept]
    codes = [str(code) for code in missing_codes(texts, [numbers[index] for index in kept])]
    if not codes:
        return ""
    rows = ", ".join(f"{text!r} in {counts[column.texts.index(text)]:,} rows" for text in codes)
    # naming some of them takes the place of those that usually are none
    usual = [text for text in file.missing if text and any(text in other.texts for other in file.columns)]
    options = " ".join(f"--missing {quote(text)}" for text in (*codes, *usual))
    return (
        f"column {column.name!r} has {rows}, which looks like a code for a missing answer: it is kept as an answer; "
        f"{options} makes it none, in all columns; the same in every step"
    )


def refuse_counts(file: AnswerFile, questions: Iterable[str], cells: int) -> None:
    """Refuse a frequency table: a file whose rows seem to stand for more than one respondent each.

    Questions whose names are those of counts may be counts, too. `cells` is how many different rows are possible.
    """
    others = [name for name in questions if not is_called_like_counts(name)]
    try:
        refuse_frequencies(file.frame(), others, max(cells, 1))
    except LdpstatsError as error:
        raise DomainError(
            f"{file.name}: {error.came}",
            "a row per respondent; or a frequency table, and which column holds its counts",
            "`--counts COLUMN` says so. If every row is one respondent, take that column out of the file.",
        ) from error


def _looking_alike(texts: Iterable[str]) -> tuple[str, str] | None:
    """Find two texts that look the same: Unicode variants, invisible characters or white space."""
    seen: dict[str, str] = {}
    for text in texts:
        letters = (letter for letter in normalize("NFC", text) if category(letter) != "Cf")
        other = seen.setdefault(" ".join("".join(letters).split()), text)
        if other != text:
            return other, text
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnDecision:
    """Decision whether a column is a question, and with which categories."""

    file: AnswerFile
    column: TextColumn
    made: Preparation
    missing_as: str | None

    def decide(self, cut: Cut | None, *, chosen: bool, wanted: bool) -> None:
        """Add the column to the questions or to those that are left out, with notes."""
        name, answered = self.column.name, self._answered
        numbers = [number for number, used in zip(self.file.numbers(self.column), answered, strict=True) if used]
        texts = [text for text, used in zip(self.column.texts, answered, strict=True) if used]
        # numbers that mean something else where a comma stands before the decimals
        dotted = [text for text in texts if "." in text]
        if dotted and self.file.commas and all(map(_THOUSANDS.fullmatch, texts)):
            self._say(f"has fractions such as {dotted[0]}: if the dot separates thousands, take it out of the file")
        counts = [int(count) for count, used in zip(self.column.counts, answered, strict=True) if used]
        if not texts:
            self.made.left_out[name] = "it has no answers"
            return
        many = cut and None not in numbers and len(texts) > MANY
        in_classes = bool(wanted or (many and not self._is_identifier(numbers, counts)))
        if in_classes:
            categories: list[Category] = self._classes(numbers, texts, counts, cut or Cut())
        else:
            why = "" if chosen else self._why_not(numbers, texts, counts)
            if why:
                self.made.left_out[name] = why
                return
            categories = self._categories(numbers, texts)
        if len(categories) + (self._missing > 0) < 2 or (len(categories) < 2 and self.missing_as is None):
            self.made.left_out[name] = f"all answers are {shortened(categories[0])}"
            return
        missing = self._of_missing(categories)
        self.made.categories[name] = Ordered(categories) if in_classes and not missing else categories + missing
        self.made.notes.extend(filter(None, [codes_in_words(self.file, self.column)]))

    @property
    def _answered(self) -> list[bool]:
        return [
            text not in self.file.missing and count > 0
            for text, count in zip(self.column.texts, self.column.counts, strict=True)
        ]

    @property
    def _missing(self) -> int:
        return len(self.file) - int(self.column.counts[self._answered].sum())

    def _say(self, words: str) -> None:
        self.made.notes.append(f"column {self.column.name!r} {words}")

    def _of_missing(self, categories: list[Category]) -> list[Category]:
        """The category of missing answers, if there are some and they get one; with a note."""
        if not self._missing:
            return []
        missing = f"has {self._missing:,} missing answers"
        if self.missing_as is None:
            self._say(f"{missing}, which will be refused: --missing-as '{MISSING_CATEGORY}' gives them a category")
            return []
        self._say(f"{missing}, which are the category {self.missing_as!r}")
        return [] if self.missing_as in categories else [self.missing_as]

    def _why_not(self, numbers: Sequence[float | None], texts: list[str], counts: list[int]) -> str:
        """Why a column is no question; empty if it is one."""
        longest = max(map(len, texts))
        if longest > _LONGEST:
            return f"it has texts of up to {longest:,} letters"
        if len(texts) <= MANY:
            return ""
        if self._is_identifier(numbers, counts):
            return f"all {len(texts):,} answers differ, as those of an identifier do"
        if None not in numbers:
            limits = quantile_limits([number for number in numbers if number is not None], counts, USUAL_CLASSES)
            proposed = f", for example {', '.join(class_labels(limits))}" if limits else ""
            how = f"--cut {quote(self.column.name)}={USUAL_CLASSES} puts them into classes{proposed}"
            return f"it has {len(texts):,} different numbers; {how}"
        words = [text for text, number in zip(texts, numbers, strict=True) if number is None]
        if len(words) < len(texts) / 2:
            return (
                f"it has {len(texts):,} different answers, numbers and words ({one_line(words, 4)}); "
                "if these mean that there is no answer, name them by --missing"
            )
        what = "dates" if all(map(_DATE.fullmatch, words)) else "texts"
        return f"it has {len(texts):,} different {what}: put them into classes first"

    @staticmethod
    def _is_identifier(numbers: Sequence[float | None], counts: list[int]) -> bool:
        """Whether more than 30 answers all differ and are no measurements, which have fractions."""
        measured = any(isinstance(number, float) for number in numbers) and None not in numbers
        return len(counts) > MANY and max(counts) == 1 and not measured

    def _classes(
        self, numbers: Sequence[float | None], texts: list[str], counts: list[int], cut: Cut
    ) -> list[Category]:
        if None in numbers:
            words = [text for text, number in zip(texts, numbers, strict=True) if number is None]
            raise DomainError(
                f"--cut for the column {self.column.name!r}, which has {one_line(words, 4)}",
                "numbers",
                "If these mean that there is no answer, name them by --missing.",
            )
        given = [number for number in numbers if number is not None]
        limits = list(cut.limits) or quantile_limits(given, counts, cut.classes)
        if not limits:
            return [given[0]]
        labels = class_labels(limits)
        source = (
            "" if cut.limits else "; the limits were read off these answers: of real respondents, state them before"
        )
        self._say(f"has {len(texts):,} different numbers, put into the classes {', '.join(labels)}{source}")
        return [*labels]

    def _categories(self, numbers: Sequence[float | None], texts: list[str]) -> list[Category]:
        """Different answers: as numbers or truth values where all are, else as texts."""
        given = [number for number in numbers if number is not None]
        if len(given) == len(texts):
            return sorted(set(given))
        truths = {_TRUTHS.get(text.lower()) for text in texts}
        if None not in truths:
            return [truth for truth in (False, True) if truth in truths]
        if given:
            numeral = next(text for text, number in zip(texts, numbers, strict=True) if number is not None)
            word = next(text for text, number in zip(texts, numbers, strict=True) if number is None)
            self._say(f"has numbers such as {numeral!r} and words such as {word!r}: all are kept as texts")
        elif all(map(_DATE.fullmatch, texts)):
            self._say("has dates, each of them a category")
        if len({text.casefold() for text in texts}) < len(texts):
            self._say("has answers that differ in capital letters alone: they are different categories")
        if alike := _looking_alike(texts):
            self._say(f"has answers that look alike, {' and '.join(map(ascii, alike))}: they are different categories")
        ranked = sorted(zip(numbers, texts, strict=True), key=lambda pair: (pair[0] is None, pair[0] or 0, pair[1]))
        return [text for _, text in ranked]


def quantile_limits(numbers: Sequence[float], counts: Sequence[int], classes: int) -> list[float]:
    """Limits between classes of about equally many respondents, rounded to three digits, or to as many as it takes.

    There are fewer classes where many respondents share a number, and none is empty. The numbers are different ones,
    the counts their respondents.
    """
    order = np.argsort(np.array(numbers, dtype=float))
    values, up_to = np.array(numbers, dtype=float)[order], np.cumsum(np.array(counts)[order])
    wanted = up_to[-1] * np.arange(1, classes) / classes
    # the limit is the first number of the class above it
    indices = np.minimum(np.searchsorted(up_to, wanted, side="left") + 1, len(values) - 1)
    exact = sorted({*values[indices].tolist()} - {values[0]})
    limits: list[float] = []
    for digits in range(_DIGITS, _ALL_DIGITS + 1):
        limits = sorted({_rounded(limit, digits) for limit in exact})
        parts = np.diff(np.searchsorted(values, limits), prepend=0, append=len(values))
        if len(limits) == len(exact) and (parts > 0).all():
            break
    return limits


def class_labels(limits: Sequence[float]) -> list[str]:
    """Labels of the classes between ascending limits, such as "18 to under 65", which `classes_of` reads again.

    A number that equals a limit belongs to the class above it.
    """
    shown = [(str(int(limit)) if float(limit).is_integer() else repr(float(limit))) for limit in limits]
    between = [f"{low} to under {high}" for low, high in pairwise(shown)]
    return [f"under {shown[0]}", *between, f"{shown[-1]} or more"]


def classes_of(numbers: Sequence[float | None], categories: Sequence[Category]) -> NDArray[np.int64]:
    """Index of the category whose class contains each number; -1 where none does, or more than one.

    Only categories in the words of `class_labels` are classes.
    """
    indices = np.full(len(numbers), -1, dtype=np.int64)
    values = np.array([math.nan if number is None else number for number in numbers], dtype=float)
    times = np.zeros(len(numbers), dtype=np.int64)
    for index, label in enumerate(categories):
        low, high = _limits(label)
        inside = (values >= low) & (values < high)
        indices[inside], times = index, times + inside
    indices[times > 1] = -1
    return indices


def _limits(label: Category) -> tuple[float, float]:
    """Parse a class label to its limits [low, high); an empty interval for other words."""
    if isinstance(label, str):
        for words, bounds in ((_UNDER, (-math.inf, 0)), (_BETWEEN, (0, 1)), (_MORE, (0, math.inf))):
            if match := words.fullmatch(label):
                low, high = (_float(match[1 + bound]) if isinstance(bound, int) else bound for bound in bounds)
                return low, high
    return math.inf, -math.inf


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # more than one point
        return math.nan


def _rounded(number: float, digits: int) -> float:
    """Round to significant digits, but keep all digits before the decimal point."""
    rounded = float(f"{number:.{digits}g}")
    whole = abs(number) >= 10 ** (digits - 1) or float(number).is_integer()
    return round(number) if whole and abs(number) < 1e15 else rounded
