"""Drawing: axes to draw on, and a picture as data that draws itself, describes itself and becomes SVG."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from itertools import chain, product
from textwrap import wrap
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias
from warnings import catch_warnings, filterwarnings

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.pictures.colours import INK, PAPER, ink_on

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.axis
    import pandas as pd
    from matplotlib.artist import Artist

# by name: matplotlib is imported where something is drawn, and not before
Axes: TypeAlias = "matplotlib.axes.Axes"
Axis: TypeAlias = "matplotlib.axis.Axis"

_STYLE = {
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
}
LONGEST_LINE = 40
"""Letters on a line of a label."""
_DECADES = 2.5
_NOTE_LINES, _USUAL_LINES, _HEADING_LINE = 4, 2, 0.17
_LETTERS_AN_INCH, _SHORTEST = 13, 30
_BESIDE_LEGEND, _SHORTEST_OF_LEGENDS = 1.3, 12
# matplotlib has its settings, and Python its filters of warnings, once for all threads
_ONE_AT_A_TIME = RLock()
_ALONE = {"axes.facecolor": "none", "figure.facecolor": "none"}


@dataclass(frozen=True, slots=True, eq=False)
class Picture(ABC):
    """A picture as data, with a frame and a description for those who cannot see it; matplotlib only draws.

    A kind gives `size` in inches, `_draw_on`, `to_frame` and `described`.
    """

    title: str
    notes: tuple[str, ...]  # what must be said beside it, such as "simulated"

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the figures that are drawn."""

    @abstractmethod
    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""

    def remarks(self) -> str:
        """Return the notes as sentences for those who cannot see them: they must know what is simulated or assumed."""
        return " ".join(f"{note[0].upper()}{note[1:].rstrip('.')}." for note in self.notes if note)

    @abstractmethod
    def _draw_on(self, ax: Axes) -> None: ...

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw it on the axes, by default those of a new figure, and return them."""
        with styled():
            axes = axes_to_draw_on(ax, self.size)
            self._draw_headed(axes, grows=ax is None)
        return axes

    def _draw_headed(self, axes: Axes, *, grows: bool) -> None:
        """Draw it below its title and notes; a figure of its own grows with them."""
        self._draw_on(axes)
        letters = _letters_above(axes)
        heading = [wrap(text, letters, max_lines=_NOTE_LINES, placeholder=" …") for text in (self.title, *self.notes)]
        lines = list(chain.from_iterable(heading))
        axes.set_title("\n".join(map(literal, lines)), loc="left")
        _turn_on_dark_paper(axes)
        if grows:
            from matplotlib.figure import Figure

            figure, (wide, high) = axes.get_figure(), self.size
            assert isinstance(figure, Figure)  # a new one
            figure.set_size_inches(wide, high + _HEADING_LINE * max(0, len(lines) - _USUAL_LINES))

    def svg(self, name: str) -> str:
        """Return an SVG element in the page's own ink; `name` (letters, digits, hyphens) is unique on the page."""
        # letters stay letters, and whoever shows the page has the fonts for them
        with styled({**_ALONE, "svg.hashsalt": name}), _any_letters():
            from matplotlib.figure import Figure

            # not pyplot's: it keeps figures until they are closed, and may open windows
            figure = Figure(figsize=self.size, layout="constrained")
            self._draw_headed(figure.subplots(), grows=True)
            file = StringIO()
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        return _inline(file.getvalue(), name)


def _matplotlib() -> ModuleType:
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise LdpstatsError(
            "no matplotlib to draw with", "an installed matplotlib", "pip install 'ldpstats[plots]'"
        ) from error
    # matplotlib loads its backend late; that of notebooks then sets how pictures are shown. While a picture has its own
    # settings that must not happen: it would be gone with them, and every later picture unseen
    plt.draw_if_interactive()
    return plt


@contextmanager
def styled(more: Mapping[str, object] | None = None) -> Iterator[None]:
    """Apply the package's matplotlib style, and `more` settings, within the context; one thread at a time."""
    _matplotlib()
    import matplotlib as mpl

    settings: Any = {**_STYLE, **(more or {})}
    with _ONE_AT_A_TIME, mpl.rc_context(settings):
        yield


