"""Registered classes: those whose objects a saved file may hold, by name, each imported when it is first met."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, NamedTuple, Protocol, TypeVar, get_origin, get_type_hints

import numpy as np

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.saving.hints import check_of, unaliased

_HOMES = {
    "answers.domain": ["Domain"],
    "answers.questions": ["Question"],
    "attacks.auditing": ["Audit"],
    "attacks.poisoning": ["Poisoning"],
    "confidence.comparisons": ["Comparison"],
    "confidence.confidence_sets": ["FiellerQuotient", "IntervalHull", "NoncentralSquare", "PossibleRange"],
    "confidence.inversion": ["PooledReports", "ScoreInversion"],
    "consistency.calm": ["CalmDesign", "DesignProblem"],
    "consistency.consistency_report": ["ConsistencyReport"],
    "consistency.consistent": ["LimitsOfTheFit"],
    "consistency.junction_tree": ["Beliefs", "JunctionTree"],
    "consistency.marginals": ["Marginal"],
    "consistency.profile_likelihood": ["ProfileLikelihood"],
    "consistency.profile_limits": ["ProfileLimits"],
    "datasets": ["Network"],
    "estimation.blocks": ["Block"],
    "estimation.channel_fit": ["ChannelFit"],
    "estimation.component_tests": ["ComponentTest"],
    "estimation.em": ["Fitted"],
    "estimation.estimate": ["Estimate", "TallySpread"],
    "estimation.measured": ["Measured"],
    "estimation.methods": ["ProcessedEstimate"],
    "estimation.postprocessing": ["NoiseVariance"],
    "estimation.rare": ["OwnReports"],
    "identification.bounds": ["AssociationBounds", "Bounds"],
    "inference.effects.cramers_v": ["Association"],
    "inference.effects.effect_size": ["Effect"],
    "inference.engine.detectability": ["Sensitivity"],
    "inference.engine.families": ["LogLinear"],
    "inference.engine.monte_carlo": ["AmongMany", "MonteCarlo"],
    "inference.hypothesis_tests.collector_comparison": ["CollectorComparison", "CollectorTest"],
    "inference.hypothesis_tests.log_linear": ["LogLinearFit"],
    "inference.hypothesis_tests.result": ["Hypothesis", "HypothesisResult"],
    "inference.hypothesis_tests.tested_pairs": ["IndependenceTests", "PairTest"],
    "inference.planning.curves": ["PowerCurve", "SampleSizeCurve"],
    "inference.planning.plans": ["Plan"],
    "inference.published.published_result": ["PublishedResult"],
    "io.described_files": ["ReportFile"],
    "io.repeated_tokens": ["RepeatedTokens"],
    "mechanisms.base": ["Reports"],
    "mechanisms.open_alphabet": ["CandidateAnswers", "CandidateFilters", "OpenRAPPOR", "OpenRR", "OpenReports"],
    "mechanisms.truth_or_fake": ["FakeResponse"],
    "networks.bayesian_network": ["BayesianNetwork"],
    "networks.classifier": ["Classifier"],
    "networks.expected_accuracy": ["ExpectedAccuracy"],
    "networks.learned_network": ["LearnedNetwork"],
    "networks.lopub": ["LoPubModel"],
    "networks.network_comparison": ["NetworkComparison", "RecordLikelihood"],
    "networks.orientation": ["Orientation"],
    "networks.parameters": ["FittedParameters"],
    "networks.queries": ["QueryResult"],
    "networks.structure": ["EdgeConstraints", "Separation", "Structure"],
    "noise.additive": ["AdditiveNoise"],
    "noise.channels": ["DenseChannel", "TruthOrFake"],
    "noise.cohort_channel": ["CohortChannel"],
    "noise.hadamard": ["HadamardRandomizedResponse", "HadamardResponse"],
    "noise.multinomial": ["MultinomialNoise"],
    "noise.noisy_counts": ["DiscreteLaplace", "NoisyCounts", "RoundedGaussian"],
    "noise.pattern_channel": ["PatternChannel"],
    "noise.revealed": ["RevealedBits"],
    "noise.summed": ["SummedSupport"],
    "noise.support": ["SupportNoise"],
    "noise.tally": ["Tally"],
    "privacy": ["PrivacyStatement"],
    "protocols.hadamard_coefficients": ["HadamardCoefficients"],
    "protocols.repeated_rows": ["Copy", "RepeatedRows"],
    "protocols.rrba.stopping": ["Convergence"],
    "tables.conditional": ["Conditional"],
    "tables.crosstab": ["Crosstab"],
    "tables.figures": ["Figures", "LimitsOfReports"],
    "tables.origin": ["Origin"],
    "tables.parts": ["Parts"],
    "tables.pooled": ["JointReports"],
    "tables.provenance": ["Collected", "Consistent", "Reconstructed", "Summed"],
    "tables.rows": ["CrossedRows"],
    "tables.table": ["Table"],
    "tables.table_set": ["TableSet"],
    "views.certificate": ["ViewsCertificate"],
}
_MODULES = {name: f"ldpstats.{module}" for module, names in _HOMES.items() for name in names}
_FROM_OUTSIDE: dict[str, type] = {}
_KEPT: dict[type, tuple[KeptField, ...]] = {}

C = TypeVar("C", bound=type)


def register(cls: C) -> C:
    """Let saved files hold objects of a class from outside the package, such as a mechanism; a class decorator.

    A file names the class, and its objects are made again from their fields: it has to be registered wherever files
    that hold some are read.

    Parameters
    ----------
    cls : type
        A dataclass whose name is not taken.

    Returns
    -------
    type
        The class itself.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from ldpstats.saving.registered import class_named, register
    >>> @register
    ... @dataclass(frozen=True)
    ... class Wish:
    ...     words: str
    >>> class_named("Wish") is Wish
    True
    """
    if not isinstance(cls, type):
        raise LdpstatsError(f"{shortened(cls)} as a class", "a dataclass with a name that no registered class has")
    name = cls.__name__
    known = _found(name) or cls
    # a module that is imported again brings the same class again
    again = (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
    if not is_dataclass(cls) or not again:
        raise LdpstatsError(f"the class {name}", "a dataclass with a name that no registered class has")
    _FROM_OUTSIDE[name] = cls
    return cls


def class_named(name: str) -> type:
    """Return the registered class of this name, which is without that of its module."""
    found = _found(name)
    if found is None:
        raise LdpstatsError(
            f"an object of the class {shortened(name)}",
            "an object of a class of this version of ldpstats",
            "A class from outside the package has to be registered first: ldpstats.saving.registered.register.",
        )
    return found


def is_named(name: str) -> bool:
    """Say whether a registered class has this name."""
    return _found(name) is not None


def is_registered(cls: type) -> bool:
    """Say whether saved files may hold objects of exactly this class."""
    return _found(cls.__name__) is cls


def _found(name: str) -> type | None:
    if name in _MODULES:
        found: type = getattr(importlib.import_module(_MODULES[name]), name)
        return found
    if name in _FROM_OUTSIDE:
        return _FROM_OUTSIDE[name]
    # mechanisms have a registry of their own, so that one line there is enough
    mechanisms = importlib.import_module("ldpstats.mechanisms.registry").REGISTRY
    return next((kind for kind in mechanisms if kind.__name__ == name), None)


class KeptField(NamedTuple):
    """An argument of a constructor, which a file keeps of an object."""

    name: str
    fits: Callable[[object], bool]
    """Whether a value is of its type."""
    is_array: bool


def kept_fields(cls: type) -> tuple[KeptField, ...]:
    """Return the constructor's arguments; fields behind an underscore are caches, and left out."""
    if cls not in _KEPT:
        plain = is_dataclass(cls)
        hints = get_type_hints(cls if plain else vars(cls)["__init__"], localns=_Registered(), include_extras=True)
        given = [one.name for one in fields(cls) if one.init] if plain else [*signature(cls).parameters]
        _KEPT[cls] = tuple(
            KeptField(name, check_of(hints[name]), get_origin(unaliased(hints[name])) is np.ndarray)
            for name in given
            if not name.startswith("_")
        )
    return _KEPT[cls]


class _Graph(Protocol):
    def nodes(self) -> Any: ...

    def edges(self) -> Any: ...


class _Registered(dict[str, Any]):
    """Names of registered classes, and of graphs, for annotations that name what is not imported there."""

    def __missing__(self, name: str) -> Any:
        if name == "Graph":  # of networkx, whose Graph[str] is a type for checkers alone
            return {str: _Graph}
        if name not in _MODULES:
            raise KeyError(name)
        return class_named(name)
