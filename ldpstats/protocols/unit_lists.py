"""Unit lists: what each respondent may be asked, and by which mechanisms, as plain values of a protocol file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ldpstats.mechanisms import Mechanism, plain_mechanism, read_mechanism
from ldpstats.protocols.groups import label

if TYPE_CHECKING:
    from ldpstats.protocols.assigned import Asked, Row, Unit


def plain_units(units: Sequence[Unit]) -> dict[str, Any]:
    """Return every different mechanism once, and the rows of every unit, which name theirs by its number."""
    asked = [one for unit in units for row in unit for one in row.asked]
    numbers = {one: number for number, one in enumerate(dict.fromkeys(one.mechanism for one in asked))}
    return {
        "mechanisms": [plain_mechanism(one) for one in numbers],
        "units": [[_row(row, numbers) for row in unit] for unit in units],
    }


def read_mechanisms(body: Mapping[str, Any]) -> tuple[Mechanism, ...]:
    """Return the mechanisms of a protocol file that `plain_units` wrote, one for every answer in order."""
    listed = [read_mechanism(one) for one in body["mechanisms"]]
    answers = [one for unit in body["units"] for row in unit for one in row.get("crossed", [row])]
    return tuple(listed[one["mechanism"]] for one in answers)


def _row(row: Row, numbers: Mapping[Mechanism, int]) -> dict[str, Any]:
    """Return a row as plain values: one answer, or several crossed ones, each a number of so many bytes."""
    if len(row.asked) == 1:
        return {"group": label(row.names), **_answer(row.asked[0], numbers)}
    answers = [_answer(one, numbers) for one in row.asked]
    return {"group": label(row.names), "crossed": answers, "bytes": row.wire.report_format.dtype.itemsize}


def _answer(asked: Asked, numbers: Mapping[Mechanism, int]) -> dict[str, Any]:
    question = asked.question
    classes = {} if question.is_identity else {"answers": list(question.classes)}
    return {"attributes": list(question.attributes), "mechanism": numbers[asked.mechanism], **classes}
