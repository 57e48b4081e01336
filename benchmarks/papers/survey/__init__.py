"""Wang, Zhang, Feng & Yang 2020, A comprehensive survey on local differential privacy."""

from papers.survey.frequency_formulas import FREQUENCY_FORMULAS
from papers.survey.mean_formulas import MEAN_FORMULAS
from papers.survey.means_table import TABLE_9
from papers.survey.oracles_table import TABLE_4

EXHIBITS = (TABLE_4, TABLE_9, FREQUENCY_FORMULAS, MEAN_FORMULAS)
