"""The client of devices: its test vectors, its exact law, what it refuses, and that it needs nothing else."""

from __future__ import annotations

import ast
import copy
import itertools
import json
import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.client_vectors import DOMAIN, VECTORS, Recorded, text_of, vectors
from support.protocol_files import body_of, sealed_again
from support.random_channels import random_channels
from support.scripted_bytes import Script

from ldpstats import client
from ldpstats.answers.domain import Domain
from ldpstats.client import Report, Words
from ldpstats.conformance.enumeration import law_of_courses
from ldpstats.mechanisms import (
    GRR,
    HR,
    OLH,
    OUE,
    RR,
    SS,
    SUE,
    Channel,
    FakeResponse,
    Mechanism,
    joint_ratio,
    plain_mechanism,
)
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import WeightedRows, _ByteDraws
from ldpstats.privacy import strict_epsilon
from ldpstats.protocols import PerAttribute, SampledGroups

SOURCE = Path(client.__file__)
RECORD = {"sex": "F", "größe": "groß", "1": True}
PUBLISHED = json.loads(VECTORS.read_text(encoding="utf-8"))
SAMPLED = SampledGroups(DOMAIN, epsilon=1.0).to_json()

SMALL = [
    RR(2, 0.3),
    RR(2, 3.0),
    GRR(2, 1.0),
    GRR(5, 0.1),
    GRR(9, 4.0),
    SUE(2, 1.0),
    SUE(5, 2.5),
    OUE(4, 0.2),
    OUE(9, 1.0),
    SS(2, 1.0),
    SS(4, 1.0, omega=1),
    SS(5, 1.0, omega=2),
    SS(6, 0.5, omega=3),
    SS(5, 2.0, omega=4),
    HR(2, 1.0),
    HR(3, 0.2),
    HR(7, 1.0, blocks=1),
    HR(9, 3.0, blocks=3),
    HR(10, 4.0, blocks=10),
    *random_channels()[::25],
]
HASHES = [OLH(2, 0.2), OLH(5, 1.0), OLH(9, 2.0)]


class EnumeratedWords(Words):
    """Decisions that follow a script of outcomes, and take the first possible one where it ends.

    Parameters
    ----------
    script : sequence of int
        The outcomes.
    words : sequence of int
        What bare words are, as those of a hash function: they are given, not enumerated.
    """

    def __init__(self, script: Sequence[int], words: Sequence[int] = ()) -> None:
        super().__init__(lambda: 0)
        self._script, self._given = list(script), list(words)
        self.taken: list[int] = []
        self.chances: list[list[Fraction]] = []

    def word(self) -> int:
        return self._given.pop(0)

    def chance(self, numerator: int) -> bool:
        return bool(self._follow([1 - Fraction(numerator, GRID), Fraction(numerator, GRID)]))

    def below(self, bound: int) -> int:
        return self._follow([Fraction(1, bound)] * bound)

    def pick(self, weights: Sequence[int]) -> int:
        return self._follow([Fraction(weight, GRID) for weight in weights])

    def _follow(self, chances: list[Fraction]) -> int:
        first = next(place for place, chance in enumerate(chances) if chance)
        self.taken.append(self._script[len(self.taken)] if len(self.taken) < len(self._script) else first)
        self.chances.append(chances)
        return self.taken[-1]

    def probability(self) -> Fraction:
        """Return the chance of the course that was taken."""
        product = Fraction(1)
        for chances, outcome in zip(self.chances, self.taken, strict=True):
            product *= chances[outcome]
        return product

    def following(self) -> list[int] | None:
        """Return the script of the next course; None after the last."""
        for place in reversed(range(len(self.taken))):
            chances, after = self.chances[place], self.taken[place] + 1
            later = next((outcome for outcome in range(after, len(chances)) if chances[outcome]), None)
            if later is not None:
                return [*self.taken[:place], later]
        return None


