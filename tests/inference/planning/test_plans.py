"""Plans keep what they say, whatever way they are asked for, and refuse what cannot be."""

from __future__ import annotations

import inspect
import math
from itertools import combinations

import numpy as np
import pytest
from support.spoken import spoken
from support.two_way_tables import MARGINS

import ldpstats as ldp
from ldpstats.inference.planning.plans import plan
from ldpstats.inference.planning.sizing import power, power_curve, sample_size, sample_size_curve
from ldpstats.mechanisms import REGISTRY


class TestPlan:
    """Plans of a table and of all pairs of a domain."""

    def test_ranks_by_the_respondents_that_each_mechanism_needs(self) -> None:
        found = plan((4, 4), epsilon=1.0)
        table = found.table.set_index("mechanism")
        assert found.found == "n"
        assert table["n"].is_monotonic_increasing
        assert found.best["mechanism"] == "ss"
        one_answer = {kind.name for kind in REGISTRY if kind.purpose == "one answer" and kind.only_k is None}
        assert set(table.index) == one_answer
        for name in ("ss", "grr", "she"):
            assert table.loc[name, "n"] == sample_size(name, (4, 4), epsilon=1.0)
            assert 0.8 <= table.loc[name, "power"] < 0.801

    def test_of_equally_good_mechanisms_the_shorter_reports_come_first(self) -> None:
        found = plan(["blh", "hrr"], (4, 4), epsilon=1.0).table
        assert found["n"].nunique() == 1
        assert found["mechanism"].tolist() == ["hrr", "blh"]

    def test_finds_the_level_that_so_many_respondents_need(self) -> None:
        found = plan(["ss", "oue", "dbitflip"], (3, 3), n=5000, power=0.9).table
        assert found["epsilon"].is_monotonic_increasing
        for name, level, own in zip(found["mechanism"], found["epsilon"], found["power"], strict=True):
            assert own == pytest.approx(0.9, abs=1e-6)
            assert power(name, (3, 3), n=5000, epsilon=level) >= 0.9 > power(name, (3, 3), n=5000, epsilon=level - 1e-6)

    def test_says_where_no_level_is_enough(self) -> None:
        found = plan(["ss", "blh"], (4, 4), n=600)
        assert found.table["mechanism"].tolist() == ["ss", "blh"]
        assert np.isinf(found.table["epsilon"]).tolist() == [False, True]
        assert "BLH" not in found.headline, "what it needs cannot be said"
        assert found.to_dict()["mechanisms"][1]["epsilon"] is None
        hopeless = plan((4, 4), n=60).headline
        assert hopeless.startswith("From 60 respondents no mechanism here finds a dependence of V = 0.1")

    def test_finds_the_power_of_respondents_at_a_level(self) -> None:
        found = plan(["oue", "grr"], (2, 2), epsilon=1.0, n=6000, effect=0.12)
        assert found.table["mechanism"].tolist() == ["grr", "oue"]
        assert found.table["power"].tolist() == [
            power(name, (2, 2), epsilon=1.0, n=6000, effect=0.12) for name in ("grr", "oue")
        ]
        assert "GRR finds a dependence of V = 0.12 in a 2x2 table with power 0.80; OUE has 0.63" in spoken(found)

    def test_the_summary_reads_as_a_sentence(self) -> None:
        first = plan(["grr", "ss"], (4, 4), epsilon=1.0).headline
        assert first == (
            "To find a dependence of V = 0.1 in a 4x4 table with 80 % power at level 0.05 and strict epsilon = 1 "
            "per respondent, ask 28,900 respondents with SS; GRR needs 55,500."
        )
        first = plan("ss", 5, n=9000).headline
        assert "a deviation of w = 0.1 from given frequencies of 5 values" in first
        assert "take strict epsilon = " in first
        assert "a dependence of w = 0.1 in a 2x2x3 table" in plan("ss", (2, 2, 3), epsilon=2.0).headline

    def test_every_pair_of_a_domain_has_the_power_at_holms_first_level(self) -> None:
        domain = ldp.Domain({"a": [0, 1], "b": [0, 1, 2], "c": range(4), "d": [0, 1]})
        found = plan(["ss"], domain, epsilon=1.0)
        shapes = [domain.project(group).shape for group in ldp.SampledGroups(domain, epsilon=1.0).groups]
        sizes = [sample_size("ss", shape, epsilon=1.0, alpha=0.05 / 6) for shape in shapes]
        assert (found.groups, found.tests, found.best["n"]) == (6, 6, 6 * max(sizes))
        assert found.best["power"] == pytest.approx(
            min(power("ss", shape, epsilon=1.0, alpha=0.05 / 6, n=max(sizes)) for shape in shapes)
        )
        assert "one of 6 pairs" in spoken(found)
        assert "Each of the 6 tests gets level 0.0083" in spoken(found)
        alone = plan(["ss"], domain, epsilon=1.0, adjust="none")
        assert alone.best["n"] == 6 * max(sample_size("ss", shape, epsilon=1.0) for shape in shapes)
        assert "Holm" not in spoken(alone)

    def test_named_pairs_are_planned_and_a_single_one_is_a_table(self) -> None:
        domain = ldp.Domain({"a": [0, 1], "b": [0, 1, 2], "c": range(4)})
        one = plan(["ss"], domain, epsilon=1.0, groups=[("a", "c")])
        assert one.best["n"] == plan(["ss"], (2, 4), epsilon=1.0).best["n"]
        assert "a dependence of V = 0.1 in a and c" in one.headline
        more = plan(["ss"], domain, epsilon=1.0, n=9001, groups=[("a", "b"), ("a", "c")])
        assert more.best["power"] == min(power("ss", (2, s), epsilon=1.0, n=4500, alpha=0.025) for s in (3, 4))


