"""Unequal protection: randomizers that hide sensitive values alone, and tell the others as often as that allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import ClassVar

from ldpstats.answers.columns import listed
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.limits import LARGEST_JOINT
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.channel import RowMechanism, whole_rows
from ldpstats.mechanisms.channel_privacy import Numerators
from ldpstats.numbers.arrays import integers_below
from ldpstats.numbers.grid import exp_below


@dataclass(frozen=True)
class _SomeSensitive(RowMechanism):
    """Base of randomizers in which the first values, or those named, are sensitive, and their outputs protected.

    A protected output is at most e^ε times as likely under any value as under another; any other output shows for
    certain a value that is not sensitive. So the strict level is infinite: what holds is a statement about pairs of
    values (`privacy().between`), utility-optimised LDP.
    """

    k: int
    epsilon: float
    sensitive: tuple[int, ...]

    purpose: ClassVar[str] = "some values sensitive"
    source: ClassVar[str] = "Murakami & Kawamoto 2019"

    @property
    def values(self) -> None:  # type: ignore[override]  # no field of these classes
        """None: they are numbered."""
        return None

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        chosen = integers_below(listed(self.sensitive), self.k, "sensitive").tolist()
        if not 1 <= len(chosen) < self.k or len({*chosen}) < len(chosen):
            raise LdpstatsError(
                f"sensitive = {shortened(self.sensitive)} of {self.k} values",
                "at least one value and not all of them, each once",
                "Where all are sensitive, GRR and OUE protect them.",
            )
        object.__setattr__(self, "sensitive", tuple(sorted(chosen)))
        if self._outputs > LARGEST_JOINT:
            raise LdpstatsError(f"{self._outputs:,} outputs of {self.name} with {self.k} values", f"{LARGEST_JOINT:,}")

    def serves(self, k: int, epsilon: float) -> bool:
        """Say whether there are so many values; only an infinite level is not below the strict one."""
        return self.k == k and self.strict_epsilon() <= epsilon


@dataclass(frozen=True)
class URR(_SomeSensitive):
    """Utility-optimised randomized response: GRR among the sensitive values; others tell the truth, or one of those.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of what protects the sensitive values: of these outputs, not the strict one, which is infinite.
    sensitive : sequence of int
        Which values are sensitive.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urr = ldp.mechanism("urr", k=4, epsilon=1.0, sensitive=[2, 3])
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
    def rows(self) -> Numerators:  # type: ignore[override]
        """Sensitive values are told e^ε times as often as each other one of these; all others as rarely name these."""
        likelihood, count = exp_below(self.epsilon), len(self.sensitive)
        low = 1 / (count + likelihood - 1)
        protected = set(self.sensitive)

        def entry(value: int, output: int) -> Fraction:
            if output in protected:
                return likelihood * low if output == value else low
            return 1 - count * low if output == value else Fraction(0)

        return whole_rows([[entry(value, output) for output in range(self.k)] for value in range(self.k)])


@dataclass(frozen=True)
class URAP(_SomeSensitive):
    """Utility-optimised RAPPOR: a bit per value; bits of values that are not sensitive are never set for others.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of reports in which only bits of sensitive values are set; the strict one is infinite.
    sensitive : sequence of int
        Which values are sensitive.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urap = ldp.mechanism("urap", k=3, epsilon=1.0, sensitive=[0])
    >>> urap.outputs
    ('000', '001', '010', '100', '101', '110')
    >>> urap.privacy().between(0, 2).epsilon
    1.0
    """

    name: ClassVar[str] = "urap"
    aliases: ClassVar[tuple[str, ...]] = ("utility-optimised rappor",)

    @cached_property
    def _laws(self) -> list[list[Fraction]]:
        """How likely each value sets each bit."""
        root = exp_below(self.epsilon / 2)
        protected = set(self.sensitive)

        def chance(value: int, bit: int) -> Fraction:
            if bit in protected:
                return (root if bit == value else 1) / (root + 1)
            return 1 - 1 / root if bit == value else Fraction(0)

        return [[chance(value, bit) for bit in range(self.k)] for value in range(self.k)]

    @cached_property
    def _patterns(self) -> tuple[tuple[int, ...], ...]:
        """The bits of every output: any of the sensitive values', and none or one of the others'."""
        others = [bit for bit in range(self.k) if bit not in self.sensitive]
        return tuple(
            sorted(
                tuple(
                    chosen[self.sensitive.index(bit)] if bit in self.sensitive else int(bit == other)
                    for bit in range(self.k)
                )
                for chosen in product((0, 1), repeat=len(self.sensitive))
                for other in (None, *others)
            )
        )

    @property
    def _outputs(self) -> int:
        return (self.k - len(self.sensitive) + 1) << len(self.sensitive)

    @property
    def outputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The bits of every output, that of the first value first."""
        return tuple("".join(map(str, pattern)) for pattern in self._patterns)

    @cached_property
    def rows(self) -> Numerators:  # type: ignore[override]
        """The product of the chances of all bits."""
        return whole_rows(
            [
                [
                    prod(chance if bit else 1 - chance for chance, bit in zip(law, pattern, strict=True))
                    for pattern in self._patterns
                ]
                for law in self._laws
            ]
        )
