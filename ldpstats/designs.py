"""Designs without a device: questions that protect by dice, cards or an innocuous question, each as a `Channel`.

Answers that were collected so are counted on paper and estimated in one call:
`designs.forced_response(yes=1 / 6, no=1 / 6).estimate({"yes": 831, "no": 1604})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, NotIdentifiedError, shortened
from ldpstats.estimation import Estimate
from ldpstats.estimation.estimate import CombinedShares
from ldpstats.mechanisms import Channel
from ldpstats.numbers.arrays import at_least, probability

_ANSWERS = ("no", "yes")
_ROUNDING = 1e-12
_MOST_CARDS = 100
"""Beyond this many cards the number of red ones is hardly told, and comes near to the truth."""


def warner(p: float) -> Channel:
    """Warner's design: with probability p the statement is "I do", else "I do not"; both are answered truly.

    Parameters
    ----------
    p : float
        The probability of the statement itself; not 1/2.

    Returns
    -------
    Channel
        Of a no and a yes.

    References
    ----------
    Warner 1965; as "mirrored question" in Blair, Imai & Zhou 2015.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> round(ldp.designs.warner(0.75).strict_epsilon(), 4)
    1.0986
    """
    told = _chance(p, "p")
    return _yes_or_no(1 - told, told, f"p = {p!r}")


def forced_response(*, truth: float | None = None, yes: float | None = None, no: float | None = None) -> Channel:
    """Forced response: dice tell to say yes, to say no, or to answer truly.

    Parameters
    ----------
    truth, yes, no : float, optional
        The probabilities of being told to answer truly, and to say yes or no; of two, the third follows. Different
        ones of yes and no make the design asymmetric. If one of them is 0, the other answer is certain to be true.

    Returns
    -------
    Channel
        Of a no and a yes.

    References
    ----------
    Boruch 1971; Fox & Tracy 1986.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> design = ldp.designs.forced_response(yes=1 / 6, no=1 / 6)
    >>> found = design.estimate({"yes": 400, "no": 600})
    >>> found.to_frame().loc["yes"].round(3).tolist()
    [0.35, 0.023, 0.305, 0.396]
    """
    given = {"truth": truth, "yes": yes, "no": no}
    told = {name: _exact(share, name) for name, share in given.items() if share is not None}
    rest = Fraction(1) - sum(told.values())
    # of three doubles the sum may be 1 but for rounding
    if len(told) < 2 or rest < -_ROUNDING or (len(told) == 3 and rest > _ROUNDING):
        raise LdpstatsError(f"truth = {truth!r}, yes = {yes!r} and no = {no!r}", "two of them, or three that sum to 1")
    rest = max(rest, Fraction(0))
    forced_yes, forced_no = told.get("yes", rest), told.get("no", rest)
    if not 0 < forced_yes + forced_no < 1:
        raise LdpstatsError(f"yes = {yes!r} and no = {no!r}", "probabilities whose sum is above 0 and below 1")
    return _yes_or_no(forced_yes, 1 - forced_no)


def unrelated_question(p: float, prevalence: float | None = None) -> Channel:
    """Unrelated question: with probability p the sensitive question is answered, else an innocuous one.

    Where the innocuous answer's prevalence is not known, the channel is one of both answers together (sensitive,
    innocuous), and says yes to a share p of (yes, no) and 1 - p of (no, yes): one half of the respondents tells no
    prevalence. Two halves that are asked with different p tell both: `two_halves`.

    Parameters
    ----------
    p : float
        The probability of the sensitive question.
    prevalence : float, optional
        The share of yes to the innocuous one, if it is known; it is taken to be independent of the sensitive answer.

    Returns
    -------
    Channel
        Of two values, or of the four pairs of answers.

    References
    ----------
    Greenberg, Abul-Ela, Simmons & Horvitz 1969.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> round(ldp.designs.unrelated_question(0.7, prevalence=0.25).strict_epsilon(), 4)
    2.3354
    >>> ldp.designs.unrelated_question(0.7).values
    (('no', 'no'), ('no', 'yes'), ('yes', 'no'), ('yes', 'yes'))
    """
    asked = _chance(p, "p")
    if prevalence is not None:
        innocuous = _chance(prevalence, "prevalence")
        return _yes_or_no((1 - asked) * innocuous, asked + (1 - asked) * innocuous)
    pairs = tuple(product(_ANSWERS, repeat=2))
    shares = [asked * (sensitive == "yes") + (1 - asked) * (other == "yes") for sensitive, other in pairs]
    return Channel([(1 - share, share) for share in shares], pairs, _ANSWERS)


def two_halves(counts: Mapping[float, Mapping[str, int] | pd.Series[int]]) -> Estimate:
    """Estimate the sensitive share and the innocuous one of an unrelated question asked with two probabilities.

    With the shares of yes y and z in halves asked with p and q, p sensitive + (1 - p) innocuous = y, and likewise of
    the other half. The halves are drawn at random from the same population, and nobody is in both. Intervals combine
    Wilson's of both halves (Zou & Donner 2008); where the truth lies between .02 and .5, those of 95 % cover it with
    probability .945 or more, also in halves of 20 (by enumeration).

    Parameters
    ----------
    counts : mapping of float to mapping
        Of each of the two probabilities p, how often "yes" and "no" came.

    Returns
    -------
    Estimate
        The shares of yes to the sensitive question and to the innocuous one, with their covariance.

    References
    ----------
    Greenberg, Abul-Ela, Simmons & Horvitz 1969.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> found = ldp.designs.two_halves({0.7: {"yes": 390, "no": 610}, 0.3: {"yes": 310, "no": 690}})
    >>> found.to_frame().loc["sensitive"].round(3).tolist()
    [0.45, 0.029, 0.393, 0.507]
    >>> found.to_frame().loc["innocuous"].round(3).tolist()
    [0.25, 0.028, 0.196, 0.306]
    """
    by_name = isinstance(counts, Mapping) and all(isinstance(own, (Mapping, pd.Series)) for own in counts.values())
    # as doubles: what only fractions tell apart does not tell the shares
    if not by_name or len(counts) != 2 or len({float(_chance(p, "p")) for p in counts}) != 2:
        raise LdpstatsError(f"halves = {shortened(counts)}", "counts by name of two halves, each by its own p")
    designs = [unrelated_question(p) for p in counts]
    halves = [design.tally(own) for design, own in zip(designs, counts.values(), strict=True)]
    reports = [half.n for half in halves]
    if min(reports) < 2:
        raise NotIdentifiedError(f"halves of {reports} respondents", "at least two in each")
    solved = np.linalg.inv([[float(p), 1 - float(p)] for p in counts])
    limits = CombinedShares(solved, np.array([half.proportions[1] for half in halves]), np.array(reports))
    covariance = solved * limits.variances @ solved.T
    promised = designs[0].privacy().joined(designs[1].privacy())
    names = ("sensitive", "innocuous")
    return Estimate(solved @ limits.shares, covariance, sum(reports), promised, limits=limits, names=names)


def mangat(p: float) -> Channel:
    """Mangat's design: who does says yes; who does not answers by Warner's device.

    Parameters
    ----------
    p : float
        The probability that who does not is asked for the statement itself, and so says no.

    Returns
    -------
    Channel
        Of a no and a yes.

    References
    ----------
    Mangat 1994.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> print(ldp.designs.mangat(0.75).privacy().guarantee())
    Nothing is strictly guaranteed: what becomes known may show the true answer.
    """
    return _yes_or_no(1 - _chance(p, "p"), Fraction(1))


def kuk(red_if_yes: float, red_if_no: float, repetitions: int = 1) -> Channel:
    """Kuk's design: cards are drawn out of one of two decks, as one's answer is, and the number of red ones is told.

    Parameters
    ----------
    red_if_yes, red_if_no : float
        The shares of red cards in the decks, which differ.
    repetitions : int
        How many cards are drawn, with replacement.

    Returns
    -------
    Channel
        Of a no and a yes.

    References
    ----------
    Kuk 1990.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> design = ldp.designs.kuk(0.8, 0.2, repetitions=2)
    >>> design.outputs, round(design.strict_epsilon(), 3)
    ((0, 1, 2), 2.773)
    """
    cards = at_least(repetitions, 1, "repetitions", _MOST_CARDS)
    chances = _chance(red_if_no, "red_if_no"), _chance(red_if_yes, "red_if_yes")
    if chances[0] == chances[1]:
        raise LdpstatsError(f"two decks with {red_if_yes!r} red cards", "decks whose shares of red cards differ")
    rows = [
        [comb(cards, red) * chance**red * (1 - chance) ** (cards - red) for red in range(cards + 1)]
        for chance in chances
    ]
    return Channel(rows, _ANSWERS, range(cards + 1))


def disguised_response(p: float) -> Channel:
    """Disguised response: who does draws from a deck with a share p of yes cards, who does not from one with 1 - p.

    The card that was drawn is the answer: Warner's channel, without a question.

    Parameters
    ----------
    p : float
        The share of yes cards in the deck of those who do; not 1/2.

    Returns
    -------
    Channel
        Of a no and a yes.

    References
    ----------
    Kuk 1990, in Blair, Imai & Zhou 2015.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> round(ldp.designs.disguised_response(0.8).strict_epsilon(), 4)
    1.3863
    """
    return warner(p)


def crosswise(prevalence: float) -> Channel:
    """Crosswise model: "both answers are the same", or not, of the sensitive question and an innocuous one.

    Parameters
    ----------
    prevalence : float
        The known share of yes to the innocuous one, which is independent of the sensitive answer; not 1/2.

    Returns
    -------
    Channel
        Of a no and a yes.

    References
    ----------
    Yu, Tian & Tang 2008.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.designs.crosswise(0.25).estimate({"same": 600, "different": 400}).estimate.round(3)
    array([0.7, 0.3])
    """
    innocuous = _chance(prevalence, "prevalence")
    return _yes_or_no(1 - innocuous, innocuous, f"prevalence = {prevalence!r}", ("different", "same"))


def triangular(prevalence: float) -> Channel:
    """Triangular model: "neither question is a yes", or at least one is, of the sensitive one and an innocuous one.

    Parameters
    ----------
    prevalence : float
        The known share of yes to the innocuous one, which is independent of the sensitive answer.

    Returns
    -------
    Channel
        Of a no and a yes.

    References
    ----------
    Yu, Tian & Tang 2008.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.designs.triangular(0.25).privacy().certain
    ("a report of 'neither' shows that 'no' is true",)
    """
    innocuous = _chance(prevalence, "prevalence")
    return Channel(((1 - innocuous, innocuous), (Fraction(0), Fraction(1))), _ANSWERS, ("neither", "at least one"))


def _yes_or_no(
    yes_if_no: Fraction, yes_if_yes: Fraction, given: str = "", outputs: tuple[str, str] = _ANSWERS
) -> Channel:
    if yes_if_no == yes_if_yes:
        raise LdpstatsError(given, "another probability than 1/2, with which answers would tell nothing")
    return Channel(((1 - yes_if_no, yes_if_no), (1 - yes_if_yes, yes_if_yes)), _ANSWERS, outputs)


def _chance(share: float | Fraction, what: str) -> Fraction:
    """Return a probability strictly between 0 and 1, as the exact number that was given."""
    exact = _exact(share, what)
    if not 0 < exact < 1:
        raise LdpstatsError(f"{what} = {shortened(share)}", "a probability above 0 and below 1")
    return exact


def _exact(share: float | Fraction, what: str) -> Fraction:
    known = probability(share, what)
    return share if isinstance(share, Fraction) else Fraction(known)
