"""Numbers in the prose of a vignette must be shown by it or cited; the check finds those that are not."""

from __future__ import annotations

import pytest
from execute_vignettes import numbers_from_nowhere, shown_wrong
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

CODE = new_code_cell(
    "trials = 2_000\nepsilon = 1.5", outputs=[new_output("stream", name="stdout", text="V = 0.1834, n = 6,366, 81 %")]
)


def faults(prose: str) -> list[str]:
    """Return what is wrong with prose beside one cell of code."""
    return numbers_from_nowhere(new_notebook(cells=[new_markdown_cell(prose), CODE]))


@pytest.mark.parametrize(
    "prose",
    [
        "V is .183, of 6,366 women; ε = 1.5 with 2,000 trials",
        "V is 18 %, rounded",
        "81 % of them",
        "`x = 77` and [this](77.md) are no prose\n\n    ldpstats --n 77",
        "the printed figure is 77 (Arcolezi et al. 2023, Table 3)",
        "the printed figure is 77, say Imran and Meo (2024, Section 5)",
        "the printed figure is Warner's (1965)",
        "the printed figure is 77 (as in Wang, Li & Jha 2017; the survey has more)",
        "χ² and k-RR2 hold no number",
    ],
)
def test_numbers_that_are_shown_or_cited_may_stand(prose: str) -> None:
    assert not faults(prose)


@pytest.mark.parametrize(
    "prose",
    [
        "V is .19",
        "of 6,367 women",
        "77 % (as is known)",
        "77 (see above)\n\nso it is (Fair 1978)",
        "## The ratio is 77",
        "77 of them (in 2000)",
        "77 (see above, 2000 trials)",
    ],
)
def test_numbers_from_nowhere_are_found(prose: str) -> None:
    assert len(faults(prose)) == 1


def test_complaints_and_missing_pictures_are_found() -> None:
    complaint = new_output("stream", name="stderr", text="a warning")
    picture = new_output("display_data", data={"image/png": "x"})
    assert list(shown_wrong(new_notebook(cells=[CODE]))) == ["no picture"]
    cells = [new_code_cell("", outputs=[picture, complaint])]
    assert list(shown_wrong(new_notebook(cells=cells))) == ["a complaint: a warning"]
