"""Extension types: what mechanisms, protocols, hypotheses, estimators and saved classes of your own are made of.

ARCHITECTURE.md has a recipe for each of them, and `tests/recipes` follows it from outside the package.
"""

from ldpstats.answers.questions import Question
from ldpstats.conformance import certify, certify_protocol
from ldpstats.consistency import RECONSTRUCTION_METHODS, ReconstructionMethod, from_marginals
from ldpstats.errors import DomainError, LdpstatsError, NotIdentifiedError, ReportError
from ldpstats.estimation import METHODS, TABLE_METHODS, Estimate, TableMethod
from ldpstats.estimation.blocks import Block
from ldpstats.inference import (
    Hypothesis,
    LinearSubspace,
    LogLinear,
    NullModel,
    ProductOfConditionals,
    null_model_test,
)
from ldpstats.mechanisms import Mechanism, ReportFormat, Reports, register_mechanism
from ldpstats.noise import DenseChannel, MultinomialNoise, NoiseModel, SupportNoise, Tally, TruthOrFake
from ldpstats.numbers.grid import GRID, exp_below, numerator_at_least, numerator_at_most
from ldpstats.numbers.randomness import Draws
from ldpstats.presentation import axes_to_draw_on, summary_of_facts, summary_of_figures
from ldpstats.protocols import LocalProtocol, Protocol, register_protocol
from ldpstats.protocols.assigned import Asked, AssignedQuestions
from ldpstats.saving.files import Saveable
from ldpstats.saving.registered import register
from ldpstats.tables import Table

__all__ = [
    "GRID",
    "METHODS",
    "RECONSTRUCTION_METHODS",
    "TABLE_METHODS",
    "Asked",
    "AssignedQuestions",
    "Block",
    "DenseChannel",
    "DomainError",
    "Draws",
    "Estimate",
    "Hypothesis",
    "LdpstatsError",
    "LinearSubspace",
    "LocalProtocol",
    "LogLinear",
    "Mechanism",
    "MultinomialNoise",
    "NoiseModel",
    "NotIdentifiedError",
    "NullModel",
    "ProductOfConditionals",
    "Protocol",
    "Question",
    "ReconstructionMethod",
    "ReportError",
    "ReportFormat",
    "Reports",
    "Saveable",
    "SupportNoise",
    "Table",
    "TableMethod",
    "Tally",
    "TruthOrFake",
    "axes_to_draw_on",
    "certify",
    "certify_protocol",
    "exp_below",
    "from_marginals",
    "null_model_test",
    "numerator_at_least",
    "numerator_at_most",
    "register",
    "register_mechanism",
    "register_protocol",
    "summary_of_facts",
    "summary_of_figures",
]
