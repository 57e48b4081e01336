"""The study of tables nobody collected: that its populations are what they are called, and a slice of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest
import reconstruction_bounds
import reconstruction_coverage as study
import reconstruction_levels
from reconstruction_populations import POPULATIONS, Group, Population, Setting, chain, triples

from ldpstats.estimation.simplex import proportionally_fitted
from ldpstats.numbers.arrays import FloatArray, places_onto

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds


def of_maximum_entropy(population: Population, groups: Iterable[Group]) -> FloatArray:
    axes = [[population.names.index(name) for name in group] for group in groups]
    partitions = [places_onto(population.cells.shape, one) for one in axes]
    return proportionally_fitted(population.cells.ravel(), partitions).reshape(population.cells.shape)


def all_pairs(names: Group) -> list[Group]:
    return [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]


@pytest.mark.parametrize("name", sorted({(one.population, one.collection) for one in study.settings()}))
def test_where_intervals_are_to_hold_the_model_of_the_groups_is_true(name: tuple[str, str]) -> None:
    population, groups = POPULATIONS[name[0]], {"chain": chain, "triples": triples}.get(name[1], all_pairs)
    assert population.cells.sum() == pytest.approx(1)
    assert population.cells == pytest.approx(of_maximum_entropy(population, groups(population.names)), abs=1e-6)


def test_where_bounds_are_to_hold_it_is_false() -> None:
    for setting in reconstruction_bounds.settings():
        assert np.abs(setting.truth.cells - of_maximum_entropy(setting.truth, setting.asked)).max() > 0.01


def test_hypotheses_are_true() -> None:
    both, given = (POPULATIONS[name] for name in (reconstruction_levels.MUTUAL, reconstruction_levels.CONDITIONAL))
    for names in ("hair", "eye", "sex"):
        assert both.marginal((names,)) == pytest.approx(given.marginal((names,)))
    product = np.einsum("h,e,s->hes", *(both.marginal((name,)) for name in both.names))
    assert both.cells == pytest.approx(product)
    assert given.cells == pytest.approx(of_maximum_entropy(given, chain(given.names)), abs=1e-6)
    assert np.abs(given.marginal(("hair", "eye")) - both.marginal(("hair", "eye"))).max() > 0.05


def test_every_kind_of_table_is_measured() -> None:
    """Half of the intervals of 20 collections fail less than once in 10^7, however dependent a table's cells are."""
    setting = Setting("even chain", "chain", 100_000, 4.0, runs=20)
    frame = pd.DataFrame(study.measure(setting))
    assert set(frame["kind"]) == set(study.targets(setting)) == set(study.MADE)
    by_kind = frame.groupby("kind")[["cells", "held"]].sum()
    assert by_kind.loc["triple", "cells"] == 20 * 18
    assert (by_kind["held"] > by_kind["cells"] / 2).all()
    report = study.coverage(frame, ["kind"])
    assert set(report["asked"]) == {"too few cells"}
    assert study.errors(frame)["ratio"].between(0.5, 2).all()


def test_coverage_is_judged_by_its_mean_and_its_least_point() -> None:
    points = pd.DataFrame({"stratum": "small", "cells": [9_000, 1_000], "held": [8_600, 890]})
    assert study.coverage(points, [])["asked"].item() == "missed"
    assert study.below(points.assign(bound=False, **{"every cell large": False})).count("0.890") == 1
    assert study.coverage(points.assign(held=[8_400, 910]), [])["asked"].item() == "met"
    assert study.coverage(points.assign(held=[8_300, 910]), [])["asked"].item() == "missed"
    assert study.coverage(points.assign(cells=100, held=99), [])["asked"].item() == "too few cells"


def test_bounds_hold_what_intervals_under_a_false_assumption_miss() -> None:
    rows = reconstruction_bounds.measure(Setting("exclusive or, always", "groups", 100_000, 4.0, runs=3))
    report = reconstruction_bounds.report(rows).loc["cells"].iloc[0]
    assert report["bounds hold"] == 1 > report["assuming hold"] == 0
    assert report["bounds width"] > 10 * report["assuming width"]


def test_refused_tests_are_as_asked_and_those_off_their_level_are_not() -> None:
    rows = reconstruction_levels.measure(Setting(reconstruction_levels.CONDITIONAL, "chain", 10_000, 2.0, runs=1))
    assert {row["refused"] for row in rows} == {1}
    assert list(reconstruction_levels.report(rows)["asked"]) == ["met", "met"]

    def asked(*rejected: int) -> str:
        made = [{**rows[0], "runs": 400, "refused": 0, "rejected": one} for one in rejected]
        return str(reconstruction_levels.report(made)["asked"].item())

    assert asked(20) == asked(11, 28) == "met"
    assert asked(27) == asked(11) == asked(20, 20, 20, 20, 2) == asked(10, 10, 10, 10, 45) == "missed"
