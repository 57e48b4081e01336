"""Designs without a device have the levels that are derived by hand, and estimate what was published of them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, multinomial

import ldpstats as ldp
from ldpstats import designs
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.numbers.grid import GRID
from ldpstats.privacy import strict_epsilon

P, Q, R = Fraction(7, 10), Fraction(1, 4), Fraction(1, 8)
NAMED: dict[str, tuple[ldp.Channel, Fraction | None, list[list[Fraction]]]] = {
    # by name: the design, the worst ratio of any two answers, and the share of every answer under no and under yes
    "warner": (designs.warner(P), P / (1 - P), [[P, 1 - P], [1 - P, P]]),
    "warner below a half": (designs.warner(1 - P), P / (1 - P), [[1 - P, P], [P, 1 - P]]),
    "forced response": (
        designs.forced_response(yes=R, no=R),
        (1 - R) / R,
        [[1 - R, R], [R, 1 - R]],
    ),
    "asymmetric forced response": (
        designs.forced_response(yes=Q, no=R),
        max((1 - R) / Q, (1 - Q) / R),
        [[1 - Q, Q], [R, 1 - R]],
    ),
    "one-sided forced response": (designs.forced_response(yes=Q, no=0), None, [[1 - Q, Q], [Fraction(0), Fraction(1)]]),
    "unrelated question": (
        designs.unrelated_question(P, prevalence=Q),
        max(1 + P / ((1 - P) * Q), 1 + P / ((1 - P) * (1 - Q))),
        [[P + (1 - P) * (1 - Q), (1 - P) * Q], [(1 - P) * (1 - Q), P + (1 - P) * Q]],
    ),
    "mangat": (designs.mangat(P), None, [[P, 1 - P], [Fraction(0), Fraction(1)]]),
    "kuk": (designs.kuk(P, Q), max(P / Q, (1 - Q) / (1 - P)), [[1 - Q, Q], [1 - P, P]]),
    "kuk, two cards": (
        designs.kuk(P, Q, repetitions=2),
        max((P / Q) ** 2, ((1 - Q) / (1 - P)) ** 2),
        [[(1 - share) ** 2, 2 * share * (1 - share), share**2] for share in (Q, P)],
    ),
    "disguised response": (designs.disguised_response(P), P / (1 - P), [[P, 1 - P], [1 - P, P]]),
    "crosswise": (designs.crosswise(Q), (1 - Q) / Q, [[Q, 1 - Q], [1 - Q, Q]]),
    "triangular": (designs.triangular(Q), None, [[1 - Q, Q], [Fraction(0), Fraction(1)]]),
}


@pytest.mark.parametrize("name", NAMED)
def test_levels_are_those_derived_by_hand(name: str) -> None:
    """Rounding to whole numbers of 2^-64 takes away a part in 2^60 at most, and adds nothing."""
    design, worst, shares = NAMED[name]
    ratios = [
        None if own and not beside else Fraction(own, beside)
        for row, other in (design.rows, design.rows[::-1])
        for own, beside in zip(row, other, strict=True)
        if own
    ]
    enumerated = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)
    assert design.strict_epsilon() == strict_epsilon(enumerated)
    if worst is None:
        assert design.strict_epsilon() == math.inf
    else:
        assert strict_epsilon(worst) - 1e-12 < design.strict_epsilon() <= strict_epsilon(worst)
    for row, exact in zip(design.rows, shares, strict=True):
        assert all(abs(entry - share * GRID) <= 8 for entry, share in zip(row, exact, strict=True))
    assert design.estimate(design.tally([3] * len(shares[0]))).names == ("no", "yes")


@pytest.mark.parametrize(
    ("name", "level", "told"),
    [
        ("mangat", -math.log(1 - P), "a report of 'no' shows that 'no' is true"),
        ("triangular", -math.log(Q), "a report of 'neither' shows that 'no' is true"),
        ("one-sided forced response", -math.log(Q), "a report of 'no' shows that 'no' is true"),
    ],
)
def test_one_sided_designs_protect_a_yes_and_say_what_a_no_shows(name: str, level: float, told: str) -> None:
    statement = NAMED[name][0].privacy()
    assert statement.between("yes", "no").epsilon == pytest.approx(level, abs=1e-12)
    assert statement.between("no", "yes").epsilon == math.inf
    assert statement.certain == (told,)
    assert "Nothing is strictly guaranteed" in str(statement)
    symmetric = NAMED["warner"][0].privacy()
    assert not symmetric.certain
    assert symmetric.between("yes", "no").epsilon == symmetric.between("no", "yes").epsilon == symmetric.epsilon


def test_an_unrelated_question_is_one_of_two_answers() -> None:
    """Weighed with a prevalence, the channel of both answers is that of the sensitive one."""
    both, one = designs.unrelated_question(P), designs.unrelated_question(P, prevalence=Q)
    rows = [[Fraction(entry, GRID) for entry in row] for row in both.rows]
    for place in (0, 1):
        mixed = [(1 - Q) * first + Q * second for first, second in zip(*rows[2 * place : 2 * place + 2], strict=True)]
        assert [float(share) for share in mixed] == pytest.approx(
            [entry / GRID for entry in one.rows[place]], abs=1e-15
        )
    assert both.privacy().certain == (
        "a report of 'no' rules out ('yes', 'yes')",
        "a report of 'yes' rules out ('no', 'no')",
    )
    with pytest.raises(NotIdentifiedError):
        both.estimate({"yes": 10, "no": 10})


def test_dice_as_they_were_published() -> None:
    """Yes by 831 of 2,435 in forced response with a die: "nigeria" of R's package rr, .2619 (standard error .0144)."""
    design = designs.forced_response(yes=Fraction(1, 6), no=Fraction(1, 6))
    found = design.estimate({"yes": 831, "no": 1604}).to_frame().loc["yes"]
    assert found["estimate"] == pytest.approx((831 / 2435 - 1 / 6) / (2 / 3), abs=1e-12)
    assert (round(found["estimate"], 4), round(found["std_err"], 4)) == (0.2619, 0.0144)
    share = 831 / 2435
    assert found["std_err"] == pytest.approx(math.sqrt(share * (1 - share) / 2434) / (2 / 3), abs=1e-12)


