"""Audits catch leaks, accuse no correct mechanism more often than they say, and claim no more than was shown."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, binomtest
from support.comparisons import FALSE_FAILURE_RATE
from support.planted_bugs import (
    ClaimsALittleMore,
    Honest,
    LastBitInClear,
    MoreThanItSays,
    OneLieForAllBits,
    OnlyInTheMiddle,
    RoundedAgainstPrivacy,
    SentTwice,
    TruthComesLast,
    TwoReports,
    Understates,
    UnreadByte,
)

from ldpstats.attacks.auditing import audit, audits
from ldpstats.conformance import events
from ldpstats.conformance.events import level_shown
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRR, OUE, REGISTRY, RR, SS, SUE, Mechanism, plain_mechanism
from ldpstats.mechanisms.histogram import SHE
from ldpstats.numbers.randomness import Draws
from ldpstats.pictures.intervals import Intervals

SURE = 1 - 1e-8
"""With this confidence the hundred audits of this file accuse a correct mechanism in at most one of a million runs."""

KINDS = [*REGISTRY, *({SHE} - set(REGISTRY))]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("n", "rival_n"), [(12, 12), (25, 9)])
def test_the_bound_covers_with_at_least_its_confidence_for_all_probabilities(
    n: int, rival_n: int, confidence: float
) -> None:
    """Exactly: all outcomes enumerated, on a grid of probabilities."""
    bounds = np.array([[level_shown(i, n, j, rival_n, confidence) for j in range(rival_n + 1)] for i in range(n + 1)])
    worst = 1.0
    for p, q in product(np.linspace(0.02, 0.98, 25), repeat=2):
        law = np.outer(binom.pmf(np.arange(n + 1), n, p), binom.pmf(np.arange(rival_n + 1), rival_n, q))
        worst = min(worst, float(law[bounds <= max(math.log(p / q), 0.0) + 1e-12].sum()))
    assert worst >= confidence - 1e-12
    assert worst < 1


def test_the_bound_is_that_of_two_clopper_pearson_intervals() -> None:
    own = binomtest(300, 1000).proportion_ci(0.99, method="exact")
    rival = binomtest(100, 900).proportion_ci(0.99, method="exact")
    assert level_shown(300, 1000, 100, 900, 0.99) == pytest.approx(math.log(own.low / rival.high), rel=1e-9)
    assert level_shown(900, 900, 0, 900, 0.99) == pytest.approx(math.log(0.005 ** (1 / 900) / (1 - 0.005 ** (1 / 900))))
    assert level_shown(0, 10, 0, 10, 0.99) == level_shown(10, 10, 10, 10, 0.99) == level_shown(3, 10, 5, 10, 0.99) == 0


@each_kind
def test_a_correct_mechanism_holds_where_it_is_enumerated_and_is_not_refuted_beyond(kind: type[Mechanism]) -> None:
    few = audit(kind(k=2, epsilon=1.0), n=20_000, confidence=SURE, rng=1)
    many = audit(kind(k=kind.only_k or 40, epsilon=2.0), n=10_000, confidence=SURE, rng=2)
    assert few.verdict.startswith("HOLDS")
    assert (few.exact, few.asked) == (few.claimed, 1.0)
    assert many.verdict.startswith("HOLDS" if kind.only_k else "NOT REFUTED")
    assert all(found.lower_bound <= found.claimed for found in (few, many))


@pytest.mark.parametrize("kind", [GRR, OUE, SUE, SS, SHE], ids=lambda kind: kind.name)
def test_reports_show_nearly_all_of_the_level(kind: type[Mechanism]) -> None:
    assert 1.6 < audit(kind(k=40, epsilon=2.0), n=100_000, confidence=SURE, rng=2).lower_bound <= 2


def test_correct_mechanisms_are_accused_at_most_as_often_as_stated() -> None:
    """At a confidence of .8, choosing among thousands of events: no more accusations than chance would bring."""
    audits = 200
    bounds = [audit(OUE(16, 1.0), n=1000, confidence=0.8, rng=seed).lower_bound for seed in range(audits)]
    accused = sum(bound > 1.0 for bound in bounds)
    assert accused <= binom.isf(FALSE_FAILURE_RATE, audits, 0.2)
    assert np.median(bounds) > 0.3


@pytest.mark.parametrize("leak", [LastBitInClear, TruthComesLast, OneLieForAllBits, MoreThanItSays])
@pytest.mark.parametrize("k", [16, 300])
def test_leaks_that_are_not_enumerated_show_in_the_reports(leak: type[Mechanism], k: int) -> None:
    found = audit(leak(k=k, epsilon=1.0), n=100_000, rng=3)
    assert found.exact is None
    assert found.lower_bound > found.claimed == 1.0
    assert found.verdict.startswith("FAILS: the reports show at least")
    assert "in at most 0.01 of all audits" in found.verdict


@pytest.mark.parametrize(
    ("leak", "reason"),
    [
        (LastBitInClear, "enumeration gives infinite for one report, which is more than is claimed;"),
        (ClaimsALittleMore, "enumeration gives 1 for one report, which is more than is claimed by 5.4e-20"),
        (RoundedAgainstPrivacy, "a level of 1 is more than was asked for by 2.2e-16"),
        (SentTwice, "a level of 2 is more than was asked for by 1"),
    ],
)
def test_enumeration_and_claims_leave_no_tolerance(leak: type[Mechanism], reason: str) -> None:
    found = audit(leak(k=4, epsilon=1.0), n=1000, confidence=SURE, rng=4)
    assert found.verdict.startswith("FAILS")
    assert reason in found.verdict


def test_what_holds_for_one_report_is_not_said_of_a_lifetime() -> None:
    found = audit(TwoReports(4, 1.0), n=1000, rng=5)
    assert (found.claimed, found.exact) == (0.5, 0.5)
    assert found.lifetime == pytest.approx(1.0)
    assert (
        found.verdict
        == "HOLDS for one report, by enumeration; for a lifetime it rests on the implemented probabilities."
    )


@pytest.mark.parametrize("k", [4, 40])
def test_a_mechanism_without_any_privacy_is_said_to_have_none(k: int) -> None:
    found = audit(Honest(k, 1.0), n=2000, rng=6)
    assert found.claimed == math.inf
    assert found.exact == (math.inf if k == 4 else None)
    assert found.verdict == "FAILS: a level of infinite is more than was asked for."
    assert found.lower_bound > 4


def test_the_level_shown_does_not_depend_on_how_many_reports_are_looked_at_once(monkeypatch: Any) -> None:
    whole = [audit(kind(12, 1.0), n=3000, rng=7) for kind in (GRR, SUE, SS)]
    monkeypatch.setattr(events, "_CHUNK_CELLS", 100)
    assert [audit(kind(12, 1.0), n=3000, rng=7) for kind in (GRR, SUE, SS)] == whole


def test_a_seed_reproduces_an_audit_and_the_default_is_secure() -> None:
    seeded = [audit(OUE(12, 1.0), n=2000, rng=seed) for seed in (8, 8, 9)]
    assert seeded[0] == seeded[1] != seeded[2]
    assert all(one.simulated for one in seeded)
    secure = []
    for seed in (1, 1, 2):
        with patch("ldpstats.numbers.randomness.urandom", np.random.default_rng(seed).bytes):
            secure.append(audit(OUE(12, 1.0), n=2000))
    assert secure[0] == secure[1] != secure[2]
    assert not secure[0].simulated


def test_the_two_halves_of_an_audit_are_different_draws() -> None:
    sent: list[NDArray[Any]] = []

    @dataclass(frozen=True, slots=True)
    class Recorded(GRR):
        def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
            sent.append(GRR.randomize(self, np.zeros_like(values), draws))
            return sent[-1]

    found = audit(Recorded(12, 1.0), n=1001, rng=10)
    assert [half.size for half in sent] == [500, 501]
    assert not np.array_equal(sent[0], sent[1][:500])
    assert found.n == 1001


def test_the_summary_says_how_each_number_is_known() -> None:
    found = audit(OUE(4, 1.0), n=20_000, confidence=0.95, rng=11)
    summary = found.summary()
    asked, claimed, lifetime, exact, shown = summary.panels[0].rows
    assert summary.title == "Audit of OUE(k=4, epsilon=1.0)"
    assert asked[:2] == ("asked for", "1")
    assert claimed[1:] == lifetime[1:] == ("1", "from the implemented probabilities")
    assert exact == ("exact, one report", "1", "by enumerating every possible course of the sampler")
    assert shown[1].startswith("0.8")
    assert shown[2] == "by 20,000 simulated reports, with 95 % confidence"
    seen, power, verdict = summary.sentences
    assert "of 5,000 reports of the value" in seen
    assert power.startswith("Power: had this event shown the claimed level times 1.05, 1.1, 1.2, so many reports")
    assert verdict.startswith("Verdict: HOLDS")
    assert found.to_frame()["epsilon"].tolist() == [1.0, found.claimed, found.lifetime, found.exact, found.lower_bound]
    many = audit(OUE(17, 1.0), n=1000)
    assert "Exact: not known" in str(many)
    assert "by 1,000 securely drawn reports" in str(many)
    assert math.isnan(many.to_frame()["epsilon"][3])


def test_what_is_drawn_are_the_levels_and_how_far_reports_reach() -> None:
    found = audit(SS(12, 1.0), n=1000, rng=13)
    frame = found.picture().to_frame().set_index("label")
    assert frame.loc["claimed, one report", "estimate"] == found.claimed
    assert frame.loc["shown, one report, at least", ["lower", "upper"]].tolist() == [found.lower_bound, math.inf]
    assert "exact, one report" not in frame.index
    picture = found.picture()
    assert isinstance(picture, Intervals)
    assert picture.reference == found.claimed
    assert "simulated" in found.picture().notes[0]
    # an infinite level is an arrow at the border, and has a word where JSON has no number
    endless = replace(found, claimed=math.inf, lifetime=math.inf, power=())
    ax = endless.plot()
    assert sum(line.get_marker() == ">" for line in ax.lines) == 3
    assert json.loads(json.dumps(endless.to_dict(), allow_nan=False))["claimed"] == "infinite"
    assert [row[1] for row in endless.summary().panels[0].rows[1:3]] == ["∞", "∞"]


@pytest.mark.parametrize(("hits", "n", "rival_hits", "rival_n"), [(9, 20, 4, 25), (25, 25, 0, 12), (30, 40, 1, 40)])
@pytest.mark.parametrize("level", [0.5, 2.0, 4.0])
def test_the_power_is_that_of_all_outcomes_enumerated(
    hits: int, n: int, rival_hits: int, rival_n: int, level: float
) -> None:
    claimed, confidence = 0.4, 0.9
    together = (hits + 0.5) / (n + 1) + (rival_hits + 0.5) / (rival_n + 1)
    p = min(together / (1 + math.exp(-level)), 1.0)
    q = p * math.exp(-level)
    shown = np.array([[level_shown(i, n, j, rival_n, confidence) for j in range(rival_n + 1)] for i in range(n + 1)])
    law = np.outer(binom.pmf(np.arange(n + 1), n, p), binom.pmf(np.arange(rival_n + 1), rival_n, q))
    outcome = events.EventFrequencies(hits, n, rival_hits, rival_n)
    assert outcome.power(level, claimed, confidence) == pytest.approx(law[shown > claimed].sum(), abs=1e-12)


def test_published_power_is_how_often_a_sampler_with_a_higher_level_is_found_out() -> None:
    """The other half of the reports chooses the event, and here always the best one; 200 audits of n = 4000."""
    runs, factor = 200, 1.2
    stated = np.mean([dict(audit(GRR(10, 2.0), n=4000, rng=seed).power)[factor] for seed in range(20)])

    @dataclass(frozen=True, slots=True)
    class Exceeds(GRR):
        def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
            return GRR(self.k, factor * self.epsilon).randomize(values, draws)

    found = sum(bool(audit(Exceeds(10, 2.0), n=4000, rng=seed).failures) for seed in range(runs))
    low, high = binom.ppf([FALSE_FAILURE_RATE / 2, 1 - FALSE_FAILURE_RATE / 2], runs, stated)
    assert low <= found <= high


def test_more_reports_have_more_power_and_an_infinite_claim_has_none() -> None:
    few, many = (dict(audit(OUE(12, 1.0), n=n, rng=3).power) for n in (2000, 200_000))
    assert sorted(few) == sorted(many) == [1.05, 1.1, 1.2]
    assert few[1.2] < 0.1
    assert many[1.2] > 0.9
    assert many[1.05] < many[1.1] < many[1.2]
    assert audit(Honest(40, 1.0), n=1000, rng=6).power == ()


def test_other_values_and_bytes_that_the_likelihoods_do_not_read_are_looked_at() -> None:
    middle, unread = (audit(kind(k, 1.0), n=20_000, rng=1) for kind, k in ((OnlyInTheMiddle, 41), (UnreadByte, 300)))
    assert middle.verdict.startswith("FAILS: the reports show")
    assert unread.failures
    assert "as byte number" in unread.event


def test_a_level_that_is_stated_too_low_is_a_failure() -> None:
    found = audit(Understates(300, 1.0), n=1000, rng=1)
    assert found.failures == (
        "strict_epsilon() states 0.5, which is less than 1",
        "privacy() states 0.5, which is less than 1",
    )


def test_a_walk_shares_its_confidence_among_its_settings() -> None:
    walk = list(audits(OUE, settings=4, k=64, epsilon=2.0, n=1000, confidence=0.9, rng=1))
    assert [one.confidence for one in walk] == pytest.approx([0.975] * 4)
    assert len({one.mechanism.k for one in walk}) > 1
    assert all(2 <= one.mechanism.k <= 64 and 0.1 <= one.asked <= 2 and not one.failures for one in walk)
    assert [one.mechanism for one in audits(OUE, 2, 64, 2.0, 1000, rng=1)] != [
        one.mechanism for one in audits(OUE, 2, 64, 2.0, 1000, rng=2)
    ]
    assert {one.mechanism.k for one in audits(RR, 2, n=1000, rng=1)} == {2}


def test_an_audit_can_be_written_down_and_its_bound_is_never_rounded_up() -> None:
    found = audit(SS(12, 1.0), n=20_000, rng=13)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["mechanism"] == plain_mechanism(found.mechanism)
    assert plain["verdict"] == found.verdict
    assert (plain["exact"], plain["lower_bound"], plain["confidence"]) == (None, found.lower_bound, 0.99)
    said = found.summary().panels[0].rows[-1][1]
    assert found.lower_bound - 0.001 <= float(said) <= found.lower_bound


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (GRR(4, 1.0), {"n": 999}),
        (GRR(4, 1.0), {"n": 1e5}),
        (GRR(4, 1.0), {"confidence": 1.0}),
        (GRR(4, 1.0), {"confidence": 0}),
        (GRR(4, 1.0), {"rng": "seed"}),
        (GRR(4097, 1.0), {}),
    ],
)
def test_audits_that_cannot_be_made_are_refused(mechanism: Mechanism, options: dict[str, Any]) -> None:
    with pytest.raises(LdpstatsError, match="Allowed"):
        audit(mechanism, **options)
