"""Channels: any randomizer that is given by its rows, the exact probabilities of all its outputs under each value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
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
from ldpstats.mechanisms.channel_privacy import ChannelPrivacy, Numerators, shown_for_certain, worst_ratio_of_rows
from ldpstats.noise import ChannelNoise, Tally
from ldpstats.noise.channels import DenseChannel, structured
from ldpstats.numbers.arrays import counts_array
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import Draws, WeightedRows

_FINE = 128
"""Probabilities that are given as floats or fractions are taken to so many binary digits."""
_SLIGHT = range(60, 30, -6)
"""To make room for rounding, a channel is mixed with a 2^-60th of one uniform law for all, or up to a 2^-36th."""
_PAIRS_COMPARED = 1 << 18
_WHOLE = 1e-9
_BELOW_1 = float(np.nextafter(1.0, 0.0))


class RowMechanism(Mechanism):
    """Base of randomizers of which everything follows from the rows: each value's exact probabilities of all outputs.

    Dataclasses derived from it have the `rows`, and say what their values and outputs are called.
    """

    rows: Numerators
    values: tuple[Any, ...] | None
    outputs: tuple[Any, ...] | None

    @cached_property
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
        return self._privacy

    @cached_property
    def _privacy(self) -> ChannelPrivacy:
        level, told = self.strict_epsilon(), self.shown_for_certain(self.values)
        unit = "the one value that a respondent reports"
        return ChannelPrivacy(level, unit, certain=told, rows=self.rows, values=self.values, outputs=self.outputs)

    def shown_for_certain(self, values: Sequence[Any] | None = None) -> tuple[str, ...]:
        """Return what reports show for certain, in words; nothing where the level is finite.

        Parameters
        ----------
        values : sequence, optional
            What the values are called, if they are not called by their numbers.
        """
        if self._ratio is not None:
            return ()
        return tuple(shown_for_certain(self.rows, values or range(self.k), self.outputs or range(self._outputs)))

    @cached_property
    def _weights(self) -> WeightedRows:
        return WeightedRows(self.rows)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw an output by the row of each value."""
        return draws.pick_of(self._weights, values)

    def tally(self, counts: Mapping[Any, int] | pd.Series[int] | Sequence[int]) -> Tally:
        """Return counts of outputs, such as those of a survey on paper, as what is estimated from.

        Parameters
        ----------
        counts : mapping, Series or sequence of int
            How often each output came: by its name, as `value_counts` returns it, or all in their order.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> design = ldp.designs.warner(0.7)
        >>> design.tally({"yes": 450, "no": 550}).counts
        array([550, 450])
        """
        if isinstance(counts, (Mapping, pd.Series)):
            names = tuple(range(self._outputs)) if self.outputs is None else self.outputs
            given = [*counts.keys()]
            if {*given} != {*names} or len(given) > len(names):
                raise LdpstatsError(
                    f"counts of {one_line(given)}",
                    f"a count of each output, once: {one_line([*names])}",
                    "Write 0 for an output that never came; a Series has reindex(outputs, fill_value=0).",
                )
            counts = [counts[name] for name in names]
        numbers = counts_array(counts, self._outputs, "counts of outputs")
        return Tally(self.noise, numbers, sum(numbers.ravel().tolist()))

    def estimate(  # type: ignore[override]  # also of counts
        self, reports_or_counts: Reports | Tally | Mapping[Any, int] | pd.Series[int], method: str = "unbiased"
    ) -> Estimate | ProcessedEstimate:
        """Estimate the frequencies of the values from reports, from a tally, or from counts of outputs by name.

        Parameters
        ----------
        reports_or_counts : Reports, Tally, mapping or Series
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
        reports = self.tally(given) if isinstance(given, (Mapping, pd.Series)) else given
        estimate = Mechanism.estimate(self, reports, method)
        return estimate if self.values is None else replace(estimate, names=tuple(map(str, self.values)))


@dataclass(frozen=True, init=False)
class Channel(RowMechanism):
    """A randomizer given by its rows: the probability of every output under each value.

    Whatever a paper, a form or a program says in this way is a mechanism with all that the others have: its exact
    level, estimates, tests, simulation, protocol files and clients.

    Parameters
    ----------
    rows : sequence of sequences of float, Fraction or int
        A row per value, with the probability of every output; or whole numbers of 2^-64 that add up to 2^64. Others
        are rounded to such numbers; what is impossible stays so. The largest ratio within the outputs that all values
        can have does not grow; nor, up to 64 × 64, that of any two values, where up to a 2^-36th of one law, mixed into
        all rows, prevents it. (Elsewhere rounding may raise that of two values, as `privacy().between` then says; rows
        that differ by less than that may become one.) `moved` says which entries this changes. A data frame's rows
        are those of its numbers.
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
    _given: ClassVar[Sequence[Sequence[Any]]]
    """The rows as they came, of each instance: no field, as files and comparisons leave them out."""

    name: ClassVar[str] = "channel"
    aliases: ClassVar[tuple[str, ...]] = ("rows", "matrix")
    source: ClassVar[str] = "whoever gives the rows"
    purpose: ClassVar[str] = "given by its rows"

    def __init__(
        self,
        rows: Iterable[Iterable[float | Fraction]] | pd.DataFrame,
        values: Iterable[Any] | None = None,
        outputs: Iterable[Any] | None = None,
    ) -> None:
        # of a frame else the names of its columns would be taken
        plain = rows.to_numpy() if isinstance(rows, pd.DataFrame) else rows
        given = [tuple(map(_plain, listed(row))) for row in listed(plain)]
        widths = {len(row) for row in given}
        if not 2 <= len(given) <= LARGEST_JOINT or len(widths) != 1 or not 1 <= max(widths) <= LARGEST_JOINT:
            raise LdpstatsError(
                f"a channel of {len(given)} rows with {one_line(sorted(widths)) or 'no'} entries",
                f"from 2 to {LARGEST_JOINT:,} rows, each with as many entries, up to {LARGEST_JOINT:,}",
            )
        whole = whole_rows(given)
        if idle := [output for output, column in enumerate(zip(*whole, strict=True)) if not any(column)]:
            raise LdpstatsError(f"a channel that never sends output {one_line(idle)}", "outputs that some value sends")
        object.__setattr__(self, "rows", whole)
        object.__setattr__(self, "values", _names(values, "values", len(whole)))
        object.__setattr__(self, "outputs", _names(outputs, "outputs", len(whole[0])))
        object.__setattr__(self, "_given", given)

    @property
    def sender(self) -> Mechanism:
        """The channel itself."""
        return self

    def __repr__(self) -> str:
        return f"Channel({self.k} values, {self._outputs} outputs, digest {self._digest})"

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
        """Refuse to be used for categories with other names, or in another order, than those of the values.

        Parameters
        ----------
        domain : Domain
            Where the categories are.
        group : sequence of str
            The attributes whose cells are the values.
        """
        cells = cell_names(domain, group)
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
    def epsilon(self) -> float:  # type: ignore[override]  # follows from the rows
        """The strict level, which follows from the rows."""
        return self.strict_epsilon()

    @property
    def moved(self) -> pd.DataFrame:
        """The entries that rounding changed: of which value and output, from what, and by how much."""
        changed = [
            (value, output, entry, numerator / GRID, float(Fraction(numerator, GRID) - Fraction(entry)))
            for value, (row, numerators) in enumerate(zip(self._given, self.rows, strict=True))
            for output, (entry, numerator) in enumerate(zip(row, numerators, strict=True))
            if numerator != entry and Fraction(numerator, GRID) != entry
        ]
        return pd.DataFrame(changed, columns=["value", "output", "given", "implemented", "difference"])

    @cached_property
    def _digest(self) -> str:
        return sha256(repr((self.rows, self.values, self.outputs)).encode()).hexdigest()[:16]


