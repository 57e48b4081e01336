"""Answers attribute by attribute: what they cost, alone or crossed, their channel, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from io import StringIO
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import same

from ldpstats import GRR, OUE, RR, SUE, Domain, LdpstatsError, ReportError, independence_test
from ldpstats.conformance import exact_channel
from ldpstats.conformance.protocol_checks import joint_counts
from ldpstats.estimation import mixture_em
from ldpstats.mechanisms import Mechanism
from ldpstats.protocols.per_attribute import PerAttribute


def test_only_attributes_whose_tables_are_formed_are_asked_for(domain: Domain, people: pd.DataFrame) -> None:
    protocol = PerAttribute(domain, epsilon=2.0, groups=[("car", "age")])
    assert protocol.mechanism_for("age") == GRR(3, 1.0)
    with pytest.raises(LdpstatsError, match=r"\('age',\), \('car',\)"):
        protocol.mechanism_for("sex")
    rows = protocol.reports(people.head(5), rng=1)
    assert rows["group"].unique().tolist() == ["age × car"]
    joint = np.arange(12)
    for population in (people, joint):
        table = protocol.simulate(population, rng=1)["age", "car"]
        assert table.n == (3000 if population is people else 66)
    single = PerAttribute(domain, epsilon=2.0, groups=[["car"]])
    assert single.mechanism_for("car").epsilon == 2.0
    assert len(single.collect(people.head(5), rng=1)) == 1


def test_a_marginal_of_crossed_answers_is_what_they_tell_about_fewer_attributes() -> None:
    """The same randomized answers, added up over one attribute, or never crossed with it."""
    asked = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
    groups = [("a", "b", "c"), ("a", "b")]
    tables = PerAttribute(asked, epsilon=3.0, mechanism="grr", groups=groups).simulate(np.arange(12) * 100, rng=1)
    marginal, direct = tables[groups[0]].marginal(["a", "b"]), tables["a", "b"]
    assert marginal.blocks[0].tally.counts.tolist() == direct.blocks[0].tally.counts.tolist()
    np.testing.assert_allclose(marginal.covariance, direct.covariance, atol=1e-12)
    one, other = independence_test(marginal), independence_test(direct)
    assert (one.method, one.df) == (other.method, other.df)
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)


each_encoding = pytest.mark.parametrize("mechanism", ["sue", "oue"])


def number_of(report: bytes, categories: int) -> int:
    """Read a packed report of at most eight bits as a binary number that begins with the first category's bit."""
    return int(format(report[0], "08b")[:categories], 2)


def pattern_laws(mechanism: Mechanism) -> list[dict[int, Fraction]]:
    """Return the exact law of an attribute's number, for every category."""
    return [
        {number_of(report, mechanism.k): chance for report, chance in law.items()} for law in exact_channel(mechanism)
    ]


