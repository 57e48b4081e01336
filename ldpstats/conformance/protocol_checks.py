"""Checks of local protocols, by the exact laws of collections: each raises ConformanceError with what was found."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial, reduce
from io import StringIO
from itertools import chain, permutations, product
from math import prod
from operator import add
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.conformance.enumeration import MOST_COURSES, ScriptedDraws, TooManyCoursesError, outcomes
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE, ConformanceError, fit_pvalue, refuses, require
from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.noise import NoiseModel
from ldpstats.numbers.randomness import Shape
from ldpstats.presentation import Summary, progress
from ldpstats.privacy import strict_epsilon, worst_ratio
from ldpstats.protocols import PROTOCOLS, LocalProtocol, Protocol
from ldpstats.protocols.contract import missing
from ldpstats.protocols.counting import Layout
from ldpstats.protocols.groups import label
from ldpstats.protocols.row_frames import rows_of_frame
from ldpstats.saving.files import sealed
from ldpstats.tables import TableSet
from ldpstats.tables.respondents import RespondentSet

Make: TypeAlias = Callable[[Domain, float], LocalProtocol]
"""A protocol, given its domain and the level of a respondent."""
CollectionLaw: TypeAlias = dict[Hashable, Fraction]

TINY = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
LEVEL = 3.0
"""The level of the protocols whose laws are enumerated."""
_KEYS = 1 << 31


class CollectionDraws(ScriptedDraws):
    """Scripted draws for several respondents in random order."""

    simulated = False

    def __init__(self, script: list[int]) -> None:
        super().__init__(script)
        self._ordered = False

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Follow the script for uniform integers; sort keys, which come in halves, are one draw among all orders."""
        if bound < _KEYS:
            return super().uniform(bound, shape)
        count = int(np.prod(shape, dtype=np.int64))
        self._ordered = not self._ordered
        if not self._ordered:
            return np.zeros(count, dtype=np.int64)
        orders = list(permutations(range(count)))
        return np.array(orders[int(super().uniform(len(orders), 1)[0])], dtype=np.int64)


def law_of_run(run: Callable[[], Hashable], most: int = MOST_COURSES) -> CollectionLaw:
    """Return the exact law of what a call returns, which must take all its chance from `client_draws`.

    It is called once for every course of its draws, of which there may be `most`.
    """
    law: CollectionLaw = defaultdict(Fraction)

    def once(draws: ScriptedDraws) -> Any:
        with patch("ldpstats.numbers.randomness._ByteDraws", lambda *_, **__: draws), without_generators():
            made = run()
        if prod(sum(weight > 0 for weight in weights) for weights, _ in draws.choices) > most:
            raise TooManyCoursesError
        return made

    outcome: Any
    for outcome, probability in outcomes(once, most, CollectionDraws):
        law[outcome] += probability
    return dict(law)


def without_generators() -> AbstractContextManager[object]:
    """Context in which `default_rng` raises: chance must come from the operating system's secure source."""
    insecure = ConformanceError("without a seed, chance comes from a generator that is not secure")
    return patch("numpy.random.default_rng", side_effect=insecure)


Sent: TypeAlias = tuple[tuple[Any, ...], ...]
"""The rows of one respondent, but for the number of the collection: all that describes them, and their values."""


@dataclass(frozen=True, slots=True, eq=False)
class OneRespondent:
    """Exact law of the rows that one respondent sends, for every record."""

    protocol: LocalProtocol
    records: NDArray[np.int64]  # a row of codes each
    laws: list[CollectionLaw]  # of the rows, for each record
    tables: dict[Hashable, TableSet]  # of every outcome

    @property
    def some(self) -> TableSet:
        """Tables of any one outcome, for what those of all outcomes share."""
        return next(iter(self.tables.values()))

    def seen_through(self, shown: Callable[[Any], Hashable]) -> list[CollectionLaw]:
        """Return the laws, for each record, of a function of what is sent."""
        merged: list[CollectionLaw] = []
        for law in self.laws:
            seen: CollectionLaw = defaultdict(Fraction)
            for sent, probability in law.items():
                seen[shown(sent)] += probability
            merged.append(dict(seen))
        return merged


