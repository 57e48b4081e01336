"""A client for devices: it answers any protocol file, needs the standard library alone, and works as a lone file.

What it does, word by word, stands in clients/SPECIFICATION.md; clients/test_vectors.json holds examples of all of it,
and clients/js is the same client in JavaScript. As a program it reads a protocol file and, from standard input, a
record:

    python client.py protocol.json < record.json
    python client.py protocol.json query.json < record.json    (a protocol that sends queries: rrba)
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import inf, isfinite, prod
from typing import Any, NoReturn

GRID = 1 << 64
"""Every probability is a whole number of GRID-ths, and every random word a whole number below GRID."""

Word = Callable[[], int]
Report = int | bytes
Category = str | int | float | bool
_Known = Mapping[str, tuple[int, int]]
"""The places of attributes in the questionnaire, and their numbers of categories."""

_DIGEST = "digest against accidents, not attackers"
_WHOLE = ["format", "version", _DIGEST, "body"]
_SEALED = re.compile(
    rf'\{{"format":"ldpstats protocol","version":1,"{_DIGEST}":"([0-9a-f]{{64}})","body":(.*)\}}', re.DOTALL
)
_QUOTED = (("\\\\", "\0"), ('\\"', "\1"))
"""What may stand before a quotation mark that ends no text, and what JSON allows nowhere, in its place."""
_BRACKET = re.compile(r"[][{}]")
_LONG_NUMBER = re.compile(r"(?:^|[,:\[])[-+.0-9A-Za-z]{101}")
_BODY = {"kind", "fingerprint", "domain", "parameters", "outside", "privacy", "mechanisms", "units"}
_MECHANISM = {"name", "k", "epsilon", "probabilities"}
_QUERY = {"format", "version", "protocol", "number", "block", "token", "groups"}
_RECORD = "a respondent's whole record"
_INFINITE = "infinite"
_CERTAIN = "an answer may show for certain that it is true"
_ADAPTIVE = "rrba"
_PRECISE = Context(prec=100, Emax=999_999, Emin=-999_999)
_MOST_CELLS = 1 << 22
_MOST_SYMBOLS = 1 << 16
_LARGEST_EPSILON = 1_000_000
_MOST_BYTES = 1 << 23
_MOST_MARKS = 1 << 20
_DEEPEST = 32
_MOST = {
    "attributes": 1 << 12,
    "mechanisms": 1 << 12,
    "units": 1 << 16,
    "rows in a unit": 1 << 12,
    "crossed answers in a row": 1 << 12,
    "values of the mechanisms of a unit": _MOST_CELLS,
}
"""How much of each a protocol file may have."""


class ClientError(ValueError):
    """Input that a client does not answer: what came, what is allowed there, and what the caller can do next."""

    def __init__(self, came: str, allowed: str, advice: str = "") -> None:
        self.came, self.allowed, self.advice = came, allowed, advice
        super().__init__(" ".join(part for part in (f"{came}. Allowed: {allowed}.", advice) if part))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.came, self.allowed, self.advice)


class Words:
    """Random decisions out of 64-bit words: secure ones of the system, or a source's, for tests and simulations."""

    def __init__(self, word: Word | None = None) -> None:
        self.simulated = word is not None
        self._source = word or _system_word

    def word(self) -> int:
        """Return a random word."""
        word = self._source()
        if type(word) is not int or not 0 <= word < GRID:
            raise ClientError(f"the random word {_shown(word)}", "whole numbers from 0 to below 2^64")
        return word

    def chance(self, numerator: int) -> bool:
        """Decide with probability numerator / GRID, by one word, also where it is certain."""
        return self.word() < numerator

    def below(self, bound: int) -> int:
        """Draw one of the whole numbers below a bound, all equally likely (by rejection)."""
        fair = GRID // bound * bound
        word = self.word()
        while word >= fair:
            word = self.word()
        return word % bound

    def pick(self, weights: Sequence[int]) -> int:
        """Draw the place of a weight, as likely as its weight, by one word; weights add up to GRID."""
        return bisect_right(list(accumulate(weights)), self.word())


def _system_word() -> int:
    return int.from_bytes(os.urandom(8), "little")


class Randomizer(ABC):
    """A mechanism with its whole-number probabilities: what it reports of a value, and how much that can tell."""

    k: int

    @classmethod
    @abstractmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file."""

    @property
    def outputs(self) -> int | None:
        """How many reports there are, if each is a number or can be read as one, else None."""
        return self.k

    @abstractmethod
    def ratio(self) -> Fraction | None:
        """Return the largest P(report | a value) / P(report | another), which is e^epsilon; None if unbounded."""

    @abstractmethod
    def report(self, value: int, words: Words) -> Report:
        """Draw what is sent about a true value below k: a whole number, or bytes."""


@dataclass(frozen=True)
class RandomizedResponse(Randomizer):
    """Randomized response (rr, grr): the truth, or else one of the other values."""

    k: int
    truth: int  # how often the truth is told, in GRID-ths

    @classmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file."""
        plain.refuse_others((), ("truth",))
        if plain.text("name") == "rr" and plain.whole("k", 2) != 2:
            raise ClientError(f"the mechanism rr with k = {plain['k']}", "2 values", "grr takes any number of them.")
        return cls(plain.whole("k", 2), plain.numerator("truth"))

    def ratio(self) -> Fraction:
        """Return P(v | v) / P(v | another value)."""
        return _worst(self.truth * (self.k - 1), GRID - self.truth)

    def report(self, value: int, words: Words) -> int:
        """Draw a coin and a lie; both are always drawn."""
        truthful, lie = words.chance(self.truth), words.below(self.k - 1)
        return value if truthful else lie + (lie >= value)


