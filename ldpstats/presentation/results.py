"""Results: what everything that is computed can show of itself, in a terminal, a notebook, a paper and a picture."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from ldpstats.errors import LdpstatsError
from ldpstats.pictures.drawing import Axes, Picture
from ldpstats.presentation.plain import plain_values
from ldpstats.presentation.summaries import Summary
from ldpstats.presentation.text import visible
from ldpstats.saving.files import Saveable

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 160
"""Letters of a representation."""


class Shown(Protocol):
    """Anything with a summary, which is shown by `print` and in notebooks, and set in LaTeX or Markdown."""

    __slots__ = ()

    def summary(self) -> Summary:
        """Return what it says, as a table and sentences that can be read aloud."""

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def as_latex(self) -> str:
        """Return the summary as LaTeX without packages, every text escaped."""
        return self.summary().as_latex()

    def as_markdown(self) -> str:
        """Return the summary as Markdown."""
        return self.summary().as_markdown()


class Result(Shown, Saveable, Protocol):
    """A result: a summary, a headline, a tidy frame, plain values, a file, and mostly a picture.

    A class defines `headline`, `summary`, `to_frame` and, where there is something to look at, `picture`; `_in_dict`
    unless `to_dict` gives all fields. It is a dataclass with `repr=False`.
    """

    __slots__ = ()

    _in_dict: ClassVar[str] = ""
    """What `to_dict` gives, as names for `plain_values`; all fields by default."""

    @property
    def headline(self) -> str:
        """What it says in one line."""

    def to_frame(self) -> pd.DataFrame:
        """Return its figures as a tidy data frame."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; None stands for what is not there, or no number."""
        return plain_values(self, self._in_dict or " ".join(one.name for one in fields(cast("Any", self))))

    def picture(self) -> Picture:
        """Return what `plot` draws, as data."""
        raise LdpstatsError(f"a picture of a {type(self).__name__}", "results that have one", "print() shows this one.")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)["sex", "car"]
        >>> axes = ldp.association(table).plot()
        >>> print(axes.get_title(loc="left"))
        Cramér's V of sex and car
        95 % interval; 2,000 reports (simulated)
        """
        return self.picture().draw(ax)

    def __repr__(self) -> str:
        line = visible(self.headline)
        return f"<{type(self).__name__}: {line if len(line) <= _LONGEST else f'{line[:_LONGEST]}…'}>"
