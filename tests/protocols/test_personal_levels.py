"""Personal levels: who chose a level is asked at it and told it; what is pooled over levels says what it assumes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import client
from ldpstats.conformance.protocol_checks import law_of_run
from ldpstats.errors import LdpstatsError
from ldpstats.estimation.block_stack import total_score
from ldpstats.estimation.table_methods import TABLE_METHODS
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.extend import Asked, AssignedQuestions
from ldpstats.protocols.sampled_groups import SampledGroups

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
LEVELS = {"low": 0.5, "usual": 1.0, "open": 2.0}
ASSUMED = "chosen at random"


def thirds(n: int, *, column: str | None = "level", **options: Any) -> tuple[ldp.PersonalLevels, pd.DataFrame]:
    protocol = ldp.PersonalLevels(DOMAIN, levels=LEVELS, column=column, **options)
    codes = np.random.default_rng(n).integers(0, 2, (n, 2))
    return protocol, DOMAIN.decode(codes).assign(level=np.resize(list(LEVELS), n))


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("record", [[0, 0], [1, 0]])
def test_who_chose_a_level_sends_what_its_own_protocol_sends(name: str, record: list[int]) -> None:
    protocol = ldp.PersonalLevels(DOMAIN, levels=LEVELS, column="level", k=1, mechanism="grr")
    frame = DOMAIN.decode([record]).assign(level=name)

    def sent(own: Any, prefix: str = "") -> Any:
        rows = own.reports(frame)
        return tuple((prefix + group, report) for group, report in zip(rows["group"], rows["report"], strict=True))

    assert law_of_run(lambda: sent(protocol)) == law_of_run(lambda: sent(protocol.protocols[name], f"{name}: "))


def test_everybody_is_asked_at_her_own_level_and_units_are_balanced_within_it() -> None:
    protocol, frame = thirds(62, k=1)
    frame.loc[:30, "level"] = "open"
    rows = protocol.reports(frame, rng=1)
    asked = rows["group"].str.split(": ", expand=True)
    assert asked[0].value_counts().to_dict() == frame["level"].value_counts().to_dict()
    per_unit = asked.value_counts().groupby(level=0).agg(np.ptp)
    assert (len(per_unit), per_unit.max()) == (3, 1)
    apart = protocol.apart(protocol.tables(rows))
    assert {name: own.n for name, own in apart.items()} == frame["level"].value_counts().to_dict()
    frequencies = frame.value_counts().rename("n").reset_index()
    for tables in (protocol.collect(frequencies, rng=2, counts="n"), protocol.simulate(frequencies, rng=2, counts="n")):
        assert {name: own.n for name, own in protocol.apart(tables).items()} == frame["level"].value_counts().to_dict()


@pytest.mark.parametrize("choice", ["none", None, 1, "Low"])
def test_choices_that_are_no_level_are_refused(choice: Any) -> None:
    protocol, frame = thirds(9, outside="random")
    frame["level"] = frame["level"].astype(object)
    frame.loc[4, "level"] = choice
    for use in (protocol.collect, protocol.reports, protocol.sent, protocol.simulate):
        with pytest.raises(LdpstatsError, match="level"):
            use(frame, 1)
        with pytest.raises(LdpstatsError, match="level"):
            use(frame.drop(columns="level"), 1)


def test_without_a_column_levels_are_drawn_in_equal_numbers() -> None:
    protocol, frame = thirds(90, column=None)
    for tables in (protocol.collect(frame, 1), protocol.simulate(frame, 1), protocol.simulate([30, 30, 20, 10], 1)):
        assert [own.n for own in protocol.apart(tables).values()] == [30, 30, 30]


def said(result: Any) -> str:
    """Return a summary in one line."""
    return " ".join(str(result.summary()).split())


def test_every_level_has_its_statement_and_what_is_pooled_says_what_it_assumes() -> None:
    protocol, frame = thirds(3000)
    tables = protocol.collect(frame, rng=1)
    levels = {name: own.privacy().epsilon for name, own in protocol.protocols.items()}
    assert dict(protocol.privacy().chosen) == levels == pytest.approx(LEVELS, abs=1e-9)
    assert protocol.privacy().epsilon == levels["open"]
    table = tables["sex", "car"]
    made: list[Any] = [
        *(protocol, protocol.privacy(), tables, table, table.marginal("sex"), tables.pooled("car"), table.crosstab()),
        *(table.estimated_by("mle"), table.conditional("car", "sex"), ldp.independence_test(table)),
        ldp.association(table),
        ldp.make_consistent(tables)["sex", "car"],
    ]
    made += [
        ldp.reconstruct(tables, ["sex", "car"]),
        ldp.fit_parameters(tables, {"car": ["sex"]}),
        ldp.learn_network(tables),
    ]
    for one in made:
        assert ASSUMED in said(one), one
        assert "what the choice tells is not covered" in said(one), one
    for name, own in protocol.apart(tables).items():
        assert own.privacy.epsilon == levels[name]
        assert dict(own.privacy.chosen) == {name: levels[name]}
        assert ASSUMED not in said(own)
        assert ASSUMED not in said(own["sex", "car"])
        assert f"{name} = " in said(own["sex", "car"])
    assert ASSUMED in said(sum(protocol.apart(tables).values()))
    stated = tables.privacy.to_frame()
    assert stated.set_index("about").loc["the record of who chose low", "epsilon"] == levels["low"]
    assert ldp.TableSet.from_json(tables.to_json()).privacy == tables.privacy
    assert tables.privacy.to_dict()["chosen"] == levels


def test_the_guarantee_leaves_out_what_a_public_choice_tells() -> None:
    """A choice that depends on the record may show it, whatever the levels are."""
    protocol = ldp.PersonalLevels(DOMAIN, levels=LEVELS, k=1)
    for statement in (protocol.privacy(), protocol.simulate(np.full(DOMAIN.size(), 50), rng=1).privacy):
        assert "whatever becomes known beside the level that was chosen, no record" in statement.guarantee()
    assert "beside the level" not in protocol.protocols[next(iter(LEVELS))].privacy().guarantee()


def test_a_level_that_is_a_choice_of_levels_is_refused() -> None:
    """Its own column would be overlooked, and who chose the lower of its levels be asked at the higher one."""
    inner = ldp.PersonalLevels(DOMAIN, levels=LEVELS, k=1, column="level")
    with pytest.raises(LdpstatsError, match="beside each other"):
        ldp.PersonalLevels(DOMAIN, levels={"these": inner, "those": inner}, column="outer")


def test_levels_apart_are_those_that_were_collected_and_are_counted_once() -> None:
    protocol, frame = thirds(900)
    tables = protocol.collect(frame, rng=1)
    apart = protocol.apart(tables)
    again = sum(apart.values())
    assert isinstance(again, ldp.TableSet)
    assert np.array_equal(again.estimated_by("gls")["sex", "car"].estimate, tables["sex", "car"].estimate)
    assert [block.n for block in tables["sex", "car"].blocks] == [300] * 3
    for own, block in zip(apart.values(), tables["sex", "car"].blocks, strict=True):
        (alone,) = own["sex", "car"].blocks
        assert np.array_equal(alone.tally.counts, block.tally.counts)
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        _ = tables + apart["low"].estimated_by("gls")
    with pytest.raises(LdpstatsError, match="collected under this protocol"):
        protocol.apart(protocol.protocols["low"].collect(frame, rng=1))
    read = ldp.TableSet.from_json(tables.to_json()) + protocol.collect(frame, rng=2)
    assert [own.n for own in protocol.apart(read).values()] == [600] * 3


def test_choices_that_depend_on_the_answers_are_found() -> None:
    """Level 1e-4 for an even choice, whose p-values are those of three fixed seeds."""
    protocol, frame = thirds(6000)
    for rng in (1, 2, 3):
        apart = protocol.apart(protocol.collect(frame, rng))
        assert ldp.homogeneity_test({name: own["sex", "car"] for name, own in apart.items()}).pvalue > 1e-4
    frame.loc[frame["car"] == "yes", "level"] = "open"
    tables = protocol.collect(frame, rng=1)
    apart = protocol.apart(tables)
    assert ldp.homogeneity_test({name: own["sex", "car"] for name, own in apart.items()}).pvalue < 1e-9
    assert "open" in ldp.compare_collectors(list(apart.values()), list(apart)).differing
    shares = [own["sex", "car"].marginal("car").estimate[0] for own in apart.values()]
    weighted = np.average(shares, weights=[own.n for own in apart.values()])
    assert weighted == pytest.approx((frame["car"] == "yes").mean(), abs=0.1)


def test_devices_answer_the_file_of_their_level_and_are_pooled_together() -> None:
    protocol, frame = thirds(300, mechanism="grr")
    sets = {}
    for name, own in protocol.protocols.items():
        asked = client.read_protocol(own.to_json())
        assert asked.epsilon == own.privacy().epsilon
        respondents = frame[frame["level"] == name][list(DOMAIN.names)].to_dict(orient="records")
        messages = [client.Respondent(own.to_json()).answer(record) for record in respondents]
        assert {json.loads(one)["protocol"] for one in messages} == {own.fingerprint()}
        sets[name] = own.collect(frame[frame["level"] == name], rng=1)
    pooled = protocol.together(sets)
    assert dict(pooled.privacy.chosen) == dict(protocol.privacy().chosen)
    assert (pooled.n, pooled["sex", "car"].method) == (300, "gls")
    assert ASSUMED in said(pooled["sex", "car"])
    assert json.loads(client.Respondent(protocol.to_json()).answer({"sex": "F", "car": "no"}))["unit"] in range(3)
    for wrong in ({}, [], {"low": sets["open"]}, {"none": sets["low"]}, {"low": 1}):
        with pytest.raises(LdpstatsError):
            protocol.together(wrong)  # type: ignore[arg-type]  # refused


def best_variances(blocks: Any, frequencies: Any) -> Any:
    """Return the exact variances of cells when the blocks' own estimates are weighted by their exact variances."""
    alone = np.stack([np.diagonal(block.noise.covariance(frequencies)) / block.n for block in blocks])
    return 1 / (1 / alone).sum(axis=0)