@dataclass(frozen=True)
class UnaryBits(Randomizer):
    """Unary encoding (sue, oue): a bit for every value, each set with a probability of its own."""

    k: int
    keep: int  # how often the true value's bit is set, in GRID-ths
    flip: int  # how often another one is

    @classmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file."""
        plain.refuse_others((), ("keep", "flip"))
        return cls(plain.whole("k", 2), plain.numerator("keep"), plain.numerator("flip"))

    @property
    def outputs(self) -> int:
        """The number of rows of bits, cut at 2^65, which is beyond the numbers of 8 bytes."""
        return 1 << min(self.k, 65)

    def ratio(self) -> Fraction:
        """Return the ratio of a report with one value's bit set and not another's, between the two."""
        return _worst(self.keep * (GRID - self.flip), (GRID - self.keep) * self.flip)

    def report(self, value: int, words: Words) -> bytes:
        """Draw the bits in order; the first is the highest of the first byte, and those left over are 0."""
        packed = bytearray((self.k + 7) // 8)
        for bit in range(self.k):
            if words.chance(self.keep if bit == value else self.flip):
                packed[bit // 8] |= 128 >> bit % 8
        return bytes(packed)


@dataclass(frozen=True)
class Subset(Randomizer):
    """Subset selection (ss): a set of `omega` values, in which the true one is with a raised probability."""

    k: int
    omega: int
    holds: int  # how often the set holds the true value, in GRID-ths

    @classmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file."""
        plain.refuse_others(("omega",), ("holds",))
        k = plain.whole("k", 2)
        return cls(k, plain.whole("omega", 1, k - 1), plain.numerator("holds"))

    @property
    def outputs(self) -> None:
        """None: a set is no number."""

    def ratio(self) -> Fraction:
        """Return P(S | v in S) / P(S | w not in S)."""
        return _worst(self.holds * (self.k - self.omega), (GRID - self.holds) * self.omega)

    def report(self, value: int, words: Words) -> bytes:
        """Go through the other values in order, and take each with the chance that the places left give it."""
        needed, left, members = self.omega, self.k - 1, []
        if words.chance(self.holds):
            members.append(value)
            needed -= 1
        for other in range(self.k):
            if other != value:
                if words.below(left) < needed:
                    members.append(other)
                    needed -= 1
                left -= 1
        width = 1 if self.k <= 1 << 8 else 2 if self.k <= 1 << 16 else 4
        return b"".join(member.to_bytes(width, "little") for member in sorted(members))


@dataclass(frozen=True)
class HashedResponse(Randomizer):
    """Local hashing (olh): a hash function of one's own, and randomized response about the value's symbol."""

    k: int
    symbols: int
    truth: int  # how often the true symbol is told, in GRID-ths

    @classmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file."""
        plain.refuse_others(("symbols",), ("truth",))
        return cls(plain.whole("k", 2), plain.whole("symbols", 2, _MOST_SYMBOLS), plain.numerator("truth"))

    @property
    def _answered(self) -> RandomizedResponse:
        return RandomizedResponse(self.symbols, self.truth)

    @property
    def outputs(self) -> None:
        """None: a hash function with an answer is no number."""

    def ratio(self) -> Fraction:
        """Return the ratio of two values that the function tells apart."""
        return self._answered.ratio()

    def report(self, value: int, words: Words) -> bytes:
        """Draw the function's two words, then the answer about the symbol."""
        factor, offset = words.word(), words.word()
        symbol = hash_value(factor, offset, value) * self.symbols >> 32
        answer = self._answered.report(symbol, words)
        width = 1 if self.symbols <= 1 << 8 else 2
        return factor.to_bytes(8, "little") + offset.to_bytes(8, "little") + answer.to_bytes(width, "little")


def hash_value(factor: int, offset: int, value: int) -> int:
    """Return 32 bits: the upper half of factor * value + offset modulo 2^64, scattered by a bijection."""
    bits = (factor * value + offset) % GRID >> 32
    bits ^= bits >> 16
    bits = bits * 0x7FEB352D % (1 << 32)
    bits ^= bits >> 15
    bits = bits * 0x846CA68B % (1 << 32)
    return bits ^ bits >> 16