@lru_cache(maxsize=4)
def one_respondent(make: Make) -> OneRespondent:
    """Enumerate what one respondent sends; `make` gives a protocol by domain and level."""
    protocol = make(TINY, LEVEL)
    domain = protocol.domain
    records = np.array(list(product(*map(range, domain.shape))))
    laws: list[CollectionLaw] = []
    kept: dict[Hashable, pd.DataFrame] = {}
    for record in records:
        frame = domain.decode(record[None])

        def send(alone: pd.DataFrame = frame) -> Hashable:
            rows = protocol.reports(alone)
            sent = sent_rows(rows)
            kept.setdefault(sent, rows)
            return sent

        laws.append(law_of_run(send))
    return OneRespondent(protocol, records, laws, {sent: protocol.tables(rows) for sent, rows in kept.items()})


def sent_rows(rows: pd.DataFrame, *left_out: str) -> Sent:
    """Return rows as values with all that a data frame shows, but for the collection's identity and other columns."""
    shown = rows.drop(columns=["collection", *left_out])
    head = (*shown.columns, *map(str, rows.dtypes), repr(rows.index), repr(rows.attrs))
    return (head, *shown.itertuples(index=False, name=None))


def people(protocol: LocalProtocol, n: int) -> pd.DataFrame:
    """Return respondents: the first two differ in every answer, and later categories are rarer than early ones."""
    rng, shape = np.random.default_rng(n), protocol.domain.shape
    codes = (rng.random((n, len(shape))) ** 2 * shape).astype(np.int64)
    codes[:2] = np.arange(n)[:2, None]
    return protocol.domain.decode(codes)


def tallies(tables: TableSet) -> tuple[Hashable, ...]:
    """Return, for every table and block, the number of reports and the counts."""
    return tuple(tuple((block.n, *block.tally.counts.tolist()) for block in table.blocks) for table in tables)


def joint_counts(domain: Domain, frame: pd.DataFrame) -> NDArray[np.int64]:
    """Return how many respondents have each record, in the domain's shape."""
    cells = domain.cells(domain.encode(frame), domain.names)
    return np.bincount(cells, minlength=domain.size()).reshape(domain.shape)


def ways_to_collect(
    protocol: LocalProtocol, frame: pd.DataFrame, rng: np.random.Generator
) -> dict[str, Callable[[], TableSet]]:
    """Return calls that make tables of the same respondents in every way that there is."""
    joint = joint_counts(protocol.domain, frame)
    return {
        "collect": lambda: protocol.collect(frame, rng),
        "reports and tables": lambda: protocol.tables(protocol.reports(frame, rng)),
        "simulate a frame": lambda: protocol.simulate(frame, rng),
        "simulate joint counts": lambda: protocol.simulate(joint, rng),
    }


_EXACT = 1e-12
_MOST_COURSES = 600
"""Of two respondents; where they take more, one alone is looked at."""
_MOST_COURSES_OF_ROWS = 130
_COLLECTED = {"collect": 120, "reports and tables": 60, "simulate a frame": 240, "simulate joint counts": 240}
"""How often, for a comparison of laws."""
_EXPECTED = 6
"""So many collections with outcomes that are compared as one."""
_HALF = 200
_STANDARD_ERRORS = 5.5
"""A normal deviate exceeds so many once in 26 million times."""


