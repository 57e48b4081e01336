"""BIF: files of all programs are read, written ones come back to the last bit, damaged ones are refused by line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from support.comparisons import refused
from support.random_networks import random_network

from ldpstats import BayesianNetwork, Domain, LdpstatsError
from ldpstats.datasets import NETWORKS, network
from ldpstats.networks import bayesian_network
from ldpstats.networks.bif import LARGEST_BIF, MARK, read_bif

FOREIGN = """
// written by hand /* not closed
network "Dog-Problem" { property "author: somebody; else" ; property credal-set constant-density-bounded 1.1; }
/* several
   lines { } */
variable  "light on"  { property "position = (218, 195)" ; type discrete[2] { "true" "false" }; }
variable bowel-problem { //2 values
  type discrete[2] { true  false };
  property position = (335, 99) ;
}
variable x.1{type discrete[3]{1e2,-1,<5%};}
probability ( "light on" ) { table 6E-1 .4; }
probability ( bowel-problem | "light on" , x.1 ) {
  property mine;
  default +0.5, 5e-1;
  ("true", -1) 1. 0;
  (false,1e2)
     0.25
     ,0.75;;
}
probability ( x.1, "light on" ) { table 0.1 0.2 0.3 0.3 0.6 0.5 ; } // no bar
"""


def test_files_of_other_programs_are_read() -> None:
    categories, parents, tables = read_bif(FOREIGN)
    assert categories == {
        "light on": ["true", "false"],
        "bowel-problem": ["true", "false"],
        "x.1": ["1e2", "-1", "<5%"],
    }
    assert parents == {"light on": (), "bowel-problem": ("light on", "x.1"), "x.1": ("light on",)}
    assert tables["light on"].tolist() == [0.6, 0.4]
    assert tables["bowel-problem"].tolist() == [[[0.5, 1, 0.5], [0.25, 0.5, 0.5]], [[0.5, 0, 0.5], [0.75, 0.5, 0.5]]]
    # the parents' categories vary fastest
    assert tables["x.1"].tolist() == [[0.1, 0.2], [0.3, 0.3], [0.6, 0.5]]


def network_over(domain: Domain) -> BayesianNetwork:
    """Return a network in which each attribute depends on the two before it, with probabilities of every size."""
    names = domain.names
    parents = {name: names[max(0, place - 2) : place] for place, name in enumerate(names)}
    return random_network(domain, parents, concentration=0.05)


@pytest.mark.parametrize("name", NETWORKS)
def test_written_networks_are_read_as_they_were(name: str, tmp_path: Path) -> None:
    packaged = network(name)
    packaged.to_bif(tmp_path / "network.bif")
    read = BayesianNetwork.from_bif(tmp_path / "network.bif")
    assert read == packaged
    assert dict(read.parents) == dict(packaged.parents)


PLAIN = Domain({"a": ["x", "y"], "b_1": ["p.1", "q-2", "r"], "C": ["TRUE", "FALSE"]})
SPACED = Domain({"1st": ["0", "-1", "1e3"], "chest-pain": ["not at all", "a bit", "much"], "µ-Wert": ["über", "<5%"]})
ODD = [", ", ";", "{x}", "(", ")", "[2]", "|", '"', "\\", '\\"', "//no", "/* no", "*/", "\n", "\t", "\r", "\x00"]
ODD += ["\u2028", "", " ", "  two  spaces ", "é", "中", "🎲", "table", "default", "property", "probability"]
ODD += ["network n {\n}\n"]
STRANGE = Domain({**{f"{word}." if word == "" else word: ODD for word in ODD[:3]}, ODD[-1]: ODD, "plain": ["x", "y"]})


@pytest.mark.parametrize("domain", [PLAIN, SPACED, STRANGE])
def test_no_name_and_no_bit_is_lost(domain: Domain, tmp_path: Path) -> None:
    made = network_over(domain)
    made.to_bif(str(tmp_path / "network.bif"))
    assert BayesianNetwork.from_bif(tmp_path / "network.bif") == made


def test_pgmpy_reads_what_is_written(tmp_path: Path) -> None:
    from pgmpy.readwrite import BIFReader, BIFWriter

    made = network_over(SPACED)
    made.to_bif(tmp_path / "network.bif")
    model = BIFReader(str(tmp_path / "network.bif")).get_model()
    assert model.check_model()
    theirs = BayesianNetwork.from_pgmpy(model)
    assert (theirs.domain, theirs.parents) == (made.domain, made.parents)
    for name, table in made.tables.items():
        np.testing.assert_allclose(theirs.tables[name], table, rtol=0, atol=1e-12)
    (tmp_path / "theirs.bif").write_text(str(BIFWriter(made.to_pgmpy())), encoding="utf-8")
    back = BayesianNetwork.from_bif(tmp_path / "theirs.bif")
    assert {*back.domain.names} == {*SPACED.names}
    for name, table in made.tables.items():
        np.testing.assert_allclose(back.tables[name], table, rtol=0, atol=1e-12)


WORDS = [*ODD, ",", "=", "_", "2", "a", "A", "İ", "%20", ":", "table1", "default", "variable", "(25, 35]"]
HOSTILE = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=4).map("".join)
DOMAINS = st.dictionaries(
    HOSTILE.filter(bool), st.lists(HOSTILE, min_size=2, max_size=3, unique=True), min_size=1, max_size=3
)


@cache
def pgmpy_grammars() -> dict[str, Any]:
    """Return what every reader of pgmpy makes anew, which takes most of its time."""
    from pgmpy.readwrite import BIFReader

    of_variables, of_probabilities = BIFReader.get_variable_grammar(None), BIFReader.get_probability_grammar(None)
    return {"get_variable_grammar": lambda _: of_variables, "get_probability_grammar": lambda _: of_probabilities}


@given(DOMAINS)
@settings(max_examples=20, deadline=None)
@example(
    {
        "age (years)": ["[0, 25)", "(0, 25]", "0_25"],
        "Age": ["a b", "a_b"],
        "age": ["x", "X"],
        "table1": ["y", "property"],
    }
)
def test_hostile_names_reach_pgmpy_as_different_ones_and_come_back(categories: dict[str, list[str]]) -> None:
    from pgmpy.readwrite import BIFReader, BIFWriter

    made = network_over(Domain(categories))
    text = made.as_bif()
    read = read_bif(text)
    assert (read.categories, read.parents) == (categories, dict(made.parents))
    assert all(np.array_equal(read.tables[name], table) for name, table in made.tables.items())
    with patch.multiple(BIFReader, **pgmpy_grammars()):
        reader = BIFReader(string=text, include_properties=True)
    model = reader.get_model()
    assert model.check_model()
    safe = dict(zip(reader.variable_names, categories, strict=True))
    assert all(len({*states}) == len(categories[safe[one]]) for one, states in reader.variable_states.items())
    for cpd in model.get_cpds():
        assert [safe[one] for one in cpd.variables[1:]] == [*made.parents[safe[cpd.variable]]]
        np.testing.assert_allclose(cpd.values, made.tables[safe[cpd.variable]], rtol=0, atol=1e-12)
    # properties go through other programs, and with them the names
    back = read_bif(str(BIFWriter(model)))
    assert (back.categories, back.parents) == (categories, dict(made.parents))


def test_names_that_programs_agree_upon_stay() -> None:
    said = network_over(SPACED).as_bif()
    assert "ldpstats_" not in said
    assert '{ "not at all", "a bit", much }' in said
    said = network_over(Domain({"age (years)": ["(25, 35]", "(35, 45]", "45+"]})).as_bif()
    assert 'type discrete [ 3 ] { "25_35", "35_45", "45+" };' in said
    assert "property ldpstats_name = age%20%28years%29;" in said
    assert "property ldpstats_categories = 25_35:%2825%2C%2035%5D,35_45:%2835%2C%2045%5D;" in said


def test_other_categories_than_texts_become_texts(tmp_path: Path) -> None:
    domain = Domain({"a": [True, False], "b": [0, 1, -2], "c": [0.5, 1e300]})
    made = network_over(domain)
    made.to_bif(tmp_path / "network.bif")
    read = BayesianNetwork.from_bif(tmp_path / "network.bif")
    assert dict(read.domain.categories) == {"a": ("True", "False"), "b": ("0", "1", "-2"), "c": ("0.5", "1e+300")}
    assert all(np.array_equal(read.tables[name], table) for name, table in made.tables.items())


def test_categories_that_are_the_same_as_texts_are_refused(tmp_path: Path) -> None:
    made = network_over(Domain({"a": [1, "1"]}))
    with refused(LdpstatsError, "'a'", "1, '1'"):
        made.to_bif(tmp_path / "network.bif")
    assert not list(tmp_path.iterdir())


def test_what_is_in_a_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "network.bif"
    path.write_text("mine")
    with pytest.raises(LdpstatsError, match="holds something else"):
        network("asia").to_bif(path)
    assert path.read_text() == "mine"
    network("asia").to_bif(tmp_path / "other.bif")
    network("survey").to_bif(tmp_path / "other.bif")
    assert BayesianNetwork.from_bif(tmp_path / "other.bif") == network("survey")
    foreign = (tmp_path / "other.bif").read_text().replace(MARK, "// of another program")
    path.write_text(foreign)
    with pytest.raises(LdpstatsError, match="holds something else"):
        network("asia").to_bif(path)
    assert path.read_text() == foreign
    assert {one.name for one in tmp_path.iterdir()} == {"network.bif", "other.bif"}


SMALL = """network n {
}
variable a {
  type discrete [ 2 ] { x, y };
}
variable b {
  type discrete [ 3 ] { p, q, r };
}
probability ( a ) {
  table 0.5, 0.5;
}
probability ( b | a ) {
  ( x ) 0.2, 0.3, 0.5;
  ( y ) 0.1, 0.1, 0.8;
}
"""


@pytest.mark.parametrize(
    ("changed", "into", "parts"),
    [
        ("network n {\n}", "network n {", ["line 2"]),
        ("variable b {", "variable a {", ["line 6", "a second variable 'a'"]),
        ("[ 2 ] { x, y }", "[ 3 ] { x, y }", ["line 4", "'x', 'y'", "3 categories"]),
        ("[ 2 ]", "[ two ]", ["line 3", "without its categories"]),
        ("discrete", "continuous", ["line 3", "type discrete"]),
        ("type discrete [ 2 ] { x, y };", "type", ["line 4"]),
        ("type discrete [ 2 ] { x, y };", "type discrete [ 2 { x, y } ];", ["line 3"]),
        ("{ x, y };", "{ x, y }", ["line 4", "does not end"]),
        ("{ x, y };", '{ x, "y };', ["line"]),
        ("{ x, y };", "{ x, x };", ["line 3", "'a' lists 'x'"]),
        ("[ 2 ] { x, y };", "[ 1 ] { x };", ["line 3", "fewer than two"]),
        ("( b | a )", "( b | c )", ["line 12", "'c'"]),
        ("( b | a )", "b | a", ["line 12", "parentheses"]),
        ("( b | a )", "( b | b )", ["line 12", "'b'"]),
        ("( b | a )", "( a )", ["line 12", "second probabilities of 'a'"]),
        ("( a ) {\n  table 0.5, 0.5;", "( a | b ) {\n default 0.5, 0.5;", ["cycle"]),
        ("table 0.5, 0.5;", "table 0.5, 0.5, 0.0;", ["line 10", "3 probabilities", "2, one"]),
        ("table 0.5, 0.5;", "table 0.5, half;", ["line 10", "'half'"]),
        ("table 0.5, 0.5;", "table 1.5,\n -0.5;", ["line 11", "'-0.5'"]),
        ("{ x, y };", "{ x, y }; property ldpstats_categories = x:y;", ["line 3", "'y' and again 'y'"]),
        ("{ x, y };", "{ x, y }; property ldpstats_name = ;", ["line 3", "named ''"]),
        ("{ x, y };", "{ x, y }; property ldpstats_name = b;", ["second variable 'b'"]),
        ("table 0.5, 0.5;", "table 1e999, 0.5;", ["line 10", "'1e999'"]),
        ("table 0.5, 0.5;", f"table {'9' * 9999}, 0.5;", ["line 10", "letters"]),
        ("table 0.5, 0.5;", "0.5, 0.5;", ["line 10", "'table'"]),
        ("table 0.5, 0.5;", "table 0.5, 0.5; table 0.5, 0.5;", ["line 10", "before"]),
        ("table 0.5, 0.5;", "", ["line 9", "of 'a'"]),
        ("( x ) 0.2, 0.3, 0.5;", "( z ) 0.2, 0.3, 0.5;", ["line 13", "'z'"]),
        ("( x ) 0.2, 0.3, 0.5;", "( y ) 0.2, 0.3, 0.5;", ["line 14", "before"]),
        ("( x ) 0.2, 0.3, 0.5;", "( x  0.2, 0.3, 0.5;", ["line 13"]),
        ("( x ) 0.2, 0.3, 0.5;", "( x ) 0.2, 0.8;", ["line 13", "2 probabilities"]),
        ("( x ) 0.2, 0.3, 0.5;", "", ["line 12", "of 'b' given 'x'"]),
        ("0.8;\n}", "0.8;\n", ["line 12", "does not end"]),
        ("0.8;\n}", "0.8;\n}}", ["line 15", "'}'"]),
        ("0.8;\n}\n", "0.8;\n}\n/* open", ["line 16"]),
    ],
)
def test_damaged_files_are_refused_by_line(changed: str, into: str, parts: Sequence[str], tmp_path: Path) -> None:
    path = tmp_path / "network.bif"
    path.write_text(SMALL)
    BayesianNetwork.from_bif(path)
    assert changed in SMALL
    path.write_text(SMALL.replace(changed, into))
    with refused(LdpstatsError, "network.bif", *parts):
        BayesianNetwork.from_bif(path)


def test_files_that_end_anywhere_or_lack_anything_raise_one_error_or_are_read() -> None:
    text, rng, read = FOREIGN, np.random.default_rng(1), 0
    for _ in range(1000):
        start, end = np.sort(rng.integers(0, len(text), 2))
        mark = rng.choice([*'{}()[];,|"/\\ \n.9x'])
        cut = (text[:start], text[:start] + text[end:], text[:start] + mark + text[start:])
        try:
            read_bif(cut[rng.integers(3)])
        except LdpstatsError:
            continue
        read += 1
    assert 100 < read < 900


def test_large_files_and_tables_are_refused_before_they_are_made(tmp_path: Path) -> None:
    path = tmp_path / "network.bif"
    with path.open("wb") as file:
        file.truncate(LARGEST_BIF + 1)
    with pytest.raises(LdpstatsError, match="67,108,865 bytes"):
        BayesianNetwork.from_bif(path)
    names = [f"v{one}" for one in range(40)]
    text = "".join(f"variable {name} {{ type discrete [2] {{ x y }}; }}\n" for name in names)
    path.write_text(f"{text}probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}")
    with pytest.raises(LdpstatsError, match="line 41 of a BIF file: a table of 1,099,511,627,776 cells"):
        BayesianNetwork.from_bif(path)


def test_files_that_could_not_be_read_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bayesian_network, "LARGEST_BIF", 100)
    with pytest.raises(LdpstatsError, match="up to 100"):
        network("asia").to_bif(tmp_path / "network.bif")
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_text_or_empty_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "network.bif"
    for content in (b"\xff\xfe\x00", b"", b"network n { }", b"// nothing", b'{"format": 1}'):
        path.write_bytes(content)
        with pytest.raises(LdpstatsError, match=r"network\.bif"):
            BayesianNetwork.from_bif(path)
