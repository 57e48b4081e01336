"""Summaries: one content in four formats, none of which a name can break."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from ldpstats.presentation import Summary, panel_of_facts, panel_of_figures, summary_of_facts, summary_of_figures
from ldpstats.presentation.formats import visible

NAMES = st.text(min_size=1, max_size=20)


class Read(HTMLParser):
    """The texts and tags of a page as a browser takes them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002  # the parser's signature
        self.tags.append(tag)
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        self.texts[-1] += data


def summary_about(name: str) -> Summary:
    panels = (
        panel_of_figures([name, "share"], [[name, "0.5"], ["b", "-0.1"]], name),
        panel_of_facts({name: [name, "x"]}),
    )
    return Summary(name, panels, (name, "Nothing else."))


@given(NAMES)
def test_html_shows_names_as_they_are_and_has_no_tags_of_theirs(name: str) -> None:
    page = Read(summary_about(name).as_html())
    assert page.tags == Read(summary_about("name").as_html()).tags
    shown = visible(name).strip()
    assert sum(text.strip() == shown for text in page.texts) >= 3


def test_every_place_of_html_is_escaped_once() -> None:
    name = "a & <b>"
    panels = (panel_of_figures([name, name], [[name, name]], name), panel_of_facts({name: name}, name))
    page = Summary(name, panels, (name,)).as_html()
    assert page.count("a &amp; &lt;b&gt;") == 2 + 2 + 3 + 2 + 1
    assert page.count("&amp;") == page.count("&lt;") == page.count("a ")


@given(NAMES)
def test_markdown_has_as_many_rows_and_columns_as_there_are(name: str) -> None:
    lines = summary_about(name).as_markdown().split("\n")
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 2 + 2 + 2 + 2
    assert all(len([1 for i, one in enumerate(row) if one == "|" and row[i - 1] != "\\"]) == 3 for row in rows)


@pytest.mark.parametrize(
    ("words", "spelt"),
    [("two\rlines", "rlines"), ("\x0b", "x0b"), ("\u2028", "u2028"), ("\u202egnorw", "u202egnorw"), ("\x85", "x85")],
)
def test_what_would_steer_a_reader_is_spelt_out_in_every_format(words: str, spelt: str) -> None:
    summary = summary_about(words)
    for text in (summary.as_text(), summary.as_html(), summary.as_markdown(), summary.as_latex()):
        assert words not in text
        assert len(text.splitlines()) == len(text.split("\n"))
        assert re.search(rf"(\\|\\textbackslash{{}}){spelt}", text)


@pytest.mark.parametrize("words", ["- x", "+ x", "1. x", "2) x", "---", "    x", "\tx", "-"])
def test_titles_are_bold_and_sentences_paragraphs_in_markdown(words: str) -> None:
    title, *_, last = summary_of_facts("  bold ", {"a": "b"}, [words]).as_markdown().split("\n")
    assert title == "**bold**"
    assert not re.match(r"\s|[-+]|\d+[.)]", last)
    assert last.replace("\\", "").strip() in (words.strip(), "tx")


@given(NAMES)
def test_a_terminal_gets_a_line_per_row_and_nothing_that_steers_it(name: str) -> None:
    text = summary_about(name).as_text()
    assert len(summary_about("name").as_text().split("\n")) == len(text.split("\n"))
    assert "\x1b" not in text
    assert "\r" not in text


def test_columns_stand_under_each_other_in_wide_letters() -> None:
    text = str(summary_of_figures("汉字", ["词", "n"], [["中文", "10"], ["ab", "9"]], []))
    assert text.split("\n")[2:-1] == ["词     n", "--------", "中文  10", "ab     9"]


def test_figures_stand_to_the_right_and_words_to_the_left() -> None:
    rows = [["a", "0.5", "< 0.001", "12,000", "1.2e-05", "---", "x 1", "21.5 % ± 1.3"], ["b", *["1"] * 5, "2", "3 %"]]
    panel = panel_of_figures(["h"] * 8, rows)
    assert panel.figures == [False, True, True, True, True, True, False, True]
    assert panel_of_facts({"n": "100"}).figures == [False, False]
    assert panel_of_figures(["a", "b"], []).figures == [False, False]


def test_a_summary_may_have_no_panels_and_several() -> None:
    alone = Summary("Nothing to show", (), ("As nobody was asked.",))
    for text in (alone.as_text(), alone.as_html(), alone.as_latex(), alone.as_markdown()):
        assert "Nothing to show" in text
        assert "As nobody was asked." in text
    two = Summary("Two", (panel_of_facts({"a": "1"}, "first"), panel_of_facts({"b": "2"}, "second")), ())
    assert two.as_html().count("<caption>") == 2
    assert two.as_text().split("\n")[-1].startswith("=")
    assert two.as_latex().count(r"\begin{tabular}") == two.as_latex().count(r"\end{tabular}") == 2


def test_long_sentences_and_facts_are_wrapped_and_whole() -> None:
    summary = summary_of_facts("Title", {"short": "b", "a long one": "word " * 60, "": ""}, ["word " * 60])
    lines = str(summary).split("\n")
    assert max(map(len, lines)) <= 100
    assert str(summary).split().count("word") == 120
    assert sum(line.startswith("a long one") for line in lines) == 1


@pytest.mark.parametrize("render", ["as_text", "as_html", "as_latex", "as_markdown"])
def test_every_word_stands_in_every_format(render: str) -> None:
    text = getattr(summary_of_figures("Coins", ["side", "share"], [["heads", "0.49"]], ["Of 100 throws."]), render)()
    for word in ("Coins", "side", "share", "heads", "0.49", "Of 100 throws."):
        assert word in text
