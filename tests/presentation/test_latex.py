"""LaTeX: nothing is lost, nothing is interpreted, and every line compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import ldpstats as ldp
from ldpstats.presentation import Summary, panel_of_facts, panel_of_figures
from ldpstats.presentation.latex import escaped

HOSTILE = [
    "100 % of it",
    r"\input{secret}",
    "a_b^c",
    "{",
    "}",
    "$x$",
    "#1",
    "R&D",
    "~",
    '< > | "',
    "[x]",
    "*",
    "--- ''",
    "?` !`",
    "two\nlines\tand a tab",
    "\x1b[31m",
    "χ² ≤ 3 ± ½",
    "Ærøskøbing, Łódź, ąę",
    "中文 и Ω",
    "Ẽ ẍ ǹ Ẁ ș ẗ ỹ Ḣ, ǎ ž",
    "\u202egnorw\u202c, zero\u200dwidth, \ufeff",
    "^^41",
    "",
]
COMMANDS = re.compile(r"\\(?:[A-Za-z]+(?:\{\})?|[&%$#_{}])")


@given(st.text(max_size=30))
def test_what_tex_interprets_is_nowhere_but_in_known_commands(words: str) -> None:
    rest = COMMANDS.sub("", re.sub(r"\$[^$]*\$", "", escaped(words).replace(r"\$", "")))
    assert not set(rest) & set("\\$#&%_^")
    assert rest.count("{") == rest.count("}")
    assert not any(unicodedata.category(one) == "Cc" for one in rest)


@given(st.text(st.characters(max_codepoint=0x17F, categories=("L", "N", "P", "Z")), max_size=30))
def test_letters_and_digits_stand_there_as_they_were(words: str) -> None:
    kept = [one for one in unicodedata.normalize("NFC", words) if one.isascii() and one.isalnum()]
    rest = re.sub(r"\{\\ifdefined\\Uchar .*?\\fi\}", "", escaped(words))
    left = iter(re.sub(r"\$[^$]*\$", "", COMMANDS.sub("", rest)))
    assert all(one in left for one in kept)


def test_a_percent_sign_is_no_comment() -> None:
    domain = ldp.Domain({"share_%": ["< 5 %", "≥ 5 %"], "b & c": ["{x}", "\\y"]})
    table = ldp.SampledGroups(domain, epsilon=2.0).simulate([300, 100, 100, 300], rng=1)["share_%", "b & c"]
    text = table.summary().as_latex()
    assert r"95 \% from" in text
    assert r"share\_\% & b \& c" in text
    assert r"\textless{} 5 \% & \{x\}" in text
    assert r"$\ge$ 5 \% & \textbackslash{}y" in text
    assert not re.search(r"(?<!\\)%", text)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here, which would compile it")
def test_pdflatex_compiles_all_of_it(tmp_path: Path) -> None:
    figures = panel_of_figures(["%", *HOSTILE[:2]], [[one, one, "1.5"] for one in HOSTILE], "an_underscore")
    summary = Summary("100 % {", (figures, panel_of_facts({one: one for one in HOSTILE})), tuple(HOSTILE))
    document = (
        rf"\documentclass{{article}}\usepackage[T1]{{fontenc}}\begin{{document}}{summary.as_latex()}\end{{document}}"
    )
    (tmp_path / "page.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],  # noqa: S607  # wherever it is
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
