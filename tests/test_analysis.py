"""The analysis of a file: the same figures as step by step, and honest words beside them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.analysis import Analysis, analyse
from ldpstats.answers import read_answers
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


def test_raw_answers_are_adjusted_for_all_pairs_by_holm(analysis: Analysis) -> None:
    pairs = analysis.pairs.sort_values("raw_pvalue")
    steps = pairs["raw_pvalue"].to_numpy() * np.arange(len(pairs), 0, -1)
    assert pairs["raw_adjusted"].to_numpy() == pytest.approx(np.minimum(np.maximum.accumulate(steps), 1))
    assert ((pairs["raw_adjusted"] <= 0.05) == (pairs["raw_verdict"] == "dependent")).all()


def test_the_page_is_that_of_the_tables(analysis: Analysis) -> None:
    assert analysis.page("Title") == report_page(analysis.tables, "Title", analysis.people)


def test_the_reports_are_those_of_the_protocol(analysis: Analysis) -> None:
    protocol = ldp.SampledGroups(analysis.tables.domain, epsilon=3.0)
    assert protocol.collect(analysis.people, rng=1).to_json() == analysis.tables.to_json()


def test_the_raw_answers_are_tested_as_scipy_does(analysis: Analysis) -> None:
    row = analysis.pairs.set_index(["first", "second"]).loc[("smokes", "coughs")]
    counts = analysis.people.groupby(["smokes", "coughs"], observed=True).size().unstack().to_numpy()
    expected = stats.chi2_contingency(counts, correction=False)
    assert row["raw_pvalue"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert row["raw_v"] == pytest.approx(np.sqrt(expected.statistic / DIRTY), rel=1e-9)


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
    assert len(one._repeated) == 800


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
