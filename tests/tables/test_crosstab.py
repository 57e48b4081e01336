"""Crosstabs: shares, totals and residuals in the domain's order, with what they rest on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.spoken import spoken

import ldpstats as ldp
from ldpstats import LdpstatsError, NotIdentifiedError
from ldpstats.tables.crosstab import wide_panels, with_errors

DOMAIN = ldp.Domain({"sex": ["male", "female"], "car": ["yes", "no"], "size": ["small", "medium", "large"]})
PEOPLE = np.array([400, 100, 300, 50, 200, 90, 250, 350, 300, 160, 120, 480])


def tables(**options: Any) -> ldp.TableSet:
    protocol = ldp.SampledGroups(DOMAIN, **{"k": 2, "epsilon": 2.0, "mechanism": "grr", **options})
    return protocol.simulate(PEOPLE, rng=1)


def pair() -> ldp.Table:
    return tables()["sex", "size"]


def test_cells_and_totals_are_those_of_the_table() -> None:
    table = pair()
    found = table.crosstab()
    assert found.rows == ("sex",)
    assert found.columns == ("size",)
    assert np.array_equal(found.estimate, table.estimate)
    assert np.array_equal(found.std_err, table.std_err)
    assert np.array_equal(found.conf_int(), table.conf_int())
    for name, total in (("sex", found.row_totals), ("size", found.column_totals)):
        alone = table.marginal(name)
        assert total.estimate == pytest.approx(alone.estimate, abs=1e-12)
        assert total.std_err == pytest.approx(alone.std_err, rel=1e-9)
    assert found.expected == pytest.approx(np.outer(found.row_totals.estimate, found.column_totals.estimate))


@pytest.mark.parametrize(("normalize", "of", "given"), [("rows", "size", "sex"), ("columns", "sex", "size")])
def test_percentages_are_conditional_proportions(normalize: Any, of: str, given: str) -> None:
    found, alone = pair().crosstab(normalize=normalize), pair().conditional(of, given)
    turned = (lambda figures: figures) if normalize == "rows" else (lambda figures: np.swapaxes(figures, 0, 1))
    assert np.array_equal(found.estimate, turned(alone.estimate))
    assert np.array_equal(found.std_err, turned(alone.std_err))
    assert np.array_equal(found.conf_int(0.1), turned(alone.conf_int(0.1)))
    assert turned(found.estimate).sum(axis=1) == pytest.approx(np.ones(len(turned(found.estimate))))
    expected = pair().crosstab().column_totals if normalize == "rows" else pair().crosstab().row_totals
    assert turned(found.expected) == pytest.approx(np.tile(expected.estimate, (turned(found.expected).shape[0], 1)))
    assert np.array_equal(found.residuals, pair().crosstab().residuals)
    assert np.array_equal(pair().crosstab(normalize=normalize, alpha=0.1).conf_int(), found.conf_int(0.1))


def test_the_text_has_rows_columns_totals_and_residuals_in_the_order_of_the_domain() -> None:
    text = str(pair().crosstab())
    places = [text.index(word) for word in ("Columns: size", "small", "medium", "large", "total", "male", "female")]
    assert places == sorted(places)
    found = pair().crosstab()
    assert f"{found.estimate[0, 0]:.3f} ± {found.std_err[0, 0]:.3f}" in text
    marked = [one for panel in found.summary().panels[1:] for row in panel.rows for one in row[1:]]
    assert [one.endswith("*") for one in marked] == (np.abs(found.residuals) > 1.96).ravel().tolist()
    assert "(simulated)" in text.splitlines()[0]
    assert "respondent's whole record" in text
    assert "* beyond ±1.96" in spoken(text)
    assert "* beyond ±2.58" in spoken(pair().crosstab(alpha=0.01))


def test_wider_tables_are_stacked_or_added_up() -> None:
    table = tables(k=3)["sex", "car", "size"]
    stacked = table.crosstab()
    assert (stacked.rows, stacked.columns, stacked.shape) == (("sex", "car"), ("size",), (4, 3))
    assert np.array_equal(stacked.estimate, table.estimate.reshape(4, 3))
    assert stacked.summary().panels[0].headers == ("sex", "car", "small", "medium", "large", "total")
    added = table.crosstab("size", "sex")
    assert np.array_equal(added.estimate, table.marginal(["size", "sex"]).estimate)
    assert table.crosstab("size").columns == ("sex", "car")
    assert table.crosstab(columns=["size", "car"]).rows == ("sex",)
    assert "small · yes" in table.crosstab(columns=["size", "car"]).summary().panels[0].headers


def test_one_attribute_is_one_column_without_residuals() -> None:
    found = pair().marginal("size").crosstab()
    assert found.summary().panels[0].headers == ("size", "proportion")
    assert [row[0] for row in found.summary().panels[0].rows] == ["small", "medium", "large", "total"]
    assert list(found.to_frame().columns) == ["proportion", "std_err", "lower", "upper"]
    assert "residual" not in str(found)
    with pytest.raises(LdpstatsError, match="two attributes"):
        pair().marginal("size").crosstab(normalize="rows")


def test_frames_are_tidy_and_wide() -> None:
    found = pair().crosstab()
    frame, wide = found.to_frame(), found.to_wide()
    assert list(frame.columns) == ["proportion", "std_err", "lower", "upper", "expected", "residual"]
    assert frame.index.equals(pair().domain.index())
    assert list(wide.columns.get_level_values(0)) == ["small", "medium", "large"]
    assert np.array_equal(wide.to_numpy(), found.estimate)
    assert frame.loc[("female", "large"), "residual"] == found.residuals[1, 2]
    plain = found.to_dict()
    assert plain["residuals"] == found.residuals.tolist()
    assert plain["row_totals"]["estimate"] == found.row_totals.estimate.tolist()


def test_what_is_assumed_or_refused_is_said() -> None:
    asked = tables(groups=[("sex", "car"), ("car", "size")], epsilon=4.0)
    assumed = ldp.reconstruct(asked, ["sex", "size"]).crosstab()
    assert "No adjusted residuals: a model fills in" in spoken(assumed)
    assert np.isfinite(assumed.std_err).all()
    refused = ldp.reconstruct(asked, ["sex", "size"], "l2", n_resamples=3)
    found = refused.crosstab()
    assert np.isnan(found.std_err).all()
    assert np.isnan(found.conf_int()).all()
    with pytest.raises(LdpstatsError, match="alpha"):
        found.conf_int(7)
    assert "±" not in str(found)
    assert "Standard errors: none, as the smallest norm is no model" in spoken(found)
    assert found.to_dict()["row_totals"]["std_err"] is None
    with pytest.raises(NotIdentifiedError):
        refused.crosstab(normalize="rows")


@pytest.mark.parametrize(
    "asked",
    [
        {"normalize": "cells"},
        {"alpha": 0},
        {"alpha": "5 %"},
        {"rows": "sex", "columns": "sex"},
        {"rows": "height"},
        {"rows": []},
        {"rows": {"sex", "size"}},
        {"columns": 3},
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(LdpstatsError):
        pair().crosstab(**asked)


def test_twenty_categories_with_long_names_stay_readable() -> None:
    names = [f"{'a rather long name of a category ' if place % 7 == 0 else 'name '}{place}" for place in range(20)]
    domain = ldp.Domain({"a $b_c$ <b>|": names, "b\nc": list(range(20))})
    table = ldp.SampledGroups(domain, epsilon=2.0).simulate(np.full(400, 50), rng=1)[domain.names]
    found = table.crosstab()
    assert max(map(len, str(found).splitlines())) < 160
    for shown in (found.as_latex(), found.as_markdown(), found._repr_html_()):
        assert "name 19" in shown
    assert "<b>" not in found._repr_html_()


@pytest.mark.parametrize(
    ("share", "error", "percent", "text"),
    [
        (0.21534, 0.0134, False, "0.215 ± 0.013"),
        (0.21534, 0.134, False, "0.215 ± 0.134"),
        (0.21534, 0.00041, False, "0.21534 ± 0.00041"),
        (-0.00002, 0.0134, False, "0.000 ± 0.013"),
        (1.0, 0.0, False, "1.000"),
        (1.0, 1.4e-17**0.5, False, "1.000"),
        (0.21534, 0.0134, True, "21.5 % ± 1.3"),
        (0.5, np.nan, False, "0.500"),
        (0.5, np.inf, False, "0.500 ± inf"),
        (np.nan, 0.1, True, "-"),
    ],
)
def test_a_share_has_the_digits_that_its_error_leaves(share: float, error: float, percent: bool, text: str) -> None:
    assert with_errors(np.array([[share]]), np.array([[error]]), percent=percent) == [[text]]


def test_columns_stand_once_and_in_order_beside_every_row() -> None:
    beside = [f"category {place}" for place in range(20)]
    texts = [[f"{row}.{place}" for place in range(20)] for row in range(3)]
    panels = wide_panels("Columns: car", ["sex"], [["a"], ["b"], ["c"]], beside, texts)
    assert [one for panel in panels for one in panel.headers[1:]] == beside
    for row in range(3):
        assert [one for panel in panels for one in panel.rows[row][1:]] == texts[row]
        assert {panel.rows[row][0] for panel in panels} == {"abc"[row]}
    assert panels[0].title == f"Columns: car, from category 0 to {panels[0].headers[-1]}"
    assert max(sum(map(len, panel.headers)) for panel in panels) < 90


def test_a_column_wider_than_a_panel_stands_alone() -> None:
    panels = wide_panels("", ["sex"], [["a"]], ["x" * 200, "y", "z"], [["1", "2", "3"]])
    assert [panel.headers[1:] for panel in panels] == [("x" * 200,), ("y", "z")]
    assert wide_panels("", ["sex"], [["a"]], ["x"], [["1"]])[0].title == ""
