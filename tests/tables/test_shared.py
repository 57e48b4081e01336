"""Tables of common respondents: what they save, count and say, and what is made of them stands for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from support.spoken import spoken
from support.three_attributes import THREE, TRUTH, Array, identity, margin

import ldpstats as ldp
from ldpstats import LdpstatsError, Table, TableSet
from ldpstats.consistency.agreement import AgreeingFit, shared_quantities
from ldpstats.consistency.marginals import marginals_of
from ldpstats.consistency.maximum_entropy import fit_maximum_entropy
from ldpstats.noise import Tally
from ldpstats.tables.respondents import RespondentSet
from ldpstats.tables.shared import REPORTS, SAMPLING, Cluster, Contribution, Stacked

CLASSES = {"b": {"one": [0, 1], "other": [2]}}


@pytest.fixture
def frame() -> pd.DataFrame:
    codes = np.stack(np.unravel_index(np.random.default_rng(7).choice(12, size=150, p=TRUTH), THREE.shape), axis=1)
    return THREE.decode(codes)


def test_a_saved_set_writes_every_tally_and_every_row_once(frame: pd.DataFrame) -> None:
    tables = ldp.HadamardCoefficients(THREE, epsilon=1.0).collect(frame, rng=1)
    tallies = [block.tally for table in tables for block in table.blocks]
    different = {(one.noise, one.n, one.counts.tobytes()) for one in tallies}
    assert tables.to_json().count('"Tally"') == len(different) < len(tallies)
    again = TableSet.from_json(tables.to_json())
    blocks = {block.answers: block.tally for block in again["a", "b"].blocks}
    assert any(blocks.get(block.answers) is block.tally for block in again["a", "c"].blocks)
    crossed_tables = ldp.PerAttribute(THREE, epsilon=3.0, k=2).collect(frame, rng=1)
    assert crossed_tables.to_json().count('"CrossedRows"') == 1
    loaded = TableSet.from_json(crossed_tables.to_json())
    assert len({id(rows) for table in loaded for rows in table.rows}) == 1
    assert loaded.to_json() == crossed_tables.to_json()


def test_a_set_counts_every_report_once_and_says_which_tables_share(frame: pd.DataFrame) -> None:
    for protocol, n, told in (
        (ldp.SampledGroups(THREE, epsilon=1.0), 150, ""),
        (ldp.HadamardCoefficients(THREE, epsilon=1.0), 150, "3 tables share reports"),
        (ldp.PerAttribute(THREE, epsilon=1.0, k=2), 150, "3 tables share reports"),
        (ldp.PerAttribute(THREE, epsilon=1.0), 450, "3 tables share respondents"),
    ):
        real, drawn = protocol.collect(frame), protocol.collect(frame, rng=1)
        assert (real.n, real.simulated, drawn.simulated) == (n, 0, n)
        assert ((real + drawn).n, (real + drawn).simulated) == (2 * n, n)
        assert told in spoken(real.summary())
        assert ("share" in spoken(real.summary())) == bool(told)


def test_consistent_tables_stand_for_those_that_they_were_made_of() -> None:
    joint = np.rint(3000 * TRUTH).astype(int)
    tables = ldp.SampledGroups(THREE, epsilon=2.0).simulate(joint, rng=1)
    fitted = ldp.make_consistent(tables)
    for method in ("shrinkage", "l2", "max-entropy"):
        direct, indirect = (ldp.reconstruct(one, list("abc"), method, n_resamples=3) for one in (tables, fitted))
        assert indirect.estimate == pytest.approx(direct.estimate, abs=1e-12)
        assert indirect.covariance == pytest.approx(direct.covariance, rel=1e-9)
    assert fitted.pooled("a").estimate == pytest.approx(tables.pooled("a").estimate, abs=1e-12)
    with pytest.raises(LdpstatsError, match="a reconstructed table"):
        ldp.make_consistent(TableSet(THREE, [*tables, direct], tables.privacy))
    with pytest.raises(LdpstatsError, match="made of reports that stand in other tables"):
        ldp.reconstruct(TableSet(THREE, [*tables, direct], tables.privacy), ["a", "c"])
    with pytest.raises(LdpstatsError, match="whose categories were put together since"):
        ldp.reconstruct(fitted.collapse(CLASSES), list("abc"))


def test_tests_and_intervals_of_consistent_tables_are_those_of_the_linear_fit() -> None:
    joint = np.rint(300 * TRUTH).astype(int)
    tables = ldp.SampledGroups(THREE, epsilon=0.5).simulate(joint, rng=2)
    marginals = marginals_of(tables)
    fit = AgreeingFit(marginals, shared_quantities(marginals))
    linear = fit.tables([one.estimate for one in marginals])
    for table, expected_cells in zip(ldp.make_consistent(tables), linear, strict=True):
        assert table.estimate.min() >= 0
        assert table.measured.estimate == pytest.approx(expected_cells, abs=1e-12)
        limits = table.conf_int().reshape(-1, 2)
        assert np.all((limits[:, 0] < expected_cells) & (expected_cells < limits[:, 1]))
    assert min(one.min() for one in linear) < 0


@pytest.mark.parametrize(
    "protocol", [ldp.PerAttribute(THREE, epsilon=4.0, k=2), ldp.HadamardCoefficients(THREE, epsilon=2.0)]
)
def test_reconstructed_tables_say_how_many_reports_they_are_made_of_each_counted_once(protocol: Any) -> None:
    tables = protocol.simulate(np.rint(3000 * TRUTH).astype(int), rng=1)
    for method in ("max-entropy", "shrinkage"):
        made = ldp.reconstruct(tables, list("abc"), method, n_resamples=2)
        assert made.n == made.simulated == tables.n
        assert made.parts.n == tables.n
        assert TableSet(THREE, [*tables, made], tables.privacy).n == tables.n


def test_a_reconstructed_table_has_the_respondents_of_those_that_it_was_made_of() -> None:
    joint = np.rint(3000 * TRUTH).astype(int)
    protocol = ldp.WholeView(THREE, epsilon=4.0, views=[[("a", "b"), ("c",)], [("a", "c"), ("b",)]])
    tables, others = (protocol.simulate(joint, rng=seed) for seed in (1, 2))
    made, other = (ldp.reconstruct(one, list("abc")) for one in (tables, others))
    alone = TableSet(THREE, [made], tables.privacy)
    assert TableSet(THREE, [*tables, made, tables.pooled("a")], tables.privacy).n == tables.n == 2 * made.parts.n
    assert (alone + others).n == tables.n + others.n
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        alone + tables
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        ldp.homogeneity_test([made, ldp.reconstruct(tables, list("abc"), "l1", n_resamples=2)])
    assert ldp.homogeneity_test([made, other]).pvalue > 1e-6
    both = [TableSet(THREE, [one.pooled("a")], one.privacy) for one in (tables, others)]
    assert (both[0] + both[1]).n == sum(one["a", "b"].n + one["a", "c"].n for one in (tables, others))


def test_classes_of_crossed_answers_are_not_counted_beside_their_rows() -> None:
    tables = ldp.PerAttribute(THREE, epsilon=4.0, k=2).simulate(np.rint(3000 * TRUTH).astype(int), rng=1)
    plain, collapsed = tables.pooled("a"), tables.collapse(CLASSES).pooled("a")
    assert collapsed.n == plain.n == tables.n
    assert np.all(collapsed.std_err > 0.999 * plain.std_err)


def test_a_consistent_table_has_the_respondents_of_all_that_it_agrees_with() -> None:
    protocol = ldp.SampledGroups(THREE, epsilon=2.0, groups=[("a", "b"), ("b", "c")])
    tables, others = (protocol.simulate(np.rint(3000 * TRUTH).astype(int), rng=seed) for seed in (1, 2))
    fitted = ldp.make_consistent(tables)
    assert fitted.n == tables.n == fitted["a", "b"].parts.n
    assert fitted["a", "b"].n == tables["a", "b"].n
    assert "share" not in spoken(fitted.summary())
    heard = fitted["a", "b"].marginal("b")
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        ldp.homogeneity_test([heard, tables["b", "c"].marginal("b")])
    assert ldp.homogeneity_test([heard, others["b", "c"].marginal("b")]).pvalue > 1e-6
    apart = TableSet(THREE, [tables["a", "b"], others["b", "c"].marginal("c")], tables.privacy)
    assert ldp.make_consistent(apart)["a", "b"].parts == tables["a", "b"].parts


# so many respondents that neither n - 1 instead of n nor whole counts change the last digits that are looked at
MANY = 10**14
Counts = list[Array]


def hadamard(counts: Counts, number: int = 1) -> TableSet:
    protocol = ldp.HadamardCoefficients(THREE, epsilon=1.5)
    tallies = [
        asked.counted(Tally(asked.mechanism.noise, own, int(own.sum())))
        for asked, own in zip(protocol._asked, counts, strict=True)
    ]
    parts = [RespondentSet.whole(identity(number), unit, int(own.sum())) for unit, own in enumerate(counts)]
    return protocol._table_set(tallies, parts)


def hadamard_laws() -> list[Array]:
    asked = ldp.HadamardCoefficients(THREE, epsilon=1.5)._asked
    cells = np.stack(np.unravel_index(np.arange(12), THREE.shape), axis=1)
    return [
        np.bincount(one.question.answer(THREE, cells), weights=TRUTH) @ one.mechanism.noise.channel.matrix()
        for one in asked
    ]


def crossed(counts: Counts, number: int = 1, mechanism: str = "grr") -> TableSet:
    protocol = ldp.PerAttribute(THREE, epsilon=4.0, k=2, mechanism=mechanism)
    ((copies,), (row,)) = counts, protocol._rows
    answers = np.stack(np.unravel_index(np.arange(copies.size), row.outputs), axis=1)
    who = RespondentSet.whole(identity(number), 0, int(copies.sum()))
    return protocol._table_set([row.counted(row._summed(answers, copies, 0))], [who])


def crossed_laws(mechanism: str = "grr") -> list[Array]:
    (row,) = ldp.PerAttribute(THREE, epsilon=4.0, k=2, mechanism=mechanism)._rows
    law = TRUTH.reshape(THREE.shape)
    for axis, noise in enumerate(row._noises):
        law = np.moveaxis(np.tensordot(law, noise.channel.matrix(), axes=(axis, 0)), -1, axis)
    return [law.ravel()]


def spread_of(laws: Sequence[Array], n: Sequence[int], estimated: Callable[[Counts], Array]) -> Array:
    """Return the covariance of what is linear in the counts of independent tallies: by every output of every report."""
    usual = expected(laws, n)
    total: Any = 0
    for place, (law, many) in enumerate(zip(laws, n, strict=True)):
        alone = [many * np.eye(law.size, dtype=np.int64)[output] for output in range(law.size)]
        found = np.array([estimated([*usual[:place], one, *usual[place + 1 :]]) for one in alone])
        total = total + (found.T * law @ found - np.outer(law @ found, law @ found)) / many
    return np.asarray(total)


def expected(laws: Sequence[Array], n: Sequence[int]) -> Counts:
    return [np.rint(many * law).astype(np.int64) for law, many in zip(laws, n, strict=True)]


def estimates_of(tables: TableSet) -> list[Array]:
    return [table.linear[0] for table in tables]


def stacked_covariance(tables: Sequence[Table]) -> tuple[Array, str]:
    ends = np.cumsum([0, *(table.domain.size() for table in tables)])
    parts = [Contribution(np.arange(*pair), np.eye(pair[1] - pair[0])) for pair in pairwise(ends)]
    found = Stacked.of(tables)
    return found.covariance_of(parts, int(ends[-1])), found.bound


SHARED: dict[str, tuple[Callable[..., TableSet], list[Array]]] = {
    "hadamard": (hadamard, hadamard_laws()),
    "crossed": (crossed, crossed_laws()),
    "crossed bits": (partial(crossed, mechanism="sue"), crossed_laws("sue")),
}
each_kind = pytest.mark.parametrize("kind", SHARED)


@each_kind
def test_tables_that_share_reports_vary_together_as_enumeration_says(kind: str) -> None:
    make, laws = SHARED[kind]
    n = [MANY + 1000 * place for place in range(len(laws))]
    truth = spread_of(laws, n, lambda counts: np.concatenate(estimates_of(make(counts))))
    found, bound = stacked_covariance(list(make(expected(laws, n))))
    assert bound == ""
    assert found == pytest.approx(truth, rel=1e-9, abs=1e-12 * truth.max())
    assert abs(truth[0, 6]) > 0.01 * truth[0, 0]  # two tables, which are not independent


@each_kind
def test_agreeing_tables_vary_as_enumeration_says(kind: str) -> None:
    make, laws = SHARED[kind]
    n = [MANY] * len(laws)
    marginals = marginals_of(make(expected(laws, n)))
    fit = AgreeingFit(marginals, shared_quantities(marginals))
    truth = spread_of(laws, n, lambda counts: np.concatenate(fit.tables(estimates_of(make(counts)))))
    start = 0
    for one, covariance in zip(marginals, fit.covariances(), strict=True):
        own = slice(start, start := start + one.estimate.size)
        assert covariance == pytest.approx(truth[own, own], rel=1e-8, abs=1e-12 * truth.max())
    assert fit.stacked.bound == ""


@each_kind
def test_what_marginals_tell_of_a_model_varies_as_enumeration_says(kind: str) -> None:
    make, laws = SHARED[kind]
    n = [MANY] * len(laws)
    marginals = marginals_of(make(expected(laws, n)))
    known = fit_maximum_entropy(marginals).known

    def means(counts: Counts) -> Array:
        # the equations, precision · means = Σ weighted estimates, but for their constants
        seen = np.zeros(len(known.means))
        for (places, matrix), estimate in zip(known.contributions, estimates_of(make(counts)), strict=True):
            seen[places] += matrix @ estimate
        return known.inverse @ seen

    truth = spread_of(laws, n, means)
    assert known.covariance_of(np.eye(len(known.means))) == pytest.approx(truth, rel=1e-8, abs=1e-12 * truth.max())
    assert known.covariance_of(np.eye(len(truth))[:2]) == pytest.approx(truth[:2, :2], rel=1e-8)


@each_kind
def test_a_table_with_reports_of_a_second_collection_shares_those_of_the_first(kind: str) -> None:
    make, laws = SHARED[kind]
    n = [MANY] * len(laws) + [MANY // 4] * len(laws)

    def merged(counts: Counts) -> TableSet:
        first, second = make(counts[: len(laws)], 1), make(counts[len(laws) :], 2)
        only = TableSet(THREE, list(second)[:1], second.privacy)
        return first + only

    truth = spread_of([*laws, *laws], n, lambda counts: np.concatenate(estimates_of(merged(counts))))
    tables = merged(expected([*laws, *laws], n))
    found, bound = stacked_covariance(list(tables))
    assert bound == ""
    assert found == pytest.approx(truth, rel=1e-9, abs=1e-12 * truth.max())
    first, second = make(expected(laws, n[: len(laws)]), 1), make(expected(laws, n[len(laws) :]), 2)
    assert tables.n == first.n + next(iter(second)).n


def together(tables: Sequence[Table]) -> Array:
    """Return the true joint covariance of tables whose reports are independent given the truth of one population."""
    matrices = [margin(table.attributes) for table in tables]
    sampling = (np.diag(TRUTH) - np.outer(TRUTH, TRUTH)) / tables[0].n
    blocks = [[one @ sampling @ other.T for other in matrices] for one in matrices]
    for place, table in enumerate(tables):
        blocks[place][place] = table.linear[1]
    return np.block(blocks)


def whole_view(epsilon: float) -> TableSet:
    protocol = ldp.WholeView(THREE, epsilon=epsilon, views=[[("a", "b"), ("c",)]])
    joint = np.rint(10**8 * TRUTH).astype(int)
    return protocol.simulate(joint, rng=1)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 16.0])
def test_different_reports_of_one_respondent_give_a_bound_that_holds(epsilon: float) -> None:
    tables = list(whole_view(epsilon))
    truth = together(tables)
    stacked, ends = Stacked.of(tables), np.array([0, 6, 8])
    assert stacked.bound == SAMPLING
    rng = np.random.default_rng(3)
    # one cell of each table, and any sums of both: never less than the truth, nor more than twice as much
    for _ in range(50):
        sums = rng.normal(size=(1, 8))
        parts = [Contribution(np.zeros(1, int), sums[:, ends[one] : ends[one + 1]]) for one in range(2)]
        claimed, true = stacked.covariance_of(parts, 1).item(), (sums @ truth @ sums.T).item()
        assert (
            true * (1 - 1e-3)
            <= claimed
            <= 2 * sum((part.matrix @ stacked.own[i] @ part.matrix.T).item() for i, part in enumerate(parts))
        )
    whole = stacked_covariance(tables)[0] - truth
    assert np.linalg.eigvalsh(whole).min() > -1e-3 * truth.max()


def test_the_bound_covers_whatever_errors_have_in_common() -> None:
    """Any joint covariance with the same diagonal blocks is below it; perfectly dependent errors attain it."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        root = rng.normal(size=(6, rng.integers(1, 7)))
        joint = root @ root.T
        own = (joint[:2, :2], joint[2:4, 2:4], joint[4:, 4:])
        cluster = Cluster((0, 1, 2), own)
        parts = [Contribution(np.arange(3), rng.normal(size=(3, 2))) for _ in range(3)]
        sums = np.hstack([part.matrix for part in parts])
        bound = Stacked(own, {}, (), (cluster,), REPORTS).covariance_of(parts, 3)
        assert np.linalg.eigvalsh(bound - sums @ joint @ sums.T).min() > -1e-9 * bound.max()
    one = np.full((1, 1), 2.0)
    both = Stacked((one, 4 * one), {}, (), (Cluster((0, 1), (one, 4 * one)),), REPORTS)
    alike = [Contribution(np.zeros(1, int), np.ones((1, 1)))] * 2
    assert both.covariance_of(alike, 1).item() == pytest.approx((2**0.5 + 8**0.5) ** 2)


