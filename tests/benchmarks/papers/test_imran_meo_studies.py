"""The studies of convergence and of distances measure what they say: hand-made figures, exact laws, and slices."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from papers.imran_meo import convergence as study, distances
from scipy.spatial.distance import jensenshannon

from ldpstats import Domain, PrivacyStatement, Table
from ldpstats.answers.questions import Question
from ldpstats.datasets import network
from ldpstats.estimation.blocks import Block
from ldpstats.noise import MultinomialNoise, Tally, TruthOrFake
from ldpstats.protocols.rrba.stopping import chance_of_missing, convergence

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds

ANYTHING = PrivacyStatement(math.inf, "a test")
LETTER = Domain({"letter": ["a", "b"]})


def of_kind(data: pd.DataFrame, kind: tuple[str, str]) -> pd.DataFrame:
    return data[(data["width"] == kind[0]) & (data["estimate"] == kind[1])]


@pytest.mark.parametrize("kind", ["sound", "paper"])
@pytest.mark.parametrize(("p", "size"), [(0.5, 50), (0.139, 18)])
def test_the_study_compares_as_the_package_does(p: float, size: int, kind: str) -> None:
    trials = study.collect(p, size, 3, 12, np.random.default_rng(2))
    held = study.conditions(trials, trials)[kind, "alone"][1]
    asked = Question(("letter",), (2,), (0, 1))
    for probability, trial in np.ndindex(held.shape[:2]):
        counts, fakes = trials.counts[probability, trial], trials.fakes[probability, trial] / (1 - p)
        blocks = tuple(
            Block(asked, Tally(MultinomialNoise(TruthOrFake(p, (fake, 1 - fake))), (count, size - count), size))
            for count, fake in zip(counts.tolist(), fakes.tolist(), strict=True)
        )
        found = convergence(Table(LETTER, blocks, ANYTHING), width=kind)
        assert np.array_equal(found.within[:, 0], held[probability, trial])


def test_the_fakes_of_the_study_follow_the_block_before_or_all_of_them() -> None:
    alone = study.collect(0.3, 50, 4, 6, np.random.default_rng(1))
    assert np.allclose(alone.fakes[..., 0], 0.35)
    assert np.allclose(alone.fakes[..., 1:], 0.7 * np.clip(alone.alone[..., :-1], 0, 1))
    together = study.collect(0.3, 50, 4, 6, np.random.default_rng(1), from_all=True)
    assert np.allclose(together.fakes[..., 1:], 0.7 * np.clip(together.pooled[..., :-1], 0, 1))
    closed = (together.counts.sum(axis=-1) - 50 * together.fakes.sum(axis=-1)) / (0.3 * 50 * 6)
    assert np.allclose(together.pooled[..., -1], closed)


def test_a_slice_of_the_study_agrees_with_normal_theory() -> None:
    # 40 trials of 49 comparisons for each of 5 cells: a standard error below .006, even if neighbours were the same
    data = study.study((0.295, 0.5), (250,), blocks=50)
    for p in (0.295, 0.5):
        for kind, truth, margin in ((("paper", "alone"), p, 0.035), (("sound", "alone"), 1.0, 0.02)):
            rows = of_kind(data, kind)
            found = rows.loc[(rows["p"] == p) & (rows["probability"] > 0.2), "within"].mean()
            assert abs(found - (1 - chance_of_missing(0.05, truth))) < margin


def test_a_slice_of_the_study_shows_that_the_answer_does_not_improve() -> None:
    data = of_kind(study.study((0.5,), (18, 250), blocks=50), ("paper", "alone"))
    late = data["rmse_converged"].mean() / data["rmse_stopped"].mean()
    assert 0.8 < late < 1.4, "some 45 blocks later the error is what it was"
    assert data["rmse_all_until_converged"].mean() < 0.3 * data["rmse_converged"].mean()
    assert (data["respondents_converged"] > 40 * data["block_size"]).all(), "near the end of the trial"


def test_errors_of_the_study_are_those_of_the_trials_that_converge() -> None:
    trials = study.collect(0.5, 50, 5, 10, np.random.default_rng(8))
    measured = of_kind(study.measure(trials, trials), ("sound", "alone")).set_index("probability")
    tables, held = study.conditions(trials, trials)["sound", "alone"]
    place = list(study.PROBABILITIES).index(0.446)
    ends = [9 - next((i for i, one in enumerate(row[::-1]) if not one), 9) for row in held[place].tolist()]
    errors = [tables[place, trial, end : end + 2].mean() - 0.446 for trial, end in enumerate(ends) if end < 9]
    assert errors
    assert np.isclose(measured.loc[0.446, "rmse_converged"], np.sqrt(np.mean(np.square(errors))))
    expected = 50 * np.mean([end + 2 for end in ends if end < 9])
    assert np.isclose(measured.loc[0.446, "respondents_converged"], expected)


def test_means_over_no_trials_are_missing() -> None:
    means = study.mean_where(np.array([[1.0, 3.0], [1.0, 3.0]]), np.array([[True, True], [False, False]]))
    assert means[0] == 2
    assert np.isnan(means[1])


def test_with_the_width_of_one_respondent_larger_blocks_agree_more_often() -> None:
    # by normal theory 2 Φ(1.96 p √(B/2)) - 1: .81 and 1.00 where fakes are like the population; a standard error of .01
    data = of_kind(study.study((0.221,), (18, 250), blocks=50), ("one respondent", "alone"))
    shares = data[data["probability"] > 0.2].groupby("block_size")["within"].mean()
    assert 0.75 < shares[18] < 0.93
    assert shares[250] > 0.999


PAIR = ("age", "education")


def test_distances_are_of_counts_and_only_the_plain_one_keeps_negative_cells() -> None:
    counts, frequencies = np.array([40, 40, 20, 0]), np.array([0.5, 0.45, 0.15, -0.1])
    proper = np.array([50, 45, 15, 0]) / 110
    found = distances.distances(counts, frequencies)
    assert found["ℓ2"] == pytest.approx(np.sqrt(250))
    assert found["ℓ2 cut"] == pytest.approx(np.linalg.norm(100 * proper - counts))
    assert found["√JS"] == pytest.approx(jensenshannon(counts, proper))
    assert found["√JS bits"] == pytest.approx(jensenshannon(counts, proper, base=2))
    assert (found["JS"], found["JS bits"]) == pytest.approx((found["√JS"] ** 2, found["√JS bits"] ** 2))
    disjoint = distances.jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert disjoint == pytest.approx(np.log(2))


def test_groups_are_all_taken_before_one_comes_again_and_binary_ones_are_binary() -> None:
    domain = network("survey").domain
    taken = distances.groups_of(domain, "any", 3, 45)
    assert len(set(taken[:20])) == 20
    assert taken[20:40] == taken[:20]
    binary = distances.groups_of(domain, "binary", 4, 2)
    assert [set(group) for group in binary] == 2 * [{"education", "occupation", "residence", "sex"}]


def test_the_sound_scale_spends_what_the_caption_says_and_the_reports_as_they_came_are_counted_plainly() -> None:
    domain = network("survey").domain.project(PAIR)
    counts, setting = np.array([3000, 2000, 1500, 800, 500, 200]), distances.SETTINGS["6"]
    drawn = [distances.estimates(domain, counts, setting, np.random.default_rng(seed)) for seed in range(200)]
    variances = {}
    for reading in ("b = 2/ε, ε = 0.5", "b = 2m/ε, ε = 0.5"):
        errors = 8000 * np.array([one["Laplace", reading] for one in drawn]) - counts
        variances[reading] = np.square(errors).mean()
    # 1200 draws of a Laplace law, whose squares have a relative standard deviation of √5: five errors are 32 %
    assert variances["b = 2/ε, ε = 0.5"] == pytest.approx(2 * 4**2, rel=0.34)
    assert variances["b = 2m/ε, ε = 0.5"] == pytest.approx(2 * 24**2, rel=0.34)
    assert all(one["RRBA", "reports as they came"].min() >= 0 for one in drawn)
    assert all(one["RRBA", "reports as they came"].sum() == pytest.approx(1) for one in drawn)
