"""The contract for protocols: what each of them does, whoever wrote it, as typing Protocols."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import ClassVar

import pandas as pd

from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame
from ldpstats.mechanisms import Mechanism
from ldpstats.numbers.randomness import Rng
from ldpstats.presentation import Summary
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.counting import Counting, Sending, SentRow
from ldpstats.protocols.population import Population
from ldpstats.tables import TableSet


class Protocol(typing.Protocol):
    """A way to collect tables from respondents: what is asked of whom, and how it is randomized.

    Every protocol, also one from a trusted curator, makes tables of a data frame and says what that costs a respondent.
    `Protocol.from_json` reads any saved one.

    To write your own, derive it from `AssignedQuestions` if every respondent answers one out of a fixed list of units:
    a frozen dataclass with the fields `domain`, `outside` and your parameters, a `kind` that no other protocol has, the
    names of what is `saved`, and `units()`. All else follows. Anything with these methods is a protocol, too.
    `register_protocol` lets `Protocol.from_json` read it, and `conformance.certify_protocol` says what it does wrong.

    Examples
    --------
    >>> from ldpstats import Domain, Protocol, SampledGroups
    >>> from ldpstats.extend import LocalProtocol
    >>> from ldpstats.protocols.contract import missing
    >>> protocol = SampledGroups(Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), epsilon=1.0)
    >>> missing(protocol, LocalProtocol)
    []
    >>> Protocol.from_json(protocol.to_json()) == protocol
    True
    """

    kind: ClassVar[str]
    """What saved files call it."""

    @property
    def domain(self) -> Domain:
        """The attributes and categories that it is about."""

    def privacy(self) -> PrivacyStatement:
        """Return what every respondent is promised before anything is collected."""

    def summary(self) -> Summary:
        """Return a table and sentences: what is asked, how it is randomized, which tables follow, the level."""

    def collect(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Ask every respondent of a data frame, one by one, and count the reports.

        Parameters
        ----------
        frame : DataFrame
            A row per respondent.
        rng : int or Generator, optional
            A seed makes a simulation.
        counts : str, optional
            For a frequency table: the column that says for how many respondents a row stands.
        """

    def simulate(self, population: Population, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Draw tables with the law of `collect`, at the level of counts.

        Parameters
        ----------
        population : DataFrame or array
            A data frame, or joint counts in domain order.
        rng, counts
            As in `collect`.
        """

    def fingerprint(self) -> str:
        """Return a short digest of everything that client and server must agree on."""

    def to_json(self) -> str:
        """Return the protocol as JSON."""

    @staticmethod
    def from_json(text: str) -> Protocol:
        """Read a protocol of any registered kind, as `to_json` wrote it.

        Parameters
        ----------
        text : str

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> text = ldp.RRBA(domain, epsilon=1.0, block_size=500).to_json()
        >>> ldp.Protocol.from_json(text).block_size
        500
        """
        from ldpstats.protocols.kinds import read_protocol

        return read_protocol(text)


class LocalProtocol(Protocol, typing.Protocol):
    """A protocol whose respondents randomize their answers themselves, so that reports can travel.

    This is local differential privacy (LDP): nobody but the respondent ever sees the true answer.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> protocol = ldp.SampledGroups(domain, epsilon=1.0)
    >>> people = domain.decode([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    >>> sent = protocol.reports(people, rng=1)
    >>> len(sent), protocol.tables(sent)["sex", "car"].n
    (100, 100)
    """

    adaptive: ClassVar[bool]
    """Whether what is sent depends on earlier reports: then all rows of a collection are counted together."""

    @property
    def sent_rows(self) -> tuple[SentRow, ...]:
        """What each row of reports answers, in the order in which files number them."""

    def counting(self) -> Counting:
        """Return what counts rows of reports, chunk by chunk, and makes tables of all of them."""

    def sent(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> Sending:
        """Return what every respondent sends, as arrays.

        Parameters
        ----------
        frame, rng, counts
            As in `collect`.
        """

    def mechanism_for(self, group: str | Iterable[str]) -> Mechanism:
        """Return the mechanism that randomizes the answers about a group: the first one, where it changes.

        Parameters
        ----------
        group : str or sequence of str
        """

    def reports(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> pd.DataFrame:
        """Return the rows that travel: what every respondent sends.

        Parameters
        ----------
        frame, rng, counts
            As in `collect`.
        """

    def tables(self, reports: pd.DataFrame) -> TableSet:
        """Count rows that travelled; rows that this protocol cannot have produced are refused.

        Parameters
        ----------
        reports : DataFrame
            Rows that `reports` made, in any order.
        """


def missing(made: object, contract: type) -> list[str]:
    """Return the names that a contract asks for and a protocol, or its class, does not have.

    Parameters
    ----------
    made : protocol or class of protocols
    contract : type
        `Protocol` or `LocalProtocol`.
    """
    # isinstance would not look at the members of a class of that name, which it takes for typing's
    contracts = [base for base in contract.__mro__ if base.__module__ == __name__]
    return [name for base in contracts for name in _members(base) if getattr(made, name, None) is None]


def _members(contract: type) -> list[str]:
    methods = [name for name in vars(contract) if callable(getattr(contract, name))]
    return [name for name in (*contract.__annotations__, *methods) if not name.startswith("_")]
