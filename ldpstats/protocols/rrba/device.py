"""A respondent's own device: the client, which needs nothing of the aggregator but the query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from ldpstats.answers.columns import Category, known_category
from ldpstats.answers.domain import Domain
from ldpstats.errors import DomainError, LdpstatsError, ReportError, one_line, shortened
from ldpstats.numbers.arrays import real_number
from ldpstats.numbers.randomness import Rng, client_draws, client_words
from ldpstats.protocols.groups import checked_domain
from ldpstats.protocols.population import REFUSE, checked_outside
from ldpstats.protocols.rrba.ownership import Owned, in_turn
from ldpstats.protocols.rrba.query import Answer, Query
from ldpstats.saving.files import Saveable, opened, sealed

if TYPE_CHECKING:
    from ldpstats.protocols.rrba.protocol import RRBA

_SAVED = ("client", 1)
_NAMES = {"domain", "record", "protocol", "limit", "spent", "answers"}
_Key: TypeAlias = tuple[str, int, str]


class Client(Owned, Saveable):
    """A respondent who answers queries truthfully or with fakes, and keeps count of what that costs her.

    An answer is drawn once: the same query gets the same answer again, so that it may be sent as often as the
    network needs. Levels of different queries add up, and a query that would exceed the limit is refused. Whether
    a query is refused never depends on the record. All this holds for one client: a device that is switched off
    stores `to_json` before an answer leaves it.

    A client that is given the protocol (`RRBA.client` makes one) answers that protocol's own queries and nothing else:
    its groups, the probability of the truth that it prescribes for the fakes that came, none of them rarer than its
    floor. So an aggregator cannot ask for more truth. A client that knows only the questionnaire answers any query
    about it within the limit, but none that could show the truth for sure, whatever the limit is.

    Parameters
    ----------
    domain : Domain
        The public questionnaire; queries about anything else are refused.
    record : mapping of str to category
        Her true answers, by attribute: a dictionary or a row of a data frame, of which a copy is kept.
    limit : float
        The largest strict ε of her whole record that she will spend in all. `math.inf` is for the protocol of the
        paper, whose strict level has no bound; without a protocol it trusts the aggregator to ask for no more truth
        than was announced.
    protocol : RRBA, optional
        The public protocol, against which every query is checked.
    outside : {"refuse", "random"}, optional
        What becomes of an answer that is missing or no category of the questionnaire; a protocol says it itself, and
        without one "refuse" is the default. To refuse it is an error here, and a device that then stays silent shows
        that there was such an answer. "random" puts a category in its place that is drawn uniformly, once, with the
        system's secure randomness: no query can tell, the level covers such records, too, and the frequencies are
        those of a population with such answers.

    Examples
    --------
    >>> from ldpstats import RRBA, Domain
    >>> from ldpstats.protocols.rrba import Client
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> aggregator = RRBA(domain, epsilon=1.0).aggregator()
    >>> client = Client(domain, {"sex": "F", "car": "no"}, limit=1.0)
    >>> aggregator.take(client.answer(aggregator.query()))
    >>> client.spent, aggregator.n
    (1.0, 1)
    """

    __slots__ = ("_answers", "_domain", "_protocol", "_record", "_spent", "limit")

    _called = "a client"
    _instead = "Store to_json where the record may stand, and go on from there in one process alone."

    def __init__(
        self,
        domain: Domain,
        record: Mapping[str, Category],
        limit: float,
        *,
        protocol: RRBA | None = None,
        outside: str | None = None,
    ) -> None:
        super().__init__()
        number = real_number(limit)
        if not number > 0 or (number == math.inf and limit != math.inf):
            raise LdpstatsError(f"limit = {shortened(limit)}", "a level above 0; math.inf for no limit")
        self.limit: float = number
        self._domain = checked_domain(domain)
        if protocol is not None and protocol.domain != self._domain:
            raise LdpstatsError(f"a protocol over {protocol.domain!r}", f"one over the questionnaire {self._domain!r}")
        self._protocol = protocol
        self._record = _own_record(self._domain, record, _policy(protocol, outside))
        # each with what it cost, and what all up to it did: in one entry, which no interruption can part
        self._answers: dict[_Key, tuple[Answer, float, float]] = {}

    @property
    def spent(self) -> float:
        """The strict ε of her whole record that all her answers together cost."""
        return next(reversed(self._answers.values()))[2] if self._answers else 0.0

    @property
    def epsilon(self) -> float:
        """The largest strict ε of her whole record that one answer may cost."""
        return self.limit if self._protocol is None else min(self.limit, self._protocol.privacy().epsilon)

    @property
    def p(self) -> float | None:
        """The largest probability of the truth about a group; None without a protocol, which would promise one."""
        return None if self._protocol is None else float(self._protocol.largest_p)

    @property
    def certain(self) -> bool:
        """Whether an answer may be one that nobody else can give: the truth for certain, as often as `p` says."""
        return self._protocol is not None and self.epsilon == math.inf

    @in_turn
    def answer(self, query: Query, rng: Rng = None) -> Answer:
        """Return the randomized answer to a query, drawn with the system's secure randomness unless `rng` is given.

        Parameters
        ----------
        query : Query
        rng : int or Generator, optional
            A seed makes a simulation.
        """
        if not isinstance(query, Query):
            raise ReportError(f"a query of type {type(query).__name__}", "a Query", "Query.from_json reads one.")
        query.refuse_misfits()
        key = (query.protocol, query.number, query.token)
        if key not in self._answers:
            public = self._domain.categories
            for group in query.groups:
                for name, categories in group.domain.categories.items():
                    if public.get(name) != categories:
                        raise DomainError(
                            f"a query about {name!r} with {one_line(list(categories))}",
                            f"the public questionnaire: {one_line(list(public))}, with its own categories",
                            "Nothing was answered, and nothing spent.",
                        )
            if self._protocol is not None and not self._protocol.makes(query):
                known, promised = self._protocol.fingerprint(), self._protocol.privacy().headline
                raise LdpstatsError(
                    f"a query of strict epsilon = {query.strict_epsilon()!r} that her protocol does not make",
                    f"its groups, its truth and its floor: {known}, {promised}",
                    "Nothing was answered, and nothing spent.",
                )
            if self._protocol is None and query.strict_epsilon() == math.inf:
                raise LdpstatsError(
                    "a query of strict epsilon = inf, whose answer could be the truth for sure",
                    "finite levels, whatever the limit is",
                    "RRBA.client makes a client that answers what that protocol asks, and nothing else.",
                )
            level, after = query.strict_epsilon(), self._affordable(query)
            word = client_words(rng)
            # only now is the record looked at: what was refused, was refused whatever it holds
            reported = tuple(asked.randomizer.randomize_one(asked.cell(self._record), word) for asked in query.groups)
            drawn = Answer(query.protocol, query.number, query.block, query.token, reported, rng is not None)
            # and only now, when nothing can fail any more, is it paid for
            self._answers[key] = drawn, level, after
        return self._answers[key][0]

    @in_turn
    def to_json(self) -> str:
        """Return everything as JSON: her record, her answers, and what they cost. It is as private as the record."""
        answers = [{**drawn.to_dict(), "epsilon": _plain_level(level)} for drawn, level, _ in self._answers.values()]
        levels = {"limit": _plain_level(self.limit), "spent": _plain_level(self.spent)}
        known = {"domain": self._domain.to_dict(), "record": self._record}
        protocol = None if self._protocol is None else self._protocol.to_json()
        return sealed(*_SAVED, {**known, "protocol": protocol, **levels, "answers": answers})

    @classmethod
    def from_json(cls, text: str) -> Client:
        """Go on from what `to_json` wrote.

        Parameters
        ----------
        text : str
        """
        return opened(text, *_SAVED, cls._read)

    @classmethod
    def _read(cls, body: dict[str, Any]) -> Client:
        if set(body) != _NAMES or list(body["record"]) != list(body["domain"]):
            raise ValueError(f"it holds {one_line(list(body))}, about {one_line(list(body['record']))}")
        from ldpstats.protocols.rrba.protocol import RRBA

        protocol = None if body["protocol"] is None else RRBA.from_json(body["protocol"])
        domain = Domain(body["domain"])
        # what was stored has its substitutes already: another value is damage
        record = _own_record(domain, body["record"], REFUSE)
        client = cls(domain, record, _read_level(body["limit"]), protocol=protocol)
        for plain in body["answers"]:
            answer = dict(plain)
            level, drawn = _read_level(answer.pop("epsilon")), Answer.from_dict(answer)
            key = (drawn.protocol, drawn.number, drawn.token)
            if key in client._answers or not level > 0:
                raise ValueError(f"two answers to query {drawn.number}, or one that costs {level!r}")
            client._answers[key] = drawn, level, _sum_above(client.spent, level)
        if client.spent != _read_level(body["spent"]) or client.spent > client.limit:
            raise ValueError(f"{body['spent']!r} spent of {client.limit!r} on answers that cost {client.spent!r}")
        return client

    def _affordable(self, query: Query) -> float:
        """Return what will have been spent; refuse what exceeds the limit."""
        after = _sum_above(self.spent, query.strict_epsilon())
        if after > self.limit:
            raise LdpstatsError(
                f"a query of strict epsilon = {query.strict_epsilon()!r}, with which {after!r} were spent",
                f"no more than {self.limit!r} in all",
                "The aggregator may ask with larger fakes (floor=) or less truth (epsilon=).",
            )
        return after


def _policy(protocol: RRBA | None, outside: str | None) -> str:
    """Return the protocol's policy for answers outside the questionnaire, or the given one without a protocol."""
    if protocol is None:
        return checked_outside(REFUSE if outside is None else outside)
    if outside is not None:
        raise LdpstatsError(
            f"outside = {outside!r} beside a protocol with outside = {protocol.outside!r}",
            "one of the two: the protocol says it for all its respondents",
        )
    return protocol.outside


