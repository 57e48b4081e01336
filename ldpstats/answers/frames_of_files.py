"""A file of answers as one data frame of categories, with what was made of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ldpstats.answers.answer_file import MISSING, read_answers
from ldpstats.answers.coding import coded_answers
from ldpstats.answers.preparation import MISSING_CATEGORY, USUAL_CLASSES, Cut, prepared
from ldpstats.limits import LARGEST_ANSWERS, bytes_of_file


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