def law_of_client(report: Callable[[Words], Report | str], words: Sequence[int] = ()) -> dict[Report | str, Fraction]:
    """Return the exact law of what a client makes of its decisions."""
    law: dict[Report | str, Fraction] = defaultdict(Fraction)
    for course in _courses(report, words):
        law[course[0]] += course[1]
    return dict(law)


def _courses(report: Callable[[Words], Report | str], words: Sequence[int]) -> Iterator[tuple[Report | str, Fraction]]:
    script: list[int] | None = []
    while script is not None:
        decisions = EnumeratedWords(script, words)
        result = report(decisions)
        yield result, decisions.probability()
        script = decisions.following()


def scripted(words: Sequence[int]) -> Any:
    """Return a source of these words, and of no more."""
    return iter(words).__next__


def row_bytes(mechanism: Mechanism, report: Report) -> bytes:
    """Return a report as the bytes of the array that holds it: those that travel are the same, hash functions aside."""
    expected = mechanism.report_format
    if isinstance(report, int):
        return expected.dtype.type(report).tobytes()
    if mechanism.hash_symbols is None:
        return report
    words = [int.from_bytes(report[start : start + 8], "little") for start in (0, 8)]
    return np.array([*words, int.from_bytes(report[16:], "little")], dtype=np.uint64).tobytes()


def test_the_published_vectors_are_what_this_client_does() -> None:
    """They are frozen: whoever changes what words mean sees it here, and in every other client."""
    assert VECTORS.read_text(encoding="utf-8") == text_of(vectors())


def test_vectors_cover_every_mechanism_and_every_kind_of_report() -> None:
    names = Counter(one["mechanism"]["name"] for one in PUBLISHED["reports"])
    assert set(names) == set(client.RANDOMIZERS)
    assert min(names.values()) >= 6


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_the_client_has_the_exact_law_of_the_vectorized_sampler(mechanism: Mechanism) -> None:
    randomizer = client.randomizer(plain_mechanism(mechanism))
    for value in range(mechanism.k):
        law = law_of_client(lambda words, value=value: row_bytes(mechanism, randomizer.report(value, words)))
        sampler = lambda count, draws, value=value: mechanism.randomize(np.full(count, value), draws)  # noqa: E731
        assert law == law_of_courses(sampler, mechanism.report_format.dtype)


@pytest.mark.parametrize("mechanism", HASHES, ids=str)
def test_given_the_hash_function_the_law_is_that_of_the_vectorized_sampler(mechanism: Mechanism) -> None:
    """Both draw the function's two words uniformly."""
    randomizer, word = client.randomizer(plain_mechanism(mechanism)), Recorded("functions")
    functions = [(0, 0), (GRID - 1, GRID - 1), *((word(), word()) for _ in range(8))]
    for function, value in itertools.product(functions, range(mechanism.k)):
        law = law_of_client(lambda words, value=value: row_bytes(mechanism, randomizer.report(value, words)), function)
        sampler = lambda count, draws, value=value: mechanism.randomize(np.full(count, value), draws)  # noqa: E731
        seeds = np.array([function], dtype=np.uint64)
        of_all = law_of_courses(sampler, np.dtype(np.uint64), lambda k, symbols: seeds)  # noqa: B023, ARG005
        assert law == of_all


