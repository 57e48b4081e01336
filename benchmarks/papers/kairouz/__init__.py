"""Kairouz, Bonawitz & Ramage 2016, Discrete distribution estimation under local privacy."""

from papers.kairouz.optimality import OPTIMALITY
from papers.kairouz.propositions import PROPOSITION_3, PROPOSITION_4

EXHIBITS = (*OPTIMALITY[:2], PROPOSITION_3, PROPOSITION_4, *OPTIMALITY[2:])
