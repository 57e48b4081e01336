"""Tables side by side: what is computed of several at once is what is computed of each alone."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import chdtri
from support.two_way_tables import drawn, independent, table_of

import ldpstats as ldp
from ldpstats.inference.engine import detectability, null_model
from ldpstats.inference.engine.detectability import NoncentralityProfile, dependences_seen, deviations_seen
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.monte_carlo import AmongMany, MonteCarlo, automatic, drawn_pvalues, reaches
from ldpstats.inference.engine.null_model import DrawnTables, _safe, curvature_loss, null_score
from ldpstats.inference.engine.procedure import STATISTICS, approximations_checked, evidence_of
from ldpstats.tables import Table

SHAPE, MODEL = (3, 4), ProductOfConditionals.independent((3, 4))
SIZES = (60, 300, 5_000, 40_000)


def tables(name: str, epsilon: float = 1.0) -> list[Table]:
    return [table_of(SHAPE, [drawn(name, n, epsilon, n, independent(*SHAPE))]) for n in SIZES]


@pytest.mark.parametrize("method", ["score", "wald"])
@pytest.mark.parametrize("name", ["grr", "oue", "hr"])
def test_statistics_fits_and_doubts_are_those_of_each_table(name: str, method: str) -> None:
    parts = [evidence_of(table) for table in tables(name)]
    assert all(isinstance(one, BlockEvidence) and one.alike == parts[0].alike for one in parts)
    together = BlockEvidence.side_by_side(parts)
    made = STATISTICS["wald" if method == "wald" else "gls"]
    chosen = made(MODEL, parts[-1], 12)
    fit, alone = chosen(together), [made(MODEL, one, 12)(one) for one in parts]
    assert_allclose([chosen(one).statistic[0] for one in parts], [one.statistic[0] for one in alone], rtol=1e-8)
    assert_allclose(fit.statistic, [one.statistic[0] for one in alone], rtol=1e-8)
    assert_allclose(fit.frequencies, [one.frequencies[0] for one in alone], atol=1e-8)
    cut = MODEL.frequencies(MODEL.nearest(fit.frequencies))
    rarest = together.rarest_expected_report(cut)
    assert_allclose(rarest, [one.rarest_expected_report(cut[place]) for place, one in enumerate(parts)])
    pairs = list(zip(parts, alone, strict=True))
    bent = curvature_loss(MODEL, together, fit.frequencies)
    assert_allclose(bent, [curvature_loss(MODEL, one, own.frequencies)[0] for one, own in pairs], rtol=1e-6)
    checks = approximations_checked(MODEL, together, fit, rarest, chosen)
    for place, (one, own) in enumerate(pairs):
        (check,) = approximations_checked(MODEL, one, own, rarest[place : place + 1], chosen)
        assert (check.why, check.draw) == (checks[place].why, checks[place].draw)


@pytest.mark.parametrize("name", ["grr", "oue", "ss"])
def test_what_is_seen_and_likelihoods_are_those_of_each_table(name: str) -> None:
    parts = [evidence_of(table) for table in tables(name)]
    together = BlockEvidence.side_by_side(parts)
    numbers = np.random.default_rng(1)
    margins = [numbers.dirichlet(np.ones(size), len(parts)) for size in SHAPE]
    for place, seen in enumerate(dependences_seen(margins, together)):
        assert_allclose(seen, dependences_seen([one[place : place + 1] for one in margins], parts[place])[0], atol=1e-9)
    if together.has_likelihood:
        cells = numbers.dirichlet(np.ones(12), len(parts))
        each = [one.log_likelihood(cells[place])[0] for place, one in enumerate(parts)]
        assert_allclose(together.log_likelihood(cells), each)


def test_only_tables_that_were_asked_alike_are_put_side_by_side() -> None:
    kinds = [table_of(SHAPE, [drawn(name, 300, 1.0, 1, independent(*SHAPE))]) for name in ("grr", "oue")]
    grr, oue = (BlockEvidence.observed(table.blocks) for table in kinds)
    assert grr.alike != oue.alike
    assert BlockEvidence.observed([*kinds[0].blocks, *kinds[1].blocks]).alike is None
    laplace = ldp.CentralLaplace(ldp.Domain({"a": [0, 1], "b": [0, 1]}), epsilon=1.0)
    released = laplace.simulate(np.full((2, 2), 50), rng=1)["a", "b"]
    assert BlockEvidence.observed(released.blocks).alike is None, "its noise does not grow with the respondents"


def test_tests_of_all_pairs_are_those_of_each_pair() -> None:
    """Fitted, measured and drawn together; the seeds follow from the reports."""
    domain = ldp.Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1, 2], "e": [0, 1], "f": [0, 1, 2, 3]})
    people = np.random.default_rng(3).dirichlet(np.full(288, 0.3)).reshape(domain.shape)
    for n, mechanism in ((1_500, "grr"), (600, "auto"), (60_000, "olh")):
        found = ldp.SampledGroups(domain, epsilon=3.0, mechanism=mechanism).simulate(np.rint(n * people), rng=1)
        pairs = ldp.independence_tests(found).pairs
        assert len(pairs) == 15
        for pair in pairs:
            alone = ldp.independence_test(found[pair.attributes], pvalue=AmongMany(15))
            effect = ldp.association(found[pair.attributes])
            assert (pair.pvalue_source, pair.df) == (alone.pvalue_source, alone.df)
            assert pair.statistic == pytest.approx(alone.statistic, rel=1e-8)
            assert pair.pvalue == pytest.approx(alone.pvalue, rel=1e-8)
            assert (pair.why_not, pair.without) == (effect.why_not, effect.without.strip(" ()"))
            assert pair.cramers_v == pytest.approx(effect.cramers_v, rel=1e-9, nan_ok=True)


def test_a_pair_that_cannot_be_tested_leaves_the_others_of_its_stack_alone() -> None:
    domain = ldp.Domain({name: [0, 1, 2] for name in "abcd"})
    protocol = ldp.SampledGroups(domain, epsilon=60.0, mechanism="grr")
    people = np.zeros(domain.shape)
    people[:2, :, :, :] = np.random.default_rng(1).integers(1, 30, (2, 3, 3, 3))
    found = ldp.independence_tests(protocol.simulate(people, rng=1))
    untested = {pair.attributes for pair in found.pairs if np.isnan(pair.pvalue)}
    assert untested == {("a", "b"), ("a", "c"), ("a", "d")}
    assert all("nobody reported 2 of 'a'" in pair.reason for pair in found.pairs if pair.attributes in untested)


@pytest.mark.parametrize("name", ["grr", "oue", "ss", "olh"])
def test_of_wide_tables_the_power_needs_no_eigenvalues(name: str) -> None:
    """Their sum is exact; what they are apart moves the power by less than a thousandth."""
    shape = (34, 31)
    margins = [np.random.default_rng(size).dirichlet(np.full(size, 2.0)) for size in shape]
    tally = drawn(name, 100_000, 1.0, 1, np.outer(*margins).ravel())
    evidence, model = evidence_of(table_of(shape, [tally])), ProductOfConditionals.independent(shape)
    null = np.outer(*margins).ravel()
    by_sum, by_margins = (
        deviations_seen(model, evidence, null),
        dependences_seen([one[None] for one in margins], evidence),
    )
    with patch.object(detectability, "_MOST_EIGENVALUES", 2_000):
        whole = deviations_seen(model, evidence, null)
        dense = dependences_seen([one[None] for one in margins], evidence)
    df = 33 * 30
    for found, wanted in ((by_sum, whole), (by_margins[0], dense[0])):
        assert found.size == wanted.size == df
        assert found.sum() == pytest.approx(wanted.sum(), rel=1e-9)
        for size in (0.05, 0.1, 0.2):
            powers = [NoncentralityProfile(df, seen, 31).power(size, 0.05) for seen in (found, wanted)]
            assert powers[0] == pytest.approx(powers[1], abs=1e-3)


def test_a_wide_fit_that_does_not_converge_is_judged_at_the_nearest_margins() -> None:
    """The score there is χ²: 15 tables of 26 by 25 are rejected at .05 at most five times (binomial tail 6e-5)."""
    shape, rejected = (26, 25), 0
    margins = [np.random.default_rng(size).dirichlet(np.ones(size)) for size in shape]
    for seed in range(15):
        tally = drawn("grr", 100_000, 2.0, seed, np.outer(*margins).ravel())
        found = ldp.independence_test(table_of(shape, [tally]))
        rejected += found.pvalue <= 0.05
        if not found.converged and found.pvalue_source.startswith("asymptotic"):
            assert "at the proper margins nearest to the estimate" in found.method
            assert "did not converge" in found.pvalue_source
    assert rejected <= 5


@pytest.mark.parametrize(
    ("name", "cells", "tests", "expected"),
    [
        ("grr", 16, 1, (1999, 100, 9999, None)),
        ("grr", 256, 1, (1999, 50, 1999, 999)),
        ("oue", 1024, 1, (999, 50, 999, 499)),
        ("ss", 255, 1, (1999, 100, 9999, None)),
        ("ss", 256, 1, (499, 25, 499, 99)),
        ("grr", 16, 10, (1999, 50, 9999, None)),
        ("grr", 16, 1540, (1999, 50, 30_800, None)),
        ("grr", 1024, 45, (999, 50, 999, None)),
        ("ss", 1024, 45, (499, 25, 900, None)),
    ],
)
def test_nobody_asks_for_more_tables_than_settle_the_verdict(
    name: str, cells: int, tests: int, expected: tuple[int | None, ...]
) -> None:
    tally = drawn(name, 300, 1.0, 1, independent(4, 4))
    evidence = BlockEvidence.observed([*table_of((4, 4), [tally]).blocks])
    drawing = automatic(evidence, cells, AmongMany(tests))
    assert (drawing.n_resamples, drawing.enough, drawing.at_most, drawing.none_of) == expected
    assert drawing == automatic(evidence, cells, AmongMany(tests)), "one table has one p-value"


@pytest.mark.parametrize(("enough", "most", "at_once"), [(None, 3_000, 1000), (100, 9_999, 1000), (25, 499, 64)])
def test_batches_end_where_the_first_part_ends(enough: int | None, most: int, at_once: int) -> None:
    drawing = MonteCarlo(min(1999, most), 1, enough, at_most=most)
    sizes = list(drawing.sizes(at_once))
    assert sum(sizes) == most
    assert min(1999, most) in np.cumsum(sizes)
    assert max(sizes) <= at_once


@pytest.mark.parametrize(("name", "n"), [("grr", 60), ("grr", 5_000), ("oue", 300), ("ss", 5_000), ("hr", 60)])
def test_what_stays_below_is_not_fitted_and_all_else_is_ranked_as_before(name: str, n: int) -> None:
    seen = evidence_of(table_of(SHAPE, [drawn(name, n, 1.0, n, independent(*SHAPE))]))
    statistic, null = STATISTICS["gls"](MODEL, seen, 12), independent(*SHAPE).ravel()
    stack = seen.replicates(null, 400, np.random.default_rng(2))
    drawn_at = DrawnTables(null, np.zeros(1))
    ranked = statistic(stack, drawn_at).statistic
    at_start = null_score(MODEL, stack, statistic.fit.start(MODEL, stack, drawn_at), statistic.fit.solve)
    start = statistic.total(at_start.score, at_start.information) - np.maximum(at_start.gain, 0)
    most = np.maximum(1.5 * start, chdtri(statistic.df, 0.02))
    assert_allclose(
        ranked, np.minimum(statistic.fit(MODEL, stack, drawn_at, statistic._measure).statistic, most), rtol=1e-9
    )
    for level in (0.9, 0.985, 0.9975):
        least = np.full(1, np.quantile(ranked, level))
        with patch.object(null_model, "_safe", wraps=_safe) as steps:
            stopped = statistic(stack, DrawnTables(null, least)).statistic
        assert ((stopped >= least) == (ranked >= least)).all()
        fitted = [len(known.args[1]) for known in steps.call_args_list]
        assert fitted == [np.count_nonzero(most >= least)] * 3
        assert (fitted[0] < 100) == (least[0] > chdtri(statistic.df, 0.02))


def test_what_is_as_far_as_the_observed_table_at_the_start_alone_does_not_reach_it() -> None:
    """Beside the observed table, 1.5 times as far as it is at the start, others start as far: rounding decides."""
    tallies = np.array([counts for counts in np.ndindex(6, 6, 6, 6) if sum(counts) == 5])
    block = replace(drawn("grr", 5, 0.3, 1, independent(2, 2)), counts=np.array([0, 0, 0, 5]))
    seen = evidence_of(table_of((2, 2), [block]))
    statistic, null = STATISTICS["gls"](ProductOfConditionals.independent((2, 2)), seen, 4), np.full(4, 0.25)
    (observed,) = statistic(seen, DrawnTables(null, np.zeros(1))).statistic
    everything = replace(seen, counts=(tallies,))
    ranked = statistic(everything, DrawnTables(null, np.zeros(1))).statistic
    with patch.object(BlockEvidence, "replicates", return_value=everything):
        (found,) = drawn_pvalues([MonteCarlo(len(tallies), 1)], statistic, [seen], null[None])
    assert found == (1 + np.count_nonzero(reaches(ranked, observed))) / (1 + len(tallies))
