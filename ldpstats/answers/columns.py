"""Columns: categories read off data frames and checked, and the errors that name column, value and row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype, is_bool_dtype, is_complex_dtype, is_hashable, is_list_like, is_scalar

from ldpstats.errors import DomainError, one_line, shortened
from ldpstats.numbers.arrays import IntArray

Category: TypeAlias = str | int | float | bool

_MANY_LEVELS = 30
_PLAIN = "plain strings, finite numbers or booleans"
_COUNTS = frozenset(["0", "n", "nn", "count", "counts", "freq", "freqs", "frequency", "frequencies"])
"""What columns of counts are called, by pandas (value_counts; size leaves a 0), R (xtabs, dplyr's count) and people."""
_WEIGHTS = frozenset(["number", "number of respondents", "respondents", "people", "persons", "cases", "population"]) | {
    *("size", "weight", "weights", "wt", "value", "values", "total", "totals", "tally", "cnt", "num"),
    *("observations", "obs", "nobs", "n obs"),
}
_NO_ANSWERS = frozenset(
    ["", "?", "??", ".", "..", "-", "--", "*", "na", "n/a", "n.a.", "#n/a", "nan", "null", "nil"]
) | {
    *("refused", "refusal", "dk", "don't know", "dont know", "dk/na"),
}
"""Texts that are codes for missing answers. Words such as 'no answer' are none: who reads them knows what they are."""
_CODES = frozenset(int(f"{sign}{code}") for code in (7, 8, 9, 77, 88, 97, 98, 99) for sign in ("", "-")) | {
    int(f"{sign}{'9' * more}{last}") for more in (2, 3, 4, 5) for last in (7, 8, 9) for sign in ("", "-")
}
_HARDLY = 5.0
"""So many pairs of respondents would be expected to have the same answers, if there were not a row for each cell."""


def listed(names: Any) -> tuple[Any, ...]:
    """Return names as a tuple; a single name is a list of one, and a set is refused."""
    if isinstance(names, (set, frozenset)):  # its order differs from one run to the next
        raise DomainError(f"the set {shortened(names)}", "a list or a tuple, which has an order")
    return tuple(names) if is_list_like(names) else (names,)


def _object_index(values: Iterable[object]) -> pd.Index[Any]:
    return pd.Index(values, dtype=object, tupleize_cols=False)


def category_index(values: tuple[Category, ...]) -> pd.Index[Any]:
    """Return categories as a pandas index of their own type."""
    # Left to itself pandas turns whole numbers beside fractions into floats, and the largest lose digits.
    return pd.Index(values, dtype=object if len({type(value) for value in values}) > 1 else None)


def _plain(value: Any) -> Any:
    if isinstance(value, pd.Interval):  # as pandas.cut makes them
        return str(value)
    # NumPy's dates are excluded: their item() may be a bare integer.
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufU" else value


def _is_category(value: object) -> bool:
    if isinstance(value, str):
        # Half a surrogate pair, as careless decoding leaves it, can be written to no file.
        return type(value) is str and value.encode(errors="ignore").decode() == value
    return type(value) in (int, bool) or (type(value) is float and math.isfinite(value))


def _of_several_answers(name: object, value: object, otherwise: str) -> str:
    """Say what to do about several answers in one cell; `otherwise` about any other value."""
    if not is_list_like(value) or isinstance(value, Mapping):
        return otherwise
    return (
        "Several answers in one cell are several questions: make a column of True and False for every option, "
        f"pandas.get_dummies(frame[{name!r}].explode(), prefix={name!r}).groupby(level=0).max()."
    )


def known_category(value: object, categories: tuple[Category, ...]) -> Category | None:
    """Return the category that a single value equals, as Python compares them; None if there is none."""
    plain = _plain(value)
    try:
        return {category: category for category in categories}.get(plain)
    except (TypeError, ValueError):  # a list has no hash, and some objects compare with nothing
        return None


def _value_in_row(column: pd.Series[Any], position: int) -> str:
    return f"{column.iloc[[position]].tolist()[0]!r} in row {column.index[[position]].tolist()[0]!r}"


def refuse_other_columns(frame: pd.DataFrame, texts: Sequence[str], numbers: Sequence[str]) -> None:
    """Refuse a table of results without rows, or without these columns of texts and of numbers above zero."""
    proper = len(frame) and {*texts, *numbers} <= {*frame.columns}
    if not proper or not all(
        all(isinstance(value, str) for value in frame[name])
        if name in texts
        else frame[name].dtype.kind in "iuf" and (frame[name] > 0).all()
        for name in (*texts, *numbers)
    ):
        raise DomainError(
            f"a table of {len(frame)} rows with the columns {one_line(list(frame.columns))}",
            f"rows of {one_line([*texts, *numbers])}",
        )


def checked_name(name: object) -> None:
    """Refuse attribute names that are not plain, non-empty strings."""
    if not isinstance(name, str) or not name or not _is_category(name):
        raise DomainError(f"an attribute named {name!r}", "a non-empty string", "Rename the column or attribute.")


def checked_categories(name: object, values: Sequence[Category]) -> tuple[Category, ...]:
    """Return an attribute's categories as plain values; refuse repeated, missing, strange or too few ones."""
    checked_name(name)
    if not is_list_like(values, allow_sets=False) or isinstance(values, (Mapping, pd.DataFrame)):
        raise DomainError(
            f"attribute {name!r} with the categories {values!r} of type {type(values).__name__}",
            "a list of categories, which has an order",
        )
    plain: list[Any] = [_plain(value) for value in values]
    for value in plain:
        if not _is_category(value):
            raise DomainError(
                f"attribute {name!r} has the category {value!r} of type {type(value).__name__}",
                _PLAIN,
                "Give missing answers a category of their own, such as 'no answer'."
                if is_scalar(value) and pd.isna(value)
                else _of_several_answers(name, value, "Convert the categories, for example with str."),
            )
    seen: dict[Category, Category] = {}
    for value in plain:
        if value in seen:
            raise DomainError(
                f"attribute {name!r} lists {seen[value]!r} and again {value!r}",
                "different categories; True equals 1, and 1 equals 1.0",
            )
        seen[value] = value
    if len(plain) < 2:
        raise DomainError(
            f"attribute {name!r} has fewer than two categories: {one_line(plain)}",
            "at least two categories",
            "An attribute that cannot vary tells nothing: leave it out, or state the categories nobody chose.",
        )
    return tuple(plain)


def collapsed_categories(
    name: str, categories: tuple[Category, ...], classes: Mapping[Category, Sequence[Category]]
) -> tuple[list[Category], NDArray[np.int64]]:
    """Return the categories after some were put together, and the new position of every old one.

    A class stands where the first of its members stood.
    """
    if not isinstance(classes, Mapping) or not classes:
        raise DomainError(
            f"the classes {shortened(classes)} of {name!r}", "a mapping such as {'new': ['one', 'other']}"
        )
    of_category: dict[Category, Category] = {}
    for new, members in classes.items():
        named = listed(members)
        wrong = [old for old in named if not is_hashable(old) or old not in categories or old in of_category]
        if wrong or not named:
            raise DomainError(
                f"{one_line(wrong)} as a member of the class {new!r} of {name!r}",
                f"different categories out of {one_line(categories)}, at least one, each in one class",
            )
        of_category |= dict.fromkeys(named, new)
    labels = [of_category.get(category, category) for category in categories]
    kept = [category for category in categories if category not in of_category]
    taken = [new for new in classes if new in kept]
    if taken:
        raise DomainError(
            f"the class {taken[0]!r} of {name!r} without the category of that name",
            "a new name, or that category in it",
        )
    merged = list(dict.fromkeys(labels))
    places = {label: position for position, label in enumerate(merged)}
    return merged, np.array([places[label] for label in labels], dtype=np.int64)


def _found_column(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    if name not in frame.columns:
        raise DomainError(
            f"no column {name!r} in the data frame",
            f"a column for every attribute; the frame has {one_line(list(frame.columns))}",
            "Rename the column, or project the domain to the columns you have.",
        )
    column: Any = frame.loc[:, name]
    if isinstance(column, pd.DataFrame):
        raise DomainError(
            f"column {name!r} stands for {column.shape[1]} columns of the data frame",
            "one column per attribute, none with levels below it",
            "Rename or drop columns.",
        )
    return pd.Series(column)


def frame_column(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return a column that is there once and has no missing value."""
    column = _found_column(frame, name)
    missing = np.flatnonzero(column.isna())
    if missing.size:
        raise DomainError(
            f"column {name!r} has the missing value {_value_in_row(column, int(missing[0]))} ({missing.size} in all)",
            "an answer in every row",
            "Drop these rows yourself, or give missing answers a category of their own, such as 'no answer'.",
        )
    return _with_labels(column)


def _with_labels(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return intervals, as pandas.cut makes them, as ordered text; other values follow behind them."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        kinds: pd.Index[Any] = column.cat.categories
        with_intervals = any(isinstance(kind, pd.Interval) for kind in kinds)
        return column.cat.rename_categories([_plain(kind) for kind in kinds]) if with_intervals else column
    if column.dtype != object and not isinstance(column.dtype, pd.IntervalDtype):
        return column
    if infer_dtype(column, skipna=True) not in ("interval", "mixed"):
        return column
    values = column.astype(object)
    intervals = {value for value in values if isinstance(value, pd.Interval)}
    others = [value for value in values if not isinstance(value, pd.Interval)]
    if not intervals or not all(isinstance(other, str) or (is_scalar(other) and pd.isna(other)) for other in others):
        return column
    ascending = sorted(intervals, key=lambda interval: (interval.left, interval.right, interval.closed))
    ordered = [str(interval) for interval in ascending]
    ordered += sorted({other for other in others if isinstance(other, str)} - set(ordered))
    return values.map(_plain).astype(pd.CategoricalDtype(ordered))


def refuse_frequencies(frame: pd.DataFrame, names: Sequence[str], cells: int) -> None:
    """Refuse what looks like a frequency table: a column of counts, and rows that all differ without it.

    Respondents, too, may all differ, and a column of theirs may have such a name; who has such a frame drops the
    column. The other way round every number that follows would be wrong, unseen. Where the column is called like
    weights, rows must differ in the attributes alone; where by any other name, they must also be so many for that many
    `cells` that respondents would hardly all differ.
    """
    counts = _column_of_counts(frame, names, cells)
    if counts is None or len(frame) < 2:
        return
    others = [name for name in frame.columns if name in names or (_called(counts) in _COUNTS and name != counts)]
    if _has_twins(frame[others]):
        return
    raise DomainError(
        f"{len(frame)} rows that all differ in {one_line(others)}, beside the column {counts!r} of whole numbers: "
        "it looks like a frequency table",
        "a row per respondent; or a frequency table and which column holds its counts",
        f"counts={counts!r} takes every row as so many respondents; frame.drop(columns={counts!r}) takes it as one.",
    )


def _column_of_counts(frame: pd.DataFrame, names: Sequence[str], cells: int) -> Any:
    """Return the name of the column that may hold counts: by its name, or of any name where the rows are many."""
    left = [(name, position) for position, name in enumerate(frame.columns) if name not in names]
    hardly = len(frame) * (len(frame) - 1) / (2 * cells) >= _HARDLY
    for known in (_COUNTS, _WEIGHTS, None):
        if known is not _COUNTS and len(frame) > cells:  # then some are alike
            return None
        for name, position in left:
            suits = hardly if known is None else _called(name) in known
            if suits and _holds_counts(frame.iloc[:, position]):
                return name
    return None


def is_called_like_counts(name: object) -> bool:
    """Say whether a column has a name that columns of counts or weights have.

    >>> is_called_like_counts("Freq."), is_called_like_counts("age")
    (True, False)
    """
    return _called(name) in _COUNTS | _WEIGHTS


def _called(name: object) -> str:
    return re.sub(r"[\W_]+", " ", str(name).lower()).strip()


def _has_twins(frame: pd.DataFrame) -> bool:
    try:
        return bool(frame.duplicated().any())
    except TypeError:  # a list in a cell has no hash
        return bool(frame.map(repr).duplicated().any())


def _holds_counts(column: pd.Series[Any]) -> bool:
    """Say whether a column holds whole numbers, also as text and with gaps, not all of them below two."""
    if is_bool_dtype(column) or is_complex_dtype(column):
        return False
    # the first value tells most columns apart that hold no numbers
    given = column[column.notna()]
    if not np.all(pd.to_numeric(given.head(1).astype(object), errors="coerce").notna()):
        return False
    values = pd.to_numeric(given.astype(object), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return bool(np.all((values >= 0) & (values == np.floor(values))) and np.any(values > 1))


def observed_categories(name: str, column: pd.Series[Any]) -> list[Category]:
    """Return the categories of a pandas categorical, or the values that occur, sorted."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return list(column.dtype.categories)
    try:
        different: pd.Index[Any]
        try:
            different = pd.Index(column.unique())
        except (NotImplementedError, OverflowError):  # types of Arrow that pandas cannot tell apart
            different = pd.Index(column.astype(object).unique())
        different = different.astype(object)
        values = [_plain(value) for value in different]
    except TypeError:  # A list inside a cell has no hash.
        values = list(column)
    if not all(_is_category(value) for value in values):
        position = next(i for i, value in enumerate(column) if not _is_category(_plain(value)))
        raise DomainError(
            f"column {name!r} has {_value_in_row(column, position)}",
            _PLAIN,
            _of_several_answers(
                name,
                column.iloc[position],
                "Convert the column, for example with .astype(str), or cut it into classes.",
            ),
        )
    if any(isinstance(value, float) and not value.is_integer() for value in values) and len(values) > 20:
        raise DomainError(
            f"column {name!r} has {len(values)} different fractional numbers",
            "categories",
            "Cut it into classes first, for example with pandas.cut.",
        )
    if len({isinstance(value, str) for value in values}) > 1:
        text = np.array([isinstance(value, str) for value in column])
        word, other = (_value_in_row(column, int(position)) for position in (text.argmax(), text.argmin()))
        raise DomainError(
            f"column {name!r} mixes {word} with {other}",
            "only strings or only numbers",
            "Convert the column, or state the domain with Domain({...}).",
        )
    return sorted(values)


def missing_codes(values: Sequence[Category], numbers: Sequence[float | None]) -> list[Category]:
    """Return the values that look like codes for missing answers: '?', or numbers beyond all others, as 9, 99 and -9.

    Of each different value of a column, `numbers` holds the number that it is, None for words.

    >>> missing_codes([1, 2, 3, 4, 8, 9], [1, 2, 3, 4, 8, 9]), missing_codes([*range(121)], [*range(121)])
    ([8, 9], [])
    """
    of_number = {number: value for value, number in zip(values, numbers, strict=True) if number is not None}
    negative = sorted(number for number in of_number if number < 0)
    below = negative if _CODES.issuperset(negative) else []
    answers, beyond = sorted({*of_number} - {*below}), []
    for index in range(len(answers) - 1, 1, -1):
        if answers[index] not in _CODES or answers[-1] in (7, 8):
            break
        if answers[index] - answers[index - 1] > np.diff(answers[:index]).max(initial=1):
            beyond = answers[index:]
    codes = [*below, *beyond] if len(answers) - len(beyond) > 1 else []
    words = [value for value in values if isinstance(value, str) and value.strip().casefold() in _NO_ANSWERS]
    return [*words, *(of_number[number] for number in codes)]


def codes_to_tell(name: str, column: pd.Series[Any], values: Sequence[Category]) -> str:
    """Warn of codes for missing answers in a column; the categories of a pandas categorical were chosen."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return ""
    numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").tolist()
    codes = missing_codes(values, [None if math.isnan(number) else number for number in numbers])
    if not codes:
        return ""
    rows = int(column.isin(codes).sum())
    return (
        f"Column {name!r} has the {'categories' if len(codes) > 1 else 'category'} {one_line(codes)} in {rows:,} rows, "
        f"which looks like a code for a missing answer, and is kept as a category. If it is none, drop these rows, "
        f"frame[~frame[{name!r}].isin({codes!r})], or name it: "
        f"frame[{name!r}].astype(str).replace({str(codes[0])!r}, 'no answer'). Categories of Domain({{...}}) or of a "
        "pandas categorical are taken as they are."
    )


def too_many_numbers(name: str, column: pd.Series[Any], values: Sequence[Category]) -> str:
    """Warn of many different numbers in a column; the categories of a pandas categorical were chosen."""
    chosen = isinstance(column.dtype, pd.CategoricalDtype) or any(isinstance(value, str) for value in values)
    if chosen or len(values) <= _MANY_LEVELS:
        return ""
    return (
        f"Column {name!r} has {len(values)} different numbers, each a category of its own: tables with it have "
        f"few reports per cell, and much noise. To take classes instead: frame[{name!r}] = "
        f"pandas.cut(frame[{name!r}], 5), or with limits of your own, pandas.cut(frame[{name!r}], [...])."
    )


def column_codes(frame: pd.DataFrame, name: str, allowed: tuple[Category, ...]) -> IntArray:
    """Return the position of every value of a column among the categories allowed, in a small type."""
    codes = marked_codes(frame, name, allowed)
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        column = frame_column(frame, name)
        where = _value_in_row(column, int(wrong[0]))
        value = column.iloc[wrong[:1]].tolist()[0]
        text_twin = [known for known in allowed if str(known) == str(value)]
        advice = (
            f"The column holds {type(value).__name__} where the domain has {type(text_twin[0]).__name__}: convert it."
            if text_twin
            else _of_several_answers(name, value, "Correct the value, or add it to the domain.")
        )
        raise DomainError(
            f"column {name!r} has the unknown category {where} ({wrong.size} in all)",
            one_line(allowed),
            advice,
        )
    return codes


def marked_codes(frame: pd.DataFrame, name: str, allowed: tuple[Category, ...]) -> IntArray:
    """Return positions as `column_codes` does, and -1 for what is missing or no category: no value is an error."""
    column = _found_column(frame, name)
    codes = _positions(column, allowed)
    # only there may be intervals, which are found by their text
    if column.dtype == object and np.any(codes < 0):
        codes = _positions(_with_labels(column), allowed)
    return codes


def _positions(column: pd.Series[Any], allowed: tuple[Category, ...]) -> IntArray:
    smallest = smallest_codes(len(allowed))
    if column.dtype == object:
        return _looked_up(column, allowed).astype(smallest)
    try:
        places, kinds = _kinds(column)
    except (TypeError, NotImplementedError, OverflowError):  # types of Arrow that pandas cannot tell apart
        return _positions(column.astype(object), allowed)
    of_kind = np.append(_looked_up([_plain(kind) for kind in kinds.astype(object)], allowed), -1).astype(smallest)
    return of_kind[places]


def _kinds(column: pd.Series[Any]) -> tuple[IntArray, pd.Index[Any]]:
    """Return the different values of a column, and every row's place among them, -1 where it is missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories
    places, kinds = pd.factorize(column)
    return places, pd.Index(kinds)


def _looked_up(values: Iterable[object], allowed: tuple[Category, ...]) -> IntArray:
    known = pd.Index(allowed, dtype=object)
    try:
        return known.get_indexer(_object_index(values))
    except TypeError:  # A list inside a cell cannot be looked up; no category is None.
        return known.get_indexer(_object_index([value if is_hashable(value) else None for value in values]))


def smallest_codes(categories: int) -> np.dtype[Any]:
    """Return the smallest integer type that holds the positions of so many categories, and -1."""
    return np.min_scalar_type(-categories)