class TestNetworks:
    """Edges of a given mutual information, and what tells whether they are explained by a third attribute."""

    DOMAIN = ldp.Domain({"a": [0, 1], "b": [0, 1, 2], "c": range(4), "d": [0, 1]})

    def test_an_edge_is_sought_in_every_pair_by_its_mutual_information(self) -> None:
        found = plan(["ss"], self.DOMAIN, epsilon=1.0, mutual_information=0.005)
        sizes = [
            sample_size("ss", self.DOMAIN.project(pair).shape, epsilon=1.0, mutual_information=0.005, alpha=0.05 / 6)
            for pair in found.asked
        ]
        assert found.best["n"] == 6 * max(sizes)
        assert found.headline.startswith("To find a dependence of mutual information 0.005 nats in each of 6 pairs of")
        by_effect = sample_size("ss", (2, 3), epsilon=1.0, effect=0.1)
        assert sample_size("ss", (2, 3), epsilon=1.0, mutual_information=0.005) == by_effect, "V² / 2, with two rows"

    def test_every_pair_of_every_triple_is_tested_given_the_third(self) -> None:
        margins = {"b": [0.5, 0.3, 0.2]}
        found = plan(["ss"], self.DOMAIN, epsilon=2.0, effect=0.2, conditional=True, margins=margins)
        assert (found.groups, found.tests) == (4, 12)
        assert sorted(map(sorted, found.asked)) == [list("abc"), list("abd"), list("acd"), list("bcd")]
        sizes = []
        for triple in found.asked:
            for given in triple:
                names = [*(name for name in triple if name != given), given]
                own = [
                    margins.get(name, np.full(len(self.DOMAIN.categories[name]), 1 / len(self.DOMAIN.categories[name])))
                    for name in names
                ]
                shape = self.DOMAIN.project(names).shape
                options = {"epsilon": 2.0, "alpha": 0.05 / 12, "margins": own}
                sizes.append(sample_size("ss", shape, effect=0.2, conditional=True, **options))
        assert found.best["n"] == 4 * max(sizes)
        first, second, *_ = found.summary().sentences
        assert "a dependence of w = 0.2 in each pair out of 4 triples of attributes, given the third with 80 %" in first
        assert second == "Every respondent answers one of 4 triples, each triple equally often."
        assert "the margins given, and no dependence beside the one in question." in spoken(found)

    def test_triples_that_are_left_open_and_larger_groups_may_be_named(self) -> None:
        one = plan(["grr"], self.DOMAIN, epsilon=2.0, groups=[("a", "b", "d")], conditional=True, adjust="none")
        orders = [(2, 3, 2), (2, 2, 3)]
        assert one.best["n"] == max(sample_size("grr", shape, epsilon=2.0, conditional=True) for shape in orders)
        assert "in each pair out of a, b, d, given the third" in spoken(one)
        wider = plan(
            ["grr"], self.DOMAIN, epsilon=2.0, groups=[("a", "b", "c", "d"), ("a", "b", "c")], conditional=True
        )
        assert wider.tests == 6 + 3
        assert "each pair out of 2 groups of attributes, given the others" in spoken(wider)
        assert "Every respondent answers one of 2 groups, each group equally often." in spoken(wider)

    def test_a_table_is_tested_for_its_first_two_attributes_given_the_others(self) -> None:
        found = plan(["grr"], (2, 3, 4), epsilon=2.0, mutual_information=0.01, conditional=True)
        options = {"epsilon": 2.0, "mutual_information": 0.01, "conditional": True}
        assert found.best["n"] == sample_size("grr", (2, 3, 4), **options)
        assert (
            "a dependence of conditional mutual information 0.01 nats between two attributes given the others"
            in spoken(found)
        )

    @pytest.mark.parametrize("conditional", [False, True])
    def test_the_protocol_asks_for_what_was_planned(self, conditional: bool) -> None:
        found = plan(["grr", "oue"], self.DOMAIN, n=500_000, conditional=conditional)
        protocol = found.protocol()
        assert isinstance(protocol, ldp.SampledGroups)
        assert (protocol.mechanism, protocol.epsilon) == (found.best["mechanism"], found.best["epsilon"])
        assert protocol.groups == found.asked == ldp.SampledGroups(self.DOMAIN, k=2 + conditional, epsilon=1.0).groups
        assert protocol.privacy().epsilon <= found.best["epsilon"]
        assert plan("ss", self.DOMAIN, epsilon=1.5).protocol().epsilon == 1.5

    def test_the_level_is_the_highest_that_any_test_needs(self) -> None:
        found = plan(["ss", "olh", "grr"], self.DOMAIN, n=60_000, margins={"a": [0.8, 0.2]}).table
        margins = {"a": [0.8, 0.2], "b": np.full(3, 1 / 3), "c": np.full(4, 1 / 4), "d": [0.5, 0.5]}
        for name, level in zip(found["mechanism"], found["epsilon"], strict=True):
            options = {"n": 10_000, "alpha": 0.05 / 6}
            for epsilon, enough in ((level, True), (level - 1e-6, False)):
                powers = [
                    power(
                        name,
                        (len(margins[a]), len(margins[b])),
                        epsilon=epsilon,
                        margins=[margins[a], margins[b]],
                        **options,
                    )
                    for a, b in combinations("abcd", 2)
                ]
                assert (min(powers) >= 0.8) is enough

    def test_what_no_protocol_can_be_made_of_is_refused(self) -> None:
        with pytest.raises(ldp.LdpstatsError, match="a plan of one table"):
            plan("grr", (2, 2), epsilon=1.0).protocol()
        with pytest.raises(ldp.LdpstatsError, match="no epsilon up to 20"):
            plan("grr", self.DOMAIN, n=60).protocol()