@pytest.mark.parametrize("mechanism", ["grr", "ss", "oue"])
@pytest.mark.parametrize("k", [2, 4, 16])
@pytest.mark.parametrize("most", [0.0, 0.5, 0.9])
def test_levels_by_thirds_lose_nothing_beside_the_best_weights(mechanism: str, k: int, most: float) -> None:
    """Exact formula: the information of all levels together, at their own weights, against inverse variances."""
    frequencies = (1 - most) / k + most * np.eye(k)[0]
    protocol = ldp.PersonalLevels(ldp.Domain({"a": range(k)}), levels=LEVELS, k=1, mechanism=mechanism)
    blocks = protocol.simulate(np.full(k, 3000), rng=1)["a"].blocks
    contrasts = np.eye(k)[:, :-1] - np.eye(k)[:, -1:]
    information = total_score(blocks, frequencies)[1]
    inverse = contrasts @ np.linalg.inv(contrasts.T @ information @ contrasts) @ contrasts.T
    assert (np.diagonal(inverse) / best_variances(blocks, frequencies)).max() <= 1.001


def test_estimated_weights_have_that_variance_and_equal_ones_have_not() -> None:
    """3,000 draws: the ratio to the unbiased estimate, whose variance is exact, has a standard error of .003."""
    frequencies = np.array([0.9, 0.1])
    protocol = ldp.PersonalLevels(ldp.Domain({"a": range(2)}), levels=LEVELS, k=1, mechanism="grr")
    table = protocol.simulate(np.full(2, 1500), rng=1)["a"]
    rng = np.random.default_rng(0)
    drawn = [block.draw(frequencies, 3000, rng) for block in table.blocks]
    errors: dict[str, Any] = {"gls": [], "unbiased": []}
    for counts in zip(*drawn, strict=True):
        blocks = [
            replace(block, tally=replace(block.tally, counts=own))
            for block, own in zip(table.blocks, counts, strict=True)
        ]
        for name, own in errors.items():
            own.append(TABLE_METHODS[name].estimated(blocks).estimate - frequencies)
    exact = np.trace(UnbiasedPooling(table.blocks).covariance(frequencies))
    paired = np.square(errors["gls"]).sum() / np.square(errors["unbiased"]).sum()
    best = best_variances(table.blocks, frequencies).sum()
    assert table.method == "gls"
    assert paired * exact / best <= 1.02
    assert exact / best > 1.02


