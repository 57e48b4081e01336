"""What collections cost: rows per second and peak memory of every step, beside reading the same file alone.

    python benchmarks/collection_costs.py [divisor]

Every step is a process of its own, so that its peak memory is its own. Sizes: 10^8 reports of GRR, 10^7 of OUE, SS and
OLH as Parquet, 10^6 of GRR and of OUE as CSV; 10^7 respondents with 10 categorical columns are asked in memory. All are
divided by the divisor. The ratio is the speed of counting, where every row is checked, to that of reading the file.
Then two Dask workers count a file, one of them is killed meanwhile, and the counts are compared with those
of one process; and the real answers of statsmodels' `fair` go from the shell to a report. Files stand in a folder that
is gone afterwards. It takes some three minutes on two processors.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

import ldpstats as ldp

DOMAIN = ldp.Domain({f"question {place}": list("wxyz") for place in range(6)})
WIDE = ldp.Domain({f"question {place}": list("vwxyz") for place in range(10)})
AT_ONCE = 1_000_000
SIZES = (
    *(("grr", ".parquet", 100_000_000), ("oue", ".parquet", 10_000_000), ("ss", ".parquet", 10_000_000)),
    *(("olh", ".parquet", 10_000_000), ("grr", ".csv", 1_000_000), ("oue", ".csv", 1_000_000)),
)
Step: TypeAlias = Callable[[Path, str, int], Callable[[], int]]
"""From a file, a mechanism and a number of rows to what is measured, with all that it needs."""
PIPE = (
    "ldpstats domain fair.csv -o domain.json && "
    "ldpstats protocol domain.json --epsilon 4 -o protocol.json && "
    "ldpstats privatize fair.csv --protocol protocol.json -o - | "
    "ldpstats tables - --protocol protocol.json -o - | "
    "ldpstats report - -o report.html"
)


def protocol_of(mechanism: str) -> ldp.SampledGroups:
    """Return the protocol of the files: pairs of six attributes with four categories at ε = 2."""
    return ldp.SampledGroups(DOMAIN, k=2, epsilon=2.0, mechanism=mechanism)


def people(domain: ldp.Domain, n: int) -> pd.DataFrame:
    """Return respondents as pandas categoricals."""
    rng = np.random.default_rng(1)
    columns = {
        name: pd.Categorical.from_codes(rng.integers(0, len(values), n).astype(np.int8), list(values))
        for name, values in domain.categories.items()
    }
    return pd.DataFrame(columns)


def frames(n: int) -> Iterator[pd.DataFrame]:
    """Yield n respondents, a million at a time."""
    some = people(DOMAIN, min(n, AT_ONCE))
    for start in range(0, n, AT_ONCE):
        yield some.head(n - start)


def ask(domain: ldp.Domain) -> Step:
    """Ask a frame of respondents in memory, and count."""

    def prepared(_: Path, mechanism: str, n: int) -> Callable[[], int]:
        frame, asked = people(domain, n), ldp.SampledGroups(domain, k=2, epsilon=2.0, mechanism=mechanism)
        return lambda: asked.collect(frame).n

    return prepared


def write(path: Path, mechanism: str, n: int) -> Callable[[], int]:
    """Privatize and write a file."""

    def written() -> int:
        # it is ours; what respondents sent is not replaced
        path.unlink(missing_ok=True)
        ldp.write_reports(path, protocol_of(mechanism), frames(n))
        return n

    return written


def read(path: Path, _: str, __: int) -> Callable[[], int]:
    """Read a file and do nothing else, as pyarrow does it fastest in constant memory."""
    from pyarrow import csv
    from pyarrow.parquet import ParquetFile

    bare = path.with_name("bare.csv")
    if path.suffix == ".csv":
        # without what only this package knows: the first line and the last
        bare.write_bytes(path.read_bytes().partition(b"\n")[2].removesuffix(b"\n").rpartition(b"\n")[0])

    def lines() -> int:
        return sum(batch.num_rows for batch in csv.open_csv(bare, csv.ReadOptions(block_size=1 << 24)))

    def columns() -> int:
        with ParquetFile(path) as file:
            return sum(batch.num_rows for batch in file.iter_batches(1 << 20))

    return lines if path.suffix == ".csv" else columns


def count(path: Path, mechanism: str, _: int) -> Callable[[], int]:
    """Check every row of a file, and count it."""
    return lambda: ldp.tables_of(path, protocol_of(mechanism)).n


STEPS: dict[str, Step] = {"ask": ask(DOMAIN), "ask wide": ask(WIDE), "write": write, "read": read, "count": count}


def step(name: str, path: str, mechanism: str, n: str) -> None:
    """Take one step, after a small one that compiles all; print how long it took, and what memory."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / f"small{Path(path).suffix}"
        write(small, mechanism, 1000)()
        STEPS[name](small, mechanism, 1000)()
    work, times = STEPS[name](Path(path), mechanism, int(n)), []
    # what is compared is the best of three: others use the machine, too
    for _ in range(3 if name in ("read", "count") else 1):
        began = time.perf_counter()
        rows = work()
        times.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": rows, "seconds": min(times), "megabytes": peak}))