def axes_to_draw_on(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the axes that were given, or those of a new picture.

    Parameters
    ----------
    ax : matplotlib Axes, optional
    size : (float, float), optional
        The width and height of a new picture, in inches.

    Returns
    -------
    matplotlib Axes
        In the package's style where they are new.

    Examples
    --------
    >>> from ldpstats.extend import axes_to_draw_on
    >>> ax = axes_to_draw_on(None, size=(6.0, 3.0))
    >>> ax.figure.get_size_inches()
    array([6., 3.])
    >>> axes_to_draw_on(ax) is ax
    True
    """
    axes: Axes = _matplotlib().subplots(figsize=size, layout="constrained")[1] if ax is None else ax
    return axes


@contextmanager
def _any_letters() -> Iterator[None]:
    """Silence warnings about letters that the installed fonts lack."""
    with catch_warnings():
        filterwarnings("ignore", "Glyph .* missing from font")
        yield


def _turn_on_dark_paper(ax: Axes) -> None:
    """Turn ink white, and gaps into the figure's colour, where the figure is dark."""
    from matplotlib.colors import to_hex, to_rgb, to_rgba_array

    figure = ax.get_figure()
    assert figure is not None  # axes that are drawn on stand in one
    *ground, opacity = to_rgba_array(figure.get_facecolor())[0]
    light = ink_on(to_hex(ground))
    if not opacity or light != ink_on(INK):
        return
    others = {to_rgb(INK): to_rgb(light), to_rgb(PAPER): tuple(ground)}
    parts = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")
    for artist, part in product(figure.findobj(), parts):
        if hasattr(artist, f"get_{part}"):
            colours = to_rgba_array(getattr(artist, f"get_{part}")())
            turned = [(*others.get(tuple(colour[:3]), colour[:3]), colour[3]) for colour in colours]
            if not np.array_equal(colours, np.reshape(turned, (-1, 4))):
                getattr(artist, f"set_{part}")(turned if len(turned) > 1 else turned[0])


def _letters_above(axes: Axes) -> int:
    """Return how many letters of a heading have room on a line above the axes."""
    with _any_letters():  # whoever draws the figure is told of fonts that lack some
        labels = axes.yaxis.get_tightbbox()
    figure, cell = axes.get_figure(), axes.get_subplotspec()
    assert figure is not None  # axes that are drawn on stand in one
    alone = cell is not None and cell.get_gridspec().get_geometry() == (1, 1)
    width = figure.bbox.width - (labels.width if labels is not None else 0.0) if alone else axes.bbox.width
    return max(_SHORTEST, int(_LETTERS_AN_INCH * width / figure.dpi))


def literal(words: str) -> str:
    """Return words that matplotlib draws as they are: dollar signs escaped, and blanks for what is not printable."""
    shown = "".join(letter if letter.isprintable() else " " for letter in words)
    return shown.replace("$", r"\$")


def label_lines(words: str) -> str:
    """Wrap a label to one or two lines; what is longer is shortened."""
    return _two_lines(words, LONGEST_LINE)


def _two_lines(words: str, letters: int) -> str:
    # cut before signs are marked as no formula: a mark must not be cut off its sign
    return "\n".join(map(literal, wrap(words, letters, max_lines=2, placeholder=" …")))


def legend_below(ax: Axes, shown: Sequence[Artist], columns: int, below: float = 38) -> None:
    """Put the legend `below` points under the axes, where it hides nothing; long labels take two lines."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure()
    assert figure is not None  # axes that are drawn on stand in one
    letters = int(_LETTERS_AN_INCH * (figure.bbox.width / figure.dpi - _BESIDE_LEGEND)) // columns
    corner = ax.transAxes + ScaledTranslation(0, -below / 72, figure.dpi_scale_trans)
    ax.legend(
        shown,
        # matplotlib skips names that begin with an underscore, unless something invisible stands before it
        [
            f"\N{ZERO WIDTH SPACE}{_two_lines(str(artist.get_label()), max(letters, _SHORTEST_OF_LEGENDS))}"
            for artist in shown
        ],
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=corner,
        ncols=columns,
        borderaxespad=0,
        borderpad=0,
        fontsize="small",
    )


def number_ratios(axis: Axis, low: float, high: float) -> None:
    """Give a logarithmic axis from `low` to `high` few ticks, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < low * 10**_DECADES else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def plain_number(value: float) -> str:
    """Return a number as it stands at an axis, with powers of ten only where it is very long.

    Examples
    --------
    >>> [plain_number(value) for value in (0.05, 20, 1_000_000, 1e12)]
    ['0.05', '20', '1,000,000', '1e+12']
    """
    return f"{value:,.0f}" if 1 <= abs(value) < 1e10 and value == round(value) else f"{value:g}"


def _inline(document: str, name: str) -> str:
    """Return the SVG element of a document, with ids of its own and the page's colours."""
    element = document[document.index("<svg") :]
    # what is drawn with matplotlib's own names would be that of the first picture of a page
    element = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", element)
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    return element.replace(INK, "currentColor").replace(PAPER, "var(--paper, #fff)").strip()
