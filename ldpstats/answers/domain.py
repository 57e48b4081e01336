"""The domain: named categorical variables with their categories, and the way from answers to integer codes and back."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ldpstats.answers.columns import (
    Category,
    category_index,
    checked_categories,
    checked_name,
    codes_to_tell,
    collapsed_categories,
    column_codes,
    frame_column,
    listed,
    marked_codes,
    observed_categories,
    smallest_codes,
    too_many_numbers,
)
from ldpstats.answers.frames import Frame, checked_frame
from ldpstats.answers.ordered import Ordered, order_of, scores_of, with_order
from ldpstats.errors import DomainError, LdpstatsError, one_line, shortened
from ldpstats.limits import refuse_too_many_cells
from ldpstats.numbers.arrays import FloatArray, IntArray, as_array, integers_below, places_onto
from ldpstats.presentation import Shown, Summary, summary_of_figures
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.files import Saveable, kind_of, opened, read_json, sealed

_MOST_SHOWN = 12
_KIND, _VERSION = "domain", 1
_NAMES, _ORDER = {"name", "categories"}, {"ordered", "scores"}
_BY_HAND = 'To state other categories write a file without a digest: {"sex": ["F", "M"], ...}, with all attributes.'


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Domain(Shown, Saveable):
    """Named attributes, each with its ordered categories.

    Attributes are the categorical variables of a survey (factors in R), categories their levels.

    Parameters
    ----------
    categories : mapping of str to sequence
        The categories of every attribute, in the order in which tables will show them; with `ordered` they ascend, and
        may have numbers.

    Examples
    --------
    >>> from ldpstats import Domain
    >>> domain = Domain({"sex": ["F", "M"], "travel": ["car", "train", "other"]})
    >>> domain.shape, domain.size(["sex", "travel"])
    ((2, 3), 6)
    >>> domain.decode([[1, 2]])
      sex travel
    0   M  other
    """

    categories: Mapping[str, tuple[Category, ...]]

    def __init__(self, categories: Mapping[str, Sequence[Category]]) -> None:
        if not isinstance(categories, Mapping) or not categories:
            raise DomainError(
                f"a domain from a {type(categories).__name__} with nothing in it"
                if isinstance(categories, Mapping)
                else f"a domain from an object of type {type(categories).__name__}",
                "a mapping such as {'sex': ['F', 'M']} with at least one attribute",
                "Domain.from_frame reads one off a data frame.",
            )
        given = {name: with_order(values) for name, values in categories.items()}
        checked = {name: checked_categories(name, values) for name, values in given.items()}
        for name, values in given.items():
            if isinstance(values, Ordered):
                checked[name] = Ordered(checked[name], values.scores)
        object.__setattr__(self, "categories", MappingProxyType(checked))

    @classmethod
    def from_frame(cls, frame: Frame, columns: Sequence[str] | None = None) -> Domain:
        """Read the domain off a data frame: each column's values, sorted; a pandas categorical keeps its order.

        Categories that nobody chose are kept when the column is a pandas categorical; an ordered one stays ordered. The
        intervals of `pandas.cut` and `qcut` become text, in their order, with their middles as scores. More than 30
        different numbers are warned of, and what looks like a code for a missing answer: '?', 'refused', or a 9, 99 or
        -9 beyond all other numbers. Note that reading categories off *private* answers reveals which ones occur; state
        the domain where that matters.

        Parameters
        ----------
        frame : DataFrame
            Of pandas, polars or Arrow, or any other that narwhals knows.
        columns : sequence of str, optional
            Those to take, in this order; all of them by default.

        Examples
        --------
        >>> import pandas as pd
        >>> from ldpstats import Domain
        >>> people = pd.DataFrame({"sex": ["M", "F", "F"], "cars": [0, 2, 1]})
        >>> Domain.from_frame(people)
        Domain({'sex': ['F', 'M'], 'cars': [0, 1, 2]})
        >>> Domain.from_frame(people, columns=["sex"]).shape
        (2,)
        """
        frame = checked_frame(frame)
        names = frame.columns.tolist() if columns is None else list(listed(columns))
        for name in names:
            checked_name(name)
        repeated = [name for name in names if names.count(name) > 1]
        if repeated or not names:
            raise DomainError(f"the columns {one_line(repeated or names)}", "at least one column, each of them once")
        observed: dict[str, Sequence[Category]] = {}
        told = []
        for name in names:
            column = frame_column(frame, name)
            observed[name] = observed_categories(name, column)
            told += [say(name, column, observed[name]) for say in (too_many_numbers, codes_to_tell)]
            observed[name] = order_of(frame[name], observed[name])
        if any(told):
            warnings.warn("\n".join(filter(None, told)), stacklevel=2)
        return cls(observed)

    @property
    def names(self) -> tuple[str, ...]:
        """The attribute names, in order."""
        return tuple(self.categories)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories of every attribute, in order."""
        return tuple(len(values) for values in self.categories.values())

    def __len__(self) -> int:
        return len(self.categories)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled, and domains travel to worker processes.
        return Domain, (dict(self.categories),)

    def __repr__(self) -> str:
        shown = {name: values if isinstance(values, Ordered) else [*values] for name, values in self.categories.items()}
        return f"Domain({shown!r})"

    def summary(self) -> Summary:
        """Return the attributes with their categories, and how many records are possible."""
        rows = [[name, f"{len(values):,}", _some(values)] for name, values in self.categories.items()]
        sentences = [f"{self.size():,} possible {'record' if self.size() == 1 else 'records'}."]
        number = f"{len(self):,} {'attribute' if len(self) == 1 else 'attributes'}"
        return summary_of_figures(f"A domain of {number}", ["attribute", "size", "categories"], rows, sentences)

    def project(self, attributes: str | Iterable[str], *more: str) -> Domain:
        """Return the domain of some attributes, in the order asked for.

        Parameters
        ----------
        attributes : str or iterable of str
        *more : str
            Further ones.

        Examples
        --------
        >>> from ldpstats import Domain
        >>> Domain({"sex": ["F", "M"], "car": ["yes", "no"]}).project("car")
        Domain({'car': ['yes', 'no']})
        """
        part = object.__new__(Domain)
        # its categories were checked when this domain was made
        kept = {name: self.categories[name] for name in self._known((*listed(attributes), *more))}
        object.__setattr__(part, "categories", MappingProxyType(kept))
        return part

    def collapsed(self, classes: Classes) -> tuple[Domain, list[NDArray[np.int64]]]:
        """Put categories together; return the new domain, and for every attribute the new position of each category.

        Parameters
        ----------
        classes : mapping
            From attributes to mappings, from the name of a class to the categories that it is to hold.

        Examples
        --------
        >>> from ldpstats import Domain
        >>> Domain({"region": ["north", "east", "south"]}).collapsed({"region": {"coast": ["north", "south"]}})
        (Domain({'region': ['coast', 'east']}), [array([0, 1, 0])])
        """
        if not isinstance(classes, Mapping) or not classes:
            raise DomainError(f"the classes {classes!r}", "a mapping such as {'region': {'coast': ['north', 'south']}}")
        self._known(tuple(classes))
        categories, places = dict(self.categories), []
        for name, values in self.categories.items():
            merged, of_category = (
                collapsed_categories(name, values, classes[name])
                if name in classes
                else (list(values), np.arange(len(values)))
            )
            if name in classes:
                in_order = isinstance(values, Ordered) and bool(np.all(np.diff(of_category) >= 0))
                categories[name] = Ordered(merged) if in_order else tuple(merged)
            places.append(of_category)
        return Domain(categories), places

    def collapsed_cells(self, classes: Classes) -> tuple[Domain, NDArray[np.int64]]:
        """Put categories together; return the new domain, and the cell of it that each cell of this one belongs to.

        Parameters
        ----------
        classes : mapping
            From attributes to mappings, from the name of a class to the categories that it is to hold.

        Examples
        --------
        >>> from ldpstats import Domain
        >>> Domain({"region": ["north", "east", "south"]}).collapsed_cells({"region": {"coast": ["north", "south"]}})
        (Domain({'region': ['coast', 'east']}), array([0, 1, 0]))
        """
        domain, places = self.collapsed(classes)
        moved = [own[position] for own, position in zip(places, np.indices(self.shape), strict=True)]
        return domain, np.ravel_multi_index(tuple(moved), domain.shape).ravel().astype(np.int64)

    def is_ordered(self, attribute: str) -> bool:
        """Say whether an attribute's categories ascend: those made by `ordered`, and ascending numbers.

        Parameters
        ----------
        attribute : str

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"age": ldp.ordered(["young", "old"]), "sex": ["F", "M"], "cars": [0, 1, 2]})
        >>> [domain.is_ordered(name) for name in domain.names]
        [True, False, True]
        """
        (name,) = self._known([attribute])
        scores = scores_of(self.categories[name])
        return isinstance(self.categories[name], Ordered) or (scores is not None and bool(np.all(np.diff(scores) > 0)))

    def scores(self, attribute: str) -> FloatArray:
        """Return the number that each category of an attribute stands for: its score, or the number that it is.

        Parameters
        ----------
        attribute : str

        Examples
        --------
        >>> import ldpstats as ldp
        >>> ldp.Domain({"age": ldp.ordered(["young", "old"], scores=[20, 50])}).scores("age")
        array([20., 50.])
        """
        (name,) = self._known([attribute])
        scores = scores_of(self.categories[name])
        if scores is None:
            raise DomainError(
                f"the categories {one_line(self.categories[name])} of {name!r} as numbers",
                "categories that are numbers, or have scores",
                f"State what they stand for: Domain({{{name!r}: ldp.ordered([...], scores=[...])}}), or scores=[...].",
            )
        return np.array(scores)

    def size(self, attributes: Iterable[str] | None = None) -> int:
        """Return the number of cells of the product of `attributes` (default: of all).

        Parameters
        ----------
        attributes : iterable of str, optional
        """
        names = self.names if attributes is None else self._known(attributes)
        return int(np.prod([len(self.categories[name]) for name in names], dtype=object))

    def encode(self, frame: Frame, *, marked: bool = False) -> NDArray[np.int64]:
        """Return the answers as an n-by-d array of category positions; columns not in the domain are ignored.

        Values are looked up as Python compares them: True, 1 and 1.0 are one category, "1" is another. An answer that
        is missing or no category is an error; with `marked` it becomes -1, which nothing takes for a position. A
        column that is not there is an error in any case.

        Parameters
        ----------
        frame : DataFrame
            A row per respondent: of pandas, polars or Arrow, or any other frame that narwhals knows.
        marked : bool
            Whether an answer outside the domain becomes -1 instead of an error.

        Examples
        --------
        >>> import pandas as pd
        >>> from ldpstats import Domain
        >>> Domain({"sex": ["F", "M"]}).encode(pd.DataFrame({"sex": ["M", None]}), marked=True).ravel()
        array([ 1, -1])
        """
        return self._encoded(frame, np.dtype(np.int64), marked=marked)

    def compact_codes(self, frame: Frame, *, marked: bool = False) -> IntArray:
        """Return what `encode` does, in the smallest type that holds it: most often a byte per answer.

        Parameters
        ----------
        frame : DataFrame
            A row per respondent.
        marked : bool
            As in `encode`.

        Examples
        --------
        >>> import pandas as pd
        >>> from ldpstats import Domain
        >>> Domain({"sex": ["F", "M"]}).compact_codes(pd.DataFrame({"sex": ["M", "F"]})).dtype
        dtype('int8')
        """
        return self._encoded(frame, smallest_codes(max(self.shape)), marked=marked)

    def _encoded(self, frame: Frame, dtype: np.dtype[Any], *, marked: bool) -> NDArray[Any]:
        read = marked_codes if marked else column_codes
        frame = checked_frame(frame)
        codes = np.empty((len(frame), len(self)), dtype=dtype)
        for column, (name, known) in enumerate(self.categories.items()):
            codes[:, column] = read(frame, name, known)
        return codes

    def decode(self, codes: ArrayLike) -> pd.DataFrame:
        """Return the answers that an n-by-d array of category positions stands for.

        Parameters
        ----------
        codes : array of int, shape (n, attributes)

        Examples
        --------
        >>> from ldpstats import Domain
        >>> Domain({"sex": ["F", "M"], "car": ["yes", "no"]}).decode([[0, 1], [1, 1]])
          sex car
        0   F  no
        1   M  no
        """
        columns = zip(self.categories.items(), self._columns_of_codes(codes, self.names), strict=True)
        return pd.DataFrame({name: category_index(values)[column] for (name, values), column in columns})

    def cells(self, codes: ArrayLike, attributes: Iterable[str]) -> NDArray[np.int64]:
        """Return each record's cell in the product of `attributes`, the last attribute varying fastest.

        Parameters
        ----------
        codes : array of int, shape (n, attributes)
            A column for every attribute of the domain.
        attributes : iterable of str
        """
        names = self._tabled(attributes)
        columns = self._columns_of_codes(codes, names)
        return np.ravel_multi_index(columns, self.project(names).shape).astype(np.int64)

    def onto(self, attributes: Iterable[str]) -> IntArray:
        """Return the place of every cell of the whole product in that of some of the attributes.

        Parameters
        ----------
        attributes : iterable of str

        Examples
        --------
        >>> from ldpstats import Domain
        >>> Domain({"sex": ["F", "M"], "car": ["yes", "no"]}).onto(["car"])
        array([0, 1, 0, 1])
        """
        return places_onto(self.shape, [self.names.index(name) for name in attributes])

    def index(self, attributes: Iterable[str] | None = None) -> pd.MultiIndex:
        """Return the labelled cells of the product of `attributes`, in the order of `cells`.

        Parameters
        ----------
        attributes : iterable of str, optional
        """
        names = self._tabled(self.names if attributes is None else attributes)
        refuse_too_many_cells(self.size(names), f"the product of {one_line(names)}: a table")
        codes = np.unravel_index(np.arange(self.size(names)), self.project(names).shape)
        # ordered categories: otherwise unstack(), groupby() and pivot() would show them in alphabetical order
        kinds = [category_index(self.categories[name]) for name in names]
        levels = [pd.CategoricalIndex(kind, categories=kind, ordered=True) for kind in kinds]
        return pd.MultiIndex(levels, codes, names=names)  # type: ignore[arg-type]  # arrays are sequences, too

    def to_json(self) -> str:
        """Return the domain as JSON; its body is an object of lists, in order."""
        return sealed(_KIND, _VERSION, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the domain as plain values, which `Domain` reads."""
        categories = self.categories.items()
        return {name: values.to_dict() if isinstance(values, Ordered) else [*values] for name, values in categories}

    def to_list(self) -> list[dict[str, Any]]:
        """Return the attributes one after another as plain values: objects of JSON keep no order in some languages.

        Examples
        --------
        >>> from ldpstats import Domain
        >>> Domain({"sex": ["F", "M"]}).to_list()
        [{'name': 'sex', 'categories': ['F', 'M']}]
        """
        return [
            {"name": name, "categories": encoded(tuple(values)), **_order_in_file(values)}
            for name, values in self.categories.items()
        ]

    @classmethod
    def from_list(cls, plain: Sequence[Mapping[str, Any]]) -> Domain:
        """Read what `to_list` wrote.

        Parameters
        ----------
        plain : sequence of mapping
            A name and categories for every attribute.
        """
        proper = isinstance(plain, (list, tuple)) and all(isinstance(attribute, Mapping) for attribute in plain)
        if not proper or any(not _NAMES <= {*attribute} <= {*_NAMES, *_ORDER} for attribute in plain):
            raise DomainError(f"the attributes {shortened(plain)}", "a list with a name and categories for each")
        for attribute in plain:
            checked_name(attribute["name"])
        categories = {attribute["name"]: _read_categories(attribute) for attribute in plain}
        if len(categories) < len(plain):
            raise DomainError(f"the attributes {one_line([own['name'] for own in plain])}", "each of them once")
        return cls(categories)

    @classmethod
    def from_json(cls, text: str) -> Domain:
        """Read a domain written by `to_json`, or by hand.

        Parameters
        ----------
        text : str
            What `to_json` returned, or an object of lists, such as {"sex": ["F", "M"]}.
        """
        if kind_of(text) is not None:
            try:
                return opened(text, _KIND, _VERSION, cls)
            except LdpstatsError as error:
                raise type(error)(error.came, error.allowed, error.advice or _BY_HAND) from error
        try:
            parsed = read_json(text)
        except DomainError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise DomainError(f"text that is not JSON ({error})", 'an object such as {"sex": ["F", "M"]}') from error
        return cls(parsed)

    def _key(self) -> tuple[Any, ...]:
        return tuple(
            (name, tuple((type(v).__name__, v) for v in vs), isinstance(vs, Ordered) and ("ordered", vs.scores))
            for name, vs in self.categories.items()
        )

    def _known(self, attributes: Iterable[str]) -> tuple[str, ...]:
        names = listed(attributes)
        unknown = [name for name in names if not isinstance(name, str) or name not in self.categories]
        if unknown or not names or len(set(names)) < len(names):
            raise DomainError(f"attributes {names!r}", f"different names out of {one_line(self.names)}, at least one")
        return tuple(map(str, names))  # those of NumPy are strings of another type

    def _tabled(self, attributes: Iterable[str]) -> tuple[str, ...]:
        names = self._known(attributes)
        if self.size(names) > np.iinfo(np.int64).max:
            raise DomainError(
                f"the product of {len(names)} attributes with {self.size(names)} cells",
                "fewer than 2**63 cells",
                "Take fewer attributes together.",
            )
        return names

    def _columns_of_codes(self, codes: ArrayLike, names: tuple[str, ...]) -> list[NDArray[np.int64]]:
        array = as_array(codes, "codes")
        if array.ndim != 2 or array.shape[1] != len(self):
            raise DomainError(f"codes of shape {array.shape}", f"an array of shape (n, {len(self)})")
        return [
            integers_below(array[:, self.names.index(name)], len(self.categories[name]), f"column {name!r}")
            for name in names
        ]


def _order_in_file(values: tuple[Category, ...]) -> dict[str, Any]:
    """Return what a file says of the order of categories; nothing where they have none."""
    if not isinstance(values, Ordered):
        return {}
    return {"ordered": True} | ({} if values.scores is None else {"scores": list(values.scores)})


def _read_categories(attribute: Mapping[str, Any]) -> Any:
    """Return categories, of which whole numbers that JSON cannot hold everywhere were written as texts."""
    plain = attribute["categories"]
    if not isinstance(plain, (list, tuple)):
        raise DomainError(f"the categories {shortened(plain)}", "a list of them")
    categories = [decoded(category) if isinstance(category, dict) else category for category in plain]
    if not {*attribute} & _ORDER:
        return categories
    scores = attribute.get("scores")
    if attribute.get("ordered") is not True or not isinstance(scores, (list, tuple, type(None))):
        raise DomainError(
            f"ordered = {shortened(attribute.get('ordered'))} with scores = {shortened(scores)}",
            "true where categories are ordered, and then perhaps a list of scores",
        )
    return Ordered(categories, scores)


def _some(values: tuple[Category, ...]) -> str:
    """Return categories in one line, with their scores, of many only the first and the last."""
    in_order = isinstance(values, Ordered)
    scores = values.scores if isinstance(values, Ordered) else None
    shown = [str(value) for value in values]
    if scores is not None:
        shown = [f"{value} ({score:g})" for value, score in zip(shown, scores, strict=True)]
    some = shown if len(shown) <= _MOST_SHOWN else [*shown[: _MOST_SHOWN - 2], "…", shown[-1]]
    return (" < " if in_order else ", ").join(some)


Classes: TypeAlias = Mapping[str, Mapping[Category, Sequence[Category]]]
"""New categories of some attributes, each with the old ones that it puts together."""
IntArrayLike: TypeAlias = NDArray[np.integer[Any]] | Sequence[Sequence[int]]
