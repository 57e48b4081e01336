"""The papers' pages: every printed table and figure beside what was measured here, with a verdict for each number."""

from __future__ import annotations

import io
import math
import warnings

import matplotlib as mpl
import pandas as pd
from papers.catalogue import EXHIBITS, PAPERS
from papers.comparisons import AGREES, VERDICTS
from papers.exhibits import Exhibit

from pages import markdown
from pages.places import ROOT
from pages.staging import Staging

_ALL_SHOWN = 12
"""Rows of a table that are shown without unfolding it."""
_DOTS = 130


def write_papers(pages: Staging) -> None:
    """Write a page for each paper, its pictures, and the counts of verdicts.

    Parameters
    ----------
    pages : Staging
    """
    mpl.use("agg")
    measured = {name: exhibit.stored() for name, exhibit in EXHIBITS.items()}
    frames = {name: comparisons for name, (comparisons, _) in measured.items()}
    for module, citation in PAPERS.items():
        own = exhibits_of(module)
        sections = [_section(one, frames[one.name], _picture(pages, one, *measured[one.name])) for one in own]
        counts = _counts_table({one.title: frames[one.name] for one in own}, "exhibit")
        pages.write(f"papers/{module}.md", "\n".join([f"# {short(citation)}\n", f"{citation}\n", counts, *sections]))
    pages.write("papers/index.md", _overview(frames))


def exhibits_of(module: str) -> list[Exhibit]:
    """Return the exhibits of a paper.

    Parameters
    ----------
    module : str
        Its name in the catalogue.
    """
    from importlib import import_module

    return list(import_module(f"papers.{module}").EXHIBITS)


def short(citation: str) -> str:
    """Return the authors and the year of a citation.

    Parameters
    ----------
    citation : str
    """
    return citation.partition(")")[0] + ")" if ")" in citation else citation


def _overview(frames: dict[str, pd.DataFrame]) -> str:
    by_paper = {
        f"[{citation}]({module}.md)": [frames[one.name] for one in exhibits_of(module)]
        for module, citation in PAPERS.items()
    }
    joined = {name: pd.concat(parts) for name, parts in by_paper.items() if parts}
    counts = _counts_table(joined, "paper") if joined else "No paper has been measured yet.\n"
    return f"""# Printed figures of the papers

This package implements what several papers describe. Their printed tables and figures are measured here anew, and
stand beside ours with a verdict for every number.

{counts}
Verdicts: {_verdicts_in_words()}

`make papers` measures all of it anew; how it is stored, `benchmarks/papers/README.md` says.

{markdown.tree(PAPERS, hidden=True) if PAPERS else ""}"""


def _verdicts_in_words() -> str:
    """Return what the verdicts mean, as it stands beside the exhibits."""
    text = (ROOT / "benchmarks" / "papers" / "README.md").read_text("utf-8")
    _, heading, words = text.partition("\nVerdicts: ")
    if not heading:
        raise ValueError("benchmarks/papers/README.md does not say what the verdicts mean")
    return words.partition("\n\n")[0].strip()


def _counts_table(frames: dict[str, pd.DataFrame], what: str) -> str:
    counts = pd.DataFrame({name: frame["verdict"].value_counts() for name, frame in frames.items()}).T
    counts = counts.reindex(columns=list(VERDICTS)).fillna(0).astype(int)
    counts.loc["**all**"] = counts.sum()
    rows = [[name, *map(str, row), str(sum(row))] for name, *row in counts.itertuples()]
    return markdown.table([what, *(f">{verdict}" for verdict in VERDICTS), ">figures"], rows)


def _picture(pages: Staging, exhibit: Exhibit, comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> str:
    if exhibit.draw is None:
        return ""
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        # pictures are looked at; what a layout engine notes is not for readers
        warnings.simplefilter("ignore", UserWarning)
        figure = exhibit.draw(comparisons, curves)
        figure.savefig(drawn, format="png", dpi=_DOTS, bbox_inches="tight", metadata={"Software": None})
    figure.clear()
    pages.write(f"papers/{exhibit.name}.png", drawn.getvalue())
    words = markdown.plain(f"{exhibit.title}: ours beside what is printed")
    return f"```{{image}} {exhibit.name}.png\n:alt: {words}\n:class: paper-picture\n```\n"


def _section(exhibit: Exhibit, comparisons: pd.DataFrame, picture: str) -> str:
    sources = "; ".join(dict.fromkeys(comparisons["source"]))
    heading = f"(exhibit-{exhibit.name})=\n## {exhibit.title}\n\n*{markdown.plain(sources)}*\n"
    counts = comparisons["verdict"].value_counts()
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
    title = f"All {len(comparisons)} printed figures: {verdicts}"
    rows = _rows(comparisons)
    shown = rows if len(comparisons) <= _ALL_SHOWN else markdown.folded(title, rows)
    return "\n".join([heading, exhibit.words.strip() + "\n", picture, _errata(comparisons), shown])


def _errata(comparisons: pd.DataFrame) -> str:
    """Return why figures do not agree, each reason once with the figures that it holds for."""
    other = comparisons[comparisons["verdict"] != AGREES]
    if other.empty:
        return ""
    rows = []
    for (verdict, because), group in other.groupby(["verdict", "because"], sort=False):
        places = [_place(row, column) for row, column in zip(group["row"], group["column"], strict=True)]
        few = "; ".join(places[:4]) + (f"; and {len(places) - 4} more" if len(places) > 4 else "")
        rows.append([verdict, str(len(group)), markdown.plain(because), markdown.plain(few)])
    return markdown.table(["verdict", ">figures", "because", "which"], rows)


def _place(row: str, column: str) -> str:
    return row if column == "statement" else f"{row}, {column}"


def _rows(comparisons: pd.DataFrame) -> str:
    """Return all printed figures beside ours; columns that would be empty are left out."""
    columns = {
        "row": comparisons["row"].map(markdown.plain),
        "column": comparisons["column"].map(markdown.plain),
        f"{_side(comparisons['printed'])}printed": comparisons["printed"].map(markdown.plain),
        f"{_side(comparisons['ours'])}ours": comparisons["ours"].map(_shown),
        ">std. err.": comparisons["std_err"].map(_small),
        ">of printed": comparisons["printed_std_err"].map(_small),
        ">reproduced": comparisons["reproduced"].map(_small),
        "verdict": comparisons["verdict"],
    }
    shown = {name: cells for name, cells in columns.items() if cells.ne("").any()}
    return markdown.table(list(shown), zip(*shown.values(), strict=True))


def _side(cells: pd.Series) -> str:
    """Return what sets a column of numbers to the right, and nothing for one with words."""
    return ">" if pd.to_numeric(cells, errors="coerce").notna().all() else ""


def _small(value: float) -> str:
    return "" if math.isnan(value) or value == 0 else markdown.number(value, 3)


def _shown(ours: object) -> str:
    try:
        return markdown.number(float(str(ours)), 4)
    except ValueError:
        return markdown.plain(ours)
