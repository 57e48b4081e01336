"""Effects: classical answers without noise, coverage, invariance, what is not estimable, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from interval_coverage import Setting, effects, estimates, frequencies, truths
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from scipy.stats import norm
from statsmodels.stats.contingency_tables import Table2x2
from support import noisy_tables

import ldpstats as ldp
from ldpstats.confidence.confidence_sets import FiellerQuotient, PossibleRange
from ldpstats.inference.effects.cramers_v import AssociationMeasures, association, mutual_information
from ldpstats.inference.effects.effect_size import Effect, forest_picture
from ldpstats.inference.effects.ratios import (
    odds_forms,
    odds_ratio,
    proportion_difference,
    risk_difference,
    risk_difference_forms,
    risk_ratio,
    risk_ratio_forms,
)
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table

SMOKERS = np.array([[688, 650], [21, 59]])  # Doll & Hill (1950): lung cancer and smoking
Z = float(norm.ppf(0.975))


def table_of(counts: NDArray[np.int64], epsilon: float = 60.0) -> Table:
    """Return reports with these counts, through randomized response that at ε = 60 is the truth."""
    rows, columns = counts.shape
    domain = ldp.Domain({"row": [f"r{i}" for i in range(rows)], "column": [f"c{i}" for i in range(columns)]})
    tally = Tally(ldp.GRR(counts.size, epsilon).noise, counts.ravel(), int(counts.sum()), simulated=True)
    return noisy_tables.table_of(counts.shape, [tally], domain)


def odds(table: Table, columns: tuple[str, str] = ("c0", "c1"), alpha: float = 0.05) -> Effect:
    return odds_ratio(table, alpha, rows=("r0", "r1"), columns=columns)


def ratio(table: Table, alpha: float = 0.05) -> Effect:
    return risk_ratio(table, alpha, rows=("r0", "r1"), column="c0")


def difference(table: Table, alpha: float = 0.05) -> Effect:
    return risk_difference(table, alpha, rows=("r0", "r1"), column="c0")


def noisy(seed: int, shape: tuple[int, int] = (2, 2), n: int = 3000) -> Table:
    rng = np.random.default_rng(seed)
    noise = ldp.GRR(math.prod(shape), 1.0).noise
    return table_of(noise.draw(rng.dirichlet(np.full(math.prod(shape), 3.0)), n, 1, rng)[0].reshape(shape), 1.0)


@pytest.mark.parametrize("effect", [association, mutual_information])
def test_a_table_that_shows_independence_exactly_has_an_upper_limit(effect: Callable[[Table], Effect]) -> None:
    exactly, nearly = (effect(table_of(np.array([[50, 50], [50, more]]))).conf_int() for more in (50, 51))
    assert exactly[0] == 0
    assert exactly[1] == pytest.approx(nearly[1], rel=0.05)


class TestAssociationMeasures:
    """The lengths and their stretches."""

    @pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
    def test_stretches_are_the_delta_method(self, shape: tuple[int, int]) -> None:
        """Numerical derivatives of both lengths, also of a table that does not sum to one."""
        rng = np.random.default_rng(4)
        cells = 1.03 * rng.dirichlet(np.full(math.prod(shape), 4.0))
        root = rng.normal(size=(cells.size, cells.size))
        covariance = root @ root.T / 1e4

        def lengths(flat: FloatArray) -> FloatArray:
            table = flat.reshape(shape)
            expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
            pearson = ((table - expected) ** 2 / expected).sum()
            return np.array([pearson, 2 * (table * np.log(table / expected)).sum()])

        steps = 1e-6 * np.eye(cells.size)
        slopes = np.array([(lengths(cells + step) - lengths(cells - step)) / 2e-6 for step in steps]).T
        seen = AssociationMeasures.of(cells.reshape(shape), covariance)
        assert np.allclose([seen.pearson, seen.likelihood], lengths(cells), rtol=1e-10)
        expected = np.einsum("ki,ij,kj->k", slopes, covariance, slopes) / 4 / lengths(cells)
        assert np.allclose([seen.pearson_stretch, seen.likelihood_stretch], expected, rtol=1e-6)

    def test_without_any_dependence_the_stretch_is_that_of_noise(self) -> None:
        seen = AssociationMeasures.of(np.full((2, 2), 0.25), np.eye(4) / 100)
        assert seen.pearson_stretch == pytest.approx(seen.added), "a 2-by-2 table has one direction of dependence"
        assert seen.likelihood_stretch == pytest.approx(seen.added)

    def test_tables_without_positive_margins_do_not_disturb_the_others(self) -> None:
        proper, covariance = np.array([[0.4, 0.1], [0.2, 0.3]]), np.eye(4) / 1000
        strange = [-proper, np.zeros((2, 2)), np.array([[0.9, 0.3], [-0.1, -0.1]])]
        seen = AssociationMeasures.of(np.stack([proper, *strange]), np.stack([covariance] * 4))
        assert seen.possible.tolist() == [True, False, False, False]
        assert seen.pearson[0] == AssociationMeasures.of(proper, covariance).pearson
        assert seen.estimable.tolist() == seen.possible.tolist()


class TestWithoutNoise:
    """At ε = 60 no report is a lie: classical answers."""

    @pytest.mark.parametrize(("effect", "name"), [(odds, "oddsratio"), (ratio, "riskratio")])
    def test_ratios_are_statsmodels(self, effect: Callable[[Table], Effect], name: str) -> None:
        found, classical = effect(table_of(100 * SMOKERS)), Table2x2(100 * SMOKERS)
        assert found.estimate == pytest.approx(getattr(classical, name), rel=1e-9)
        assert found.conf_int() == pytest.approx(getattr(classical, f"{name}_confint")(), rel=0.01)

    def test_risk_difference_is_walds(self) -> None:
        counts = 100 * SMOKERS
        groups = counts.sum(axis=1)
        shares = counts[:, 0] / groups
        error = math.sqrt((shares * (1 - shares) / groups).sum())
        found = difference(table_of(counts))
        assert found.estimate == pytest.approx(shares[0] - shares[1], abs=1e-9)
        assert found.conf_int() == pytest.approx((found.estimate - Z * error, found.estimate + Z * error), abs=1e-3)

    def test_proportion_difference_has_the_multinomial_error(self) -> None:
        table = table_of(SMOKERS)
        n, (a, b) = SMOKERS.sum(), SMOKERS[0] / SMOKERS.sum()
        error = math.sqrt((a + b - (a - b) ** 2) / (n - 1))
        found = proportion_difference(table, ("r0", "c0"), ("r0", "c1"))
        assert found.conf_int() == pytest.approx((a - b - Z * error, a - b + Z * error), abs=1e-9)
        margin = proportion_difference(table.marginal("column"), "c0", "c1")
        assert margin.estimate == pytest.approx((SMOKERS[:, 0].sum() - SMOKERS[:, 1].sum()) / n, abs=1e-9)

    def test_mutual_information_is_half_of_g_over_n(self) -> None:
        counts = 1000 * np.array([[30, 10, 5], [10, 20, 25]])
        shares = counts / counts.sum()
        expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
        plug_in = float((shares * np.log(shares / expected)).sum())
        found = mutual_information(table_of(counts))
        # the correction: half the degrees of freedom over n, up to the strength of the dependence
        assert found.estimate == pytest.approx(plug_in, abs=2 * 2 / counts.sum())
        assert found.conf_int()[0] < plug_in < found.conf_int()[1]

    @pytest.mark.parametrize("n", [10**4, 10**10])
    def test_perfect_dependence_has_v_one(self, n: int) -> None:
        low, high = association(table_of(n * np.eye(3, dtype=np.int64))).conf_int()
        assert 0.98 < low <= high <= 1


@pytest.mark.parametrize("shape", [(2, 2), (3, 3)])
def test_information_is_corrected_by_half_of_what_noise_adds(shape: tuple[int, int]) -> None:
    """The noise of an association is the root of what noise adds to φ², per degree of the smaller side."""
    counts = np.full(shape, 2000) + 3000 * np.eye(shape[0], dtype=np.int64)
    table = table_of(counts, 2.0)
    cells = table.estimate
    plug_in = (cells * np.log(cells / np.outer(cells.sum(axis=1), cells.sum(axis=0)))).sum()
    added = association(table).noise ** 2 * (shape[0] - 1)
    assert added > 1e-4
    assert mutual_information(table).estimate == pytest.approx(plug_in - added / 2, abs=1e-12)


class TestInvariance:
    """What must not matter."""

    @pytest.mark.parametrize("seed", range(5))
    def test_swapping_columns_inverts_the_odds_ratio(self, seed: int) -> None:
        table = noisy(seed)
        one, other = odds(table), odds(table, ("c1", "c0"))
        assert one.estimate == pytest.approx(1 / other.estimate)
        with np.errstate(divide="ignore"):
            mirrored = [tuple(1 / np.array(piece[::-1])) for piece in reversed(other.conf_set())]
        assert np.allclose(one.conf_set(), mirrored)

    @pytest.mark.parametrize("seed", range(5))
    def test_swapping_rows_turns_the_risk_difference(self, seed: int) -> None:
        table = noisy(seed, (3, 3))
        one, other = (risk_difference(table, rows=rows, column="c1") for rows in (("r0", "r2"), ("r2", "r0")))
        assert np.allclose(one.conf_int(), np.negative(other.conf_int())[::-1])

    def test_pairs_of_categories_are_those_of_the_table(self) -> None:
        table = table_of(np.arange(1, 13).reshape(3, 4) * 100)
        assert odds_ratio(table, rows=("r0", "r2"), columns=("c3", "c1")).estimate == pytest.approx(4 * 10 / (2 * 12))
        shares = np.array([3 / 10, 11 / 42])
        assert risk_ratio(table, rows=("r0", "r2"), column="c2").estimate == pytest.approx(shares[0] / shares[1])

    def test_the_tables_method_does_not_matter(self) -> None:
        table = noisy(1)
        for effect in (odds, ratio, difference, mutual_information, association):
            assert effect(table.estimated_by("mle")).conf_int() == effect(table).conf_int()

    def test_forms_are_the_products(self) -> None:
        cells = np.arange(1.0, 7).reshape(3, 2)
        flat, row = cells.ravel(), cells.sum(axis=1)
        found = [flat @ form @ flat for form in odds_forms((3, 2), (0, 2), (0, 1))]
        assert found == [cells[0, 0] * cells[2, 1], cells[0, 1] * cells[2, 0]]
        x, y = (flat @ form @ flat for form in risk_ratio_forms((3, 2), (0, 2), 1))
        assert x / y == pytest.approx((cells[0, 1] / row[0]) / (cells[2, 1] / row[2]))
        x, y = (flat @ form @ flat for form in risk_difference_forms((3, 2), (0, 2), 1))
        assert x / y == pytest.approx(cells[0, 1] / row[0] - cells[2, 1] / row[2])


@pytest.mark.parametrize(
    ("mechanism", "shape", "strength"),
    [("grr", (4, 4), "strong"), ("ss", (3, 2), "strong"), ("oue", (2, 2), "weak")],
)
def test_intervals_hold_the_truth_as_often_as_they_say(mechanism: str, shape: tuple[int, int], strength: str) -> None:
    """4,000 tables each: the limits are 5 standard errors and more from what the study measures, .932 to .955.

    All 18 figures together then fail by chance with a probability below 1e-6 or so. The small cells of the largest
    table are covered too often, and have no upper limit here.
    """
    setting = Setting(shape, strength, "even", mechanism, 2.0, 50_000, replications=4000)
    cells = frequencies(setting)
    estimate, covariance = estimates(setting, cells.ravel(), np.random.default_rng(7))
    truth = truths(cells)
    for name, (inversion, silent) in effects(estimate, covariance, shape).items():
        limits = inversion.limits(0.05)
        covered = np.mean((limits[..., 0] <= truth[name]) & (truth[name] <= limits[..., 1]), axis=0).sum()
        assert not silent.any()
        assert 0.91 < covered <= (1 if shape == (4, 4) else 0.985), name


def test_a_single_table_gets_what_many_get() -> None:
    tables = [noisy(seed, (2, 3)) for seed in range(6)]
    cells = [table.cells for table in tables]
    estimate, covariance = (np.stack([getattr(one, what) for one in cells]) for what in ("estimate", "covariance"))
    together = effects(estimate, covariance, (2, 3))
    for i, table in enumerate(tables):
        alone = {
            "odds ratio": odds(table, ("c0", "c2")),
            "risk ratio": ratio(table),
            "risk difference": difference(table),
            "proportion difference": proportion_difference(table, ("r0", "c0"), ("r1", "c2")),
            "Cramér's V": association(table),
            "mutual information": mutual_information(table),
        }
        for name, (inversion, silent) in together.items():
            assert bool(silent[i]) == bool(alone[name].why_not) or name.endswith("ratio")
            pieces = [tuple(piece) for piece in inversion.limits(0.05)[i] if not np.isnan(piece[0])]
            assert silent[i] or np.allclose(alone[name].conf_set(), pieces, rtol=1e-9)


class TestNotEstimable:
    """Reasons rather than nonsense."""

    def test_noise_that_dominates_leaves_the_whole_range(self) -> None:
        table = noisy(3, (4, 4), 200)
        v, information = association(table), mutual_information(table)
        assert v.why_not
        assert information.why_not == v.why_not
        assert math.isnan(v.estimate)
        assert math.isnan(information.estimate)
        assert v.conf_int() == (0, 1)
        assert information.conf_int() == (0, math.log(4))

    def test_a_negative_cell_leaves_an_interval_without_an_estimate(self) -> None:
        counts = np.array([[900, 400], [300, 280]])  # of 1,880 reports, randomized response at ε = 1 expects 330
        found = odds(table_of(counts, 1.0))
        assert math.isnan(found.estimate)
        assert "not estimated above zero" in found.why_not
        assert found.conf_int()[1] == math.inf
        assert "without an upper end" in str(found)
        assert found.to_dict()["intervals"][-1][1] is None

    def test_a_single_report_or_none(self) -> None:
        for counts in (np.array([[1, 0], [0, 0]]), np.zeros((2, 2), dtype=np.int64)):
            table = table_of(counts, 1.0)
            assert odds(table).conf_int() == (0, math.inf)
            assert difference(table).conf_int() == (-1, 1)
            assert proportion_difference(table, ("r0", "c0"), ("r1", "c1")).conf_int() == (-1, 1)
            assert association(table).conf_int() == (0, 1)
            assert mutual_information(table).why_not

    def test_sets_of_two_pieces_and_empty_ones_say_so(self) -> None:
        two = effect_of(FiellerQuotient(np.array([0.5, 0.1]), np.diag([0.01, 0.01]), -9.0, 9.0))
        assert len(two.conf_set()) == 2
        assert two.conf_int() == (-9, 9)
        assert ", or from" in str(two)
        empty = effect_of(FiellerQuotient(np.array([-5.0, 1.0]), np.diag([0.01, 0.01]), 0.0, 9.0))
        assert empty.conf_set() == ()
        assert all(math.isnan(limit) for limit in empty.conf_int())
        assert "holds no possible value" in str(empty.summary())


class TestRefusals:
    """Input that cannot be used."""

    def test_names_what_is_allowed(self) -> None:
        wide = table_of(np.full((3, 3), 100))
        for wrong in (None, ("r0",), ("r0", "r0"), "r0", ("r0", "car")):
            with pytest.raises(ldp.LdpstatsError, match="r0"):
                odds_ratio(wide, rows=wrong, columns=("c0", "c1"))
        with pytest.raises(ldp.LdpstatsError, match="'c0', 'c1', 'c2'"):
            risk_difference(wide, rows=("r0", "r1"), column="c9")
        with pytest.raises(ldp.LdpstatsError, match="one category for each"):
            proportion_difference(wide, "r0", "r1")
        for effect in (odds_ratio, association):
            with pytest.raises(ldp.LdpstatsError, match="two-way"):
                effect(wide.marginal("row"))

    def test_which_category_is_the_event_is_never_guessed(self) -> None:
        table = table_of(100 * SMOKERS)
        for asked in ({}, {"rows": ("r0", "r1")}, {"columns": ("c0", "c1")}):
            with pytest.raises(ldp.LdpstatsError, match="or the other way round"):
                odds_ratio(table, **asked)
        for effect in (risk_ratio, risk_difference):
            with pytest.raises(ldp.LdpstatsError, match=r"rows=\('r0', 'r1'\)"):
                effect(table, column="c0")
            with pytest.raises(ldp.LdpstatsError, match="column='c0'"):
                effect(table, rows=("r0", "r1"))

    @pytest.mark.parametrize("effect", [odds, ratio, difference, association, mutual_information])
    def test_other_things_than_tables_and_levels(self, effect: object) -> None:
        with pytest.raises(ldp.LdpstatsError, match="ndarray"):
            effect(np.ones((2, 2)))
        with pytest.raises(ldp.LdpstatsError, match="alpha"):
            effect(noisy(1), alpha=1.5)
        with pytest.raises(ldp.LdpstatsError, match="alpha"):
            effect(noisy(1)).conf_int(0)


class TestResult:
    """What an effect gives back."""

    def test_summary_and_plain_values_say_what_is_covered_and_promised(self) -> None:
        found = ratio(noisy(2), alpha=0.1)
        text = str(found.summary())
        for part in (
            "risk ratio of column c0",
            "90 % interval",
            "pointwise",
            "sampling",
            "3,000 (simulated)",
            "epsilon",
        ):
            assert part in text
        plain = found.to_dict()
        assert plain["estimate"] == found.estimate
        assert tuple(plain["intervals"][0]) == found.conf_int()
        assert plain["level"] == pytest.approx(0.9)


def effect_of(inversion: FiellerQuotient | PossibleRange) -> Effect:
    return Effect.of(noisy(2), "an effect", 1.0, inversion, "", 0.05)


class TestPictures:
    """Forest plots show what the effects say."""

    def test_ratios_stand_on_a_logarithmic_scale_around_one(self) -> None:
        effects = [odds(noisy(seed, (2, 2), 4000)) for seed in (1, 2)]
        axes = ldp.plots.forest(effects)
        assert axes.get_xscale() == "log"
        assert axes.get_xlabel() == "odds ratio"
        assert forest_picture(effects).reference == 1
        frame = forest_picture(effects).to_frame()
        assert frame["estimate"].tolist() == [one.estimate for one in effects]
        assert list(zip(frame["lower"], frame["upper"], strict=True)) == [one.conf_int() for one in effects]
        plt.close(axes.figure)

    def test_differences_and_strengths_stand_around_zero(self) -> None:
        table = noisy(1, (2, 2), 4000)
        for effect in (difference(table), association(table), mutual_information(table)):
            picture = effect.picture()
            assert (picture.reference, picture.logarithmic) == (0.0, False)
            assert picture.notes[0].startswith("95 % interval; 4,000 reports")

    def test_what_is_special_is_said_beside_it(self) -> None:
        two = effect_of(FiellerQuotient(np.array([0.5, 0.1]), np.diag([0.01, 0.01]), -9.0, 9.0))
        assert any(", or from" in note for note in two.picture().notes)
        domain = ldp.Domain({name: [0, 1] for name in "abc"})
        chain = ldp.SampledGroups(domain, epsilon=4.0, groups=[("a", "b"), ("b", "c")])
        assumed = association(ldp.reconstruct(chain.simulate(np.full(8, 500), rng=1), ["a", "c"], n_resamples=3))
        assert any(note.startswith("assumes no interaction") for note in assumed.picture().notes)
        none = association(noisy(3, (4, 4), 200))
        assert any("not estimable" in note for note in none.picture().notes)

    def test_reports_of_several_effects_of_one_table_are_counted_once(self) -> None:
        protocol = ldp.SampledGroups(ldp.Domain({"a": ["r0", "r1"], "b": ["c0", "c1"]}), epsilon=4.0)
        people = pd.DataFrame({"a": ["r0", "r1"] * 300, "b": ["c0", "c0", "c1", "c1"] * 150})
        mixed = (protocol.collect(people) + protocol.simulate(np.full(4, 100), rng=1))["a", "b"]
        shown = forest_picture([odds(mixed), odds(mixed)])
        assert "1,000 reports (400 of 1,000 reports simulated)" in shown.notes[0]

    def test_other_scales_are_not_mixed(self) -> None:
        table = noisy(1, (2, 2), 4000)
        with pytest.raises(ldp.LdpstatsError, match="on one scale"):
            ldp.plots.forest([odds(table), association(table)])
        for wrong in ([], table, [table], None):
            with pytest.raises(ldp.LdpstatsError, match=r"effects"):
                ldp.plots.forest(wrong)  # type: ignore[arg-type]  # this is what is refused
