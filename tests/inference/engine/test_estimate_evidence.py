"""Evidence of estimated sums: exact against least squares by hand, degrees of freedom, refusals, and levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import beta, chi2, ncx2
from support.every_test import EVERY
from support.noisy_tables import collected, table_of
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.estimation import Estimate, Measured
from ldpstats.inference import (
    HypothesisResult,
    conditional_independence_test,
    homogeneity_test,
    joint_independence_test,
    log_linear_model,
    no_three_way_interaction_test,
    trend_test,
)
from ldpstats.inference.engine.detectability import information_beyond
from ldpstats.inference.engine.evidence import BlockEvidence, EstimateEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.null_model import irregular
from ldpstats.inference.engine.statistics import ScoreStatistic
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Figures, Summed, Table, TableSet

Test = Callable[[Table], HypothesisResult]
SHAPE = (2, 3)
UNEVEN = np.kron([0.6, 0.4], [0.5, 0.3, 0.2])


def measured_table(shape: tuple[int, ...], measured: Measured, **more: object) -> Table:
    """Return a table that has nothing but measured sums."""
    domain = ldp.Domain({name: range(side) for name, side in zip("abcd", shape, strict=False)})
    cells = domain.size()
    shown = Estimate(np.full(cells, 1 / cells), np.eye(cells) / measured.n, measured.n)
    privacy = ldp.PrivacyStatement(2.0, "a test")
    table = Table(domain, (), privacy, "by hand", provenance=Summed(("a",)), figures=Figures(shown, measured))
    return replace(table, **more)  # type: ignore[arg-type]  # fields of a table


def hadamard_marginal(shape: tuple[int, ...], people: FloatArray, seed: int, epsilon: float = 2.0) -> Table:
    """Return a marginal whose noise has no known law; the last attribute is added up."""
    domain = ldp.Domain({name: range(side) for name, side in zip("abcd", shape, strict=False)})
    protocol = ldp.SampledGroups(domain, k=len(shape), epsilon=epsilon, mechanism="hr")
    table = protocol.simulate(people, rng=seed)[domain.names].marginal(domain.names[:-1])
    assert not table.blocks
    return table


class TestScore:
    """The statistic of independence."""

    def test_is_that_of_the_reports_if_the_covariance_is_that_at_their_fit(self) -> None:
        """Of one block the score statistic is least squares of its estimate, with the covariance at the null."""
        (block,) = table_of(SHAPE, [collected(UNEVEN, 3000, 2.0, 1)]).blocks
        model = ProductOfConditionals.independent(SHAPE)
        reports = BlockEvidence.observed([block])
        fit = ScoreStatistic(model, reports, 6)(reports)
        estimate = block.noise.debias(block.tally.proportions)
        covariance = block.noise.covariance(fit.frequencies[0]) / block.n
        evidence = EstimateEvidence.of(Measured.of_cells(estimate, covariance, block.n))
        theirs, own = (one.score(fit.frequencies) for one in (reports, evidence))
        contrasts = np.eye(6) - 1 / 6
        assert np.allclose(theirs[0] @ contrasts, own[0] @ contrasts, rtol=1e-9, atol=1e-6)
        assert np.allclose(theirs[1].between(contrasts), own[1].between(contrasts), rtol=1e-9)
        statistic = ScoreStatistic(model, evidence, 6)(evidence).statistic
        assert statistic == pytest.approx(fit.statistic, rel=1e-3)

    def test_is_the_least_distance_from_independence_by_the_covariance(self) -> None:
        rng = np.random.default_rng(2)
        root = rng.normal(size=(6, 6))
        covariance = root @ root.T * 1e-4
        estimate = UNEVEN + 0.01 * rng.normal(size=6)
        precision = np.linalg.inv(covariance)
        model = ProductOfConditionals.independent(SHAPE)

        def distance(cells: FloatArray) -> float:
            return float((estimate - cells) @ precision @ (estimate - cells))

        start = model.nearest(UNEVEN)
        null = optimize.minimize(lambda p: distance(model.frequencies(p)), start, tol=1e-14).fun
        any_table = optimize.minimize(lambda p: distance(np.append(p, 1 - p.sum())), UNEVEN[:-1], tol=1e-14).fun
        evidence = EstimateEvidence.of(Measured.of_cells(estimate, covariance, 1000))
        found = ScoreStatistic(model, evidence, 6)
        assert found.df == 2
        assert found(evidence).statistic[0] == pytest.approx(null - any_table, rel=1e-6)
        gained = evidence.log_likelihood(UNEVEN[None, :]) - evidence.log_likelihood(estimate[None, :])
        assert gained == pytest.approx(-distance(UNEVEN) / 2)

    @pytest.mark.parametrize("order", list(permutations(range(3))))
    def test_the_order_of_attributes_and_categories_changes_nothing(self, order: tuple[int, ...]) -> None:
        people = np.random.default_rng(3).integers(200, 600, (2, 3, 2, 2))
        table = hadamard_marginal((2, 3, 2, 2), people, 4)
        plain = ldp.independence_test(table, pvalue="asymptotic")
        moved = ldp.independence_test(table.reordered([table.attributes[axis] for axis in order]), pvalue="asymptotic")
        assert moved.statistic == pytest.approx(plain.statistic, rel=1e-6)
        measured, flipped = table.measured, np.arange(12).reshape(2, 3, 2)[::-1, :, ::-1].ravel()
        again = measured_table((2, 3, 2), measured.onto(np.argsort(flipped), 12))
        assert ldp.independence_test(again, pvalue="asymptotic").statistic == pytest.approx(plain.statistic, rel=1e-6)

    def test_what_is_known_without_noise_is_left_out(self) -> None:
        """Totals, and sums that agree by design, have no variance; rounding may make them contradict each other."""
        rows, columns = np.repeat(np.eye(2), 3, axis=1), np.tile(np.eye(3), 2)
        root = np.random.default_rng(5).normal(size=(6, 6))
        covariance = (np.eye(6) - 1 / 6) @ root @ root.T @ (np.eye(6) - 1 / 6) * 1e-4
        estimate = UNEVEN + 1e-3 * np.array([1, -2, 1, 0, 3, -3])
        alone = EstimateEvidence.of(Measured.of_cells(estimate, covariance, 1000))
        sums = np.vstack([np.eye(6), rows, columns])
        everything = Measured(sums, sums @ estimate + 1e-13, sums @ covariance @ sums.T, 1000)
        model = ProductOfConditionals.independent(SHAPE)
        found = [ScoreStatistic(model, one, 6) for one in (alone, EstimateEvidence.of(everything))]
        assert [one.df for one in found] == [2, 2]
        first, second = (
            one(each).statistic[0] for one, each in zip(found, (alone, EstimateEvidence.of(everything)), strict=True)
        )
        assert second == pytest.approx(first, rel=1e-6)

    def test_draws_have_the_mean_and_the_covariance_of_the_estimate(self) -> None:
        """Exact up to the drawing: 20,000 draws, six standard errors."""
        covariance = np.array([[2.0, -1, -1], [-1, 3, -2], [-1, -2, 3]]) * 1e-4
        evidence = EstimateEvidence.of(Measured.of_cells(np.array([0.5, 0.3, 0.2]), covariance, 1000))
        drawn = evidence.replicates(np.array([0.2, 0.3, 0.5]), 20_000, np.random.default_rng(6))
        estimator = drawn.estimator()
        assert estimator is not None
        cells = estimator(drawn)
        assert np.allclose(cells.mean(axis=0), [0.2, 0.3, 0.5], atol=6 * np.sqrt(3e-4 / 20_000))
        assert np.allclose(np.cov(cells.T), covariance, atol=6 * 3e-4 * np.sqrt(2 / 20_000))
        assert len(drawn) == 20_000
        assert len(drawn.subset(np.arange(7))) == 7


class TestDegreesOfFreedom:
    """Found from the covariance and the sums alone."""

    def test_interactions_without_noise_of_their_own_do_not_count(self) -> None:
        """A reconstructed table of 3 by 3 of rank five, of which independence leaves four free, has one to test."""
        shape = (3, 3)
        rows, columns = np.repeat(np.eye(3), 3, axis=1), np.tile(np.eye(3), 3)
        parity = np.kron([1, -1, 0], [1, 0, -1])[None, :]
        sums = np.vstack([rows, columns, parity])
        cells = np.full(9, 1 / 9)
        spread = (np.diag(cells) - np.outer(cells, cells)) / 500
        measured = Measured(sums, sums @ cells, sums @ spread @ sums.T, 500)
        table = measured_table(shape, measured)
        assert ldp.independence_test(table, pvalue="asymptotic").df == 1
        margins = Measured(sums[:-1], sums[:-1] @ cells, sums[:-1] @ spread @ sums[:-1].T, 500)
        with pytest.raises(ldp.NotIdentifiedError, match="tell nothing about the hypothesis"):
            ldp.independence_test(measured_table(shape, margins))

    @pytest.mark.parametrize(("rank", "side"), [(3, 3), (5, 4)])
    def test_a_singular_covariance_of_cells_counts_what_it_knows(self, rank: int, side: int) -> None:
        """Of (side − 1)² interactions only `rank` vary: as in estimates under a model."""
        cells = irregular(side * side)
        product = np.kron(cells.reshape(side, side).sum(axis=1), cells.reshape(side, side).sum(axis=0))
        contrast = np.linalg.qr(np.column_stack([np.ones(side), np.eye(side)[:, 1:]])).Q[:, 1:]
        interactions = np.kron(contrast, contrast)[:, :rank]
        margins = np.hstack([np.kron(contrast, np.ones((side, 1))), np.kron(np.ones((side, 1)), contrast)])
        basis = np.hstack([interactions, margins])
        measured = Measured.of_cells(product, basis @ basis.T * 1e-4, 1000)
        assert ldp.independence_test(measured_table((side, side), measured), pvalue="asymptotic").df == rank


TESTS = {name: setting.test for name, setting in EVERY.items() if len(setting.shape) == 2 and name != "homogeneity"}
THREE_WAY = {name: setting.test for name, setting in EVERY.items() if len(setting.shape) == 3}


class TestEveryHypothesis:
    """Each on tables without reports of their own, on consistent ones, and on groups of such."""

    @pytest.mark.parametrize("name", TESTS)
    def test_runs_where_there_are_only_sums(self, name: str) -> None:
        joint = np.kron(np.kron([0.3, 0.3, 0.4], [0.3, 0.3, 0.4]), [0.5, 0.5]).reshape(3, 3, 2)
        result = TESTS[name](hadamard_marginal((3, 3, 2), np.round(joint * 20_000).astype(int), 7))
        assert "estimated sums of cells" in result.method
        assert 0 <= result.pvalue <= 1
        assert result.to_dict()["provenance"]["kind"] == "summed"
        assert "Added up from the table of a and b and c." in str(result.summary())

    @pytest.mark.parametrize("name", THREE_WAY)
    def test_runs_in_three_ways(self, name: str) -> None:
        table = hadamard_marginal((2, 2, 3, 2), np.full((2, 2, 3, 2), 800), 8)
        assert 1e-4 < THREE_WAY[name](table).pvalue <= 1

    @pytest.mark.parametrize("name", TESTS)
    def test_of_a_consistent_table_takes_its_own_reports(self, name: str) -> None:
        domain = ldp.Domain({name: range(3) for name in "abc"})
        tables = ldp.SampledGroups(domain, epsilon=2.0).simulate(np.full((3, 3, 3), 300), rng=9)
        made = ldp.make_consistent(tables)["a", "b"]
        found, collected = (TESTS[name](table) for table in (made, tables["a", "b"]))
        assert (found.df, found.statistic, found.pvalue) == (collected.df, collected.statistic, collected.pvalue)
        assert found.to_dict()["provenance"]["kind"] == "made consistent"
        assert "take its own reports" in str(found.summary())

    def test_of_a_consistent_table_whose_categories_were_put_together_takes_the_fit(self) -> None:
        domain = ldp.Domain({name: range(3) for name in "abc"})
        tables = ldp.SampledGroups(domain, epsilon=2.0).simulate(np.full((3, 3, 3), 300), rng=9)
        made = ldp.make_consistent(tables)["a", "b"].collapse({"a": {0: [0], 1: [1, 2]}})
        found = ldp.independence_test(made)
        assert "estimated sums of cells" in found.method
        assert (found.df, found.pvalue > 1e-3) == (2, True)

    def test_groups_may_be_known_by_reports_and_by_sums(self) -> None:
        people = np.full((2, 2, 2), 700)
        sums = hadamard_marginal((2, 2, 2), people, 10)
        domain = ldp.Domain({name: range(2) for name in "abc"})
        reports = ldp.SampledGroups(domain, k=2, epsilon=2.0).simulate(people, rng=11)["a", "b"]
        result = homogeneity_test({"sums": sums, "reports": reports})
        assert result.df == 3
        assert result.pvalue > 1e-4
        assert "on the counts" in result.method
        assert "on estimated sums" in result.method

    def test_an_upper_bound_of_the_covariance_is_named(self) -> None:
        measured = replace(hadamard_marginal((2, 2, 2), np.full((2, 2, 2), 700), 10).measured, bound="shared reports")
        table = measured_table((2, 2), measured)
        assert "upper bound of their covariance (shared reports): conservative" in ldp.independence_test(table).method
        assert "upper bound of their covariance (shared reports)" in ldp.association(table).covers


PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))


def asked(shape: tuple[int, ...], groups: object, people: FloatArray, seed: int, epsilon: float = 2.0) -> TableSet:
    domain = ldp.Domain({name: range(side) for name, side in zip("abcd", shape, strict=False)})
    return ldp.SampledGroups(domain, epsilon=epsilon, groups=groups, mechanism="grr").simulate(people, rng=seed)


class TestReconstructedTables:
    """They are tested on what was asked; what was not cannot be."""

    def test_a_pair_that_nobody_was_asked_about_is_refused_with_what_to_ask(self) -> None:
        tables = asked((2, 2, 2), [("a", "b"), ("b", "c")], np.full((2, 2, 2), 1000), 1)
        wide, pair = ldp.reconstruct(tables, list("abc")), ldp.reconstruct(tables, ["a", "c"])
        refused: list[tuple[Test, Table]] = [
            (ldp.independence_test, pair),
            (trend_test, pair),
            (lambda table: conditional_independence_test(table, "a", "c", "b"), wide),
            (lambda table: log_linear_model(table, "a*b + b*c").test(), wide),
        ]
        for test, table in refused:
            with pytest.raises(ldp.NotIdentifiedError, match=r"nobody was asked about a and c together") as error:
                test(table)
            assert "Ask the group ('a', 'c')" in str(error.value)
            assert "bounds()" in str(error.value)
        with pytest.raises(ldp.NotIdentifiedError, match=r"a, b and c together"):
            no_three_way_interaction_test(
                ldp.reconstruct(asked((2, 2, 2), PAIRS, np.full((2, 2, 2), 9), 1), list("abc"))
            )

    def test_many_tests_list_what_cannot_be_tested(self) -> None:
        tables = asked((2, 2, 2), [("a", "b"), ("b", "c")], np.full((2, 2, 2), 1000), 1)
        wide = [ldp.reconstruct(tables, pair) for pair in PAIRS]
        frame = (
            ldp.independence_tests(TableSet(tables.domain, wide, tables.privacy))
            .to_frame()
            .set_index(["first", "second"])
        )
        assert frame.loc[("a", "c"), "verdict"] == "not testable"
        assert "nobody was asked about a and c together" in frame.loc[("a", "c"), "reason"]
        assert frame.loc[[("a", "b"), ("b", "c")], "pvalue"].notna().all()

    @pytest.mark.parametrize(("test", "df"), [(THREE_WAY["mutual independence"], 3), (THREE_WAY["conditional"], 1)])
    def test_pairs_leave_their_own_degrees_of_freedom(self, test: Test, df: int) -> None:
        """Of seven contrasts of 2 by 2 by 2 pairs tell six, and the hypotheses leave three and five of them free."""
        result = test(ldp.reconstruct(asked((2, 2, 2), PAIRS, np.full((2, 2, 2), 1000), 3), list("abc")))
        assert result.df == df
        words = "Of these attributes, only (a, b) and (a, c) and (b, c) were asked about together"
        assert words in spoken(result.summary())
        assert result.to_dict()["scope"].startswith(words)
        assert "averaged over directions, those that nobody was asked about included" in spoken(result.summary())

    def test_power_counts_directions_that_nobody_was_asked_about(self) -> None:
        """All pairs tell the same of their own dependence, and nothing of the fourth direction.

        Three of four squared coordinates of a random direction are Beta(3/2, 1/2); 256 directions stand for all.
        """
        tables = asked((2, 2, 2), PAIRS, np.full((2, 2, 2), 1500), 3)
        result = ldp.independence_test(ldp.reconstruct(tables, list("abc")))
        pair = BlockEvidence.observed(tables["a", "b"].blocks)
        model = ProductOfConditionals.independent((2, 2))
        information = information_beyond(model, pair, np.full(4, 0.25))[0, 0]
        expected = beta(1.5, 0.5).expect(lambda told: ncx2.sf(chi2.isf(0.05, 3), 3, 0.1**2 * information * told))
        assert 0.2 < result.power[0.1] < 0.95
        assert result.power[0.1] == pytest.approx(expected, rel=0.03)

    def test_an_effect_names_what_it_assumes_or_is_refused(self) -> None:
        tables = asked((2, 2, 2), [("a", "b"), ("b", "c")], np.full((2, 2, 2), 1000), 1)
        effect = ldp.association(ldp.reconstruct(tables, ["a", "c"]))
        assumed = "no interaction beyond the groups that were asked about"
        assert f"assuming {assumed}" in effect.name
        assert f"assuming {assumed}" in spoken(effect)
        assert f"if this holds: {assumed}" in effect.covers
        assert "bounds()" in effect.covers
        assert effect.to_dict()["provenance"]["assumption"].startswith(assumed)
        assert assumed in str(effect.summary())
        collected = ldp.association(tables["a", "b"])
        assert "assum" not in collected.name + collected.covers
        refused = ldp.association(ldp.reconstruct(tables, ["a", "c"], "l2"))
        assert "no model that could be true" in refused.why_not
        assert refused.conf_int() == (0, 1)
        ratio = ldp.odds_ratio(ldp.reconstruct(tables, ["a", "c"], "l2"), rows=(0, 1), columns=(0, 1))
        assert np.isnan(ratio.estimate)
        assert ratio.conf_int() == (0, np.inf)


def test_models_with_open_parameters_are_fitted() -> None:
    """(a, b) independent of c, where nobody was asked about a and b together: how they hang together stays open."""
    tables = asked((2, 2, 2), [("a", "c"), ("b", "c")], np.full((2, 2, 2), 2000), 5)
    result = joint_independence_test(ldp.reconstruct(tables, list("abc")), ["a", "b"], "c")
    assert result.df == 2
    apart = [ldp.independence_test(tables[pair]).statistic for pair in (("a", "c"), ("b", "c"))]
    assert result.statistic == pytest.approx(sum(apart), abs=0.5 + 0.2 * sum(apart))
    assert result.converged


def sparse_marginal(rng: np.random.Generator) -> Table:
    """Return two independent attributes with rare categories, of a table whose noise has no known sums."""
    joint = np.kron(np.kron([0.97, 0.03], [0.9, 0.06, 0.03, 0.01]), [0.7, 0.3]).reshape(2, 4, 2)
    people = rng.multinomial(500, joint.ravel()).reshape(joint.shape)
    return hadamard_marginal(joint.shape, people, int(rng.integers(2**31)), epsilon=4.0)


def test_true_hypotheses_are_rejected_as_rarely_as_the_level_says() -> None:
    """Of 60 at .05 more than 14 are rejected with a probability of 2e-7."""
    rng = np.random.default_rng(12)
    rejected = sum(ldp.independence_test(sparse_marginal(rng)).pvalue <= 0.05 for _ in range(60))
    assert rejected <= 14


@pytest.mark.parametrize("test", [ldp.inference.naive_test, ldp.inference.two_step_test])
def test_published_tests_take_counts_alone(test: Test) -> None:
    with pytest.raises(ldp.LdpstatsError, match="not estimated from reports of its own"):
        test(hadamard_marginal((2, 2, 2), np.full((2, 2, 2), 700), 10))
