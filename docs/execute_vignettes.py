"""`make vignettes`: executes the vignettes, checks what they show and say, and keeps them as notebooks for the site."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat

from ldpstats.vignettes import Vignette, executed, notebook_of, vignettes

FOLDER = Path(__file__).parents[1] / "build" / "vignettes"
PICTURES = ("image/svg+xml", "image/png")
_NUMBER = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?![\w])")
_NOT_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)|^ {4}.*$", flags=re.MULTILINE)
_NAMES, _YEAR = r"\b[A-Z]\w+(?:['’]s)?(?: et al\.|,? (?:& |and )?[A-Z]\w+)*", r"(?:19|20)\d\d\b[^()]*\)"
_CITED = re.compile(rf"\([^()]*{_NAMES},? {_YEAR}|{_NAMES} \({_YEAR}")


def main() -> None:
    """Execute all vignettes, or those that are named, two at a time."""
    parser = argparse.ArgumentParser(prog="make vignettes", description=__doc__)
    parser.add_argument("names", nargs="*", help="by default all")
    parser.add_argument("--quick", action="store_true", help="simulate less")
    options = parser.parse_args()
    known = vignettes()
    chosen = [known[name] for name in options.names or known]
    FOLDER.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        found = dict(
            zip((one.name for one in chosen), pool.map(lambda one: _done(one, options.quick), chosen), strict=True)
        )
    for name, (seconds, faults) in found.items():
        print(f"{seconds:6.1f} s  {name}", *faults, sep="\n            ", flush=True)
    print(f"{time.monotonic() - began:6.1f} s  all{', quick' if options.quick else ''}")
    sys.exit(any(faults for _, faults in found.values()))


def _done(vignette: Vignette, quick: bool) -> tuple[float, list[str]]:
    """Execute a vignette and keep it; return the seconds that it took, and what is wrong with it."""
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(notebook_of(vignette, quick=quick), Path(folder), vignette.name)
    except ValueError as error:
        return time.monotonic() - began, [str(error)]
    nbformat.write(notebook, FOLDER / f"{vignette.name}.ipynb")
    faults = [*shown_wrong(notebook), *([] if quick else numbers_from_nowhere(notebook))]
    return time.monotonic() - began, faults


def shown_wrong(notebook: Any) -> Iterator[str]:
    """Say what is wrong with the outputs of a notebook: complaints, errors, or no picture."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    for one in outputs:
        if one.output_type == "stream" and one.name == "stderr":
            yield f"a complaint: {one.text.strip()[:200]}"
    if not any(kind in one.get("data", {}) for one in outputs for kind in PICTURES):
        yield "no picture"


def numbers_from_nowhere(notebook: Any) -> list[str]:
    """Return numbers in prose that no code and no output has, in paragraphs that cite nothing.

    A number counts as shown if an output has it to at least as many digits.
    """
    shown = set(_numbers("\n".join(_shown(notebook))))
    faults = []
    for cell in notebook.cells:
        paragraphs = cell.source.split("\n\n") if cell.cell_type == "markdown" else []
        for paragraph in paragraphs:
            if _CITED.search(paragraph):
                continue
            missing = [one for one in _numbers(_NOT_PROSE.sub(" ", paragraph)) if not _among(one, shown)]
            faults += [f"{one} stands nowhere else: {paragraph[:80]!r}" for one in missing]
    return faults


def _shown(notebook: Any) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield cell.source
            for output in cell.outputs:
                yield output.get("text") or output.get("data", {}).get("text/plain", "")


def _numbers(text: str) -> list[str]:
    return [one.replace(",", "") for one in _NUMBER.findall(text.replace("_", "")) if one]


def _among(number: str, shown: set[str]) -> bool:
    """Say whether a number is shown, as it is, with more digits, or as a share instead of percents."""
    value, half = float(number), 0.5 * 10.0 ** -len(number.partition(".")[2]) * (1 + 1e-9)
    return any(abs(float(one) - value) <= half or abs(100 * float(one) - value) <= half for one in shown if one != "")


if __name__ == "__main__":
    main()
