"""Ordered categories: what domains, files and pandas make of them, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import ldpstats as ldp
from ldpstats.answers.domain import Domain
from ldpstats.errors import DomainError, LdpstatsError

AGES = ["18-29", "30-44", "45-64"]
DOMAIN = Domain({"sex": ["F", "M"], "age": ldp.ordered(AGES, scores=[23.5, 37, 54.5]), "size": ldp.ordered(["S", "L"])})
PLAIN = Domain({"sex": ["F", "M"], "age": AGES, "size": ["S", "L"]})


def test_every_way_to_write_a_domain_keeps_it() -> None:
    for again in (
        Domain.from_list(DOMAIN.to_list()),
        Domain(DOMAIN.to_dict()),
        Domain.from_json(DOMAIN.to_json()),
        Domain.from_json(
            '{"sex": ["F", "M"], "age": {"ordered": ["18-29", "30-44", "45-64"], "scores": [23.5, 37, 54.5]}, '
            '"size": {"ordered": ["S", "L"]}}'
        ),
        pickle.loads(pickle.dumps(DOMAIN)),  # noqa: S301  # what we wrote
        copy.deepcopy(DOMAIN),
        DOMAIN.project(DOMAIN.names),
    ):
        assert again == DOMAIN
        assert hash(again) == hash(DOMAIN)
        assert again.scores("age").tolist() == [23.5, 37, 54.5]
    assert eval(repr(DOMAIN), {"Domain": Domain, "ordered": ldp.ordered}) == DOMAIN  # noqa: S307  # what we wrote


def test_an_order_and_its_scores_make_another_domain() -> None:
    others = [PLAIN, Domain({**PLAIN.categories, "age": ldp.ordered(AGES)})]
    others.append(Domain({**DOMAIN.categories, "age": ldp.ordered(AGES, scores=[1, 2, 3])}))
    assert len({DOMAIN, *others}) == 4
    prints = {ldp.SampledGroups(own, epsilon=1.0).fingerprint() for own in (DOMAIN, *others)}
    assert len(prints) == 4
    assert PLAIN.to_list()[1] == {"name": "age", "categories": AGES}


def test_protocol_and_table_files_carry_it(tmp_path: object) -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=1.0)
    assert ldp.SampledGroups.from_json(protocol.to_json()).domain == DOMAIN
    tables = protocol.simulate(np.ones(12, dtype=int) * 10, rng=1)
    tables.save(f"{tmp_path}/tables.json")
    assert ldp.load(f"{tmp_path}/tables.json").domain == DOMAIN
    people = DOMAIN.decode([[0, 1, 1], [1, 2, 0]] * 30)
    assert DOMAIN.encode(people).tolist() == PLAIN.encode(people).tolist()


def test_collapsing_keeps_what_is_still_in_order() -> None:
    merged = DOMAIN.collapsed({"age": {"under 45": AGES[:2]}})[0]
    assert merged.is_ordered("age")
    assert merged.categories["age"].scores is None  # type: ignore[attr-defined]
    assert merged.categories["size"] == DOMAIN.categories["size"]
    assert merged.is_ordered("size")
    assert not DOMAIN.collapsed({"age": {"ends": [AGES[0], AGES[2]]}})[0].is_ordered("age")


def test_pandas_categoricals_keep_their_order_and_classes_their_middles() -> None:
    frame = pd.DataFrame(
        {
            "class": pd.cut(pd.Series([1, 5, 9, 3]), [0, 2, 6, 10]),
            "open": pd.cut(pd.Series([1, 5, 9, 3]), [0, 2, math.inf]),
            "size": pd.Categorical(["S", "L", "S", "L"], categories=["S", "L"], ordered=True),
            "free": pd.Categorical(["S", "L", "S", "L"]),
            "number": [1, 2, 4, 4],
        }
    )
    domain = Domain.from_frame(frame)
    assert domain.scores("class").tolist() == [1, 4, 8]
    assert domain.scores("number").tolist() == [1, 2, 4]
    assert [domain.is_ordered(name) for name in domain.names] == [True, True, True, False, True]
    for name in ("open", "size", "free"):
        with pytest.raises(DomainError, match="as numbers"):
            domain.scores(name)
    assert domain.encode(frame)[:, 0].tolist() == [0, 1, 2, 1]


def test_summaries_show_the_order() -> None:
    assert "18-29 (23.5) < 30-44 (37) < 45-64 (54.5)" in str(DOMAIN.summary())
    assert "S < L" in str(DOMAIN.summary())


@pytest.mark.parametrize(
    "scores",
    [
        [1],
        [2, 1],
        [1, 1],
        [1, math.nan],
        [1, math.inf],
        [1, 10**400],
        ["1", "2"],
        [True, 2],
        {1, 2},
        5,
        [[1], [2]],
        [1, None],
    ],
)
def test_scores_ascend_one_for_each_category(scores: object) -> None:
    with pytest.raises(DomainError):
        ldp.ordered(["a", "b"], scores=scores)  # type: ignore[arg-type]


@pytest.mark.parametrize("categories", ["ab", 5, {"a", "b"}, ["a"], ["a", "a"], ["a", None], []])
def test_categories_are_checked_as_ever(categories: object) -> None:
    with pytest.raises(DomainError):
        Domain({"x": ldp.ordered(categories)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "order", [{"ordered": False}, {"ordered": 1}, {"scores": [1, 2]}, {"ordered": True, "scores": 3}, {"order": True}]
)
def test_files_with_another_order_are_refused(order: dict[str, object]) -> None:
    with pytest.raises(LdpstatsError):
        Domain.from_list([{"name": "x", "categories": ["a", "b"], **order}])


def test_trends_use_the_scores() -> None:
    """Through hardly any noise the statistic is n r², with the correlation of these scores."""
    scores = [0.0, 1.0, 10.0]
    domain = Domain({"age": ldp.ordered(AGES, scores=scores), "visits": [0, 1, 5]})
    people = np.array([60, 40, 20, 40, 40, 40, 20, 40, 70]) * 3
    table = ldp.SampledGroups(domain, epsilon=30.0, mechanism="grr").simulate(people, rng=1)["age", "visits"]
    rows, columns = np.repeat(scores, 3), np.tile([0, 1, 5], 3)
    correlation = np.corrcoef(np.repeat(rows, people), np.repeat(columns, people))[0, 1]
    found = ldp.trend_test(table)
    assert found.statistic == pytest.approx(people.sum() * correlation**2, rel=1e-3)
    assert found.pvalue == pytest.approx(2 * norm.sf(math.sqrt(found.statistic)), rel=1e-3)
    assert ldp.trend_test(table, row_scores=[0, 1, 2]).statistic != pytest.approx(found.statistic, rel=1e-2)
