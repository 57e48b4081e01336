"""The client: a respondent's own device, which needs nothing of the aggregator but the query."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from numbers import Real

from ldpstats.columns import Category
from ldpstats.domain import Domain
from ldpstats.envelope import read_json
from ldpstats.errors import DomainError, LdpstatsError, one_line
from ldpstats.protocols.rrba.query import Answer, Query
from ldpstats.randomness import Rng, client_words

_FORMAT = "ldpstats client 1"


class Client:
    """A respondent who answers queries truthfully or with fakes, and keeps count of what that costs her.

    An answer is drawn once: the same query gets the same answer again, so that it may be sent as often as the
    network needs. Levels of different queries add up, and a query that would exceed the limit is refused. Whether
    a query is refused never depends on the record. All this holds for one client: a device that is switched off
    stores `to_json` before an answer leaves it.

    Parameters
    ----------
    domain : Domain
        The public questionnaire; queries about anything else are refused.
    record : mapping of str to category
        Her true answers, by attribute.
    limit : float
        The largest strict ε of her whole record that she will spend in all; `math.inf` answers whatever is asked.

    Examples
    --------
    >>> from ldpstats import RRBA
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> aggregator = RRBA(domain, epsilon=1.0).aggregator()
    >>> client = Client(domain, {"sex": "F", "car": "no"}, limit=1.0)
    >>> aggregator.take(client.answer(aggregator.query()))
    >>> client.spent, aggregator.n
    (1.0, 1)
    """

    __slots__ = ("_answers", "_before", "_domain", "_paid", "_record", "limit")

    def __init__(self, domain: Domain, record: Mapping[str, Category], limit: float) -> None:
        self.limit: float = _checked_limit(limit)
        self._domain = domain
        self._record: Mapping[str, Category] = record
        for name, categories in domain.categories.items():
            if name not in record or record[name] not in categories:
                raise _misfit(name, record, categories)
        self._before: float = 0.0
        self._paid: list[Query] = []
        self._answers: dict[tuple[str, int, str], Answer] = {}

    @property
    def spent(self) -> float:
        """The strict ε of her whole record that all her answers together cost."""
        return reduce(_sum_above, (query.strict_epsilon() for query in self._paid), self._before)

    def answer(self, query: Query, rng: Rng = None) -> Answer:
        """Return the randomized answer to a query, drawn with the system's secure randomness unless `rng` is given."""
        key = (query.protocol, query.number, query.token)
        if key not in self._answers:
            self._refuse_other_questions(query)
            word = client_words(rng)
            self._pay(query)
            # only now is the record looked at: what was refused, was refused whatever it holds
            reported = tuple(asked.randomizer.randomize_one(asked.cell(self._record), word) for asked in query.groups)
            self._answers[key] = Answer(
                query.protocol, query.number, query.block, query.token, reported, rng is not None
            )
        return self._answers[key]

    def to_json(self) -> str:
        """Return everything as JSON: her record, her answers, and what they cost. It is as private as the record."""
        answers = [json.loads(answer.to_json()) for answer in self._answers.values()]
        record = {name: self._record[name] for name in self._domain.names}
        plain = {"format": _FORMAT, "domain": self._domain.to_dict()}
        levels = {"limit": _plain_level(self.limit), "spent": _plain_level(self.spent)}
        return json.dumps({**plain, "record": record, **levels, "answers": answers}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Client:
        """Go on from what `to_json` wrote."""
        try:
            plain = read_json(text)
            if plain["format"] != _FORMAT:
                raise ValueError(f"format {plain['format']!r}")
            client = cls(Domain(plain["domain"]), plain["record"], float(plain["limit"]))
            client.remember(float(plain["spent"]), [Answer.from_json(json.dumps(one)) for one in plain["answers"]])
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise LdpstatsError(f"text that is not a saved client ({error})", "what Client.to_json wrote") from error
        return client

    def remember(self, spent: float, answers: list[Answer]) -> None:
        """Add what was spent and answered before."""
        if not spent >= 0:
            raise LdpstatsError(f"spent = {spent!r}", "a level of at least 0")
        self._before = _sum_above(self._before, spent)
        self._answers |= {(one.protocol, one.number, one.token): one for one in answers}

    def _refuse_other_questions(self, query: Query) -> None:
        known = self._domain.categories
        for asked in query.groups:
            for name, categories in asked.domain.categories.items():
                if known.get(name) != categories:
                    raise DomainError(
                        f"a query about {name!r} with {one_line(list(categories))}",
                        f"the public questionnaire: {one_line(list(known))}, with its own categories",
                        "Nothing was answered, and nothing spent.",
                    )

    def _pay(self, query: Query) -> None:
        after = _sum_above(self.spent, query.strict_epsilon()) if self.limit < math.inf else 0.0
        if after > self.limit:
            raise LdpstatsError(
                f"a query of strict epsilon = {query.strict_epsilon()!r}, with which {after!r} were spent",
                f"no more than {self.limit!r} in all",
                "The aggregator may ask with larger fakes (floor=) or less truth (epsilon=).",
            )
        self._paid.append(query)


def _checked_limit(limit: object) -> float:
    if isinstance(limit, bool) or not isinstance(limit, Real) or not float(limit) > 0:
        raise LdpstatsError(f"limit = {limit!r}", "a level above 0; math.inf for no limit")
    return float(limit)


def _misfit(name: str, record: Mapping[str, Category], categories: tuple[Category, ...]) -> DomainError:
    came = f"the answer {record[name]!r} about {name!r}" if name in record else f"a record without {name!r}"
    return DomainError(came, one_line(list(categories)))


def _plain_level(level: float) -> float | str:
    return "inf" if math.isinf(level) else level


def _sum_above(one: float, other: float) -> float:
    """Return the smallest double that is not below the sum."""
    total = one + other
    exact = one == 0 or math.isinf(total) or Fraction(total) >= Fraction(one) + Fraction(other)
    return total if exact else math.nextafter(total, math.inf)
