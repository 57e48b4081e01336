"""`make papers`: measures the exhibits of all papers anew, prints ours beside the printed figures, and stores them."""

from __future__ import annotations

import argparse
import sys
import time
from multiprocessing import Pool

import pandas as pd
from tqdm import tqdm

from papers.catalogue import EXHIBITS
from papers.comparisons import VERDICTS, as_frame
from papers.exhibits import Effort


def main() -> None:
    """Measure the exhibits that are named, or all."""
    parser = argparse.ArgumentParser(prog="make papers", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"how names of exhibits begin; all are: {', '.join(EXHIBITS)}")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs: nothing is stored")
    options = parser.parse_args()
    chosen = [name for name in EXHIBITS if not options.names or name.startswith(tuple(options.names))]
    if not chosen:
        sys.exit(f"no exhibit begins with {' or '.join(options.names)}. There are: {', '.join(EXHIBITS)}.")
    jobs = [(name, not options.quick) for name in chosen]
    counts: dict[str, pd.Series] = {}
    with Pool(2) as pool, tqdm(pool.imap_unordered(_measured, jobs), total=len(jobs), unit="exhibit") as done:
        for name, seconds, comparisons in done:
            counts[name] = comparisons["verdict"].value_counts()
            done.write(f"\n{name}: {EXHIBITS[name].title} ({seconds:.0f} s)\n{comparisons.to_string(index=False)}")
    table = pd.DataFrame(counts).T.reindex(columns=list(VERDICTS)).fillna(0).astype(int)
    print(f"\nVerdicts\n{table.loc[chosen].to_string()}\nin all: {table.sum().to_dict()}")


def _measured(job: tuple[str, bool]) -> tuple[str, float, pd.DataFrame]:
    name, full = job
    began = time.monotonic()
    measured = EXHIBITS[name].measure(Effort(full))
    comparisons = EXHIBITS[name].store(measured) if full else as_frame(measured.comparisons)
    return name, time.monotonic() - began, comparisons


if __name__ == "__main__":
    main()