@dataclass(frozen=True)
class HadamardOutput(Randomizer):
    """Hadamard response (hr): one of `blocks` times `size` outputs, more likely from the value's half of its block."""

    k: int
    blocks: int
    size: int
    inside: int  # how often the output is in the value's own set, in GRID-ths

    @classmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file."""
        plain.refuse_others(("blocks", "size"), ("inside",))
        k, blocks, size = plain.whole("k", 2), plain.whole("blocks", 1), plain.whole("size", 2)
        if size & (size - 1) or blocks * (size - 1) < k:
            raise ClientError(
                f"the mechanism hr with {blocks} blocks of {size} outputs for {k} values",
                "blocks of a power of two, with an output less than that for each of their values",
            )
        return cls(k, blocks, size, plain.numerator("inside"))

    @property
    def outputs(self) -> int:
        """The number of outputs of all blocks."""
        return self.blocks * self.size

    @property
    def _half(self) -> int:
        return self.size // 2

    @property
    def _others(self) -> int:
        return self.outputs - self._half

    def ratio(self) -> Fraction:
        """Return P(y | y in the set of v) / P(y | y not in that of w)."""
        return _worst(self.inside * self._others, (GRID - self.inside) * self._half)

    def report(self, value: int, words: Words) -> int:
        """Draw a coin, an output of the own set, and one of all others; all three are always drawn."""
        inside, near, other = words.chance(self.inside), words.below(self._half), words.below(self._others)
        block, row = divmod(value, self.size - 1)
        start = block * self.size
        if inside:
            return start + _column(row + 1, near, negative=False)
        if other < self._half:
            return start + _column(row + 1, other, negative=True)
        elsewhere = other - self._half
        return elsewhere + self.size * (elsewhere >= start)


def _column(row: int, number: int, *, negative: bool) -> int:
    """Return the column with this number among those where a row of the Hadamard matrix has this sign.

    The number gives all binary digits but one, for which the row has a one: that digit sets the sign.
    """
    digit = row & -row
    low = number & (digit - 1)
    column = 2 * (number - low) + low
    odd = (row & column).bit_count() % 2 == 1
    return column if odd == negative else column + digit


@dataclass(frozen=True)
class FakeOrTruth(Randomizer):
    """Truth or fake (what rrba's queries ask for): the truth, or else a fake out of a public distribution."""

    k: int
    truth: int  # how often the truth is told, in GRID-ths
    fake: tuple[int, ...]  # how often each value is the fake; they add up to GRID

    @classmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file."""
        plain.refuse_others((), ("truth", "fake"))
        read = cls.stated(plain.named("probabilities"))
        if plain.whole("k", 2) != read.k:
            raise ClientError(f"{read.k} fakes for {plain['k']} values", "a fake for every value")
        return read

    @classmethod
    def stated(cls, plain: _Named) -> FakeOrTruth:
        """Read the probabilities themselves, which may be 0 or 1, as those of no other mechanism may."""
        truth = _grid_number(plain["truth"], "truth", 1, GRID)
        fake = tuple(_grid_number(number, "fake", 0, GRID) for number in plain.sequence("fake"))
        if len(fake) < 2 or sum(fake) != GRID:
            raise ClientError(f"{len(fake)} fakes that add up to {sum(fake)}", f"at least 2 that add up to {GRID}")
        return cls(len(fake), truth, fake)

    def ratio(self) -> Fraction | None:
        """Return P(v | v) / P(v | another value) for the rarest fake v."""
        faked = (GRID - self.truth) * min(self.fake)
        return Fraction(self.truth * GRID + faked, faked) if faked else None

    def report(self, value: int, words: Words) -> int:
        """Draw a coin and a fake; both are always drawn."""
        truthful, fake = words.chance(self.truth), words.pick(self.fake)
        return value if truthful else fake


@dataclass(frozen=True)
class GivenRows(Randomizer):
    """A channel: an output out of a public row for every value."""

    rows: tuple[tuple[int, ...], ...]  # how often each output is sent about a value, in GRID-ths; they add up to GRID

    @classmethod
    def read(cls, plain: _Named) -> Randomizer:
        """Read an entry of a protocol file; the names of values and outputs change nothing."""
        plain.refuse_names(_MECHANISM, ("values", "outputs"))
        given = plain.named("probabilities")
        given.refuse_names({"rows"})
        k, listed = plain.whole("k", 2), given.sequence("rows")
        if len(listed) != k:
            raise ClientError(f"{len(listed)} rows for {k} values", "a row for every value")
        rows = tuple(tuple(_grid_number(entry, "rows", 0, GRID) for entry in _sequence(row, "a row")) for row in listed)
        outputs = len(rows[0])
        for row in rows:
            if len(row) != outputs or sum(row) != GRID:
                raise ClientError(
                    f"a row of {len(row)} outputs that add up to {sum(row)}", f"{outputs} that add up to {GRID}"
                )
        for output, column in enumerate(zip(*rows, strict=True)):
            if not any(column):
                raise ClientError(f"the output {output} that no value sends", "outputs that some value sends")
        for what, number in (("values", k), ("outputs", outputs)):
            if what in plain.plain and len(plain.sequence(what)) != number:
                raise ClientError(f"the names of {len(plain[what])} {what}", f"a name for each of the {number}")
        return cls(rows)

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from the rows
        """The number of values."""
        return len(self.rows)

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self.rows[0])

    def ratio(self) -> Fraction | None:
        """Return the largest ratio of two numbers in one column; None where only one of them is 0."""
        worst = Fraction(1)
        for column in zip(*self.rows, strict=True):
            least, most = min(column), max(column)
            if least == 0:
                return None
            if most * worst.denominator > worst.numerator * least:
                worst = Fraction(most, least)
        return worst

    def report(self, value: int, words: Words) -> int:
        """Draw an output by the row of the value."""
        return words.pick(self.rows[value])


RANDOMIZERS: dict[str, type[Randomizer]] = {
    "rr": RandomizedResponse,
    "grr": RandomizedResponse,
    "sue": UnaryBits,
    "oue": UnaryBits,
    "ss": Subset,
    "olh": HashedResponse,
    "hr": HadamardOutput,
    "truth or fake": FakeOrTruth,
    "channel": GivenRows,
}
"""The mechanisms that clients know, by the names that protocol files give them."""


def _worst(numerator: int, denominator: int) -> Fraction:
    """Return a ratio or its inverse, whichever is larger."""
    return Fraction(max(numerator, denominator), min(numerator, denominator))


def randomizer(mechanism: Mapping[str, Any]) -> Randomizer:
    """Read a mechanism as protocol files write it; one that clients do not know is refused by name."""
    plain = _Named(mechanism, "a mechanism")
    name = plain.text("name")
    if name not in RANDOMIZERS:
        raise ClientError(
            f"the mechanism {_shown(name)}",
            f"what clients know: {', '.join(RANDOMIZERS)}",
            "Answer with a client that knows it, such as ldpstats itself.",
        )
    return RANDOMIZERS[name].read(plain)


@dataclass(frozen=True)
class Attribute:
    """A question of the questionnaire, with the answers it knows."""

    name: str
    categories: tuple[Category, ...]

    def place(self, answer: object) -> int | None:
        """Return the number of an answer, None if unlisted; text, number and truth value equal only their own kind."""
        large = _large_number(answer)
        given = answer if large is None else large
        if isinstance(given, float) and abs(given) >= 1 << 53:  # it may have been rounded
            return None
        for code, category in enumerate(self.categories):
            if _kind(category) == _kind(given) and category == given:
                return code
        return None


@dataclass(frozen=True)
class AskedGroup:
    """Attributes that are asked for together, and how the answer is randomized."""

    places: tuple[int, ...]  # of its attributes in the questionnaire
    sizes: tuple[int, ...]  # their numbers of categories
    answers: tuple[int, ...] | None  # the answer that belongs to every cell; None: the cell itself
    mechanism: Randomizer | None  # None if queries bring theirs

    def answer(self, codes: Sequence[int]) -> int:
        """Return the true answer of a record, given as the codes of all questions.

        It is the cell of the group's attributes, of which the last varies fastest, or the answer that this cell has.
        """
        cell = 0
        for position, size in zip(self.places, self.sizes, strict=True):
            cell = cell * size + codes[position]
        return cell if self.answers is None else self.answers[cell]

    def report(self, codes: Sequence[int], words: Words) -> Report:
        """Draw the report about a record, given as the codes of all questions."""
        assert self.mechanism is not None  # queries bring theirs
        return self.mechanism.report(self.answer(codes), words)


@dataclass(frozen=True)
class AskedRow:
    """A row of a unit: one answer, or several ones that travel together as numbers of equal width."""

    groups: tuple[AskedGroup, ...]
    width: int | None = None  # bytes of every number, where several answers travel together

    def report(self, codes: Sequence[int], words: Words) -> int | str:
        """Draw what is sent about a record: a number, or bytes as hexadecimal text."""
        reports = [group.report(codes, words) for group in self.groups]
        if self.width is None:
            return reports[0] if isinstance(reports[0], int) else reports[0].hex()
        numbers = [_as_number(report, group) for report, group in zip(reports, self.groups, strict=True)]
        return b"".join(number.to_bytes(self.width, "little") for number in numbers).hex()


def _as_number(report: Report, group: AskedGroup) -> int:
    """Return a report as a number: bits are read as a binary one, the first value's bit being the highest."""
    assert group.mechanism is not None  # queries have no rows of several answers
    return report if isinstance(report, int) else int.from_bytes(report, "big") >> -group.mechanism.k % 8


@dataclass(frozen=True)
class Questionnaire:
    """What a protocol file asks and promises, checked."""

    kind: str
    fingerprint: str
    domain: tuple[Attribute, ...]
    outside: str  # "refuse" or "random": what becomes of an answer that is missing or not listed
    epsilon: float  # the strict level of a respondent's whole record; infinite if the file promises none
    units: tuple[tuple[AskedRow, ...], ...]  # a respondent answers all rows of one of them
    truth: int | None = None  # how often a query may ask for the truth at most, in GRID-ths; None: no queries
    floor: int = 0  # the least share of uniform fakes in a query, in GRID-ths

    def level(self) -> Decimal:
        """Return the largest level of all that one respondent may send: the sum over the mechanisms of a unit."""
        units = [[group.mechanism for row in unit for group in row.groups if group.mechanism] for unit in self.units]
        # one object is one entry of the file, and the ratio of a channel takes a while
        entries = {id(mechanism): mechanism for unit in units for mechanism in unit}
        ratios = {entry: mechanism.ratio() for entry, mechanism in entries.items()}
        return max(level_of([ratios[entry] for entry in unit]) for unit in {tuple(map(id, unit)) for unit in units})

    def codes(self, record: Mapping[str, object], words: Words | None) -> list[int]:
        """Return the code of every answer; `words` replace missing or unlisted ones, by a draw for each question."""
        codes = [attribute.place(record.get(attribute.name)) for attribute in self.domain]
        if words is None:
            return [self._known(attribute, record, code) for attribute, code in zip(self.domain, codes, strict=True)]
        drawn = [words.below(len(attribute.categories)) for attribute in self.domain]
        return [other if code is None else code for code, other in zip(codes, drawn, strict=True)]

    def _known(self, attribute: Attribute, record: Mapping[str, object], code: int | None) -> int:
        if code is None:
            name, known = attribute.name, _listed(attribute.categories)
            given = f"the answer {_shown(record[name])} about" if name in record else "a record without"
            raise ClientError(f"{given} {_shown(name)}", known, "Nothing was answered. Ask the respondent again.")
        return code


class Respondent:
    """A device that answers one protocol, once: asked again, it returns the very same message.

    It refuses a file that was altered, that asks for what it does not know, or whose mechanisms would tell more than
    the level that the file states. Whether what it states is enough is for the respondent to say, before she answers:
    `epsilon` and `certain`, and of a protocol that sends queries `p`. A device that forgets its message may be asked
    twice, and then levels add up: it stores the message before that leaves it.

    Parameters
    ----------
    protocol : str
        The text of a protocol file.
    word : callable, optional
        Random words for tests and simulations, whose messages say so; the operating system's by default.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> respondent = Respondent(ldp.SampledGroups(domain, epsilon=1.0).to_json())
    >>> respondent.epsilon
    1.0
    >>> message = respondent.answer({"sex": "F", "car": "no"})
    >>> json.loads(message)["unit"]
    0
    """

    def __init__(self, protocol: str, word: Word | None = None) -> None:
        self.questionnaire = read_protocol(protocol)
        self._words = Words(word)
        self._process, self._turn = os.getpid(), threading.RLock()
        self._drawing = False
        self._message: str | None = None
        self._asked: str | None = None

    def __reduce__(self) -> NoReturn:
        raise ClientError("a copy of a respondent", "the one that there is: two could give two answers")

    @property
    def epsilon(self) -> float:
        """The strict level of the whole record: what the file promises, and what was checked."""
        return self.questionnaire.epsilon

    @property
    def p(self) -> float | None:
        """The most often that a query may ask for the truth about a group; None of a protocol without queries."""
        truth = self.questionnaire.truth
        return None if truth is None else truth / GRID

    @property
    def certain(self) -> bool:
        """Whether an answer may show something for certain; where queries ask, the truth as often as `p` says."""
        return self.epsilon == inf

    def answer(self, record: Mapping[str, object], token: str | None = None) -> str:
        """Return the message that is sent: JSON in one line.

        Parameters
        ----------
        record : mapping
            The true answer to every question.
        token : str, optional
            1 to 200 printable ASCII characters by which a collector knows who has answered.
        """
        return self._once(None, lambda: self._answered(_record(record), _checked_token(token)))

    def answer_query(self, query: str, record: Mapping[str, object]) -> str:
        """Return the answer to a query of a protocol that sends them (rrba); a second, other query is refused.

        Parameters
        ----------
        query : str
            The query's text.
        record : mapping
            The true answer to every question.
        """
        return self._once(query, lambda: self._query_answered(query, _record(record)))

    def _once(self, query: str | None, draw: Callable[[], str]) -> str:
        """Return the message, drawn at the first call: in the process that made it, one thread at a time."""
        # before the lock: a child inherits that as it stood, perhaps held by a thread that it does not have
        if os.getpid() != self._process:
            raise ClientError(
                "a respondent in a copy of the process that made it", "one process: two could give two answers"
            )
        with self._turn:
            if self._drawing:
                raise ClientError("a respondent who is asked while she answers", "one call after the other")
            if self._message is None:
                self._drawing = True
                try:
                    self._message, self._asked = draw(), query
                finally:
                    self._drawing = False
            elif self._asked != query:
                raise ClientError("a second query", "one, which may be repeated as it was: levels add up")
            return self._message

    def _answered(self, record: Mapping[str, object], token: str | None) -> str:
        asked, words = self.questionnaire, self._words
        if asked.kind == _ADAPTIVE:
            raise ClientError(f"a protocol of the kind {_shown(asked.kind)}", "queries", "It sends them.")
        known = asked.codes(record, None) if asked.outside == "refuse" else None
        unit = words.below(len(asked.units))
        codes = asked.codes(record, words) if known is None else known
        said = {"format": "ldpstats answer", "version": 1, "protocol": asked.fingerprint, "unit": unit}
        said["reports"] = [row.report(codes, words) for row in asked.units[unit]]
        message = {**said, "simulated": words.simulated}
        return _written(message if token is None else {**message, "token": token})

    def _query_answered(self, text: str, record: Mapping[str, object]) -> str:
        asked, words = self.questionnaire, self._words
        if asked.kind != _ADAPTIVE:
            raise ClientError(f"a query about a protocol of the kind {_shown(asked.kind)}", "a query of rrba")
        said, groups = read_query(asked, text)
        codes = asked.codes(record, None if asked.outside == "refuse" else words)
        cells = [group.report(codes, words) for group in groups]
        return _written({**said, "cells": cells, "simulated": words.simulated})


def read_protocol(text: str) -> Questionnaire:
    """Read a protocol file and check all of it; a file that does not hold what clients know is refused."""
    plain = _parsed(text, "a protocol file")
    assert isinstance(text, str)  # or it were not parsed
    _refuse_other_formats(plain, "protocol")
    refuse_too_many(plain.get("body"))
    sealed = _SEALED.fullmatch(_without_spaces(text))
    if sealed is None or len(plain) != len(_WHOLE):
        raise ClientError(f"a protocol file with {_listed(_ordered(plain))}", f"{_listed(_WHOLE)}, in this order")
    if hashlib.sha256(sealed[2].encode()).hexdigest() != sealed[1]:
        raise ClientError(
            "a protocol file whose digest is that of another body", "a file as it was written", "Fetch it again."
        )
    body = _Named(plain["body"], "a protocol file")
    kind = body.text("kind")
    if "units" not in body.plain:
        raise ClientError(f"a protocol of the kind {_shown(kind)} without units", "units that respondents answer")
    body.refuse_names(_BODY - {"mechanisms"} if kind == _ADAPTIVE else _BODY)
    fingerprint, outside = body.text("fingerprint"), body.text("outside")
    if not re.fullmatch("p[0-9a-f]{12}", fingerprint):
        raise ClientError(f"the fingerprint {_shown(fingerprint)}", "the letter p and 12 hexadecimal digits")
    if outside not in ("refuse", "random"):
        raise ClientError(f"outside = {_shown(outside)}", "refuse or random")
    body.named("parameters")
    domain, privacy = _read_domain(body.sequence("domain")), body.named("privacy")
    promised, units = _promised(privacy), _read_units(body, domain, adaptive=kind == _ADAPTIVE)
    read = Questionnaire(kind, fingerprint, domain, outside, promised, units)
    if kind == _ADAPTIVE:
        _refuse_asked_twice(units)
        most, floor = _grid_number(privacy["truth"], "truth", 1, GRID - 1), privacy["floor"]
        return replace(read, truth=most, floor=_grid_number(floor, "floor", 0, GRID))
    refuse_above(read.level(), promised)
    return read


def refuse_too_many(body: object) -> None:
    """Refuse more of anything than a protocol file may have, before any of it is read; other faults are found later."""
    attributes, mechanisms, units = (_lists_in(body, name) for name in ("domain", "mechanisms", "units"))
    rows = [unit for unit in units if isinstance(unit, list)]
    asked = [[_lists_in(row, "crossed") or [row] for row in unit] for unit in rows]
    sizes = [max(_whole_in(mechanism, "k", _MOST_CELLS, 0), _longest_row(mechanism)) for mechanism in mechanisms]
    numbers = [[_whole_in(group, "mechanism", len(sizes) - 1, None) for row in unit for group in row] for unit in asked]
    counts = {
        "attributes": len(attributes),
        "mechanisms": len(mechanisms),
        "units": len(units),
        "rows in a unit": max(map(len, rows), default=0),
        "crossed answers in a row": max((len(row) for unit in asked for row in unit), default=0),
        "values of the mechanisms of a unit": max(
            (sum(sizes[number] for number in unit if number is not None) for unit in numbers), default=0
        ),
    }
    for what, most in _MOST.items():
        if counts[what] > most:
            raise ClientError(f"a protocol file with {counts[what]} {what}", f"up to {most}")


def _lists_in(plain: object, name: str) -> list[Any]:
    value = plain.get(name) if isinstance(plain, Mapping) else None
    return value if isinstance(value, list) else []


def _longest_row(mechanism: object) -> int:
    probabilities = mechanism.get("probabilities") if isinstance(mechanism, Mapping) else None
    return max((len(row) for row in _lists_in(probabilities, "rows") if isinstance(row, list)), default=0)


def _whole_in(plain: object, name: str, most: int, otherwise: Any) -> Any:
    value = plain.get(name) if isinstance(plain, Mapping) else None
    return value if type(value) is int and 0 <= value <= most else otherwise


def _refuse_other_formats(plain: Any, kind: str) -> None:
    said = plain.get("format") if isinstance(plain, Mapping) else plain
    if said != f"ldpstats {kind}":
        raise ClientError(f"a file of the format {_shown(said)}", f"the format ldpstats {kind}")
    if type(plain.get("version")) is not int or plain["version"] != 1:
        advice = "Write it anew with ldpstats; a newer version needs a newer client."
        raise ClientError(f"a {kind} of version {_shown(plain.get('version'))}", "version 1", advice)


def _read_domain(listed: Sequence[Any]) -> tuple[Attribute, ...]:
    attributes = []
    for plain in listed:
        attribute = _Named(plain, "an attribute")
        attribute.refuse_names({"name", "categories"}, {"ordered", "scores"})
        name, written = attribute.text("name"), attribute.sequence("categories")
        _refuse_wrong_order(attribute, len(written))
        categories = tuple(known for known in map(_category, written) if known is not None)
        if not written or len({(_kind(known), known) for known in categories}) < len(written):
            raise ClientError(
                f"the categories {_listed(written)} of {_shown(name)}",
                "different texts, truth values or numbers, of which whole ones from 2^53 on are texts of digits",
            )
        attributes.append(Attribute(name, categories))
    if not attributes or len({attribute.name for attribute in attributes}) < len(attributes):
        raise ClientError(
            f"the attributes {_listed([attribute.name for attribute in attributes])}", "at least one, each of them once"
        )
    return tuple(attributes)


def _refuse_wrong_order(attribute: _Named, categories: int) -> None:
    """Refuse an order of categories that is none: it changes no answer, but a file that says it must say it rightly."""
    plain = attribute.plain
    scores = attribute.sequence("scores") if "scores" in plain else range(categories)
    proper = all(_kind(score) == "number" for score in scores) and len(scores) == categories
    ascending = proper and all(low < high for low, high in pairwise(scores))
    if not {"ordered", "scores"}.isdisjoint(plain) and not (plain.get("ordered") is True and ascending):
        said = f"ordered = {_shown(plain.get('ordered'))} with scores {_listed(scores)}"
        raise ClientError(f"{said} of {_shown(plain['name'])}", "true, and scores that ascend, one for each category")


def _read_units(body: _Named, domain: Sequence[Attribute], *, adaptive: bool) -> tuple[tuple[AskedRow, ...], ...]:
    known = {attribute.name: (position, len(attribute.categories)) for position, attribute in enumerate(domain)}
    mechanisms = None if adaptive else [randomizer(entry) for entry in body.sequence("mechanisms")]
    units = tuple(
        tuple(_read_row(_Named(row, "a row"), known, mechanisms) for row in _sequence(unit, "a unit"))
        for unit in body.sequence("units")
    )
    if not units or not all(units):
        raise ClientError(f"{len(units)} units, or one of them without rows", "at least one unit, each with a row")
    return units


def _read_row(row: _Named, known: _Known, mechanisms: Sequence[Randomizer] | None) -> AskedRow:
    if "crossed" not in row.plain:
        return AskedRow((_read_group(row, known, mechanisms, {"group"}),))
    row.refuse_names({"group", "crossed", "bytes"})
    crossed = [_Named(entry, "a crossed answer") for entry in row.sequence("crossed")]
    groups = tuple(_read_group(answer, known, mechanisms) for answer in crossed)
    width = row.whole("bytes", 1, 8)
    outputs = [group.mechanism and group.mechanism.outputs for group in groups]
    if not groups or not all(number and number <= 1 << 8 * width for number in outputs):
        raise ClientError(
            f"the row {_shown(row.text('group'))} of crossed answers that are no numbers of {width} bytes",
            f"answers that are numbers of {width} bytes, or as many bits",
        )
    return AskedRow(groups, width)


def _read_group(
    plain: _Named, known: _Known, mechanisms: Sequence[Randomizer] | None, names: Collection[str] = ()
) -> AskedGroup:
    adaptive = mechanisms is None
    plain.refuse_names({"attributes", *names} | (set() if adaptive else {"mechanism"}), () if adaptive else {"answers"})
    attributes = _of_domain(known, plain.sequence("attributes"))
    places, sizes = tuple(position for position, _ in attributes), tuple(size for _, size in attributes)
    mechanism = None if mechanisms is None else mechanisms[plain.whole("mechanism", 0, len(mechanisms) - 1)]
    answers = tuple(plain.sequence("answers")) if "answers" in plain.plain else None
    cells = prod(sizes)
    k = cells if mechanism is None else mechanism.k
    if cells > _MOST_CELLS:
        raise ClientError(f"a question about {_listed(plain['attributes'])}", f"up to {_MOST_CELLS} cells")
    if not _covers(answers, cells, k):
        raise ClientError(
            f"a question about {_listed(plain['attributes'])} with {cells} cells and {k} answers",
            "an answer for every cell, and as many answers as its mechanism has values",
        )
    return AskedGroup(places, sizes, answers, mechanism)


def _of_domain(known: _Known, names: Sequence[Any]) -> list[tuple[int, int]]:
    attributes = [known[name] for name in names if isinstance(name, str) and name in known]
    if not names or len(set(attributes)) < len(names):
        raise ClientError(f"a row about {_listed(names)}", f"different ones of {_listed(list(known))}")
    return attributes


def _covers(answers: tuple[Any, ...] | None, cells: int, k: int) -> bool:
    """Say whether every cell has an answer, and every answer a cell."""
    if answers is None:
        return k == cells
    known = len(answers) == cells and all(type(answer) is int and 0 <= answer < k for answer in answers)
    return known and len(set(answers)) == k


def _refuse_asked_twice(units: Sequence[Sequence[AskedRow]]) -> None:
    """Refuse units of queries that ask twice about an attribute: the truth would be told more often than promised."""
    for unit in units:
        places = [position for row in unit for group in row.groups for position in group.places]
        if len(set(places)) < len(places):
            raise ClientError("a unit that asks twice about an attribute", "groups without common attributes")


def _promised(privacy: _Named) -> float:
    """Return the level that a file states for a respondent's whole record, which may be infinite.

    Then an answer that not everybody can give shows something for certain, and the file must say so in words; no other
    file may.
    """
    unit, level = privacy.text("unit"), privacy["epsilon"]
    if unit != _RECORD:
        raise ClientError(f"a level of {_shown(unit)}", f"one of {_RECORD}")
    infinite = level == _INFINITE
    said = [privacy["certain"]] if "certain" in privacy.plain else []
    if said != [_CERTAIN] * infinite:
        raise ClientError(
            f"the level {_shown(level)} with certain = {_listed(said)}",
            f"{_INFINITE} with certain = {_shown(_CERTAIN)}, or a number without it",
        )
    if infinite:
        return inf
    if _kind(level) != "number" or not 0 <= level <= _LARGEST_EPSILON:
        raise ClientError(f"the level {_shown(level)}", f"a number from 0 to {_LARGEST_EPSILON}, or {_INFINITE}")
    return float(level)


def level_of(ratios: Collection[Fraction | None]) -> Decimal:
    """Return the level (epsilon) of reports sent together: the sum of the logarithms of their largest ratios."""
    level = Decimal(0)
    for ratio in ratios:
        level = _PRECISE.add(level, Decimal(inf) if ratio is None else _logarithm(ratio))
    return level


@lru_cache(maxsize=_MOST["mechanisms"])
def _logarithm(ratio: Fraction) -> Decimal:
    return _PRECISE.ln(_PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


def refuse_above(level: Decimal, promised: float) -> None:
    """Refuse a level above the promised one, with 10^-90 added for what was rounded; only a level of 0 is exact."""
    if level and _PRECISE.add(level, Decimal("1e-90")) > Decimal(promised):
        raise ClientError(
            f"randomization at the level {'infinity' if level == inf else f'{level:.6f}'}",
            f"at most the promised {_shown(promised)}",
            "Nothing was answered: the file promises more privacy than it keeps.",
        )


def read_query(asked: Questionnaire, text: str) -> tuple[dict[str, Any], tuple[AskedGroup, ...]]:
    """Read a query of a protocol that sends them; return what its answer begins with, and the groups to answer.

    Refused is a query about other groups than a unit's, with truth more often, a fake rarer or a level higher than the
    protocol promises.
    """
    query = _Named(_parsed(text, "a query"), "a query")
    _refuse_other_formats(query.plain, "RRBA query")
    query.refuse_names(_QUERY)
    if query.text("protocol") != asked.fingerprint:
        raise ClientError(f"a query of the protocol {_shown(query['protocol'])}", f"one of {asked.fingerprint}")
    said = {"format": "ldpstats RRBA answer", "version": 1, "protocol": asked.fingerprint}
    said |= {name: query.whole(name, 0, (1 << 53) - 1) for name in ("number", "block")}
    listed, most = query.sequence("groups"), _MOST["rows in a unit"]
    if len(listed) > most:
        raise ClientError(f"a query with {len(listed)} groups", f"up to {most}")
    known = {_compared(attribute): position for position, attribute in enumerate(asked.domain)}
    groups = tuple(_asked_group(asked, known, _Named(group, "a group of a query")) for group in listed)
    units = [[group.places for row in unit for group in row.groups] for unit in asked.units]
    if [group.places for group in groups] not in units:
        raise ClientError("a query about other groups than those of a unit", "all groups of one unit, in their order")
    refuse_above(level_of([group.mechanism.ratio() for group in groups if group.mechanism]), asked.epsilon)
    return {**said, "token": _checked_token(query.text("token"))}, groups


def _asked_group(asked: Questionnaire, known: Mapping[object, int], group: _Named) -> AskedGroup:
    group.refuse_names({"domain", "truth", "fake"})
    attributes, told = _read_domain(group.sequence("domain")), FakeOrTruth.stated(group)
    places = tuple(known.get(_compared(attribute), -1) for attribute in attributes)
    if -1 in places:
        raise ClientError(
            f"a group about {_listed([attribute.name for attribute in attributes])}", "the protocol's own attributes"
        )
    sizes = tuple(len(attribute.categories) for attribute in attributes)
    if told.k != prod(sizes):
        raise ClientError(f"{told.k} fakes for {prod(sizes)} cells", "a fake for every cell")
    # more truth than promised, fakes below the floor, and answers that nobody else can give
    assert asked.truth is not None  # it sends queries
    rarest, least = min(told.fake), asked.floor // told.k
    advice = "Nothing was answered: the query tells more than the file promises."
    if told.truth > asked.truth:
        allowed = f"at most the promised {asked.truth} / 2^64"
        raise ClientError(f"a query that asks for the truth with probability {told.truth} / 2^64", allowed, advice)
    if rarest == 0 and asked.epsilon < inf:
        raise ClientError("a query with an answer that would be the truth for certain", "none that is", advice)
    if rarest < least:
        allowed = f"at least {least} / 2^64, by the promised floor"
        raise ClientError(f"a query with a fake of probability {rarest} / 2^64", allowed, advice)
    return AskedGroup(places, sizes, None, told)


def _compared(attribute: Attribute) -> object:
    """Return a key that only an equal attribute of equal types has: 1 equals true in Python."""
    return attribute.name, tuple((_kind(category), category) for category in attribute.categories)


class _Named:
    """An object of a file: values by name and kind, or an error that names them."""

    def __init__(self, plain: object, what: str) -> None:
        if not isinstance(plain, Mapping):
            raise ClientError(f"{what} that is {_shown(plain)}", "an object with names")
        self.plain: Mapping[str, Any] = plain
        self._what = what

    def __getitem__(self, name: str) -> Any:
        if name not in self.plain:
            raise ClientError(f"{self._what} without {name}", f"{self._what} with {name}")
        return self.plain[name]

    def text(self, name: str) -> str:
        return str(_of_kind(self[name], "text", f"{name} of {self._what}"))

    def named(self, name: str) -> _Named:
        return _Named(self[name], name)

    def sequence(self, name: str) -> Sequence[Any]:
        return _sequence(self[name], f"{name} of {self._what}")

    def whole(self, name: str, least: int, most: int = _MOST_CELLS) -> int:
        value = self[name]
        if type(value) is not int or not least <= value <= most:
            raise ClientError(f"{name} = {_shown(value)} in {self._what}", f"whole numbers from {least} to {most}")
        return value

    def numerator(self, name: str) -> int:
        return _grid_number(self.named("probabilities")[name], name, 1, GRID - 1)

    def refuse_names(self, known: set[str], optional: Collection[str] = ()) -> None:
        """Refuse an object that lacks a name, or has one that this client does not know."""
        for name in sorted(known - set(self.plain)):
            raise ClientError(f"{self._what} without {name}", _listed(sorted(known)))
        for name in _ordered(set(self.plain) - known - set(optional)):
            raise ClientError(
                f"{self._what} with {_shown(name)}", _listed(sorted(known)), "A newer client may know it."
            )

    def refuse_others(self, options: Collection[str], probabilities: Collection[str]) -> None:
        """Refuse a mechanism with other options or probabilities than these."""
        self.refuse_names({*_MECHANISM, *options})
        self.named("probabilities").refuse_names(set(probabilities))


def _grid_number(text: object, name: str, least: int, most: int) -> int:
    """Read a probability: a whole number of GRID-ths as a decimal text."""
    number = int(text) if isinstance(text, str) and re.fullmatch("0|[1-9][0-9]{0,19}", text) else -1
    if not least <= number <= most:
        raise ClientError(f"{name} = {_shown(text)}", f"whole numbers from {least} to {most}, as decimal texts")
    return number


def _of_kind(value: object, kind: str, where: str) -> Any:
    if _kind(value) != kind:
        raise ClientError(f"{where} that is {_shown(value)}", f"a {kind}")
    return value


def _sequence(value: object, what: str) -> Sequence[Any]:
    return _of_kind(value, "list", what)  # type: ignore[no-any-return]  # of that kind


def _kind(value: object) -> str:
    """Return the kind of a plain value; an empty text for a number that is not finite, and for anything else."""
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, (int, float)):
        return "number" if isinstance(value, int) or isfinite(value) else ""
    return "text" if isinstance(value, str) else "list" if isinstance(value, (list, tuple)) else ""


def _category(written: object) -> Category | None:
    """Return the category as written; None for numbers from 2^53 on unless in digits, as some languages round them."""
    if isinstance(written, (str, bool)):
        return written
    if isinstance(written, (int, float)):
        return written if abs(written) < 1 << 53 else None
    return _large_number(written)


def _large_number(written: object) -> int | None:
    """Read a whole number from 2^53 on, written as {"int": its digits}; None for anything else."""
    if not isinstance(written, Mapping) or set(written) != {"int"}:
        return None
    digits = written["int"]
    proper = isinstance(digits, str) and re.fullmatch("-?[1-9][0-9]{15,99}", digits)
    return int(digits) if proper and abs(int(digits)) >= 1 << 53 else None


def _record(record: object) -> Mapping[str, object]:
    if not isinstance(record, Mapping):
        raise ClientError(f"the record {_shown(record)}", "an object with the answer to every question, by name")
    return record


def _checked_token(token: object) -> str | None:
    if token is not None and not (isinstance(token, str) and re.fullmatch("[!-~]{1,200}", token)):
        raise ClientError(f"the token {_shown(token)}", "1 to 200 printable ASCII characters without spaces")
    return token


def _parsed(text: object, what: str) -> Any:
    """Parse JSON; refuse what is too large (before), names that stand twice, and numbers that are none."""
    if not isinstance(text, str):
        raise ClientError(f"{what} that is {_shown(text)}", "its text")
    refuse_oversized(text, what)
    repeated: list[object] = []

    def different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(pairs)
        repeated.extend(pairs[len(plain) :])
        return plain

    try:
        plain = json.loads(
            text, object_pairs_hook=different, parse_int=_number, parse_float=_number, parse_constant=_refuse_constant
        )
    except ValueError as error:
        raise ClientError(f"text that is not {what} (it is no JSON)", f"{what} as it was written") from error
    if repeated:
        raise ClientError(f"text that is not {what} (a name stands twice)", f"{what} as it was written")
    return plain


def refuse_oversized(text: str, what: str) -> None:
    """Refuse text too large, nested or long in numbers to be parsed; what stands inside of its texts does not count."""
    if len(text) > _MOST_BYTES or len(text.encode(errors="surrogatepass")) > _MOST_BYTES:
        raise ClientError(f"{what} of more than {_MOST_BYTES} bytes", "up to as many")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ClientError(f"{what} with half a letter", "text that can be written in UTF-8") from error
    outside = _outside_of(_parts(text))
    if sum(map(outside.count, ",[]{}")) > _MOST_MARKS:
        raise ClientError(f"{what} with more than {_MOST_MARKS} commas and brackets", "up to as many")
    if max(accumulate(1 if mark in "[{" else -1 for mark in _BRACKET.findall(outside)), default=0) > _DEEPEST:
        raise ClientError(f"{what} that is nested more than {_DEEPEST} deep", "up to as many levels")
    if _LONG_NUMBER.search(outside):
        raise ClientError(f"{what} with a number of more than 100 letters", "up to as many")


def _parts(text: str) -> list[str]:
    """Return what stands outside of texts, and inside, in turn."""
    for quoted, letter in _QUOTED:
        text = text.replace(quoted, letter)
    return text.split('"')


def _outside_of(parts: Sequence[str]) -> str:
    """Return what stands outside of texts, without spaces, and with a quotation mark for each of theirs."""
    outside = '"'.join(parts[::2])
    for space in " \t\r\n":
        outside = outside.replace(space, "")
    return outside


def _without_spaces(text: str) -> str:
    """Return well-formed JSON without the spaces outside of its texts."""
    parts = _parts(text)
    parts[::2] = _outside_of(parts).split('"')
    text = '"'.join(parts)
    for quoted, letter in _QUOTED:
        text = text.replace(letter, quoted)
    return text


def _number(text: str) -> float:
    """Read a number as languages with doubles alone do: a whole one below 2^53 is an int however written (1.0, 1e2)."""
    number = float(text)
    return int(number) if abs(number) < 1 << 53 and number.is_integer() else number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"the number {name}")