def contract_is_satisfied(make: Make) -> None:
    """Every name of the contract is there, and the summary says levels and tables."""
    protocol = make(TINY, LEVEL)
    lacking = missing(protocol, LocalProtocol)
    require(not lacking, f"{protocol!r}: has no {', '.join(lacking)}")
    promised, summary = protocol.privacy(), protocol.summary()
    require(isinstance(summary, Summary), f"{protocol!r}: its summary is a {type(summary).__name__}, not a Summary")
    said = " ".join([summary.title, *chain(*(chain(*panel.rows) for panel in summary.panels)), *summary.sentences])
    stated = all(line in said for line in promised.lines())
    require(stated, f"{protocol!r}: its summary does not say {promised.headline}")
    for table in protocol.simulate(people(protocol, 2), rng=1):
        stated = label(table.attributes) in promised.per_group
        require(stated, f"{protocol!r}: no level is stated of {table.attributes}")
        require(label(table.attributes) in said, f"{protocol!r}: its summary does not name {table.attributes}")
    refuses(f"{protocol!r}: has a mechanism for an attribute that it does not know", protocol.mechanism_for, "nothing")


def mechanisms_are_those_of_the_reports(make: Make) -> None:
    """What `mechanism_for` returns for a group has the channel of its table's first block.

    A table that is put together from answers about single attributes has no mechanism; the attributes have.
    """
    protocol = make(TINY, LEVEL)
    for table in protocol.simulate(people(protocol, 12), rng=1):
        try:
            mechanism = protocol.mechanism_for(table.attributes)
        except LdpstatsError:
            for name in table.attributes:
                protocol.mechanism_for(name)
            continue
        block = table.blocks[0]
        same = _channel(mechanism.finest.noise, mechanism.k) == _channel(block.noise, block.question.answers)
        require(same, f"{protocol!r}: answers about {table.attributes} do not come through {mechanism}")


def _channel(noise: NoiseModel, k: int) -> list[Any]:
    """Return the mean report of every answer, in whatever order reports are counted."""
    return sorted(np.stack([noise.mean(answer) for answer in np.eye(k)]).round(9).T.tolist())


def statements_are_those_of_what_is_sent(make: Make) -> None:
    """The stated level is that of all rows of one respondent, and a group's that of what she adds to its table.

    A protocol that adapts promises no less than the level of its first respondents, which their own tables state.
    """
    respondent = one_respondent(make)
    protocol, promised, of_tables = respondent.protocol, respondent.protocol.privacy(), respondent.some.privacy
    levels = {"everything sent": (respondent.laws, promised.epsilon, of_tables.epsilon)}
    for index, group in enumerate(label(table.attributes) for table in respondent.some):
        laws = respondent.seen_through(lambda sent, index=index: tallies(respondent.tables[sent])[index])  # type: ignore[misc]  # bound now
        levels[group] = laws, promised.per_group[group], of_tables.per_group[group]
    for what, (laws, said, stated) in levels.items():
        exact = strict_epsilon(worst_ratio(laws))
        require(stated == exact, f"{protocol!r}: the level of {what} is {exact}, and its tables say {stated}")
        kept = said == exact or (protocol.adaptive and said > exact)
        require(kept, f"{protocol!r}: the level of {what} is {exact}, and it promises {said}")


def _sent(protocol: LocalProtocol, frame: pd.DataFrame) -> Any:
    return sent_rows(protocol.reports(frame))


def public_columns_do_not_depend_on_the_record(make: Make) -> None:
    """What rows say beside the answer has the same law for every record, also where several respondents send some."""
    respondent = one_respondent(make)
    protocol = respondent.protocol
    first, *others = respondent.seen_through(_public)
    require(all(law == first for law in others), f"{protocol!r}: what is asked depends on the record")
    frame = people(protocol, 30)
    shown = [sent_rows(protocol.reports(own, rng=7), "report") for own in (frame, frame.iloc[::-1])]
    require(shown[0] == shown[1], f"{protocol!r}: what is asked depends on the records")
    alone = [protocol.domain.decode(codes[None]) for codes in respondent.records] * 2
    with patch("secrets.token_hex", lambda size: "5a" * size):
        names = [frozenset(protocol.reports(own)["collection"]) for own in alone]
    require(len(set(names)) in (1, len(names)), f"{protocol!r}: the name of the collection depends on the record")


