"""Parquet: report files for large collections, as compact as the reports are and read as fast as they can be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.parquet import check_footer, pages_of
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.io.columns import Chunk, Ragged, Source
from ldpstats.io.headers import Header, ReportFile, counted, damaged, read_header, refuse_other_columns
from ldpstats.io.tokens import LONGEST_TOKEN
from ldpstats.limits import LARGEST_GROUP, LARGEST_HEADER, MOST_GROUPS, too_little_memory
from ldpstats.numbers.arrays import IntArray
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import Layout, SentRows, unknown_rows
from ldpstats.protocols.wire import Reason, to_bytes
from ldpstats.saving.files import UNREADABLE, digest

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"PAR1"
_KEY = b"ldpstats"
_ROWS, _BYTES = 1 << 20, 1 << 24
"""The most rows of a row group, and the most bytes of its reports: what a reader holds at once."""
_WIDEST = 8
"""The bytes of the longest number."""
_BLOCK = np.dtype(np.uint32)


class ParquetReports:
    """Writer of reports as Parquet, in row groups that each have a checksum."""

    def __init__(self, file: BinaryIO, layout: Layout, header: Header, *, tokens: bool) -> None:
        _, parquet = _arrow()
        self._layout, self._header, self._tokens = layout, header, tokens
        self._schema = _schema(layout, tokens=tokens)
        # reports that are numbers are packed into as many bits as they need, which a compression would not improve
        numbers = not layout.width
        self._writer = parquet.ParquetWriter(
            file,
            self._schema,
            compression={"token": "zstd", "row": "none", "block": "none", "report": "none" if numbers else "zstd"},
            use_dictionary=["row", "block", *["report"] * numbers],
            write_statistics=False,
            write_page_checksum=True,
        )
        width = int(layout.widths.max()) + LONGEST_TOKEN * tokens
        self._limit = min(_ROWS, max(1, _BYTES // width // 8 * 8))
        self._waiting: list[pa.Table] = []
        self._groups: list[tuple[int, str]] = []

    def add(
        self, row: int, data: NDArray[Any], blocks: IntArray | None = None, tokens: Sequence[str] | None = None
    ) -> None:
        """Write the reports of several respondents in one row (by number) of the protocol."""
        (arrow, _), layout, n = _arrow(), self._layout, len(data)
        if not n:
            return
        kind = self._schema.field("report").type
        if layout.width:
            raw = to_bytes(data, layout.rows[row].wire.report_format)
            buffers = [None, arrow.py_buffer(raw.tobytes())]
            if not arrow.types.is_fixed_size_binary(kind):
                buffers.insert(1, arrow.py_buffer(np.arange(n + 1, dtype=np.int32) * np.int32(raw.shape[1])))
            reports = arrow.Array.from_buffers(kind, n, buffers)
        else:
            reports = arrow.array(data.astype(layout.number, copy=False))
        columns = [arrow.array(np.full(n, row), self._schema.field("row").type), reports]
        columns += [] if blocks is None else [arrow.array(blocks.astype(_BLOCK))]
        columns += [arrow.array(tokens, arrow.string())] if self._tokens else []
        self._waiting.append(arrow.Table.from_arrays(columns, schema=self._schema))
        while sum(map(len, self._waiting)) >= self._limit:
            self._flush()

    def close(self) -> None:
        """Write what is left, and the header with the checksums of all row groups."""
        if any(map(len, self._waiting)):
            self._flush()
        self._writer.add_key_value_metadata({_KEY: self._header.to_text(groups=self._groups)})
        try:
            self._writer.close()
        except BaseException:
            self.give_up()
            raise

    def give_up(self) -> None:
        """Release an unfinished file: else pyarrow's writer would end it when collected, after the file was closed."""
        with suppress(OSError, ValueError):
            self._writer.close()
        self._writer.is_open = False

    def _flush(self) -> None:
        """Write one row group."""
        if len(self._groups) == MOST_GROUPS:
            raise LdpstatsError(
                f"a Parquet file of more than {MOST_GROUPS:,} row groups",
                "as many reports as fit into them",
                "Write several files: tables_of counts them together.",
            )
        whole = _arrow()[0].concat_tables(self._waiting)
        group = whole.slice(0, self._limit).combine_chunks()
        self._waiting = [whole.slice(self._limit)]
        self._writer.write_table(group, row_group_size=self._limit)
        self._groups.append((len(group), checksum(_arrays(group))))