def test_agreeing_tables_of_common_respondents_have_a_bound_that_holds() -> None:
    protocol = ldp.CentralLaplace(THREE, epsilon=1.0)
    tables = list(protocol.simulate(np.rint(10**8 * TRUTH).astype(int), rng=1))
    marginals = marginals_of(tables)
    fit, truth = AgreeingFit(marginals, shared_quantities(marginals)), together(tables)
    zero = [np.zeros_like(one.estimate) for one in marginals]
    base = np.concatenate(fit.tables(zero))
    columns = [
        np.concatenate(fit.tables([*zero[:place], cell, *zero[place + 1 :]])) - base
        for place, one in enumerate(marginals)
        for cell in np.eye(one.estimate.size)
    ]
    linear = np.array(columns).T
    true, start = linear @ truth @ linear.T, 0
    for one, covariance in zip(marginals, fit.covariances(), strict=True):
        own = slice(start, start := start + one.estimate.size)
        assert np.linalg.eigvalsh(covariance - true[own, own]).min() > -1e-3 * true[own, own].max()
        assert np.all(np.diagonal(covariance) < 4 * np.diagonal(true[own, own]))
    assert fit.stacked.bound == SAMPLING


def test_blocks_that_share_reports_in_unknown_ways_count_as_dependent_as_can_be() -> None:
    tables = crossed(expected(crossed_laws(), [10_000]))
    by_hand = [replace(table, rows=()) for table in tables]
    found, bound = stacked_covariance(by_hand)
    assert bound == REPORTS
    sizes = [table.domain.size() for table in by_hand]
    traces = np.array([np.trace(table.linear[1]) for table in by_hand])
    assert np.trace(found) == pytest.approx(np.sqrt(traces).sum() ** 2)
    assert np.linalg.eigvalsh(found - stacked_covariance(list(tables))[0]).min() > -1e-12
    assert sum(sizes) == len(found)
    words = ldp.make_consistent(TableSet(THREE, by_hand, tables.privacy))["a", "b"].provenance.words
    assert REPORTS in words


