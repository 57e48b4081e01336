"""Saving: objects of every public class come back from a file as they were, and no other file is taken for one."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import os
import pkgutil
import random
import re
import signal
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.attacks.auditing import audit
from ldpstats.datasets import network
from ldpstats.errors import LdpstatsError
from ldpstats.inference import AmongMany
from ldpstats.io.tokens import RepeatedTokens
from ldpstats.mechanisms import REGISTRY, Mechanism, mechanism
from ldpstats.mechanisms.grr import FakeResponse, fake_numerators
from ldpstats.networks import fit_parameters
from ldpstats.networks.lopub import lopub
from ldpstats.protocols.repeated_rows import Copy, RepeatedRows
from ldpstats.protocols.rrba.stopping import convergence
from ldpstats.saving import files as saving, registered
from ldpstats.saving.files import Saveable, opened, sealed

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1]})
PEOPLE = np.array([300, 100, 50, 50, 80, 20, 100, 300, 10, 40, 60, 90])


@cache
def tables() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0, mechanism="grr").simulate(PEOPLE, rng=1)


@cache
def collectors() -> list[ldp.TableSet]:
    protocol = ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0, mechanism="grr")
    return [protocol.simulate(people, rng=1) for people in (PEOPLE * 3, PEOPLE[::-1] * 3)]


def table() -> ldp.Table:
    return tables()["a", "b"]


def square() -> ldp.Table:
    return tables()["a", "c"]


def counted(name: str, k: int = 4) -> Any:
    made = mechanism(name, k=k, epsilon=1.0)
    return made.count(made.privatize(np.arange(k).repeat(50), rng=1))


def few() -> ldp.Table:
    """Return a table with cells that hardly anybody reported, whose intervals are those of its own reports."""
    tables = ldp.SampledGroups(DOMAIN, k=2, epsilon=4.0, mechanism="grr", groups=[("a", "c")])
    return tables.simulate(np.array([80, 0, 0, 1, 0, 9, 3, 2, 0, 0, 1, 0]), rng=2)["a", "c"]


def blocks() -> ldp.Table:
    return ldp.RRBA(DOMAIN, k=2, epsilon=2.0, block_size=100).simulate(PEOPLE, rng=1)["a", "c"]


def answered() -> Any:
    protocol = ldp.PerAttribute(DOMAIN, epsilon=6.0, k=2)
    frame = DOMAIN.decode(np.argwhere(np.ones(DOMAIN.shape)).repeat(40, axis=0))
    return lopub(protocol, protocol.reports(frame, rng=1))


def small_network() -> ldp.BayesianNetwork:
    law = np.array([[[0.1, 0.2], [0.3, 0.4], [0.5, 1.0]], [[0.9, 0.8], [0.7, 0.6], [0.5, 0.0]]])
    return ldp.BayesianNetwork(
        DOMAIN, {"a": ("b", "c"), "b": (), "c": ()}, {"a": law, "b": [0.2, 0.3, 0.5], "c": [1, 0]}
    )


RATIO = {"rows": ("x", "y"), "columns": (0, 1)}


def report_file() -> ldp.ReportFile:
    return ldp.ReportFile("r.csv", "CSV", "p1", ("a", "b"), ("GRR", "OUE"), (7, 8, 0), 3, tokens=True, epsilon=2.0)


EXAMPLES: dict[str, Callable[[], Any]] = {
    "Aggregator": lambda: ldp.RRBA(DOMAIN, epsilon=1.0).aggregator(),
    "Association": lambda: ldp.association(table()),
    "AssociationBounds": lambda: square().bounds().cramers_v(),
    "AmongMany": lambda: AmongMany(10, 0.05),
    "Audit": lambda: audit(ldp.GRR(3, epsilon=1.0), 2000, rng=1),
    "BayesianNetwork": small_network,
    "BestChannel": lambda: ldp.best_channel(3, epsilon=1.0),
    "Block": lambda: table().blocks[0],
    "Bounds": lambda: square().bounds(),
    "Channel": lambda: ldp.designs.triangular(0.25),
    "ChannelPrivacy": lambda: ldp.designs.triangular(0.25).privacy(),
    "ChannelFit": lambda: table().channel_fit(),
    "Classifier": lambda: ldp.naive_bayes(tables(), "a"),
    "Client": lambda: ldp.rrba.Client(DOMAIN, {"a": "x", "b": "q", "c": 1}, 2.0),
    "CollectorComparison": lambda: ldp.compare_collectors(collectors(), ["north", "south"]),
    "Conditional": lambda: table().conditional("b", given="a"),
    "ConsistencyReport": lambda: ldp.consistency_report(ldp.make_consistent(overlapping())),
    "Convergence": lambda: convergence(blocks()),
    "Crosstab": lambda: table().crosstab(normalize="rows"),
    "Domain": lambda: DOMAIN,
    "Effect": lambda: ldp.odds_ratio(square(), **RATIO),
    "Estimate": lambda: ldp.GRR(4, epsilon=1.0).estimate(counted("grr")),
    "ExpectedAccuracy": lambda: ldp.naive_bayes(tables(), "a").expected_accuracy(n_resamples=5),
    "FakeResponse": lambda: FakeResponse((1 << 63) + 1, fake_numerators(np.array([0.1, 0.9]))),
    "FittedParameters": lambda: fit_parameters(tables(), {"a": ["b", "c"]}),
    "Functional": lambda: table().mean("a", scores=[0, 1], given="b"),
    "Hypothesis": lambda: ldp.independence_test(table()).about,
    "HypothesisResult": lambda: ldp.independence_test(table()),
    "IndependenceTests": lambda: ldp.independence_tests(tables()),
    "LearnedNetwork": lambda: ldp.learn_network(tables(), required=[("a", "b")], n_resamples=5),
    "LoPubModel": answered,
    "LogLinearFit": lambda: ldp.log_linear_model(table(), "a + b"),
    "Measured": lambda: table().measured,
    "Memo": lambda: ldp.Memo(ldp.LSUE(3, epsilon=2.0)),
    "MonteCarlo": lambda: ldp.MonteCarlo(99, rng=np.random.default_rng(3)),
    "Network": lambda: network("asia"),
    "NetworkComparison": lambda: ldp.compare_networks(small_network(), small_network(), small_network().sample(9)),
    "OpenRAPPOR": lambda: ldp.OpenRAPPOR(epsilon=2.0),
    "OpenRR": lambda: ldp.OpenRR(epsilon=2.0),
    "PairPrivacy": lambda: ldp.designs.kuk(0.8, 0.2, 2).privacy().between("yes", "no", [1, 2]),
    "Plan": lambda: ldp.plan(["grr", "oue"], (2, 2), epsilon=1.0),
    "Poisoning": lambda: ldp.poisoning(ldp.GRR(3, epsilon=1.0), 0.1),
    "PowerCurve": lambda: ldp.power_curve("grr", (2, 2), epsilon=[1.0], n=[1000, 2000]),
    "Origin": lambda: tables().origins[0],
    "PrivacyStatement": lambda: dataclasses.replace(table().privacy, epsilon=float("inf"), provably_true=0.5),
    "ProcessedEstimate": lambda: ldp.GRR(4, epsilon=1.0).estimate(counted("grr"), method="ibu"),
    "PublishedResult": lambda: ldp.two_step_test(table(), rng=1),
    "Quantile": lambda: (
        ldp.SampledGroups(DOMAIN, epsilon=2.0).simulate(PEOPLE, rng=1)["b", "c"].quantile("c", given="b")
    ),
    "QueryResult": lambda: fit_parameters(tables(), {"a": ["b", "c"]}).query("a", {"c": 1}),
    "RepeatedRows": lambda: RepeatedRows(9000, 64, (Copy(1, 300, 4001, 250), Copy(1000, 1063, 5000, 64)), same=True),
    "RepeatedTokens": lambda: RepeatedTokens(10, 2),
    "ReportFile": report_file,
    "Reports": lambda: ldp.OLH(4, epsilon=1.0).privatize(np.arange(4), rng=1),
    "SampleSizeCurve": lambda: ldp.sample_size_curve(["grr", "oue"], (2, 2), epsilon=[1.0, 2.0]),
    "Table": table,
    "TableSet": tables,
    "Tally": lambda: counted("oue"),
    "URAP": lambda: ldp.mechanism("urap", k=4, epsilon=1.0, sensitive=[1, 3]),
    "URR": lambda: ldp.mechanism("urr", k=4, epsilon=1.0, sensitive=[1, 3]),
    "ViewsCertificate": lambda: ldp.certify_views(ldp.views(4, 2), 4, 2),
}
KINDS = ("SampledGroups", "WholeView", "ProductDomain", "PerAttribute", "HadamardCoefficients", "RRBA")
KINDS += ("CentralLaplace",)
PROTOCOLS: dict[str, Callable[[], Any]] = {name: partial(getattr(ldp, name), DOMAIN, epsilon=1.0) for name in KINDS}
PROTOCOLS["PersonalLevels"] = lambda: ldp.PersonalLevels(DOMAIN, levels={"low": 0.5, "open": 2.0})
PROTOCOLS["CentralGaussian"] = lambda: ldp.CentralGaussian(DOMAIN, epsilon=1.0, delta=1e-6)
MORE: dict[str, Callable[[], Any]] = {
    "an interval of few reports": lambda: ldp.odds_ratio(few(), **RATIO),
    "mutual information": lambda: ldp.mutual_information(table()),
    "a Monte Carlo test": lambda: ldp.independence_test(few(), pvalue=ldp.MonteCarlo(99, rng=1)),
    "an exact level": lambda: ldp.association(table(), alpha=Fraction(1, 20)),
    "bounds at an exact level": lambda: square().bounds(alpha=Fraction(1, 20)),
    "a seed of 63 bits": lambda: ldp.MonteCarlo(99, rng=(1 << 62) + 1),
    "a classifier of some features": lambda: ldp.naive_bayes(tables(), "c", features=["b"]),
    "merged collectors": lambda: ldp.merge(collectors()),
    "a plan of triples": lambda: ldp.plan(["grr", "oue"], DOMAIN, epsilon=1.0, conditional=True),
    "a comparison of graphs": lambda: ldp.compare_networks(nx.path_graph(["a", "b", "c"]), small_network()),
    "a pooled table": lambda: tables().pooled(["a"]),
    "a marginal": lambda: table().marginal("a"),
    "an estimate of a table": lambda: table().cells,
    "rare cells": lambda: few().cells,
    "counts of patterns": lambda: counted("ss"),
    "counts of cohorts": lambda: counted("orr"),
    "two halves": lambda: ldp.designs.two_halves({0.7: {"yes": 9, "no": 11}, 0.3: {"yes": 4, "no": 16}}),
    "revealed bits": lambda: counted("dbitflip"),
}


def shown(value: Any) -> str:
    """Return all that an object says of itself."""
    found = [re.sub("at 0x[0-9A-F]+", "", repr(value), flags=re.IGNORECASE)]
    for name in ("to_dict", "summary", "to_frame", "conf_int", "channel_fit"):
        method = getattr(value, name, None)
        if method is not None and not hasattr(value, "privatize"):
            try:
                found.append(str(method()))
            except LdpstatsError as error:
                found.append(str(error))
    return "\n".join(found)


def round_trip(value: Any) -> Any:
    text = value.to_json()
    read = type(value).from_json(text)
    if not isinstance(value, ldp.rrba.Aggregator):
        assert read.to_json() == text
    return read


@pytest.mark.parametrize("name", [*EXAMPLES, *PROTOCOLS, *MORE])
def test_objects_come_back_as_they_were(name: str):
    value = {**EXAMPLES, **PROTOCOLS, **MORE}[name]()
    read = round_trip(value)
    assert type(read) is type(value)
    assert shown(read) == shown(value)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_file_holds_a_whole_number_that_doubles_would_round(name: str):
    """Nor do the plain values that programs are given, but for the numbers that Python makes a mechanism of."""

    def exact(digits: str) -> int:
        assert abs(int(digits)) < 1 << 53
        return int(digits)

    value = EXAMPLES[name]()
    json.loads(value.to_json(), parse_int=exact)
    if hasattr(value, "to_dict") and not isinstance(value, (FakeResponse, ldp.Channel)):
        json.loads(json.dumps(value.to_dict()), parse_int=exact)


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.__name__)
def test_mechanisms_and_their_tallies_come_back(kind: type[Mechanism]):
    made = mechanism(kind.name, k=kind.only_k or 4, epsilon=1.0)
    assert round_trip(made) == made
    tally = made.simulate(np.full(made.k, 100), rng=1)
    assert round_trip(tally).noise == tally.noise


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("PublishedResult", {"pvalue": 7.0, "alpha": -0.05, "n": -1, "small_cells": -2}),
        ("HypothesisResult", {"pvalue": 1.5, "df": -1, "simulated": -3}),
        ("Bounds", {"pvalue": -0.1, "n": -1, "simulated": -1}),
        ("AssociationBounds", {"low": -0.1, "high": 2}),
        ("Audit", {"confidence": 99.0, "claimed": -1.0, "lower_bound": -1.0, "exact": -0.5, "power": [[1.0, 7.0]]}),
        ("Association", {"n": -400, "simulated": -1}),
        ("Convergence", {"alpha": 5.0}),
        ("Plan", {"power": 80.0}),
        ("LoPubModel", {"n": -1, "graph": {"list": []}}),
    ],
)
def test_numbers_that_cannot_be_are_refused(name: str, forged: dict[str, Any]):
    """Also where the digest is that of the forged body."""
    cls, body = type(EXAMPLES[name]()), json.loads(EXAMPLES[name]().to_json())["body"]
    for field, value in forged.items():
        with pytest.raises(LdpstatsError, match=f"{name} with {field}"):
            cls.from_json(sealed(name, 1, {name: {**body[name], field: value}}))


@cache
def overlapping() -> ldp.TableSet:
    groups = [("a", "b"), ("b", "c")]
    return ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=groups).simulate(PEOPLE * 10, rng=1)


@cache
def crossed() -> ldp.TableSet:
    return ldp.PerAttribute(DOMAIN, epsilon=4.0, k=2).simulate(PEOPLE, rng=1)


@cache
def views() -> ldp.TableSet:
    return ldp.RRBA(DOMAIN, k=2, epsilon=4.0, block_size=200).simulate(PEOPLE, rng=1)


def counted_sets() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0, mechanism="hr").simulate(PEOPLE, rng=1)


DERIVED: dict[str, Callable[[], ldp.Table]] = {
    **{
        method: lambda method=method: ldp.reconstruct(overlapping(), ["a", "c"], method, n_resamples=20)
        for method in ("max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net")
    },
    "reconstructed from crossed answers": lambda: ldp.reconstruct(crossed(), ["a", "b", "c"]),
    "a margin of a reconstruction": lambda: derived("max-entropy").marginal("a"),
    "a collapsed reconstruction": lambda: ldp.reconstruct(crossed(), ["a", "b"]).collapse({"b": {"other": ["q", "r"]}}),
    "another order": lambda: derived("max-entropy").reordered(["c", "a"]),
    "consistent": lambda: ldp.make_consistent(overlapping())["a", "b"],
    "consistent blocks": lambda: ldp.make_consistent(views())["a", "b"],
    "a margin of a consistent table": lambda: derived("consistent").marginal("b"),
    "pooled": lambda: overlapping().pooled("b"),
    "pooled figures": lambda: views().pooled(["a", "b"]),
    "sums without a law": lambda: counted_sets()["a", "b"].marginal("a"),
    "crossed": lambda: crossed()["a", "b"],
    "a curator's": lambda: ldp.CentralLaplace(DOMAIN, k=2, epsilon=1.0).simulate(PEOPLE, rng=1)["a", "b"],
}


@cache
def derived(name: str) -> ldp.Table:
    """Return a table that was not collected."""
    return DERIVED[name]()


@pytest.mark.parametrize("name", DERIVED)
def test_derived_tables_come_back_with_all_that_follows_from_them(name: str):
    value = derived(name)
    read = round_trip(value)
    assert shown(read) == shown(value)
    assert read.parts == value.parts
    assert read.provenance == value.provenance
    if value.domain.size() > len(value.domain.names):
        np.testing.assert_array_equal(read.bounds().to_frame(), value.bounds().to_frame())
    if len(value.shape) == 2 and min(value.shape) > 1:
        for asked in (ldp.independence_test, ldp.association):
            assert said(asked, read) == said(asked, value)


def said(asked: Callable[[ldp.Table], Any], table: ldp.Table) -> str:
    try:
        return str(asked(table).to_dict())
    except LdpstatsError as error:
        return str(error)


def test_sets_with_derived_tables_come_back_and_still_know_whose_reports_they_hold():
    tables = ldp.TableSet(DOMAIN, [derived("max-entropy"), *ldp.make_consistent(overlapping())], overlapping().privacy)
    read = round_trip(tables)
    assert read.summary() == tables.summary()
    assert read.n == tables.n == overlapping().n
    fitted = ldp.make_consistent(overlapping())
    again = ldp.TableSet.from_json(fitted.to_json())
    np.testing.assert_array_equal(
        ldp.reconstruct(again, ["a", "c"]).cells.covariance, derived("max-entropy").covariance
    )
    # what stood behind several tables is one object again
    assert read["a", "c"].sources[0].blocks[0] is read["a", "b"].sources[0].blocks[0]
    for one, other in ((again, overlapping()), (overlapping(), again)):
        with pytest.raises(LdpstatsError):
            one + other


def public_classes() -> dict[str, type]:
    """Return the classes that the package and its rooms export."""
    rooms = ["ldpstats", *(one.name for one in pkgutil.walk_packages(ldp.__path__, "ldpstats.") if one.ispkg)]
    modules = [importlib.import_module(room) for room in rooms]
    exported = [getattr(module, name) for module in modules for name in getattr(module, "__all__", ())]
    return {one.__name__: one for one in exported if inspect.isclass(one) and not issubclass(one, Exception)}


NOT_SAVED = {
    **dict.fromkeys(("Query", "Answer"), "messages between client and aggregator, which travel as they are"),
    **dict.fromkeys(("Information", "ReportTotal", "LinearPooling"), "steps of a computation"),
    **dict.fromkeys(("ReportFormat", "Wider", "Marginal"), "parts that are made anew"),
    **dict.fromkeys(("TableMethod", "ReconstructionMethod"), "functions by name"),
    **dict.fromkeys(("NullModel", "LinearSubspace", "ProductOfConditionals"), "hypotheses while they are fitted"),
    **dict.fromkeys(("Mechanism", "Longitudinal", "NoiseModel", "ChannelNoise"), "what others are derived from"),
    **dict.fromkeys(("Limits", "Picture", "Result", "Shown"), "what others are derived from"),
    **dict.fromkeys(("AssignedQuestions", "LocalProtocol", "Protocol"), "what others are derived from"),
    **dict.fromkeys(("Panel", "Summary"), "what a result says, made anew from it"),
    **dict.fromkeys(("Vignette", "OwnData"), "a text of the package, and what is put into it"),
    "MultinomialNoise": "a channel, which is saved itself",
    "Asked": "a part of a protocol, which saves what it is made of",
}


def test_every_public_class_has_an_example():
    known = {*EXAMPLES, *PROTOCOLS, *NOT_SAVED, *(kind.__name__ for kind in REGISTRY)}
    rest = {name: one for name, one in public_classes().items() if name not in known}
    assert not [name for name, one in rest.items() if Saveable in one.__mro__ or not registered.is_registered(one)]


OLD, NEW = (ldp.Domain({"a": ["x", name]}) for name in ("old", "new"))


def killed_save(path: Path, line: int) -> bool:
    """Save in a process of its own, which is killed at a line of the module; say whether it came to its end."""
    child = os.fork()
    if not child:
        left = line

        def local(_: Any, event: str, __: object) -> Any:
            nonlocal left
            left -= event == "line"
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return local

        sys.settrace(lambda frame, *_: local if frame.f_code.co_filename.endswith("saving/files.py") else None)
        NEW.save(path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return status == 0


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="a system without files that have no name")
@pytest.mark.parametrize("older", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_a_save_that_is_killed_leaves_one_whole_file_and_nothing_else(tmp_path: Path, older: bool):
    """It left what it had written, private answers too, under a name that nobody looks for."""
    line, ended, left, path = 0, False, 0, tmp_path / "domain.json"
    while not ended:
        line += 1
        path.unlink(missing_ok=True)
        if older:
            path.write_text(OLD.to_json(), encoding="utf-8")
        ended = killed_save(path, line)
        whole = [one.read_text("utf-8") for one in tmp_path.iterdir()]
        assert {*whole} <= {OLD.to_json(), NEW.to_json()}
        assert len(whole) >= older
        # one that has a name for a moment, between two calls of the system, is taken away by the next save
        for one in {*tmp_path.iterdir()} - {path}:
            left += 1
            os.utime(one, (0, 0))
    assert 30 < line < 200
    assert left <= 1
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.skipif(os.name == "nt", reason="a system without locks of files")
def test_only_abandoned_files_of_ones_own_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Also where no file is without a name: what is being written stays."""
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    names = [f".ldpstats-{'0' * 31}{number}.tmp" for number in range(3)]
    for name in (*names, "my.tmp", ".x.tmp"):
        (tmp_path / name).write_text("something", encoding="utf-8")
        os.utime(tmp_path / name, (0, 0))
    os.utime(tmp_path / names[1])
    with saving.replacing(tmp_path / "one", lambda _: None) as file:
        file.write(b"one")
        file.flush()
        (own,) = {one.name for one in tmp_path.iterdir()} - {*names, "my.tmp", ".x.tmp"}
        os.utime(tmp_path / own, (0, 0))
        NEW.save(tmp_path / "other")
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([names[1], "my.tmp", ".x.tmp", "one", "other"])
    assert (tmp_path / "one").read_bytes() == b"one"