def _ordered(names: Collection[str]) -> list[str]:
    """Return names in the order of their UTF-16 units, the same in all languages."""
    return sorted(names, key=lambda name: name.encode("utf-16-be", errors="surrogatepass"))


def _written(message: Mapping[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))


def _shown(value: object) -> str:
    """Print a value for an error message, cut after 80 letters, as clients in other languages do."""
    shown = ""
    for piece in _printed(value):
        shown += piece
        if len(shown) > 80:
            return f"{shown[:80]}..."
    return shown


def _printed(value: object) -> Iterator[str]:
    """Yield what JSON says, piece by piece: values without end are cut before they end."""
    if isinstance(value, str):
        # the letters behind are cut anyway
        yield json.dumps(value[:81], ensure_ascii=False).encode(errors="backslashreplace").decode()
    elif value is None or isinstance(value, bool):
        yield json.dumps(value)
    elif isinstance(value, (int, float)):
        yield _printed_number(value)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield "," if index else "["
            yield from _printed(item)
        yield "]" if value else "[]"
    elif isinstance(value, Mapping) and len(value) <= 8:
        named = {str(name): item for name, item in value.items()}
        for index, name in enumerate(_ordered(named)):
            yield "," if index else "{"
            yield from _printed(name)
            yield ":"
            yield from _printed(named[name])
        yield "}" if value else "{}"
    else:
        yield f"an object of {len(value)} names" if isinstance(value, Mapping) else f"of type {type(value).__name__}"


