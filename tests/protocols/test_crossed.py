"""Crossed answers: their channel, rows for tables of any groups, estimates, and what is refused."""

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

from ldpstats import OUE, SUE, Domain, LdpstatsError, ReportError, TableSet, association, independence_test
from ldpstats.conformance import exact_channel
from ldpstats.conformance.protocol_checks import joint_counts
from ldpstats.datasets import network
from ldpstats.estimation import mixture_em
from ldpstats.mechanisms import Mechanism
from ldpstats.protocols.per_attribute import PerAttribute

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
    assert not pairs.tables(pairs.reports(frame)).simulated
    again = PerAttribute.from_json(pairs.to_json())
    assert again == pairs
    assert same(TableSet.from_json(pairs.tables(rows).to_json()), again.tables(rows))


def test_without_noise_the_bit_of_a_number_is_that_of_its_category(domain: Domain) -> None:
    frame = pd.DataFrame({"age": ["young", "adult", "old"], "sex": ["F", "M", "M"], "car": ["no", "yes", "no"]})
    rows = PerAttribute(domain, epsilon=180.0, mechanism="sue", k=2).reports(frame, rng=1)
    assert sorted(rows["report"]) == ["x010101", "x020102", "x040201"]


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


@each_encoding
def test_all_methods_and_tests_work_on_the_tables(domain: Domain, people: pd.DataFrame, mechanism: str) -> None:
    joint = 40 * joint_counts(domain, people)
    truth = (joint / joint.sum()).sum(axis=0)
    table = PerAttribute(domain, epsilon=6.0, mechanism=mechanism, k=2).simulate(joint, rng=1)["sex", "car"]
    for method in ("unbiased", "gls", "mle"):
        found = table.estimated_by(method)
        # 4.9 standard errors: a false-failure rate of 1e-6 for each cell
        assert np.all(np.abs(found.estimate - truth) < 4.9 * found.std_err)
    proper = table.estimated_by("mle").estimate
    assert (proper.min() >= 0, proper.sum()) == (True, pytest.approx(1))
    assert independence_test(table).pvalue < 1e-6
    assert 0.2 < association(table).cramers_v < 0.4  # .31 among these respondents
    assert table.marginal(["sex"]).estimate == pytest.approx(table.estimate.sum(axis=1))


def test_counts_of_large_populations_are_crossed_at_no_more_cost(domain: Domain) -> None:
    protocol = PerAttribute(domain, epsilon=6.0, mechanism="oue", groups=[("age", "sex", "car"), ("car", "age")])
    for table in protocol.simulate(np.full(12, 80_000_000), rng=1):
        assert table.n == 960_000_000
        # 4.9 standard errors: a false-failure rate of 1e-6 for each cell
        assert np.all(np.abs(table.estimate - 1 / table.estimate.size) < 4.9 * table.std_err)


def test_many_attributes_are_simulated_though_their_patterns_are_beyond_number() -> None:
    """Nine attributes with four categories each have 16^9 patterns, of which 50 respondents send 50 at most."""
    domain = Domain({name: list(range(4)) for name in "abcdefghi"})
    joint = np.zeros(4**9, dtype=int)
    joint[:10] = 5
    protocol = PerAttribute(domain, epsilon=9.0, mechanism="sue", k=2)
    assert [table.n for table in protocol.simulate(joint, rng=1)] == [50] * 36


@each_encoding
@pytest.mark.parametrize(
    "report", ["[8, 0, 0]", "[0, 4, 0]", "[0, 0, 4]", "[0, 0]", "[-1, 0, 0]", "[0, 0, 300]", "7", "[0, 0, 0.5]", None]
)
def test_bad_patterns_are_refused_by_row(domain: Domain, people: pd.DataFrame, mechanism: str, report: Any) -> None:
    protocol = PerAttribute(domain, mechanism=mechanism, k=2, epsilon=1.0)
    rows = protocol.reports(people.head(20), rng=1).astype(object)
    rows.loc[17, "report"] = report
    with pytest.raises(ReportError, match=r"in row 17\. Allowed: "):
        protocol.tables(rows)
    rows.loc[17, "report"] = "[7, 3, 3]"
    assert protocol.tables(rows).n == 20


def test_names_of_unary_encodings_are_taken_for_crossed_answers(domain: Domain) -> None:
    assert PerAttribute(domain, k=2, epsilon=3.0, mechanism="basic one-time RAPPOR").mechanism_for("age") == SUE(3, 1.0)
    assert PerAttribute(domain, k=2, epsilon=3.0, mechanism="OUE").mechanism_for("car") == OUE(2, 1.0)


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


def summed_variance(mechanism: str) -> float:
    """Return the exact variances of the unbiased cells of all pairs of the survey network, ε = 4, times n."""
    survey = network("survey")
    tables = PerAttribute(survey.domain, epsilon=4.0, mechanism=mechanism, k=2).simulate(
        np.ones(survey.domain.shape, dtype=int)
    )
    return sum(
        float(np.trace(table.blocks[0].noise.covariance(survey.pair(*table.attributes).ravel()))) for table in tables
    )


@pytest.mark.parametrize(("mechanism", "ratio"), [("sue", 2.96), ("oue", 3.17)])
def test_for_few_categories_randomized_response_tells_more_than_bits(mechanism: str, ratio: float) -> None:
    assert summed_variance(mechanism) / summed_variance("grr") == pytest.approx(ratio, abs=0.01)
