"""Results: what everything that is computed shows of itself, in words, plain values, files and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.errors import LdpstatsError
from ldpstats.pictures.drawing import Axes, Picture
from ldpstats.presentation.formats import visible
from ldpstats.presentation.summaries import Summary
from ldpstats.saving.files import Saveable

if TYPE_CHECKING:
    import pandas as pd


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a dict per row, without the index; None stands for nan, infinity and missing values.

    Parameters
    ----------
    frame : DataFrame
    """
    finite = frame.astype(object).where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None)
    return [{str(name): value for name, value in row.items()} for row in finite.to_dict(orient="records")]


def plain_list(values: ArrayLike) -> Any:
    """Return an array of numbers as nested lists; None stands for nan and infinity.

    Parameters
    ----------
    values : array
    """
    given = np.asarray(values, dtype=float)
    plain = given.astype(object)
    plain[~np.isfinite(given)] = None
    return plain.tolist()


def plain_values(thing: object, names: str, **given: Any) -> dict[str, Any]:
    """Return attributes as plain values, in the order of `names`, with None for nan.

    Parameters
    ----------
    thing, names, **given
        Names stand with spaces between; "key=path.to.attribute" renames. Methods are called; attributes of None: None.
        `given` has values that stand under some names instead; other names in it are ignored.
    """
    paths = {key: path or key for key, _, path in (name.partition("=") for name in names.split())}
    return {key: given[key] if key in given else _plain(_reached(thing, path)) for key, path in paths.items()}


def _reached(thing: Any, path: str) -> Any:
    for name in path.split("."):
        thing = None if thing is None else getattr(thing, name)
        thing = thing() if callable(thing) else thing
    return thing


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if hasattr(value, "iterrows"):
        return plain_rows(value)
    return value.to_dict() if hasattr(value, "to_dict") else value


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
        return plain_values(self, self._in_dict or " ".join(field.name for field in fields(cast("Any", self))))

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