class TestCallingStyle:
    """One order of the same names: a mechanism, a shape, and all else by keyword."""

    def test_all_have_the_same_parameters_in_the_same_order(self) -> None:
        order = ("epsilon", "n", "effect", "mutual_information", "power", "alpha", "margins", "direction")
        order += ("conditional", "groups", "adjust")
        for function in (power, sample_size, power_curve, sample_size_curve, plan):
            first, second, *others = inspect.signature(function).parameters.values()
            assert (first.name, second.name) == ("mechanism", "shape")
            assert all(one.kind is one.KEYWORD_ONLY for one in others)
            assert [one.name for one in others] == [name for name in order if name in {one.name for one in others}]

    def test_they_agree(self) -> None:
        same = {"epsilon": 1.0, "effect": 0.15, "margins": [MARGINS[3]] * 2, "direction": "least", "alpha": 0.01}
        needed = sample_size("ss", (3, 3), power=0.7, **same)
        found = plan("ss", (3, 3), power=0.7, **same)
        assert found.best["n"] == needed
        assert "in the direction seen least" in spoken(found)
        reached = power("ss", (3, 3), n=needed, **same)
        assert 0.7 <= reached == power_curve("ss", (3, 3), n=needed, **same).table["power"].item()
        assert reached == plan("ss", (3, 3), n=needed, **same).best["power"]

    def test_without_a_mechanism_a_plan_compares_all(self) -> None:
        everything = [plan((2, 2), epsilon=1.0), plan(shape=(2, 2), epsilon=1.0), plan(None, (2, 2), epsilon=1.0)]
        assert len({str(one) for one in everything}) == 1
        assert len(everything[0].table) > 10

    def test_a_curve_may_be_of_a_mechanism_itself(self) -> None:
        curve = power_curve(ldp.GRR(4, 1.0), (2, 2), n=[1000, 5000]).table
        assert curve.equals(power_curve("grr", (2, 2), epsilon=1.0, n=[1000, 5000]).table)


