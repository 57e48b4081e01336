"""Arcolezi et al.: stored verdicts follow from stored gains, and the study measures what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from papers.arcolezi import gains, listing
from papers.arcolezi.mechanisms import (
    LEVELS,
    LONGITUDINAL,
    LONGITUDINAL_PUBLISHED,
    ONE_TIME,
    ONE_TIME_PUBLISHED,
    Reading,
    chained_truth,
    named,
    printed_symbols,
    published_response,
    published_second_round,
    sound,
)
from papers.arcolezi.populations import SIZES, bin_counts, sampled_counts
from papers.arcolezi.summaries import Found, dots, judged, table
from papers.arcolezi.tables import TABLE_2, TABLE_3, Shown
from papers.catalogue import EXHIBITS
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE, printed_figures
from papers.exhibits import Effort

import ldpstats as ldp
from ldpstats.estimation.likelihood import iterative_bayesian_update
from ldpstats.mechanisms import GRR, OUE, SS, Mechanism


@pytest.mark.parametrize("shown", [TABLE_2, TABLE_3], ids=lambda one: one.name)
def test_verdicts_follow_from_the_stored_gains(shown: Shown) -> None:
    comparisons, curves = EXHIBITS[shown.name].stored()
    assert curves is not None
    gains = curves.set_index(["reading", "row", "column"])
    places = comparisons.iloc[:, :4].itertuples(index=False, name=None)
    found = [shown.comparison(place, gains.loc["text"], gains.loc["code"]) for place in places]
    stored = list(zip(comparisons["verdict"], comparisons["because"], strict=True))
    assert [(one.verdict, one.because) for one in found] == stored
    for error in ("printed_std_err", "reproduced_std_err"):
        now = [getattr(one, error) for one in found]
        assert now == pytest.approx(comparisons[error].tolist(), rel=1e-4, nan_ok=True)


@pytest.mark.parametrize("mechanism", [GRR(50, 1.0), OUE(50, 4.0), SS(50, 1.0)])
def test_all_rows_are_updated_as_the_package_updates_one(mechanism: Mechanism) -> None:
    reports = sound(mechanism)
    counts = reports.noise.simulate(np.repeat([[90, 60, *[0] * 48]], 3, axis=0), np.random.default_rng(1))
    shares = counts / counts.sum(axis=1, keepdims=True)
    for updates in (3, 10_000):
        frequencies = gains.updated(shares, reports.own, reports.common, updates, 1e-12)
        one_by_one = [iterative_bayesian_update(row, reports.noise, updates, 1e-12).frequencies for row in counts]
        assert np.allclose(frequencies, one_by_one, rtol=1e-9, atol=1e-12)


def test_errors_are_those_of_the_estimates_computed_by_hand() -> None:
    true_counts = np.array([[700, 200, 60, 40, 0]])
    measured = gains.errors(sound(OUE(5, 1.0)), true_counts, 2, np.random.default_rng(1))
    counts = OUE(5, 1.0).noise.simulate(np.repeat(true_counts, 2, axis=0), np.random.default_rng(1))
    p, q = 0.5, 1 / (np.e + 1)
    inverted = np.maximum(counts / 1000 - q, 0)
    inverted /= inverted.sum(axis=1, keepdims=True)
    assert np.allclose(measured[0, 0, 0], ((inverted - true_counts / 1000) ** 2).mean(axis=1), rtol=1e-9)
    assert np.allclose(measured[1, 0, 0], abs(inverted - true_counts / 1000).mean(axis=1), rtol=1e-9)
    iterated, channel = np.full((2, 5), 0.2), (p - q) * np.eye(5) + q
    for _ in range(10_000):
        iterated *= counts / counts.sum(axis=1, keepdims=True) / (iterated @ channel) @ channel
    assert np.allclose(measured[0, 1, 0], ((iterated - true_counts / 1000) ** 2).mean(axis=1), rtol=1e-6)
    limit = gains.errors(sound(OUE(5, 1.0)), true_counts, 2, np.random.default_rng(1), None)
    assert np.allclose(measured, limit, rtol=1e-3), "with five values the updates reach their limit"


def test_a_gain_is_clipped_in_every_run() -> None:
    measured = np.array([[[[2.0, 4.0]], [[1.0, 5.0]]]])
    assert gains.gain(measured).tolist() == [[[50.0, 0.0]]]


def test_runs_of_one_sample_are_drawn_anew_and_samples_keep_their_place() -> None:
    samples = np.array([[900, 100], [100, 900]])
    measured = gains.errors(sound(GRR(2, 4.0)), samples, 3, np.random.default_rng(5))
    assert measured.shape == (2, 2, 2, 3)
    assert len(np.unique(measured[0, 0, 0])) > 1
    # beside the other sample's frequencies every error would be .8
    assert measured[1].max() < 0.1


def test_the_spread_tells_samples_from_runs() -> None:
    rng = np.random.default_rng(2)
    of_samples = rng.normal(0, 3, (1, 2, 4000, 1, 1, 1))
    figures = of_samples + rng.normal(0, 4, (1, 2, 4000, 1, 1, 2))
    theirs, ours = gains.spread(figures)
    # relative standard errors of 2 %; five of them are a false failure rate below 1e-6
    assert theirs.item() == pytest.approx(np.sqrt((9 + 16 / 20) / 2), rel=0.1)
    assert ours.item() == pytest.approx(np.sqrt((9 + 16 / 2) / 4000 / 2), rel=0.1)


def test_with_two_values_grr_is_inverted_by_the_updates() -> None:
    measured = gains.errors(sound(GRR(2, 1.0)), np.array([[8000, 12_000]]), 3, np.random.default_rng(3))
    assert np.allclose(measured[:, 1], measured[:, 0], rtol=1e-6)


def test_gains_stand_in_the_order_of_their_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gains, "SIZES", (2, 50))
    monkeypatch.setattr(gains, "RESPONDENTS", (20_000,))
    reading = Reading(last_two_bins_made_one=True, columns={"GRR": named("grr"), "BLH": named("blh")})
    measured = gains.Measurement(reading, 2).gains(Effort(full=False), "")
    assert measured.shape == (5, 1, 2, 2, 3, 2, 2, 2)
    # uniform data: the few updates of a quick run stay near their start, so that BLH gains with 50 values
    uniform = measured[2, 0, :, :, :, :, 0].mean(axis=(0, -1))
    assert uniform[1, :, 1].min() > 50
    assert uniform[0, :, 0].max() < 1


def response(truth: float, k: int) -> np.ndarray:
    other = (1 - truth) / (k - 1)
    return other + (truth - other) * np.eye(k)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("k", [2, 5, 50])
def test_reports_of_the_published_chain_are_those_of_its_two_rounds(k: int, level: float) -> None:
    p1, _, p2, _ = published_second_round(k, level)
    chain = response(p1, k) @ response(p2, k)
    assert chained_truth(k, level) == pytest.approx(chain[0, 0], rel=1e-12)
    reports = published_response(k, level)
    assert np.allclose(reports.noise.channel.matrix(), chain, rtol=1e-9)
    # the update's matrix has the chain's diagonal, and less beside it for more than two values
    assert reports.own + reports.common == pytest.approx(chain[0, 0], rel=1e-12)
    assert (reports.common == pytest.approx(chain[0, 1], rel=1e-9)) == (k == 2)


def test_the_published_second_round_solves_the_printed_ratio() -> None:
    p1, q1, p2, q2 = published_second_round(50, 2.0)
    assert (p1 * p2 + q1 * q2) / (p1 * q2 + q1 * p2) == pytest.approx(math.exp(2.0), rel=1e-12)


def test_symbols_of_hashing_by_text_and_code() -> None:
    assert [printed_symbols(level, math.floor) for level in LEVELS] == [2, 6, 52]
    assert [printed_symbols(level, round) for level in LEVELS] == [3, 7, 53]
    of_text, of_code = (
        [round(1 / reading.columns["OLH"](50, level).noise.q) for level in LEVELS]
        for reading in (ONE_TIME, ONE_TIME_PUBLISHED)
    )
    assert (of_text, of_code) == ([3, 8, 55], [4, 8, 56])


def test_sizes_of_subsets_by_text_and_code() -> None:
    assert ONE_TIME.columns["SS"](200, 4.0).noise.size == 3
    assert ONE_TIME_PUBLISHED.columns["SS"](200, 4.0).noise.size == 4
    assert ONE_TIME.columns["SS"](50, 4.0).noise.outputs == 50, "none rounds down to 0"


def test_a_report_of_a_sound_chain_over_hashes_is_one_of_local_hashing() -> None:
    chain = ldp.mechanism("l-olh", k=100, epsilon=4.0, first_epsilon=2.0)
    once = ldp.mechanism("lh", k=100, epsilon=2.0, symbols=chain.hash_symbols)
    assert np.allclose([chain.noise.p, chain.noise.q], [once.noise.p, once.noise.q], rtol=1e-12)


def test_only_response_and_hashing_are_published_unsound() -> None:
    for name, column in LONGITUDINAL_PUBLISHED.columns.items():
        reports, text = column(50, 2.0), LONGITUDINAL.columns[name](50, 2.0)
        own, common = reports.noise.own_and_common
        sound = np.allclose([reports.own, reports.common], [own, common[0]], rtol=1e-12)
        assert sound == name.endswith("UE")
        assert (column is LONGITUDINAL.columns[name]) == name.endswith("UE")
        assert text.own > 0


def test_the_matrix_supposes_less_noise_for_response_and_more_for_hashing() -> None:
    for name, less in (("L-GRR", True), ("L-BLH", False), ("L-OLH", False)):
        for level in LEVELS:
            reports = LONGITUDINAL_PUBLISHED.columns[name](100, level)
            own, common = reports.noise.own_and_common
            assert (reports.own / reports.common > own / common[0]) == less


@pytest.mark.parametrize(("column", "symbols"), [("L-BLH", (2, 2, 2)), ("L-OLH", (3, 7, 53))])
def test_the_published_hashing_updates_with_p1_q2_and_p2_over_g(column: str, symbols: tuple[int, ...]) -> None:
    for level, g in zip(LEVELS, symbols, strict=True):
        reports = LONGITUDINAL_PUBLISHED.columns[column](50, level)
        p1, q1, p2, q2 = published_second_round(g, level)
        assert reports.common == pytest.approx(p1 * q2 + p2 / g, rel=1e-12)
        assert reports.own + reports.common == pytest.approx(p1 * p2 + (g - 1) * q1 * q2, rel=1e-12)


@pytest.mark.parametrize(("reading", "sizes"), [(ONE_TIME, (13, 5, 1)), (ONE_TIME_PUBLISHED, (13, 6, 1))])
def test_subsets_hold_the_true_value_as_often_as_their_size_has_it(reading: Reading, sizes: tuple[int, ...]) -> None:
    for level, size in zip(LEVELS, sizes, strict=True):
        reports, weight = reading.columns["SS"](50, level), size * math.exp(level)
        assert reports.own + reports.common == pytest.approx(weight / (weight + 50 - size), rel=1e-12)


def test_the_last_two_of_k_plus_one_bins_are_made_one() -> None:
    values = np.array([0.0, 0.9, 1.1, 2.1, 2.9, 3.0])
    assert bin_counts(values, 2, last_two_made_one=True).tolist() == [2, 4]
    assert bin_counts(values, 2, last_two_made_one=False).tolist() == [3, 3]
    assert bin_counts(values, 3, last_two_made_one=False).tolist() == [2, 1, 3]


def test_both_kinds_of_bins_count_the_same_samples() -> None:
    plain = sampled_counts("Exponential", 1000, 2, last_two_made_one=False)
    theirs = sampled_counts("Exponential", 1000, 2, last_two_made_one=True)
    assert list(plain) == list(SIZES)
    assert all(counts.shape == (2, k) and (counts.sum(axis=1) == 1000).all() for k, counts in plain.items())
    # the first of three bins lies in the first of two
    assert (theirs[2][:, 0] <= plain[2][:, 0]).all()
    assert (plain[50][0] != plain[50][1]).any()


PLACE = ("a paper, Section 1", "ε", "statement", "the lower, the higher")


def gains_like_the_printed() -> np.ndarray:
    printed = printed_figures("arcolezi-2023-table-2")
    numbers = printed.loc[printed["column"] != "statement", "printed"].astype(float).to_numpy().reshape(7, 8, 2)
    return np.broadcast_to(numbers[:5, :7][:, None, None, None, None, :, :, None], (5, 2, 2, 4, 3, 7, 2, 2))


def test_a_table_averages_over_settings_and_over_mechanisms() -> None:
    figures = table(
        gains_like_the_printed(),
        ONE_TIME,
        {f"{name}, {metric}": 30.0 for name in (*ONE_TIME.columns, "Avg.") for metric in ("MSE", "MAE")},
    )
    assert figures.loc[("Poisson", "BLH, MSE"), "gain"] == 14
    assert figures.loc[("Gaussian", "Avg., MSE"), "gain"] == pytest.approx((1 + 13 + 10 + 3 + 13 + 16 + 11) / 7)
    assert figures.loc[("Avg.", "GRR, MSE"), "gain"] == pytest.approx((1 + 16 + 0 + 39 + 0 + 30) / 6)
    assert (figures["std_err"] == 0).all()


def test_dots_are_named_by_their_settings() -> None:
    gains = np.zeros((5, 2, 2, 4, 3, 7, 2, 2))
    gains[1, 1, :, 2, 0, 3, 0] = 40.0
    figures = dots(gains, ONE_TIME)["gain"]
    assert len(figures) == 5 * 2 * 4 * 3 * 7
    assert figures[figures > 0].to_dict() == {("Exponential", 100_000, 100, 1.0, "SS"): 40.0}


@pytest.mark.parametrize(
    ("word", "published", "verdict"), [(1, 0, AGREES), (0, 1, DIFFERS), (0, 0, NOT_REPRODUCIBLE), (1, 1, AGREES)]
)
def test_a_sentence_is_judged_by_the_text_first(word: int, published: int, verdict: str) -> None:
    found = judged(PLACE, lambda figures: Found("so much", bool(figures)), word, published)
    assert found.verdict == verdict
    assert found.ours == "so much"


def test_a_printed_figure_that_the_code_alone_gives_differs_with_its_cause() -> None:
    gains = gains_like_the_printed()
    real = {f"{name}, {metric}": 30.0 for name in (*ONE_TIME.columns, "Avg.") for metric in ("MSE", "MAE")}
    published, word = table(gains, ONE_TIME, real), table(gains + 2, ONE_TIME, real)
    place = ("Arcolezi et al. 2023, Table 2", "Poisson", "BLH, MSE", "14")
    found = TABLE_2.comparison(place, word, published)
    assert (found.verdict, found.ours, found.reproduced) == (DIFFERS, 16, 14)
    assert "k + 1 bins" in found.because
    assert TABLE_2.comparison(place, published, published).verdict == AGREES
    assert TABLE_2.comparison(place, word, word).verdict == NOT_REPRODUCIBLE
    assert TABLE_2.comparison((*place[:1], "Real", *place[2:]), word, published).verdict == NOT_REPRODUCIBLE


def test_equation_3_by_hand_for_the_first_update_of_the_listing() -> None:
    shares = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    first = listing.by_equation_3(shares)[1]
    # from a uniform start a report is believed as often as the truth is told
    p, q = math.e / (math.e + 4), 1 / (math.e + 4)
    assert first == pytest.approx((p - q) * shares + q, abs=1e-12)


def test_the_listing_ends_at_inversion_unless_an_estimate_is_negative() -> None:
    inside, outside = np.array([0.22, 0.2, 0.2, 0.2, 0.18]), np.array([0.3, 0.3, 0.2, 0.1, 0.1])
    assert listing.by_equation_3(inside)[-1] == pytest.approx(listing.inverted(inside), abs=1e-9)
    assert ldp.GRR(5, 1.0).noise.debias(outside).min() < 0
    assert np.abs(listing.by_equation_3(outside)[-1] - listing.inverted(outside)).max() > 0.01


def test_the_listings_standard_error_is_that_of_simulated_listings() -> None:
    rng = np.random.default_rng(3)
    runs = np.array([listing.inverted(listing.reported(listing.UNIFORM, rng)) for _ in range(400)])
    # 2,000 squares, nearly independent: a relative standard error of 1.8 % of the root; five are 9 %
    assert np.sqrt(np.square(runs - 0.2).mean()) == pytest.approx(listing.standard_error(), rel=0.09)
