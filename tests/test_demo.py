"""The demonstration: what it prints is what true answers, classical tests and reports say, for every seed."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association
from statsmodels.stats.multitest import multipletests

from ldpstats.cli import main
from ldpstats.datasets import affairs
from ldpstats.demo import _YOUR_OWN, Demonstration, classical_association, demonstrate
from ldpstats.inference import sample_size


@pytest.fixture(scope="module")
def shown() -> Demonstration:
    return demonstrate()


def row(shown: Demonstration, first: str, second: str) -> pd.Series[Any]:
    return shown.pairs.set_index(["first", "second"]).loc[(first, second)]


def test_the_story_fits_on_a_screen_and_says_where_its_people_come_from(shown: Demonstration) -> None:
    lines = str(shown).splitlines()
    assert len(lines) < 60  # and one that says where the page is
    assert max(map(len, lines)) <= 100
    assert "100,000 respondents, simulated from 6,366 women's real answers" in lines[1]
    assert "epsilon = 2 (strict; unit: a respondent's whole record)" in str(shown)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_the_naive_test_finds_a_dependence_that_is_none(shown: Demonstration, seed: int) -> None:
    found = shown if seed == 1 else demonstrate(seed=seed)
    wrong = found.misleading
    assert wrong is not None
    assert wrong["naive_pvalue"] < 1e-6
    assert wrong["true_v"] < 0.02
    assert wrong["verdict"] == "no dependence shown"
    assert wrong["second"] == "husband"


def test_the_strongest_pair_is_a_real_one(shown: Demonstration) -> None:
    assert shown.strongest.attributes == ("affair", "marriage")
    strongest = row(shown, "affair", "marriage")
    assert strongest["verdict"] == strongest["raw_verdict"] == "dependent"
    assert strongest["true_v"] == pytest.approx(0.331, abs=5e-4)


def test_raw_columns_are_those_of_scipy_and_statsmodels(shown: Demonstration) -> None:
    for _, one in shown.pairs.iterrows():
        counts = pd.crosstab(shown.people[one["first"]], shown.people[one["second"]]).to_numpy()
        assert one["raw_v"] == pytest.approx(association(counts, method="cramer"), abs=1e-12)
        assert one["raw_pvalue"] == pytest.approx(chi2_contingency(counts, correction=False).pvalue, rel=1e-6)
    adjusted = multipletests(shown.pairs["raw_pvalue"], method="holm")[1]
    np.testing.assert_allclose(shown.pairs["raw_adjusted"], adjusted)
    np.testing.assert_array_equal(shown.pairs["raw_verdict"] == "dependent", adjusted <= 0.05)


def test_the_respondents_needed_find_that_very_dependence_at_the_adjusted_level(shown: Demonstration) -> None:
    people = affairs()
    joint = pd.crosstab(people["affair"], people["children"], normalize=True).to_numpy()
    reports = sample_size("grr", (2, 2), epsilon=2.0, effect=joint, alpha=0.05 / 10)
    assert row(shown, "affair", "children")["needed"] == 10 * reports


def test_how_many_are_needed_does_not_depend_on_how_many_were_asked(shown: Demonstration) -> None:
    """Of three respondents seven pairs are asked by nobody."""
    few, more = (one.pairs.set_index(["first", "second"]) for one in (demonstrate(n=3), shown))
    pd.testing.assert_series_equal(few["needed_at_least"].sort_index(), more["needed_at_least"].sort_index())


def test_the_last_line_counts_what_reports_show_of_what_raw_data_do(shown: Demonstration) -> None:
    found, raw = (set(shown.pairs.index[shown.pairs[name] == "dependent"]) for name in ("verdict", "raw_verdict"))
    assert len(raw) > len(found & raw)
    others = len(found - raw) or "no"
    assert f"Of {len(raw)} dependences in the raw data the reports show {len(found & raw)}, and {others} others" in (
        " ".join(str(shown).split())
    )


def test_what_leaves_the_phone_is_a_false_report_with_the_probability_stated(shown: Demonstration) -> None:
    answers, report = shown._example()
    assert answers["affair"] == "yes"
    assert set(report) == {"affair", "marriage"}
    assert any(report[name] != answers[name] for name in report)
    true = math.exp(2) / (math.exp(2) + 5)
    assert f"Her report holds her answers with {true:.0%}" in " ".join(str(shown).split())


def test_what_a_report_tells_of_one_respondent_is_what_the_level_allows(shown: Demonstration) -> None:
    share = (shown.people["affair"] == "yes").mean()
    odds = share / (1 - share) * np.exp([-2, 2])
    least, most = 100 * odds / (1 + odds)
    said = re.search(r"at least (\d+)% and at most (\d+)%", " ".join(str(shown).split()))
    assert said is not None
    assert (int(said[1]), int(said[2])) == (math.floor(least), math.ceil(most))


def test_counts_without_variation_have_no_association() -> None:
    assert all(map(math.isnan, classical_association(np.array([[3, 4], [0, 0]])).values()))
    assert classical_association(np.array([[3, 0, 4], [5, 0, 1]])) == classical_association(np.array([[3, 4], [5, 1]]))


def test_the_lines_for_own_data_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    affairs().sample(1000, random_state=1).to_csv("answers.csv", index=False)
    code = "\n".join(line.removeprefix("  ") for line in _YOUR_OWN.splitlines() if line.startswith("  "))
    exec(compile(code, "your own data", "exec"), {})  # noqa: S102  # our own lines
    assert "marriage" in capsys.readouterr().out
    asked = re.search(r"ldpstats (report .*)", _YOUR_OWN)
    assert asked is not None
    assert CliRunner().invoke(main, asked[1].split()).exit_code == 0
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("mechanism", ["hr", pytest.param("olh", marks=pytest.mark.exhaustive)])
def test_every_way_to_randomize_has_a_story(mechanism: str) -> None:
    text = str(demonstrate(n=5_000, mechanism=mechanism))
    assert f"randomized by {mechanism.upper()}" in " ".join(text.split())
    assert "nan" not in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("n", [1, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_a_handful_of_respondents_is_a_short_story(n: int) -> None:
    text = str(demonstrate(n=n))
    assert "nan" not in text
    assert "respondents needed" in text


def test_a_network_says_which_pairs_are_truly_independent() -> None:
    shown = demonstrate("survey", n=20_000)
    assert set(shown.pairs["truth"]) == {"dependent", "independent"}
    assert "independent" in str(shown)
    assert np.isinf(shown.pairs.loc[shown.pairs["truth"] == "independent", "needed"]).all()
