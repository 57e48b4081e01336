"""Registered classes: those whose objects a saved file may hold, by name, and whether their fields have their types."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from inspect import signature
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from ldpstats.errors import LdpstatsError, shortened

_HOMES = {
    "answers.domain": ["Domain"],
    "answers.ordered": ["Ordered"],
    "answers.questions": ["Question"],
    "attacks.auditing": ["Audit"],
    "attacks.poisoning": ["Poisoning"],
    "confidence.confidence_sets": ["FiellerQuotient", "IntervalHull", "NoncentralSquare", "PossibleRange"],
    "confidence.group_means": ["GroupMeans"],
    "confidence.inversion": ["Comparison", "PooledReports", "ScoreInversion"],
    "consistency.consistency_report": ["ConsistencyReport"],
    "consistency.consistent": ["LimitsOfTheFit"],
    "consistency.junction_tree": ["Beliefs", "JunctionTree"],
    "consistency.marginals": ["Marginal"],
    "consistency.profile_limits": ["ProfileLikelihood", "ProfileLimits"],
    "datasets": ["Network"],
    "estimation.blocks": ["Block"],
    "estimation.channel_fit": ["ChannelFit"],
    "estimation.component_tests": ["ComponentTest"],
    "estimation.estimate": ["CombinedShares", "Estimate", "TallySpread"],
    "estimation.likelihood": ["Fitted"],
    "estimation.measured": ["Measured"],
    "estimation.methods": ["NoiseVariance", "ProcessedEstimate"],
    "estimation.rare": ["OwnReports"],
    "identification.bounds": ["AssociationBounds", "Bounds"],
    "inference.effects.cramers_v": ["Association"],
    "inference.effects.effect_size": ["Effect"],
    "inference.engine.detectability": ["NoncentralityProfile"],
    "inference.engine.families": ["LogLinear"],
    "inference.engine.monte_carlo": ["AmongMany", "MonteCarlo"],
    "inference.hypothesis_tests.collectors": ["CollectorComparison", "CollectorTest"],
    "inference.hypothesis_tests.log_linear": ["LogLinearFit"],
    "inference.hypothesis_tests.result": ["Hypothesis", "HypothesisResult"],
    "inference.hypothesis_tests.tested_pairs": ["IndependenceTests", "PairTest"],
    "inference.planning.best_channel": ["BestChannel"],
    "inference.planning.plans": ["Plan"],
    "inference.planning.sizing": ["PowerCurve", "SampleSizeCurve"],
    "inference.published.published_result": ["PublishedResult"],
    "io.headers": ["ReportFile"],
    "io.tokens": ["RepeatedTokens"],
    "mechanisms.base": ["Reports"],
    "mechanisms.channel_privacy": ["ChannelPrivacy", "PairPrivacy"],
    "mechanisms.open_alphabet": ["CandidateAnswers", "CandidateFilters", "OpenRAPPOR", "OpenRR", "OpenReports"],
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
    "noise.additive": ["AdditiveNoise", "DiscreteLaplace", "NoisyCounts", "RoundedGaussian"],
    "noise.channels": ["CohortChannel", "DenseChannel", "TruthOrFake"],
    "noise.hadamard": ["HadamardRandomizedResponse", "HadamardResponse"],
    "noise.pattern_channel": ["PatternChannel"],
    "noise.revealed": ["RevealedBits"],
    "noise.support": ["SummedSupport", "SupportNoise"],
    "noise.tally": ["Tally"],
    "privacy": ["PrivacyStatement"],
    "protocols.hadamard_coefficients": ["HadamardCoefficients"],
    "protocols.repeated_rows": ["Copy", "RepeatedRows"],
    "protocols.rrba.stopping": ["Convergence"],
    "tables.conditional": ["Conditional"],
    "tables.crosstab": ["Crosstab"],
    "tables.functionals": ["Functional"],
    "tables.pooled": ["JointReports"],
    "tables.provenance": ["Collected", "Consistent", "Figures", "LimitsOfReports", "Origin", "Reconstructed", "Summed"],
    "tables.quantiles": ["Quantile"],
    "tables.respondents": ["CrossedRows", "RespondentSet"],
    "tables.table": ["Table"],
    "tables.table_set": ["TableSet"],
    "views.certificate": ["ViewsCertificate"],
}
_MODULES = {name: f"ldpstats.{module}" for module, names in _HOMES.items() for name in names}
_FROM_OUTSIDE: dict[str, type] = {}

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
    >>> from ldpstats.extend import register
    >>> from ldpstats.saving.registered import class_named
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
    known = find_class(name) or cls
    # a module that is imported again brings the same class again
    again = (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
    # names that begin with a small letter are the codec's own words
    if not is_dataclass(cls) or not again or name[:1].islower():
        raise LdpstatsError(f"the class {name}", "a dataclass with a capital name that no registered class has")
    _FROM_OUTSIDE[name] = cls
    return cls


def class_named(name: str) -> type:
    """Return the registered class of this name, which is without that of its module."""
    cls = find_class(name)
    if cls is None:
        raise LdpstatsError(
            f"an object of the class {shortened(name)}",
            "an object of a class of this version of ldpstats",
            "A class from outside the package has to be registered first: ldpstats.extend.register.",
        )
    return cls


def is_registered(cls: type) -> bool:
    """Say whether saved files may hold objects of exactly this class."""
    return find_class(cls.__name__) is cls


def find_class(name: str) -> type | None:
    """Return the registered class of this name, imported when it is first met; None if there is none."""
    if name in _MODULES:
        cls: type = getattr(importlib.import_module(_MODULES[name]), name)
        return cls
    if name in _FROM_OUTSIDE:
        return _FROM_OUTSIDE[name]
    # mechanisms have a registry of their own, so that one line there is enough
    known = importlib.import_module("ldpstats.mechanisms.registry")
    return next((kind for kind in (*known.REGISTRY, *known.OTHERS) if kind.__name__ == name), None)


class KeptField(NamedTuple):
    """An argument of a constructor, which a file keeps of an object."""

    name: str
    fits: Callable[[object], bool]
    """Whether a value is of its type."""
    is_array: bool


@cache
def kept_fields(cls: type) -> tuple[KeptField, ...]:
    """Return the constructor's arguments; fields behind an underscore are caches, and left out."""
    plain = is_dataclass(cls)
    hints = get_type_hints(cls if plain else vars(cls)["__init__"], localns=_Registered(), include_extras=True)
    given = [field.name for field in fields(cls) if field.init] if plain else [*signature(cls).parameters]
    return tuple(
        KeptField(name, check_of(hints[name]), get_origin(unaliased(hints[name])) is np.ndarray)
        for name in given
        if not name.startswith("_")
    )


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


