"""What forged reports can do: the exact worst case, against every report that exists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import ldpstats as ldp
from ldpstats.attacks.poisoning import worst_shift
from ldpstats.conformance.enumeration import TooManyCoursesError, decoded, exact_channel
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.registry import REGISTRY


def worth_of_all_reports(mechanism: Mechanism) -> np.ndarray:
    """Return the estimate that each report which any value can send would give by itself, a row per report."""
    known = sorted(set().union(*exact_channel(mechanism)))
    reports = np.concatenate([decoded(mechanism, report) for report in known])
    return mechanism.noise.debias(mechanism.contributions(reports).astype(float))


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
def test_the_worst_report_is_that_of_an_enumeration(kind: type[Mechanism]) -> None:
    enumerated = 0
    for k in (2, 3):
        if kind.only_k not in (None, k):
            continue
        mechanism = ldp.mechanism(kind.name, k=k, epsilon=1.0)
        lowest, highest = mechanism.noise.influence()
        assert np.all(lowest <= 0)
        assert np.all(highest >= 1 - 1e-9)
        try:
            worth, is_exact = worth_of_all_reports(mechanism), True
        except TooManyCoursesError:
            sent = mechanism.privatize(np.random.default_rng(k).integers(0, k, 2000), rng=k)
            worth, is_exact = mechanism.noise.debias(mechanism.contributions(sent.data).astype(float)), False
        enumerated += is_exact
        assert np.all(worth >= lowest - 1e-9)
        assert np.all(worth <= highest + 1e-9)
        if is_exact:
            assert worth.min(axis=0) == pytest.approx(lowest, abs=1e-9)
            assert worth.max(axis=0) == pytest.approx(highest, abs=1e-9)
        for direction in np.random.default_rng(k).standard_normal((20, k)):
            loudest, most = mechanism.noise.loudest(direction) @ direction, (worth @ direction).max()
            assert loudest >= most - 1e-9
            assert not is_exact or loudest == pytest.approx(most, abs=1e-9)
    assert enumerated or kind.purpose != "one answer"


def test_the_issues_figures_are_those_of_the_formula() -> None:
    """Δ and the support range: f (1 − q) / (p − q) raises a value that nobody holds."""
    table = ldp.poisoning_table(k=16, epsilon=1.0, share=0.05).set_index("name")
    for name in ("grr", "oue", "olh", "ss", "sue"):
        noise = ldp.mechanism(name, k=16, epsilon=1.0).noise
        low, high = (noise.mean(np.eye(16)[value])[0] for value in (1, 0))
        assert table.loc[name, "rise"] == pytest.approx(0.05 * (1 - low) / (high - low), rel=1e-9)
        assert table.loc[name, "fall"] == pytest.approx(0.05 * high / (high - low), rel=1e-9)
    assert table.loc["grr", "rise"] == pytest.approx(0.486, abs=0.001)
    assert set(table.index) == {kind.name for kind in REGISTRY}


def test_a_simulated_attack_moves_the_estimate_as_stated() -> None:
    """A fixed seed; six standard errors: a false failure once in 5e8 times."""
    grr, n, forged = ldp.GRR(16, 1.0), 20_000, 1000
    honest = grr.simulate(np.append(0, np.full(15, (n - forged) / 15)).astype(int), rng=1)
    n = honest.n + forged
    attacked = ldp.noise.Tally(grr.noise, honest.counts + forged * np.eye(16, dtype=int)[0], n)
    found = ldp.poisoning(grr, forged / n, n=n, target=0)
    assert abs(grr.estimate(attacked).estimate[0] - found.rise) < 6 * found.std_err


def test_what_is_printed_names_the_figures() -> None:
    found = ldp.poisoning(ldp.GRR(16, 1.0), 0.05, n=20_000)
    text = str(found.summary())
    assert "outweighs 9.73 truthful respondents" in text
    assert "0.01683" in text
    assert found.to_dict()["shift"] == found.shift
    assert "a forger outweighs 9.73 truthful respondents" in found.headline
    assert found.to_frame()["shift"].tolist() == [found.rise, found.fall]


def test_what_is_drawn_are_both_directions_beside_chance() -> None:
    found = ldp.poisoning(ldp.GRR(16, 1.0), 0.05, n=20_000)
    frame = found.picture().to_frame()
    assert frame.loc[0, ["lower", "upper"]].tolist() == [-found.fall, found.rise]
    assert frame.loc[1, "upper"] == pytest.approx(norm.isf(0.025) * found.std_err, rel=1e-12)
    alone = ldp.poisoning(ldp.GRR(16, 1.0), 0.05)
    assert len(alone.picture().to_frame()) == 1
    alone.plot().figure.canvas.draw()


def test_without_a_number_of_reports_there_is_no_standard_error() -> None:
    assert ldp.poisoning(ldp.GRR(16, 1.0), 0.05).to_dict()["std_err"] is None


@pytest.mark.parametrize(("share", "target"), [(0.0, 0), (1.5, 0), (0.05, 4), (0.05, -1), (float("nan"), 0)])
def test_what_makes_no_sense_is_refused(share: float, target: int) -> None:
    with pytest.raises(LdpstatsError):
        ldp.poisoning(ldp.GRR(4, 1.0), share, target=target)


@pytest.mark.parametrize("name", ["grr", "oue", "ss", "hr"])
def test_the_worst_shift_of_a_table_is_that_of_an_enumeration(name: str) -> None:
    """The expected tally of reports of the table's proportions and of any one report, a twentieth of all."""
    domain = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]})
    counts = np.array([[900, 700, 400], [300, 500, 1200]])
    table = ldp.SampledGroups(domain, epsilon=2.0, mechanism=name).simulate(counts, rng=1)["a", "b"]
    shares, oracle = table.estimate.ravel(), ldp.mechanism(name, k=6, epsilon=2.0)
    assert shares.min() > 0
    moved = 0.95 * shares + 0.05 * worth_of_all_reports(oracle) - shares
    assert worst_shift(table, 0.05) == pytest.approx(np.abs(moved).max(), rel=1e-9)