COUNTS = {"yes": 831, "no": 1604}


@pytest.mark.parametrize("left_out", ["truth", "yes", "no"])
def test_of_truth_yes_and_no_the_third_follows(left_out: str) -> None:
    shares = {"truth": Fraction(2, 3), "yes": Fraction(1, 4), "no": Fraction(1, 12)}
    whole = designs.forced_response(**shares)
    assert designs.forced_response(**{name: share for name, share in shares.items() if name != left_out}) == whole
    for wrong in ({"yes": 0.5}, {**shares, left_out: Fraction(9, 10)}, {"truth": 0.9, "yes": 0.2}):
        with pytest.raises(LdpstatsError, match="two of them, or three that sum to 1"):
            designs.forced_response(**wrong)


DICE = designs.forced_response(yes=1 / 6, no=1 / 6)


@pytest.mark.parametrize(
    "counts",
    [
        {"no": np.int64(1604), "yes": np.int32(831)},
        {"yes": 831.0, "no": 1604.0},
        pd.Series(COUNTS),
        pd.Series(["yes"] * 831 + ["no"] * 1604).value_counts(),
        pd.Series(["yes"] * 831 + ["no"] * 1604, dtype="category").value_counts(),
    ],
)
def test_counts_come_as_they_are_made(counts: Any) -> None:
    assert DICE.tally(counts).counts.tolist() == [1604, 831]
    expected, found = DICE.estimate(COUNTS), DICE.estimate(counts)
    assert found.to_frame().equals(expected.to_frame())
    assert DICE.tally([1604, 831]).counts.tolist() == [1604, 831]