RUNS = 400
LIMITS = chi2.ppf([5e-7, 1 - 5e-7], RUNS) / RUNS


def test_standard_errors_of_agreeing_nested_tables_are_those_of_repeated_collections() -> None:
    """Sums of 400 squared errors over their mean variance: a false-failure rate of 1e-6 for each cell."""
    protocol = ldp.SampledGroups(THREE, epsilon=3.0, mechanism="grr", groups=[("a",), ("a", "b"), ("c", "b", "a")])
    rng, squares, variances = np.random.default_rng(6), 0.0, 0.0
    for _ in range(RUNS):
        marginals = marginals_of(protocol.simulate(rng.multinomial(4000, TRUTH), rng=rng))
        fit = AgreeingFit(marginals, shared_quantities(marginals))
        true = np.concatenate([margin(one.attributes) @ TRUTH for one in marginals])
        errors = np.concatenate(fit.tables([one.estimate for one in marginals])) - true
        squares = squares + errors**2 / RUNS
        variances = variances + np.concatenate([np.diagonal(one) for one in fit.covariances()]) / RUNS
    assert np.all((LIMITS[0] < squares / variances) & (squares / variances < LIMITS[1]))
    assert 0.9 < np.sqrt(np.mean(variances) / np.mean(squares)) < 1.1


def test_what_several_tables_count_alike_has_no_variance_between_them() -> None:
    tables = ldp.HadamardCoefficients(THREE, epsilon=3.0).simulate(np.rint(2000 * TRUTH).astype(int), rng=1)
    spread = np.linalg.eigvalsh(stacked_covariance(list(tables))[0])
    assert spread[0] > -1e-12 * spread[-1]
    limits = ldp.reconstruct(tables, list("abc")).collapse(CLASSES).bounds()
    assert np.all(limits.lower <= limits.point_lower)
