"""Report files: protocols of every form of reports, respondents, and what is done to their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp

DOMAIN = ldp.Domain({"sex": ["F", "M"], "age": ["young", "adult", "old"], "size": list("abcdefghij")})
PROTOCOLS: dict[str, Any] = {
    "numbers": ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="grr"),
    "bytes of one length": ldp.SampledGroups(DOMAIN, k=1, epsilon=1.0, mechanism="olh"),
    "bytes of several lengths": ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="oue"),
    "sets": ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="ss"),
    "numbers and bytes": ldp.PerAttribute(DOMAIN, epsilon=3.0),
    "rows of several answers": ldp.PerAttribute(DOMAIN, epsilon=3.0, k=2),
    "several rows of a unit": ldp.WholeView(DOMAIN, epsilon=2.0, k=1),
    "blocks": ldp.RRBA(DOMAIN, epsilon=1.0, block_size=30),
    "blocks of views": ldp.RRBA(DOMAIN, epsilon=1.0, block_size=30, k=1, answer="view"),
}
SUFFIXES = ("csv", "parquet")


def people(n: int = 300, seed: int = 5) -> pd.DataFrame:
    """Return respondents, each with a token."""
    rng = np.random.default_rng(seed)
    answers = {name: rng.choice(np.array(values), n) for name, values in DOMAIN.categories.items()}
    return pd.DataFrame({**answers, "token": [f"r{seed}-{number}" for number in range(n)]})


def messages(protocol: Any, n: int = 60, seed: int = 7, **more: Any) -> list[dict[str, Any]]:
    """Return what clients of a protocol with assigned questions send."""
    units: dict[int, list[int]] = {}
    for number, row in enumerate(protocol.sent_rows):
        units.setdefault(row.unit, []).append(number)
    columns = {one.row: one for one in protocol.sent(people(n, seed), seed).reports}
    found = []
    for unit, rows in units.items():
        for place in range(len(columns[rows[0]].data)):
            reports = [report_of(protocol, row, columns[row].data[place]) for row in rows]
            found.append({**envelope(protocol), "unit": unit, "reports": reports, "simulated": True, **more})
    return found


def envelope(protocol: Any) -> dict[str, Any]:
    return {"format": "ldpstats answer", "version": 1, "protocol": protocol.fingerprint()}


def report_of(protocol: Any, row: int, report: Any) -> int | str:
    """Return a single report as a message has it."""
    from ldpstats.protocols.wire import to_bytes

    form = protocol.sent_rows[row].wire.report_format
    return int(report) if form.width is None else to_bytes(report[None], form).tobytes().hex()


def write_lines(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in found), encoding="utf-8")
    return path


def with_digest(path: Path, lines: list[str]) -> Path:
    """Write the lines of a report file as CSV, with a last line that fits them."""
    import hashlib

    text = "".join(f"{line}\n" for line in lines)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(f"{text}# end {len(lines) - 2} {digest}\n", encoding="utf-8", newline="")
    return path
