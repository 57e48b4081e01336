"""Tables nobody collected: what every way agrees on, EM against enumeration, their covariances, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from support.joint_tables import ABC, Array, collected, grid_of_tables, most_likely_joint, pairs_of, some_joint

from ldpstats import (
    Domain,
    HadamardCoefficients,
    LdpstatsError,
    NotIdentifiedError,
    PerAttribute,
    PrivacyStatement,
    SampledGroups,
    Table,
    TableSet,
)
from ldpstats.answers.questions import Question
from ldpstats.consistency import reconstruction_methods
from ldpstats.consistency.least_violation import fitted_joint, least_violating_refits, shortest_refits
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.reconstruction import reconstruct
from ldpstats.consistency.reconstruction_methods import joint_blocks
from ldpstats.estimation import most_likely
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_proper, proportionally_fitted
from ldpstats.estimation.table_methods import maximum_likelihood
from ldpstats.noise import DenseChannel, MultinomialNoise, Tally, TruthOrFake
from ldpstats.tables import Figures


def channel_rows(blocks: Sequence[Block]) -> tuple[Array, Array]:
    """Return the probabilities of all outputs of all blocks, a row each, and how often each came."""
    return np.concatenate([block.design()[0] for block in blocks]), np.concatenate([b.tally.counts for b in blocks])


def log_likelihood(blocks: Sequence[Block], tables: Array) -> Array:
    rows, counts = channel_rows(blocks)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.clip(tables @ rows.T, 1e-300, None)) @ counts)


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "a", "b")])
def test_the_table_of_the_target_itself_is_its_maximum_likelihood(order: tuple[str, ...]) -> None:
    (table,) = collected(k=3)
    known = table.estimated_by("mle").reordered(order)
    assert most_likely_joint([table], ABC, order).frequencies == pytest.approx(known.estimate.ravel(), abs=1e-9)
    again = maximum_likelihood(joint_blocks([table], ABC, order)[1])
    assert again.covariance == pytest.approx(known.covariance, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_no_other_table_makes_the_reports_more_likely(seed: int) -> None:
    tables = collected(seed=seed, n=500)
    _, blocks = joint_blocks(tables, ABC, ABC.names)
    found = most_likely_joint(tables, ABC, ABC.names)
    rng = np.random.default_rng(seed)
    others = np.concatenate([rng.dirichlet(np.full(12, spread), 2000) for spread in (0.1, 1)])
    near = 0.99 * found.frequencies + 0.01 * others
    best = log_likelihood(blocks, found.frequencies[None])[0]
    assert best == pytest.approx(found.log_likelihood, rel=1e-12)
    n = sum(block.n for block in blocks)
    assert log_likelihood(blocks, np.concatenate([others, near])).max() <= best + n * found.gap
    assert found.converged
    assert n * found.gap < 0.01


def test_questions_of_any_kind_count_together() -> None:
    """A coarse question through a rectangular channel, truth or fake, and a grid of tables to try."""
    two = Domain({"a": [0, 1], "b": [0, 1]})
    parity = MultinomialNoise(DenseChannel(((0.7, 0.2, 0.1), (0.1, 0.2, 0.7))))
    coarse = Block(Question(("a", "b"), (2, 2), (0, 1, 1, 0)), Tally(parity, [130, 40, 60], 230))
    single = Block(Question(("b",), (2,), (0, 1)), Tally(MultinomialNoise(TruthOrFake(0.5, (0.5, 0.5))), [70, 40], 110))
    promise = PrivacyStatement(math.inf, "a test")
    tables = [Table(two, (coarse,), promise), Table(two.project(["b"]), (single,), promise)]
    found = most_likely_joint(tables, two, two.names)
    _, blocks = joint_blocks(tables, two, two.names)
    others = log_likelihood(blocks, grid_of_tables(4, 40))
    assert found.log_likelihood >= others.max() - 1e-9
    assert found.log_likelihood - others.max() < 0.05


def test_wider_tables_of_truth_or_fake_are_added_up() -> None:
    tables = collected()
    found = most_likely_joint(tables, ABC, ["b"])
    one_way = [table.marginal("b") for table in tables if "b" in table.attributes]
    assert len(one_way) == 2
    assert found.frequencies == pytest.approx(most_likely_joint(one_way, ABC, ["b"]).frequencies, abs=1e-12)
    common, blocks = joint_blocks(tables, ABC, ["c", "b"])
    assert common.names == ("c", "b")
    assert [len(set(block.question.classes)) for block in blocks] == [3, 2, 6]


def test_tables_that_cannot_be_added_up_bring_their_attributes_along() -> None:
    """Hadamard response: its channel is a matrix between the cells of all attributes of a table."""
    people = np.random.default_rng(1).multinomial(3000, some_joint().ravel())
    tables = list(SampledGroups(ABC, epsilon=6.0, mechanism="hr").simulate(people, rng=1))
    common, blocks = joint_blocks(tables, ABC, ["b", "a"])
    assert common.names == ("b", "a", "c")
    assert len(blocks) == 3
    whole = most_likely_joint(tables, ABC, ABC.names).frequencies.reshape(ABC.shape)
    found = most_likely_joint(tables, ABC, ["b", "a"]).frequencies
    assert found == pytest.approx(whole.sum(axis=2).T.ravel(), abs=1e-6)


def test_answers_that_stand_behind_several_tables_are_one_likelihood() -> None:
    people = np.random.default_rng(1).multinomial(3000, some_joint().ravel())
    tables = PerAttribute(ABC, epsilon=6.0, k=2).simulate(people, rng=1)
    (block,) = joint_blocks(tables, ABC, ABC.names)[1]
    assert (block.n, block.question.is_identity) == (3000, True)
    coefficients = HadamardCoefficients(ABC, epsilon=6.0).simulate(people, rng=1)
    assert sum(block.n for block in joint_blocks(coefficients, ABC, ABC.names)[1]) == 3000


def test_among_equally_likely_tables_the_one_of_maximum_entropy_is_taken() -> None:
    """Without noise the three pairs are known, and the table without a three-way interaction is the answer."""
    found = most_likely_joint(collected(epsilon=30.0, n=10**6), ABC, ABC.names).frequencies.reshape(ABC.shape)
    assert np.log(found).min() > -12
    for levels in combinations(range(3), 2):
        odds = [found[0, levels, c] / found[1, levels, c] for c in (0, 1)]
        ratios = [one[0] / one[1] for one in odds]
        assert ratios[0] == pytest.approx(ratios[1], rel=1e-6)
    truth = some_joint()
    for pair, own in zip(pairs_of(truth), pairs_of(found), strict=True):
        assert own.estimate == pytest.approx(pair.estimate, abs=0.005)  # 333,333 reports each: 5 standard errors


def test_ending_early_is_said_with_a_gap_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = collected(n=500)
    best = most_likely_joint(tables, ABC, ABC.names)
    monkeypatch.setattr(reconstruction_methods, "most_likely", partial(most_likely, iterations=1))
    with pytest.warns(RuntimeWarning, match="after 1 iterations"):
        early = most_likely_joint(tables, ABC, ABC.names)
    assert not early.converged
    assert 0 < best.log_likelihood - early.log_likelihood <= early.gap * sum(table.n for table in tables)


def test_reports_without_a_likelihood_and_other_wrong_tables_are_refused() -> None:
    pairs = collected()
    derived = Table(pairs[0].domain, (), pairs[0].privacy, figures=Figures(pairs[0].cells))
    for tables, domain, words in (
        (collected(mechanism="olh"), ABC, "without a likelihood"),
        ([derived], ABC, "no reports of its own"),
    ):
        with pytest.raises(LdpstatsError, match=words):
            most_likely_joint(tables, domain, ["a", "b"])
    with pytest.raises(NotIdentifiedError, match="'c'"):
        most_likely_joint(pairs[:1], ABC, [*pairs[0].attributes, *({"a", "b", "c"} - set(pairs[0].attributes))])
    with pytest.raises(NotIdentifiedError, match="'a', 'b'"):
        most_likely_joint(collected(n=0), ABC, ["a", "b"])


def test_joint_tables_that_are_too_large_are_refused() -> None:
    wide = Domain({name: list(range(5)) for name in "abcdef"})
    tables = SampledGroups(wide, k=1, mechanism="grr", epsilon=1.0).simulate(np.full(wide.size(), 1), rng=1)
    with pytest.raises(LdpstatsError, match="15,625 cells"):
        most_likely_joint(tables, wide, wide.names)
    pairs = SampledGroups(wide, epsilon=6.0, mechanism="hr").simulate(np.full(wide.size(), 1), rng=1)
    with pytest.raises(LdpstatsError, match="cannot be added up"):
        most_likely_joint(pairs, wide, ["a", "b"])


DOMAIN = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]})
PAIRS = [("a", "b"), ("b", "c")]
METHODS = ["max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net"]
each_method = pytest.mark.parametrize("method", METHODS)


def chain() -> Any:
    """Return frequencies in which a and c depend on each other through b only; d on nothing."""
    b = np.array([0.5, 0.3, 0.2])
    a_given_b, c_given_b = (
        np.array([[0.8, 0.2], [0.4, 0.6], [0.1, 0.9]]),
        np.array([[0.3, 0.7], [0.6, 0.4], [0.9, 0.1]]),
    )
    abc = np.einsum("b,ba,bc->abc", b, a_given_b, c_given_b)
    return abc[..., None] * np.array([0.6, 0.4])


def tables_of_chain(epsilon: float, n: int = 40_000, seed: int = 1, **options: Any) -> TableSet:
    protocol = SampledGroups(DOMAIN, epsilon=epsilon, **{"mechanism": "grr", **options})
    counts = np.random.default_rng(seed).multinomial(n, chain().ravel())
    return protocol.simulate(counts, rng=seed)


def nearly_exact() -> TableSet:
    return tables_of_chain(40.0, 9 * 10**8)


@each_method
def test_without_noise_the_tables_that_were_collected_come_back(method: Any) -> None:
    tables = nearly_exact()
    made = reconstruct(tables, tuple("abc"), method, n_resamples=2)
    for pair in combinations("abc", 2):
        assert made.marginal(pair).estimate == pytest.approx(tables[pair].estimate, abs=3e-4)


@pytest.mark.parametrize("method", ["max-entropy", "em", "shrinkage"])
def test_a_chain_is_found_from_its_pairs(method: Any) -> None:
    made = reconstruct(nearly_exact(), tuple("abc"), method, n_resamples=2)
    assert made.estimate == pytest.approx(chain().sum(axis=-1), abs=2e-2 if method == "em" else 1e-3)


def test_maximum_entropy_goes_through_attributes_that_nobody_asked_for() -> None:
    """The pair (a, c) was never collected: what its attributes share is what both share with b."""
    tables = tables_of_chain(40.0, 9 * 10**8, groups=PAIRS)
    assert reconstruct(tables, tuple("ac")).estimate == pytest.approx(chain().sum(axis=(1, 3)), abs=1e-3)


@each_method
def test_proportions_are_proper_and_attributes_may_stand_in_any_order(method: Any) -> None:
    tables = tables_of_chain(1.0, 4_000)
    made, turned = (reconstruct(tables, tuple(names), method, n_resamples=2) for names in ("abd", "dba"))
    assert made.estimate.min() >= 0
    assert made.estimate.sum() == pytest.approx(1, abs=1e-12)
    assert turned.estimate.transpose() == pytest.approx(made.estimate, abs=2e-5)
    assert made.attributes == ("a", "b", "d")


@pytest.mark.parametrize("method", ["em", pytest.param("l2", marks=pytest.mark.exhaustive)])
def test_standard_errors_are_those_of_repeated_collections(method: Any) -> None:
    """The ratio of mean variances from 50 collections strays by a seventh; by half never, the seeds being fixed.

    Those of maximum entropy are compared with enumeration in tables/test_shared.py.
    """
    estimates, variances = [], []
    for seed in range(50):
        tables = tables_of_chain(4.0, seed=seed)
        made = reconstruct(tables, tuple("abc"), method, n_resamples=20 if seed < 6 else 2)
        estimates.append(made.estimate.ravel())
        if seed < 6:
            variances.append(np.diagonal(made.covariance))
    assert np.mean(variances) == pytest.approx(np.var(estimates, axis=0, ddof=1).mean(), rel=0.5)


def test_the_result_says_how_it_was_made() -> None:
    tables = tables_of_chain(2.0)
    made = reconstruct(tables, tuple("abc"), "l2", n_resamples=3)
    assert (made.method, made.simulated, made.privacy) == ("reconstructed (l2)", made.n, tables.privacy)
    assert made.n == tables.n
    text = str(made.summary())
    assert "Reconstructed from 6 tables" in text
    assert "3 sets of tables" in text
    assert "maximum entropy" in str(reconstruct(tables, tuple("abc")).summary())


def test_covariances_are_reproducible_and_a_seed_changes_them() -> None:
    tables = tables_of_chain(2.0)
    one, again, other = (
        reconstruct(tables, tuple("ab"), "em", n_resamples=5, rng=rng).covariance for rng in (None, None, 3)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_what_cannot_be_put_together_is_refused() -> None:
    tables = tables_of_chain(2.0)
    with pytest.raises(LdpstatsError, match="a list\\. Allowed: a TableSet"):
        reconstruct(list(tables), tuple("ab"))  # type: ignore[arg-type]  # this is what is refused
    with pytest.raises(LdpstatsError, match="'max-entropy', 'em', 'shrinkage'"):
        reconstruct(tables, tuple("ab"), "entropy")  # type: ignore[arg-type]  # this is what is refused
    with pytest.raises(LdpstatsError, match="'x'"):
        reconstruct(tables, tuple("ax"))
    with pytest.raises(NotIdentifiedError, match="'d'"):
        reconstruct(tables_of_chain(2.0, groups=PAIRS), tuple("ad"))
    with pytest.raises(LdpstatsError, match="without a likelihood"):
        reconstruct(tables_of_chain(2.0, mechanism="olh"), tuple("ab"), "em")
    with pytest.raises(LdpstatsError, match="no reports behind the tables"):
        reconstruct(SampledGroups(DOMAIN, epsilon=1.0).simulate(np.zeros(24, dtype=int), rng=1), tuple("ab"))


@pytest.mark.parametrize(
    ("method", "share", "error"), [("l2", 0.0, 1e-5), ("l1", 1.0, 1e-3), ("elastic-net", 0.5, 1e-5)]
)
def test_refits_are_what_a_solver_finds_for_each(method: str, share: float, error: float) -> None:
    """Ten sets of estimates that contradict one another, and have negative cells."""
    target = DOMAIN.project(tuple("abc"))
    rng = np.random.default_rng(4)
    marginals, estimates = [], []
    for names in (("a", "b"), ("b", "c"), ("a", "c"), ("a",)):
        sides = target.project(names).shape
        cells = math.prod(sides)
        covariance = (np.eye(cells) - 1 / cells) * rng.uniform(0.001, 0.003)
        truth = rng.dirichlet(np.ones(cells))
        marginals.append(Marginal(names, sides, truth, covariance, 1000))
        estimates.append(rng.multivariate_normal(truth, covariance, size=10, method="eigh"))
    sums = [target.onto(one.attributes) for one in marginals]
    exact = np.array(
        [
            fitted_joint([replace(one, estimate=own) for one, own in zip(marginals, row, strict=True)], target, method)
            for row in zip(*estimates, strict=True)
        ]
    )
    if share == 0:
        found = shortest_refits(marginals, estimates, target)
        assert np.abs(found - exact).max() < error
        return
    start = fitted_joint(marginals, target, method)
    found = least_violating_refits(marginals, estimates, target, share, start)
    even = [proportionally_fitted(one, sums) for one in (found, exact)]
    assert np.abs(even[0] - even[1]).max() < error


def redrawn(table: Table, rng: np.random.Generator) -> Table:
    """Draw a table of as many reports, through the same noise, whose truth is its estimate, made proper."""
    proper = nearest_proper(table.unbiased.estimate)
    return replace(
        table,
        blocks=tuple(
            Block(block.question, Tally(block.noise, block.draw(proper, 1, rng)[0], block.n, simulated=True))
            for block in table.blocks
        ),
    )


@pytest.mark.parametrize("method", ["l2", "shrinkage"])
def test_covariances_of_refits_are_those_of_reconstructions_of_tables_drawn_anew(method: Any) -> None:
    """Each of 30 drawn sets is put together from the start; mean variances of 30 stray by a quarter at most."""
    tables = tables_of_chain(3.0)
    made = reconstruct(tables, tuple("abc"), method, n_resamples=200)
    rng = np.random.default_rng(5)
    drawn = [TableSet(tables.domain, [redrawn(one, rng) for one in tables], tables.privacy) for _ in range(30)]
    again = np.var([reconstruct(one, tuple("abc"), method, n_resamples=2).estimate.ravel() for one in drawn], axis=0)
    assert np.diagonal(made.covariance).mean() == pytest.approx(again.mean(), rel=0.6)