@pytest.mark.parametrize("method", ["unbiased", "mle", "ibu", "norm-sub"])
def test_every_method_names_the_values(method: str) -> None:
    found = DICE.estimate({"yes": 5, "no": 95}, method)
    assert found.to_frame().index.tolist() == ["no", "yes"]
    assert "yes" in str(found)
    assert method == "unbiased" or found.estimate.min() >= 0


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"yes": 831}, r"counts of 'yes'. Allowed: a count of each output, once: 'no', 'yes'. Write 0"),
        (pd.Series(["yes"] * 5).value_counts(), r"reindex\(outputs, fill_value=0\)"),
        (pd.Series([1, 2, 3], index=["no", "yes", "yes"]), "once"),
        ({"Yes": 831, "No": 1604}, "counts of 'Yes', 'No'"),
        ({"yes": 831, "no": 1604, "refused": 3}, "'refused'"),
        ({}, "counts of nothing"),
        ({"yes": 1.5, "no": 2}, "holds 1.5"),
        ({"yes": -1, "no": 2}, "holds -1"),
        ({"yes": math.nan, "no": 2}, "holds nan"),
        ({"yes": "831", "no": "1604"}, "counts of outputs came with dtype"),
        ({"yes": True, "no": False}, "counts of outputs came with dtype bool"),
        ({"yes": None, "no": 2}, "counts of outputs came with dtype object"),
        ({"yes": 0, "no": 0}, "no reports"),
        ({"yes": 2**63 - 1, "no": 2**63 - 1}, "the number of reports"),
        ([831, 1604], "Reports|list"),
        ("yes", "str"),
    ],
)
def test_other_counts_are_refused_kindly(counts: Any, said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        DICE.estimate(counts)


def test_sums_of_counts_do_not_wrap_around() -> None:
    """Five counts of 2^62 add up to 2^62 in 64 bits."""
    cards = designs.kuk(0.8, 0.2, repetitions=4)
    with pytest.raises(LdpstatsError, match="the number of reports"):
        cards.tally([2**62] * 5)
    with pytest.raises(LdpstatsError):
        cards.tally([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])


@pytest.mark.parametrize(
    "made",
    [
        *(lambda share=share: designs.warner(share) for share in (0, 1, 0.5, -0.1, 1.1, math.nan, "0.7", None, True)),
        *(lambda share=share: designs.crosswise(share) for share in (0, 1, 0.5, Fraction(1, 2))),
        *(lambda share=share: designs.triangular(share) for share in (0, 1)),
        *(lambda share=share: designs.mangat(share) for share in (0, 1)),
        *(lambda share=share: designs.disguised_response(share) for share in (0, 1, 0.5)),
        *(lambda share=share: designs.unrelated_question(share, prevalence=0.3) for share in (0, 1)),
        *(lambda share=share: designs.unrelated_question(0.7, prevalence=share) for share in (0, 1, "known")),
        *(
            lambda pair=pair: designs.forced_response(yes=pair[0], no=pair[1])
            for pair in ((0, 0), (0.5, 0.5), (0.9, 0.2))
        ),
        *(lambda pair=pair: designs.kuk(*pair) for pair in ((0.3, 0.3), (0, 0.5), (0.5, 1))),
        *(lambda cards=cards: designs.kuk(0.8, 0.2, cards) for cards in (0, -1, 1.0, True, 101, 10**9)),
    ],
)
def test_probabilities_that_are_none_or_tell_nothing_are_refused(made: Any) -> None:
    with pytest.raises(LdpstatsError):
        made()


def test_many_cards_come_near_to_the_truth() -> None:
    """The level of so many cards is so many times that of one."""
    for cards in (1, 3, 10):
        level = designs.kuk(0.8, 0.2, cards).strict_epsilon()
        assert level == pytest.approx(cards * math.log(4), abs=1e-6)
    assert designs.kuk(0.8, 0.2, 3).outputs == (0, 1, 2, 3)


HALVES = {Fraction(7, 10): {"yes": 390, "no": 610}, Fraction(3, 10): {"yes": 372, "no": 828}}


def test_two_halves_tell_both_shares() -> None:
    """Greenberg et al. 1969: ((1 - q) y - (1 - p) z) / (p - q), and the variance of that."""
    p, q, (y, n), (z, m) = 0.7, 0.3, (0.39, 1000), (0.31, 1200)
    found = designs.two_halves(HALVES)
    assert found.estimate == pytest.approx(
        [((1 - q) * y - (1 - p) * z) / (p - q), (p * z - q * y) / (p - q)], abs=1e-12
    )
    variances = y * (1 - y) / (n - 1), z * (1 - z) / (m - 1)
    expected = ((1 - q) ** 2 * variances[0] + (1 - p) ** 2 * variances[1]) / (p - q) ** 2
    assert found.std_err[0] == pytest.approx(math.sqrt(expected), abs=1e-12)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(found.std_err, abs=1e-12)
    between = (-(1 - q) * q * variances[0] - (1 - p) * p * variances[1]) / (p - q) ** 2
    assert found.covariance[0, 1] == pytest.approx(between, abs=1e-12)
    assert found.to_frame().index.tolist() == ["sensitive", "innocuous"]
    turned = designs.two_halves(dict(reversed(HALVES.items())))
    assert np.allclose(turned.conf_int(), found.conf_int(), atol=1e-12)
    assert found.privacy is not None
    assert found.privacy.epsilon == math.inf
    assert found.n == 2200


SMALL = {
    "warner below a half": designs.warner(0.2),
    "crosswise": designs.crosswise(0.25),
    "kuk with three cards": designs.kuk(0.8, 0.2, 3),
    "kuk with a deck of few red cards": designs.kuk(0.9, 0.05, 2),
    "kuk with next to no red card": designs.kuk(0.5, 1e-6, 2),
    "three outputs": ldp.Channel([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]),
}


@pytest.mark.parametrize("name", SMALL)
def test_intervals_cover_whatever_the_outputs_are_called_and_however_many_there_are(name: str) -> None:
    """Of all counts of 20 answers, where normal intervals covered shares near 0 with .78, .85, .90 or never."""
    design, n = SMALL[name], 20
    rows = np.array(design.rows) / GRID
    tallies = [counts for counts in product(range(n + 1), repeat=rows.shape[1]) if sum(counts) == n]
    limits = np.array([design.estimate(design.tally(counts)).conf_int()[1] for counts in tallies])
    for share in (0.0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0):
        law = multinomial.pmf(tallies, n, (1 - share) * rows[0] + share * rows[1])
        covered = (limits[:, 0] <= share + 1e-9) & (share - 1e-9 <= limits[:, 1])
        assert law[covered].sum() >= 0.925


def test_intervals_do_not_depend_on_what_outputs_are_called() -> None:
    told, turned = designs.warner(0.75), designs.crosswise(0.25)
    for yes in range(21):
        one = told.estimate({"no": 20 - yes, "yes": yes}).conf_int()
        other = turned.estimate({"same": 20 - yes, "different": yes}).conf_int()
        assert np.allclose(one, other, atol=1e-9)


def test_a_known_prevalence_is_the_same_question() -> None:
    """With so many in the second half that the innocuous share is as good as known, one half gives the same."""
    n = 10**15
    prevalence = 0.25
    yes = round(n * (0.3 * 0.45 + 0.7 * prevalence))
    found = designs.two_halves({0.7: {"yes": 390, "no": 610}, 0.3: {"yes": yes, "no": n - yes}})
    assert found.kind_of_intervals == "Wilson, of all shares combined"
    assert found.estimate[0] == pytest.approx(((1 - 0.3) * 0.39 - 0.3 * yes / n) / 0.4, abs=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0.7, 0.3), (0.9, 0.5)])
