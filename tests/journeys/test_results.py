"""Every public result shows itself in every way: terminal, notebook, paper, frame, plain values, file and picture."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from saving.test_files import EXAMPLES, PROTOCOLS

import ldpstats as ldp
from ldpstats.presentation import Picture, Result, Shown, Summary

HOSTILE = ldp.Domain(
    {
        "<b>sex</b> & 100 %": ["F_$x$", "M|*"],
        'a "car" \\ {0}': ["<script>alert(1)</script>", "no\nno"],
        "汉字 #1 ~": ["é", "Ω", "]]>"],
    }
)
TABLES = ldp.SampledGroups(HOSTILE, epsilon=3.0, mechanism="grr").simulate(np.arange(1, 13) * 200, rng=1)


def pair() -> ldp.Table:
    return TABLES[HOSTILE.names[0], HOSTILE.names[1]]


def one_sided() -> ldp.ChannelPrivacy:
    values = ["<script>alert(1)</script>", "é", "no\nno"]
    return ldp.Channel([[0.5, 0.5], [0, 1], [0.2, 0.8]], values=values, outputs=["M|*", "F_$x$"]).privacy()


HOSTILE_RESULTS: dict[str, Callable[[], Any]] = {
    "table": pair,
    "table set": lambda: TABLES,
    "crosstab": lambda: pair().crosstab(),
    "conditional": lambda: pair().conditional(HOSTILE.names[0], given=HOSTILE.names[1]),
    "bounds": lambda: pair().bounds(),
    "channel fit": lambda: pair().channel_fit(),
    "test": lambda: ldp.independence_test(pair()),
    "all pairs": lambda: ldp.independence_tests(TABLES),
    "effect": lambda: ldp.odds_ratio(pair(), rows=("F_$x$", "M|*"), columns=HOSTILE.categories[HOSTILE.names[1]]),
    "association": lambda: ldp.association(pair()),
    "network": lambda: ldp.learn_network(TABLES, n_resamples=5),
    "consistency report": lambda: ldp.consistency_report(ldp.make_consistent(TABLES)),
    "privacy": lambda: TABLES.privacy,
    "privacy of a channel": one_sided,
    "privacy of a pair": lambda: one_sided().between("<script>alert(1)</script>", "é", ["M|*"]),
    "plan": lambda: ldp.plan(HOSTILE, epsilon=1.0),
    "protocol": lambda: ldp.SampledGroups(HOSTILE, epsilon=1.0),
}
_MADE: dict[str, Any] = {}


def made(name: str) -> Any:
    """Return an example, made once."""
    makers = {**EXAMPLES, **PROTOCOLS, **HOSTILE_RESULTS}
    if name not in _MADE:
        _MADE[name] = makers[name]()
    return _MADE[name]


@cache
def shown_classes() -> dict[str, type]:
    """Return all classes of the package that have a summary, whether they are exported or not."""
    modules = [
        importlib.import_module(one.name)
        for one in pkgutil.walk_packages(ldp.__path__, "ldpstats.")
        if not one.name.endswith("__main__")
    ]
    found = {
        one
        for module in modules
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__ == module.__name__ and hasattr(one, "summary")
    }
    return {one.__name__: one for one in found if not getattr(one, "_is_protocol", False)}


NAMES = sorted(
    name for name, cls in shown_classes().items() if Shown in cls.__mro__ and name in {*EXAMPLES, *PROTOCOLS}
)
RESULTS = [name for name in NAMES if Result in shown_classes()[name].__mro__] + [
    name for name in HOSTILE_RESULTS if name != "protocol"
]
SHOWN = sorted({*NAMES, *HOSTILE_RESULTS})


@pytest.fixture(autouse=True)
def pictures_are_closed() -> Any:
    yield
    plt.close("all")


def test_everything_with_a_summary_shows_itself() -> None:
    assert not [name for name, cls in shown_classes().items() if Shown not in cls.__mro__]


def test_all_results_have_examples() -> None:
    derived = {"AssignedQuestions", "Curator", "SavedProtocol"}
    assert not {*shown_classes()} - {*NAMES} - derived


@pytest.mark.parametrize("name", SHOWN)
def test_its_text_is_its_summary(name: str) -> None:
    result = made(name)
    summary = result.summary()
    assert type(summary) is Summary
    assert summary.title
    assert str(result) == str(summary)
    assert not re.search(r"<[A-Z]\w+(:| object)", str(result)), "some object stands in the text as its repr"
    assert "nan" not in re.findall(r"[\w.]+", str(result))


@pytest.mark.parametrize("name", RESULTS)
def test_its_representation_is_one_short_line(name: str) -> None:
    text = repr(made(name))
    assert text.startswith(f"<{type(made(name)).__name__}: ")
    assert text.endswith(">")
    assert "\n" not in text
    assert len(text) <= 200


@pytest.mark.parametrize("name", SHOWN)
def test_its_html_is_well_formed_and_has_tags_of_its_own_only(name: str) -> None:
    page = made(name)._repr_html_()
    # only tags that XML knows, too: so a parser that forgives nothing can read it
    read = ET.fromstring(f"<page>{page}</page>")  # noqa: S314  # our own page
    tags = {one.tag for one in read.iter()}
    assert tags <= {"page", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "strong"}


@pytest.mark.parametrize("name", SHOWN)
def test_its_latex_is_escaped(name: str) -> None:
    text = made(name).as_latex()
    assert text.count(r"\begin{") == text.count(r"\end{")
    for line in text.split("\n"):
        assert not re.search(r"(?<!\\)[%#]", line), line
        rows = re.findall(r"(?<!\\)&", line)
        assert not rows or line.endswith(r"\\"), line
        assert line.replace(r"\$", "").count("$") % 2 == 0, line


@pytest.mark.parametrize("name", SHOWN)
def test_its_markdown_has_whole_tables(name: str) -> None:
    text = made(name).as_markdown()
    assert "<" not in text
    rows = [len(re.findall(r"(?<!\\)\|", line)) for line in text.split("\n") if line.startswith("|")]
    summary = made(name).summary()
    widths = [len((panel.headers, *panel.rows)[-1]) + 1 for panel in summary.panels for _ in (0, 0, *panel.rows)]
    assert rows == widths


@pytest.mark.parametrize("name", RESULTS)
def test_its_frame_is_tidy(name: str) -> None:
    frame = made(name).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    assert frame.columns.is_unique
    assert all(isinstance(column, str) for column in frame.columns)
    assert not any(isinstance(cell, (list, dict, np.ndarray, set)) for cell in frame.to_numpy(dtype=object).ravel())
    pd.testing.assert_frame_equal(frame, made(name).to_frame())


@pytest.mark.parametrize("name", RESULTS)
def test_its_plain_values_are_json(name: str) -> None:
    plain = made(name).to_dict()
    assert plain
    assert json.loads(json.dumps(plain, allow_nan=False)) is not None


@pytest.mark.parametrize("name", [name for name in HOSTILE_RESULTS if name != "protocol"])
def test_it_comes_back_from_a_file_and_says_the_same(name: str) -> None:
    """All others are read again in tests/saving."""
    again = type(made(name)).from_json(made(name).to_json())
    assert type(again) is type(made(name))
    assert repr(again) == repr(made(name))
    assert str(again) == str(made(name))


WITHOUT_PICTURE = {
    "BestChannel",
    "ChannelFit",
    "Hypothesis",
    "PairPrivacy",
    "RepeatedRows",
    "RepeatedTokens",
    "ReportFile",
    "ViewsCertificate",
    "channel fit",
    "privacy of a pair",
}


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")  # the fonts of this machine have no Chinese
@pytest.mark.parametrize("name", [name for name in RESULTS if name not in WITHOUT_PICTURE])
def test_it_draws_itself_where_it_is_told_and_describes_itself(name: str) -> None:
    picture = made(name).picture()
    assert Picture in type(picture).__mro__
    assert isinstance(picture.to_frame(), pd.DataFrame)
    # the graph of this model has no edges
    assert len(picture.to_frame()) or name == "LoPubModel"
    assert picture.described()
    _, axes = plt.subplots()
    assert made(name).plot(ax=axes) is axes
    axes.figure.canvas.draw()
    assert axes.has_data() or axes.texts
    alone = made(name).plot()
    assert alone.figure is not axes.figure
    if "simulated" in str(made(name)):
        assert any("simulated" in one for one in (picture.title, *picture.notes)), "a simulation that does not say so"


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in WITHOUT_PICTURE])
def test_its_picture_stands_in_a_page(name: str) -> None:
    element = made(name).picture().svg("some-name")
    read = ET.fromstring(element)  # noqa: S314  # our own element
    assert read.tag.endswith("svg")
    names = re.findall(r'\bid="([^"]*)"', element)
    assert len(names) == len({*names})
    assert all(one.startswith("some-name-") for one in names)
    assert set(re.findall(r'(?:url\(#|href="#)([^")]*)', element)) <= {*names}
    assert not re.findall(r'href="(?!#)', element)
    assert "alert" not in {one.tag for one in read.iter()}


@pytest.mark.parametrize("name", sorted(WITHOUT_PICTURE))
def test_what_has_no_picture_says_so(name: str) -> None:
    with pytest.raises(ldp.LdpstatsError, match="picture"):
        made(name).plot()