def order_of_the_respondents_does_not_show(make: Make) -> None:
    """The rows of two respondents have one law, whoever stands first in the data frame; where it can be enumerated.

    Of many respondents with different halves, both halves of the rows estimate the same, unless the protocol adapts.
    """
    protocol = make(TINY, LEVEL)
    if not protocol.adaptive:
        rows = protocol.reports(people(protocol, 2).iloc[np.repeat([0, 1], _HALF)], rng=11)
        for order in (np.arange(len(rows)), rows["number"].to_numpy()):
            early, late = (
                protocol.tables(rows[part]) for part in (order < np.median(order), order >= np.median(order))
            )
            for one_half, other_half in zip(early, late, strict=True):
                difference = np.abs(one_half.estimate - other_half.estimate)
                off = float((difference / np.hypot(one_half.std_err, other_half.std_err)).max())
                require(off < _STANDARD_ERRORS, f"{protocol!r}: the order of the rows shows that of the data frame")
    frame = people(protocol, 2)
    try:
        forward, backward = (
            law_of_run(partial(_sent, protocol, own), _MOST_COURSES_OF_ROWS) for own in (frame, frame.iloc[::-1])
        )
    except TooManyCoursesError:
        return
    require(forward == backward, f"{protocol!r}: rows show who stands first in the data frame")


def _public(sent: Any) -> Any:
    names, *rows = sent
    column = names.index("report")
    return tuple(row[:column] + row[column + 1 :] for row in rows)


def tables_know_their_noise(make: Make) -> None:
    """What one respondent adds to a table has the mean that the table's noise model gives her true answer."""
    respondent = one_respondent(make)
    protocol = respondent.protocol
    for codes, law in zip(respondent.records, respondent.laws, strict=True):
        for index, table in enumerate(respondent.some):
            cell = np.eye(table.domain.size())[protocol.domain.cells(codes[None], table.attributes)[0]]
            off: dict[int, Any] = defaultdict(float)
            for sent, probability in law.items():
                for number, block in enumerate([*respondent.tables[sent]][index].blocks):
                    mean = block.noise.mean(block.question.answer_frequencies(cell))
                    off[number] = off[number] + float(probability) * (block.tally.counts - block.n * mean)
            most = max(float(np.abs(own).max()) for own in off.values())
            require(most <= _EXACT, f"{protocol!r}: what {table.attributes} counts is off by {most:.3g} on average")


def all_ways_to_collect_have_one_law(make: Make) -> None:
    """Tables have the enumerated law of `collect` in whatever way they come about."""
    protocol = make(TINY, LEVEL)
    frame = people(protocol, 2)
    try:
        law = law_of_run(lambda: tallies(protocol.collect(frame)), _MOST_COURSES)
    except TooManyCoursesError:
        frame = frame.tail(1)
        law = law_of_run(lambda: tallies(protocol.collect(frame)))
    for name, way in ways_to_collect(protocol, frame, np.random.default_rng(2024)).items():
        _require_law(law, way, _COLLECTED[name], f"{protocol!r}: {name}")


def _require_law(law: CollectionLaw, way: Callable[[], TableSet], times: int, what: str) -> None:
    kinds, exact = _kinds(law, _EXPECTED / times)
    pvalue = fit_pvalue(Counter([kinds.get(tallies(way()), -1) for _ in range(times)]), exact)
    require(pvalue > FALSE_FAILURE_RATE, f"{what} does not have the exact law: p = {pvalue:.2g}")


def _kinds(law: CollectionLaw, least: float) -> tuple[dict[Any, int], dict[int, float]]:
    """Merge rare outcomes until they can be compared; return the kind of every outcome, and the law of kinds."""
    kinds, exact = {}, {0: 0.0}
    for outcome in sorted(law, key=lambda outcome: (law[outcome], outcome)):
        if exact[len(exact) - 1] >= least:
            exact[len(exact)] = 0.0
        kinds[outcome] = len(exact) - 1
        exact[len(exact) - 1] += float(law[outcome])
    return kinds, exact