def _printed_number(number: float) -> str:
    if isinstance(number, int):
        return int.__repr__(number) if abs(number) < 10**100 else "beyond 10^100"
    if not isfinite(number):
        return json.dumps(number)
    return str(int(number)) if number.is_integer() and abs(number) < 10**16 else float.__repr__(number)


def _listed(values: Sequence[object]) -> str:
    shown = ", ".join(map(_shown, values[:8])) or "nothing"
    return shown if len(values) <= 8 else f"{shown}, ... ({len(values)} in all)"


def main(arguments: Sequence[str]) -> int:
    """Answer a protocol file, or a query of it, for the record at standard input; return the exit code."""
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        sys.stderr.write("usage: client.py PROTOCOL [QUERY] < RECORD\n")
        return 2
    try:
        protocol, *query = [_decoded(_content(name), name) for name in arguments]
        record = _parsed(_decoded(_content(0), "the record"), "a record")
        respondent = Respondent(protocol)
        answer = respondent.answer_query(query[0], record) if query else respondent.answer(record)
        # to the standard output itself: what could not be written is not tried again when Python ends
        left = f"{answer}\n".encode()
        while left:
            left = left[os.write(1, left) :]
    except ClientError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except OSError as error:
        where = "standard input or output" if error.filename in (None, 0) else repr(error.filename)
        sys.stderr.write(f"{where}: {error.strerror}\n")
        return 3
    except KeyboardInterrupt:
        return 130
    return 0


def _content(file: str | int) -> bytes:
    with open(file, "rb", closefd=file != 0) as opened:  # pathlib costs a device more than it gives
        content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ClientError(f"more than {_MOST_BYTES:,} bytes", "a protocol file, a query or a record")
    return content


def _decoded(content: bytes, what: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ClientError(f"{what} with bytes that are not UTF-8", "text in UTF-8") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