class ParquetSource(Source):
    """Reader of reports in a Parquet file, by row groups."""

    def __init__(self, path: str, name: str) -> None:
        self._path, self.name = path, name
        with _as_damage(name), Path(path).open("rb") as raw:
            _, parquet = _arrow()
            check_footer(raw)
            self._file = parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
            said = (self._file.metadata.metadata or {}).get(_KEY)
            columns = self._file.schema_arrow.names
        if said is None:
            raise LdpstatsError(
                f"the file {name!r}, a Parquet file with the columns {one_line(columns)}",
                "a file of reports, as `write_reports` wrote it",
                "Answers, a row per respondent, are written as reports by `write_reports`.",
            )
        if len(said) > LARGEST_HEADER:
            raise damaged(name, f"its header takes {len(said):,} bytes, and not up to {LARGEST_HEADER:,}")
        self.header, more = read_header(said, name)
        refuse_other_columns(columns, name)
        self.tokens = "token" in columns
        groups = more.get("groups")
        if set(more) != {"groups"} or not isinstance(groups, list):
            raise damaged(name, "its header says nothing about its row groups")
        proper = all(
            isinstance(group, list) and len(group) == 2 and type(group[0]) is int and group[0] > 0 for group in groups
        )
        if not proper:
            raise damaged(name, f"its row groups are {shortened(groups)}")
        self._groups = [(n, digits) for n, digits in groups]
        self.identity, self.size = self.header.collection, sum(n for n, _ in self._groups)
        said, metadata = self._groups, self._file.metadata
        rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        if rows != [n for n, _ in said] or metadata.num_rows != self.size or max(rows, default=0) > _ROWS:
            raise damaged(
                self.name,
                f"it has {metadata.num_rows:,} rows in {len(rows)} row groups, not {self.size:,} in {len(said)}",
            )

    @property
    def about(self) -> list[Any]:
        """A digest of the header, which holds checksums of all row groups."""
        return ["parquet", digest([self.header.to_dict(), self._groups])]

    @property
    def groups(self) -> int:
        """Number of row groups; a chunk ends at the end of each."""
        return len(self._groups)

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return a reader of a protocol's rows; a file of another protocol is refused."""
        self.header.refuse_another(protocol, self.name)
        layout, schema = Layout(protocol.sent_rows, protocol.adaptive), self._file.schema_arrow
        if schema.remove_metadata() != _schema(layout, tokens=self.tokens):
            raise damaged(self.name, f"its columns are {shortened(str(schema.remove_metadata()), 200)}")
        return partial(self._chunks, layout)

    def line(self, position: int) -> str:
        """Name a row in errors: by its number from 1, and its index in a data frame."""
        return f"row {position + 1:,} (index {position})"

    def described(self) -> ReportFile:
        """Return the header's statements and the number of reports in every row; reads the whole file."""
        with _as_damage(self.name):
            rows = (table["row"].to_numpy() for table, _ in self._tables(0))
            return ReportFile.of(
                self.name, "Parquet", self.header, counted(rows, len(self.header.rows)), tokens=self.tokens
            )

    def _chunks(self, layout: Layout, end: int = 0) -> Iterator[Chunk]:
        for group, (table, first) in enumerate(self._tables(end), end):
            yield self._chunk(layout, table, first, group + 1)

    def _tables(self, start: int) -> Iterator[tuple[pa.Table, int]]:
        """Yield row groups from `start` on, each with the place of its first row."""
        first = sum(n for n, _ in self._groups[:start])
        for group in range(start, len(self._groups)):
            with _as_damage(self.name):
                self._refuse_large(group)
                table = self._file.read_row_group(group).combine_chunks()
                as_read = len(table), checksum(_arrays(table))
            if as_read != self._groups[group]:
                raise damaged(self.name, f"the rows from {first:,} on are others than were written")
            yield table, first
            first += len(table)

    def _chunk(self, layout: Layout, table: pa.Table, first: int, end: int) -> Chunk:
        from ldpstats.numbers import kernels

        rows, column = table["row"].to_numpy(), table["report"]
        values = _array(column.chunk(0)) if column.num_chunks else layout.column(0)
        bad: dict[int, Reason] = {}
        fine: Any = slice(None)
        if isinstance(values, Ragged):
            bad, lengths = unknown_rows(rows, layout.rows), values.ends - values.starts
            widths = layout.widths[np.minimum(rows, len(layout.rows) - 1)]
            for position in np.flatnonzero(lengths != widths).tolist():
                reason = Reason(f"a report of {lengths[position]} bytes", f"one of {widths[position]} bytes")
                bad.setdefault(position, reason)
            fine = np.delete(np.arange(len(rows)), list(bad))
            reports = layout.column(len(fine))
            kernels.copy_pieces(values.data, values.starts[fine], values.ends[fine], reports)
        else:
            reports = values
        blocks = table["block"].to_numpy()[fine].astype(np.int64) if layout.blocks else None
        sent = SentRows(self.header.collection, rows[fine], reports, None, self.header.simulated, blocks)
        tokens = _ragged(table["token"].chunk(0)).taken(fine) if self.tokens and len(table) else None

        def content(position: int) -> str:
            row = table.slice(position, 1).to_pylist()[0]
            return json.dumps(row, default=lambda raw: raw.hex(), ensure_ascii=False)

        return Chunk(first, len(table), end, sent, fine if bad else None, bad, content, tokens)

    def _refuse_large(self, group: int) -> None:
        """Refuse a row group that would take more memory than ours do, before it is unpacked."""
        metadata = self._file.metadata.row_group(group)
        with Path(self._path).open("rb") as raw:
            size = sum(
                _unpacked_size(raw, metadata.column(column), kind, metadata.num_rows)
                for column, kind in enumerate(self._file.schema)
            )
        if size > LARGEST_GROUP:
            raise ValueError(f"its row group {group} takes up to {size:,} bytes, and not up to {LARGEST_GROUP:,}")