def exact_matrix(protocol: PerAttribute, group: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return P(patterns | cell) of a group by going through every pattern of every attribute."""
    laws = [pattern_laws(protocol.mechanism_for(name)) for name in group]
    return np.array(
        [
            [
                float(prod(law[pattern] for law, pattern in zip(cell, sent, strict=True)))
                for sent in product(*(range(len(cell[0])) for cell in laws))
            ]
            for cell in product(*laws)
        ]
    )


@each_encoding
@pytest.mark.parametrize("group", [("age", "sex"), ("car", "age", "sex"), ("sex",)], ids=str)
def test_the_channel_of_a_table_is_the_product_of_the_attributes_exact_channels(
    domain: Domain, mechanism: str, group: tuple[str, ...]
) -> None:
    protocol = PerAttribute(domain, epsilon=3.0, mechanism=mechanism, groups=[group, ("age", "car")])
    found = protocol.simulate(np.ones(12, dtype=int), rng=1)[group].blocks[0].noise.channel.matrix()
    assert found == pytest.approx(exact_matrix(protocol, group), rel=1e-12)


@each_encoding
def test_the_same_answers_stand_behind_all_tables(domain: Domain, people: pd.DataFrame, mechanism: str) -> None:
    protocol = PerAttribute(domain, epsilon=9.0, mechanism=mechanism, k=2)
    joint = joint_counts(domain, people)
    for tables in (protocol.collect(people, rng=1), protocol.simulate(joint, rng=1)):
        assert [table.n for table in tables] == [3000] * 3
        counts = {table.attributes: table.blocks[0].tally.counts for table in tables}
        by_sex = counts["sex", "car"].reshape(4, 4).sum(axis=1)
        assert np.array_equal(by_sex, counts["age", "sex"].reshape(8, 4).sum(axis=0))


@each_encoding
def test_rows_travel_and_make_tables_of_any_groups(domain: Domain, people: pd.DataFrame, mechanism: str) -> None:
    frame = people.head(500)
    pairs = PerAttribute(domain, epsilon=3.0, mechanism=mechanism, k=2)
    triple = PerAttribute(domain, epsilon=3.0, mechanism=mechanism, groups=[("car", "age", "sex")])
    assert pairs.fingerprint() == triple.fingerprint()
    assert pairs.fingerprint() not in {PerAttribute(domain, epsilon=3.0, k=2).fingerprint()} | {
        PerAttribute(domain, epsilon=3.0, mechanism=mechanism).fingerprint()
    }
    rows = pairs.reports(frame, rng=1)
    assert rows["group"].unique().tolist() == ["age × sex × car"]
    read = pd.read_csv(StringIO(rows.to_csv(index=False)))
    assert same(pairs.tables(read.sample(frac=1, random_state=1)), pairs.collect(frame, rng=1))
    assert same(triple.tables(read), triple.collect(frame, rng=1))
    (whole,) = (table.blocks[0].tally.counts.reshape(4, 8, 4) for table in triple.tables(rows))
    of_age_and_car = pairs.tables(rows)["age", "car"].blocks[0].tally.counts.reshape(8, 4)
    assert np.array_equal(whole.sum(axis=2).T, of_age_and_car)


def test_without_noise_the_bit_of_a_number_is_that_of_its_category(domain: Domain) -> None:
    frame = pd.DataFrame({"age": ["young", "adult", "old"], "sex": ["F", "M", "M"], "car": ["no", "yes", "no"]})
    rows = PerAttribute(domain, epsilon=180.0, mechanism="sue", k=2).reports(frame, rng=1)
    assert sorted(rows["report"]) == ["x010101", "x020102", "x040201"]


@pytest.mark.parametrize("mechanism", ["grr", "sue", "oue"])
@pytest.mark.parametrize("report", ["x080000", "x000400", "x000004", "x0000", "x00000000", "7", "0.5", "", None])
def test_bad_answers_are_refused_by_row(domain: Domain, people: pd.DataFrame, mechanism: str, report: Any) -> None:
    protocol = PerAttribute(domain, mechanism=mechanism, k=2, epsilon=1.0)
    rows = protocol.reports(people.head(20), rng=1).astype(object)
    rows.loc[17, "report"] = report
    with pytest.raises(ReportError, match=r"in row 17\. Allowed: "):
        protocol.tables(rows)
    rows.loc[17, "report"] = "x020101" if mechanism == "grr" else "x070303"
    assert protocol.tables(rows).n == 20


def test_all_names_of_mechanisms_are_taken_for_crossed_answers(domain: Domain) -> None:
    named = {"basic one-time RAPPOR": SUE(3, 1.0), "OUE": OUE(3, 1.0), "k-RR": GRR(3, 1.0), "auto": GRR(3, 1.0)}
    for name, used in named.items():
        assert PerAttribute(domain, k=2, epsilon=3.0, mechanism=name).mechanism_for("age") == used
    binary = Domain({name: [0, 1] for name in "abc"})
    assert PerAttribute(binary, k=2, epsilon=3.0, mechanism="warner").mechanism_for("a") == RR(2, 1.0)


@each_encoding
def test_the_most_likely_table_is_that_of_em_over_the_single_reports(
    domain: Domain, people: pd.DataFrame, mechanism: str
) -> None:
    """Fanti, Pihur & Erlingsson (2016): the likelihood of a pair of reports is the product over both attributes."""
    protocol = PerAttribute(domain, epsilon=6.0, mechanism=mechanism, k=2)
    rows = protocol.reports(people.head(400), rng=2)
    sent = [list(bytes.fromhex(report.removeprefix("x"))) for report in rows["report"]]
    laws = [pattern_laws(protocol.mechanism_for(name)) for name in ("age", "car")]
    likelihoods = [[float(age[mine] * car[yours]) for age, car in product(*laws)] for mine, _, yours in sent]
    fitted = mixture_em(likelihoods)
    table = protocol.tables(rows)["age", "car"].estimated_by("mle")
    assert fitted.converged
    assert table.cells.estimate == pytest.approx(fitted.frequencies, abs=1e-6)


def test_many_attributes_are_simulated_though_their_patterns_are_beyond_number() -> None:
    """Nine attributes with four categories each have 16^9 patterns, of which 50 respondents send 50 at most."""
    domain = Domain({name: list(range(4)) for name in "abcdefghi"})
    joint = np.zeros(4**9, dtype=int)
    joint[:10] = 5
    protocol = PerAttribute(domain, epsilon=9.0, mechanism="sue", k=2)
    assert [table.n for table in protocol.simulate(joint, rng=1)] == [50] * 36


def test_groups_with_too_many_patterns_are_refused() -> None:
    wide = Domain({"a": list(range(6)), "b": list(range(5)), "c": [0, 1]})
    with pytest.raises(LdpstatsError, match=r"30 cells and 2,048 different answers: a and b.*1,024.*mechanism = 'grr'"):
        PerAttribute(wide, k=2, mechanism="sue", epsilon=1.0)
    assert len(PerAttribute(wide, k=2, mechanism="grr", epsilon=1.0).groups) == 3
    narrow = PerAttribute(wide, mechanism="oue", groups=[("a", "c"), ("b", "c")], epsilon=1.0)
    assert [table.blocks[0].noise.outputs for table in narrow.simulate(np.ones(60, dtype=int), rng=1)] == [256, 128]
    # the number of patterns alone, not the patterns, is looked at
    with pytest.raises(LdpstatsError, match="different answers"):
        PerAttribute(Domain({"a": list(range(1000)), "b": [0, 1]}), k=2, mechanism="sue", epsilon=1.0)
    with pytest.raises(LdpstatsError, match=r"report one number, such as 'grr'.*or a bit for each value"):
        PerAttribute(wide, k=2, mechanism="ss", epsilon=1.0)