class TestRefusals:
    """Input that cannot be planned with."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"effect": 1.5}, "numbers from 0 to 1"),
            ({"effect": math.nan}, "numbers from 0 to 1"),
            ({"mutual_information": -0.1}, "numbers of nats, from 0 on"),
            ({"mutual_information": math.nan}, "numbers of nats, from 0 on"),
            ({"mutual_information": "much"}, "numbers of nats, from 0 on"),
            ({"mutual_information": 0.7}, "up to 0.693, the most that attributes of 2 and 2 categories can share"),
            ({"mutual_information": 0.1, "effect": 0.1}, "one of them"),
            ({"mutual_information": 0.1, "effect": np.full((2, 2), 0.25)}, "The table has its own"),
            ({"mutual_information": 0.1, "shape": (4,)}, "mutual information in a table of 1 attributes"),
            ({"mutual_information": 0.1, "shape": (2, 2, 2), "mechanism": ldp.GRR(8, 1.0)}, "conditional=True"),
            ({"conditional": True}, "at least one that is given"),
            ({"effect": "large"}, "numbers from 0 to 1"),
            ({"effect": np.full((2, 2), 0.3)}, "sum to 1"),
            ({"effect": [[0.5, 0.5], [0.0, 0.0]]}, "does not occur"),
            ({"effect": [[0.9, 0.2], [0.0, -0.1]]}, "sum to 1"),
            ({"effect": np.full((2, 2), 0.25), "margins": [MARGINS[2]] * 2}, "The table has its own"),
            ({"n": 0}, "at least 1"),
            ({"n": [10, -1]}, "at least 1"),
            ({"n": [1, 2], "effect": [0.1, 0.2, 0.3]}, "shapes that broadcast"),
            ({"shape": (2, 3)}, "6 cells for a mechanism of 4 values"),
            ({"shape": (4, 1)}, "at least 2"),
            ({"shape": "2x2"}, "at least 2"),
            ({"shape": (100, 100)}, "up to 4096 cells"),
            ({"margins": [[0.6, 0.5], [0.5, 0.5]]}, "sum to 1"),
            ({"margins": [[0.5, 0.5]]}, "one per attribute"),
            ({"margins": [[1.0, 0.0], [0.5, 0.5]]}, "does not occur"),
            ({"margins": [[0.2, 0.3, 0.5], [0.5, 0.5]]}, "of shape \\(2,\\)"),
            ({"alpha": 0}, "alpha = 0"),
            ({"direction": "most"}, "'average' or 'least'"),
            ({"epsilon": 1.0}, "none for another"),
            ({"mechanism": "grr"}, "a level for a mechanism that is named"),
            ({"mechanism": "grr", "epsilon": 1.0, "shape": None}, "without a shape"),
            ({"mechanism": "grr", "epsilon": [1.0, 0.0]}, "epsilon = 0.0"),
            ({"mechanism": "laplace", "epsilon": 1.0}, "the mechanism 'laplace'"),
            ({"mechanism": 3.0}, "3.0 in the place of a mechanism"),
            ({"mechanism": (2, 2), "shape": "grr"}, "in the place of a mechanism"),
            ({"shape": ldp.GRR(4, 1.0)}, "in the place of a shape"),
            ({"shape": ldp.Domain({"a": [0, 1], "b": [0, 1]})}, "a domain in the place of a shape"),
        ],
    )
    def test_of_power_name_what_is_allowed(self, arguments: dict[str, object], message: str) -> None:
        usual = {"mechanism": ldp.GRR(4, 1.0), "shape": (2, 2), "n": 100}
        with pytest.raises(ldp.LdpstatsError, match=message):
            power(**{**usual, **arguments})

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"power": 1.0}, "power = 1.0"),
            ({"power": 0.04}, "above the level"),
            ({"effect": 0}, "too little of, or nothing"),
            ({"effect": [0.1, 0.2]}, "takes many at once"),
            ({"effect": np.full((2, 2), 0.25)}, "too little of, or nothing"),
        ],
    )
    def test_of_sample_sizes_name_what_is_allowed(self, arguments: dict[str, object], message: str) -> None:
        with pytest.raises(ldp.LdpstatsError, match=message):
            sample_size(ldp.GRR(4, 1.0), (2, 2), **arguments)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "two of them"),
            ({"mechanism": "grr", "shape": None}, "names of mechanisms before it"),
            ({"mechanism": ldp.GRR(4, 1.0), "epsilon": 1.0}, "names: a plan tries other levels"),
            ({"n": 10, "epsilon": 1.0, "power": 0.8}, "two of them"),
            ({"epsilon": 1.0, "adjust": "fdr"}, "'holm' or 'none'"),
            ({"epsilon": 1.0, "groups": [("a", "b", "c")]}, "pairs of attributes"),
            ({"epsilon": 1.0, "groups": [("a", "z")]}, "z"),
            ({"n": 2, "epsilon": 1.0}, "at least one for each"),
            ({"effect": [0.1, 0.2], "epsilon": 1.0}, "a single number"),
            ({"mutual_information": [0.1, 0.2], "epsilon": 1.0}, "a single number"),
            ({"epsilon": 1.0, "conditional": True, "groups": [("a", "b")]}, "groups of three attributes or more"),
            ({"epsilon": 1.0, "conditional": True, "groups": [("a", "b", "c"), ("a", "b")]}, "of three attributes or"),
            ({"epsilon": 1.0, "conditional": True, "shape": (2, 2)}, "at least one that is given"),
            (
                {"epsilon": 1.0, "conditional": True, "shape": ldp.Domain({"a": [0, 1], "b": [0, 1]})},
                "groups of 3 out of 2",
            ),
            ({"mechanism": [], "epsilon": 1.0}, "no mechanisms"),
            ({"mechanism": ["auto"], "epsilon": 1.0}, "the mechanism 'auto'"),
            ({"shape": (2, 2), "epsilon": 1.0, "groups": [("a", "b")]}, "for a Domain"),
            ({"shape": (2, 2), "epsilon": 1.0, "mechanism": ["rr"]}, "k = "),
        ],
    )
    def test_of_plans_name_what_is_allowed(self, arguments: dict[str, object], message: str) -> None:
        usual = {"shape": ldp.Domain({name: [0, 1] for name in "abc"})}
        with pytest.raises(ldp.LdpstatsError, match=message):
            plan(**{**usual, **arguments})