BODY: dict[str, Any] = {"names": ["ä", "\ud800", "b"], "levels": [0.1, 1e-300, 2**70], "deep": {"x": None, "y": [True]}}


def test_what_is_read_is_what_was_written():
    assert opened(sealed("thing", 3, BODY), "thing", 3, lambda body: body) == BODY


def test_spaces_and_line_breaks_make_no_difference():
    spread = json.dumps(json.loads(sealed("thing", 3, BODY)), indent=2)
    assert opened(spread, "thing", 3, lambda body: body) == BODY


def test_the_file_says_what_its_digest_is_good_for():
    assert "against accidents, not attackers" in sealed("thing", 1, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (sealed("other", 1, []), "its format is 'ldpstats other'"),
        (sealed("thing", 2, []), "its version is 2"),
        (sealed("thing", 1, []).replace("[]", "[0]"), "changed after it was written"),
        (sealed("thing", 1, [])[:-5], "Expecting|delimiter|Unterminated"),
        ('{"format": "ldpstats thing", "version": 1, "body": []}', "it holds"),
        ("[1, 2]", "without a format"),
        ("", "Expecting value"),
        ("[" * 100_000, "recursion"),
        ('{"format": 1, "format": 1}', "more than once"),
        (sealed("thing", 1, []).replace("[]", "NaN"), "not JSON compliant"),
        ("1" * 5_000, "digits"),
    ],
)
def test_any_other_text_is_refused(text: str, said: str):
    with pytest.raises(LdpstatsError, match=said):
        opened(text, "thing", 1, lambda body: body)


