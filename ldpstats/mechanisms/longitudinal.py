"""Longitudinal mechanisms: permanent randomized answers, and a second randomization for every report (memoization)."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.base import Mechanism, ReportFormat
from ldpstats.mechanisms.changing import checked_course
from ldpstats.mechanisms.patterns import by_pattern
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.hashing import symbols_of
from ldpstats.numbers.randomness import Draws
from ldpstats.privacy import PrivacyStatement, strict_epsilon


class Longitudinal(Mechanism):
    """A mechanism for being asked again: what it draws about a value is drawn once, and kept in a `Memo`.

    `epsilon` is the level of the permanent answer, which is all that a respondent's reports can ever tell together
    about a value that never changes. Whether and when a value changes is not protected: reports of one permanent answer
    show ever more plainly that the next ones are made of another. `changing_epsilon` says how much, exactly. Permanent
    answers are stored as reports are: an array with a row per respondent.
    """

    purpose: ClassVar[str] = "repeated answers"
    longitudinal: ClassVar[bool] = True

    @property
    def first_epsilon(self) -> float | None:
        """The privacy level of one report that was asked for; None where a report is the permanent answer itself."""
        return None

    @property
    def first_level(self) -> float:
        """The privacy level of one report that was asked for; the implemented one is never above it."""
        return self.epsilon if self.first_epsilon is None else self.first_epsilon

    @property
    @abstractmethod
    def permanent(self) -> Mechanism:
        """The mechanism for a single collection that draws the permanent answers."""

    @property
    def finest(self) -> Mechanism:
        """Count whole reports if the permanent answers' mechanism does, else as always."""
        permanent = self.permanent
        return self if permanent.finest is permanent else by_pattern(self)

    @property
    def report_format(self) -> ReportFormat:
        """The form of the permanent answers."""
        return self.permanent.report_format

    @property
    def report_bits(self) -> int:
        """Bits of a permanent answer."""
        return self.permanent.report_bits

    @property
    def hash_symbols(self) -> int | None:
        """Symbols of the hash functions of the permanent answers; None without hashing."""
        return self.permanent.hash_symbols

    @property
    def derived(self) -> dict[str, int]:
        """What follows from the parameters of the permanent answers' mechanism."""
        return self.permanent.derived

    def lifetime_ratio(self) -> Fraction | None:
        """Return the worst-case ratio of the permanent answer, which bounds all reports about one value."""
        return self.permanent.likelihood_ratio()

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports can be permanent answers."""
        return self.permanent.possible(reports)

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count reports as permanent answers are counted."""
        return self.permanent.count_reports(reports)

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return what each report adds to the tally, a row per report."""
        return self.permanent.contributions(reports)

    def remember(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw the permanent answers of respondents who have none yet.

        Parameters
        ----------
        values : array of int
            The true values.
        draws : Draws
        """
        return self.permanent.randomize(values, draws)

    @abstractmethod
    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Draw one report from each permanent answer.

        Parameters
        ----------
        permanent : array
            Permanent answers, a row per respondent.
        draws : Draws
        """

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw permanent answers about further values of respondents, given an `earlier` one of each.

        Mechanisms with something that a respondent keeps for all values (a hash function) take it from there.

        Parameters
        ----------
        earlier : array
            A permanent answer of each respondent.
        values : array of int
            What the further answers are about.
        draws : Draws
        """
        del earlier
        return self.remember(values, draws)

    def kept(self, permanent: NDArray[Any]) -> NDArray[Any]:
        """Return what of a permanent answer its respondent keeps for all values, a row each: a hash function, if any.

        Parameters
        ----------
        permanent : array
            Permanent answers, a row per respondent.
        """
        return np.empty((len(permanent), 0), permanent.dtype) if self.hash_symbols is None else permanent[:, :-1]

    @property
    def most_classes(self) -> int:
        """The most permanent answers that one respondent can need; `classes` numbers them."""
        return self.hash_symbols or self.k

    def classes(self, permanent: NDArray[Any], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number, from 0 on, the permanent answer that each respondent needs for a value, given any one of hers.

        Values with the same number share a permanent answer: those of a symbol, where there is a hash function.

        Parameters
        ----------
        permanent : array
            Permanent answers, a row per respondent.
        values : array of int
            A value of each respondent.
        """
        return values if self.hash_symbols is None else symbols_of(self.kept(permanent), values, self.hash_symbols)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Report once, from a permanent answer that nobody keeps; with a `Memo` it is kept."""
        return self.report(self.remember(values, draws), draws)

    def first_report_epsilon(self) -> float:
        """Return the exact privacy level of one report, rounded up to a double."""
        return strict_epsilon(self.likelihood_ratio())

    @abstractmethod
    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction | None:
        """Return the exact worst-case ratio of all reports in these rounds; None if unbounded.

        Two sequences of values are compared, of which one changes `changes` times at most and the other `others` times.

        Parameters
        ----------
        rounds : int
            How often a respondent reports.
        changes, others : int
            How often each of the two sequences changes at most.
        """

    def changing_epsilon(self, rounds: int, changes: int = 1, others: int | None = None) -> float:
        """Return the exact level of all reports in these rounds if a value may change, rounded up to a double.

        That is the largest log ratio of the probabilities that two sequences of values give to the same reports, by
        enumeration. It covers everything: which values there were, whether and when one took the place of another.

        Parameters
        ----------
        rounds : int
            How often a respondent reports.
        changes : int
            How often a sequence of values changes at most; 0 compares values that never change.
        others : int, optional
            The same for the sequence that it is compared with, if that is another number: 0 asks how plainly a change
            shows against none.

        Examples
        --------
        >>> from ldpstats import mechanism
        >>> lgrr = mechanism("l-grr", k=2, epsilon=1.0)
        >>> [round(lgrr.changing_epsilon(rounds, others=0), 2) for rounds in (4, 8, 16, 64)]
        [1.8, 4.1, 8.82, 37.14]
        """
        return strict_epsilon(self.changing_ratio(*checked_course(rounds, changes, others)))

    def privacy(self, rounds: int | None = None, changes: int = 0) -> PrivacyStatement:
        """Return the guarantee for everything that a respondent ever sends about one value.

        With `changes` it is the one for all reports in so many `rounds` about a value that changes no more often.

        Parameters
        ----------
        rounds : int, optional
            How often a respondent reports; any number of times if nothing else is said.
        changes : int
            How often her value changes at most.
        """
        if rounds is None and changes == 0:
            return PrivacyStatement(self.strict_epsilon(), "all reports about one value, which never changes")
        if rounds is None:
            raise LdpstatsError(
                f"changes = {changes!r} without rounds",
                "a number of rounds: the more reports there are, the more plainly a change shows",
            )
        often = "once" if changes == 1 else f"{changes} times"
        course = f"changes at most {often}" if changes else "never changes"
        unit = f"all reports in {rounds} rounds about a value that {course}"
        return PrivacyStatement(self.changing_epsilon(rounds, changes), unit)
