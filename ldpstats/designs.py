"""Designs without a device: questions that protect by dice, cards or an innocuous question, each as a `Channel`.

Answers that were collected so are counted on paper and estimated in one call:
`designs.forced_response(yes=1 / 6, no=1 / 6).estimate({"yes": 638, "no": 1797})`.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.mechanisms import Channel
from ldpstats.numbers.arrays import at_least, probability

_ANSWERS = ("no", "yes")


def warner(p: float) -> Channel:
    """Warner's design: with probability p the statement is "I do", else "I do not"; both are answered truly.

    Parameters
    ----------
    p : float
        The probability of the statement itself; not 1/2.

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
    return _yes_or_no(1 - told, told)


def forced_response(*, yes: float, no: float) -> Channel:
    """Forced response: dice tell to say yes, to say no, or to answer truly.

    Parameters
    ----------
    yes, no : float
        The probabilities of being told to say so; different ones make the design asymmetric.

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
    forced_yes, forced_no = _chance(yes, "yes"), _chance(no, "no")
    if forced_yes + forced_no >= 1:
        raise LdpstatsError(f"yes = {yes!r} and no = {no!r}", "probabilities whose sum is below 1")
    return _yes_or_no(forced_yes, 1 - forced_no)


def unrelated_question(p: float, prevalence: float | None = None) -> Channel:
    """Unrelated question: with probability p the sensitive question is answered, else an innocuous one.

    Where the innocuous answer's prevalence is not known, respondents are asked in two halves with different p, and the
    channel is one of both answers together (sensitive, innocuous), which are independent of the device: it tells
    p sensitive + (1 - p) innocuous. Two halves tell both, as functionals of a table of the two (`SampledGroups` twice,
    added up, and `table.share`).

    Parameters
    ----------
    p : float
        The probability of the sensitive question.
    prevalence : float, optional
        The share of yes to the innocuous one, if it is known; it is taken to be independent of the sensitive answer.

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
    shares = [asked * sensitive + (1 - asked) * other for sensitive in (0, 1) for other in (0, 1)]
    pairs = tuple((sensitive, other) for sensitive in _ANSWERS for other in _ANSWERS)
    return Channel(tuple((1 - share, share) for share in shares), pairs, _ANSWERS)


def mangat(p: float) -> Channel:
    """Mangat's design: who does says yes; who does not answers by Warner's device.

    Parameters
    ----------
    p : float
        The probability that who does not is asked for the statement itself, and so says no.

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
    """Kuk's design: cards out of one of two decks, as one's answer is; the numbers of red ones are told.

    Parameters
    ----------
    red_if_yes, red_if_no : float
        The shares of red cards in the decks.
    repetitions : int
        How many cards are drawn, with replacement.

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
    cards = at_least(repetitions, 1, "repetitions")
    chances = _chance(red_if_no, "red_if_no"), _chance(red_if_yes, "red_if_yes")
    rows = [
        [comb(cards, red) * chance**red * (1 - chance) ** (cards - red) for red in range(cards + 1)]
        for chance in chances
    ]
    outputs = _ANSWERS if cards == 1 else tuple(range(cards + 1))
    return Channel(rows, _ANSWERS, outputs)


def disguised_response(p: float) -> Channel:
    """Disguised response: a card out of the yes deck, with a share p of yes cards, or the no deck, with 1 - p.

    Parameters
    ----------
    p : float
        The share of yes cards in the deck of those who do; not 1/2.

    References
    ----------
    Kuk 1990, in Blair, Imai & Zhou 2015.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> round(ldp.designs.disguised_response(0.8).strict_epsilon(), 4)
    1.3863
    """
    return kuk(p, float(1 - _chance(p, "p")))


def crosswise(prevalence: float) -> Channel:
    """Crosswise model: "both answers are the same", or not, of the sensitive question and an innocuous one.

    Parameters
    ----------
    prevalence : float
        The known share of yes to the innocuous one, which is independent of the sensitive answer; not 1/2.

    References
    ----------
    Yu, Tian & Tang 2008.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.designs.crosswise(0.25).estimate({"same": 400, "different": 600}).estimate.round(3)
    array([0.3, 0.7])
    """
    innocuous = _chance(prevalence, "prevalence")
    return Channel(((innocuous, 1 - innocuous), (1 - innocuous, innocuous)), _ANSWERS, ("different", "same"))


def triangular(prevalence: float) -> Channel:
    """Triangular model: "neither question is a yes", or at least one is, of the sensitive one and an innocuous one.

    Parameters
    ----------
    prevalence : float
        The known share of yes to the innocuous one, which is independent of the sensitive answer.

    References
    ----------
    Yu, Tian & Tang 2008.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.designs.triangular(0.25).privacy().certain
    ["An answer 'neither' shows that 'no' is the case"]
    """
    innocuous = _chance(prevalence, "prevalence")
    return Channel(((1 - innocuous, innocuous), (Fraction(0), Fraction(1))), _ANSWERS, ("neither", "at least one"))


def _yes_or_no(yes_if_no: Fraction, yes_if_yes: Fraction) -> Channel:
    if yes_if_no == yes_if_yes:
        raise LdpstatsError(
            f"a yes with probability {float(yes_if_no)!r} whatever is true", "a design that tells something"
        )
    return Channel(((1 - yes_if_no, yes_if_no), (1 - yes_if_yes, yes_if_yes)), _ANSWERS, _ANSWERS)


def _chance(share: float | Fraction, what: str) -> Fraction:
    """Return a probability strictly between 0 and 1, as the exact number that was given."""
    exact = share if isinstance(share, Fraction) else Fraction(probability(share, what))
    if not 0 < exact < 1:
        raise LdpstatsError(f"{what} = {shortened(share)}", "a probability above 0 and below 1")
    return exact
