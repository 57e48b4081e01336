"""Channels: any randomizer that is given by its rows, the exact probabilities of all its outputs under each value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations, product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.estimation import Estimate, ProcessedEstimate
from ldpstats.limits import LARGEST_JOINT
from ldpstats.mechanisms.base import Mechanism, Reports
from ldpstats.mechanisms.channel_privacy import ChannelPrivacy, Numerators, worst_ratio_of_rows
from ldpstats.noise import ChannelNoise, Tally
from ldpstats.noise.channels import DenseChannel, structured
from ldpstats.numbers.arrays import counts_array
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import Draws, WeightedRows

_FINE = 128
"""Probabilities that are given as floats or fractions are taken to so many binary digits."""
_SLIGHT = range(60, 0, -6)
"""To make room for rounding, a channel is mixed with a 2^-60th of one output law for all, or with more."""
_PAIRS_COMPARED = 1 << 20
_WHOLE = 1e-9
_BELOW_1 = float(np.nextafter(1.0, 0.0))


class RowMechanism(Mechanism):
    """Base of randomizers of which everything follows from the rows: each value's exact probabilities of all outputs.

    Dataclasses derived from it have the `rows`, and say what their values and outputs are called.
    """

    rows: Numerators
    values: tuple[Any, ...] | None
    outputs: tuple[Any, ...] | None

    @property
    def sender(self) -> Mechanism:
        """The channel with these rows: so devices need not know where they come from."""
        return Channel(self.rows, self.values, self.outputs)

    @cached_property
    def noise(self) -> ChannelNoise:
        """The channel in doubles; one that a value alone can make likelier is truth or fake."""
        # what may fail must not become certain
        doubles = [[1.0 if entry == GRID else min(entry / GRID, _BELOW_1) for entry in row] for row in self.rows]
        matrix = np.array(doubles)
        return structured(matrix) if self.k == self._outputs else DenseChannel(matrix)

    @property
    def _outputs(self) -> int:
        return len(self.rows[0])

    @property
    def probabilities(self) -> dict[str, Any]:
        """The rows, in GRID-ths."""
        return {"rows": [list(row) for row in self.rows]}

    @property
    def slack_reason(self) -> str:
        """Nothing: the level is that of the rows."""
        return ""

    @cached_property
    def _ratio(self) -> Fraction | None:
        return worst_ratio_of_rows(self.rows)

    def likelihood_ratio(self) -> Fraction | None:
        """Return the largest ratio within a column."""
        return self._ratio

    def privacy(self) -> ChannelPrivacy:
        """Return the guarantee of one report, also between any two values."""
        level = self.strict_epsilon()
        return ChannelPrivacy(
            level, "the one value that a respondent reports", rows=self.rows, values=self.values, outputs=self.outputs
        )

    @cached_property
    def _weights(self) -> WeightedRows:
        return WeightedRows(self.rows)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw an output by the row of each value."""
        return draws.pick_of(self._weights, values)

    def tally(self, counts: Mapping[Any, int] | Sequence[int]) -> Tally:
        """Return counts of outputs, such as those of a survey on paper, as what is estimated from.

        Parameters
        ----------
        counts : mapping or sequence of int
            How often each output came: by its name, or all in their order.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> design = ldp.designs.warner(0.7)
        >>> design.tally({"yes": 450, "no": 550}).counts
        array([550, 450])
        """
        if isinstance(counts, Mapping):
            names = tuple(range(self._outputs)) if self.outputs is None else self.outputs
            if {*counts} != {*names}:
                raise LdpstatsError(f"counts of {one_line([*counts])}", f"a count of each output: {one_line([*names])}")
            counts = [counts[name] for name in names]
        numbers = counts_array(counts, self._outputs, "counts of outputs")
        return Tally(self.noise, numbers, int(numbers.sum()))

    def estimate(  # type: ignore[override]  # also of counts
        self, reports_or_counts: Reports | Tally | Mapping[Any, int], method: str = "unbiased"
    ) -> Estimate | ProcessedEstimate:
        """Estimate the frequencies of the values from reports, from a tally, or from counts of outputs by name.

        Parameters
        ----------
        reports_or_counts : Reports, Tally or mapping
            What privatize, count or simulate returned; or how often each output came.
        method : str
            As for every mechanism: "unbiased", "mle", ...

        Examples
        --------
        >>> import ldpstats as ldp
        >>> design = ldp.designs.forced_response(yes=1 / 6, no=1 / 6)
        >>> design.estimate({"yes": 450, "no": 550}).to_frame().round(3).loc["yes"].tolist()
        [0.425, 0.024, 0.379, 0.471]
        """
        given = reports_or_counts
        estimate = Mechanism.estimate(self, self.tally(given) if isinstance(given, Mapping) else given, method)
        if self.values is None or not isinstance(estimate, Estimate):
            return estimate
        return replace(estimate, names=tuple(map(str, self.values)))


