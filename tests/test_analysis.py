"""Private beside raw: figures as step by step and as of other packages, honest words, and the demonstration's story."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association
from statsmodels.stats.multitest import multipletests
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.analysis import _YOUR_OWN, Analysis, Demonstration, analyse, classical_association, demonstrate
from ldpstats.answers import read_answers
from ldpstats.cli import main
from ldpstats.datasets import affairs
from ldpstats.pictures.drawing import Picture
from ldpstats.report import report_page

DIRTY = 3000


def dirty() -> bytes:
    """Return a file with every kind of dirt that people have: semicolons, a mark of its encoding, gaps, mixed types."""
    rng = np.random.default_rng(7)
    smokes = rng.choice(["yes", "no"], DIRTY)
    coughs = np.where(rng.random(DIRTY) < np.where(smokes == "yes", 0.8, 0.2), "often", "seldom")
    rows = [
        [
            f"{number}",
            f" {smokes[number]} ",
            coughs[number] if number % 20 else ["", "NA", "-"][number // 20 % 3],
            f"{number / 7:.4f}".replace(".", ","),
            f"{number % 3}" if number % 5 else "unknown",
            '"free; ""text"" ' + f"\n{number % 400}" + '"',
            "DE",
        ]
        for number in range(DIRTY)
    ]
    names = ["", "smokes", "coughs", "income", "rooms", "remarks", "country"]
    return "\ufeff".encode() + "\r\n".join(";".join(row) for row in [names, *rows]).encode("utf-8")


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse(read_answers(dirty(), "dirty.csv"), epsilon=3.0)


def test_a_dirty_file_is_analysed_and_all_of_it_is_said(analysis: Analysis) -> None:
    assert list(analysis.tables.domain.names) == ["smokes", "coughs", "income", "rooms"]
    said = "\n".join(analysis.notes)
    for words in (
        "column 1 has no name, numbers the rows",
        "separated by semicolons",
        "'coughs' has 150 missing answers, which are the category '(missing)'",
        "'income' has 3,000 different numbers, put into the classes under 107",
        "'rooms' has numbers such as '1' and words such as 'unknown'",
        "'remarks' is left out: it has 400 different texts",
        "'country' is left out: all answers are 'DE'",
    ):
        assert words in said
    assert analysis.pairs.iloc[0][["first", "second", "verdict"]].tolist() == ["smokes", "coughs", "dependent"]


@pytest.fixture(scope="module")
def demonstration() -> Demonstration:
    return demonstrate()


@pytest.mark.parametrize("kind", ["analysis", "demonstration"])
def test_raw_columns_are_those_of_scipy_and_statsmodels(kind: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(kind)
    for _, row in found.pairs.iterrows():
        counts = pd.crosstab(found.people[row["first"]], found.people[row["second"]]).to_numpy()
        assert row["raw_v"] == pytest.approx(association(counts, method="cramer"), abs=1e-12)
        assert row["raw_pvalue"] == pytest.approx(chi2_contingency(counts, correction=False).pvalue, rel=1e-6)
    adjusted = multipletests(found.pairs["raw_pvalue"], method="holm")[1]
    np.testing.assert_allclose(found.pairs["raw_adjusted"], adjusted)
    np.testing.assert_array_equal(found.pairs["raw_verdict"] == "dependent", adjusted <= 0.05)


@pytest.fixture
def _nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picture, "svg", lambda *_: "<svg></svg>")


@pytest.mark.usefixtures("_nothing_is_drawn")
def test_the_page_is_that_of_the_tables(analysis: Analysis) -> None:
    assert analysis.page("Title") == report_page(analysis.tables, "Title", analysis.people)


def test_the_reports_are_those_of_the_protocol(analysis: Analysis) -> None:
    protocol = ldp.SampledGroups(analysis.tables.domain, epsilon=3.0)
    assert protocol.collect(analysis.people, rng=1).to_json() == analysis.tables.to_json()


def test_findings_say_that_they_are_simulated_and_whom_they_protect(analysis: Analysis) -> None:
    text = spoken(str(analysis.findings()))
    assert "This is a simulation (seed 1) of what respondents' devices would do" in text
    assert "It protects nobody whose answers are in the file." in text
    assert "epsilon = 3." in text
    assert "Not shown is not a proof of independence." in text


def test_counts_stand_for_so_many_rows() -> None:
    counted = "a,b,n\nx,p,300\nx,q,100\ny,p,100\ny,q,300\n"
    rows = "a,b\n" + "x,p\n" * 300 + "x,q\n" * 100 + "y,p\n" * 100 + "y,q\n" * 300
    one = analyse(read_answers(counted.encode(), "it"), epsilon=2.0, counts="n")
    other = analyse(read_answers(rows.encode(), "it"), epsilon=2.0)
    assert one.tables.n == other.tables.n == 800
    assert one.pairs[["raw_v", "raw_pvalue"]].to_numpy() == pytest.approx(
        other.pairs[["raw_v", "raw_pvalue"]].to_numpy()
    )
    assert len(one.people) == 800


@pytest.mark.parametrize("k", [2, 3])
def test_pairs_of_wider_groups_are_tested(k: int) -> None:
    rows = "".join(f"{n % 2},{n % 3},{n // 2 % 2}\n" for n in range(600))
    found = analyse(read_answers(f"a,b,c\n{rows}".encode(), "it"), epsilon=2.0, k=k)
    assert len(found.pairs) == 3
    assert found.tables.n == 600


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\nx,1\n", "no column that is a question"),
        ("a,b\nx,1\ny,1\n", "1 question in it: a. Allowed: at least 2. Column 'b': all answers are 1."),
        ("a\nx\ny\n", "1 question in it: a"),
    ],
)
def test_a_file_without_pairs_of_questions_is_refused(content: str, message: str) -> None:
    with pytest.raises(ldp.LdpstatsError) as error:
        analyse(read_answers(content.encode(), "it"), epsilon=2.0)
    assert message in str(error.value)


def test_two_respondents_are_few_but_enough() -> None:
    found = analyse(read_answers(b"a,b\nx,1\ny,2\n", "it"), epsilon=2.0)
    assert found.tables.n == 2
    assert str(found.findings())


def test_respondents_needed_are_those_of_the_raw_answers_however_noisy_the_margins() -> None:
    """Seven reports a pair, as of the Australian credit data, where V = .72 was said to need 10^15 respondents."""
    rng = np.random.default_rng(1)
    codes = (rng.random((68, 5)) < [0.03, 0.5, 0.5, 0.1, 0.3]).astype(int)
    codes[:, 2] = np.where(rng.random(68) < 0.85, codes[:, 1], 1 - codes[:, 1])
    rows = "\n".join(",".join("ny"[code] for code in row) for row in codes)
    found = analyse(read_answers(f"{','.join('abcde')}\n{rows}".encode(), "a file"), epsilon=2.0)
    pair = found.pairs.set_index(["first", "second"]).loc[("b", "c")]
    joint = np.histogram2d(codes[:, 1], codes[:, 2], bins=2)[0] / 68
    mechanism = ldp.SampledGroups(found.tables.domain, epsilon=2.0).mechanism_for(("b", "c"))
    assert pair["needed"] == 10 * ldp.sample_size(mechanism, (2, 2), effect=joint, alpha=0.05 / 10)
    dependent = found.pairs["raw_verdict"] == "dependent"
    assert found.pairs.loc[dependent, "needed"].between(100, 10**5).all()
    said = spoken(str(found.findings()))
    assert "(by raw answers)" in said
    assert f"{pair['needed']:,.0f}" in said


def test_where_rare_answers_would_hardly_come_only_the_least_number_is_said() -> None:
    """Of three reports, for which the law of the statistic asks, nine in ten times none holds a rare answer."""
    content = "a,b\n" + "x,1\n" * 970 + "y,2\n" * 30
    found = analyse(read_answers(content.encode(), "it"), epsilon=8.0)
    pair = found.pairs.iloc[0]
    assert np.isnan(pair["needed"])
    assert 0.97 ** pair["needed_at_least"] > 0.5, "no number for a power of .8"
    said = spoken(str(found.findings()))
    assert f"at least {pair['needed_at_least']:.0f}" in said
    assert '"at least": rare answers would come so seldom' in said


@pytest.mark.parametrize(("questions", "k", "most"), [(300, 2, 45), (100, 2, 45), (300, 3, 77)])
def test_more_pairs_than_respondents_could_tell_about_are_refused_at_once(questions: int, k: int, most: int) -> None:
    row = ",".join("1" * questions)
    rows = "\n".join([row, row.replace("1", "0")] * 1000)
    file = read_answers(f"{','.join(f'q{one}' for one in range(questions))}\n{rows}".encode(), "wide.csv")
    with pytest.raises(ldp.LdpstatsError, match=f"here up to {most} questions. --columns names"):
        analyse(file, epsilon=2.0, k=k)


def test_the_story_fits_on_a_screen_and_says_where_its_people_come_from(demonstration: Demonstration) -> None:
    lines = str(demonstration).splitlines()
    assert len(lines) < 60  # and one that says where the page is
    assert max(map(len, lines)) <= 100
    assert "100,000 respondents, simulated from 6,366 women's real answers" in lines[1]
    assert "epsilon = 2 (strict; unit: a respondent's whole record)" in str(demonstration)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_the_textbooks_test_finds_a_dependence_that_is_none(demonstration: Demonstration, seed: int) -> None:
    found = demonstration if seed == 1 else demonstrate(seed=seed)
    (wrong,) = found.what_goes_wrong()
    pair, raw, naive, ours = wrong.panels[0].rows[0]
    row = found.pairs.set_index(["first", "second"]).loc[tuple(pair.split(" × "))]
    assert pair.endswith("husband")
    assert row["raw_v"] < 0.02
    assert row["verdict"] == "no dependence shown"
    assert raw.startswith(f"V = {row['raw_v']:.3f}, p = ")
    assert ours.startswith(f"V = {row['cramers_v']:.3f}, p = ")
    assert float(naive.partition("p = ")[2]) < 1e-6


def test_the_last_line_counts_what_reports_show_of_what_raw_answers_do(demonstration: Demonstration) -> None:
    pairs = demonstration.pairs
    found, raw = (set(pairs.index[pairs[name] == "dependent"]) for name in ("verdict", "raw_verdict"))
    assert len(raw) > len(found & raw)
    assert f"Of {len(raw)} dependences that the raw answers show, the reports show {len(found & raw)}, and " in (
        spoken(str(demonstration))
    )
    assert pairs.iloc[0][["first", "second", "verdict", "raw_verdict"]].tolist() == [
        *("affair", "marriage", "dependent", "dependent")
    ]


def test_what_leaves_the_phone_is_a_false_report_with_the_probability_stated(demonstration: Demonstration) -> None:
    told = demonstration.what_is_sent()
    answers, sent = ({row[0]: row[place] for row in told.panels[0].rows if row[place]} for place in (2, 3))
    assert answers["affair"] == "yes"
    assert set(sent) == {"affair", "marriage"}
    assert any(sent[name] != answers[name] for name in sent)
    true = math.exp(2) / (math.exp(2) + 5)
    assert f"Her report holds her answers with {true:.0%}" in spoken(str(told))


def test_what_a_report_tells_of_one_respondent_is_what_the_level_allows(demonstration: Demonstration) -> None:
    share = (demonstration.people["affair"] == "yes").mean()
    odds = share / (1 - share) * np.exp([-2, 2])
    least, most = 100 * odds / (1 + odds)
    said = re.search(r"at least (\d+)% and at most (\d+)%", spoken(str(demonstration)))
    assert said is not None
    assert (int(said[1]), int(said[2])) == (math.floor(least), math.ceil(most))


def test_counts_without_variation_have_no_association() -> None:
    def of(counts: list[list[int]]) -> dict[str, float]:
        return classical_association(np.array(counts) / np.sum(counts), int(np.sum(counts)))

    assert all(map(math.isnan, of([[3, 4], [0, 0]]).values()))
    assert of([[3, 0, 4], [5, 0, 1]]) == of([[3, 4], [5, 1]])


@pytest.mark.usefixtures("_nothing_is_drawn")
def test_the_lines_for_own_data_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    affairs().sample(1000, random_state=1).to_csv("answers.csv", index=False)
    code = "\n".join(line.removeprefix("  ") for line in _YOUR_OWN.splitlines() if line.startswith("  "))
    exec(compile(code, "your own data", "exec"), {})  # noqa: S102  # our own lines
    assert "marriage" in capsys.readouterr().out
    asked = re.search(r"ldpstats (report .*)", _YOUR_OWN)
    assert asked is not None
    assert CliRunner().invoke(main, asked[1].split()).exit_code == 0
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("n", "mechanism", "said"),
    [
        (5000, "hr", "randomized by HR"),
        pytest.param(5000, "olh", "randomized by OLH", marks=pytest.mark.exhaustive),
        (1, "auto", "respondents needed"),
        pytest.param(20, "auto", "respondents needed", marks=pytest.mark.exhaustive),
    ],
)
def test_every_mechanism_and_any_number_of_respondents_has_a_story(n: int, mechanism: str, said: str) -> None:
    text = str(demonstrate(n=n, mechanism=mechanism))
    assert said in spoken(text)
    assert "nan" not in text
    assert max(map(len, text.splitlines())) <= 100
