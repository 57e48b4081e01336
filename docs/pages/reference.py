"""The reference: a page for each topic with every public name, and the words that lead to them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from ldpstats.mechanisms import Mechanism, OpenRAPPOR, OpenRR, registered_mechanisms
from ldpstats.presentation import Result, Shown
from ldpstats.saving.files import Saveable
from pages import markdown
from pages.public_names import public_names
from pages.staging import Staging
from pages.synonyms import SYNONYMS
from pages.topics import TOPICS, Topic

CATALOGUE = "mechanisms"
_COMMON = (Result, Shown, Saveable, Mechanism)
"""Classes whose methods are documented once, not with every class that has them."""
_RESULTS = "results"
_DATA = {
    "extend.GRID": "2^64: what probabilities are whole numbers of.",
    "extend.METHODS": "How frequencies are estimated from one tally, by name: ``mechanism.estimate(reports, name)``.",
    "extend.TABLE_METHODS": "How a table is estimated from its blocks, by name: ``table.estimated_by(name)``.",
    "extend.RECONSTRUCTION_METHODS": "How a table is put together that nobody collected, by name: "
    "``reconstruct(tables, attributes, name)``.",
    "datasets.NETWORKS": "The names of the networks that `datasets.network` returns.",
}
"""Constants have no docstring of their own."""


def write_reference(pages: Staging) -> None:
    """Write the pages of all topics, of what every result has, of the words, and the list of them.

    Parameters
    ----------
    pages : Staging
    """
    names, places = public_names(), place_of_names()
    if set(names) != set(places):
        raise ValueError(f"names without a topic, or topics of no name: {sorted(set(names) ^ set(places))}")
    unknown = {name for leads in SYNONYMS.values() for name in leads} - set(names)
    if unknown:
        raise ValueError(f"synonyms lead to names that are not there: {sorted(unknown)}")
    for topic in TOPICS:
        pages.write(f"reference/{topic.page}.rst", _topic_page(topic, names))
    pages.write(f"reference/{_RESULTS}.rst", _results_page())
    pages.write("reference/words.md", _words_page())
    pages.write("reference/index.md", _contents())


def place_of_names() -> dict[str, str]:
    """Return the page of the reference that each public name stands on."""
    mechanisms = {kind.__name__ for kind in (*registered_mechanisms(), OpenRR, OpenRAPPOR)}
    return {name: topic.page for topic in TOPICS for name in topic.names} | dict.fromkeys(mechanisms, CATALOGUE)


def entry(name: str, thing: Any, indent: str = "") -> str:
    """Return what has Sphinx document a public name, under its synonyms, too.

    Parameters
    ----------
    name : str
        Without the name of the package.
    thing : object
        What it stands for.
    indent : str
        Before each line.
    """
    words = [word for word, names in SYNONYMS.items() if name in names]
    # an exclamation mark says that this is the main place of a word: the search puts it first
    entries = [f"   ! single: {_in_index(word)}; ldpstats.{name}" for word in words]
    index = [".. index::", *entries, ""] if entries else []
    return "\n".join(f"{indent}{line}".rstrip() for line in [*index, *_directive(name, thing), ""]) + "\n"


def link(name: str, thing: Any) -> str:
    """Return a link of Markdown to where a public name is documented; one that leads nowhere stops the making.

    Parameters
    ----------
    name : str
        Without the name of the package.
    thing : object
        What it stands for.
    """
    kind = "class" if inspect.isclass(thing) else "func" if callable(thing) else "data"
    return f"{{py:{kind}}}`{name} <ldpstats.{name}>`"


def _in_index(word: str) -> str:
    # what stands behind a semicolon or after an exclamation mark means something else in an index
    return word.replace(";", ",").replace("!", "")


def _directive(name: str, thing: Any) -> list[str]:
    if not inspect.isclass(thing):
        return [f".. autofunction:: ldpstats.{name}"] if callable(thing) else _data(name, thing)
    kind = "autoexception" if issubclass(thing, Exception) else "autoclass"
    members = "" if _is_mechanism(name) else ", ".join(_members(thing))
    options = [f"   :members: {members}"] if members else []
    common = ["", f"   What every result has besides: :doc:`{_RESULTS}`."] if Result in thing.__mro__ else []
    return [f".. {kind}:: ldpstats.{name}", *options, *common]


def _members(kind: type) -> list[str]:
    """Return the documented methods and properties of a class, in the order in which they are defined."""
    own = [base for base in kind.__mro__ if base is kind or _is_documented_with(base)]
    found = [name for base in own for name, value in vars(base).items() if _is_public(name) and _has_words(value)]
    return list(dict.fromkeys(found))


def _is_documented_with(base: type) -> bool:
    return base.__module__.startswith("ldpstats.") and base not in _COMMON


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _has_words(value: Any) -> bool:
    described = isinstance(value, property | classmethod | staticmethod) or inspect.isroutine(value)
    return described and bool(getattr(value, "__doc__", None))


def _data(name: str, thing: Any) -> list[str]:
    keys = f" Its names: {', '.join(f'``{key}``' for key in thing)}." if isinstance(thing, Mapping) else ""
    return [f".. py:data:: ldpstats.{name}", "", f"   {_DATA[name]}{keys}"]


def _is_mechanism(name: str) -> bool:
    return place_of_names().get(name) == CATALOGUE


def _topic_page(topic: Topic, names: dict[str, Any]) -> str:
    parts = [_title(topic.title), f"{topic.words}\n", *(entry(name, names[name]) for name in topic.names)]
    return "\n".join(parts)


def _results_page() -> str:
    words = "Every result prints itself, shows itself in notebooks, and has these methods."
    members = [name for kind in (Result, Shown, Saveable) for name in _members(kind)]
    listed = ", ".join(dict.fromkeys(members))
    shown = f".. autoclass:: ldpstats.presentation.Result\n   :members: {listed}\n"
    return "\n".join([_title("What every result can do"), words + "\n", shown])


def _title(words: str) -> str:
    return f"{words}\n{'=' * len(words)}\n"


def _words_page() -> str:
    things = public_names()

    def links(names: Iterable[str]) -> str:
        return ", ".join(link(name, things[name]) for name in names)

    rows = [[markdown.plain(word), links(names)] for word, names in sorted(SYNONYMS.items(), key=_in_order)]
    words = "What statisticians call things, and the names that it leads to. The search finds these words, too.\n"
    return f"# Words that lead to names\n\n{words}\n{markdown.table(['words', 'names'], rows)}"


def _in_order(item: tuple[str, tuple[str, ...]]) -> str:
    return item[0].lower()


def _contents() -> str:
    rows = [[f"[{topic.title}]({topic.page}.rst)", topic.words.partition(". ")[0].rstrip(".")] for topic in TOPICS]
    special = [
        ["[Mechanism catalogue](mechanisms.md)", "Every mechanism: source, what leaves the device, exact figures"],
        ["[What every result can do](results.rst)", "Print, plot, save, and become a data frame, LaTeX or Markdown"],
        ["[The command line](command-line.md)", "Every command with its options and examples"],
        ["[Words that lead to names](words.md)", "What statisticians call things"],
    ]
    pages = [CATALOGUE, *(topic.page for topic in TOPICS), _RESULTS, "command-line", "words"]
    words = "`import ldpstats as ldp` offers all names without a module before them; the others stand in "
    words += "`ldpstats.rrba`, `ldpstats.published`, `ldpstats.plots`, `ldpstats.datasets`, `ldpstats.designs` and "
    words += "`ldpstats.extend`.\n"
    table = markdown.table(["topic", "what it is about"], [*special[:1], *rows, *special[1:]])
    return f"# Reference\n\n{words}\n{table}\n{markdown.tree(pages, hidden=True)}"
