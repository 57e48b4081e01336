"""Collectors: bounds of exact tails, who is found to differ, what is left out, and what merging says of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom
from statsmodels.stats.multitest import multipletests
from support.forged_files import forged

import ldpstats as ldp
from ldpstats.inference.hypothesis_tests.collectors import log_part_pvalues, telling_counts
from ldpstats.mechanisms import REGISTRY, mechanism
from ldpstats.numbers.arrays import FloatArray
from ldpstats.saving.codec import encoded

DOMAIN = ldp.Domain({name: list("wxyz") for name in "abc"})
EVEN = np.full(64, 1 / 64)
MECHANISMS = ("grr", "ss", "oue", "olh", "hr")


def people(n: int, forged: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return the joint counts of respondents, of whom some hold the first category of everything."""
    counts = rng.multinomial(n - forged, EVEN)
    counts[0] += forged
    return counts


def collected(
    protocol: ldp.Protocol, sizes: list[int], rng: np.random.Generator, forged: float = 0.0
) -> list[ldp.TableSet]:
    """Return the sets of collectors; a share of the last one's respondents is forged."""
    shares = [0.0] * (len(sizes) - 1) + [forged]
    return [
        protocol.simulate(people(n, round(share * n), rng), rng=rng) for n, share in zip(sizes, shares, strict=True)
    ]


@cache
def one_forger(name: str = "grr") -> tuple[ldp.TableSet, ...]:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism=name)
    return tuple(collected(protocol, [50_000] * 5, np.random.default_rng(3), 0.05))


@cache
def merged_with_a_forger() -> ldp.TableSet:
    return ldp.merge(one_forger(), list("stuvw"))


@pytest.mark.parametrize("name", MECHANISMS)
def test_one_of_five_collectors_with_five_percent_forged_reports_is_found(name: str) -> None:
    found = ldp.compare_collectors(one_forger(name), list("stuvw"))
    assert found.differing == ("w",)
    assert found.tests[0].adjusted < 1e-4
    assert "a = w" in found.tests[0].words or "b = w" in found.tests[0].words


def test_merged_tables_say_so_and_nothing_else() -> None:
    merged = merged_with_a_forger()
    said = " ".join(str(merged).split())
    assert "A DIFFERENT COLLECTOR: w differs from the others, p = " in said
    assert "Collectors may rightly ask different people." in said
    assert merged.to_dict()["checks"][0]["differing"][0] == "w"
    alike = ldp.merge(one_forger()[:4])
    assert alike.checks[0].differing == ()  # type: ignore[attr-defined]  # it is a comparison
    assert str(alike) == str(sum(one_forger()[:4]))


def test_merging_is_adding() -> None:
    merged, added = merged_with_a_forger(), sum(one_forger())
    assert merged.n == added.n == 250_000
    for one, other in zip(merged, added, strict=True):
        np.testing.assert_array_equal(one.estimate, other.estimate)


def test_checks_stay_with_what_is_made_of_the_set_and_in_files() -> None:
    merged = merged_with_a_forger()
    other = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr").simulate(np.full(64, 100), rng=7)
    for one in (
        merged.estimated_by("mle"),
        merged.collapse({"a": {"rest": ["x", "y"]}}),
        ldp.make_consistent(merged),
        merged + other,
        other + merged,
        ldp.TableSet.from_json(merged.to_json()),
        ldp.TableSet.from_json(ldp.make_consistent(merged).to_json()),
    ):
        assert one.checks == merged.checks
        assert "A DIFFERENT COLLECTOR: w" in str(one)


def test_what_is_made_of_all_tables_says_so() -> None:
    merged = merged_with_a_forger()
    for result in (ldp.independence_tests(merged), ldp.learn_network(merged, n_resamples=3)):
        assert "A DIFFERENT COLLECTOR: w differs from the others" in " ".join(str(result).split())
    assert "A DIFFERENT COLLECTOR" not in str(ldp.independence_tests(one_forger()[0]))


