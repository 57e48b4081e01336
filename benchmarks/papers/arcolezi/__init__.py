"""Arcolezi, Cerna & Palamidessi (2023), On the utility gain of iterative Bayesian update for LDP mechanisms."""

from __future__ import annotations

from papers.arcolezi import figures, listing, section_3, tables
from papers.exhibits import Exhibit

EXHIBITS: tuple[Exhibit, ...] = (*section_3.EXHIBITS, *tables.EXHIBITS, *figures.EXHIBITS, *listing.EXHIBITS)
