"""Imran & Meo: stored verdicts follow from stored rejections, and what is counted of trials is right by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from papers.catalogue import EXHIBITS
from papers.comparisons import AGREES, NOT_REPRODUCIBLE
from papers.imran_meo import decisions, version_1
from papers.imran_meo.convergence import LETTER, NAMED
from papers.imran_meo.convergence_figures import Claim, covered, least_sizes, nearest_share, right, within
from papers.imran_meo.distances import Reading
from papers.imran_meo.table_4 import LARGE, LITERAL, SPARSE, judged_rows
from papers.imran_meo.tables_5_6 import _best, ratios
from support.published_formulas import pearson

from ldpstats import RRBA, Domain
from ldpstats.estimation.block_stack import TruthOrFakeStack


def test_verdicts_on_table_4_follow_from_the_stored_rejections() -> None:
    comparisons, curves = EXHIBITS["imran-meo-2024-table-4"].stored()
    assert curves is not None
    rejected = {key: rows.set_index("test")["rejected"] / 100 for key, rows in curves.groupby(["table", "w"])}
    numbers = {"2-way": 200, "3-way": 200, "4-way": 200, SPARSE: 60, LARGE: 60}
    found = judged_rows(rejected, numbers)
    stored = list(zip(comparisons["verdict"], comparisons["because"], strict=True))
    assert [(one.verdict, one.because) for one in found] == stored
    assert [one.std_err for one in found] == pytest.approx(comparisons["std_err"].tolist(), rel=1e-4, nan_ok=True)


def of_laplace_noise(rejected_truth: float, rejected_falsehood: float) -> list[str]:
    """Return the verdicts on "Laplace noise, 3-way" if its test rejects so often at its word, as no reading does."""
    _, curves = EXHIBITS["imran-meo-2024-table-4"].stored()
    assert curves is not None
    rejected = {key: rows.set_index("test")["rejected"] / 100 for key, rows in curves.groupby(["table", "w"])}
    for size, share in ((0.0, rejected_truth), (0.3, rejected_falsehood)):
        rejected["3-way", size][LITERAL["Laplace noise"]] = share
    judged = judged_rows(rejected, dict.fromkeys(("2-way", "3-way", "4-way", SPARSE, LARGE), 200))
    return [one.verdict for one in judged if one.row == "Laplace noise, 3-way"]


def test_an_accuracy_is_reproduced_only_with_each_of_its_cells() -> None:
    assert of_laplace_noise(0.41, 0.55) == [AGREES] * 5
    # the same accuracy, by shares that are not the printed ones
    assert of_laplace_noise(0.86, 1.0) == [NOT_REPRODUCIBLE] * 5
    assert of_laplace_noise(0.41, 1.0) == [*[NOT_REPRODUCIBLE] * 2, AGREES, AGREES, NOT_REPRODUCIBLE]


def shares(kind: tuple[str, str], by_size: dict[int, float]) -> pd.DataFrame:
    rows = [
        (*kind, p, size, cell, share, share)
        for p in (0.221, 0.5)
        for size, share in by_size.items()
        for cell in (0.072, 0.116, 0.356, 0.446)
    ]
    columns = ["width", "estimate", "p", "block_size", "probability", "converged", "converged_by_half"]
    return pd.DataFrame(rows, columns=columns)


def test_a_claim_is_right_where_half_of_the_trials_converge_and_should() -> None:
    data = pd.concat([shares(LETTER[0], {18: 0.5, 250: 0.4}), shares(NAMED[0], {18: 0.1, 250: 1.0})])
    claims = (Claim(0.221, (250,)), Claim(0.221, (18,), converges=False))
    assert right(claims, data, LETTER) == (0, 8)
    assert right(claims, data, NAMED) == (8, 8)
    assert right(claims[:1], data, LETTER) == (0, 4)


def test_the_least_block_size_is_the_first_with_which_all_cells_converge() -> None:
    data = shares(LETTER[0], {18: 0.4, 50: 0.6, 150: 0.9, 250: 1.0})
    found = [one for one in least_sizes(data, LETTER) if one != float("inf")]
    assert found == [50, 50]


def test_without_fakes_the_printed_interval_holds_its_level_and_with_them_it_does_not() -> None:
    assert within(0.05, 1.0, 1.0) == pytest.approx(0.95, abs=0.02)  # what the binomial's steps leave of it
    assert within(0.05, 0.5, 1.0) == pytest.approx(0.673, abs=0.02)  # 2 Φ(1.96 / 2) - 1
    assert within(0.05, 0.5, 2.0) == pytest.approx(0.95, abs=0.02)


def test_the_nearest_share_counts_records() -> None:
    share, name, value = nearest_share(0.4)
    assert (name, value) == ("survey", "sex = F")
    assert share == pytest.approx(0.4, abs=0.01)


def test_nearly_every_probability_is_near_to_one_of_some_value_so_that_nearness_is_no_verdict() -> None:
    assert 0.9 < covered() < 1


def test_the_tables_have_their_margins_and_size_and_equal_pairs() -> None:
    margins = [np.array([0.6, 0.4]), np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.5])]
    table = decisions.dependent(margins, 0.2).reshape(2, 4, 2)
    product = np.einsum("i,j,k", *margins)
    assert table.min() > 0
    assert ((table - product) ** 2 / product).sum() == pytest.approx(0.2**2)
    sums = [table.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    for found, margin in zip(sums, margins, strict=True):
        assert found == pytest.approx(margin)
    assert [pearson(table.sum(axis=axis)) for axis in range(3)] == pytest.approx([0.2**2 / 3] * 3)


@pytest.mark.parametrize(
    ("shape", "margin"), [((2, 2), (0.35, 0.65)), ((2, 2, 2, 2), (0.93, 0.97)), ((4, 4), (0.35, 0.65))]
)
def test_tests_decide_and_repeat(shape: tuple[int, ...], margin: tuple[float, float]) -> None:
    strong = decisions.Trial("table 4", shape, 0.4, 1, epsilon=2.0, n=4000, margin=margin)
    found = decisions.table_four(strong)
    assert found == decisions.table_four(strong)
    assert all(isinstance(one, (bool, np.bool_)) for one in found.values())
    assert all(one for name, one in found.items() if "independence_test" in name and "221" not in name)


PLACES = [("a paper", "l2, Survey, RRBA", f"{size}-way", printed) for size, printed in ((2, "100"), (3, "200"))]


def test_the_printed_laplace_figures_have_these_ratios() -> None:
    # 59.58/109.60, 307.588/154.02, 715.05/372.63, 117.42/61.69, typed in once more
    assert ratios() == pytest.approx([0.5436, 1.9971, 1.9189, 1.9034], abs=5e-5)


def test_the_best_reading_gives_most_figures() -> None:
    one, other = Reading("RRBA", "mle", "any"), Reading("RRBA", "two blocks", "any")
    around = np.array([-1.0, 1.0] * 50)
    data = {("Survey", 2, one, "ℓ2"): 100 + around, ("Survey", 3, one, "ℓ2"): 260 + around}
    data |= {("Survey", 2, other, "ℓ2"): 700 + around, ("Survey", 3, other, "ℓ2"): 800 + around}
    assert _best(PLACES, data) == (one, "ℓ2", 1, 2)


def test_own_fakes_are_taken_off_as_the_package_does() -> None:
    domain = Domain({"cell": list("abcd")})
    (table,) = RRBA(domain, p=0.3, k=1, update="client").simulate(np.array([16, 12, 8, 4]), 5)
    stack = TruthOrFakeStack.of(table.blocks)
    counts, sent = stack.counts.cumsum(axis=0), (stack.fakes / 0.7).cumsum(axis=0)
    following = version_1.proper(version_1.reconstructed(version_1.OWN, 0.3, counts, sent, sent))
    assert len(counts) == 40
    assert following[:-1] == pytest.approx(stack.fakes[1:] / 0.7, abs=1e-9)


@pytest.mark.parametrize("p", [0.3, 0.7])
def test_as_printed_the_second_table_is_off_by_what_the_first_fakes_are(p: float) -> None:
    """Two clients: T after one is p-weighted towards her report, and half of its fakes are taken off too much."""
    uniform = np.full(4, 0.25)
    first = [version_1.proper((np.eye(4)[cell] - (1 - p) * uniform) / p) for cell in range(4)]
    mean = (p * version_1.TRUE + (1 - p) * uniform) @ np.array(first)
    wanted = version_1.TRUE + (1 - p) / p * (uniform - mean) / 2
    assert version_1.expected(version_1.PRINTED, p, 2) == pytest.approx(wanted, abs=1e-12)
    for rule, answers in ((version_1.PRINTED, 1), (version_1.OWN, 1), (version_1.OWN, 3)):
        assert version_1.expected(rule, p, answers) == pytest.approx(version_1.TRUE, abs=1e-12)


def test_simulated_collections_have_the_enumerated_expectation() -> None:
    # after one answer T is certain for each report: an error of 2 (1 - share) for its cell alone, by p
    first = version_1.errors(version_1.PRINTED, 0.3, 1, 20_000, np.random.default_rng(2))[0]
    chances = 0.3 * version_1.TRUE + 0.7 / 4
    # the errors lie between 1.2 and 1.8: a standard error below .0022; five of them are .011
    assert first == pytest.approx(chances @ (2 * (1 - version_1.TRUE)), abs=0.011)


def test_as_printed_errors_stay_and_with_own_fakes_they_fall() -> None:
    # over 30 seeds the means were 1.02 and .14, with standard deviations of .04 and .01: ten of them are allowed
    printed, own = (
        version_1.errors(rule, 0.3, 1_000, 50, np.random.default_rng(4)) for rule in (version_1.PRINTED, version_1.OWN)
    )
    assert printed[-1] > 0.6
    assert own[-1] < 0.3


def test_the_verdict_on_convergence_follows_from_the_stored_errors() -> None:
    comparisons, curves = EXHIBITS[version_1.NAME].stored()
    assert curves is not None
    found = version_1._converging(curves, version_1.ANSWERS)
    stored = comparisons.set_index("row").loc["low p"]
    assert (found.ours, found.because) == (stored["ours"], stored["because"])
    assert not found.holds
    assert version_1._converging(curves[curves["p"] >= 0.5], version_1.ANSWERS).holds
