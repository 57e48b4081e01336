"""Imran & Meo (2024), Collection and analysis of sensitive data by a distributed randomized response protocol."""

from __future__ import annotations

from papers.exhibits import Exhibit
from papers.imran_meo import (
    accounting,
    channel,
    convergence_figures,
    data_and_views,
    estimation,
    table_4,
    tables_5_6,
    version_1,
)

EXHIBITS: tuple[Exhibit, ...] = (
    *data_and_views.EXHIBITS,
    *channel.EXHIBITS,
    *estimation.EXHIBITS,
    *version_1.EXHIBITS,
    *accounting.EXHIBITS,
    *convergence_figures.EXHIBITS,
    *table_4.EXHIBITS,
    *tables_5_6.EXHIBITS,
)
