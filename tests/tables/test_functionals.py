"""Functionals of tables: what they are sums of, what privacy cost, what is identified, and what intervals hold."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from rare_cells import every_tally
from scipy.stats import multinomial

import ldpstats as ldp
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation.blocks import Block
from ldpstats.extend import Mechanism, Question
from ldpstats.noise import Tally

SCORES = (10.0, 20.0, 40.0)
DOMAIN = ldp.Domain({"sex": ["F", "M"], "age": ldp.ordered(["young", "adult", "old"], scores=SCORES)})
PEOPLE = np.array([300, 200, 100, 150, 150, 100])
MIDDLES = np.tile(SCORES, (2, 1))


@cache
def table(mechanism: str = "grr", epsilon: float = 2.0) -> ldp.Table:
    return ldp.SampledGroups(DOMAIN, epsilon=epsilon, mechanism=mechanism).simulate(PEOPLE, rng=1)["sex", "age"]


def of_tally(mechanism: Mechanism, counts: np.ndarray, n: int | None = None) -> ldp.Table:
    """Return the table of one tally of the ages."""
    block = Block(Question(("age",), (3,), (0, 1, 2)), Tally(mechanism.noise, counts, n or int(counts.sum())))
    return ldp.Table(DOMAIN.project("age"), (block,), mechanism.privacy())


@cache
def one_bit(n: int = 2_000) -> ldp.Table:
    """Five categories, of which a bit tells the mean alone."""
    domain = ldp.Domain({"x": [0, 1, 2, 3, 4]})
    bit = ldp.Channel([[0.5 + 0.1 * (place - 2), 0.5 - 0.1 * (place - 2)] for place in range(5)])
    protocol = ldp.SampledGroups(domain, epsilon=bit.epsilon, mechanism=[bit], k=1)
    return protocol.simulate((np.array([1, 2, 3, 2, 2]) * n) // 10, rng=1)["x"]


class TestEstimates:
    """What the estimates are sums of."""

    @pytest.mark.parametrize("mechanism", ["grr", "ss"])
    def test_of_channels_and_sets_they_are_the_tables_own(self, mechanism: str) -> None:
        cells, own = table(mechanism).estimate, table(mechanism)
        assert own.mean("age").estimate == pytest.approx((cells * MIDDLES).sum())
        assert own.functional(MIDDLES).estimate == pytest.approx(own.mean("age").estimate)
        given = (cells * MIDDLES).sum(axis=1) / cells.sum(axis=1)
        assert own.mean("age", given="sex").estimate == pytest.approx(given)
        assert own.mean("age", given={"sex": "M"}).estimate == pytest.approx(given[1])
        assert own.difference("age", between={"sex": ("M", "F")}).estimate == pytest.approx(given[1] - given[0])
        assert own.ratio("age", between={"sex": ("M", "F")}).estimate == pytest.approx(given[1] / given[0])
        assert own.share({"age": ["adult", "old"], "sex": "F"}).estimate == pytest.approx(cells[0, 1:].sum())
        assert own.mean("age", scores=[1, 2, 3]).estimate == pytest.approx((cells * [1, 2, 3]).sum())

    def test_standard_errors_are_the_tables_own(self) -> None:
        own, weights = table(), np.zeros((2, 3))
        weights[0, 1] = 1
        assert own.functional(weights).std_err == pytest.approx(own.std_err[0, 1])
        assert own.share({"age": "old"}).std_err == pytest.approx(own.marginal("age").std_err[2])

    def test_supports_are_made_to_add_up(self) -> None:
        shares = (
            table("oue").share({"age": "old"}, given=None).estimate,
            table("oue").share({"age": ["young", "adult"]}).estimate,
        )
        assert sum(shares) == pytest.approx(1)
        # so that a score may be counted from anywhere
        moved = table("oue").mean("age", scores=np.array(SCORES) + 1000)
        assert moved.estimate == pytest.approx(table("oue").mean("age").estimate + 1000)
        assert moved.std_err == pytest.approx(table("oue").mean("age").std_err)


class TestParts:
    """Sampling, and what the channel added."""

    @pytest.mark.parametrize("mechanism", ["grr", "ss", "oue", "olh", "hr"])
    def test_they_add_up(self, mechanism: str) -> None:
        between = {"sex": ("F", "M")}
        own = table(mechanism)
        found = [
            own.mean("age"),
            own.mean("age", given="sex"),
            own.difference("age", between),
            own.ratio("age", between),
        ]
        for one in found:
            parts = np.square(one.sampling) + np.square(one.randomization)
            assert np.abs(parts - np.square(one.std_err)).max() <= 1e-12 * np.square(one.std_err).max()

    def test_at_the_expected_tally_they_are_what_the_channel_gives(self) -> None:
        """Sampling is the variance of the scores over n, and the rest what respondents with fixed values vary by."""
        mechanism, n, shares = ldp.GRR(3, epsilon=2.0), 10**8, np.array([0.5, 0.3, 0.2])
        found = of_tally(mechanism, np.round(n * mechanism.noise.mean(shares)).astype(int)).mean("age")
        scores, lift = np.array(SCORES), np.linalg.inv(mechanism.noise.matrix())
        worth = scores @ lift.T  # what a report adds, for each output
        of_value = mechanism.noise.matrix() @ worth**2 - (mechanism.noise.matrix() @ worth) ** 2
        assert n * found.sampling**2 == pytest.approx(shares @ scores**2 - (shares @ scores) ** 2, rel=1e-6)
        assert n * found.randomization**2 == pytest.approx(shares @ of_value, rel=1e-6)

    def test_of_supports_that_are_made_to_add_up(self) -> None:
        """At the expected tally the variance is that of the scores, counted from the middle one."""
        mechanism, n, shares = ldp.OUE(3, epsilon=1.0), 10**8, np.array([0.7, 0.2, 0.1])
        found = of_tally(mechanism, np.round(n * mechanism.noise.mean(shares)).astype(int), n).mean("age")
        centred = np.array(SCORES) - np.mean(SCORES)
        assert found.estimate == pytest.approx(shares @ SCORES)
        assert n * found.std_err**2 == pytest.approx(centred @ mechanism.noise.covariance(shares) @ centred, rel=1e-6)
        assert n * found.sampling**2 == pytest.approx(shares @ np.square(SCORES) - (shares @ SCORES) ** 2, rel=1e-6)

    def test_both_are_unbiased(self) -> None:
        """Over all 231 tallies of 20 reports: but for the sampling part being cut where it would be more than all."""
        mechanism, n, shares = ldp.GRR(3, epsilon=3.0), 20, np.array([0.5, 0.3, 0.2])
        tallies = every_tally(n, 3)
        chances = multinomial(n, mechanism.noise.mean(shares)).pmf(tallies)
        found = [of_tally(mechanism, one).mean("age") for one in tallies]
        estimates, squares = (np.array([getattr(one, name) for one in found]) for name in ("estimate", "std_err"))
        scores = np.array(SCORES)
        assert chances @ estimates == pytest.approx(shares @ scores)
        assert chances @ squares**2 == pytest.approx(chances @ (estimates - shares @ scores) ** 2)
        sampling = np.array([one.sampling for one in found]) ** 2
        assert chances @ sampling == pytest.approx((shares @ scores**2 - (shares @ scores) ** 2) / n, rel=0.03)

    def test_a_table_without_reports_of_its_own_has_none(self) -> None:
        domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "cars": [0, 1]})
        protocol = ldp.SampledGroups(domain, epsilon=4.0, groups=[("sex", "car"), ("car", "cars")])
        made = ldp.reconstruct(protocol.simulate(np.array([4, 1, 1, 4, 4, 1, 1, 4]) * 100, rng=1), ["sex", "cars"])
        found = made.mean("cars", given="sex")
        assert np.isnan(found.sampling).all()
        assert np.isfinite(found.std_err).all()
        assert "Fieller" in found.kind_of_intervals
        assert "Assumes" in str(found.summary())
        assert np.isnan(found.sampling_range).all()


class TestIdentified:
    """What reports tell that leave cells open."""

    def test_a_mean_that_one_bit_tells(self) -> None:
        found = one_bit().mean("x")
        counts = one_bit().blocks[0].tally.counts / one_bit().n
        assert found.estimate == pytest.approx(2 + (counts[0] - 0.5) / 0.1, abs=1e-9)
        assert found.std_err == pytest.approx(math.sqrt(counts[0] * counts[1] / (one_bit().n - 1)) / 0.1, rel=1e-6)
        low, high = found.conf_int()
        assert low < 2.2 < high
        assert found.test(2.2) > 0.05 > found.test(3.0)

    def test_its_parts_are_bounded_by_what_the_scores_can_spread(self) -> None:
        """Least: everybody beside the mean; most: at the ends."""
        found, n = one_bit().mean("x"), one_bit().n
        assert math.isnan(found.sampling)
        assert math.isnan(found.randomization)
        mean = found.estimate
        least, most = (mean - math.floor(mean)) * (math.ceil(mean) - mean), mean * (4 - mean)
        assert found.sampling_range[0] == pytest.approx(np.sqrt([least / n, most / n]), rel=1e-3)
        assert "between" in str(found.summary())

    @pytest.mark.parametrize("call", ["share", "quantile", "squares", "cell"])
    def test_what_it_does_not_tell_is_refused_and_bounds_are_named(self, call: str) -> None:
        calls = {
            "share": lambda: one_bit().share({"x": 0}),
            "quantile": lambda: one_bit().quantile("x"),
            "squares": lambda: one_bit().mean("x", scores=[0, 1, 4, 9, 16]),
            "cell": lambda: one_bit().functional([1, 0, 0, 0, 0]),
        }
        with pytest.raises(NotIdentifiedError, match="bounds"):
            calls[call]()

    def test_a_coarser_question(self) -> None:
        domain, mechanism = ldp.Domain({"x": [0, 1, 2, 3]}), ldp.GRR(2, epsilon=1.0)
        coarse = Block(Question(("x",), (4,), (0, 0, 1, 1)), mechanism.simulate([600, 400], rng=1))
        asked = ldp.Table(domain, (coarse,), mechanism.privacy())
        assert asked.share({"x": [2, 3]}).estimate == pytest.approx(mechanism.estimate(coarse.tally).estimate[1])
        with pytest.raises(NotIdentifiedError, match="bounds"):
            asked.mean("x")

    def test_blocks_that_tell_it_together_only(self) -> None:
        """Two halves of a table, each asked of others: the mean needs both."""
        domain, mechanism = ldp.Domain({"x": [0, 1, 2]}), ldp.GRR(2, epsilon=2.0)
        first = Block(Question(("x",), (3,), (0, 1, 1)), mechanism.simulate([500, 500], rng=1))
        second = Block(Question(("x",), (3,), (0, 0, 1)), mechanism.simulate([800, 200], rng=2))
        found = ldp.Table(domain, (first, second), mechanism.privacy()).mean("x")
        above = [mechanism.estimate(block.tally).estimate[1] for block in (first, second)]
        assert found.estimate == pytest.approx(sum(above))
        assert found.sampling < found.std_err


class TestIntervals:
    """What the intervals hold."""

    @pytest.mark.parametrize("epsilon", [1.0, 8.0])
    @pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (0.9, 0.1, 0.0), (0.02, 0.0, 0.98)])
    def test_coverage_over_all_tallies_of_twenty_reports(self, epsilon: float, shares: tuple[float, ...]) -> None:
        mechanism, n = ldp.GRR(3, epsilon=epsilon), 20
        tallies, law = every_tally(n, 3), mechanism.noise.mean(np.array(shares))
        (test,) = of_tally(mechanism, tallies[0]).mean("age").tests
        true = np.full(len(tallies), np.dot(shares, SCORES))
        order = np.argsort(test.comparison.parts)  # parts are in the order of their scores, as cells are
        assert order.tolist() == [0, 1, 2]
        below = test.reports.below(test.comparison, true, [tallies])
        held = (below >= 0.025) & (below <= 0.975)
        assert multinomial(n, law).pmf(tallies) @ held >= 0.93

    def test_of_supports_they_are_no_wider_than_standard_errors_say(self) -> None:
        mechanism, n = ldp.OUE(3, epsilon=1.0), 10**5
        found = of_tally(mechanism, np.round(n * mechanism.noise.mean(np.array([0.9, 0.1, 0.0]))).astype(int), n).mean(
            "age", scores=[10, 20, 100]
        )
        low, high = found.conf_int()
        assert high - low == pytest.approx(2 * 1.96 * found.std_err, rel=0.02)
        assert found.test(low) == pytest.approx(0.05, abs=0.002)

    def test_fiellers_where_a_table_has_no_reports_of_its_own(self) -> None:
        """They are what their test does not reject; of little noise, the estimate and 1.96 standard errors."""
        domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "cars": [0, 1]})
        protocol = ldp.SampledGroups(domain, epsilon=6.0, groups=[("sex", "car"), ("car", "cars")])
        made = ldp.reconstruct(protocol.simulate(np.array([4, 1, 1, 4, 4, 1, 1, 4]) * 20_000, rng=1), ["sex", "cars"])
        between = {"sex": ("F", "M")}
        for found in (
            made.mean("cars"),
            made.mean("cars", given={"sex": "F"}),
            made.difference("cars", between=between),
            made.ratio("cars", between=between),
        ):
            low, high = found.conf_int()
            assert [low, high] == pytest.approx(found.estimate + np.array([-1.96, 1.96]) * found.std_err, abs=5e-4)
            assert [found.test(low), found.test(high)] == pytest.approx([0.05, 0.05], abs=1e-3)
            (test,) = found.tests
            assert test.sides(low)[1] < 0.03 < test.sides(low)[0]

    def test_a_planted_sign_would_be_seen(self) -> None:
        """The interval of a difference is that of the opposite one, turned around."""
        first = table().difference("age", between={"sex": ("F", "M")}).conf_int()
        second = table().difference("age", between={"sex": ("M", "F")}).conf_int()
        assert first == pytest.approx(-second[::-1], abs=2e-3)
        assert table().difference(
            "age", between={"sex": ("F", "M")}, scores=[-10, -20, -40]
        ).conf_int() == pytest.approx(second, abs=2e-3)

    def test_simultaneous_ones_are_bonferronis(self) -> None:
        found = table().mean("age", given="sex")
        assert found.conf_int(0.05, simultaneous=True) == pytest.approx(found.conf_int(0.025))
        assert "Bonferroni" in str(found.summary(simultaneous=True))

    def test_an_empty_group_has_no_estimate_and_all_that_is_possible(self) -> None:
        people = np.array([0, 0, 0, 10, 5, 5])
        own = ldp.SampledGroups(DOMAIN, epsilon=6.0, mechanism="grr").simulate(people, rng=2)["sex", "age"]
        found = own.mean("age", given={"sex": "F"})
        assert math.isnan(found.estimate)
        low, high = found.conf_int()
        assert (low, high) == (10, 40)
        assert "not estimable" in found.headline
        assert own.quantile("age", given={"sex": "F"}).estimate is None

    def test_values_are_tested_within_the_range_alone(self) -> None:
        found = table().mean("age")
        assert found.test(found.estimate) > 0.9
        assert found.test(10) < 1e-6
        for wrong in (9, 41, math.nan, "x", [20]):
            with pytest.raises(LdpstatsError, match="from 10 to 40"):
                found.test(wrong)  # type: ignore[arg-type]


class TestQuantiles:
    """Categories that shares are in or below."""

    def test_of_known_people(self) -> None:
        own = ldp.SampledGroups(DOMAIN, epsilon=12.0, mechanism="grr").simulate(PEOPLE * 10, rng=1)["sex", "age"]
        assert own.quantile("age").estimate == "adult"
        assert own.quantile("age", 0.1).conf_int() == ["young", "young"]
        assert own.quantile("age", 0.9, given="sex").estimate == ["old", "old"]
        assert own.quantile("age", 0.9, given="sex").to_frame().shape == (2, 3)

    def test_limits_are_what_shares_do_not_reject(self) -> None:
        found = table(epsilon=1.0).quantile("age")
        shares = [table(epsilon=1.0).share({"age": own}) for own in (["young"], ["young", "adult"])]
        sides = [one.tests[0].sides(0.5) for one in shares]
        first = 0 if sides[0][0] >= 0.025 else 1 if sides[1][0] >= 0.025 else 2
        last = 2 if sides[1][1] >= 0.025 else 1 if sides[0][1] >= 0.025 else 0
        names = DOMAIN.categories["age"]
        assert found.conf_int() == [names[first], names[last]]

    @pytest.mark.parametrize("q", [0, 1, -0.5, None, "0.5", True, math.nan])
    def test_wrong_shares_are_refused(self, q: object) -> None:
        with pytest.raises(LdpstatsError, match="above 0 and below 1"):
            table().quantile("age", q)  # type: ignore[arg-type]

    def test_categories_without_an_order_are_refused(self) -> None:
        with pytest.raises(LdpstatsError, match="no order"):
            table().quantile("sex")


def test_means_need_numbers() -> None:
    with pytest.raises(LdpstatsError, match="scores"):
        table().mean("sex")
    assert table().mean("sex", scores=[0, 1]).estimate == pytest.approx(table().share({"sex": "M"}).estimate)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("mean", {"of": ["age"] * 2}),
        ("mean", {"of": "age", "scores": [1, 2]}),
        ("mean", {"of": "age", "scores": [1, 2, math.inf]}),
        ("mean", {"of": "age", "given": "age"}),
        ("mean", {"of": "age", "given": {}}),
        ("mean", {"of": "age", "given": {"sex": "X"}}),
        ("share", {"categories": "F"}),
        ("share", {"categories": {"sex": []}}),
        ("share", {"categories": {"sex": ["F", "M"]}}),
        ("difference", {"of": "age", "between": {"sex": "FM"}}),
        ("difference", {"of": "age", "between": {"sex": ("F", "F")}}),
        ("difference", {"of": "age", "between": {"sex": ("F",)}}),
        ("ratio", {"of": "age", "between": ("F", "M")}),
        ("ratio", {"of": "age", "between": {"sex": ("F", "M")}, "scores": [-1, 0, 1]}),
        ("functional", {"weights": [1, 2]}),
        ("functional", {"weights": {}}),
        ("functional", {"weights": np.ones((2, 3))}),
        ("functional", {"weights": np.full((2, 3), np.nan)}),
        ("functional", {"weights": MIDDLES * 1e99}),
        ("functional", {"weights": [["a"] * 3] * 2}),
    ],
)
def test_wrong_input_is_refused(call: str, arguments: dict[str, object]) -> None:
    with pytest.raises(LdpstatsError):
        getattr(table(), call)(**arguments)


def test_forged_files_are_refused() -> None:
    found, quantile = table().mean("age", given="sex"), table().quantile("age")
    for wrong in (
        {"lines": (("F",),)},
        {"lines": ((), ())},
        {"headers": ()},
        {"means": ()},
        {"table": table().marginal("age")},
    ):
        with pytest.raises(LdpstatsError):
            replace(found, **wrong)
    for other in ({"q": 2.0}, {"below": ()}, {"of": "sex"}, {"of": "shoe"}):
        with pytest.raises(LdpstatsError):
            replace(quantile, **other)


def test_a_curator_and_many_blocks_have_them_too() -> None:
    laplace = ldp.CentralLaplace(DOMAIN, epsilon=1.0).simulate(PEOPLE, rng=1)["sex", "age"].mean("age")
    assert laplace.randomization < laplace.sampling
    blocks = ldp.RRBA(DOMAIN, p=0.5, block_size=100, floor=0.5).simulate(PEOPLE, rng=1)["sex", "age"]
    assert len(blocks.blocks) > 2
    cells = blocks.estimated_by("unbiased")
    assert blocks.mean("age").estimate == pytest.approx((cells.estimate * MIDDLES).sum())
    assert blocks.mean("age").std_err == pytest.approx(math.sqrt(MIDDLES.ravel() @ cells.covariance @ MIDDLES.ravel()))


@pytest.mark.parametrize("kind", ["mean", "given", "several", "quantile", "quantiles"])
def test_every_face_tells_the_same(kind: str, tmp_path: object) -> None:
    found = {
        "mean": lambda: table().mean("age"),
        "given": lambda: table().mean("age", given="sex"),
        "several": lambda: table().functional({"old": MIDDLES > 20, "middles": MIDDLES}),
        "quantile": lambda: table().quantile("age"),
        "quantiles": lambda: table().quantile("age", given="sex"),
    }[kind]()
    found.save(f"{tmp_path}/saved.json")
    again = ldp.load(f"{tmp_path}/saved.json")
    assert str(again.summary()) == str(found.summary())
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())
    assert json.loads(json.dumps(found.to_dict()))["n"] == 1_000
    assert found.picture().described().startswith(found.name[0].upper())
    assert found.name in repr(found)