@pytest.mark.parametrize("checks", ["x", (1,), [ldp], None, ("warning",)])
def test_checks_are_results_of_checks(checks: Any) -> None:
    one = one_forger()[0]
    with pytest.raises(ldp.LdpstatsError, match=r"the checks .* Allowed: a tuple of results"):
        ldp.TableSet(DOMAIN, one, one.privacy, checks)


def test_a_file_with_checks_of_another_kind_is_refused() -> None:
    merged = merged_with_a_forger()
    for checks in ((1, 2), "x", (merged.privacy,)):
        with pytest.raises(ldp.LdpstatsError):
            ldp.TableSet.from_json(forged(merged.to_json(), "checks", encoded(checks)))


def test_p_values_are_adjusted_for_all_tables_and_collectors() -> None:
    found = ldp.compare_collectors(one_forger()[:4])
    assert len(found.tests) == 3 * 4
    expected = multipletests([one.pvalue for one in found.tests], method="holm")[1]
    assert [one.adjusted for one in found.tests] == pytest.approx(expected)


def test_where_channels_differ_the_tables_are_compared_by_a_model() -> None:
    rng = np.random.default_rng(2)
    protocol = ldp.RRBA(DOMAIN, k=2, epsilon=4.0, block_size=2000)
    found = ldp.compare_collectors(collected(protocol, [20_000] * 3, rng, forged=0.3))
    assert found.differing[0] == "3"
    assert "score test" in found.tests[0].method
    noisy = ldp.SampledGroups(DOMAIN, epsilon=4.0, mechanism="she")
    assert ldp.compare_collectors(collected(noisy, [30_000] * 3, rng, forged=0.3)).differing[0] == "3"


def test_two_collectors_differ_from_each_other() -> None:
    found = ldp.compare_collectors([one_forger()[0], one_forger()[4]], ["one", "other"])
    assert set(found.differing) == {"one", "other"}
    assert "The clearest is named first" in str(found)


def test_those_that_differ_are_left_out_before_the_others_are_judged() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=[("a", "b")])
    people = np.full((6, 64), 400)
    people[1, :4] += 8000
    people[4, 60:] += 2000
    found = ldp.compare_collectors([protocol.simulate(counts, rng=place) for place, counts in enumerate(people)])
    assert found.differing == ("2", "5")
    others = {test.collector: test.others for test in found.tests}
    assert others["5"] == 4 * 64 * 400
    assert others["1"] == 3 * 64 * 400


def test_tables_of_one_collector_alone_are_not_compared() -> None:
    alone = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=[("a", "b")])
    other = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=[("a", "b"), ("b", "c")])
    sets = [one.simulate(np.full(64, 50), rng=1) for one in (alone, other)]
    found = ldp.compare_collectors(sets)
    assert [test.attributes for test in found.tests] == [("a", "b")] * 2
    assert "Not compared: b × c, for which one collector asked." in str(found)
    apart = [ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=[one]) for one in (("a", "b"), ("b", "c"))]
    nothing = ldp.compare_collectors([one.simulate(np.full(64, 50), rng=rng) for rng, one in enumerate(apart)])
    assert "nothing could be compared" in nothing.headline
    assert nothing.warning == ()
    assert "No table could be compared." in str(nothing)
    assert nothing.to_frame().empty


def test_collectors_without_reports_are_no_difficulty() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr")
    sets = [protocol.simulate(np.full(64, n), rng=1) for n in (0, 5, 6)]
    found = ldp.compare_collectors(sets)
    assert {test.collector for test in found.tests} == {"2", "3"}
    assert found.reports[0] == 0
    assert found.differing == ()


