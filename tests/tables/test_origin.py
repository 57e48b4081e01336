"""Origins: tables say under which protocol their reports were collected, whatever becomes of the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.forged_files import forged
from support.protocol_files import KINDS, SMALL
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.tables import Origin, randomized_by

PEOPLE = np.arange(1, 13) * 60
OVER_SMALL = {name: one for name, one in KINDS.items() if one.domain == SMALL}


def tables(**parameters: Any) -> ldp.TableSet:
    return ldp.SampledGroups(SMALL, **{"epsilon": 3.0, **parameters}).simulate(PEOPLE, rng=1)


@pytest.mark.parametrize("name", OVER_SMALL)
def test_tables_of_every_protocol_name_it_and_its_mechanisms(name: str) -> None:
    protocol = OVER_SMALL[name]
    made = protocol.simulate(PEOPLE, rng=1)
    (origin,) = made.origins
    assert origin.protocol == protocol.fingerprint()
    assert {*origin.mechanisms} == {" × ".join(table.attributes) for table in made}
    assert origin.words in spoken(made)
    assert ldp.TableSet.from_json(made.to_json()).origins == made.origins
    assert Origin.from_json(origin.to_json()) == origin
    assert made.to_dict()["origins"] == [origin.to_dict()]


def test_what_randomized_each_table_is_that_of_its_answers() -> None:
    mechanisms = [ldp.SS(6, 1.0), ldp.GRR(4, 1.0), ldp.SS(6, 1.0)]
    (origin,) = tables(epsilon=1.0, mechanism=mechanisms).origins
    assert dict(origin.mechanisms) == {
        "a × b": "SS at epsilon = 1",
        "a × c": "GRR at epsilon = 1",
        "b × c": "SS at epsilon = 1",
    }
    assert origin.words.endswith(": SS at epsilon = 1 (2 tables); GRR at epsilon = 1 (1 table).")
    assert origin.cited[1] == "GRR at epsilon = 1 (Kairouz, Bonawitz & Ramage 2016)"
    crossed = ldp.PerAttribute(SMALL, epsilon=3.0, k=2, mechanism=[ldp.GRR(2, 1.0), ldp.OUE(3, 1.0), ldp.GRR(2, 1.0)])
    (of_crossed,) = crossed.simulate(PEOPLE, rng=1).origins
    assert of_crossed.mechanisms["a × b"] == "GRR at epsilon = 1; OUE at epsilon = 1"
    assert of_crossed.mechanisms["a × c"] == "GRR at epsilon = 1"
    assert randomized_by((origin, of_crossed), "a × c") == "GRR at epsilon = 1"
    assert randomized_by((origin,), "c") == ""


def test_whatever_is_made_of_a_set_keeps_its_origins() -> None:
    made = tables()
    derived = [
        made.estimated_by("mle"),
        made.collapse({"b": {"x": ["x"], "other": ["y", "z"]}}),
        ldp.make_consistent(made),
        made + ldp.SampledGroups(SMALL, epsilon=3.0).simulate(PEOPLE, rng=2),
    ]
    for one in derived:
        assert one.origins == made.origins
        assert ldp.TableSet.from_json(one.to_json()).origins == made.origins
    other = tables(mechanism="oue")
    assert [one.protocol for one in (made + other).origins] == [one.origins[0].protocol for one in (made, other)]
    assert ldp.TableSet(SMALL, made, made.privacy).origins == ()


def test_files_with_other_origins_are_refused() -> None:
    text = tables().to_json()
    assert ldp.TableSet.from_json(forged(text, "origins", [])).origins == ()
    for wrong in (None, {}, 5, [5], [{"GRR": {"k": 2, "epsilon": 1.0}}], [{"Origin": {"protocol": "p"}}]):
        with pytest.raises(LdpstatsError, match="not a saved table set"):
            ldp.TableSet.from_json(forged(text, "origins", wrong))


@pytest.mark.parametrize(
    "given", [("p", {}), (5, {"a": "b"}), ("p", {"a": 5}), ("p", {5: "a"}), ("p", {"a": "b"}, {"b": 5})]
)
def test_origins_are_words(given: tuple[Any, ...]) -> None:
    with pytest.raises(LdpstatsError, match="the origin"):
        Origin(*given)


def test_the_report_names_protocol_and_mechanisms(tmp_path: Path) -> None:
    made = tables()
    made.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    (origin,) = made.origins
    assert origin.protocol in page
    assert "randomized by" in page
    for words in origin.cited:
        assert words.replace("&", "&amp;") in page
