"""The client: a respondent's own device, which needs nothing of the aggregator but the query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

from ldpstats.columns import Category
from ldpstats.errors import LdpstatsError
from ldpstats.protocols.rrba.query import Answer, Query
from ldpstats.randomness import Rng, client_words


class Client:
    """A respondent who answers queries truthfully or with fakes, and keeps count of what that costs her.

    An answer is drawn once: the same query gets the same answer again, so that it may be sent as often as the
    network needs. Levels of different queries add up, and a query that would exceed the limit is refused.

    Parameters
    ----------
    record : mapping of str to category
        Her true answers, by attribute.
    limit : float
        The largest strict ε of her whole record that she will spend in all; `math.inf` answers whatever is asked.

    Examples
    --------
    >>> from ldpstats import RRBA, Domain
    >>> aggregator = RRBA(Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), epsilon=1.0).aggregator()
    >>> client = Client({"sex": "F", "car": "no"}, limit=1.0)
    >>> aggregator.take(client.answer(aggregator.query()))
    >>> client.spent, aggregator.n
    (1.0, 1)
    """

    __slots__ = ("_answers", "_paid", "_record", "limit")

    def __init__(self, record: Mapping[str, Category], limit: float) -> None:
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
            raise LdpstatsError(f"limit = {limit!r}", "a level above 0; math.inf for no limit")
        self._record, self.limit = record, float(limit)
        self._paid: list[Query] = []
        self._answers: dict[tuple[str, int, str], Answer] = {}

    @property
    def spent(self) -> float:
        """The strict ε of her whole record that all her answers together cost."""
        return reduce(_sum_above, (query.strict_epsilon() for query in self._paid), 0.0)

    def answer(self, query: Query, rng: Rng = None) -> Answer:
        """Return the randomized answer to a query, drawn with the system's secure randomness unless `rng` is given."""
        key = (query.protocol, query.number, query.token)
        if key not in self._answers:
            cells = [asked.cell(self._record) for asked in query.groups]
            word = client_words(rng)
            self._pay(query)
            reported = tuple(
                asked.randomizer.randomize_one(cell, word) for asked, cell in zip(query.groups, cells, strict=True)
            )
            self._answers[key] = Answer(
                query.protocol, query.number, query.block, query.token, reported, rng is not None
            )
        return self._answers[key]

    def _pay(self, query: Query) -> None:
        after = _sum_above(self.spent, query.strict_epsilon()) if self.limit < math.inf else 0.0
        if after > self.limit:
            raise LdpstatsError(
                f"a query of strict epsilon = {query.strict_epsilon()!r}, with which {after!r} were spent",
                f"no more than {self.limit!r} in all",
                "The aggregator may ask with larger fakes (floor=) or less truth (epsilon=).",
            )
        self._paid.append(query)


def _sum_above(one: float, other: float) -> float:
    """Return the smallest double that is not below the sum."""
    total = one + other
    exact = one == 0 or math.isinf(total) or Fraction(total) >= Fraction(one) + Fraction(other)
    return total if exact else math.nextafter(total, math.inf)