@pytest.mark.parametrize("protocol", [ldp.SampledGroups, ldp.WholeView, ldp.ProductDomain, ldp.HadamardCoefficients])
def test_every_protocol_with_one_answer_a_row_is_saved_and_read(protocol: Any) -> None:
    domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["old", "young"]})
    made = ldp.PersonalLevels(domain, levels=LEVELS, protocol=protocol, column="level", outside="random")
    read = ldp.Protocol.from_json(made.to_json())
    assert read == made
    assert (read.to_json(), read.column) == (made.to_json(), "level")  # type: ignore[attr-defined]
    tables = made.simulate(np.full(8, 600), rng=1)
    (first, *_), own = tables, made.protocols["low"]
    assert {table.attributes for table in own.simulate(np.full(8, 10), rng=1)} == {one.attributes for one in tables}
    assert abs(first.estimate - 1 / first.domain.size()).max() < 6 * first.std_err.max()


def test_a_file_keeps_its_mechanisms_when_auto_comes_to_mean_others(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = thirds(9)
    text = made.to_json()
    monkeypatch.setattr("ldpstats.protocols.assigned.best_name", lambda *_: "oue")
    read = ldp.Protocol.from_json(text)
    assert read.fingerprint() == made.fingerprint() != ldp.PersonalLevels(DOMAIN, levels=LEVELS).fingerprint()
    assert read.mechanism_for(["sex", "car"]) == made.mechanism_for(["sex", "car"])  # type: ignore[attr-defined]


def test_files_whose_levels_are_of_another_protocol_are_refused() -> None:
    from ldpstats.saving.codec import encoded
    from ldpstats.saving.files import sealed

    made, _ = thirds(9)
    whole = json.loads(made.to_json())
    other = {name: SampledGroups(DOMAIN, epsilon=level, k=1).to_json() for name, level in LEVELS.items()}
    own = {name: one.to_json() for name, one in made.protocols.items()}
    levels: Any
    for levels in (other, {}, dict(list(own.items())[:1]), {**own, "more": own["low"]}, {**own, "low": "x"}, 5, "?"):
        parameters = {"levels": encoded(levels), "column": None}
        with pytest.raises(LdpstatsError):
            ldp.Protocol.from_json(sealed("protocol", 1, {**whole["body"], "parameters": parameters}))
    for parameters in ({"column": None}, {"levels": encoded(own)}, {"levels": encoded(own), "column": None, "more": 1}):
        with pytest.raises(LdpstatsError):
            ldp.Protocol.from_json(sealed("protocol", 1, {**whole["body"], "parameters": parameters}))


class OneOrBoth(AssignedQuestions):
    """A protocol that asks more at a low level."""

    domain = DOMAIN

    def __init__(self, domain: ldp.Domain, *, epsilon: float, outside: str) -> None:
        self.__dict__.update(domain=domain, epsilon=epsilon, outside=outside)

    def units(self) -> list[list[Asked]]:
        names = [("sex",), ("car",)] if self.__dict__["epsilon"] < 1 else [("sex",)]
        return [[Asked.about(self.domain, name, "grr", self.__dict__["epsilon"])] for name in names]


@pytest.mark.parametrize(
    "options",
    [
        {"levels": {"low": 1.0}},
        {"levels": {}},
        {"levels": [1.0, 2.0]},
        {"levels": {"low": 1.0, "": 2.0}},
        {"levels": {"low": 1.0, "a: b": 2.0}},
        {"levels": {"low": 1.0, 2: 2.0}},
        {"levels": {"low": 0.0, "open": 2.0}},
        {"levels": {"low": 1.0, "open": "2"}},
        {"levels": {"low": 1.0, "open": SampledGroups(DOMAIN, epsilon=2.0, k=1)}},
        {"levels": {"low": 1.0, "open": SampledGroups(DOMAIN, epsilon=2.0, outside="random")}},
        {"levels": {"low": 1.0, "open": SampledGroups(ldp.Domain({"sex": ["M", "F"]}), epsilon=2.0, k=1)}},
        {"protocol": OneOrBoth},
        {"protocol": ldp.PerAttribute, "k": 2},
        {"protocol": ldp.RRBA, "block_size": 10},
        {"outside": "maybe"},
        {"column": 5},
        {"column": "sex"},
    ],
    ids=repr,
)
def test_levels_that_make_no_protocol_are_refused(options: Any) -> None:
    with pytest.raises(LdpstatsError):
        ldp.PersonalLevels(DOMAIN, **{"levels": LEVELS, **options})


def test_a_level_may_be_a_protocol_with_mechanisms_of_its_own() -> None:
    open_ = SampledGroups(DOMAIN, epsilon=2.0, mechanism=[ldp.SUE(4, epsilon=2.0)])
    made = ldp.PersonalLevels(DOMAIN, levels={"low": 0.5, "open": open_}, mechanism="grr")
    assert ldp.Protocol.from_json(made.to_json()) == made
    table = made.simulate([4000, 3000, 2000, 1000], rng=1)["sex", "car"]
    assert np.abs(table.estimate.ravel() - [0.4, 0.3, 0.2, 0.1]).max() < 5 * table.std_err.max()


def test_few_respondents_and_levels_that_nobody_chose_are_estimated_or_refused() -> None:
    protocol, frame = thirds(20)
    frame["level"] = "open"
    tables = protocol.collect(frame, rng=1)
    assert tables["sex", "car"].estimate.sum() == pytest.approx(1)
    assert np.isfinite(tables["sex", "car"].conf_int()).all()
    empty = protocol.apart(tables)["low"]
    assert empty.n == 0
    with pytest.raises(LdpstatsError):
        _ = empty["sex", "car"].estimate
