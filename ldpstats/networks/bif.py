"""BIF: the interchange format for Bayesian networks (Cozman 1998), as text and back."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, nan, prod
from typing import NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from ldpstats.answers.columns import Category, checked_categories
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.limits import refuse_too_many_cells
from ldpstats.numbers.arrays import FloatArray

LARGEST_BIF = 1 << 26
"""The most bytes of a file in this format: two million probabilities of all their digits, read within a minute."""
MARK = "// ldpstats Bayesian network"
"""The first line of a file that was written here, by which it is known."""
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<mark>[{}()\[\];,|])
    |(?P<quoted>"(?:[^"\\]|\\.)*")
    |(?P<word>(?:(?!//|/\*)[^\s{}()\[\];,|"])+)""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_READ_BY_ALL = re.compile(r"(?!.*(?:property|(?:table|default)[0-9.eE+-]))[\w.-]+")
_READ_WITHIN_COMMAS = re.compile(r"""(?!.*(?:property|//|/\*))[^\s,;{}()\[\]|"\\=]+(?: [^\s,;{}()\[\]|"\\=]+)*""")
"""Attributes and categories that programs agree upon (pgmpy looks for these words, also within others)."""
_UNREAD = re.compile(r"[^A-Za-z0-9.-]+|property|table|default")
_LONGEST_SAFE = 40
_NAME, _CATEGORIES = "ldpstats_name", "ldpstats_categories"
_COUNT = re.compile(r"[0-9]{1,9}")
_ENTRIES = "'table', 'default' or the parents' categories in parentheses, then probabilities, then ';'"


class BifContent(NamedTuple):
    """The content of a BIF file; a table's first axis is the attribute's own, then come its parents in their order."""

    categories: dict[str, list[str]]
    parents: dict[str, tuple[str, ...]]
    tables: dict[str, FloatArray]


def read_bif(text: str) -> BifContent:
    """Read a network from BIF text; probabilities stay as printed, comments and others' properties are passed over.

    Names and categories are words, or any text in quotes, escaped as in JSON. Unquoted ones of several words are told
    apart by commas.
    """
    categories: dict[str, list[str]] = {}
    originals: dict[str, tuple[str, list[str]]] = {}
    probabilities: list[_Part] = []
    for part in _parts(_tokens(text)):
        if part.keyword.text == "variable":
            name = " ".join(token.text for token in part.head)
            states = _categories(part)
            original, own = _originals(name, states, part)
            if name in categories or original in {taken for taken, _ in originals.values()}:
                raise part.keyword.error(f"a second variable {original!r}", "different names")
            categories[name], originals[name] = states, (original, own)
        elif part.keyword.text == "probability":
            probabilities.append(part)
    parents, tables = {}, {}
    for part in probabilities:
        name, *own = _family(part, categories)
        if name in parents:
            raise part.keyword.error(f"second probabilities of {name!r}", "one part 'probability' for each variable")
        parents[name] = tuple(own)
        tables[name] = _table(name, part, [categories[variable] for variable in (name, *own)])
    if lacking := [name for name in categories if name not in parents]:
        raise LdpstatsError(f"a BIF file without probabilities of {one_line(lacking)}", "those of every variable")
    return BifContent(
        dict(originals.values()),
        {originals[name][0]: tuple(originals[parent][0] for parent in parents[name]) for name in categories},
        {originals[name][0]: tables[name] for name in categories},
    )


def written_bif(
    categories: Mapping[str, Sequence[Category]],
    parents: Mapping[str, Sequence[str]],
    tables: Mapping[str, FloatArray],
    name: str = "unknown",
) -> str:
    """Write a network as BIF text, from which `read_bif` reads the same tables to the last bit.

    Categories become texts. What other programs would misread ("(25, 35]", two attributes that differ in capitals
    alone) gets a name of letters, digits, '_', '.' and '-'; its own one stands percent-encoded in a property of the
    variable: ``property ldpstats_name = age%20%28years%29``, ``property ldpstats_categories = 25_35:%2825%2C%2035%5D,
    ...``.
    """
    names = _safe(list(categories), _READ_BY_ALL)
    states = {
        attribute: _safe(_distinct_texts(attribute, values), _READ_WITHIN_COMMAS)
        for attribute, values in categories.items()
    }
    lines = [MARK, f"network {_word(name)} {{", "}"]
    for attribute, safe in states.items():
        words = [f"type discrete [ {len(safe)} ] {{ {', '.join(map(_word, safe.values()))} }}"]
        if names[attribute] != attribute:
            words.append(f"property {_NAME} = {_escaped(attribute)}")
        if renamed := [f"{new}:{_escaped(text)}" for text, new in safe.items() if new != text]:
            words.append(f"property {_CATEGORIES} = {','.join(renamed)}")
        lines += [f"variable {_word(names[attribute])} {{", *(f"    {word};" for word in words), "}"]
    for attribute, table in tables.items():
        own = parents[attribute]
        given = f" | {', '.join(_word(names[parent]) for parent in own)}" if own else ""
        lines.append(f"probability ( {_word(names[attribute])}{given} ) {{")
        texts = [[_word(category) for category in states[parent].values()] for parent in own]
        for cell in np.ndindex(table.shape[1:]):
            known = ", ".join(labels[index] for labels, index in zip(texts, cell, strict=True))
            numbers = ", ".join(repr(float(share)) for share in table[:, *cell])
            lines.append(f"    {f'( {known} )' if own else 'table'} {numbers};")
        lines.append("}")
    return "\n".join([*lines, ""])


class _Token(NamedTuple):
    text: str
    is_mark: bool
    line: int

    def says(self, word: str) -> bool:
        return self.text == word and not self.is_mark

    def error(self, came: str, allowed: str) -> LdpstatsError:
        return LdpstatsError(f"line {self.line} of a BIF file: {came}", allowed)


class _Part(NamedTuple):
    """A part of a file: its first word, what stands before the braces, and the statements within."""

    keyword: _Token
    head: list[_Token]
    statements: list[list[_Token]]


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the words and marks, with their line numbers."""
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _Token("", False, line).error(
                f"{shortened(text[position : position + 40])}", "quotes and comments that end"
            )
        if match.lastgroup != "skipped":
            said = _unquoted(match[0]) if match.lastgroup == "quoted" else match[0]
            yield _Token(said, match.lastgroup == "mark", line)
        position, line = match.end(), line + match[0].count("\n")


def _parts(tokens: Iterator[_Token]) -> Iterator[_Part]:
    for keyword in tokens:
        if keyword.is_mark or keyword.text not in ("network", "variable", "probability"):
            raise keyword.error(shortened(keyword.text), "'network', 'variable' or 'probability'")
        head = list(_until("{", tokens, keyword))
        yield _Part(keyword, head, list(_statements(tokens, keyword)))


def _until(mark: str, tokens: Iterator[_Token], start: _Token) -> Iterator[_Token]:
    for token in tokens:
        if token.is_mark and token.text == mark:
            return
        yield token
    raise start.error(f"{start.text!r} without {mark!r} behind it", "files that are whole")


def _statements(tokens: Iterator[_Token], start: _Token) -> Iterator[list[_Token]]:
    """Yield the statements between braces, cut at semicolons; one may have braces of its own."""
    statement: list[_Token] = []
    depth = 0
    for token in tokens:
        depth += ((token.text == "{") - (token.text == "}")) if token.is_mark else 0
        if depth < 0 and not statement:
            return
        if depth < 0:
            break
        if depth == 0 and token.is_mark and token.text == ";":
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    raise (statement or [start])[0].error(
        "a statement, or a part, that does not end", "';' behind a statement, '}' behind a part"
    )


def _categories(part: _Part) -> list[str]:
    """Read 'type discrete [ 2 ] { yes, no }'."""
    for statement in part.statements:
        *opening, last = (token.text if token.is_mark or index < 4 else "" for index, token in enumerate(statement))
        if opening[:3] + opening[4:6] + [last] == ["type", "discrete", "[", "]", "{", "}"] and _COUNT.fullmatch(
            opening[3]
        ):
            return _listed(statement[6:-1], int(opening[3]), statement[0])
    raise part.keyword.error("a variable without its categories", "'type discrete [ 2 ] { yes, no };' within")


def _originals(name: str, safe: Sequence[str], part: _Part) -> tuple[str, list[str]]:
    """Return the names of a variable and its categories before `written_bif` replaced them."""
    categories: dict[str, str] = {}
    for first, *rest in part.statements:
        key, value = "".join(token.text for token in rest[:2]), "".join(token.text for token in rest[2:])
        if first.says("property") and key == f"{_NAME}=":
            name = unquote(value)
        elif first.says("property") and key == f"{_CATEGORIES}=":
            categories = {new: unquote(text) for new, _, text in (pair.partition(":") for pair in value.split(","))}
    originals = [categories.get(category, category) for category in safe]
    try:
        checked_categories(name, originals)
    except LdpstatsError as error:
        raise part.keyword.error(error.came, error.allowed) from error
    return name, originals


def _listed(tokens: Sequence[_Token], count: int, start: _Token) -> list[str]:
    """Return so many words, or so many comma-separated groups of words; refuse any other number."""
    words = [token.text for token in tokens if not token.is_mark]
    groups = _groups(tokens)
    if count not in (len(words), len(groups)):
        raise start.error(one_line(groups), f"{count} categories, each a word or in quotes")
    return words if len(words) == count else groups


def _groups(tokens: Iterable[_Token]) -> list[str]:
    """Return the comma-separated groups of words, each joined by spaces."""
    groups: list[list[str]] = [[]]
    for token in tokens:
        if token.is_mark:
            groups.append([])
        else:
            groups[-1].append(token.text)
    return [" ".join(group) for group in groups if group]


def _family(part: _Part, categories: Mapping[str, object]) -> list[str]:
    """Read '( child | parent, parent )'; some writers leave the bar out."""
    if [token.text for token in (part.head[:1] + part.head[-1:]) if token.is_mark] != ["(", ")"]:
        raise part.keyword.error("'probability' without parentheses", "( variable | parent, parent )")
    inside = part.head[1:-1]
    names = [token.text for token in inside if not token.is_mark]
    if not {*names} <= {*categories}:
        names = _groups(inside)
    unknown = [name for name in names if name not in categories]
    if unknown or not names or len({*names}) < len(names):
        raise part.keyword.error(
            f"probabilities of {one_line(unknown or names)}", f"variables of the file: {one_line(list(categories))}"
        )
    return names


def _table(name: str, part: _Part, categories: Sequence[Sequence[str]]) -> FloatArray:
    """Read the conditional probability table of a variable, whose own categories come first."""
    shape = tuple(map(len, categories))
    refuse_too_many_cells(prod(shape), f"line {part.keyword.line} of a BIF file: a table")
    table, default = np.full(shape, nan), None
    for statement in part.statements:
        first = statement[0]
        where: tuple[slice | int, ...] = (slice(None),)
        if first.says("property"):
            continue
        if first.says("default"):
            default = _numbers(statement[1:], shape[0], first)
            continue
        if first.says("table"):
            numbers = np.reshape(_numbers(statement[1:], prod(shape), first), shape)
        else:
            cell, rest = _row(statement, categories[1:])
            where = (slice(None), *cell)
            numbers = np.array(_numbers(rest, shape[0], first))
        if not np.isnan(table[where]).all():
            raise first.error("probabilities that stand there before", "each of them once")
        table[where] = numbers
    if default is not None:
        table = np.where(np.isnan(table), np.reshape(default, (-1, *(1 for _ in shape[1:]))), table)
    for _, *row in np.argwhere(np.isnan(table))[:1].tolist():
        given = [values[index] for values, index in zip(categories[1:], row, strict=True)]
        came = f"no probabilities of {name!r}{f' given {one_line(given)}' if given else ''}"
        raise part.keyword.error(came, "those given all categories of the parents")
    return table


def _row(statement: list[_Token], parents: Sequence[Sequence[str]]) -> tuple[tuple[int, ...], list[_Token]]:
    """Read '( category, category ) 0.5, 0.5'; return the indices of the categories, and the rest."""
    first, *rest = statement
    if not first.is_mark or first.text != "(":
        raise first.error(shortened(first.text), _ENTRIES)
    following = iter(rest)
    said = _listed(list(_until(")", following, first)), len(parents), first)
    for category, known in zip(said, parents, strict=True):
        if category not in known:
            raise first.error(f"the category {category!r}", one_line(list(known)))
    return tuple(known.index(category) for category, known in zip(said, parents, strict=True)), list(following)


def _numbers(tokens: Sequence[_Token], count: int, start: _Token) -> list[float]:
    probabilities = []
    for token in tokens:
        if token.is_mark and token.text == ",":
            continue
        try:
            probabilities.append(float(token.text))
        except ValueError:
            probabilities.append(nan)
        if not isfinite(probabilities[-1]) or probabilities[-1] < 0:
            raise token.error(f"the probability {shortened(token.text)}", "a finite number that is not negative")
    if len(probabilities) != count:
        raise start.error(f"{len(probabilities)} probabilities", f"{count}, one for each category")
    return probabilities


def _unquoted(text: str) -> str:
    try:
        said = json.loads(text, strict=False)
    except ValueError:  # other writers have no escapes
        return text[1:-1]
    return str(said)


def _word(text: object) -> str:
    said = str(text)
    return said if _PLAIN.fullmatch(said) else json.dumps(said, ensure_ascii=False)


def _escaped(text: str) -> str:
    """Return a name as a percent-encoded word; letters that are not Latin stay readable."""
    return re.sub(r"[^\w.-]", lambda sign: quote(sign[0], safe=""), text)


def _safe(texts: Sequence[str], agreed: re.Pattern[str]) -> dict[str, str]:
    """Map texts to names that programs agree upon: to themselves, unless unreadable or differing in capitals alone."""
    kept: dict[str, str] = {}
    for text in texts:
        if text.isprintable() and agreed.fullmatch(text):
            kept.setdefault(text.lower(), text)
    taken, used = {*kept}, Counter[str]()
    names = {text: text for text in kept.values()}
    for text in texts:
        if text not in names:
            short = _UNREAD.sub("_", text)[:_LONGEST_SAFE].strip("_") or "_"
            new = short
            while new.lower() in taken:
                used[short.lower()] += 1
                new = f"{short}_{used[short.lower()] + 1}"
            taken.add(new.lower())
            names[text] = new
    return {text: names[text] for text in texts}


def _distinct_texts(attribute: str, values: Sequence[Category]) -> list[str]:
    texts = [str(value) for value in values]
    if len({*texts}) < len(texts):
        raise LdpstatsError(
            f"attribute {attribute!r} with the categories {one_line(list(values))}",
            "categories that differ as texts, which is all that a BIF file holds",
        )
    return texts
