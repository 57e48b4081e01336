"""Encodings: the text in the bytes of a file, whatever program wrote them."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib

from ldpstats.errors import LdpstatsError

LARGEST = 1 << 30
"""The most bytes of a file of answers, also unpacked."""
_CSV = "text as CSV in UTF-8, also packed by gzip, or Parquet"
_SAVE_AS = "Save the sheet as CSV (UTF-8), one row per respondent, and take that file."
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": ("an Excel workbook, or another file of Microsoft Office", _SAVE_AS),
    b"%PDF": ("a PDF document", "Export the table as CSV."),
    b"SQLite format 3": ("a database", "Export the table as CSV."),
    b"$FL2": ("a file of SPSS", "Export it as CSV, with labels instead of codes."),
    b"$FL3": ("a file of SPSS", "Export it as CSV, with labels instead of codes."),
    b"<stata_dta>": ("a file of Stata", "Export it as CSV, with labels instead of codes."),
}
_PACKED, _GZIPPED = b"PK\x03\x04", b"\x1f\x8b"
_SAMPLE = 1 << 12
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def unpacked(data: bytes, name: str) -> bytes:
    """Return the bytes of a file as they were before gzip packed them; others as they are.

    Parameters
    ----------
    data : bytes
    name : str
        Of the file, for errors.
    """
    if not data.startswith(_GZIPPED):
        return data
    try:
        with gzip.open(io.BytesIO(data)) as file:
            whole = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LdpstatsError(f"{name}, packed by gzip, which cannot be unpacked ({error})", "a whole file") from error
    if len(whole) > LARGEST:
        raise LdpstatsError(f"{name} with more than {LARGEST:,} bytes when unpacked", f"up to {LARGEST:,} bytes")
    return whole


def text_of(data: bytes, name: str) -> tuple[str, list[str]]:
    """Return the text in the bytes of a file, and what must be said about its encoding.

    Parameters
    ----------
    data : bytes
    name : str
        Of the file, for errors.

    Examples
    --------
    >>> text_of("größer".encode("utf-16"), "a file")
    ('größer', [])
    >>> text_of("größer".encode("cp1252"), "a file")
    ('größer', ['a file is not in UTF-8; its letters were read as those of Windows-1252 (Western European).'])
    """
    _refuse_foreign(data, name)
    encoding = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
    notes: list[str] = []
    try:
        text = data.decode(encoding or _unmarked(data))
    except UnicodeDecodeError as error:
        if encoding is not None or b"\0" in data:
            raise LdpstatsError(f"{name}, which is no text ({error.reason})", _CSV) from error
        text = data.decode("cp1252", errors="replace")
        notes = [f"{name} is not in UTF-8; its letters were read as those of Windows-1252 (Western European)."]
        if "\N{REPLACEMENT CHARACTER}" in text:
            raise LdpstatsError(f"{name}, in an unknown encoding", _CSV, "Save it again in UTF-8.") from error
    if "\0" in text:
        raise LdpstatsError(f"{name}, which is no text but binary data", _CSV)
    return text, notes


def _unmarked(data: bytes) -> str:
    """Return UTF-8, or UTF-16 where every other byte is zero, as in text of mostly Latin letters."""
    head = data[:_SAMPLE]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 2 > len(head) // 2 and min(even, odd) * 8 < len(head) // 2:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def _refuse_foreign(data: bytes, name: str) -> None:
    for mark, (what, advice) in _FOREIGN.items():
        if data.startswith(mark):
            raise LdpstatsError(f"{name}, which is {what}", _CSV, advice)
    if data.startswith(_PACKED):
        workbook = b"xl/" in data or b"[Content_Types].xml" in data[:_SAMPLE]
        what, advice = ("an Excel workbook", _SAVE_AS) if workbook else ("a packed archive", "Unpack it first.")
        raise LdpstatsError(f"{name}, which is {what}", _CSV, advice)
