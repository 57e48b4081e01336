"""Vignettes: questions that statisticians have, each answered by a notebook that also takes data of one's own."""

from ldpstats.vignettes.execution import executed
from ldpstats.vignettes.notebooks import OwnData, notebook_of
from ldpstats.vignettes.packaged import Vignette, vignettes
from ldpstats.vignettes.pages import as_html, as_text

__all__ = ["OwnData", "Vignette", "as_html", "as_text", "executed", "notebook_of", "vignettes"]
