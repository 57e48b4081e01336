"""Wang, Zhang, Feng & Yang 2020, A comprehensive survey on local differential privacy."""

from papers.survey.frequency_formulas import FREQUENCY_FORMULAS
from papers.survey.mean_formulas import MEAN_FORMULAS

EXHIBITS = (FREQUENCY_FORMULAS, MEAN_FORMULAS)
