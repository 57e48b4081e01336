"""The design of a test before anybody is asked: shape of the table, margins, effect size, mechanism and level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, NotIdentifiedError, shortened
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.detectability import (
    NoncentralityProfile,
    TestedAxes,
    degrees_of_freedom,
    even_information,
    principal_information,
    report_information,
)
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import LinearSubspace, ProductOfConditionals
from ldpstats.inference.engine.null_model import NullModel, proper_frequencies
from ldpstats.inference.engine.procedure import noncentrality_of
from ldpstats.mechanisms import Mechanism, best_name, mechanism as named_mechanism
from ldpstats.noise import NoiseModel, Tally
from ldpstats.numbers.arrays import FloatArray, IntArray, as_array, at_least, positive_epsilon, significance

_USUAL = 0.1


def sizes_of(
    effect: ArrayLike | None, mutual_information: ArrayLike | None, *, single: bool = False
) -> tuple[FloatArray, bool]:
    """Read sizes from the one of two arguments that is given, an effect of 0.1 if neither is, and whether in nats."""
    if effect is not None and mutual_information is not None:
        raise LdpstatsError(
            f"effect = {shortened(effect)} with mutual_information = {shortened(mutual_information)}", "one of them"
        )
    in_nats = mutual_information is not None
    what, given, largest = ("mutual_information", mutual_information, math.inf) if in_nats else ("effect", effect, 1.0)
    sizes = _numbers(_USUAL if given is None else given, what, largest)
    if single and sizes.ndim:
        raise LdpstatsError(f"{what} = {shortened(given)}", "a single number", "`power` takes many, or a whole table.")
    return sizes, in_nats


def _numbers(values: ArrayLike, what: str, largest: float) -> FloatArray:
    sizes = as_array(values, what)
    if sizes.dtype.kind not in "iuf" or not np.all((sizes >= 0) & (sizes <= largest) & np.isfinite(sizes)):
        allowed = f"numbers from 0 to {largest:g}" if math.isfinite(largest) else "numbers of nats, from 0 on"
        advice = "A larger departure is planned for by its whole table of frequencies."
        raise LdpstatsError(f"{what} = {shortened(values)}", allowed, advice)
    return sizes.astype(float)


USUAL_POWER = 0.8

Direction: TypeAlias = Literal["average", "least"]
Randomizer: TypeAlias = Mechanism | NoiseModel | str
Margins: TypeAlias = tuple[FloatArray, ...]
Shape: TypeAlias = tuple[int, ...]

_REPORTS = 1000
# the information between all cells is a dense matrix
_MOST_CELLS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class PlannedTest:
    """Independence of attributes with these margins, or for a single one that its frequencies are these.

    All but the dependence of `tested` axes is taken for independent, unless the whole `expected` table is planned for.
    `size` is that of departures to find: Cramér's V in two-way tables and Cohen's w in others, or nats if `in_nats`.
    """

    margins: Margins
    expected: FloatArray | None = None
    direction: Direction = "average"
    tested: TestedAxes = None
    size: FloatArray = field(default_factory=lambda: np.array(_USUAL))
    in_nats: bool = False

    def __post_init__(self) -> None:
        if self.direction not in ("average", "least"):
            raise LdpstatsError(f"direction = {self.direction!r}", "'average' or 'least'")

    @classmethod
    def of(
        cls,
        shape: Shape,
        effect: ArrayLike | None,
        mutual_information: ArrayLike | None,
        margins: Sequence[ArrayLike] | None,
        direction: Direction,
        conditional: bool,
    ) -> PlannedTest:
        """Read a design from what was asked for: an effect's size, or a whole table that shows it."""
        tested = first_two_given_others(shape) if conditional else None
        if effect is None or as_array(effect, "effect").shape != shape:
            size, in_nats = sizes_of(effect, mutual_information)
            return cls(margins_of(shape, margins), None, direction, tested, size, in_nats)
        expected = proper_frequencies(effect, shape, "effect, as a whole table,")
        if margins is not None and len(shape) > 1:
            raise LdpstatsError("margins beside a whole table", "no margins", "The table has its own.")
        if mutual_information is not None:
            raise LdpstatsError("mutual information beside a whole table", "one of them", "The table has its own.")
        if len(shape) > 1:
            axes = range(len(shape))
            margins = [expected.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
        return cls(margins_of(shape, margins), expected.ravel(), direction, tested)

    @property
    def shape(self) -> Shape:
        """The categories of each attribute."""
        return tuple(margin.size for margin in self.margins)

    @property
    def cohens_w(self) -> FloatArray:
        """Sizes as Cohen's w, √(Σ δ²/π), where mutual information is w²/2, to second order; 1 for a whole table."""
        if self.expected is not None:
            return np.ones(())
        shape = self.shape
        if not self.in_nats:
            # Cramér's V is a fraction of Cohen's w in two-way tables; others know only w
            return self.size * (math.sqrt(min(shape) - 1) if len(shape) == 2 else 1.0)
        if self.tested is None and len(shape) != 2:
            raise LdpstatsError(
                f"mutual information in a table of {len(shape)} attributes",
                "two attributes, or two given the others (conditional=True)",
            )
        sides = shape if self.tested is None else [shape[axis] for axis in self.tested]
        most = math.log(min(sides))
        if np.any(self.size > most):
            raise LdpstatsError(
                f"a mutual information of {np.max(self.size):g} nats",
                f"up to {most:.3g}, the most that attributes of {' and '.join(map(str, sides))} categories can share",
            )
        return np.sqrt(2 * self.size)

    @property
    def how_large(self) -> str:
        """A single size in words."""
        if self.in_nats:
            return f"{'' if self.tested is None else 'conditional '}mutual information {float(self.size):g} nats"
        return f"{'V' if len(self.shape) == 2 else 'w'} = {float(self.size):g}"

    @property
    def departure(self) -> str:
        """Which dependence or deviation, of a single size, is to be found."""
        if len(self.shape) == 1:
            return f"a deviation of {self.how_large} from given frequencies of {self.shape[0]} values"
        between = "" if self.tested is None else " between two attributes given the others"
        return f"a dependence of {self.how_large}{between} in a {'x'.join(map(str, self.shape))} table"

    def seen_through(self, noise: NoiseModel) -> NoncentralityProfile:
        """Return what one report through this noise adds to the noncentrality of the test."""
        even = None if self.expected is not None else even_information(noise, self.margins)
        if even is not None:
            # every departure is seen alike, with this information in equally frequent cells
            cells, sides = math.prod(self.shape), [self.shape[axis] for axis in self.tested or ()]
            df = cells - 1 - (sum(side - 1 for side in self.shape) if len(self.shape) > 1 else 0)
            if sides:
                df = cells // math.prod(sides) * math.prod(side - 1 for side in sides)
            return NoncentralityProfile(df, np.array([even / cells]))
        df = degrees_of_freedom(noise, self.shape, self.tested)
        if df == 0:
            raise NotIdentifiedError(
                "reports that tell nothing about the hypothesis", "a mechanism that tells more than the margins"
            )
        if self.expected is not None:
            return NoncentralityProfile(df, self._along(self.expected, noise))
        principal = principal_information(report_information(noise, self.margins, self.tested))
        return NoncentralityProfile(df, principal[:1] if self.direction == "least" else principal)

    def _along(self, expected: FloatArray, noise: NoiseModel) -> FloatArray:
        model: NullModel = ProductOfConditionals.independent(self.shape)
        if len(self.shape) == 1:
            model = LinearSubspace(self.margins[0], np.zeros((expected.size, 0)))
        if self.tested is not None:
            first, second = self.tested
            others = tuple(axis for axis in range(len(self.shape)) if axis not in self.tested)
            model = ProductOfConditionals.independent_given(self.shape, (first,), (second,), others)
        # the frequencies of the reports are all that matters: how many there are, and what they say, does not
        counts = noise.draw(expected, _REPORTS, 1, np.random.default_rng(0))[0]
        names = tuple(f"attribute {axis}" for axis in range(len(self.shape)))
        block = Block(Question(names, self.shape, tuple(range(expected.size))), Tally(noise, counts, _REPORTS))
        return np.array([noncentrality_of(expected, model, BlockEvidence.observed([block]))[0] / _REPORTS])


def noise_of(mechanism: Randomizer, cells: int, epsilon: float) -> NoiseModel:
    """Return the noise of a mechanism (named or given) as protocols count its reports, or a noise model itself."""
    if isinstance(mechanism, str):
        name = best_name(cells, epsilon) if mechanism == "auto" else mechanism
        return named_mechanism(name, k=cells, epsilon=epsilon).finest.noise
    noise = _own_noise(mechanism)
    if noise.cells != cells:
        raise LdpstatsError(
            f"a table of {cells} cells for a mechanism of {noise.cells} values", "a shape whose product is that number"
        )
    return noise


def shape_for(mechanism: Randomizer, shape: int | Sequence[int] | None) -> Shape:
    """Return the shape of the table, which may follow from the mechanism."""
    if is_shape(mechanism):
        raise LdpstatsError(
            f"{shortened(mechanism)} in the place of a mechanism",
            "a mechanism first, then the shape of the table",
            'Write power("grr", (2, 2), epsilon=1.0, n=1000), for example; only `plan` compares all mechanisms.',
        )
    if shape is not None:
        return shape_of(shape)
    if isinstance(mechanism, str):
        raise LdpstatsError(f"the mechanism {mechanism!r} without a shape", "the shape of the table, such as (2, 3)")
    return shape_of(_own_noise(mechanism).cells)


def _own_noise(mechanism: Mechanism | NoiseModel) -> NoiseModel:
    counted: Any = getattr(mechanism, "finest", mechanism)
    noise: Any = getattr(counted, "noise", counted)
    if not hasattr(noise, "report_covariance"):
        raise LdpstatsError(f"a mechanism of type {type(mechanism).__name__}", "a name, a Mechanism or a NoiseModel")
    checked: NoiseModel = noise
    return checked


def is_shape(value: object) -> bool:
    """Say whether something stands for tables and not for mechanisms: numbers of categories, or a domain."""
    numbers = value if isinstance(value, (tuple, list, np.ndarray)) else (value,)
    return isinstance(value, Domain) or (len(numbers) > 0 and all(isinstance(number, Number) for number in numbers))


def shape_of(shape: object) -> Shape:
    """Check a shape: a tuple of sides, each of at least two categories."""
    known = isinstance(shape, str) or is_shape(shape) or not np.size(np.asarray(shape, dtype=object))
    if isinstance(shape, Domain) or not known:
        raise LdpstatsError(
            f"{'a domain' if isinstance(shape, Domain) else shortened(shape)} in the place of a shape",
            "the numbers of categories of one table, such as (2, 3)",
            "It comes second; only `plan` takes all pairs of a domain.",
        )
    sides = shape if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    if not len(sides):
        raise LdpstatsError("a table of no attributes", "at least one number of categories")
    checked = tuple(at_least(side, 2, "the number of categories of an attribute") for side in sides)
    if math.prod(checked) > _MOST_CELLS:
        raise LdpstatsError(f"a table of {math.prod(checked)} cells", f"tables of up to {_MOST_CELLS} cells")
    return checked


def levels_of(mechanism: Randomizer, epsilon: ArrayLike | None) -> FloatArray:
    """Return the levels of a mechanism that is named; others have their own, and 0 stands for it."""
    if isinstance(mechanism, str) == (epsilon is None):
        raise LdpstatsError(
            f"epsilon = {epsilon!r} with the mechanism {shortened(mechanism)}",
            "a level for a mechanism that is named, none for another",
        )
    levels = np.zeros(()) if epsilon is None else as_array(epsilon, "epsilon")
    if not levels.size:
        raise LdpstatsError("no levels", "at least one")
    checked = [positive_epsilon(level) for level in levels.ravel().tolist() if epsilon is not None]
    return np.reshape(np.array(checked, dtype=float), levels.shape) if checked else levels


def respondents_of(n: ArrayLike) -> IntArray:
    """Check numbers of respondents, each at least one."""
    numbers = as_array(n, "n")
    for number in numbers.ravel().tolist():
        at_least(number, 1, "n")
    return numbers


def first_two_given_others(shape: Shape) -> TestedAxes:
    """Return the first two axes of a table, as those that are tested given the others."""
    if len(shape) < 3:
        raise LdpstatsError(
            f"a conditional test in a table of {len(shape)} attributes",
            "two attributes, and at least one that is given",
        )
    return 0, 1


def mechanisms_named(mechanisms: str | Sequence[str]) -> tuple[str, ...]:
    """Return the mechanisms' names, each once."""
    names = tuple(dict.fromkeys(listed(mechanisms)))
    if not names:
        raise LdpstatsError("no mechanisms", "at least one name", "See ldpstats.mechanisms().")
    return names


def randomizers_of(mechanism: Randomizer | Sequence[str]) -> tuple[Randomizer, ...]:
    """Return several mechanisms that are named, or the one that is given."""
    named = isinstance(mechanism, (str, list, tuple)) and not is_shape(mechanism)  # which is refused with the shape
    return mechanisms_named(cast("Sequence[str]", mechanism)) if named else (cast("Randomizer", mechanism),)


def uniform_margins(shape: Shape) -> Margins:
    """Return margins of equally frequent categories."""
    return tuple(np.full(side, 1 / side) for side in shape)


def margins_of(shape: Shape, margins: Sequence[ArrayLike] | None) -> Margins:
    """Check the frequencies of every attribute; uniform ones by default."""
    if margins is None:
        return uniform_margins(shape)
    if len(margins) != len(shape):
        raise LdpstatsError(f"{len(margins)} margins", f"{len(shape)}, one per attribute")
    checked = tuple(proper_frequencies(given, (side,), "a margin") for given, side in zip(margins, shape, strict=True))
    if min(margin.min() for margin in checked) <= 0:
        raise LdpstatsError("a category that does not occur", "margins above zero", "Leave the category out.")
    return checked


def target_power(power: object, alpha: float) -> float:
    """Check the power that is aimed at, which must exceed the level."""
    level = significance(power, "power")
    if level <= alpha:
        raise LdpstatsError(f"a power of {level:g} at level {alpha:g}", "a power above the level")
    return level


def power_in_words(even: bool, direction: Direction, conditional: bool) -> str:
    """Say what power rests on, in sentences."""
    margins = "equally frequent categories" if even else "the margins given"
    beside = ", and no dependence beside the one in question" if conditional else ""
    directions = "averaged over directions" if direction == "average" else "in the direction seen least"
    return f"Assumed: {margins}{beside}. The power is an approximation, {directions}."
