"""Vignettes answer their questions about data that they have never seen: other names, numbers, rare answers, none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from execute_vignettes import PICTURES

from ldpstats.answers import categorical_answers
from ldpstats.vignettes import OwnData, executed, notebook_of, vignettes

RESPONDENTS = 150
NAMES = ("wohnt seit", "größe", "q: 3", "krank", "age", "kids")


def answers(respondents: int) -> str:
    """Return a file of answers that no vignette knows: all its columns are questions."""
    rng = np.random.default_rng(respondents)
    ill = np.where(rng.random(respondents) < 0.04, "ja", "nein")
    columns = [
        rng.choice([1, 2, 3, 4, 5, 6], respondents),
        np.where(ill == "ja", rng.choice(["klein", ""], respondents), rng.choice(["klein", "groß"], respondents)),
        rng.choice(["true", "false"], respondents),
        ill,
        rng.integers(18, 90, respondents),
        rng.choice([0, 1, 2], respondents),
    ]
    rows = zip(*columns, strict=True)
    return "\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in rows)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", vignettes())
def test_a_vignette_answers_its_question_about_other_data(name: str, tmp_path: Path) -> None:
    one = vignettes()[name]
    path = tmp_path / "answers.csv"
    path.write_text(answers(RESPONDENTS), "utf-8")
    chosen = NAMES[: min(one.columns[1], 3)]
    people = categorical_answers(path, chosen)
    own = OwnData(path.name, chosen, 1.5, notes=people.attrs["notes"])
    notebook = executed(notebook_of(one, own, quick=True), tmp_path, name)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any(kind in output.get("data", {}) for output in outputs for kind in PICTURES)
    assert not [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
