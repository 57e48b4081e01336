"""Le & Zia (2020), Discrete distribution estimation with local differential privacy: estimators, tables and figures."""

from __future__ import annotations

from papers.exhibits import Exhibit
from papers.le_zia.datasets import EXHIBITS as _DATASETS
from papers.le_zia.estimators import EXHIBITS as _ESTIMATORS
from papers.le_zia.real_data import EXHIBITS as _REAL_DATA
from papers.le_zia.synthetic_data import EXHIBITS as _SYNTHETIC_DATA

EXHIBITS: tuple[Exhibit, ...] = (*_ESTIMATORS, *_DATASETS, *_REAL_DATA, *_SYNTHETIC_DATA)