def _own_record(domain: Domain, record: Mapping[str, Category], outside: str) -> dict[str, Category]:
    """Copy a record into the domain's own categories, whatever equals them, so that it can be stored."""
    if not hasattr(record, "keys"):
        raise DomainError(f"a record of type {type(record).__name__}", "a mapping of attributes to answers")
    own = {}
    for name, categories in domain.categories.items():
        category = known_category(record[name], categories) if name in record else None
        if category is None:
            if outside == REFUSE:
                came = (
                    f"the answer {shortened(record[name])} about {name!r}"
                    if name in record
                    else f"a record without {name!r}"
                )
                raise DomainError(
                    came,
                    one_line(list(categories)),
                    "outside='random', of the protocol or of a client without one, answers for a random category.",
                )
            category = categories[int(client_draws().uniform(len(categories), 1)[0])]
        own[name] = category
    return own


def _plain_level(level: float) -> float | str:
    return "inf" if math.isinf(level) else level


def _read_level(plain: object) -> float:
    if plain == "inf":
        return math.inf
    if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not 0 <= plain < math.inf:
        raise LdpstatsError(f"the level {shortened(plain)}", "a number of at least 0, or 'inf'")
    return float(plain)


def _sum_above(level: float, other: float) -> float:
    """Return the smallest double that is not below the exact sum."""
    total = level + other
    exact = level == 0 or math.isinf(total) or Fraction(total) >= Fraction(level) + Fraction(other)
    return total if exact else math.nextafter(total, math.inf)