def cell_names(domain: Domain, group: Sequence[str]) -> tuple[Any, ...]:
    """Return the categories of an attribute, or the combinations of those of several."""
    several = product(*(domain.categories[name] for name in group))
    return domain.categories[group[0]] if len(group) == 1 else tuple(several)


def _names(given: object, what: str, number: int) -> tuple[Any, ...] | None:
    if given is None:
        return None
    names = tuple(map(_plain, listed(given)))
    try:
        different = len(names) == len({*names}) == number and all(name == name for name in names)  # noqa: PLR0124  # NaN
    except TypeError:
        different = False
    if not different:
        raise LdpstatsError(f"{what} = {shortened(names)}", f"{number} names, all different")
    return names


def _plain(entry: Any) -> Any:
    """Return a number of numpy as one of Python."""
    return entry.item() if isinstance(entry, np.generic) else entry


def whole_rows(given: Sequence[Sequence[Any]]) -> Numerators:
    """Return rows as whole numbers of 2^-64 that add up to 2^64, no ratio above those of the rows given."""
    if all(type(entry) is int and entry >= 0 for row in given for entry in row) and all(
        sum(row) == GRID for row in given
    ):
        return tuple(map(tuple, given))
    fine = [[_fine(entry) for entry in row] for row in given]
    for row, numbers in zip(given, fine, strict=True):
        total = sum(numbers) / (1 << _FINE)
        if abs(total - 1) > _WHOLE:
            raise LdpstatsError(
                f"the row {shortened(row)} of a channel, with the sum {total!r}",
                "probabilities that add up to 1, or whole numbers of 2^-64 that add up to 2^64",
            )
    limit, limits = _worst_of_shared(given), _worst_of_pairs(given)
    nearest: Numerators = ()
    allowed: Numerators = ()
    for rows in _roundings(fine):
        nearest = nearest or rows
        if _worst_of_shared(rows) <= limit:
            allowed = allowed or rows
            if not _exceeds(rows, limits):
                return rows
    # rows that differ by less than can be drawn become one, unless something is impossible under some of them
    return allowed or (nearest if worst_ratio_of_rows(given) is None else nearest[:1] * len(nearest))


