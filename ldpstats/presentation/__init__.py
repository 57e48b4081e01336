"""Presentation: what results say, as text, HTML, LaTeX, Markdown, data frame and picture, written once."""

from ldpstats.pictures.drawing import Axes, Picture, axes_to_draw_on
from ldpstats.presentation.progress import progress
from ldpstats.presentation.results import Result, Shown, plain_list, plain_rows, plain_values
from ldpstats.presentation.summaries import (
    Panel,
    Summary,
    panel_of_facts,
    panel_of_figures,
    summary_of_facts,
    summary_of_figures,
)

__all__ = [
    "Axes",
    "Panel",
    "Picture",
    "Result",
    "Shown",
    "Summary",
    "axes_to_draw_on",
    "panel_of_facts",
    "panel_of_figures",
    "plain_list",
    "plain_rows",
    "plain_values",
    "progress",
    "summary_of_facts",
    "summary_of_figures",
]
