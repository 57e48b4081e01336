"""Sampled groups: what is promised, who answers what, how protocols travel, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats import GRR, RRBA, Domain, LdpstatsError, PerAttribute, SampledGroups
from ldpstats.saving.files import sealed


@pytest.mark.parametrize("epsilon", [0.05, 1, np.float64(4.0)])
@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss", "hr", "auto"])
@pytest.mark.parametrize(
    ("kind", "options"), [(SampledGroups, {}), (PerAttribute, {"sampled": True}), (PerAttribute, {})], ids=str
)
def test_the_promise_is_strict_and_names_its_unit(
    domain: Domain, kind: Any, options: dict[str, Any], mechanism: str, epsilon: float
) -> None:
    """The level of the one answer; or, of attributes that share a budget, no more than all of it."""
    protocol = kind(domain, epsilon=epsilon, mechanism=mechanism, **options)
    promised = protocol.privacy()
    assert epsilon - 1e-9 < promised.epsilon <= epsilon
    assert promised.unit == "a respondent's whole record"
    assert promised.per_group == {
        " × ".join(group): protocol.mechanism_for(group).strict_epsilon() for group in protocol.groups
    }
    if len(protocol._units) > 1:
        assert promised.epsilon == max(promised.per_group.values())
    else:
        assert sum(map(Fraction, promised.per_group.values())) >= Fraction(promised.epsilon) - Fraction(1, 10**12)
        assert max(promised.per_group.values()) <= epsilon / 3
    assert "strict; unit: a respondent's whole record" in promised.headline


def test_mechanisms_fit_their_groups(domain: Domain) -> None:
    protocol = SampledGroups(domain, epsilon=1.0, mechanism="k-RR", groups=[["age"], ("sex", "car")])
    assert protocol.mechanism_for("age") == protocol.mechanism_for(["age"]) == GRR(3, 1.0)
    assert protocol.mechanism_for(("car", "sex")) == GRR(4, 1.0)
    with pytest.raises(LdpstatsError, match=r"\('age',\), \('sex', 'car'\)"):
        protocol.mechanism_for("sex")


@pytest.mark.parametrize("n", [1, 2, 3, 4, 50, 3000])
def test_the_assignment_is_balanced(domain: Domain, people: pd.DataFrame, n: int) -> None:
    for protocol in (SampledGroups(domain, epsilon=1.0), PerAttribute(domain, epsilon=1.0, sampled=True)):
        sizes = [table.n for table in protocol.collect(people.head(n), rng=1)]
        assert sum(sizes) == n
        assert max(sizes) - min(sizes) <= 1


def test_groups_of_one_collection_do_not_share_their_chance() -> None:
    alike = pd.DataFrame({"one": [0] * 200, "other": [0] * 200})
    domain = Domain({"one": [0, 1], "other": [0, 1]})
    rows = SampledGroups(domain, k=1, mechanism="grr", epsilon=1.0).reports(alike, rng=3)
    one, other = (rows.loc[rows["group"] == name, "report"].tolist() for name in domain.names)
    assert one != other


def test_fingerprints_tell_what_was_agreed_on(domain: Domain) -> None:
    variants = [
        SampledGroups(domain, epsilon=1.0),
        SampledGroups(domain, epsilon=1.0000001),
        SampledGroups(domain, mechanism="oue", epsilon=1.0),
        SampledGroups(domain, groups=SampledGroups(domain, epsilon=1.0).groups[::-1], epsilon=1.0),
        SampledGroups(Domain(domain.categories | {"sex": ["M", "F"]}), epsilon=1.0),
    ]
    assert len({protocol.fingerprint() for protocol in variants}) == len(variants)
    # what "auto" stands for is agreed on, not the word: another version may choose differently
    chosen = SampledGroups(domain, groups=[["age"]], epsilon=1.0).mechanism_for("age").name
    named = SampledGroups(domain, groups=[["age"]], mechanism=chosen, epsilon=1.0)
    assert named.fingerprint() == SampledGroups(domain, groups=[["age"]], epsilon=1.0).fingerprint()


def test_a_protocol_of_another_kind_is_named(domain: Domain) -> None:
    """It used to be an unexpected keyword 'p'."""
    for other in (RRBA(domain, p=0.5), PerAttribute(domain, epsilon=1.0)):
        told = rf"the kind '{other.kind}'\. Allowed: one of the kind 'sampled groups'\. Protocol\.from_json"
        with pytest.raises(LdpstatsError, match=told):
            SampledGroups.from_json(other.to_json())


def test_a_protocol_file_that_names_an_attribute_twice_is_refused(domain: Domain) -> None:
    protocol = SampledGroups(domain, epsilon=1.0)
    body = json.loads(protocol.to_json())["body"]
    with pytest.raises(LdpstatsError, match=r"the attributes 'age', .*, 'age'. Allowed: each of them once"):
        SampledGroups.from_json(sealed("protocol", 1, {**body, "domain": [*body["domain"], body["domain"][0]]}))


@pytest.mark.parametrize("asked", ["collect", "simulate", "reports"])
def test_fewer_respondents_than_a_thousand_groups_are_warned_of(asked: str) -> None:
    domain = Domain({f"q{place}": [0, 1] for place in range(46)})
    protocol = SampledGroups(domain, epsilon=2.0, mechanism="grr")
    people = domain.decode(np.zeros((1034, 46), dtype=int))
    words = "1,034 respondents for 1,035 groups of questions: 1 are asked of nobody.*single attributes: k=1"
    with pytest.warns(UserWarning, match=words) as said:
        getattr(protocol, asked)(people, rng=1)
    assert [one.filename for one in said] == [__file__]
    with pytest.raises(UserWarning, match=words):  # before the work; as the suite takes warnings for errors
        getattr(protocol, asked)(people, rng=1)
    if asked == "simulate":
        protocol.simulate(pd.concat([people, people.head(1)]), rng=1)
