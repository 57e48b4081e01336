"""Counted files: tables of report files of any size, piece by piece; an interrupted count goes on from a checkpoint."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldpstats.errors import LdpstatsError, ReportError, one_line, shortened
from ldpstats.io.columns import Chunk, Ragged, Source, ahead
from ldpstats.io.messages import MessageSource
from ldpstats.io.quarantines import Quarantine, SetAside, refuse_mostly_bad
from ldpstats.io.sources import STANDARD, Reports, opened_sources, refuse_other_protocols
from ldpstats.io.tokens import LONGEST_TOKEN, REFUSE, KnownTokens, RepeatedTokens, refuse_other_policies
from ldpstats.limits import LARGEST_FILE, enough_memory
from ldpstats.numbers.arrays import BoolArray, at_least, unweighted
from ldpstats.presentation import progress
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import Counting, SentRows
from ldpstats.protocols.partitions import Partitioned, is_partitioned
from ldpstats.protocols.repeated_rows import RepetitionSearch
from ldpstats.protocols.wire import Reason
from ldpstats.saving.files import UNREADABLE, opened, read_file, sealed, write
from ldpstats.tables import TableSet
from ldpstats.tables.provenance import ReportCheck
from ldpstats.workers import Cluster, on_cluster

KIND, VERSION = "unfinished count", 1
_SECONDS = 5.0
"""How much work is lost at most."""
_LOOKED_AT = 1 << 14
"""Rows at once that are looked at one by one."""
_LOOKED_THROUGH = 1 << 24
"""Up to so many rows a look for repeated ones takes less than a second."""


@unweighted
def tables_of(
    reports: Reports | Partitioned,
    protocol: LocalProtocol,
    *,
    quarantine: str | Path | None = None,
    tokens: str = REFUSE,
    resume: str | Path | None = None,
    repeated: bool | None = None,
    scheduler: Cluster | None = None,
) -> TableSet:
    """Count reports in files of any size, in constant memory; every row is checked before it counts.

    A file of another protocol, or one that was edited or cut short, is refused, and so is a file that is given twice.
    Files of several collectors are counted together. Of a protocol in which questions depend on earlier answers every
    file is one collection, and its tables are added to those of the others.

    Parameters
    ----------
    reports : path, data frame, or several of one kind
        Files as `write_reports` writes them, files with the messages of clients, rows that `reports` returned, as CSV
        or as data frames. The path "-" is standard input.
    protocol : LocalProtocol
        The one whose respondents sent them.
    quarantine : path, optional
        Where rows are written that cannot be counted: a new file, or one that an earlier count wrote, which is
        replaced. Without it the first such row is an error; with it results say how many there were. A file of which
        most rows are bad is refused.
    tokens : {"refuse", "once"}
        What becomes of a token that comes twice: an error, or the first report counts, and the tables say how many
        were left out. (A token takes 20 bytes of memory, and as many for each row of a unit of several, in tables of
        which a quarter is empty at least.)
    resume : path, optional
        A file that is written every few seconds. The same call goes on from there after an interruption, and returns
        the same tables at once when all was counted. It is yours to remove, once the tables are saved.
    repeated : bool, optional
        Whether to look for long stretches of rows that stand twice, which reports drawn anew do not do by chance: the
        tables say where there are some (among their `checks`). It takes longer than counting; by default it is done
        for up to 16 million rows. A stretch that stands once before an interruption and once after it is missed, and
        workers of a cluster, who each count a part, look for none.
    scheduler : str or distributed.Client, optional
        That of a Dask cluster, whose workers count the files in parts; they must see them under the same names. Where
        a worker is lost its parts are counted again, so that nothing can be resumed, and tokens, which must be seen
        together, are refused. Data frames of Dask are counted by their partitions, with or without it.

    Returns
    -------
    TableSet

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> protocol = ldp.SampledGroups(domain, k=1, epsilon=1.0)
    >>> people = pd.DataFrame({"sex": ["F", "M"] * 50, "car": ["yes", "no"] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ldp.write_reports(f"{folder}/reports.csv", protocol, people, rng=1)
    ...     tables = ldp.tables_of(f"{folder}/reports.csv", protocol)
    >>> tables.to_json() == protocol.collect(people, rng=1).to_json()
    True
    """
    refuse_other_protocols(protocol)
    refuse_other_policies(tokens)
    names = [str(path) for path in (quarantine, resume) if path is not None]
    if STANDARD in names or len({os.path.realpath(name) for name in names if "\0" not in name}) < len(names):
        raise LdpstatsError(
            f"the name {names[-1]!r} for rows that are set aside, or for how far a count has come",
            "a file for each, of two different ones",
        )
    with enough_memory("these reports"):
        if scheduler is not None or is_partitioned(reports):
            from ldpstats.io.counted_by_workers import counted_by_workers

            _refuse_what_workers_cannot(tokens, resume, repeated=bool(repeated))
            with nullcontext() if scheduler is None else on_cluster(scheduler):
                return counted_by_workers(reports, protocol, quarantine)
        with opened_sources(reports) as sources:
            return Count(sources, protocol, tokens).run(quarantine, resume, repeated)


class Checkpoint:
    """The checkpoint file from which an interrupted count resumes; that of another count is refused.

    `about` are plain values that identify the count: the protocol, and the files in order.
    """

    def __init__(self, path: str | Path, about: list[Any]) -> None:
        # as it is read again
        self._path, self._about = path, json.loads(json.dumps(about))
        self._last = time.monotonic()
        try:
            exists = Path(path).exists()
        except (TypeError, ValueError, OSError) as error:
            raise LdpstatsError(f"the checkpoint {path!r} ({error})", "the name of a file") from error
        self.state: dict[str, Any] = self._read() if exists else {}

    @property
    def due(self) -> bool:
        """Whether the state should be saved again."""
        return time.monotonic() - self._last >= _SECONDS

    def write(self, state: dict[str, Any]) -> None:
        """Save the state of the count, as plain values."""
        write(self._path, sealed(KIND, VERSION, {"about": self._about, "state": state}))
        self._last = time.monotonic()

    def _read(self) -> dict[str, Any]:
        body = read_file(
            self._path, lambda text: opened(text, KIND, VERSION, dict), "the checkpoint of a count", LARGEST_FILE
        )
        if body.get("about") != self._about or not isinstance(body.get("state"), dict):
            raise LdpstatsError(
                f"the checkpoint {str(self._path)!r} of another count: other files, or others by now, "
                "another protocol, or other options",
                "the checkpoint of this very count, or a new name",
                "Nothing in it was changed. Remove it to count anew.",
            )
        state: dict[str, Any] = body["state"]
        return state


class Count:
    """Counting of several sources; its state can be saved to a checkpoint after any chunk."""

    def __init__(self, sources: list[Source], protocol: LocalProtocol, tokens: str) -> None:
        self._sources, self._protocol, self._tokens = sources, protocol, tokens
        refuse_same_collections(sources)
        self._readers = [source.fits(protocol) for source in sources]
        self._known = KnownTokens(protocol.sent_rows)
        self._countings: list[Counting] = [protocol.counting()]
        self._quarantine: Quarantine | SetAside | None = None
        self._search: RepetitionSearch | None = None
        self._done = _Done()

    def run(self, quarantine: str | Path | None, resume: str | Path | None, repeated: bool | None) -> TableSet:
        """Count all sources, from a checkpoint on if there is one; arguments as in `tables_of`."""
        sizes = [source.size for source in self._sources]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        if repeated or (repeated is None and (total or 0) <= _LOOKED_THROUGH):
            self._search = RepetitionSearch(self._protocol.sent_rows)
        with ExitStack() as stack:
            checkpoint = None if resume is None else Checkpoint(resume, self._about(quarantine))
            state = checkpoint.state if checkpoint else {}
            if state:
                self._go_on(state, resume)
            if quarantine is not None:
                kept = checkpoint is not None
                self._quarantine = stack.enter_context(Quarantine(quarantine, state.get("quarantine"), kept=kept))
            bar = stack.enter_context(progress(None, "counting", total, "row"))
            while self._done.source < len(self._sources):
                self._read(checkpoint, bar.update)
            if checkpoint:
                self._write(checkpoint)
            elif isinstance(self._quarantine, Quarantine):
                self._quarantine.settled()
        first, *more = self._countings
        tables = sum((counting.tables() for counting in more), first.tables(set_aside=self._done.all_bad))
        return self._with_checks(tables)

    def _with_checks(self, tables: TableSet) -> TableSet:
        """Add the checks for repeated tokens and repeated rows to the tables."""
        done, checks = self._done, list[ReportCheck]()
        if done.again or done.unnamed:
            rows = sum(counting.n for counting in self._countings) + done.again
            checks.append(RepeatedTokens(rows, done.again, done.unnamed))
        if self._search and (repeated := self._search.found()).copies:
            checks.append(repeated)
        return tables.replaced(checks=(*tables.checks, *checks)) if checks else tables

    def part(self, start: int, stop: int | None, quarantine: SetAside | None) -> tuple[Counting, int, int]:
        """Count a part of the only source, for a worker: return counts, rows read, and messages without a token.

        `start` and `stop` are ends of chunks, in the source's own unit.
        """
        source, read, rows = self._sources[0], self._readers[0], 0
        self._quarantine = quarantine
        for chunk in read(start):
            if chunk.tokens is not None:
                raise ReportError(
                    f"the file {source.name!r}, whose rows have tokens, for the workers of a cluster",
                    "files without tokens: the same one twice is seen where all of them are",
                    "Count this file without a scheduler.",
                )
            self._take(source, chunk)
            rows += chunk.n
            if chunk.end == stop:
                break
        return self._countings[0], rows, self._done.unnamed

    def _read(self, checkpoint: Checkpoint | None, show: Callable[[int], Any]) -> None:
        """Count what is left of the current source."""
        source, read = self._sources[self._done.source], self._readers[self._done.source]
        # closed at once where something goes wrong, not when the error is forgotten
        with closing(ahead(read(self._done.end))) as chunks:
            for chunk in chunks:
                self._refuse_gap(source, chunk.first)
                self._take(source, chunk)
                self._done.end, self._done.rows = chunk.end, self._done.rows + chunk.n
                refuse_mostly_bad(source.name, self._done.bad, self._done.rows, over=False)
                show(chunk.n)
                if checkpoint and checkpoint.due:
                    self._write(checkpoint)
        if source.size is not None:
            self._refuse_gap(source, source.size)
        refuse_mostly_bad(source.name, self._done.bad, self._done.rows, over=True)
        self._done = self._done.next_source()
        if self._protocol.adaptive and self._done.source < len(self._sources):
            self._countings.append(self._protocol.counting())

    def _refuse_gap(self, source: Source, first: int) -> None:
        """Refuse to resume anywhere but behind the last counted row: another version may divide files otherwise."""
        if first != self._done.rows:
            raise LdpstatsError(
                f"a count of {source.name!r} that goes on at row {first + 1:,} after {self._done.rows:,} rows",
                "the checkpoint of this very count, by the same version of ldpstats",
                "Remove the checkpoint, and count anew.",
            )

    def _take(self, source: Source, chunk: Chunk) -> None:
        """Count a chunk at once if all its rows are good; else in parts, bad rows set aside or the first an error."""
        if not chunk.bad and chunk.tokens is None:
            # a chunk with a bad row is refused as a whole; what else may be wrong with it is said again below
            with suppress(ReportError):
                self._count(source, chunk, chunk.rows)
                return
        for part in self._parts(chunk):
            self._set_aside(source, chunk, part.bad)
            if isinstance(self._quarantine, Quarantine):
                refuse_mostly_bad(source.name, self._done.bad, self._done.rows + part.n, over=False)
            rows = part.rows
            if part.tokens is not None and part.places is not None:
                again = self._again(rows, part.tokens)
                if again.any() and self._tokens == REFUSE:
                    first = np.flatnonzero(again)[:1]
                    raise self._twice(source, chunk.first + int(part.places[first[0]]), part.tokens.taken(first))
                self._done.again += int(again.sum())
                rows = rows.taken(np.flatnonzero(~again)) if again.any() else rows
            self._count(source, part, rows)

    def _count(self, source: Source, part: Chunk, rows: SentRows) -> None:
        """Count rows of a part, search them for repeated stretches, if asked, and note messages without a token."""
        self._countings[-1].take(rows)
        if self._search:
            self._search.take(rows)
        if isinstance(source, MessageSource) and part.places is not None:
            named = False if part.tokens is None else part.tokens.ends > part.tokens.starts
            self._done.unnamed += len(np.unique(part.places[~np.broadcast_to(named, len(part.places))]))

    def _parts(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield a chunk in parts of good rows: places stay those of the whole, and `n` counts up to the part's end."""
        all_places = np.arange(chunk.n) if chunk.places is None else chunk.places
        for start in range(0, chunk.n, _LOOKED_AT):
            stop = min(start + _LOOKED_AT, chunk.n)
            here = np.arange(*np.searchsorted(all_places, [start, stop]))
            rows, places = chunk.rows.taken(here), all_places[here]
            tokens = None if chunk.tokens is None else chunk.tokens.taken(here)
            bad = {position: chunk.bad[position] for position in chunk.bad.keys() & range(start, stop)}
            for row, reason in self._countings[-1].bad_rows(rows).items():
                bad.setdefault(int(places[row]), reason)
            if tokens is not None:
                lengths = tokens.ends - tokens.starts
                for row in np.flatnonzero(lengths > LONGEST_TOKEN).tolist():
                    reason = Reason(f"a token of {lengths[row]} bytes", f"up to {LONGEST_TOKEN} bytes")
                    bad.setdefault(int(places[row]), reason)
            if bad:
                fine = np.flatnonzero(~np.isin(places, [*bad]))
                rows, places, tokens = rows.taken(fine), places[fine], tokens and tokens.taken(fine)
            yield replace(chunk, n=stop, rows=rows, places=places, bad=dict(sorted(bad.items())), tokens=tokens)

    def _set_aside(self, source: Source, chunk: Chunk, bad: dict[int, Reason]) -> None:
        for row, reason in bad.items():
            line = source.line(chunk.first + row)
            error = reason.error(f"{line} of {source.name!r}")
            if self._quarantine is None:
                raise error
            self._quarantine.add(source.name, line, f"{reason.came}. Allowed: {reason.allowed}.", chunk.content(row))
        self._done.bad += len(bad)

    def _again(self, rows: SentRows, tokens: Ragged) -> BoolArray:
        """Record the tokens of rows, and return whose token came before; an empty one is none."""
        again, named = np.zeros(len(rows), dtype=np.bool_), np.flatnonzero(tokens.ends > tokens.starts)
        again[named] = self._known.again(rows.rows[named], tokens.taken(named))
        return again

    def _twice(self, source: Source, position: int, token: Ragged) -> ReportError:
        """Return the error about a repeated token, naming its earlier place; all sources are read again for it."""
        where, earlier = f"{source.line(position)} of {source.name!r}", "an earlier row"
        for known, read in zip(self._sources, self._readers, strict=True):
            if (first := self._first_with(token, read)) is not None:
                earlier = f"{known.line(first)} of {known.name!r}"
                break
        return ReportError(
            f"the token {token.text(0)!r} in {where}, which came in {earlier} already",
            "each respondent's reports once",
            "tokens='once' counts the first of them, and says how many were left out.",
        )

    def _first_with(self, token: Ragged, read: Callable[[int], Iterator[Chunk]]) -> int | None:
        """Return the place of the first row of a source with a token."""
        wanted = self._known.hashes(token)
        for chunk in read(0):
            for part in self._parts(chunk):
                if part.tokens is not None and part.places is not None:
                    same = np.flatnonzero(np.all(self._known.hashes(part.tokens) == wanted, axis=1))
                    if same.size:
                        return chunk.first + int(part.places[same[0]])
        return None

    def _about(self, quarantine: str | Path | None) -> list[Any]:
        """Return plain values that identify this count in a checkpoint."""
        unknown = [source.name for source in self._sources if not source.about or source.name == STANDARD]
        if unknown:
            raise LdpstatsError(
                f"an interrupted count of {unknown[0]!r}", "files, which can be read again from any place"
            )
        files = [[source.name, *source.about] for source in self._sources]
        return [self._protocol.fingerprint(), self._tokens, None if quarantine is None else str(quarantine), files]

    def _write(self, checkpoint: Checkpoint) -> None:
        """Save the state, after what was set aside has reached the disk."""
        size = self._quarantine.settled() if isinstance(self._quarantine, Quarantine) else None
        counted = [counting.to_dict() for counting in self._countings]
        checkpoint.write({"done": asdict(self._done), "counted": counted, "quarantine": size})

    def _go_on(self, state: dict[str, Any], resume: str | Path | None) -> None:
        """Restore the state of a checkpoint; one that no count can have written is refused."""
        try:
            written = state.get("quarantine")
            if written is not None:
                at_least(written, 0, "the size of a quarantine")
            self._restore(state)
        except UNREADABLE as error:
            raise LdpstatsError(
                f"the checkpoint {str(resume)!r} with other numbers than a count writes ({shortened(str(error), 200)})",
                "the checkpoint of this very count, as it was written",
                "Remove it, and count anew.",
            ) from error

    def _restore(self, state: dict[str, Any]) -> None:
        """Restore the counts; tokens are read from the files again, since no checkpoint holds them."""
        if {*state} != {"done", "counted", "quarantine"}:
            raise LdpstatsError(f"a state of {one_line([*state])}", "what was done, counted and set aside")
        if {*state["done"]} != {number.name for number in fields(_Done)}:
            raise LdpstatsError(f"progress as {shortened(state['done'])}", "all numbers of it")
        self._done = _Done(**state["done"])
        collections = min(self._done.source + 1, len(self._sources)) if self._protocol.adaptive else 1
        self._countings = [self._protocol.counting() for _ in range(collections)]
        over = self._done.source >= len(self._sources)
        begun = self._done.end or self._done.rows or self._done.bad
        if self._done.source > len(self._sources) or (over and begun):
            raise LdpstatsError(f"{self._done.source} of {len(self._sources)} files", "as many as there are")
        for counting, plain in zip(self._countings, state["counted"], strict=True):
            counting.restore(plain)
        self._refuse_other_sum()
        self._refuse_another_source(state)
        if self._done.source < len(self._sources):
            for number, read in enumerate(self._readers[: self._done.source + 1]):
                if self._sources[number].tokens:
                    self._note_tokens_up_to(self._done.end if number == self._done.source else None, read)

    def _refuse_other_sum(self) -> None:
        """Check that as many rows were counted as were read, but for those set aside or left out."""
        good = self._done.all_rows - self._done.all_bad
        counted = sum(counting.n for counting in self._countings) + self._done.again
        # a message is one row of its file, and several of the protocol where a unit has several
        units = Counter(row.unit for row in self._protocol.sent_rows)
        most = good * (max(units.values()) if any(isinstance(source, MessageSource) for source in self._sources) else 1)
        if not good <= counted <= most:
            raise LdpstatsError(f"{counted:,} rows counted or left out, of {good:,} that could be", "each of them once")

    def _refuse_another_source(self, state: dict[str, Any]) -> None:
        """Check that the counts of the current source's collection match the rows read from it."""
        done = self._done
        source = None if done.source == len(self._sources) else self._sources[done.source]
        if source is None or source.identity is None or isinstance(source, MessageSource):
            return
        known = [plain["respondents"]["counted"].get(source.identity, ()) for plain in state["counted"]]
        counted, fine = sum(n for rows in known for _, n in rows), done.rows - done.bad
        if not fine - done.again <= counted <= fine:
            raise LdpstatsError(
                f"{counted:,} rows of {source.name!r} after {fine:,} that could be", "each of them once"
            )

    def _note_tokens_up_to(self, end: int | None, read: Callable[[int], Iterator[Chunk]]) -> None:
        """Record the tokens of a source's chunks up to the one that ends at `end`; None: all."""
        if end == 0:
            return
        for chunk in read(0):
            if end is not None and chunk.end > end:
                return
            for part in self._parts(chunk):
                if part.tokens is not None:
                    self._again(part.rows, part.tokens)


@dataclass(slots=True)
class _Done:
    """Progress of a count."""

    source: int = 0  # index of the one that is read
    end: int = 0  # where its next chunk begins
    rows: int = 0  # read from it
    bad: int = 0  # of these, set aside
    earlier_rows: int = 0  # of the sources before it
    earlier_bad: int = 0
    again: int = 0  # rows left out because their token came before
    unnamed: int = 0  # clients' messages without a token

    def __post_init__(self) -> None:
        for number in fields(self):
            at_least(getattr(self, number.name), 0, number.name)

    @property
    def all_bad(self) -> int:
        """Rows of all sources that were set aside."""
        return self.earlier_bad + self.bad

    @property
    def all_rows(self) -> int:
        """Rows of all sources that were read."""
        return self.earlier_rows + self.rows

    def next_source(self) -> _Done:
        """Return the progress at the beginning of the next source."""
        return _Done(
            self.source + 1,
            earlier_rows=self.all_rows,
            earlier_bad=self.all_bad,
            again=self.again,
            unnamed=self.unnamed,
        )


def _refuse_what_workers_cannot(tokens: str, resume: str | Path | None, *, repeated: bool) -> None:
    if tokens != REFUSE or resume is not None or repeated:
        asked = {"tokens": tokens != REFUSE, "resume": resume is not None, "repeated": repeated}
        raise LdpstatsError(
            f"{' and '.join(name for name, given in asked.items() if given)} on a cluster",
            "a count that is not resumed, of reports without tokens, not looked through for repeated rows",
            "What a lost worker had counted is counted again by another. Without a scheduler all of it is possible.",
        )


def refuse_same_collections(sources: list[Source]) -> None:
    """Refuse sources that hold the same collection twice."""
    names: dict[str, str] = {}
    for source in sources:
        known = names.setdefault(source.identity, source.name) if source.identity else source.name
        if known != source.name or (source.identity and [other.name for other in sources].count(source.name) > 1):
            raise ReportError(
                f"the file {source.name!r}, which holds the same collection as {known!r}",
                "each collection once",
                "One of them is a copy of the other: leave it out.",
            )
