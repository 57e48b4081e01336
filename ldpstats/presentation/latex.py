"""LaTeX of a summary: tabulars without packages, in which no character is lost and every one compiles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby

from ldpstats.presentation.layout import PanelLike, SummaryLike, figures_in

_FACTS = r"lp{0.68\linewidth}"
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": r"{[}",
    "]": r"{]}",
    "*": r"{*}",
    "\n": r" ",
    "\t": r" ",
}
_MATHEMATICAL = {
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "δ": r"\delta",
    "Δ": r"\Delta",
    "ε": r"\varepsilon",
    "λ": r"\lambda",
    "μ": r"\mu",
    "π": r"\pi",
    "ρ": r"\rho",
    "σ": r"\sigma",
    "Σ": r"\Sigma",
    "φ": r"\varphi",
    "χ": r"\chi",
    "ω": r"\omega",
    "×": r"\times",
    "·": r"\cdot",
    "±": r"\pm",
    "−": "-",
    "≤": r"\le",
    "≥": r"\ge",
    "≠": r"\ne",
    "≈": r"\approx",
    "∞": r"\infty",
    "√": r"\surd",
    "→": r"\to",
    "←": r"\leftarrow",
    "↔": r"\leftrightarrow",
    "∈": r"\in",
    "ℓ": r"\ell",
    "²": "^{2}",
    "³": "^{3}",
    "⁻": "^{-}",
    "¹": "^{1}",
    "½": r"\frac{1}{2}",
    "†": r"\dagger",
    "°": r"^{\circ}",
}
_TYPOGRAPHIC = {
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "\u00a0": "~",
}
# between two of these LaTeX would set one sign for both, such as a dash for two hyphens
_LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=`)(?=`)|(?<=[?!])(?=`)|(?<=,)(?=,)")


def page(summary: SummaryLike) -> str:
    """Return a summary as LaTeX.

    Parameters
    ----------
    summary : Summary
    """
    parts = [rf"\textbf{{{escaped(summary.title)}}}\\[0.5ex]"]
    for panel in summary.panels:
        parts += [rf"\textit{{{escaped(panel.title)}}}\\[0.5ex]"] if panel.title else []
        parts += [_tabular(panel), r"\\[1ex]"]
    sentences = [rf"\noindent {escaped(one)}\par" for one in summary.sentences]
    return "\n".join([r"\begin{center}", *parts[:-1], r"\end{center}", *sentences])


def _tabular(panel: PanelLike) -> str:
    columns = "".join("r" if figures else "l" for figures in figures_in(panel)) if panel.headers else _FACTS
    head = [_row(panel.headers), r"\hline"] if panel.headers else []
    rows = [_row(row) for row in panel.rows]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", *head, *rows, r"\hline", r"\end{tabular}"]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return rf"{' & '.join(map(escaped, cells))} \\"


def escaped(words: str) -> str:
    r"""Return a text in which LaTeX finds nothing to interpret.

    Greek letters and signs become mathematics. Letters with accents are left as they are; pdfLaTeX knows those of
    Latin script, the others need XeLaTeX or LuaLaTeX.

    Parameters
    ----------
    words : str

    Examples
    --------
    >>> print(escaped("95 % of χ² & 3_4"))
    95 \% of $\chi ^{2}$ \& 3\_4
    """
    runs = groupby(unicodedata.normalize("NFC", words), key=_MATHEMATICAL.__contains__)
    return "".join(_formula(run) if mathematical else _plain("".join(run)) for mathematical, run in runs)


def _formula(signs: Iterable[str]) -> str:
    return f"${' '.join(_MATHEMATICAL[one] for one in signs)}$"


def _plain(words: str) -> str:
    # control characters stop every LaTeX, and show nothing
    kept = [one for one in words if one in _SPECIAL or unicodedata.category(one) not in ("Cc", "Cf")]
    return _LIGATURES.sub("{}", "".join(_SPECIAL.get(one) or _TYPOGRAPHIC.get(one, one) for one in kept))