def test_intervals_of_two_halves_cover_by_enumeration(p: float, q: float) -> None:
    """Of all pairs of counts in halves of 20, where normal intervals cover from .43 up."""
    n = 20
    halves = [[{p: {"yes": a, "no": n - a}, q: {"yes": b, "no": n - b}} for b in range(n + 1)] for a in range(n + 1)]
    limits = np.array([[designs.two_halves(pair).conf_int()[0] for pair in row] for row in halves])
    for sensitive, innocuous in product((0.02, 0.1, 0.3, 0.5), (0.1, 0.5)):
        shares = p * sensitive + (1 - p) * innocuous, q * sensitive + (1 - q) * innocuous
        law = np.outer(*(binom.pmf(np.arange(n + 1), n, share) for share in shares))
        assert law[(limits[..., 0] <= sensitive) & (sensitive <= limits[..., 1])].sum() >= 0.945


def test_estimates_of_two_halves_are_kept_in_files(tmp_path: Path) -> None:
    found = designs.two_halves(HALVES)
    found.save(tmp_path / "estimate.json")
    again = ldp.load(tmp_path / "estimate.json")
    assert again.to_frame().equals(found.to_frame())
    assert again.to_frame(alpha=0.5).equals(found.to_frame(alpha=0.5))
    swapped = found.in_order(np.array([1, 0]))
    assert np.array_equal(swapped.conf_int(), found.conf_int()[::-1])
    assert swapped.names == ("innocuous", "sensitive")