def _fine(entry: Any) -> int:
    """Return a probability as a whole number of 2^-128."""
    try:
        numerator, denominator = entry.as_integer_ratio()
    except (AttributeError, ValueError, OverflowError):
        numerator, denominator = -1, 1
    if not 0 <= numerator <= denominator:
        raise LdpstatsError(f"the probability {shortened(entry)} in a channel", "numbers from 0 to 1")
    whole: int = (numerator << _FINE) // denominator
    return max(whole, 1) if numerator else 0  # what is possible stays so


def _roundings(fine: list[list[int]]) -> Iterator[Numerators]:
    """Yield roundings of rows: as they are, then mixed with more and more of one law for all.

    A row is rounded up, but for the entry that is largest beside the others of its column, and not small: it takes the
    rest. Mixing with one law brings every ratio nearer to 1: as the law is uniform, by more than the rounding of whole
    numbers takes it away, in columns of small numbers and of large ones. It is one of the outputs that are possible
    under all values.
    """
    columns = list(zip(*fine, strict=True))
    common = [min(column) > 0 for column in columns]
    sums, shares = [sum(column) or 1 for column in columns], sum(common)
    anchors = [_anchor(row, sums) for row in fine]
    for digits in (None, *(_SLIGHT if shares else ())):
        rows = []
        for row, anchor in zip(fine, anchors, strict=True):
            total = sum(row)
            if digits is None:
                entries = [-(-(entry << 64) // total) for entry in row]
            else:  # (1 - 2^-digits) row / total + 2^-digits / shares, in GRID-ths
                own, scale = ((1 << digits) - 1) * shares << 64, total * shares << digits
                added = [total << 64 if shared else 0 for shared in common]
                entries = [-(-(entry * own + more) // scale) for entry, more in zip(row, added, strict=True)]
            entries[anchor] += GRID - sum(entries)
            rows.append(tuple(entries))
        yield tuple(rows)


def _anchor(row: list[int], sums: list[int]) -> int:
    least = sum(row) // (2 * len(row))
    return max(
        (output for output, entry in enumerate(row) if entry >= least), key=lambda output: row[output] / sums[output]
    )


def _worst_of_shared(rows: Sequence[Sequence[Any]]) -> Fraction:
    """Return the largest ratio within an output that is possible under all values."""
    extremes = [(min(column), max(column)) for column in zip(*rows, strict=True)]
    return max((Fraction(most) / Fraction(least) for least, most in extremes if least), default=Fraction(1))


def _worst_of_pairs(given: Sequence[Sequence[Any]]) -> dict[tuple[int, int], Fraction]:
    """Return the largest ratio of two rows, for all pairs where it is finite; nothing where that were too many."""
    if len(given) ** 2 * len(given[0]) > _PAIRS_COMPARED:
        return {}
    exact = [[Fraction(entry) for entry in row] for row in given]
    return {
        (value, against): max(most / least for most, least in zip(exact[value], exact[against], strict=True) if least)
        for value, against in permutations(range(len(exact)), 2)
        if not any(most and not least for most, least in zip(exact[value], exact[against], strict=True))
    }


def _exceeds(rows: Numerators, limits: dict[tuple[int, int], Fraction]) -> bool:
    """Say whether an output is more times as likely under a value as under another than these limits of pairs."""
    return any(
        most * limit.denominator > limit.numerator * least
        for (value, against), limit in limits.items()
        for most, least in zip(rows[value], rows[against], strict=True)
    )
