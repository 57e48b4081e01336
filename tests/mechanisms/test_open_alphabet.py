"""O-RR and O-RAPPOR: permutations for known values, keyed hashes for strings that nobody enumerated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from support.parameters import certifications

from ldpstats.conformance import exact_channel
from ldpstats.conformance.enumeration import Law, outcomes
from ldpstats.errors import LdpstatsError, NotIdentifiedError, ReportError
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.cohorts import ORAPPOR, ORR, flip_numerator
from ldpstats.mechanisms.open_alphabet import OpenAlphabet, OpenRAPPOR, OpenReports, OpenRR
from ldpstats.numbers.arrays import at_least
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import Draws
from ldpstats.privacy import worst_ratio


def names(count: Any) -> list[str]:
    return [f"name {number}" for number in range(at_least(count, 0, "k"))]


def few_symbols(k: int, epsilon: float) -> ORR:
    return ORR(k, epsilon, symbols=2, cohorts=2 * k, seed=1)


def two_permutations(k: int, epsilon: float) -> ORAPPOR:
    return ORAPPOR(k, epsilon, bits=4 if k < 10 else 128, hashes=2)


def candidates_rr(k: int, epsilon: float) -> Mechanism:
    return OpenRR(epsilon, symbols=3, cohorts=9 if k == 2 else 2 * k).over(names(k))


def candidates_rappor(k: int, epsilon: float) -> Mechanism:
    bits, cohorts = next(size for most, *size in ((9, 4, 4), (99, 32, 4), (1000, 128, 32)) if k <= most)
    return OpenRAPPOR(epsilon, bits=bits, hashes=2, cohorts=cohorts, seed=1).over(names(k))


VARIANTS = {
    "O-RR with two symbols": few_symbols,
    "O-RAPPOR with two permutations": two_permutations,
    "O-RR over candidates": candidates_rr,
    "O-RAPPOR over candidates": candidates_rappor,
}


@pytest.mark.parametrize(("make", "check"), certifications(VARIANTS))
def test_they_are_certified(make: Callable[..., Mechanism], check: Callable[..., None]) -> None:
    assert check(make) is None


OPEN = [
    pytest.param(OpenRR(1.0, symbols=3, cohorts=5), id="O-RR"),
    pytest.param(OpenRAPPOR(1.0, bits=4, hashes=2, cohorts=5), id="O-RAPPOR"),
]


def sent_law(alphabet: OpenAlphabet, strings: list[str]) -> Law:
    law: Law = defaultdict(Fraction)
    for reports, chance in outcomes(lambda draws: alphabet.randomize(strings, draws)):
        law[np.ascontiguousarray(reports).tobytes()] += chance
    return dict(law)


@pytest.mark.parametrize("alphabet", OPEN)
def test_a_client_sends_what_the_server_decodes(alphabet: OpenAlphabet) -> None:
    candidates = ["ada", "bob", "łódź"]
    channel = exact_channel(alphabet.over(candidates))
    assert [sent_law(alphabet, [string]) for string in candidates] == channel


def test_strings_in_a_batch_are_hashed_and_randomized_on_their_own() -> None:
    alphabet = OpenRR(1.0, symbols=3, cohorts=2)
    one, other = (sent_law(alphabet, [string]) for string in ("b", "a"))
    together = sent_law(alphabet, ["b", "a"])
    assert together == {first + second: p * q for first, p in one.items() for second, q in other.items()}


@pytest.mark.parametrize("alphabet", OPEN)
def test_the_level_is_the_worst_over_any_strings(alphabet: OpenAlphabet) -> None:
    channel = exact_channel(alphabet.over(names(30)))
    assert worst_ratio(channel) == alphabet.likelihood_ratio()
    assert 1 - 1e-9 < alphabet.strict_epsilon() <= 1
    assert alphabet.privacy().epsilon == alphabet.strict_epsilon()
    assert "string" in alphabet.privacy().unit


def test_a_filter_that_is_too_short_to_differ_so_much_spends_less() -> None:
    alphabet = OpenRAPPOR(1.0, bits=3, hashes=2, cohorts=3)
    flip = Fraction(flip_numerator(1.0, 4), GRID)
    assert alphabet.likelihood_ratio() == ((1 - flip) / flip) ** 3
    assert worst_ratio(exact_channel(alphabet.over(names(30)))) == alphabet.likelihood_ratio()


@pytest.mark.parametrize("alphabet", [OpenRR(2.0), OpenRAPPOR(2.0)], ids=["O-RR", "O-RAPPOR"])
def test_frequencies_of_candidates_come_back_with_their_intervals(alphabet: OpenAlphabet) -> None:
    strings = np.array(["ada", "bob", "eve", "zoe"])
    people = np.repeat(strings, [20_000, 10_000, 10_000, 0])
    reports = alphabet.privatize(people, rng=1)
    estimate = alphabet.estimate(reports, strings)
    variance = np.asarray(alphabet.over(strings).variance([0.5, 0.25, 0.25, 0.0], len(reports)))
    # five standard deviations: four normal numbers exceed that with a probability below 3e-6, so six are allowed
    assert np.all(np.abs(estimate.estimate - [0.5, 0.25, 0.25, 0.0]) < 6 * np.sqrt(variance))
    assert estimate.std_err == pytest.approx(np.sqrt(variance), rel=0.05)
    assert estimate.privacy == alphabet.privacy()
    assert estimate.simulated
    turned = alphabet.estimate(reports, strings[::-1])
    assert turned.estimate == pytest.approx(estimate.estimate[::-1], abs=1e-9)
    over_a_wire = alphabet.estimate(reports.data.tolist(), pd.Series(strings))
    assert np.array_equal(over_a_wire.estimate, estimate.estimate)
    assert not over_a_wire.simulated


@pytest.mark.parametrize("alphabet", [OpenRR(1.0, cohorts=2000), OpenRAPPOR(1.0)], ids=["O-RR", "O-RAPPOR"])
def test_strings_that_are_no_candidates_spread_over_all_candidates(alphabet: OpenAlphabet) -> None:
    k = 40
    candidates, others = names(k), [f"other {number}" for number in range(200)]
    everybody = alphabet.over([*candidates, *others])
    width = everybody.codes.width
    frequencies = np.concatenate([np.zeros(k), np.full(200, 1 / 200)])
    found = alphabet.over(candidates).noise.debias(everybody.noise.mean(frequencies))
    assert found.mean() == pytest.approx(1 / (k + width - 1), rel=0.1)
    assert found.std() < 0.3 * found.mean()


@pytest.mark.parametrize("alphabet", [OpenRR(3.0), OpenRAPPOR(3.0, hashes=2)], ids=["O-RR", "O-RAPPOR"])
def test_sparse_finds_the_few_strings_that_occur_among_thousands(alphabet: OpenAlphabet) -> None:
    frequent, shares = ["ada", "bob", "eve"], np.array([0.4, 0.2, 0.1])
    rest = [f"other {number}" for number in range(600)]
    people = [*np.repeat(frequent, [40_000, 20_000, 10_000]), *np.repeat(rest, 50)]
    reports = alphabet.privatize(people, rng=3)
    candidates = [*frequent, *names(1500)]
    found = alphabet.estimate(reports, candidates, method="sparse")
    assert found.estimate[:3] == pytest.approx(shares, abs=0.02)
    # one false find is expected in twenty times; six have a probability below 1e-9
    assert np.count_nonzero(found.estimate[3:]) < 6
    assert found.estimate[3:].sum() < 0.02
    with pytest.raises(LdpstatsError, match="biased"):
        _ = found.std_err


@pytest.mark.parametrize("alphabet", [OpenRR(1.0), OpenRAPPOR(1.0)], ids=["O-RR", "O-RAPPOR"])
def test_sparse_finds_hardly_anything_where_no_candidate_occurs(alphabet: OpenAlphabet) -> None:
    reports = alphabet.privatize([f"other {number % 500}" for number in range(20_000)], rng=5)
    found = alphabet.estimate(reports, names(800), method="sparse").estimate
    # 0.05 are expected; six have a probability below 1e-9
    assert np.count_nonzero(found) < 6


def test_sparse_takes_more_candidates_than_least_squares_can() -> None:
    alphabet = OpenRR(4.0, symbols=8, cohorts=20)
    reports = alphabet.privatize(["ada"] * 30_000 + ["bob"] * 10_000, rng=4)
    candidates = ["ada", "bob", *names(150)]
    with pytest.raises(NotIdentifiedError, match="at most 141 values"):
        alphabet.estimate(reports, candidates)
    with pytest.raises(NotIdentifiedError, match="at most 141 values"):
        alphabet.estimate(reports, candidates, method="simplex")
    found = alphabet.estimate(reports, candidates, method="sparse").estimate
    assert found[:2] == pytest.approx([0.75, 0.25], abs=0.05)
    assert found[2:].sum() < 0.05


def test_candidates_that_hashes_do_not_tell_apart_are_an_error() -> None:
    alphabet = OpenRR(1.0, symbols=2, cohorts=2)
    symbols = {name: tuple(alphabet.over([name, "ada"]).codes.single[:, 0]) for name in names(20)}
    same = [name for name in symbols if symbols[name] == symbols["name 0"]][:2]
    with pytest.raises(NotIdentifiedError):
        alphabet.estimate(alphabet.privatize(same, rng=1), same)


@pytest.mark.parametrize(
    ("strings", "place"),
    [
        (["a", None], "None of type NoneType at position 1"),
        (["a", "b", float("nan")], "nan of type float at position 2"),
        ([1, "b"], "1 of type int at position 0"),
        ([b"a"], "of type bytes at position 0"),
        (["a", ["b"]], "of type list at position 1"),
        (pd.Series(["a", pd.NA], dtype="string"), "at position 1"),
        ("a string", "single string"),
    ],
)
def test_what_is_no_string_is_refused_with_its_position(strings: Any, place: str) -> None:
    with pytest.raises(LdpstatsError, match=place):
        OpenRR(1.0).privatize(strings)
    with pytest.raises(LdpstatsError, match=place):
        OpenRAPPOR(1.0).over(strings)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [([], "0 candidates"), (["a"], "1 candidates"), (["a", "b", "a"], "'a' at the positions 0 and 2")],
)
def test_lists_that_cannot_be_decoded_over_are_refused(candidates: list[str], message: str) -> None:
    alphabet = OpenRR(1.0)
    with pytest.raises(LdpstatsError, match=message):
        alphabet.estimate(alphabet.privatize(["a", "b"], rng=1), candidates)


@pytest.mark.parametrize("alphabet", [OpenRR(1.0), OpenRAPPOR(1.0)], ids=["O-RR", "O-RAPPOR"])
def test_a_single_client_and_none_at_all_can_report(alphabet: OpenAlphabet) -> None:
    secure, seeded = alphabet.privatize(["only me"]), alphabet.privatize(["only me"], rng=1)
    assert (len(secure), secure.simulated, seeded.simulated) == (1, False, True)
    assert np.array_equal(seeded.data, alphabet.privatize(["only me"], rng=1).data)
    many = [alphabet.privatize(["only me"] * 50).data.tobytes() for _ in range(2)]
    assert many[0] != many[1]
    nobody = alphabet.privatize([], rng=1)
    assert len(nobody) == 0
    for method in ("least-squares", "sparse"):
        with pytest.raises(NotIdentifiedError, match="no reports"):
            alphabet.estimate(nobody, ["a", "b"], method)


def test_reports_of_another_alphabet_are_refused() -> None:
    client, server = OpenRR(1.0, symbols=8, cohorts=10), OpenRR(1.0, symbols=4, cohorts=10)
    reports = client.privatize(names(200), rng=1)
    for foreign in (reports, reports.data, OpenReports(server, reports.data)):
        with pytest.raises(ReportError):
            server.estimate(foreign, ["a", "b"])
    filters = OpenRAPPOR(1.0, bits=16, cohorts=10).privatize(names(200), rng=1)
    for foreign in (filters, filters.data):
        with pytest.raises(ReportError):
            OpenRAPPOR(1.0, bits=8, cohorts=10).estimate(foreign, ["a", "b"])
    with pytest.raises(ReportError, match="seed=1"):
        OpenRR(1.0).estimate(OpenRR(1.0, seed=1).privatize(["a"]), ["a", "b"])


def test_hashes_are_the_same_everywhere_and_for_good() -> None:
    strings = ["ada", "łódź", "", "\ud800"]
    assert OpenRR(1.0, symbols=1000, cohorts=2).over(strings).codes.symbols.tolist() == [
        [[508, 479, 657, 544]],
        [[83, 425, 88, 982]],
    ]
    assert OpenRAPPOR(1.0, bits=1000, hashes=2, cohorts=1, seed=7).over(strings).codes.symbols.tolist() == [
        [[696, 872, 528, 146], [988, 765, 170, 167]]
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: OpenRR(0.0),
        lambda: OpenRR(1.0, symbols=1),
        lambda: OpenRR(1.0, cohorts=0),
        lambda: OpenRR(1e-30),
        lambda: OpenRAPPOR(1.0, hashes=17),
        lambda: OpenRAPPOR(1.0, bits=1),
        lambda: OpenRAPPOR(1e-30),
        lambda: OpenRAPPOR(1.0, seed=-1),
    ],
)
def test_alphabets_that_make_no_sense_are_refused(make: Callable[[], OpenAlphabet]) -> None:
    with pytest.raises(LdpstatsError):
        make()


def test_an_unknown_method_is_refused_by_name() -> None:
    with pytest.raises(LdpstatsError, match="lasso"):
        OpenRR(1.0).estimate(OpenRR(1.0).privatize(["a"], rng=1), ["a", "b"], method="lasso")


@dataclass(frozen=True, slots=True)
class OtherSymbols(OpenRR):
    """The client hashes to one symbol less than the server decodes."""

    def _sent(self, cohorts: NDArray[np.int64], places: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        return OpenRR._sent(self, cohorts, places % (self.symbols - 1), draws)


def test_a_client_that_hashes_otherwise_is_seen_by_enumeration() -> None:
    broken = OtherSymbols(1.0, symbols=3, cohorts=5)
    channel = exact_channel(broken.over(["ada", "bob", "eve"]))
    assert [sent_law(broken, [string]) for string in ("ada", "bob", "eve")] != channel


@pytest.mark.parametrize("method", ["least-squares", "simplex", "sparse"])
def test_what_is_shown_names_the_candidates(method: str) -> None:
    alphabet = OpenRR(epsilon=4.0)
    found = alphabet.estimate(alphabet.privatize(["a $", "b"] * 200, rng=1), ["b", "a $"], method=method)
    assert found.to_frame().index.tolist() == ["b", "a $"]
    assert [row[0] for row in found.summary().panels[0].rows] == ["b", "a $"]
    assert found.picture().labels == ("b", "a $")
    assert found.simulated == 400
    again = type(found).from_json(found.to_json())
    assert again.names == found.names