def _arrow() -> Any:
    """Import pyarrow and pyarrow.parquet, or say how to install them."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise LdpstatsError(
            "a Parquet file where pyarrow is not installed",
            "a file of reports as CSV, which needs nothing else",
            "pip install 'ldpstats[scale]'",
        ) from error
    return pa, parquet


def _schema(layout: Layout, *, tokens: bool) -> pa.Schema:
    arrow, _ = _arrow()
    alike = not layout.are_numbers.any() and len({*layout.widths.tolist()}) == 1
    # one number more than there are rows stands for one that is none
    kinds = [("row", arrow.from_numpy_dtype(np.min_scalar_type(len(layout.rows))))]
    kinds.append(
        (
            "report",
            arrow.binary(layout.width if alike else -1) if layout.width else arrow.from_numpy_dtype(layout.number),
        )
    )
    kinds += [("block", arrow.from_numpy_dtype(_BLOCK))] * layout.blocks + [("token", arrow.string())] * tokens
    return arrow.schema([arrow.field(name, kind, nullable=False) for name, kind in kinds])


def checksum(columns: Iterable[NDArray[Any]]) -> str:
    """Return 16 hexadecimal digits that depend on every byte and on their order: against accidents, not attackers."""
    from ldpstats.numbers.kernels import folded

    total = np.uint64(1)
    for column in columns:
        raw = np.ascontiguousarray(column).view(np.uint8).ravel()
        whole = raw.size - raw.size % _WIDEST
        end = np.zeros(2 * _WIDEST, dtype=np.uint8)
        end[: raw.size - whole] = raw[whole:]
        end[_WIDEST] = raw.size - whole
        total = np.uint64(folded(raw[:whole].view(np.uint64), total))
        total = np.uint64(folded(end.view(np.uint64), total))
    return f"{int(total):016x}"


def _arrays(table: pa.Table) -> Iterator[NDArray[Any]]:
    """Return the columns as arrays of bytes and numbers."""
    for column in table.columns:
        for part in column.chunks:
            values = _array(part)
            if isinstance(values, Ragged):
                yield values.data[values.starts[0] : values.ends[-1]] if len(part) else values.data
                yield values.ends - values.starts
            else:
                yield values


def _unpacked_size(raw: BinaryIO, chunk: Any, kind: Any, rows: int) -> int:
    """Return an upper bound of the bytes that a column of a row group takes, as pages and as an array."""
    texts = kind.physical_type == "BYTE_ARRAY"
    if chunk.compression == "UNCOMPRESSED" and not texts:
        # nobody says of what lies open how large it is; and headers of our numbers take longer to read than the numbers
        return int(chunk.total_compressed_size) + rows * max(int(kind.length), _WIDEST)
    pages = pages_of(raw, chunk)
    return pages.size + rows * (pages.dictionary if texts else max(int(kind.length), _WIDEST))


def _array(column: pa.Array) -> NDArray[Any] | Ragged:
    """Return a column without copying it."""
    import pyarrow as pa

    if column.null_count:
        raise ValueError("it has missing values")
    if pa.types.is_fixed_size_binary(column.type):
        raw, width = np.frombuffer(column.buffers()[1], dtype=np.uint8), column.type.byte_width
        return raw[column.offset * width : (column.offset + len(column)) * width].reshape(len(column), width)
    if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
        return _ragged(column)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=True)
    return values


def _ragged(column: pa.Array) -> Ragged:
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    raw = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    return Ragged(raw, places[:-1], places[1:])


@contextmanager
def _as_damage(name: str) -> Iterator[None]:
    """Turn errors of pyarrow into that of a damaged file."""
    pa, _ = _arrow()
    try:
        yield
    except LdpstatsError:
        raise
    except MemoryError as error:
        raise too_little_memory(f"the report file {name!r}") from error
    except (pa.ArrowException, OSError, *UNREADABLE) as error:
        raise damaged(name, shortened(str(error), 200)) from error
