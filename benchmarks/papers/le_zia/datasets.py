"""Table I: the datasets, beside the counts that the other tables are measured on."""

from __future__ import annotations

from papers.comparisons import NOT_REPRODUCIBLE, Comparison, compared, printed_figures
from papers.exhibits import Effort, Exhibit, Measured
from papers.one_way_counts import one_way_counts

NO_CENSUS = "The data of US Census 1990 are not on the package registries."


def table_1(_effort: Effort) -> Measured:
    """Count respondents and values."""
    counts = one_way_counts()
    sizes = {(name, "d"): len(values) for name, values in counts.items()}
    sizes |= {(name.partition(",")[0], "n"): int(values.sum()) for name, values in counts.items()}
    return Measured(
        [
            compared(place, sizes[place[1:3]])
            if place[1:3] in sizes
            else Comparison(*place, "", NOT_REPRODUCIBLE, NO_CENSUS)
            for place in printed_figures("le-zia-2020-table-1").itertuples(index=False, name=None)
        ]
    )


EXHIBITS = (
    Exhibit(
        "le-zia-2020-table-1",
        "Le & Zia, Table I: the real datasets",
        "Statlog is the Australian credit data, Adult the file `adult.data` alone, without its test part. The domain "
        'sizes of Occupation and Country are met only if an unknown value ("?") is taken for a value, so that is what '
        "the paper does.",
        table_1,
    ),
)