def test_many_collectors_are_ranked_and_counted() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=[("a", "b")])
    different = [protocol.simulate(np.eye(64, dtype=int)[7 * place] * 900, rng=place) for place in range(8)]
    alike = [protocol.simulate(np.full(64, 10), rng=place) for place in range(40)]
    found = ldp.compare_collectors([*different, *alike])
    assert len(found.differing) == 8
    assert "So do 3 further collectors." in str(found)
    assert "And 8 collectors with larger p-values" in str(found)
    assert len(found.picture().to_frame()) == 40


@pytest.mark.parametrize(
    ("sets", "names"),
    [
        ([], None),
        ("ab", None),
        (one_forger()[:1], None),
        ([one_forger()[0], 3], None),
        ([one_forger()[0]] * 2, None),
        (one_forger()[:2], ["a"]),
        (one_forger()[:2], ["a", "a"]),
        (one_forger()[:2], ["a", 1]),
        (one_forger()[:2], "ab"),
        (one_forger()[:2], ["", "b"]),
    ],
)
def test_what_cannot_be_compared_is_refused(sets: Any, names: Any) -> None:
    for asked in (ldp.compare_collectors, ldp.merge):
        with pytest.raises(ldp.LdpstatsError, match="Allowed: "):
            asked(sets, names)


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.__name__)
def test_reports_of_every_mechanism_count_for_what_they_speak_for(kind: Any) -> None:
    made = mechanism(kind.name, k=kind.only_k or 4, epsilon=3.0)
    tally = made.count(made.privatize(np.zeros(4000, dtype=np.int64), rng=1))
    counts = telling_counts(tally)
    if counts.size == made.k and tally.noise.largest == 1:
        assert counts.argmax() == 0
    # counts of reports add up, as reports of two collectors do
    np.testing.assert_array_equal(telling_counts(tally + tally), 2 * counts)


def part_pvalues(counts: Any, size: int, totals: Any, n: int) -> FloatArray:
    return np.exp(log_part_pvalues(counts, size, totals, n))


def exact(seen: int, size: int, known: int, n: int) -> float:
    law = hypergeom(n, known, size)
    return float(min(1.0, 2 * min(law.sf(seen - 1), law.cdf(seen))))


def test_p_values_are_never_below_the_exact_ones_by_enumeration() -> None:
    for n in range(2, 13):
        for size in range(1, n):
            for known in range(n + 1):
                law = hypergeom(n, known, size)
                numbers = np.arange(max(0, size + known - n), min(size, known) + 1)
                found = part_pvalues(numbers, size, np.full(numbers.size, known), n)
                exactly = np.array([exact(one, size, known, n) for one in numbers.tolist()])
                assert np.all(found >= exactly * (1 - 1e-9))
                # so each level is kept, whatever it is
                for level in (0.001, 0.01, 0.05, 0.3):
                    assert law.pmf(numbers[found <= level]).sum() <= level * (1 + 1e-9)


def test_they_are_near_the_exact_ones_where_something_is_shown() -> None:
    for size, known, n in ((200, 300, 1000), (1000, 50, 5000), (20, 10_000, 100_000)):
        law = hypergeom(n, known, size)
        for tail in (1e-3, 1e-6, 1e-9):
            seen = int(law.isf(tail)) + 1
            (found,) = part_pvalues(np.array([seen]), size, np.array([known]), n)
            assert 1 <= found / exact(seen, size, known, n) < 1.2


def test_very_many_reports_are_no_difficulty() -> None:
    n, size, known = 10**12, 10**11, 3 * 10**11
    usual = size * (known / n)
    spread = np.sqrt(usual * (1 - known / n) * (1 - size / n))
    found = part_pvalues(np.array([usual, usual + 7 * spread, usual - 7 * spread]).astype(np.int64), size, known, n)
    assert found[0] == 1
    np.testing.assert_allclose(found[1:], 2.56e-12, rtol=0.05)


def test_what_cannot_differ_has_a_p_value_of_one() -> None:
    assert part_pvalues(np.array([5, 0]), 5, np.array([12, 0]), 12).tolist() == [1.0, 1.0]
