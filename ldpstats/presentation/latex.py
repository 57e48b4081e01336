"""LaTeX of a summary: tabulars without packages, in which no character is lost and every one compiles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from ldpstats.presentation.formats import visible

if TYPE_CHECKING:
    from ldpstats.presentation.summaries import Panel, Summary

_FACTS = r"lp{0.68\linewidth}"
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_NAMES = (
    "α alpha, β beta, γ gamma, δ delta, Δ Delta, ε varepsilon, λ lambda, μ mu, π pi, ρ rho, σ sigma, Σ Sigma, "
    "φ varphi, χ chi, ω omega, × times, · cdot, ± pm, ≤ le, ≥ ge, ≠ ne, ≈ approx, ∞ infty, √ surd, → to, "
    "← leftarrow, ↔ leftrightarrow, ∈ in, ℓ ell, † dagger"
)
_MATHEMATICAL = {
    **{sign: f"\\{name}" for sign, name in map(str.split, _NAMES.split(", "))},
    **{sign: f"{{}}^{{{raised}}}" for sign, raised in zip("²³⁻¹", "23-1", strict=True)},
    "−": "-",
    "½": r"\frac{1}{2}",
    "°": r"{}^{\circ}",
}
_TYPOGRAPHIC = {
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "\u00a0": "~",
}
_ACCENTS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328"
_LETTERS = "ßÆæŒœØøÅåŁłÐðÞþĐđŊŋıĲĳ¿¡«»£§¶©®ª"
_UNSEEN = ("Cf", "Cs")
_LAST = "\u017f"
# between two of these LaTeX would set one sign for both, such as a dash for two hyphens
_LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=`)(?=`)|(?<=[?!])(?=`)|(?<=,)(?=,)")


def latex(summary: Summary) -> str:
    """Return a summary as LaTeX."""
    parts = [rf"\textbf{{{escaped(summary.title)}}}"]
    for panel in summary.panels:
        parts += [rf"\textit{{{escaped(panel.title)}}}"] if panel.title else []
        parts.append(_tabular(panel))
    said = [rf"\noindent {escaped(sentence)}\par" for sentence in summary.sentences]
    return "\n".join([r"\begin{center}", "\\\\[0.5ex]\n".join(parts), r"\end{center}", *said])


def _tabular(panel: Panel) -> str:
    columns = "".join("r" if figures else "l" for figures in panel.figures) if panel.headers else _FACTS
    head = [_row(panel.headers), r"\hline"] if panel.headers else []
    rows = [_row(row) for row in panel.rows]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", *head, *rows, r"\hline", r"\end{tabular}"]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return rf"{' & '.join(map(escaped, cells))} \\"


def escaped(words: str) -> str:
    """Escape a text for LaTeX, so that no character is lost.

    Greek letters and signs become mathematics; accented Latin letters stay (some need the T1 encoding in pdfLaTeX).
    What pdfLaTeX does not know is set by XeLaTeX and LuaLaTeX, and by its Unicode number in pdfLaTeX.
    """
    # what visible() leaves of them, joiners and surrogates, shows nothing; the latter cannot be written to a file
    shown = [sign for sign in visible(unicodedata.normalize("NFC", words)) if unicodedata.category(sign) not in _UNSEEN]
    runs = groupby(shown, key=_kind)
    return "".join(_SET[kind]("".join(run)) for kind, run in runs)


def _kind(letter: str) -> str:
    if letter in _SPECIAL or letter in _TYPOGRAPHIC:
        return "plain"
    if letter in _MATHEMATICAL:
        return "formula"
    return "plain" if letter.isascii() or _known_to_pdflatex(letter) else "unicode"


def _known_to_pdflatex(letter: str) -> bool:
    # of the letters with accents beyond Latin Extended-A it knows only some
    parts = unicodedata.normalize("NFD", letter) if letter <= _LAST else ""
    return letter in _LETTERS or (len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS)


def _formula(signs: str) -> str:
    return f"${' '.join(_MATHEMATICAL[sign] for sign in signs)}$"


def _plain(words: str) -> str:
    return _LIGATURES.sub("{}", "".join(_SPECIAL.get(letter) or _TYPOGRAPHIC.get(letter, letter) for letter in words))


def _unicode(words: str) -> str:
    # \Uchar exists where letters are read as Unicode
    numbers = " ".join(f"U+{ord(letter):04X}" for letter in words)
    return rf"{{\ifdefined\Uchar {words}\else {numbers}\fi}}"


_SET: Mapping[str, Callable[[str], str]] = {"plain": _plain, "formula": _formula, "unicode": _unicode}
