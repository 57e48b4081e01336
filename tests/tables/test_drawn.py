"""Drawn tables: pictures show the figures of tables, and say what must be known to look at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tables.test_crosstab import DOMAIN, PEOPLE, pair, tables

import ldpstats as ldp
from ldpstats import LdpstatsError
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.pictures.intervals import Intervals
from ldpstats.pictures.mosaic import AssociationPlot, Mosaic


def test_a_mosaic_shows_shares_within_rows_or_within_columns() -> None:
    for normalize in ("all", "rows", "columns"):
        crosstab = pair().crosstab(normalize=normalize)  # type: ignore[arg-type]  # one of the names
        frame = crosstab.picture().to_frame()
        joint = pair().estimate.T if normalize == "columns" else pair().estimate
        widths = joint.sum(axis=1)
        assert frame["width"].to_numpy() == pytest.approx(np.repeat(widths, joint.shape[1]))
        assert frame["share"].to_numpy() == pytest.approx((joint / widths[:, None]).ravel())
        residuals = crosstab.residuals.T if normalize == "columns" else crosstab.residuals
        assert frame["residual"].to_numpy() == pytest.approx(residuals.ravel())
        assert frame["hatched"].tolist() == (np.abs(residuals) <= 1.96).ravel().tolist()
        bars = crosstab.picture("residuals").to_frame()
        expected = np.outer(crosstab.row_totals.estimate, crosstab.column_totals.estimate)
        assert bars["expected"].to_numpy() == pytest.approx(expected.ravel())
        assert bars["residual"].to_numpy() == pytest.approx(crosstab.residuals.ravel())
    assert frame["across"].unique().tolist() == ["small", "medium", "large"]


def test_a_dashed_tile_has_an_interval_that_holds_zero() -> None:
    table = tables(epsilon=0.5)["sex", "size"]
    frame = table.picture().to_frame()
    assert frame["may be none"].tolist() == (table.conf_int()[..., 0] <= 0).ravel().tolist()
    assert 0 < frame["may be none"].sum() < 6
    doubtful = table.crosstab(alpha=1e-6).picture().to_frame()["may be none"]
    assert doubtful.tolist() == (table.conf_int(1e-6)[..., 0] <= 0).ravel().tolist()
    assert doubtful.sum() > frame["may be none"].sum()


@pytest.mark.parametrize("kind", ["mosaic", "residuals"])
def test_residuals_whose_law_is_known_roughly_are_said_to_be(kind: Any) -> None:
    few = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr").simulate(PEOPLE // 60, rng=1)["sex", "size"]
    assert any("is known roughly" in note for note in few.picture(kind).notes)
    assert not any("residuals" in note for note in pair().picture(kind).notes)


def test_kinds_of_pictures_of_a_table() -> None:
    three = tables(k=3)["sex", "car", "size"]
    kinds = {None: Mosaic, "intervals": Intervals, "mosaic": Mosaic, "residuals": AssociationPlot}
    for kind, cls in kinds.items():
        assert isinstance(pair().picture(kind), cls)  # type: ignore[arg-type]  # one of the names
    assert isinstance(three.picture(), Intervals)
    assert three.picture("mosaic").to_frame()["across"].unique().tolist() == [
        "male · yes",
        "male · no",
        "female · yes",
        "female · no",
    ]
    assert isinstance(pair().marginal("sex").picture(), Intervals)
    for asked in ({"kind": "pie"}, {"kind": 3}):
        with pytest.raises(LdpstatsError):
            pair().picture(**asked)
        with pytest.raises(LdpstatsError):
            pair().crosstab().picture(**asked)
    assert isinstance(pair().marginal("sex").crosstab().picture(), Intervals)
    with pytest.raises(LdpstatsError, match="attributes in the columns"):
        pair().marginal("sex").picture("mosaic")


def test_intervals_are_those_of_the_table() -> None:
    table = pair()
    frame = table.picture("intervals").to_frame()
    assert frame["estimate"].tolist() == table.cells.estimate.tolist()
    assert frame[["lower", "upper"]].to_numpy().tolist() == table.conf_int().reshape(-1, 2).tolist()
    assert frame["label"].tolist()[:2] == ["male · small", "male · medium"]
    found = table.conditional("size", "sex")
    frame = found.picture().to_frame()
    assert frame["group"].tolist() == ["sex male"] * 3 + ["sex female"] * 3
    assert frame["estimate"].tolist() == found.estimate.ravel().tolist()
    assert frame[["lower", "upper"]].to_numpy().tolist() == found.conf_int().reshape(-1, 2).tolist()


def test_a_set_shows_every_attribute_pooled() -> None:
    found = tables()
    frame = found.picture().to_frame()
    assert frame["group"].unique().tolist() == list(DOMAIN.names)
    for name in DOMAIN.names:
        own, pooled = frame[frame["group"] == name], found.pooled(name)
        assert own["estimate"].tolist() == pooled.cells.estimate.tolist()
        assert own[["lower", "upper"]].to_numpy() == pytest.approx(pooled.conf_int())
        assert own["label"].tolist() == list(map(str, DOMAIN.categories[name]))
    assert "simulated" in found.picture().notes


def test_attributes_that_cannot_be_had_are_named() -> None:
    domain = ldp.Domain({name: [0, 1] for name in "abcd"})
    protocol = ldp.SampledGroups(domain, k=2, epsilon=1.0, groups=[("a", "b"), ("c", "d")])
    both = protocol.simulate(np.full(16, 100), rng=1)
    half = ldp.TableSet(domain, [both["a", "b"]], both.privacy)
    assert half.picture().notes == ("simulated", "not shown: c, d")
    assert half.picture().to_frame()["group"].unique().tolist() == ["a", "b"]


def test_what_is_assumed_or_refused_is_said() -> None:
    asked = tables(groups=[("sex", "car"), ("car", "size")], epsilon=4.0)
    assumed = ldp.reconstruct(asked, ["sex", "size"])
    assert assumed.picture().to_frame()["residual"].isna().all()
    refused = ldp.reconstruct(asked, ["sex", "size"], "l2", n_resamples=3)
    assert refused.picture("intervals").to_frame()[["lower", "upper"]].isna().all(axis=None)
    assert any("no intervals: the smallest norm" in note for note in refused.picture().notes)


def test_a_mosaic_of_cells_below_zero_is_that_of_the_nearest_possible_table() -> None:
    table = ldp.SampledGroups(DOMAIN, k=3, epsilon=0.3, mechanism="grr").simulate(PEOPLE // 20, rng=1)[DOMAIN.names]
    below, nearest = int((table.estimate < 0).sum()), nearest_proper(table.estimate.ravel())
    assert below > 1
    picture = table.picture("mosaic")
    none = f"drawn is the nearest possible table, in which {(nearest == 0).sum()} cells are zero"
    assert f"{below} cells are estimated below zero: {none}" in picture.notes
    frame = picture.to_frame()
    np.testing.assert_allclose(np.nan_to_num(frame["width"] * frame["share"]), nearest, atol=1e-12)


def test_no_tile_is_more_than_all() -> None:
    for seed in range(20):
        found = ldp.SampledGroups(DOMAIN, epsilon=0.7, mechanism="oue").simulate(PEOPLE // 40, rng=seed)
        for normalize in ("rows", "columns"):
            frame = found["sex", "size"].crosstab(normalize=normalize).picture().to_frame()
            shares = frame.pivot_table(index="across", columns="down", values="share", observed=True)
            assert (frame["share"].dropna() >= 0).all()
            np.testing.assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize(("mechanism", "n"), [("grr", 2), ("grr", 20), ("hr", 2), ("oue", 20)])
def test_few_respondents_are_drawn_without_a_warning(mechanism: str, n: int) -> None:
    people = np.random.default_rng(n).multinomial(n, np.full(12, 1 / 12))
    protocol = ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism=mechanism, groups=[("sex", "size")])
    table = protocol.simulate(people, rng=1)["sex", "size"]
    drawn = [table.plot(kind=kind) for kind in ("mosaic", "intervals", "residuals")]  # type: ignore[arg-type]  # names
    for axes in (*drawn, table.conditional("sex", "size").plot()):
        axes.figure.canvas.draw()
        assert axes.has_data() or axes.patches or axes.texts


def test_what_is_too_large_for_a_picture_is_refused() -> None:
    domain = ldp.Domain({name: range(10) for name in "abc"})
    table = ldp.SampledGroups(domain, k=3, epsilon=4.0).simulate(np.full(1000, 10), rng=1)[domain.names]
    with pytest.raises(LdpstatsError, match="1,000 cells in one picture"):
        table.picture()
    given = ldp.Domain({f"attribute {place}": range(20) for place in range(40)})
    pairs = [(f"attribute {place}", f"attribute {place + 1}") for place in range(0, 40, 2)]
    frame = given.decode(np.random.default_rng(1).integers(0, 20, (4000, 40)))
    many = ldp.SampledGroups(given, epsilon=4.0, groups=pairs).collect(frame, rng=1)
    shown = many.picture()
    assert len(shown.to_frame()) <= 600
    assert shown.notes[-1].startswith("not shown: attribute 28, attribute 29, ")
