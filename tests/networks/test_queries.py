"""Queries: exact in a network, with intervals that hold the truth where it was fitted, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.comparisons import refused
from support.noisy_tables import implausible
from support.random_networks import full_joint, random_network

import ldpstats as ldp
from ldpstats import BayesianNetwork, Domain, LdpstatsError, NotIdentifiedError
from ldpstats.networks.parameters import FittedParameters, fit_parameters
from ldpstats.networks.queries import (
    hardly_smoothed,
    influences,
    networks_that_differ_in_a_row,
    query,
)

DOMAIN = Domain({"d": ["u", "v"], "b": [3, 1, 2], "a": [True, False], "network": ["x", "y", "z"]})
PARENTS = {"b": ("a",), "network": ("b", "a"), "d": ("network",)}
NAMES = DOMAIN.names
ASKED: list[tuple[list[str], dict[str, Any]]] = [
    (["a"], {"d": "v"}),
    (["network"], {}),
    (["b"], {"d": "u", "network": "z"}),
    (["d", "a"], {"b": 1}),
    (["a", "network"], {"d": "v", "b": 2}),
]


@cache
def fitted() -> FittedParameters:
    known = random_network(DOMAIN, PARENTS, 3)
    people = np.random.default_rng(1).multinomial(50_000, full_joint(known).ravel())
    tables = ldp.SampledGroups(DOMAIN, k=3, epsilon=4.0).simulate(people, rng=1)
    return fit_parameters(tables, PARENTS)


def by_definition(known: BayesianNetwork, of: list[str], given: dict[str, Any]) -> Any:
    joint = full_joint(known)
    for name, category in given.items():
        kept = np.array([one == category for one in DOMAIN.categories[name]], dtype=float)
        joint = joint * kept.reshape([-1 if one == name else 1 for one in NAMES])
    found = np.einsum(joint, range(len(NAMES)), [NAMES.index(name) for name in of])
    return found / found.sum()


@pytest.mark.parametrize(("of", "given"), ASKED)
@pytest.mark.parametrize("seed", range(3))
def test_a_query_of_a_network_is_exact(of: list[str], given: dict[str, Any], seed: int) -> None:
    known = random_network(DOMAIN, PARENTS, seed)
    found = query(known, of, given)
    np.testing.assert_allclose(found.estimate, by_definition(known, of, given), atol=1e-12)
    np.testing.assert_array_equal(known.query(of, given).estimate, found.estimate)
    assert "Exact" in str(found)
    assert list(found.to_frame().columns) == ["probability"]
    with pytest.raises(NotIdentifiedError):
        found.conf_int()


@pytest.mark.parametrize(("of", "given"), ASKED)
def test_that_of_a_fitted_one_is_exact_for_its_network_and_within_its_interval(
    of: list[str], given: dict[str, Any]
) -> None:
    found = fitted().query(of, given)
    np.testing.assert_allclose(found.estimate, by_definition(fitted().network, of, given), atol=1e-12)
    narrow, wide = found.conf_int(0.5), found.conf_int(0.01)
    assert ((wide[..., 0] >= 0) & (wide[..., 0] <= narrow[..., 0]) & (narrow[..., 0] <= found.estimate)).all()
    assert ((found.estimate <= narrow[..., 1]) & (narrow[..., 1] <= wide[..., 1]) & (wide[..., 1] <= 1)).all()


def test_a_query_of_a_family_is_a_row_of_its_table() -> None:
    given = {"a": True, "b": 2}
    own = fitted().network.parents["network"]
    at = tuple(DOMAIN.categories[name].index(given[name]) for name in own)
    np.testing.assert_allclose(fitted().query("network", given).estimate, fitted().network.tables["network"][:, *at])


def test_the_interval_of_an_attribute_alone_is_that_of_its_pooled_table() -> None:
    found, table = fitted().query("a").conf_int(), fitted().reports.pooled("a").conf_int()
    np.testing.assert_allclose(found, table, atol=0.15 * np.diff(table).mean())


def test_what_is_linearized_are_the_cells_where_the_network_is_a_single_table() -> None:
    domain = Domain({"a": ["x", "y"], "b": ["p", "q", "r"]})
    people = np.array([4000, 1000, 2000, 500, 9000, 3500])
    tables = ldp.SampledGroups(domain, epsilon=3.0).simulate(people, rng=1)
    cells = tables["a", "b"].unbiased
    for parents in ({"b": ("a",)}, {"a": ("b",)}):
        found = fit_parameters(tables, parents).query("b", {"a": "y"}).quotients
        assert found is not None
        assert found.pair == pytest.approx(
            np.stack([cells.estimate[3:], np.full(3, cells.estimate[3:].sum())], axis=-1) / cells.estimate[3:].sum(),
            rel=1e-4,
        )
        own = cells.covariance[3:, 3:] / cells.estimate[3:].sum() ** 2
        for place in range(3):
            row = own[place].sum()
            assert found.covariance[place] == pytest.approx(
                np.array([[own[place, place], row], [row, own.sum()]]), rel=0.01
            )


def test_where_reports_hardly_tell_that_evidence_occurs_anything_is_possible() -> None:
    domain = Domain({"rare": ["yes", "no"], "ill": ["yes", "no"]})
    people = np.array([2, 1, 4000, 5997])
    tables = ldp.SampledGroups(domain, epsilon=1.0).simulate(people, rng=3)
    low, high = fit_parameters(tables, {"ill": ["rare"]}).query("ill", {"rare": "yes"}).conf_int()[0]
    assert high - low > 0.9


def test_a_question_has_one_answer() -> None:
    found, again = (fitted().query("a", {"d": "v"}) for _ in range(2))
    np.testing.assert_array_equal(found.conf_int(), again.conf_int())
    other = fitted().query("a", {"d": "v"}, rng=5)
    np.testing.assert_allclose(found.conf_int(), other.conf_int(), atol=0.02)


def test_what_parents_that_were_not_asked_together_take_for_granted_is_said_with_every_number() -> None:
    domain = DOMAIN.project(["a", "b", "d"])
    tables = ldp.SampledGroups(domain, epsilon=4.0).simulate(np.full(12, 1000), rng=1)
    pairs = fit_parameters(tables, {"d": ("a", "b")})
    found = pairs.query("d", {"a": True, "b": 2})
    assumption = pairs.assumptions["d"]
    assert found.to_frame().columns.name == f"assuming {assumption}"
    assert found.to_dict()["assumptions"] == [assumption]
    assert " ".join(f"Assumes: {assumption}.".split()) in " ".join(str(found).split())
    assert pairs.query("a", {"b": 2}).to_frame().columns.name is None


def test_no_interval_is_shown_where_reports_do_not_fit_their_channel() -> None:
    domain = Domain({"a": ["x", "y"], "b": ["p", "q"]})
    tables = ldp.SampledGroups(domain, epsilon=1.0, mechanism="grr").simulate(np.array([20_000, 0, 0, 0]), rng=1)
    found = fit_parameters(ldp.TableSet(domain, map(implausible, tables), tables.privacy), {"a": ["b"]})
    for text in (str(found), str(found.query("a", {"b": "p"}))):
        assert "channel" in text
    assert "Intervals: none" in str(found.query("a", {"b": "p"}))
    assert "95 % from" not in str(found.query("a", {"b": "p"}))


REFUSED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "different attributes": ("a", {"a": True}, {}),
    "the category 'w' of 'd'": ("a", {"d": "w"}, {}),
    "'fever'": ("a", {"fever": 1}, {}),
    "'cough'": ("cough", {}, {}),
    "a mapping from attributes": ("a", ["d"], {}),
    "at least one": ([], {}, {}),
    "n_resamples = 3": ("a", {}, {"n_resamples": 3}),
    "rng = -1": ("a", {}, {"rng": -1}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_answered_is_refused(said: str) -> None:
    of, given, options = REFUSED[said]
    with refused(LdpstatsError, said):
        fitted().query(of, given, **options)


def test_evidence_that_is_impossible_is_refused() -> None:
    domain = Domain({"sex": ["F", "M"], "pregnant": ["yes", "no"]})
    known = BayesianNetwork(
        domain, {"sex": (), "pregnant": ("sex",)}, {"sex": [1, 0], "pregnant": [[0.1, 0], [0.9, 1]]}
    )
    with refused(LdpstatsError, "sex = M", "probability zero"):
        query(known, "pregnant", {"sex": "M"})
    with refused(LdpstatsError, "BayesianNetwork"):
        query("network", "pregnant")  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize(
    "altered",
    [
        {"estimate": np.array([0.7, 0.2])},
        {"estimate": np.array([1.2, -0.2])},
        {"estimate": np.array([0.2, 0.3, 0.5])},
        {"redrawn": np.full((100, 2), 0.6)},
        {"redrawn": np.full((100, 3), 1 / 3)},
        {"redrawn": None},
        {"privacy": None},
        {"n": 0, "simulated": 0},
        {"simulated": 10**9},
        {"quotients": {"highest": 2.0}},
        {"quotients": {"pair": np.ones((3, 2))}},
        {"quotients": {"covariance": np.array([[[1.0, 2.0], [3.0, 4.0]]] * 2)}},
    ],
)
def test_figures_that_cannot_be_are_refused(altered: dict[str, Any]):
    found = fitted().query("a")
    if "quotients" in altered:
        altered = {"quotients": replace(found.quotients, **altered["quotients"])}
    with pytest.raises(LdpstatsError):
        replace(found, **altered)


def test_the_picture_shows_what_the_frame_says() -> None:
    found = fitted().query(["a", "b"] if {"a", "b"} <= {*DOMAIN.names} else list(DOMAIN.names[:2]))
    picture = found.picture()
    np.testing.assert_array_equal(picture.to_frame()[["estimate", "lower", "upper"]], found.to_frame())
    assert picture.title.endswith("(simulated)")
    assert picture.notes[0] == "pointwise 95 % intervals, if the edges are right"
    exact = fitted().network.query(DOMAIN.names[0])
    assert np.isnan(exact.picture().lower).all()
    assert exact.picture().notes == ()


def test_more_probabilities_than_can_be_looked_at_are_not_drawn() -> None:
    domain = ldp.Domain({name: list(range(9)) for name in "abc"})
    even = {name: np.full(9, 1 / 9) for name in "abc"}
    found = ldp.BayesianNetwork(domain, dict.fromkeys("abc", ()), even).query(list("abc"))
    with pytest.raises(LdpstatsError, match="729 probabilities in one picture"):
        found.picture()


WITH_A_LOOP = Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1], "d": ["u", "v"]})
LOOP = {"b": ("a",), "c": ("a", "b"), "d": ("c",)}
STEP = 1e-6


@pytest.mark.parametrize("k", [2, 3])
def test_what_cells_change_in_probabilities_is_what_differences_say(k: int) -> None:
    people = np.random.default_rng(1).multinomial(30_000, full_joint(random_network(WITH_A_LOOP, LOOP, 2)).ravel())
    fitted = fit_parameters(ldp.SampledGroups(WITH_A_LOOP, k=k, epsilon=4.0).simulate(people, rng=1), LOOP)
    families = fitted.families.families
    tables, parents = hardly_smoothed(fitted.families, range(4)), {one.attribute: one.parents for one in families}
    changed = {
        one.attribute: table.reshape(*one.domain.shape, -1)
        for one, table in zip(families, networks_that_differ_in_a_row(tables), strict=True)
    }
    networks = [
        BayesianNetwork(WITH_A_LOOP, parents, {name: table[..., place] for name, table in changed.items()})
        for place in range(1 + sum(table.size for table in tables))
    ]
    # of a = x and d = v, and of a = y and d = v
    joint = np.array([one.joint(["a", "d"])[:, 1] for one in networks]).T
    base = networks[0]
    for family, influence in zip(families, influences(families, tables, joint), strict=True):
        cells = base.joint(family.domain.names)
        for place in range(cells.size):
            moved = cells.copy()
            moved.flat[place] += STEP
            table = moved / moved.sum(axis=0)
            other = BayesianNetwork(WITH_A_LOOP, base.parents, {**base.tables, family.attribute: table})
            expected = (other.joint(["a", "d"])[:, 1] - joint[:, 0]) / STEP
            np.testing.assert_allclose(influence[:, place], expected, atol=1e-4)


def test_without_noise_the_quotient_is_that_of_the_network() -> None:
    """Nothing was moved, so that there is nothing to correct, and hardly any error."""
    known = random_network(WITH_A_LOOP, LOOP, 3)
    people = np.round(full_joint(known) * 1e9).astype(np.int64).ravel()
    tables = ldp.ProductDomain(WITH_A_LOOP, epsilon=60.0).simulate(people, rng=1)
    found = fit_parameters(tables, LOOP, smoothing=0).query("a", {"d": "v"})
    assert found.quotients is not None
    quotient = found.quotients.pair[:, 0] / found.quotients.pair[:, 1]
    joint = known.joint(["a", "d"])[:, 1]
    np.testing.assert_allclose(quotient, joint / joint.sum(), atol=1e-6)
    assert np.diff(found.conf_int()).max() < 1e-3
