"""Quantiles of ordered attributes: the category in or below which a share of the respondents are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.answers.columns import Category
from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray, IntArray, significance
from ldpstats.presentation import Picture
from ldpstats.tables.functionals import FiguresByLine, Functional, Given, share_of, within_each
from ldpstats.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Quantile(FiguresByLine):
    """A quantile of an ordered attribute, or one within each of some categories, as `Table.quantile` finds it.

    Parameters
    ----------
    table : Table
    name : str
        Which quantile of what, in words.
    of : str
        The attribute.
    q : float
    below : tuple of Functional
        The shares of the first, the first two, ... categories, of all but the last.
    alpha : float
        One minus the level of intervals that are asked for without one.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "cars": [0, 1, 2]})
    >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 300, 100, 300, 500, 200], rng=1)["sex", "cars"]
    >>> table.quantile("cars", 0.75, given="sex").to_frame()
         quantile  lower  upper
    sex
    F           1      1      1
    M           2      1      2
    """

    table: Table
    name: str
    of: str
    q: float
    below: tuple[Functional, ...]
    alpha: float = 0.05
    _in_dict: ClassVar[str] = (
        "name of q lines headers estimate alpha intervals=conf_int interval_from=kind_of_intervals "
        "provenance=table.provenance n privacy simulated channel_fit=table.channel_fit"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", significance(self.alpha))
        if not 0 < self.q < 1 or len(self.below) != self.table.domain.size([self.of]) - 1:
            raise LdpstatsError(
                f"q = {self.q!r} of {len(self.below)} shares", "above 0 and below 1; all shares but one"
            )

    @property
    def estimate(self) -> Any:
        """The category, or one for each line: the first in or below which q are estimated; None of an empty group."""
        named = self._listed(self._places)
        return named if self.headers else named[0]

    def conf_int(self, alpha: float | None = None, simultaneous: bool = False) -> Any:
        """Return the first and the last category that are not rejected, of each line.

        A category is too low where a score test rejects that a share q are in or below it, and too high where it
        rejects that less are below it (Woodruff's interval); each test is one-sided, and they are made from the ends
        on until one does not reject.

        Parameters
        ----------
        alpha : float, optional
            One minus the level; by default that of the result.
        simultaneous : bool
            Whether all intervals hold at once with this level, by Bonferroni's inequality, instead of each by itself.
        """
        first, last = self._limits(alpha, simultaneous)
        ends = [list(pair) for pair in zip(self._listed(first), self._listed(last), strict=True)]
        return ends if self.headers else ends[0]

    def to_frame(self, alpha: float | None = None, simultaneous: bool = False) -> pd.DataFrame:
        """Return a row per line: the quantile and its interval.

        Parameters
        ----------
        alpha, simultaneous
            As in `conf_int`.
        """
        first, last = self._limits(alpha, simultaneous)
        columns = {"quantile": self._places, "lower": first, "upper": last}
        return pd.DataFrame({name: self._listed(places) for name, places in columns.items()}, index=self.index)

    @property
    def lines(self) -> tuple[tuple[Any, ...], ...]:  # type: ignore[override]  # not to be set
        """What each line is about."""
        return self.below[0].lines

    @property
    def headers(self) -> tuple[str, ...]:  # type: ignore[override]  # not to be set
        """What the entries of a line are."""
        return self.below[0].headers

    @property
    def kind_of_intervals(self) -> str:
        """Where the intervals come from, in words."""
        return f"categories that are not rejected by {self.below[0].kind_of_intervals}"

    def picture(self) -> Picture:
        """Return what `plot` draws, as data: the shares in or below each category, with intervals, beside q."""
        from ldpstats.tables.drawn import intervals_by_line

        known = self.table.domain.categories[self.of][:-1]
        frames = [share.to_frame(self.alpha).set_axis(share.index.astype(str)) for share in self.below]
        return intervals_by_line(self, pd.concat(frames, keys=[f"up to {own}" for own in known]), "share", self.q)

    @cached_property
    def _places(self) -> IntArray:
        """The place of the quantile of each line: as many shares are less than q; -1 where a group may be empty."""
        shares = np.array([np.atleast_1d(share.estimate) for share in self.below])
        places: IntArray = np.where(np.isnan(shares).any(axis=0), -1, np.count_nonzero(shares < self.q, axis=0))
        return places

    @cached_property
    def _pvalues(self) -> tuple[FloatArray, FloatArray]:
        """One-sided p-values, shape (shares, lines): that the share is q or more, and that it is q or less."""
        sides = np.array([[test.sides(self.q) for test in share.tests] for share in self.below])
        return sides[..., 0], sides[..., 1]

    def _limits(self, alpha: float | None, simultaneous: bool) -> tuple[IntArray, IntArray]:
        level = significance(self.alpha if alpha is None else alpha) / (len(self._places) if simultaneous else 1)
        at_least, at_most = (pvalues < level / 2 for pvalues in self._pvalues)
        first = np.cumprod(at_least, axis=0).sum(axis=0)
        last = len(self.below) - np.cumprod(at_most[::-1], axis=0).sum(axis=0)
        lowest = np.where(self._places < 0, first, np.minimum(first, self._places))
        return lowest, np.maximum(last, self._places)

    def _listed(self, places: IntArray) -> list[Category | None]:
        known = self.table.domain.categories[self.of]
        return [known[place] if place >= 0 else None for place in places.tolist()]


def quantile_of(table: Table, of: str, q: float, given: Given) -> Quantile:
    """Return a quantile of an ordered attribute."""
    (name,) = table.domain.project([of]).names
    if not table.domain.is_ordered(name):
        raise LdpstatsError(
            f"a quantile of {name!r}, whose categories have no order",
            "ordered categories, or ascending numbers",
            f"State it: Domain({{{name!r}: ldp.ordered([...])}}), from the lowest to the highest.",
        )
    if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 < q < 1:
        raise LdpstatsError(f"q = {q!r}", "a number above 0 and below 1, such as 0.5 for the median")
    known = table.domain.categories[name]
    shares = tuple(share_of(table, {name: known[:last]}, given) for last in range(1, len(known)))
    which = "median" if q == 0.5 else f"{q:g} quantile"
    return Quantile(table, f"{which} of {name}{within_each(table, given)[0]}", name, float(q), shares)