def rows_make_the_tables_that_are_collected(make: Make) -> None:
    """Counted rows of one respondent have the law of what is collected from her, whatever her record."""
    respondent = one_respondent(make)
    protocol = respondent.protocol
    laws = respondent.seen_through(lambda rows: tallies(respondent.tables[rows]))
    for codes, sent in zip(respondent.records, laws, strict=True):
        frame = protocol.domain.decode(codes[None])
        law = law_of_run(partial(_collected, protocol, frame))
        require(sent == law, f"{protocol!r}: what a respondent sends is not what is collected from her")


def _collected(protocol: LocalProtocol, frame: pd.DataFrame) -> Any:
    return tallies(protocol.collect(frame))


def estimates_are_near_the_truth(make: Make) -> None:
    """Tables of many respondents are within 5.5 standard errors of the true frequencies."""
    protocol = make(TINY, LEVEL)
    frame = people(protocol, 1_500)
    joint, names = joint_counts(protocol.domain, frame), protocol.domain.names
    for name, way in ways_to_collect(protocol, frame, np.random.default_rng(5)).items():
        for table in way():
            truth = np.einsum(joint, [*range(joint.ndim)], list(map(names.index, table.attributes))) / len(frame)
            off = float((np.abs(table.estimate - truth) / table.std_err).max())
            require(off < _STANDARD_ERRORS, f"{protocol!r}: by {name} an estimate is {off:.1f} standard errors off")


def rows_count_in_any_order_and_part(make: Make) -> None:
    """Rows make the same tables in any order, through a file, and in parts that are added in any order.

    A protocol that adapts refuses parts, and only whole collections are added.
    """
    protocol = make(TINY, LEVEL)
    frame, rng = people(protocol, 24), np.random.default_rng(3)
    rows = protocol.reports(frame, rng)
    whole = protocol.tables(rows)
    counted = RespondentSet.different(table.parts for table in whole)
    require(counted == len(frame), f"{protocol!r}: {counted} of {len(frame)} respondents are counted")
    shuffled = rows.iloc[rng.permutation(len(rows))]
    through_file = pd.read_csv(StringIO(rows.to_csv(index=False)))
    for name, same in (("in another order", shuffled), ("read from a file", through_file)):
        require(_same(protocol.tables(same), whole), f"{protocol!r}: rows {name} make other tables")
    places = rng.integers(0, 3, len(rows))
    parts = [rows[places == part] for part in range(3)]
    if protocol.adaptive:
        for part in parts:
            refuses(f"{protocol!r}: counts a part of the rows", protocol.tables, part, kind=ReportError)
        parts = [rows, protocol.reports(frame, rng)]
        whole = protocol.tables(parts[1]) + whole
    sets = [protocol.tables(part) for part in parts]
    for ordered in (sets, sets[::-1]):
        require(
            _reports(reduce(add, ordered)) == _reports(whole), f"{protocol!r}: rows counted in parts make other tables"
        )
    refuses(f"{protocol!r}: respondents are counted twice", add, whole, sets[0])


def rows_count_chunk_by_chunk(make: Make) -> None:
    """Rows counted in chunks, here and elsewhere, saved in between and added, make the tables of all of them."""
    protocol = make(TINY, LEVEL)
    rows = protocol.reports(people(protocol, 24), rng=3)
    ((_, sent, *_),) = rows_of_frame(rows, protocol.fingerprint(), Layout(protocol.sent_rows))
    first, second, third = (sent.taken(np.arange(len(sent)) % 3 == rest) for rest in range(3))
    here, elsewhere = protocol.counting(), protocol.counting()
    here.take(first)
    again = protocol.counting()
    again.restore(json.loads(json.dumps(here.to_dict())))
    again.take(second)
    elsewhere.take(third)
    again.add(elsewhere)
    require(_same(again.tables(), protocol.tables(rows)), f"{protocol!r}: rows counted in chunks make other tables")
    require(again.n == len(sent), f"{protocol!r}: {again.n} of {len(sent)} rows are counted")
    said = again.tables(set_aside=5).privacy.set_aside
    require(said == 5, f"{protocol!r}: of 5 rows that were set aside, tables say {said}")


