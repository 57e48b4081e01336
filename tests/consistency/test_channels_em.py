"""EM over many tables: likelihoods against enumeration and optimizers, and what has no likelihood."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from support.joint_tables import (
    ABC,
    Array,
    collected,
    grid_of_tables,
    most_likely_joint,
    pairs_of,
    reordered,
    some_joint,
)

from ldpstats import (
    Domain,
    HadamardCoefficients,
    LdpstatsError,
    NotIdentifiedError,
    PerAttribute,
    PrivacyStatement,
    SampledGroups,
    Table,
)
from ldpstats.answers.questions import Question
from ldpstats.consistency import reconstruction_methods
from ldpstats.consistency.reconstruction_methods import joint_blocks
from ldpstats.estimation import maximum_likelihood, most_likely
from ldpstats.estimation.blocks import Block
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


def test_two_tables_of_the_target_are_as_one_with_all_blocks() -> None:
    first, second = collected(k=3, seed=1)[0], collected(k=3, seed=2, epsilon=1.0)[0]
    together = Table(ABC, first.blocks + second.blocks, first.privacy, method="mle")
    found = most_likely_joint([first, second], ABC, ABC.names)
    assert found.frequencies == pytest.approx(together.estimate.ravel(), abs=1e-8)


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


def test_no_em_step_lowers_the_likelihood_and_plain_em_ends_at_the_same_marginals() -> None:
    tables = collected(epsilon=6.0, n=20_000)
    _, blocks = joint_blocks(tables, ABC, ABC.names)
    (rows, counts), table = channel_rows(blocks), np.full(12, 1 / 12)
    before = log_likelihood(blocks, table[None])[0]
    for _ in range(3000):
        table = table * (rows.T @ (counts / (rows @ table))) / counts.sum()
        after = log_likelihood(blocks, table[None])[0]
        assert after >= before - 1e-9
        before = after
    found = most_likely_joint(tables, ABC, ABC.names)
    assert found.log_likelihood >= before - 1e-6
    own = pairs_of(found.frequencies.reshape(ABC.shape))
    for one, plain in zip(own, pairs_of(table.reshape(ABC.shape)), strict=True):
        assert one.estimate == pytest.approx(plain.estimate, abs=1e-5)


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


def test_the_order_of_tables_and_attributes_does_not_matter_to_the_most_likely_table() -> None:
    tables = collected(n=300)
    found = most_likely_joint(tables, ABC, ABC.names)
    order = ("b", "c", "a")
    turned = most_likely_joint([table.reordered(table.attributes[::-1]) for table in tables[::-1]], ABC, order)
    assert turned.frequencies == pytest.approx(reordered(found.frequencies, ABC, order), abs=1e-5)
    assert turned.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-4)


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
    other = Domain({"a": ["x", "z"], "b": [1, 2, 3], "c": [False, True]})
    for tables, domain, words in (
        (collected(mechanism="olh"), ABC, "without a likelihood"),
        ([derived], ABC, "no reports of its own"),
        (pairs, other, "other categories"),
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