@pytest.mark.parametrize(
    "halves",
    [
        {0.7: {"yes": 1, "no": 2}},
        {0.7: {"yes": 1, "no": 2}, Fraction(0.7): {"yes": 1, "no": 2}},
        {0.7: {"yes": 1, "no": 2}, Fraction(7, 10): {"yes": 1, "no": 2}},
        {0.7: {"yes": 1, "no": 2}, 0.3: {"yes": 1, "no": 2}, 0.5: {"yes": 1, "no": 2}},
        {0.7: {"yes": 1, "no": 2}, 0.3: {"yes": 1}},
        {0.7: {"yes": 1, "no": 2}, 1.3: {"yes": 1, "no": 2}},
        {0.7: {"yes": 1, "no": 2}, "0.3": {"yes": 1, "no": 2}},
        {0.7: {"yes": 1, "no": 2}, 0.3: {"yes": 1, "no": 0}},
        {0.7: {"yes": 1, "no": 2}, 0.3: {"yes": 0, "no": 0}},
        {0.7: {"yes": 1, "no": 2}, 0.3: None},
        {0.7: [1, 2], 0.3: [1, 2]},
        [(0.7, {"yes": 1, "no": 2}), (0.3, {"yes": 1, "no": 2})],
        {},
        None,
    ],
)
def test_other_halves_are_refused_kindly(halves: Any) -> None:
    with pytest.raises(LdpstatsError):
        designs.two_halves(halves)


def test_designs_are_asked_in_protocols() -> None:
    """What is certain is said of the protocol and of its tables; each group's mechanism says the rest."""
    domain = ldp.Domain({"drug": ["no", "yes"], "sex": ["F", "M"]})
    design = designs.mangat(0.7)
    protocol = ldp.PerAttribute(domain, epsilon=math.inf, mechanism=[design, ldp.Channel([[0.7, 0.3], [0.3, 0.7]])])
    told = "about drug, a report of 'no' shows that 'no' is true"
    assert protocol.privacy().certain == (told,)
    said = " ".join(str(protocol.privacy()).split())
    assert (
        "About drug, a report of 'no' shows that 'no' is true. The protocol's mechanism_for(group).privacy() says"
        in said
    )
    assert protocol.mechanism_for("drug").privacy() == design.privacy()
    assert told in " ".join(str(protocol).split())
    table = protocol.simulate([[300, 200], [100, 400]], rng=1)["drug"]
    assert told in " ".join(str(table).split())
    finite = ldp.SampledGroups(domain.project(["sex"]), k=1, epsilon=1.0)
    assert finite.privacy().certain == ()