def foreign_rows_are_refused(make: Make) -> None:
    """Rows that this protocol cannot have made, or that stand twice, are refused."""
    protocol = make(TINY, LEVEL)
    frame, other = people(protocol, 24), make(TINY, LEVEL / 2)
    rows = protocol.reports(frame, rng=3)
    spoiled: dict[str, list[Any]] = {
        "protocol": ["p000000000000", None],
        "collection": ["c", "c" + "g" * 32, 5],
        "number": [-1, 0.5, None],
        "group": ["nobody", None],
        "report": ["", "x", "-1", "[-1]", "1e0", None, "[" * 999],
        "simulated": ["maybe", None],
    }
    turned = make(Domain({name: of[::-1] for name, of in TINY.categories.items()}), LEVEL)
    foreign: dict[str, Any] = {
        "a row that stands twice": pd.concat([rows, rows.iloc[[7]]]),
        "rows as a list": rows.to_dict(orient="records"),
        "rows about categories in another order": turned.reports(frame, rng=3),
        **{f"rows without {column!r}": rows.drop(columns=column) for column in spoiled},
    }
    if other.fingerprint() != protocol.fingerprint():
        foreign[f"rows of {other}"] = other.reports(frame, rng=3)
    for column, value in ((column, value) for column, values in spoiled.items() for value in values):
        changed = rows.astype({column: object})
        changed.loc[5, column] = value
        foreign[f"a row with the {column} {value!r}"] = changed
    for what, sent in foreign.items():
        refuses(f"{protocol!r}: counts {what}", protocol.tables, sent, kind=ReportError)


