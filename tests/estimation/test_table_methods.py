"""Estimators of one table by name: what every method keeps, refuses, and does with a single respondent."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.blocks_of_reports import SIX, asked, drawn, estimated, faked
from support.comparisons import close
from support.forged_files import forged
from support.spoken import spoken

from ldpstats import (
    Domain,
    LdpstatsError,
    NotIdentifiedError,
    PrivacyStatement,
    Table,
    TableSet,
    association,
    mechanism,
)
from ldpstats.answers.questions import Question
from ldpstats.estimation import TABLE_METHODS
from ldpstats.estimation.blocks import Block
from ldpstats.mechanisms import REGISTRY, Mechanism

PRIVACY = PrivacyStatement(math.inf, "a test")
PAIR = Domain({"sex": ["F", "M"], "car": ["yes", "no", "other"]})
OF_BLOCKS = [name for name in TABLE_METHODS if name != "two blocks"]


@pytest.mark.parametrize("method", TABLE_METHODS)
def test_nothing_but_the_truth_gives_plain_proportions(method: str) -> None:
    blocks = [
        asked(faked(1.0, *fake), counts, 50)
        for fake, counts in (((0.2, 0.3, 0.5), [20, 25, 5]), ((1, 0, 0), [10, 15, 25]))
    ]
    found = estimated(method, blocks)
    share = np.array([0.3, 0.4, 0.3])
    assert close(found.estimate, share, 1e-6 if method == "mle" else 1e-12)
    if method != "two blocks":
        assert close(found.covariance, (np.diag(share) - np.outer(share, share)) / 99, 1e-6)


RRBA = [drawn(faked(0.5, *fake), n, n, SIX) for fake, n in (((1 / 6,) * 6, 250), ((0.5, 0.3, 0, 0.2, 0, 0), 170))] + [
    drawn(faked(0.3, 0, 0, 0.4, 0.3, 0.2, 0.1), 190, 5, SIX)
]


@pytest.mark.parametrize("method", OF_BLOCKS)
def test_neither_the_order_of_the_blocks_matters_nor_that_one_comes_in_halves(method: str) -> None:
    few, whole = RRBA[0].tally.counts // 3, estimated(method, RRBA)
    halves = [asked(RRBA[0].noise, half, int(half.sum())) for half in (few, RRBA[0].tally.counts - few)]
    for found in (estimated(method, RRBA[::-1]), estimated(method, [*halves, *RRBA[1:]])):
        assert close(found.estimate, whole.estimate)
        assert close(found.covariance, whole.covariance)


@pytest.mark.parametrize("method", TABLE_METHODS)
def test_the_order_of_the_cells_and_of_the_answers_does_not_matter(method: str) -> None:
    order = np.array([3, 0, 5, 1, 4, 2])
    plain = estimated(method, RRBA)
    renamed = [
        asked(faked(b.noise.channel.truth, *np.array(b.noise.channel.fake)[order].tolist()), b.tally.counts[order], b.n)
        for b in RRBA
    ]
    moved = estimated(method, renamed)
    assert close(moved.estimate, plain.estimate[order])
    assert close(moved.covariance, plain.covariance[np.ix_(order, order)])
    # the last block numbers its answers otherwise
    other = asked(renamed[2].noise, renamed[2].tally.counts, renamed[2].n, *np.argsort(order).tolist())
    assert close(estimated(method, [*RRBA[:2], other]).estimate, plain.estimate)
    assert close(estimated(method, [*RRBA[:2], other]).covariance, plain.covariance)


def table_of(*blocks: Block, method: str = "unbiased") -> Table:
    question = Question.of(PAIR, PAIR.names)
    return Table(PAIR, tuple(replace(block, question=question) for block in blocks), PRIVACY, method=method)


def set_of(table: Table) -> TableSet:
    return TableSet(PAIR, [table], PRIVACY)


@pytest.mark.parametrize("method", TABLE_METHODS)
def test_a_table_is_estimated_by_its_method(method: str) -> None:
    table = table_of(*RRBA).estimated_by(method)
    expected = estimated(method, RRBA)
    assert (table.method, table.shape, table.cells.privacy) == (method, (2, 3), PRIVACY)
    assert np.array_equal(table.estimate.ravel(), expected.estimate)
    assert np.array_equal(table.covariance, expected.covariance)
    assert table.estimated_by(method) is table
    assert table.to_frame().columns.name == method
    text = spoken(table.summary())
    assert TABLE_METHODS[method].words in text
    assert ("Unbiased" in text) == (method not in {"mle", "gls"})


@pytest.mark.parametrize("method", TABLE_METHODS)
def test_blocks_without_reports_are_ignored(method: str) -> None:
    empty = asked(faked(0.9, 1, 0, 0, 0, 0, 0), [0] * 6, 0)
    found = table_of(*RRBA, empty, method=method)
    assert np.array_equal(found.estimate, table_of(*RRBA, method=method).estimate)
    with pytest.raises(NotIdentifiedError, match="no reports behind the table of sex and car"):
        _ = table_of(empty, method=method).estimate


@pytest.mark.parametrize("method", TABLE_METHODS)
def test_moved_added_up_and_saved_tables_keep_their_method(method: str) -> None:
    table = table_of(*RRBA, method=method)
    turned, marginal = table.reordered(["car", "sex"]), table.marginal("car")
    assert (turned.method, marginal.method, len(marginal.blocks)) == (method, method, 3)
    assert close(turned.estimate, table.estimate.T)
    if method in {"closed form", "two blocks"}:
        assert close(marginal.estimate, table.estimate.sum(axis=0))
        by_car = np.tile(np.eye(3), 2)
        assert close(marginal.covariance, by_car @ table.covariance @ by_car.T)
    text = set_of(table).to_json()
    again = TableSet.from_json(text)
    assert again.to_json() == text
    assert again["sex", "car"].method == method
    assert np.array_equal(again["sex", "car"].estimate, table.estimate)
    assert set_of(table).estimated_by("unbiased").estimated_by(method).to_json() == text
    assert set_of(table).to_frame()["method"].tolist() == [method]
    assert method in str(set_of(table).summary())


def test_files_with_another_method_or_none_are_refused() -> None:
    text = set_of(table_of(*RRBA, method="mle")).to_json()
    for wrong in ("magic", None, [], 3):
        with pytest.raises(LdpstatsError, match="not a saved table set"):
            TableSet.from_json(forged(text, "tables 0 method", wrong))


def test_tables_merge_where_their_methods_agree() -> None:
    one, other = set_of(table_of(*RRBA[:2], method="mle")), set_of(table_of(RRBA[0], RRBA[2], method="mle"))
    merged = (one + other)["sex", "car"]
    assert (merged.method, [block.n for block in merged.blocks]) == ("mle", [500, 170, 190])
    with pytest.raises(LdpstatsError, match=r"estimated by 'gls' and 'mle'.*estimated_by\('gls'\)"):
        one.estimated_by("gls") + other


@pytest.mark.parametrize("kind", [kind for kind in REGISTRY if kind.only_k is None])
def test_reports_of_every_mechanism_find_their_block_when_they_are_merged(kind: type[Mechanism]) -> None:
    def half() -> TableSet:
        tally = mechanism(kind.name, k=6, epsilon=1.0).simulate([5] * 6, rng=1)
        return set_of(table_of(asked(tally.noise, tally.counts, tally.n)))

    assert [block.n for block in (half() + half())["sex", "car"].blocks] == [60]


def test_methods_refuse_blocks_that_they_are_not_for() -> None:
    supports = table_of(drawn(mechanism("oue", k=6, epsilon=1.0).noise, 50, 1, SIX), *RRBA)
    with pytest.raises(LdpstatsError, match=r"likelihood is not available.*'gls' needs no more"):
        _ = supports.estimated_by("mle").estimate
    coarse = drawn(faked(0.5, 0.5, 0.5), 50, 1, SIX, 0, 1, 0, 1, 0, 1)
    for method in ("closed form", "two blocks"):
        with pytest.raises(LdpstatsError, match=f"'{method}' for blocks that do not all report a cell"):
            _ = supports.estimated_by(method).estimate
        with pytest.raises(LdpstatsError, match=f"'{method}' for blocks that do not all report a cell"):
            estimated(method, [coarse, *RRBA])
    with pytest.raises(NotIdentifiedError, match=r"'two blocks' for 1 block with reports.*'closed form'"):
        _ = table_of(RRBA[0], method="two blocks").estimate
    for method in ("gls", "mle"):
        with pytest.raises(NotIdentifiedError, match="only some contrasts"):
            estimated(method, [coarse])
    with pytest.raises(LdpstatsError, match=r"method = 'magic'.*'closed form'"):
        table_of(*RRBA).estimated_by("magic")


def test_a_derived_table_keeps_the_estimate_that_it_was_given() -> None:
    noise = mechanism("hr", k=6, epsilon=1.0).noise
    derived = table_of(drawn(noise, 500, 1, SIX), method="gls").marginal("car")
    assert not derived.blocks
    assert (derived.method, derived.estimated_by("gls")) == ("gls", derived)
    with pytest.raises(LdpstatsError, match=r"'unbiased' for a table that is not estimated.*its own method, 'gls'"):
        derived.estimated_by("unbiased")


def test_effects_are_corrected_from_the_unbiased_estimate_whatever_the_method() -> None:
    table = table_of(*[drawn(faked(0.8, *[1 / 6] * 6), 2000, 1, np.array([0.3, 0.1, 0.1, 0.1, 0.1, 0.3]))], *RRBA)
    effects = {spoken(association(table.estimated_by(method))) for method in TABLE_METHODS}
    assert len(effects) == 1
    assert "corrected for noise" in effects.pop()


@pytest.mark.parametrize("method", OF_BLOCKS)
def test_one_respondent_says_nothing_about_the_spread(method: str) -> None:
    for blocks in ([asked(faked(0.5, *[1 / 6] * 6), [0, 0, 1, 0, 0, 0], 1)], [asked(faked(0.5, 0, 1), [1, 0], 1)]):
        found = estimated(method, blocks)
        assert np.all(np.isfinite(found.estimate))
        assert np.all(found.std_err == np.inf)


@pytest.mark.parametrize("method", OF_BLOCKS)
def test_cells_that_are_never_faked_nor_seen_keep_a_finite_estimate(method: str) -> None:
    blocks = [asked(faked(0.5, 0, 0.5, 0.5), [0, 6, 4], 10), asked(faked(1.0, 0.4, 0.3, 0.3), [0, 7, 3], 10)]
    found = estimated(method, blocks)
    assert np.all(np.isfinite(found.covariance))
    assert abs(found.estimate[0]) < 0.02
    assert np.all(found.std_err[1:] > 0.01)
