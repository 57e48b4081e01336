"""Vignettes: questions that statisticians have, each answered by a notebook that also takes data of one's own."""

from ldpstats.vignettes.execution import executed
from ldpstats.vignettes.notebooks import OwnData, Vignette, as_html, as_text, notebook_of, vignettes

__all__ = ["OwnData", "Vignette", "as_html", "as_text", "executed", "notebook_of", "vignettes"]