def test_a_reader_that_stumbles_is_a_refusal():
    for stumble in (lambda body: body["x"], lambda body: body[10], lambda body: body.x, lambda _: 10**400 * 1.0):
        with pytest.raises(LdpstatsError, match="not a saved thing"):
            opened(sealed("thing", 1, []), "thing", 1, stumble)


def test_no_change_of_a_letter_is_read_as_something_else():
    # deterministic: every position, each with another letter
    text, letters = sealed("thing", 1, BODY), random.Random(1)  # noqa: S311  # no secret
    for place in range(len(text)):
        changed = text[:place] + letters.choice('x7"{} ') + text[place + 1 :]
        try:
            read = opened(changed, "thing", 1, lambda body: body)
        except LdpstatsError:
            continue
        assert read == BODY


@pytest.mark.parametrize("name", ["tables.json", Path("tables.json"), "", None])
def test_the_name_of_a_file_is_not_what_it_holds(name: Any):
    with pytest.raises(LdpstatsError, match=r"not a saved thing .*Pass what the file holds, not its name"):
        opened(name, "thing", 1, lambda body: body)
    with pytest.raises(LdpstatsError) as error:
        opened(sealed("thing", 1, [])[:-1], "thing", 1, lambda body: body)
    assert "its name" not in str(error.value)
