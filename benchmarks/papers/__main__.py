"""`make papers`: measures the exhibits of all papers anew, prints ours beside the printed figures, and stores them."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from multiprocessing import Pool

import pandas as pd
from tqdm import tqdm

from papers.catalogue import EXHIBITS
from papers.comparisons import VERDICTS, as_frame
from papers.exhibits import MEASURED, Effort


def main() -> None:
    """Measure the exhibits that are named, or all."""
    parser = argparse.ArgumentParser(prog="make papers", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"how names of exhibits begin; all are: {', '.join(EXHIBITS)}")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs: nothing is stored")
    options = parser.parse_args()
    chosen = _chosen(options.names)
    if not options.quick and not os.access(MEASURED, os.W_OK):
        sys.exit(f"{MEASURED} cannot be written to, and what is measured is stored there. --quick stores nothing.")
    counts: dict[str, pd.Series] = {}
    try:
        for name, comparisons in _done([(name, not options.quick) for name in chosen]):
            counts[name] = comparisons["verdict"].value_counts()
    except KeyboardInterrupt:
        sys.exit(f"\nstopped after {len(counts)} of {len(chosen)} exhibits; the others are as they were.")
    table = pd.DataFrame(counts).T.reindex(columns=list(VERDICTS)).fillna(0).astype(int)
    print(f"\nVerdicts\n{table.loc[chosen].to_string()}\nin all: {table.sum().to_dict()}")


def _chosen(names: list[str]) -> list[str]:
    """Return the exhibits that are named by their beginnings, all if none is; a beginning that none has is refused."""
    unknown = [name for name in names if not any(exhibit.startswith(name) for exhibit in EXHIBITS)]
    if unknown:
        sys.exit(f"no exhibit begins with {' or '.join(unknown)}. There are: {', '.join(EXHIBITS)}.")
    return [name for name in EXHIBITS if not names or name.startswith(tuple(names))]


def _done(jobs: list[tuple[str, bool]]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Measure two at a time, and print each when it is done."""
    # an interrupt is for this process, which ends the others
    with (
        Pool(2, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
        tqdm(pool.imap_unordered(_measured, jobs), total=len(jobs), unit="exhibit") as done,
    ):
        for name, seconds, comparisons in done:
            done.write(f"\n{name}: {EXHIBITS[name].title} ({seconds:.0f} s)\n{comparisons.to_string(index=False)}")
            yield name, comparisons


def _measured(job: tuple[str, bool]) -> tuple[str, float, pd.DataFrame]:
    name, full = job
    began = time.monotonic()
    measured = EXHIBITS[name].measure(Effort(full))
    comparisons = EXHIBITS[name].store(measured) if full else as_frame(measured.comparisons)
    return name, time.monotonic() - began, comparisons


if __name__ == "__main__":
    main()