def measured(name: str, path: Path, mechanism: str, n: int) -> dict[str, float]:
    """Take a step in a process of its own."""
    asked = [sys.executable, str(Path(__file__)), "step", name, str(path), mechanism, str(n)]
    found = subprocess.run(asked, check=True, capture_output=True, text=True)  # noqa: S603  # our own step
    plain: dict[str, float] = json.loads(found.stdout.splitlines()[-1])
    return plain


def row_of(kind: str, name: str, found: dict[str, float], beside: dict[str, float] | None = None) -> dict[str, Any]:
    """Return a line of the table."""
    rows = found["rows"]
    ratio = "" if beside is None else f"{beside['seconds'] / found['seconds']:.2f}"
    return {
        "": kind,
        "step": name,
        "rows": f"{rows:,.0f}",
        "seconds": f"{found['seconds']:.2f}",
        "million rows a second": f"{rows / found['seconds'] / 1e6:.2f}",
        "peak memory, MB": f"{found['megabytes']:.0f}",
        "speed / reading": ratio,
    }


def file_costs(folder: Path, divisor: int) -> Iterator[dict[str, Any]]:
    """Yield what each step costs for files of every form."""
    for mechanism, suffix, size in SIZES:
        n, path = max(size // divisor, 100), folder / f"reports{suffix}"
        kind = f"{mechanism}, {suffix.removeprefix('.')}"
        written = measured("write", path, mechanism, n)
        bare, counted = (measured(name, path, mechanism, n) for name in ("read", "count"))
        held = path.stat().st_size / n
        path.unlink()
        yield row_of(kind, f"privatize and write ({held:.2g} bytes a row)", written)
        yield row_of(kind, "read alone", bare)
        yield row_of(kind, "check and count", counted, bare)


def frame_costs(folder: Path, divisor: int) -> Iterator[dict[str, Any]]:
    """Yield what it costs to ask respondents in memory."""
    for name, mechanism, n in (("ask", "grr", 1_000_000), ("ask wide", "grr", 10_000_000)):
        columns = len(WIDE if name == "ask wide" else DOMAIN)
        found = measured(name, folder / "none.parquet", mechanism, max(n // divisor, 100))
        yield row_of(f"{columns} columns", "ask and count in memory", found)


def killed_worker(folder: Path, n: int) -> str:
    """Count a file on two workers, of which one is killed as soon as they work; say whether the counts are the same."""
    import dask
    from distributed import Client, LocalCluster

    path, asked = folder / "reports.parquet", protocol_of("grr")
    write(path, "grr", n)()
    alone = ldp.tables_of(path, asked)
    with (
        dask.config.set({"temporary-directory": str(folder)}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        lost = next(iter(cluster.workers.values())).pid
        over, held = threading.Event(), [0]

        def kill() -> None:
            while not held[0] and not over.wait(0.001):
                held[0] = sum(map(len, client.processing().values()))
            os.kill(lost, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        began = time.perf_counter()
        found = ldp.tables_of(path, asked, scheduler=client)
        took = time.perf_counter() - began
        over.set()
        killer.join()
    same = found.to_json() == alone.to_json()
    told = "the same counts to the last unit" if same else "OTHER COUNTS"
    left = f"one of them killed with {held[0]} or more parts still to be counted"
    return f"Killed worker: {found.n:,} reports on two workers, {left}: {told}, in {took:.1f} s."


def piped_fair(folder: Path) -> str:
    """Take real answers from the shell to a report."""
    import statsmodels.api as sm

    answers = sm.datasets.fair.load_pandas().data
    affairs = np.where(answers["affairs"] > 0, "some", "none")
    answers.assign(affairs=affairs).to_csv(folder / "fair.csv", index=False)
    program = Path(sys.executable).parent
    found = {**os.environ, "PATH": f"{program}:{os.environ['PATH']}"}
    shell = shutil.which("bash") or "sh"
    began = time.perf_counter()
    asked = [shell, "-o", "pipefail", "-c", PIPE]
    subprocess.run(asked, check=True, cwd=folder, env=found, capture_output=True)  # noqa: S603  # our own
    took = time.perf_counter() - began
    size = (folder / "report.html").stat().st_size
    return f"{PIPE}\nReal answers to a report of {size / 1024:,.0f} kB, in five commands: {took:.1f} s."


def main(divisor: int = 1) -> int:
    """Print all costs; the exit code says whether a lost worker changed a count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*frame_costs(folder, divisor), *file_costs(folder, divisor)]
        print(pd.DataFrame(rows).to_string(index=False))
        lost = killed_worker(folder, max(30_000_000 // divisor, 100))
        print(lost)
        print(piped_fair(folder))
    return int("OTHER" in lost)


if __name__ == "__main__":
    if sys.argv[1:2] == ["step"]:
        step(*sys.argv[2:])
    else:
        sys.exit(main(*map(int, sys.argv[1:2])))