def test_truth_or_fake_has_the_exact_law_of_the_vectorized_sampler() -> None:
    for truth, fake in ((GRID // 3, (GRID // 2, GRID // 4, GRID // 4)), (GRID, (0, GRID)), (1, (GRID - 2, 1, 1, 0))):
        mechanism = FakeResponse(truth, fake)
        numbers = {"truth": str(truth), "fake": [str(one) for one in fake]}
        plain = {"name": "truth or fake", "k": len(fake), "epsilon": 1.0, "probabilities": numbers}
        for value in range(mechanism.k):
            law = law_of_client(partial(client.randomizer(plain).report, value))
            sampler = lambda count, draws, value=value: mechanism.randomize(np.full(count, value), draws)  # noqa: E731, B023
            exact = law_of_courses(sampler, np.dtype(np.uint8))
            assert law == {report[0]: chance for report, chance in exact.items()}


@pytest.mark.parametrize("mechanism", [*SMALL, *HASHES], ids=str)
def test_clients_and_mechanisms_agree_on_the_exact_level(mechanism: Mechanism) -> None:
    assert client.randomizer(plain_mechanism(mechanism)).ratio() == mechanism.likelihood_ratio()


def test_channels_draw_to_the_last_bit_as_the_bulk_sampler_does() -> None:
    """500 random ones: both draw the same at every word at which their laws change, and at its neighbours."""
    for mechanism in random_channels():
        randomizer = client.randomizer(plain_mechanism(mechanism))
        assert randomizer.ratio() == mechanism.likelihood_ratio()
        for value, row in enumerate(mechanism.rows):
            edges = {upper + step for upper in itertools.accumulate(row) for step in (-1, 0)} - {-1, GRID}
            words = sorted(edges | {0, GRID - 1})
            sent = [randomizer.report(value, Words(scripted([word]))) for word in words]
            assert sent == in_bulk(mechanism, value, words)


def in_bulk(mechanism: Channel, value: int, words: list[int]) -> list[int]:
    """Return what the bulk sampler makes of whole words, whose first 16 bits it takes before the others."""
    first, rest = (np.array([part(word) for word in words]) for part in (lambda w: w >> 48, lambda w: w % (1 << 48)))
    undecided = ties(mechanism.rows[value], first)
    script = Script(first.astype(np.uint16), (rest[undecided].astype(np.uint64) << np.uint64(16)))
    values = np.full(len(words), value)
    drawn = _ByteDraws(script, simulated=True).pick_of(WeightedRows(mechanism.rows), values)
    assert not script.left
    return [int(output) for output in drawn]


def ties(row: tuple[int, ...], first: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Say which words are left open by their first 16 bits: another output begins among those that share these.

    Or right behind them: the sampler does not tell that from the former.
    """
    begins = {upper - 1 >> 48 for upper in itertools.accumulate(row) if 0 < upper < GRID}
    return np.isin(first, list(begins))


@pytest.mark.parametrize("outside", ["refuse", "random"])
def test_a_whole_message_has_its_exact_law(outside: str) -> None:
    """Units are equally likely, rows independent, and substitutes uniform: here written down by hand."""
    domain = Domain({"a": [0, 1], "b": ["x", "y"]})
    protocol = SampledGroups(domain, k=1, epsilon=1.0, mechanism="grr", outside=outside)
    text, truth = protocol.to_json(), Fraction(GRR(2, 1.0).truth, GRID)
    record = {"a": 1, "b": "y"} if outside == "refuse" else {"a": 1}

    def message(words: Words) -> str:
        respondent = client.Respondent(text)
        respondent._words = words
        return respondent.answer(record)

    law = {}
    for sent, chance in law_of_client(message).items():
        plain = json.loads(str(sent))
        law[plain["unit"], *plain["reports"]] = chance
    half = Fraction(1, 2)
    about_b = truth if outside == "refuse" else half
    expected = {(0, 0): 1 - truth, (0, 1): truth, (1, 0): 1 - about_b, (1, 1): about_b}
    assert law == {outcome: half * chance for outcome, chance in expected.items()}


def test_below_and_chance_have_exact_laws_on_a_small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words of six bits all of them can be tried: a rejected one leaves the law of the next."""
    monkeypatch.setattr(client, "GRID", 64)
    for bound in range(1, 65):
        accepted = []
        for word in range(64):
            taken = scripted([word, 0])
            number = Words(taken).below(bound)
            if next(taken.__self__, None) is not None:  # the second word was not needed
                accepted.append(number)
        assert Counter(accepted) == dict.fromkeys(range(bound), 64 // bound)
    for numerator in range(65):
        assert sum(Words(scripted([word])).chance(numerator) for word in range(64)) == numerator
    weights = [10, 0, 33, 1, 0, 20]
    assert Counter(Words(scripted([word])).pick(weights) for word in range(64)) == Counter(
        {place: weight for place, weight in enumerate(weights) if weight}
    )


@pytest.mark.parametrize("mechanism", [*SMALL, *HASHES], ids=str)
def test_no_value_takes_more_words_than_another(mechanism: Mechanism) -> None:
    """How long an answer takes must not tell it, rejected words aside: these are rarer than k in 2^64."""
    randomizer, taken = client.randomizer(plain_mechanism(mechanism)), set()
    for value in range(mechanism.k):
        source = Recorded(f"{mechanism} {value}")
        randomizer.report(value, Words(source))
        taken.add(len(source.given))
    assert len(taken) == 1


def test_substitutes_take_as_many_words_as_answers() -> None:
    text = PerAttribute(DOMAIN, k=1, epsilon=1.0, mechanism="grr", outside="random").to_json()
    taken = set()
    for record in (RECORD, {}, {"sex": "nobody"}):
        source = Recorded(f"{record}")
        client.Respondent(text, source).answer(record)
        taken.add(len(source.given))
    assert taken == {1 + 3 + 2 * 3}


def test_the_level_is_compared_exactly() -> None:
    """The stated level is the least double that is enough; one unit in its last place less is refused."""
    mechanisms = [GRR(6, 1.0), OUE(4, 0.5)]
    ratio = joint_ratio(mechanisms)
    assert ratio is not None
    level = strict_epsilon(ratio)
    client.refuse_above(client.level_of([ratio]), level)
    client.refuse_above(client.level_of([one.likelihood_ratio() for one in mechanisms]), level)
    client.refuse_above(client.level_of([Fraction(1)] * 3), 0.0)
    client.refuse_above(client.level_of([ratio, None]), math.inf)
    for less in (math.nextafter(level, 0), 0.0):
        with pytest.raises(client.ClientError, match="promised"):
            client.refuse_above(client.level_of([ratio]), less)
    with pytest.raises(client.ClientError, match="infinity"):
        client.refuse_above(client.level_of([None, ratio]), 1e308)


def test_one_unit_in_many_that_tells_more_is_found() -> None:
    body = body_of(SampledGroups(DOMAIN, epsilon=1.0, mechanism="grr"))
    weaker = plain_mechanism(GRR(6, 1.0001))
    body["mechanisms"].append(weaker)
    body["units"].append([{**body["units"][0][0], "mechanism": len(body["mechanisms"]) - 1}])
    with pytest.raises(client.ClientError, match="promised"):
        client.Respondent(sealed_again(body))


def test_a_respondent_answers_once() -> None:
    respondent = client.Respondent(SAMPLED)
    message = respondent.answer(RECORD)
    assert {respondent.answer({**RECORD, "sex": "M"}) for _ in range(20)} == {message}
    assert len({client.Respondent(SAMPLED).answer(RECORD) for _ in range(64)}) > 1  # all alike: less than 2^-64


def test_a_refused_record_is_no_answer() -> None:
    respondent = client.Respondent(SAMPLED)
    with pytest.raises(client.ClientError, match="größe"):
        respondent.answer({"sex": "F"})
    assert json.loads(respondent.answer(RECORD))["simulated"] is False


def test_threads_get_one_answer() -> None:
    respondent, found = client.Respondent(SAMPLED), []
    threads = [threading.Thread(target=lambda: found.append(respondent.answer(RECORD))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1


@pytest.mark.parametrize("when", ["before", "while", "after"])
def test_a_forked_respondent_gives_no_second_answer(when: str) -> None:
    """While the parent draws, a thread of it holds the lock, which no thread of the child will ever release."""
    asked, forked = threading.Event(), threading.Event()

    def word() -> int:
        asked.set()
        assert forked.wait(60)
        return 7

    respondent = client.Respondent(SAMPLED, word)
    thread = threading.Thread(target=respondent.answer, args=(RECORD,))
    if when != "before":
        thread.start()
        assert asked.wait(60)
    if when == "after":
        forked.set()
        thread.join()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # what hangs is killed
        try:
            respondent.answer(RECORD)
        except client.ClientError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    forked.set()
    if when != "before":
        thread.join()
    assert respondent.answer(RECORD)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, pickle.dumps, lambda one: one.__reduce_ex__(2)], ids=lambda one: one.__name__
)
def test_a_respondent_has_no_copies(copied: Any) -> None:
    respondent = client.Respondent(SAMPLED)
    for _ in range(2):
        with pytest.raises(client.ClientError, match="a copy of a respondent"):
            copied(respondent)
        respondent.answer(RECORD)


def test_an_answer_within_an_answer_is_refused() -> None:
    """The random words, or the record itself, may ask the respondent: her message would be drawn twice."""
    inner = client.Respondent(SAMPLED, lambda: len(inner.answer(RECORD)))
    late = client.Respondent(SAMPLED)

    class Asking(dict[str, Any]):
        def get(self, name: str, otherwise: Any = None) -> Any:
            return late.answer(RECORD) and super().get(name, otherwise)

    for respondent, record in ((inner, RECORD), (late, Asking(RECORD))):
        with pytest.raises(client.ClientError, match="while she answers"):
            respondent.answer(record)
    assert late.answer(RECORD) == late.answer(Asking(RECORD))


@pytest.mark.parametrize("word", [-1, GRID, 0.5, True, None, "7"])
def test_a_source_of_other_words_is_refused(word: Any) -> None:
    with pytest.raises(client.ClientError, match="random word"):
        client.Respondent(SAMPLED, lambda: word).answer(RECORD)


@pytest.mark.parametrize("text", [None, b"{}", 7, [], "[" * 100_000, "9" * 5000, "\ud800", '{"format": {}}', "null"])
def test_what_is_no_protocol_file_is_refused(text: Any) -> None:
    with pytest.raises(client.ClientError):
        client.Respondent(text)


@pytest.mark.parametrize("record", [None, [], "F", 7, {"sex": ["F"]}, {"sex": {}, "größe": object(), "1": math.nan}])
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(client.ClientError):
        client.Respondent(SAMPLED).answer(record)


def _nested() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [{"in": value}]
    return value


def _cyclic() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (_nested(), '[{"in":[{"in":'),
        (_cyclic(), "[[[["),
        ({"int": 7}, '{"int":7}'),
        (10**5000, "beyond 10^100"),
        (math.nan, "NaN"),
        ("x" * 10_000_000, '"xxx'),
        (b"F", "of type bytes"),
        (dict.fromkeys(range(10_000)), "an object of 10000 names"),
        ({1: "\ud800"}, '{"1":"\\ud800"}'),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_answers_of_any_size_and_kind_are_refused_in_few_words(answer: Any, named: str) -> None:
    for record in ({**RECORD, "sex": answer}, answer):
        with pytest.raises(client.ClientError) as refused:
            client.Respondent(SAMPLED).answer(record)
        assert len(str(refused.value)) < 300
        assert named in str(refused.value) or (record is answer and isinstance(answer, dict))
    with pytest.raises(client.ClientError, match="the token"):
        client.Respondent(SAMPLED).answer(RECORD, answer)


def test_a_rounded_number_is_no_large_category() -> None:
    """A reader of JSON makes the same double of 2^60 and of 2^60 + 1."""
    text = SampledGroups(Domain({"id": [1 << 60, 1 << 61]}), k=1, epsilon=1.0, mechanism="grr").to_json()
    assert client.Respondent(text).answer({"id": 1 << 60})
    for answer in (float(1 << 60), (1 << 60) + 1):
        with pytest.raises(client.ClientError, match="Ask the respondent again"):
            client.Respondent(text).answer({"id": answer})


def test_errors_travel_between_processes() -> None:
    error = client.ClientError("7", "8", "Add one.")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (str(again), again.came, again.allowed, again.advice) == ("7. Allowed: 8. Add one.", "7", "8", "Add one.")


def test_every_altered_letter_is_refused_or_makes_no_difference() -> None:
    """One letter is another at every place: a digest finds it, or it stood outside of the body."""
    text = SampledGroups(Domain({"a": [0, 1]}), k=1, epsilon=1.0).to_json()
    known = client.read_protocol(text)
    for place in range(len(text)):
        for letter in ("7", '"', " ", ""):
            altered = text[:place] + letter + text[place + 1 :]
            try:
                assert client.read_protocol(altered) == known
            except client.ClientError:
                assert altered != text


# As a program, alone.


def alone(*arguments: str, record: bytes, folder: Path, isolated: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run a copy of the client's file where nothing else of the package is."""
    copy = folder / "client.py"
    shutil.copy(SOURCE, copy)
    flags = ["-I", "-S"] if isolated else []
    command = [sys.executable, *flags, str(copy), *arguments]
    return subprocess.run(command, input=record, capture_output=True, cwd=folder, check=False)


def test_the_lone_file_answers_without_any_package(tmp_path: Path) -> None:
    (tmp_path / "protocol.json").write_text("\ufeff" + SAMPLED, encoding="utf-8")
    done = alone("protocol.json", record=json.dumps(RECORD).encode(), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    message = json.loads(done.stdout)
    assert (message["protocol"], message["simulated"]) == (json.loads(SAMPLED)["body"]["fingerprint"], False)


@pytest.mark.parametrize(
    ("arguments", "record", "code", "said"),
    [
        ((), b"{}", 2, b"usage"),
        (("--help",), b"{}", 2, b"usage"),
        (("missing.json",), b"{}", 3, b"missing.json"),
        (("protocol.json",), b"{", 3, b"a record"),
        (("protocol.json",), b"\xff", 3, b"UTF-8"),
        (("protocol.json",), b"", 3, b"a record"),
        (("protocol.json",), b'{"sex": "F"}', 3, b"without"),
        (("client.py",), b"{}", 3, b"a protocol file"),
        ((".",), b"{}", 3, b"."),
    ],
)
def test_the_program_says_what_was_wrong(
    tmp_path: Path, arguments: tuple[str, ...], record: bytes, code: int, said: bytes
) -> None:
    (tmp_path / "protocol.json").write_text(SAMPLED, encoding="utf-8")
    done = alone(*arguments, record=record, folder=tmp_path)
    assert done.returncode == code
    assert said in done.stderr
    assert b"Traceback" not in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("redirected", ["> /dev/full", ">&-", "<&-", "| true", "< /dev/null"])
def test_what_cannot_be_read_or_written_is_said(tmp_path: Path, redirected: str) -> None:
    (tmp_path / "protocol.json").write_text(SAMPLED, encoding="utf-8")
    (tmp_path / "record.json").write_text(json.dumps(RECORD), encoding="utf-8")
    shutil.copy(SOURCE, tmp_path / "client.py")
    given = "" if "<" in redirected else "< record.json"
    command = f'"$0" -I -S client.py protocol.json {given} {redirected}; exit ${{PIPESTATUS[0]}}'
    bash = str(shutil.which("bash"))
    done = subprocess.run([bash, "-c", command, sys.executable], capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode in ((0, 3) if "|" in redirected else (3,))  # a pipe may take all before its end is closed
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == (done.returncode == 3)


def test_input_without_end_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(client, "_MOST_BYTES", 1000)
    assert client.main(["/dev/zero"]) == 3
    assert "more than 1,000 bytes" in capsys.readouterr().err


def test_it_imports_the_standard_library_alone() -> None:
    imports = [
        node for node in ast.walk(ast.parse(SOURCE.read_text("utf-8"))) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        name.partition(".")[0]
        for node in imports
        for name in ([one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert names <= set(sys.stdlib_module_names)


if __name__ == "__main__":
    VECTORS.write_text(text_of(vectors()), encoding="utf-8")
