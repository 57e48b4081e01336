"""Presentation: summaries as statsmodels tables with sentences below, and the axes that pictures are drawn on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    import matplotlib.axes
    import statsmodels.iolib.summary

# by name: both are imported where something is shown, and not before
Axes: TypeAlias = "matplotlib.axes.Axes"
Summary: TypeAlias = "statsmodels.iolib.summary.Summary"


def summary_of_figures(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], sentences: Sequence[str]
) -> Summary:
    """Return a table of figures under headers, with sentences below it.

    Parameters
    ----------
    title : str
    headers : sequence of str
        The names of the columns.
    rows : sequence of sequences of str
        The figures as they shall stand there.
    sentences : sequence of str
        What must be known to read them.

    Examples
    --------
    >>> summary = summary_of_figures("Coins", ["side", "share"], [["heads", "0.49"]], ["Of 100 throws."])
    >>> print(summary.tables[0])
       Coins
    ===========
    side  share
    -----------
    heads  0.49
    -----------
    """
    return _summary(title, rows, sentences, headers=list(headers))


def summary_of_facts(title: str, facts: Mapping[str, str | Sequence[str]], sentences: Sequence[str]) -> Summary:
    """Return facts line by line, each behind its heading, with sentences below them.

    Parameters
    ----------
    title : str
    facts : mapping of str
        From headings to a line, or to several that stand below each other.
    sentences : sequence of str
        What must be known to read them.

    Examples
    --------
    >>> summary = summary_of_facts("Coins", {"Throws": "100", "Sides": ["heads", "tails"]}, ["They were fair."])
    >>> summary.tables[0].data
    [['Throws', '100'], ['Sides', 'heads'], ['', 'tails']]
    >>> summary.extra_txt
    'They were fair.'
    """
    lines = {heading: [fact] if isinstance(fact, str) else fact for heading, fact in facts.items()}
    rows = [
        [first, line] for heading, own in lines.items() for first, line in zip_longest([heading], own, fillvalue="")
    ]
    return _summary(title, rows, sentences, txt_fmt={"data_aligns": "ll"})


def _summary(title: str, rows: Sequence[Sequence[str]], sentences: Sequence[str], **layout: object) -> Summary:
    from statsmodels.iolib.summary import Summary
    from statsmodels.iolib.table import SimpleTable

    summary = Summary()
    summary.tables.append(SimpleTable(rows, title=title, **layout))
    summary.add_extra_txt(list(sentences))
    return summary


def axes_to_draw_on(ax: Axes | None) -> Axes:
    """Return the axes that were given, or those of a new picture.

    Parameters
    ----------
    ax : matplotlib Axes, optional
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise LdpstatsError(
            "no matplotlib to draw with", "an installed matplotlib", "pip install 'ldpstats[plots]'"
        ) from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax
