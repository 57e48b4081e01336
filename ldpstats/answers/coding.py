"""Coding: the answers of a file as categories; what is missing or unknown is refused by its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.answer_file import MISSING, AnswerFile, read_answers
from ldpstats.answers.columns import Category
from ldpstats.answers.domain import Domain
from ldpstats.answers.preparation import MISSING_CATEGORY, USUAL_CLASSES, Cut, classes_of, prepared, refuse_counts
from ldpstats.answers.text_column import TextColumn
from ldpstats.errors import DomainError, one_line, shortened
from ldpstats.limits import LARGEST_ANSWERS, bytes_of_file

_MISSING_ADVICE = (
    f"`--missing-as {MISSING_CATEGORY!r}` makes of missing answers a category of their own when the domain is made; "
    "a protocol with `--outside random` lets a random category take their place."
)


def categorical_answers(
    path: str | Path,
    columns: Iterable[str] = (),
    cuts: Mapping[str, str] | None = None,
    missing: Iterable[str] = (),
) -> pd.DataFrame:
    """Return the questions in a file of answers as a data frame of categories, a row per respondent.

    Numbers of more than 30 values become four classes, missing answers the category "(missing)"; identifiers and free
    texts are left out. All that is said in `frame.attrs["notes"]`.

    Parameters
    ----------
    path : str or Path
        CSV or Parquet.
    columns : iterable of str
        Those to take; by default all that are questions.
    cuts : mapping of str to str, optional
        How to put the numbers of a column into classes: "5" makes five of about equal size, "18,65" has these limits.
    missing : iterable of str
        Cells that are no answer; if empty, those that usually are none.
    """
    file = read_answers(bytes_of_file(path, LARGEST_ANSWERS), Path(path).name, tuple(missing) or MISSING)
    limits = {name: Cut.read(text) for name, text in (cuts or {}).items()}
    made = prepared(file, list(columns), limits, classes=USUAL_CLASSES, missing_as=MISSING_CATEGORY)
    people = coded_answers(file, made.domain, missing_as=MISSING_CATEGORY)[list(made.domain.names)]
    people.attrs["notes"] = [*file.notes, *made.lines()]
    return people


def coded_answers(
    file: AnswerFile,
    domain: Domain,
    *,
    missing_as: str | None = None,
    substitutes: bool = False,
    counts: str | None = None,
) -> pd.DataFrame:
    """Code the answers of a file as categories of a domain, in a data frame for a protocol to ask.

    A cell is the category that it is written as; a number is the category that equals it, or the class that holds it.
    Columns that the domain does not know stay as texts.

    Parameters
    ----------
    file : AnswerFile
    domain : Domain
    missing_as : str, optional
        The category that takes missing answers; "(missing)" does where the domain has it.
    substitutes : bool
        Whether the protocol lets random categories take the place of missing and unknown answers.
    counts : str, optional
        The column that says how many respondents a row stands for.
    """
    columns: dict[str, Any] = {column.name: column.as_categorical() for column in file.columns}
    for name, categories in domain.categories.items():
        places = _places(file, file[name], categories, missing_as)
        if not substitutes:
            _refuse_others(file, file[name], places, categories)
        codes = places[file[name].codes]
        columns[name] = pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype=object))
    if counts is None:
        refuse_counts(file, domain.names, domain.size())
    else:
        columns[counts] = _counted(file, counts)
    return pd.DataFrame(columns)


def _places(
    file: AnswerFile, column: TextColumn, categories: tuple[Category, ...], missing_as: str | None
) -> NDArray[np.int64]:
    """Index of the category of each different text of a column; -1 where there is none."""
    written = {str(category): index for index, category in enumerate(categories)}
    truths = {str(category).lower(): index for index, category in enumerate(categories) if isinstance(category, bool)}
    valued = {category: index for index, category in enumerate(categories) if not isinstance(category, (str, bool))}
    taken = MISSING_CATEGORY if missing_as is None else missing_as
    if missing_as is not None and missing_as not in written and any(text in file.missing for text in column.texts):
        raise DomainError(f"--missing-as {missing_as!r} for {column.name!r}", one_line(categories))
    numbers = file.numbers(column)
    places = classes_of(numbers, categories)
    for index, (text, number) in enumerate(zip(column.texts, numbers, strict=True)):
        if text in written:
            places[index] = written[text]
        elif text in file.missing:
            places[index] = written.get(taken, -1)
        elif text.lower() in truths:
            places[index] = truths[text.lower()]
        elif number is not None and number in valued:
            places[index] = valued[number]
    return places


def _refuse_others(
    file: AnswerFile, column: TextColumn, places: NDArray[np.int64], categories: tuple[Category, ...]
) -> None:
    """Refuse texts without a category; unknown ones are named before missing answers."""
    outside = np.flatnonzero((places < 0) & (column.counts > 0))
    if not outside.size:
        return
    unknown = [index for index in outside.tolist() if column.texts[index] not in file.missing]
    chosen = unknown or outside.tolist()
    row = column.first_row(chosen)
    rows, where = int(column.counts[chosen].sum()), file.place(row)
    text = column.texts[column.codes[row]]
    if unknown:
        raise DomainError(
            f"column {column.name!r} of {file.name} has the unknown category {shortened(text)} in {where} "
            f"({rows:,} such rows)",
            one_line(categories),
            "Correct the answer, name it by --missing if it is none, or ask by a domain that has it: a file such as "
            '{"sex": ["F", "M"], ...} with all attributes is one, from which a protocol is made.',
        )
    raise DomainError(
        f"column {column.name!r} of {file.name} has no answer in {where} ({rows:,} such rows, {text!r} there)",
        one_line(categories),
        _MISSING_ADVICE,
    )


def _counted(file: AnswerFile, name: str) -> list[int | float | None]:
    """Read how many respondents each row stands for; what is no whole number is refused by its line."""
    column = file[name]
    numbers = file.numbers(column)
    wrong = [index for index, number in enumerate(numbers) if not isinstance(number, int) or number < 0]
    if wrong:
        row = column.first_row(wrong)
        raise DomainError(
            f"{column.texts[column.codes[row]]!r} in {file.place(row)} of the column of counts {name!r}",
            "whole numbers: every row stands for so many respondents",
        )
    return [numbers[code] for code in column.codes]