def protocols_are_saved_and_read(make: Make) -> None:
    """A protocol that is read again is the same, and a file with more, less or something else is refused.

    If the file says what respondents are asked, these are the rows that travel.
    """
    protocol, other = make(TINY, LEVEL), make(TINY, LEVEL / 2)
    text, registered = protocol.to_json(), PROTOCOLS.get(protocol.kind)
    require(registered in (None, type(protocol)), f"{protocol!r}: its kind is that of {registered}")
    read = type(protocol).from_json if registered is None else Protocol.from_json
    for reader in (read, type(protocol).from_json):
        try:
            again = reader(text)
        except LdpstatsError as error:
            raise ConformanceError(f"{protocol!r}: refuses its own file: {error}") from error
        same = type(again) is type(protocol) and again == protocol
        require(same and again.to_json() == text, f"{protocol!r}: is read as {again!r}")
        require(again.fingerprint() == protocol.fingerprint(), f"{protocol!r}: has another fingerprint when it is read")
    same = other == protocol or other.to_json() == text or other.fingerprint() == protocol.fingerprint()
    require(not same or other.privacy() == protocol.privacy(), f"{protocol!r}: is saved like {other!r}")
    whole = json.loads(text)
    version, body = whole["version"], whole["body"]
    asked = [(row["group"], number) for number, unit in enumerate(body.get("units", [])) for row in unit]
    sent = [(row.label, row.unit) for row in getattr(protocol, "sent_rows", ())]
    require(not asked or asked == sent, f"{protocol!r}: says that {asked} are asked, and {sent} are sent")
    bodies = [{**body, "more": 1}, *({name: body[name] for name in body if name != left} for left in body)]
    bodies += [{**body, name: "?"} for name in body]
    for changed in bodies:
        refuses(f"{protocol!r}: reads {changed}", type(protocol).from_json, sealed("protocol", version, changed))
    for cut in (text[:-1], text[: len(text) // 2], "", "[]", text.replace(TINY.names[0], "z", 1)):
        refuses(f"{protocol!r}: reads {cut!r}", type(protocol).from_json, cut)


def simulations_say_so_and_are_reproducible(make: Make) -> None:
    """A seed gives the same tables again, another one others; tables without a seed are not called simulated."""
    protocol = make(TINY, LEVEL)
    frame = people(protocol, 60)
    uses: tuple[Callable[..., TableSet], ...] = (
        protocol.collect,
        lambda own, rng=None: protocol.tables(protocol.reports(own, rng)),
    )
    for use in uses:
        first, again, other, secure = (use(frame, rng=rng) for rng in (1, np.random.default_rng(1), 2, None))
        require(_same(first, again), f"{protocol!r}: one seed gives different tables")
        require(not _same(first, other), f"{protocol!r}: different seeds give the same tables")
        require(
            bool(first.simulated) and not secure.simulated, f"{protocol!r}: does not tell seeds from secure randomness"
        )
        with without_generators():
            another = use(frame)
        require(not _same(secure, another), f"{protocol!r}: two secure collections are the same")
        try:
            together = secure + another
        except LdpstatsError:  # the second passes for the first
            together = another
        _require_count(protocol, "two collections", together, 2 * len(frame))
    for population in (frame, joint_counts(protocol.domain, frame)):
        first, again, other = (protocol.simulate(population, rng=rng) for rng in (1, 1, 2))
        require(_same(first, again) and not _same(first, other), f"{protocol!r}: a simulation does not follow its seed")
        require(bool(first.simulated), f"{protocol!r}: a simulation is not called one")
        require(first.privacy == protocol.privacy() or protocol.adaptive, f"{protocol!r}: tables state another level")


def populations_of_all_forms_are_counted(make: Make) -> None:
    """Nobody, a few, frequency tables and joint counts in every shape are counted."""
    protocol = make(TINY, LEVEL)
    for n in range(3):
        for name, way in ways_to_collect(protocol, people(protocol, n), np.random.default_rng(1)).items():
            tables = way()
            _require_count(protocol, name, tables, n)
            require(_same(TableSet.from_json(tables.to_json()), tables), f"{protocol!r}: tables of {n} change in files")
    frame = people(protocol, 12)
    joint, frequencies = joint_counts(protocol.domain, frame), frame.value_counts().rename("n").reset_index()
    _require_count(protocol, "collect", protocol.collect(frequencies, rng=1, counts="n"), 12)
    _require_count(protocol, "simulate", protocol.simulate(frequencies, rng=1, counts="n"), 12)
    _require_count(protocol, "reports", protocol.tables(protocol.reports(frequencies, rng=1, counts="n")), 12)
    first = protocol.simulate(joint, rng=1)
    for same in (joint.ravel(), joint.tolist(), joint.astype(float)):
        require(_same(protocol.simulate(same, rng=1), first), f"{protocol!r}: joint counts of other shapes differ")


def other_populations_are_refused(make: Make) -> None:
    """Answers that are no categories, undeclared frequency tables, and other arrays are refused."""
    protocol = make(TINY, LEVEL)
    frame = people(protocol, 12)
    joint, frequencies = joint_counts(protocol.domain, frame), frame.value_counts().rename("n").reset_index()
    name = protocol.domain.names[0]
    changed = [frame.drop(columns=name)]
    if not protocol.privacy().substitutes:
        changed += [frame.assign(**{name: "?"}), frame.assign(**{name: None})]
    for use in (protocol.collect, protocol.reports, protocol.simulate):
        for wrong in (frequencies, *changed, np.array([["x"]]), None):
            refuses(f"{protocol!r}: takes {wrong}", use, wrong, 1)
    for counts in (joint[:-1], -joint, joint / 24, np.ones(5)):
        refuses(f"{protocol!r}: takes the joint counts {counts}", protocol.simulate, counts, 1)


def substitutes_are_uniform(make: Make) -> None:
    """What takes the place of an answer outside the questionnaire, if anything does, is uniform over its categories."""
    respondent = one_respondent(make)
    protocol = respondent.protocol
    if not protocol.privacy().substitutes:
        return
    name, *_ = protocol.domain.names
    alike = [law for codes, law in zip(respondent.records, respondent.laws, strict=True) if not codes[1:].any()]
    mixed: dict[Any, Fraction] = defaultdict(Fraction)
    for sent, probability in chain.from_iterable(law.items() for law in alike):
        mixed[sent] += probability / len(alike)
    for answer in ("?", None):
        frame = protocol.domain.decode(respondent.records[:1]).assign(**{name: answer})
        law = law_of_run(partial(_sent, protocol, frame))
        require(law == mixed, f"{protocol!r}: what is sent for {answer!r} has another law")
        collected, rng = law_of_run(partial(_collected, protocol, frame)), np.random.default_rng(17)
        what, simulate = f"{protocol!r}: a simulation of {answer!r}", protocol.simulate
        _require_law(collected, partial(simulate, frame, rng), _COLLECTED["simulate a frame"], what)


def _require_count(protocol: LocalProtocol, name: str, tables: TableSet, n: int) -> None:
    counted = RespondentSet.different(table.parts for table in tables)
    require(counted == n, f"{protocol!r}: {name} counts {counted} of {n} respondents")


PROTOCOL_CHECKS: tuple[Callable[[Make], None], ...] = (
    contract_is_satisfied,
    mechanisms_are_those_of_the_reports,
    statements_are_those_of_what_is_sent,
    public_columns_do_not_depend_on_the_record,
    order_of_the_respondents_does_not_show,
    tables_know_their_noise,
    all_ways_to_collect_have_one_law,
    rows_make_the_tables_that_are_collected,
    estimates_are_near_the_truth,
    rows_count_in_any_order_and_part,
    rows_count_chunk_by_chunk,
    foreign_rows_are_refused,
    protocols_are_saved_and_read,
    simulations_say_so_and_are_reproducible,
    populations_of_all_forms_are_counted,
    other_populations_are_refused,
    substitutes_are_uniform,
)


def certify_protocol(make: Make) -> None:
    """Run all checks on a local protocol; raise at the first that fails.

    What one respondent sends, and the tables of two, are enumerated by every course of all draws. What is simulated is
    compared with that law at fixed seeds; such a comparison would fail a correct protocol once in a million times. A
    protocol that behaves well with a few respondents and badly with many passes, and so does one that is wrong with
    other parameters than `make` gives it: the suite finds mistakes, it does not replace reading the code.

    Parameters
    ----------
    make : callable
        Makes the protocol, given a domain of three yes-or-no attributes and the level of a respondent.

    Examples
    --------
    >>> from ldpstats import ProductDomain
    >>> from ldpstats.extend import certify_protocol
    >>> certify_protocol(lambda domain, epsilon: ProductDomain(domain, epsilon=epsilon, mechanism="grr"))
    """
    for check in progress(PROTOCOL_CHECKS, "certifying", unit="check"):
        try:
            check(make)
        except LdpstatsError as error:
            raise ConformanceError(f"{check.__name__}: {error}") from error


def _reports(tables: TableSet) -> list[Any]:
    """Return the counts behind every table, in whatever order blocks were added."""
    counted = []
    for table in tables:
        counts: dict[Any, Any] = defaultdict(int)
        for block in table.blocks:
            counts[block.asked] = counts[block.asked] + np.array([block.n, block.tally.simulated, *block.tally.counts])
        counted.append((table.parts, {asked: own.tolist() for asked, own in counts.items()}))
    return counted


def _same(first: TableSet, second: TableSet) -> bool:
    return first.to_json() == second.to_json()
