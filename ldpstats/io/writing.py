"""Writing: what respondents send, and messages of their clients, as report files."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ldpstats.answers.columns import frame_column
from ldpstats.answers.frames import Frame, checked_frame
from ldpstats.errors import LdpstatsError, ReportError, shortened
from ldpstats.io.csv_files import CsvReports, CsvSource
from ldpstats.io.headers import Header
from ldpstats.io.messages import Message, MessageReader
from ldpstats.io.parquet_files import ParquetReports, ParquetSource
from ldpstats.io.sources import STANDARD, is_report_file, open_source, refuse_other_protocols
from ldpstats.io.tokens import checked_tokens
from ldpstats.numbers.arrays import unweighted
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.presentation import progress
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import Layout, by_row, decoded_reports
from ldpstats.saving.files import replacing
from ldpstats.tables.respondents import new_identity

Writer: TypeAlias = ParquetReports | CsvReports
_WRITERS: dict[str, type[Writer]] = {".parquet": ParquetReports, ".csv": CsvReports, STANDARD: CsvReports}


@unweighted
def write_reports(
    path: str | Path,
    protocol: LocalProtocol,
    frames: Frame | Iterable[Frame],
    rng: Rng = None,
    *,
    tokens: str | None = None,
    counts: str | None = None,
) -> None:
    """Write what the respondents of a frame send, in random order; the file is written as a whole or not at all.

    Parameters
    ----------
    path : str or Path
        Its suffix says what becomes of it: .parquet or .csv. The path "-" is standard output, as CSV. A report file
        of simulated reports that exists is replaced; any other one is left as it is, and refused.
    protocol : LocalProtocol
    frames : DataFrame, or an iterator or list of them
        A row per respondent. Of several frames one is held at a time, and its respondents follow those of the one
        before; where questions depend on earlier answers, all are held.
    rng : int or Generator, optional
        A seed makes a simulation, and the file says so.
    tokens : str, optional
        The column with a text for every respondent that nobody else has, which is written beside her reports: whoever
        sends twice is noticed. It must not tell anything else about her, and it links all that she sends.
    counts : str, optional
        For a frequency table: the column that says for how many respondents a row stands.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import ldpstats as ldp
    >>> protocol = ldp.SampledGroups(ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), k=1, epsilon=1.0)
    >>> people = pd.DataFrame({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ldp.write_reports(f"{folder}/reports.csv", protocol, people, rng=1)
    ...     print(Path(f"{folder}/reports.csv").read_text().splitlines()[1:4])
    ['row,report', '0,0', '1,1']
    """
    refuse_other_protocols(protocol)
    if tokens is not None and counts is not None:
        raise LdpstatsError(
            "tokens of respondents who are counted", "tokens, or counts", "Each respondent has her own."
        )
    # true answers beside the reports that are to hide them
    if tokens in protocol.domain.names:
        raise LdpstatsError(
            f"tokens = {shortened(tokens)}, which the protocol asks about",
            "a column that tells nothing about respondents, such as random texts",
            "Whoever reads the file would read the answers.",
        )
    source = None if rng is None else generator(rng)
    several = isinstance(frames, (list, tuple, Iterator))
    parts: Iterator[pd.DataFrame] = map(
        checked_frame, frames if isinstance(frames, (list, tuple, Iterator)) else [frames]
    )
    if several and protocol.adaptive:
        whole = [*parts]
        parts = iter([pd.concat(whole)] if whole else [])
    first = next(parts, None)
    if first is None:
        raise LdpstatsError("no data frame at all", "at least one")
    sent = protocol.sent(first, source, counts=counts)
    header = Header.of(protocol, sent.identity, simulated=sent.simulated)
    with _writing(path, protocol, header, tokens=tokens is not None) as writer:
        shown = progress(chain([first], parts), "writing", None if several else 1, "frame")
        for number, frame in enumerate(shown):
            more = protocol.sent(frame, source, counts=counts) if number else sent
            named = (
                None if tokens is None else np.array(checked_tokens(frame_column(frame, tokens).tolist()), dtype=object)
            )
            for reported in more.reports:
                own = None if named is None else named[reported.people].tolist()
                writer.add(reported.row, reported.data, reported.blocks, own)


def write_messages(
    path: str | Path, protocol: LocalProtocol, messages: Iterable[str | bytes | Mapping[str, Any]]
) -> None:
    """Write what clients sent, one message each, as a compact report file: as a whole or not at all.

    Messages may come from anywhere, one at a time, such as the lines of an open file. A message that no client of the
    protocol sends is refused, naming its number. (`tables_of` reads a file of messages as well, and can set bad ones
    aside. Count that file or this one: it has no mark by which both were known as the same.)

    Parameters
    ----------
    path : str or Path
        As in `write_reports`.
    protocol : LocalProtocol
    messages : iterable of str, bytes or mapping
        As JSON, or what JSON says.

    Examples
    --------
    >>> import tempfile
    >>> import ldpstats as ldp
    >>> protocol = ldp.SampledGroups(ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), k=1, epsilon=1.0)
    >>> message = {"format": "ldpstats answer", "version": 1, "protocol": protocol.fingerprint(),
    ...            "unit": 0, "reports": [1], "simulated": True}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ldp.write_messages(f"{folder}/reports.csv", protocol, [message, {**message, "unit": 1}])
    ...     ldp.tables_of(f"{folder}/reports.csv", protocol)["sex"].n
    1
    """
    refuse_other_protocols(protocol)
    if protocol.adaptive:
        raise LdpstatsError(
            f"messages for a protocol of the kind {protocol.kind!r}",
            "clients whose questions do not depend on earlier answers",
            "protocol.aggregator(journal=...) takes the answers to its queries one by one.",
        )
    if not isinstance(messages, Iterable):
        raise LdpstatsError(f"messages {shortened(messages)}", "a list of messages, or anything that yields them")
    reader, waiting, done = MessageReader(protocol), iter(messages), 0
    with ExitStack() as opened:
        while some := list(islice(waiting, reader.at_once)):
            answers, rows, places, bad = reader.read(some)
            if bad:
                raise bad[min(bad)].error(f"message {done + min(bad) + 1:,}")
            if not done:
                simulated, named = answers[0].simulated, any(answer.token for answer in answers)
                header = Header.of(protocol, new_identity(None, ()), simulated=simulated)
                writer = opened.enter_context(_writing(path, protocol, header, tokens=named))
            _refuse_unlike(answers, done, simulated=simulated, named=named)
            for row, here in by_row(rows.rows):
                data, _ = decoded_reports(rows.reports[here], protocol.sent_rows[row].wire)
                tokens = [answers[position].token for position in places[here].tolist()] if named else None
                writer.add(row, data, None, tokens)
            done += len(some)
    if not done:
        raise LdpstatsError("no messages at all", "at least one")


def _refuse_unlike(answers: Sequence[Message], done: int, *, simulated: bool, named: bool) -> None:
    """Refuse messages that are not like the first one, or whose tokens not every kind of file can hold."""
    for number, answer in enumerate(answers, done + 1):
        if answer.simulated != simulated or (answer.token and not named):
            unlike = "has a token" if answer.simulated == simulated else f"says simulated = {answer.simulated}"
            raise ReportError(
                f"the message {number:,}, which {unlike}, unlike the first one",
                "messages that are all alike in that",
                "Write the others to a file of their own.",
            )
    checked_tokens([answer.token for answer in answers if answer.token])


@contextmanager
def _writing(path: str | Path, protocol: LocalProtocol, header: Header, *, tokens: bool) -> Iterator[Writer]:
    """Open a report file, or standard output, and close it when all is written."""
    kind = _WRITERS.get(STANDARD if str(path) == STANDARD else Path(str(path)).suffix.lower())
    if kind is None or not isinstance(path, (str, Path)):
        raise LdpstatsError(
            f"a report file {shortened(path)}", f"names that end with {' or '.join(list(_WRITERS)[:2])}, or '-'"
        )
    layout = Layout(protocol.sent_rows, protocol.adaptive)
    if str(path) == STANDARD:
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            raise LdpstatsError("standard output, which is closed or takes text only", "standard output of a program")
        writer = kind(stream, layout, header, tokens=tokens)
        yield writer
        writer.close()
        stream.flush()
        return
    with replacing(path, _refuse_foreign) as file:
        writer = kind(file, layout, header, tokens=tokens)
        try:
            yield writer
        except BaseException:
            writer.give_up()
            raise
        writer.close()


def _refuse_foreign(target: Path) -> int | None:
    """Refuse to replace anything but simulated reports, which can be made again; return the permissions of the file."""
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(status.st_mode):
        with target.open("rb") as file:
            head = file.read(64)
        if not head or (is_report_file(head) and _says_simulated(target)):
            return stat.S_IMODE(status.st_mode)
        came = "holds reports that are not simulated" if is_report_file(head) else "is no report file"
    else:
        came = "is no ordinary file"
    raise LdpstatsError(
        f"{str(target)!r}, which {came}",
        "a new name, or that of a file of simulated reports, which is replaced",
        "Nothing in it was changed: what respondents sent cannot be made again.",
    )


def _says_simulated(target: Path) -> bool:
    """Say whether a report file's header says that it is simulated; False if it cannot be read."""
    try:
        source = open_source(str(target))
    except ReportError:
        return False
    return isinstance(source, (ParquetSource, CsvSource)) and source.header.simulated