@dataclass(frozen=True, slots=True)
class Within:
    """The range of a number of an annotated type; NaN, which stands for none, is within."""

    least: float
    most: float


Share: TypeAlias = Annotated[float, Within(0, 1)]
"""A probability, or a share of some whole."""
Amount: TypeAlias = Annotated[float, Within(0, float("inf"))]
"""What is not negative, such as a privacy level."""
Count: TypeAlias = Annotated[int, Within(0, float("inf"))]
"""How many there are."""
Check: TypeAlias = Callable[[Any], bool]
_LARGEST = 10**300
"""Whole numbers beyond it are no doubles."""
_NUMBERS: dict[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
}


def unaliased(hint: Any) -> Any:
    """Return what a type alias stands for (`type Name[T] = ...`); numpy's `NDArray` is one from Python 3.12 on."""
    meant, parts = getattr(get_origin(hint) or hint, "__value__", None), get_args(hint)
    if meant is None:
        return hint
    return unaliased(meant[parts] if parts else meant)


def fits(value: object, hint: Any) -> bool:
    """Say whether a value is of a type, whose parts are looked at as well."""
    return check_of(hint)(value)


@cache
def check_of(hint: Any) -> Check:
    """Return what says whether a value is of a type, whose parts are looked at as well.

    A whole number is a float, truth is no number, an array is of its entries' type, and of a protocol its names are
    looked for. No value is a function: files cannot hold any.
    """
    hint = unaliased(hint)
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if hint in _NUMBERS:
        return partial(_is_number, hint)
    if origin in _CHECKS:
        return _CHECKS[origin](parts)
    if getattr(origin, "_is_protocol", False):
        names = [name for name in vars(origin) if not name.startswith("_")]
        # of the class: what is computed when it is asked for is not computed here
        return lambda value: all(hasattr(type(value), name) or name in getattr(value, "__dict__", ()) for name in names)
    return lambda value: isinstance(value, origin)


def _is_number(kind: type, value: Any) -> bool:
    if type(value) is kind is not float:
        return True
    proper = isinstance(value, _NUMBERS[kind]) and (kind is bool or not isinstance(value, bool))
    return proper and (kind is not float or not isinstance(value, int) or abs(value) <= _LARGEST)


def _tuples(parts: tuple[Any, ...]) -> Check:
    if parts[1:] == (Ellipsis,):
        return _collections(tuple)(parts[:1])
    checks = [check_of(part) for part in parts]
    return lambda value: (
        isinstance(value, tuple)
        and (
            not checks
            or (len(value) == len(checks) and all(check(entry) for check, entry in zip(checks, value, strict=True)))
        )
    )


def _collections(*kinds: Any) -> Callable[[tuple[Any, ...]], Check]:
    def check(parts: tuple[Any, ...]) -> Check:
        checks = [check_of(part) for part in parts]
        return lambda value: isinstance(value, kinds) and all(fits(entry) for fits in checks for entry in value)

    return check


def _mappings(parts: tuple[Any, ...]) -> Check:
    name_fits, value_fits = map(check_of, parts or (object, object))
    return lambda value: (
        isinstance(value, Mapping) and all(name_fits(name) and value_fits(entry) for name, entry in value.items())
    )


def _arrays(parts: tuple[Any, ...]) -> Check:
    entries = get_args(parts[1])[0] if len(parts) > 1 else Any
    kind = get_origin(entries) or entries
    return lambda value: (
        isinstance(value, (np.ndarray, np.generic)) and (kind is Any or np.issubdtype(value.dtype, kind))
    )


def _unions(parts: tuple[Any, ...]) -> Check:
    checks = [check_of(part) for part in parts]
    return lambda value: any(check(value) for check in checks)


def _ranges(parts: tuple[Any, ...]) -> Check:
    check, (_, within) = check_of(parts[0]), parts
    return lambda value: check(value) and not (value < within.least or value > within.most)


_CHECKS: dict[Any, Callable[[tuple[Any, ...]], Check]] = {
    Any: lambda _: lambda value: not callable(value),
    NoneType: lambda _: lambda value: value is None,
    Annotated: _ranges,
    Union: _unions,
    UnionType: _unions,
    Literal: lambda parts: lambda value: any(type(value) is type(allowed) and value == allowed for allowed in parts),
    tuple: _tuples,
    **dict.fromkeys((list, Sequence, Iterable, Collection), _collections(list, tuple)),
    frozenset: _collections(frozenset),
    **dict.fromkeys((dict, Mapping), _mappings),
    np.ndarray: _arrays,
    Callable: lambda _: lambda _value: False,
}
