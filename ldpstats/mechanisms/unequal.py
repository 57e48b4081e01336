"""Unequal protection: randomizers that hide sensitive values alone, and tell the others as often as that allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar, Self

from ldpstats.answers.columns import listed
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.limits import LARGEST_JOINT, written
from ldpstats.mechanisms.channel import RowMechanism, whole_rows
from ldpstats.mechanisms.channel_privacy import Numerators, worst_ratio_of_rows
from ldpstats.numbers.arrays import at_least, integers_below, positive_epsilon
from ldpstats.numbers.grid import GRID, exp_below, numerator_at_least
from ldpstats.privacy import strict_epsilon


@dataclass(frozen=True)
class _SomeSensitive(RowMechanism):
    """Base of randomizers that protect sensitive values alone: utility-optimised LDP.

    A protected output is at most e^ε times as likely under any value as under another; any other output shows for
    certain a value that is not sensitive. So the strict level is infinite, and what holds is a statement about pairs
    of values (`privacy().between`).
    """

    k: int
    sensitive_epsilon: float
    sensitive: tuple[int, ...]

    purpose: ClassVar[str] = "some values sensitive"
    source: ClassVar[str] = "Murakami & Kawamoto 2019"

    @classmethod
    def asked_for(cls, k: int, epsilon: float, **options: Any) -> Self:
        """Return the mechanism for so many values, with this level of what protects the sensitive ones."""
        return cls(k, epsilon, **options)

    @property
    def epsilon(self) -> float:  # type: ignore[override]  # follows from the rows
        """The strict level, which is infinite; that of the sensitive values against all others is a field."""
        return self.strict_epsilon()

    @property
    def values(self) -> None:  # type: ignore[override]  # no field of these classes
        """None: they are numbered."""
        return None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", at_least(self.k, 2, "k", LARGEST_JOINT))
        object.__setattr__(self, "sensitive_epsilon", positive_epsilon(self.sensitive_epsilon))
        chosen = integers_below(listed(self.sensitive), self.k, "sensitive").tolist()
        if not 1 <= len(chosen) < self.k or len({*chosen}) < len(chosen):
            raise LdpstatsError(
                f"sensitive = {shortened(self.sensitive)} of {self.k} values",
                "at least one value and not all of them, each once",
                "Where all are sensitive, GRR and OUE protect them.",
            )
        object.__setattr__(self, "sensitive", tuple(sorted(chosen)))
        if self._outputs > LARGEST_JOINT:
            raise LdpstatsError(
                f"{written(self._outputs)} outputs of {self.name} with {self.k} values", f"{LARGEST_JOINT:,}"
            )

    def _refused(self) -> LdpstatsError:
        return LdpstatsError(
            f"{self.name} at epsilon = {self.sensitive_epsilon!r} with {len(self.sensitive)} sensitive values",
            "levels that show on a grid of 2^-64",
            "Choose a level from 0.1 to 8, or fewer sensitive values.",
        )

    def serves(self, k: int, epsilon: float) -> bool:
        """Say whether there are so many values; only an infinite level is not below the strict one."""
        return self.k == k and self.epsilon <= epsilon


@dataclass(frozen=True)
class URR(_SomeSensitive):
    """Utility-optimised randomized response: the truth, or else one of the sensitive values (uRR).

    That is GRR among the s sensitive values, one of which the others name with s / (s + e^ε - 1) together.

    Parameters
    ----------
    k : int
        The number of values.
    sensitive_epsilon : float
        The level of the sensitive values against all others; `mechanism` calls it epsilon. The strict one is infinite.
    sensitive : sequence of int
        Which values are sensitive: not all, and at least one.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urr = ldp.mechanism("urr", k=4, epsilon=1.0, sensitive=[2, 3])
    >>> urr
    URR(k=4, sensitive_epsilon=1.0, sensitive=(2, 3))
    >>> statement = urr.privacy()
    >>> statement.epsilon, statement.between(2, 0).epsilon, statement.between(0, 2).epsilon
    (inf, 1.0, inf)
    """

    name: ClassVar[str] = "urr"
    aliases: ClassVar[tuple[str, ...]] = ("utility-optimised randomized response",)

    @property
    def _outputs(self) -> int:
        return self.k

    @property
    def outputs(self) -> None:  # type: ignore[override]  # no field of this class
        """Numbers: the outputs are the values."""
        return None

    @cached_property
    def rows(self) -> Numerators:  # type: ignore[override]  # follow from its fields
        """The truth with (e^ε - 1) / (s + e^ε - 1), s being the number of sensitive values; else any one of these."""
        count = len(self.sensitive)
        low = numerator_at_least(1 / (count + exp_below(self.sensitive_epsilon) - 1))
        if count * low >= GRID:
            raise self._refused()
        fake = [low if value in self.sensitive else 0 for value in range(self.k)]
        return tuple(
            tuple(chance + (GRID - count * low) * (output == value) for output, chance in enumerate(fake))
            for value in range(self.k)
        )


@dataclass(frozen=True)
class URAP(_SomeSensitive):
    """Utility-optimised RAPPOR: a bit per value; bits of values that are not sensitive are never set for others (uRAP).

    Bits of sensitive values are set as in SUE, and a value's own bit that is not sensitive with 1 - e^(-ε/2).

    Parameters
    ----------
    k : int
        The number of values.
    sensitive_epsilon : float
        The level of the sensitive values against all others; `mechanism` calls it epsilon. The strict one is infinite.
    sensitive : sequence of int
        Which values are sensitive: not all, and at least one.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urap = ldp.mechanism("urap", k=3, epsilon=1.0, sensitive=[0])
    >>> urap.outputs
    ('000', '010', '001', '100', '110', '101')
    >>> urap.privacy().between(0, 2).epsilon
    1.0
    """

    name: ClassVar[str] = "urap"
    aliases: ClassVar[tuple[str, ...]] = ("utility-optimised rappor",)

    @cached_property
    def _set_bits(self) -> list[tuple[tuple[int, ...], int | None]]:
        """The bits of every output: any of the sensitive values', and none or the one of another value."""
        chosen = product((0, 1), repeat=len(self.sensitive))
        return [*product(chosen, (None, *sorted({*range(self.k)} - {*self.sensitive})))]

    @property
    def _outputs(self) -> int:
        return (self.k - len(self.sensitive) + 1) << len(self.sensitive)

    @property
    def outputs(self) -> tuple[str, ...]:  # type: ignore[override]  # no field of this class
        """The bits of every output, that of the first value first."""
        names = []
        for chosen, own in self._set_bits:
            bits = dict(zip(self.sensitive, chosen, strict=True)) | {own: 1}
            names.append("".join(str(bits.get(value, 0)) for value in range(self.k)))
        return tuple(names)

    @cached_property
    def rows(self) -> Numerators:  # type: ignore[override]  # follow from its fields
        """The product of the chances of all bits; values that are not sensitive differ in their own bit alone."""
        root, count = exp_below(self.sensitive_epsilon / 2), len(self.sensitive)
        low, high, missed = 1 / (root + 1), root / (root + 1), 1 / root
        seen = [(*chosen, own) for chosen in product((0, 1), repeat=count) for own in (0, 1)]
        laws = [[high if bit == value else low for bit in range(count)] for value in range(count + 1)]
        laws = [[*law, 1 - missed if value == count else Fraction(0)] for value, law in enumerate(laws)]
        protected_rows = whole_rows(
            [[prod(p if bit else 1 - p for p, bit in zip(law, bits, strict=True)) for bits in seen] for law in laws]
        )
        # the bits of sensitive values, and whether another one is set
        if strict_epsilon(worst_ratio_of_rows([row[::2] for row in protected_rows])) > self.sensitive_epsilon:
            raise self._refused()
        row_of = {value: protected_rows[row] for row, value in enumerate(self.sensitive)}
        place_of = {bits: column for column, bits in enumerate(seen)}
        return tuple(
            tuple(
                row_of.get(value, protected_rows[-1])[place_of[*chosen, int(own is not None)]]
                if own in (None, value)
                else 0
                for chosen, own in self._set_bits
            )
            for value in range(self.k)
        )
