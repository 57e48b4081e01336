"""Hadamard coefficients: which parities are asked, what they tell and cost, their exact law, and what is refused."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from support.blocks_of_reports import Sized

from ldpstats import RR, Domain, LdpstatsError, SampledGroups, Table, TableSet
from ldpstats.estimation.unbiased_estimates import LinearPooling
from ldpstats.protocols.hadamard_coefficients import HadamardCoefficients


def numbered(*categories: int) -> Domain:
    return Domain({name: list(range(number)) for name, number in zip("abcdef", categories, strict=False)})


def empty_tables(protocol: HadamardCoefficients) -> TableSet:
    return protocol.simulate(np.zeros(protocol.domain.size(), dtype=int), rng=1)


def parity_of(coefficient: str, cell: dict[str, int]) -> int:
    """Read the name of a coefficient and count the bits it marks, letter by letter."""
    ones = 0
    for part in coefficient.split(" × "):
        name, marks = part.rstrip("]").split("[")
        bits = format(cell[name], f"0{len(marks)}b")
        ones += sum(mark == bit == "1" for mark, bit in zip(marks, bits, strict=True))
    return ones % 2


def test_a_coefficient_asks_for_the_parity_of_the_bits_in_its_name() -> None:
    domain = numbered(5, 2, 3)
    protocol = HadamardCoefficients(domain, k=2, epsilon=1.0)
    assert len(protocol.coefficients) == len(set(protocol.coefficients)) == (7 + 1 + 3) + (7 * 1 + 7 * 3 + 1 * 3)
    for name, asked in zip(protocol.coefficients, protocol._asked, strict=True):
        attributes = asked.question.attributes
        cells = [dict(zip(attributes, cell, strict=True)) for cell in np.ndindex(*asked.question.shape)]
        assert list(asked.question.classes) == [parity_of(name, cell) for cell in cells]


def test_a_table_asks_every_coefficient_within_its_group_about_all_its_attributes() -> None:
    domain = numbered(3, 4, 2)
    protocol = HadamardCoefficients(domain, k=2, epsilon=1.0)
    for table in empty_tables(protocol):
        within = [
            name
            for name in protocol.coefficients
            if {part.split("[")[0] for part in name.split(" × ")} <= set(table.attributes)
        ]
        expected = {
            tuple(parity_of(name, dict(zip(table.attributes, cell, strict=True))) for cell in np.ndindex(*table.shape))
            for name in within
        }
        assert len(table.blocks) == len(within) == len(expected)
        assert {block.question.classes for block in table.blocks} == expected


MIXES = [mix for k in (1, 2, 3) for mix in combinations_with_replacement(range(2, 6), k)]


@pytest.mark.parametrize("mix", [*MIXES, (9,), (17,), (7, 6), (8, 9)], ids=str)
def test_every_table_is_identified_by_questions_that_all_differ(mix: tuple[int, ...]) -> None:
    (table,) = empty_tables(HadamardCoefficients(numbered(*mix), k=len(mix), epsilon=1.0))
    designs = np.concatenate([block.design()[0] for block in table.blocks])
    assert np.linalg.matrix_rank(designs) == table.domain.size()
    questions = [block.question.classes for block in table.blocks]
    # in the first cell every parity is 0, so that two questions whose answers are the other way round are equal, too
    assert {classes[0] for classes in questions} == {0}
    assert all(sum(classes) > 0 for classes in questions)
    assert len(set(questions)) == len(questions)


def expected_counts(table: Table, frequencies: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Return what every block, of 1,000 reports each, is expected to count."""
    return [1000 * block.noise.mean(block.question.answer_frequencies(frequencies)) for block in table.blocks]


@pytest.mark.parametrize("mix", [(2, 2), (3, 2), (5, 3), (2, 3, 4)], ids=str)
def test_the_estimate_is_exactly_unbiased(mix: tuple[int, ...]) -> None:
    (table,) = empty_tables(HadamardCoefficients(numbered(*mix), k=len(mix), epsilon=0.7))
    frequencies = np.random.default_rng(1).dirichlet(np.ones(table.domain.size()))
    pooling = LinearPooling([Sized(block, 1000) for block in table.blocks])
    assert np.abs(pooling.estimate(expected_counts(table, frequencies)) - frequencies).max() < 1e-12


def test_where_categories_are_powers_of_two_the_estimate_is_the_inverse_hadamard_transform() -> None:
    """π_v = Σ_c s_c(v) ĉ / cells, where ĉ = (2 × share of even parities - 1) / tanh(ε/2) has a known variance."""
    protocol = HadamardCoefficients(numbered(4, 2), k=2, epsilon=1.3)
    table = protocol.simulate(np.arange(5, 13) * 10_000, rng=3)["a", "b"]
    total, variance, shrunk = np.ones(8), np.zeros(8), np.tanh(1.3 / 2)
    for block in table.blocks:
        signs = 1 - 2 * np.array(block.question.classes)
        total += signs * (2 * block.tally.counts[0] / block.n - 1) / shrunk
        variance += (1 / shrunk**2 - (signs @ table.estimate.ravel()) ** 2) / block.n
    assert table.estimate.ravel() == pytest.approx(total / 8, abs=1e-12)
    assert table.estimate.sum() == pytest.approx(1, abs=1e-12)
    assert table.estimate.min() > 0
    assert np.diagonal(table.covariance) * (table.n - 1) / table.n == pytest.approx(variance / 64, rel=1e-9)


@pytest.mark.parametrize("mix", [(5, 2), (2, 3, 2)], ids=str)
def test_without_noise_respondents_who_are_all_alike_are_found(mix: tuple[int, ...]) -> None:
    domain = numbered(*mix)
    protocol = HadamardCoefficients(domain, k=len(mix), epsilon=60.0)
    for cell, codes in enumerate(np.ndindex(*mix)):
        frame = domain.decode(np.repeat([codes], 200, axis=0))
        (table,) = protocol.collect(frame, rng=1)
        for method in ("unbiased", "gls", "mle"):
            found = table.estimated_by(method).estimate.ravel()
            assert found == pytest.approx(np.eye(domain.size())[cell], abs=1e-6)


def test_groups_are_all_of_one_size_in_the_order_of_views(domain: Domain) -> None:
    for k in (1, 2, 3):
        protocol = HadamardCoefficients(domain, k=k, epsilon=1.0)
        assert protocol.groups == SampledGroups(domain, k=k, epsilon=1.0).groups
        assert [table.attributes for table in empty_tables(protocol)] == list(protocol.groups)
        subsets = [names for size in range(1, k + 1) for names in combinations(domain.names, size)]
        assert {protocol.mechanism_for(names) for names in subsets} == {RR(2, 1.0)}
    with pytest.raises(LdpstatsError, match=r"the group .*'age',\), \('sex',\), \('car',\), \('age', 'sex'\)"):
        HadamardCoefficients(domain, k=2, epsilon=1.0).mechanism_for(domain.names)