@dataclass(frozen=True, init=False)
class Channel(RowMechanism):
    """A randomizer given by its rows: the probability of every output under each value.

    Whatever a paper, a form or a program says in this way is a mechanism with all that the others have: its exact
    level, estimates, tests, simulation, protocol files and clients.

    Parameters
    ----------
    rows : sequence of sequences of float, Fraction or int
        A row per value, with the probability of every output; or whole numbers of 2^-64 that add up to 2^64. Others
        are rounded to such numbers, so that no output becomes more times as likely under one value as under another
        than it is in the rows as given; what is impossible stays so. `moved` says which entries this changes. (Where
        outputs are impossible under some values, the finite ratios of the others may grow by a part in 2^50.)
    values, outputs : sequence, optional
        Names of the values and of the outputs, all different; without them they are numbered from 0.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import ldpstats as ldp
    >>> third = Fraction(1, 3)
    >>> dice = ldp.Channel([[1 - third, third], [0, 1]], values=["no", "yes"], outputs=["no", "yes"])
    >>> dice.k, dice.strict_epsilon()
    (2, inf)
    >>> dice.privacy().between("no", "yes").epsilon, round(dice.privacy().between("yes", "no").epsilon, 3)
    (inf, 1.099)
    >>> dice.estimate({"no": 520, "yes": 480}).to_frame().loc["yes"].round(3).tolist()
    [0.22, 0.024, 0.174, 0.266]
    """

    rows: Numerators
    values: tuple[Any, ...] | None = None
    outputs: tuple[Any, ...] | None = None
    _given: Sequence[Sequence[Any]] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "channel"
    aliases: ClassVar[tuple[str, ...]] = ("rows", "matrix")
    source: ClassVar[str] = "whoever gives the rows"
    purpose: ClassVar[str] = "given by its rows"

    def __init__(
        self,
        rows: Iterable[Iterable[float | Fraction]],
        values: Iterable[Any] | None = None,
        outputs: Iterable[Any] | None = None,
    ) -> None:
        given = [listed(row) for row in listed(rows)]
        widths = {len(row) for row in given}
        if not 2 <= len(given) <= LARGEST_JOINT or len(widths) != 1 or not 1 <= max(widths) <= LARGEST_JOINT:
            raise LdpstatsError(
                f"a channel of {len(given)} rows with {one_line(sorted(widths)) or 'no'} entries",
                f"from 2 to {LARGEST_JOINT:,} rows, each with as many entries, up to {LARGEST_JOINT:,}",
            )
        whole = whole_rows(given)
        idle = [output for output, column in enumerate(zip(*whole, strict=True)) if not any(column)]
        if idle:
            raise LdpstatsError(f"a channel that never sends output {one_line(idle)}", "outputs that some value sends")
        object.__setattr__(self, "rows", whole)
        object.__setattr__(self, "values", _names(values, "values", len(whole)))
        object.__setattr__(self, "outputs", _names(outputs, "outputs", len(whole[0])))
        object.__setattr__(self, "_given", given)

    @property
    def sender(self) -> Mechanism:
        """The channel itself."""
        return self

    @classmethod
    def asked_for(cls, k: int, epsilon: float, **options: Any) -> Channel:
        """Return the channel with these rows, if it is one for so many values, at this level or below it."""
        made = cls(**options)
        if not made.serves(k, epsilon):
            raise LdpstatsError(
                f"a channel of {made.k} values with epsilon = {made.epsilon!r} for k = {k} and epsilon = {epsilon!r}",
                "a channel for as many values, at this level or below it",
            )
        return made

    def serves(self, k: int, epsilon: float) -> bool:
        """Say whether there are so many values, and the level of the rows is not above this one."""
        return self.k == k and self.epsilon <= epsilon

    def refuse_other_names(self, domain: Domain, group: Sequence[str]) -> None:
        """Refuse to be used for categories with other names, or in another order, than those of the values."""
        several = product(*(domain.categories[name] for name in group))
        cells = domain.categories[group[0]] if len(group) == 1 else tuple(several)
        if self.values not in (None, cells):
            raise LdpstatsError(
                f"a channel of the values {shortened(self.values)} for the categories {shortened(cells)} of "
                f"{' × '.join(group)}",
                "a channel with the same values in the same order, or without names",
            )

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from the rows
        """The number of values."""
        return len(self.rows)

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The strict level, which follows from the rows."""
        return self.strict_epsilon()

    @property
    def moved(self) -> pd.DataFrame:
        """The entries that rounding changed: of which value and output, from what, and by how much."""
        changed = [
            (value, output, entry, numerator / GRID, float(Fraction(numerator, GRID) - _exact(entry)))
            for value, (row, numerators) in enumerate(zip(self._given, self.rows, strict=True))
            for output, (entry, numerator) in enumerate(zip(row, numerators, strict=True))
            if numerator != entry and Fraction(numerator, GRID) != _exact(entry)
        ]
        return pd.DataFrame(changed, columns=["value", "output", "given", "implemented", "difference"])


def _names(given: object, what: str, number: int) -> tuple[Any, ...] | None:
    if given is None:
        return None
    names = tuple(listed(given))
    if len(names) != number or len({*names}) < number:
        raise LdpstatsError(f"{what} = {shortened(names)}", f"{number} names, all different")
    return names


def _exact(entry: Any) -> Fraction:
    return entry if isinstance(entry, Fraction) else Fraction(float(entry))


def whole_rows(given: Sequence[Sequence[Any]]) -> Numerators:
    """Return rows as whole numbers of 2^-64 that add up to 2^64, no ratio above those of the rows given."""
    if all(type(entry) is int and entry >= 0 for row in given for entry in row) and all(
        sum(row) == GRID for row in given
    ):
        return tuple(map(tuple, given))
    fine = [[_fine(entry) for entry in row] for row in given]
    totals = [sum(row) for row in fine]
    for row, total in zip(given, totals, strict=True):
        if abs(total / (1 << _FINE) - 1) > _WHOLE:
            raise LdpstatsError(
                f"the row {shortened(row)} of a channel, with the sum {total / (1 << _FINE)!r}",
                "probabilities that add up to 1, or whole numbers of 2^-64 that add up to 2^64",
            )
    first = None
    for rows in _roundings(fine, totals):
        first = first or rows
        if _no_ratio_above(rows, fine):
            return rows
    assert first is not None  # there is one without mixing
    return first


def _fine(entry: Any) -> int:
    """Return a probability as a whole number of 2^-128."""
    try:
        exact = _exact(entry)
    except (TypeError, ValueError, OverflowError) as error:
        raise LdpstatsError(f"the probability {shortened(entry)} in a channel", "numbers from 0 to 1") from error
    if not 0 <= exact <= 1:
        raise LdpstatsError(f"the probability {shortened(entry)} in a channel", "numbers from 0 to 1")
    whole = (exact.numerator << _FINE) // exact.denominator
    return max(whole, 1) if exact else 0  # what is possible stays so


def _roundings(fine: list[list[int]], totals: list[int]) -> Iterator[Numerators]:
    """Yield roundings of rows: as they are, then mixed with more and more of one law for all.

    A row is rounded up, but for the entry that is largest beside the others of its column: it takes the rest. Mixing
    with one law brings every ratio nearer to 1. It takes in outputs alone that are possible under all values.
    """
    columns = list(zip(*fine, strict=True))
    common = [sum(column) if min(column) else 0 for column in columns]
    anchors = [max(range(len(row)), key=lambda output: Fraction(row[output], sum(columns[output]))) for row in fine]
    mixing = sum(common)
    for digits in (None, *(_SLIGHT if mixing else ())):
        rows = []
        for row, total, anchor in zip(fine, totals, anchors, strict=True):
            # (1 - 2^-digits) row / total + 2^-digits common / mixing, in GRID-ths
            if digits is None:
                entries = [-(-(entry << 64) // total) for entry in row]
            else:
                scale = total * mixing << digits
                own, shared = ((1 << digits) - 1) * mixing << 64, total << 64
                entries = [-(-(entry * own + law * shared) // scale) for entry, law in zip(row, common, strict=True)]
            entries[anchor] += GRID - sum(entries)
            if entries[anchor] <= 0:
                break
            rows.append(tuple(entries))
        else:
            yield tuple(rows)


def _no_ratio_above(rows: Numerators, given: list[list[int]]) -> bool:
    """Say whether no output is more times as likely under one value as under another than in the rows as given."""
    limit = worst_ratio_of_rows(given)
    worst = worst_ratio_of_rows(rows)
    if limit is not None and (worst is None or worst > limit):
        return False
    if len(rows) ** 2 * len(rows[0]) > _PAIRS_COMPARED:
        return True
    for (one, own), (other, beside) in permutations(zip(rows, given, strict=True), 2):
        if any(most and not least for most, least in zip(own, beside, strict=True)):
            continue  # one may be ruled out for certain
        top = max(Fraction(most, least) for most, least in zip(own, beside, strict=True) if least)
        if any(most * top.denominator > top.numerator * least for most, least in zip(one, other, strict=True)):
            return False
    return True
