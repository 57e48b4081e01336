"""Tables: views of privatized reports that know where they come from, and sets of them."""

from ldpstats.tables.conditional import Conditional
from ldpstats.tables.crosstab import Crosstab
from ldpstats.tables.functionals import Functional
from ldpstats.tables.pooled import JointReports, pooled_blocks, pooled_measured
from ldpstats.tables.provenance import (
    Collected,
    Consistent,
    Figures,
    Origin,
    Provenance,
    Reconstructed,
    Summed,
    randomized_by,
)
from ldpstats.tables.quantiles import Quantile
from ldpstats.tables.table import Table, checked_table
from ldpstats.tables.table_set import TableSet, checked_table_set

__all__ = [
    "Collected",
    "Conditional",
    "Consistent",
    "Crosstab",
    "Figures",
    "Functional",
    "JointReports",
    "Origin",
    "Provenance",
    "Quantile",
    "Reconstructed",
    "Summed",
    "Table",
    "TableSet",
    "checked_table",
    "checked_table_set",
    "pooled_blocks",
    "pooled_measured",
    "randomized_by",
]
