"""Sizes of departures from independence: as Cramér's V, as Cohen's w, or as mutual information."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.inference.engine.detectability import TestedAxes
from ldpstats.numbers.arrays import FloatArray, as_array

_USUAL = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class DepartureSize:
    """Size of the departures to find: Cramér's V in two-way tables and Cohen's w in others, or nats if `in_nats`."""

    value: FloatArray
    in_nats: bool = False

    @classmethod
    def of(cls, effect: ArrayLike | None, mutual_information: ArrayLike | None) -> DepartureSize:
        """Read sizes from the one of two arguments that is given; an effect of 0.1 if neither is."""
        if mutual_information is None:
            return cls(_numbers(_USUAL if effect is None else effect, "effect", 1.0))
        if effect is not None:
            raise LdpstatsError(
                f"effect = {shortened(effect)} with mutual_information = {shortened(mutual_information)}", "one of them"
            )
        return cls(_numbers(mutual_information, "mutual_information", math.inf), in_nats=True)

    @classmethod
    def single(cls, effect: float | None, mutual_information: float | None) -> DepartureSize:
        """Read a single size from the arguments."""
        found = cls.of(effect, mutual_information)
        if found.value.ndim:
            came = f"mutual_information = {shortened(mutual_information)}" if found.in_nats else f"effect = {effect!r}"
            raise LdpstatsError(came, "a single number", "`power` takes many, or a whole table.")
        return found

    def cohens_w(self, shape: tuple[int, ...], tested: TestedAxes = None) -> FloatArray:
        """Return the sizes as Cohen's w, the root of Σ δ²/π; mutual information is w²/2, to second order."""
        if not self.in_nats:
            # Cramér's V is a fraction of Cohen's w in two-way tables; others know only w
            return self.value * (math.sqrt(min(shape) - 1) if len(shape) == 2 else 1.0)
        if tested is None and len(shape) != 2:
            raise LdpstatsError(
                f"mutual information in a table of {len(shape)} attributes",
                "two attributes, or two given the others (conditional=True)",
            )
        sides = shape if tested is None else [shape[axis] for axis in tested]
        most = math.log(min(sides))
        if np.any(self.value > most):
            raise LdpstatsError(
                f"a mutual information of {np.max(self.value):g} nats",
                f"up to {most:.3g}, the most that attributes of {' and '.join(map(str, sides))} categories can share",
            )
        return np.sqrt(2 * self.value)

    def in_words(self, shape: tuple[int, ...], tested: TestedAxes = None) -> str:
        """Say how large a single departure is."""
        if self.in_nats:
            return f"{'' if tested is None else 'conditional '}mutual information {float(self.value):g} nats"
        return f"{'V' if len(shape) == 2 else 'w'} = {float(self.value):g}"


def _numbers(values: ArrayLike, what: str, largest: float) -> FloatArray:
    sizes = as_array(values, what)
    if sizes.dtype.kind not in "iuf" or not np.all((sizes >= 0) & (sizes <= largest) & np.isfinite(sizes)):
        allowed = f"numbers from 0 to {largest:g}" if math.isfinite(largest) else "numbers of nats, from 0 on"
        advice = "A larger departure is planned for by its whole table of frequencies."
        raise LdpstatsError(f"{what} = {shortened(values)}", allowed, advice)
    return sizes.astype(float)
