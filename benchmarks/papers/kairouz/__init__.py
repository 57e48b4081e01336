"""Kairouz, Bonawitz & Ramage 2016, Discrete distribution estimation under local privacy."""

from papers.kairouz.charts import FIGURE_1, FIGURE_2
from papers.kairouz.open_alphabets import SECTION_5_1
from papers.kairouz.open_figures import FIGURE_3
from papers.kairouz.optimality import OPTIMALITY
from papers.kairouz.propositions import PROPOSITION_3, PROPOSITION_4
from papers.kairouz.sample_sizes import SECTION_4_3

EXHIBITS = (
    *OPTIMALITY[:2],
    PROPOSITION_3,
    PROPOSITION_4,
    SECTION_4_3,
    *OPTIMALITY[2:],
    FIGURE_1,
    FIGURE_2,
    SECTION_5_1,
    FIGURE_3,
)
