"""What is asked: a public map from a respondent's record to a small alphabet of answers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain, IntArrayLike
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.limits import refuse_too_many_cells
from ldpstats.numbers.arrays import as_array, at_least, integers_below


@dataclass(frozen=True, slots=True)
class Question:
    """A question about some attributes; how the answer is randomized is not its business.

    Parameters
    ----------
    attributes : tuple of str
        The attributes that span the table the question is about.
    shape : tuple of int
        The categories of each of them; their product has `cells` cells, the last attribute varying fastest.
    classes : tuple of int
        The answer that belongs to each cell. The plain question answers with the cell itself; a
        coarsening gives several cells the same answer.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> from ldpstats.extend import Question
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> question = Question.of(domain, ["sex", "car"])
    >>> question.answer(domain, [[0, 0], [1, 1]])
    array([0, 3])
    >>> question.coarsened([0, 1, 1, 0]).answers
    2
    """

    attributes: tuple[str, ...]
    shape: tuple[int, ...]
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        tuples = all(isinstance(part, tuple) for part in (self.attributes, self.shape, self.classes))
        different = {name for name in self.attributes if isinstance(name, str)} if tuples else set()
        if not tuples or not len(different) == len(self.attributes) == len(self.shape):
            raise LdpstatsError(
                f"a question about {self.attributes!r} in a table of shape {self.shape!r}",
                "tuples: different attribute names, as many numbers of categories, and the classes",
            )
        for name, categories in zip(self.attributes, self.shape, strict=True):
            at_least(categories, 1, f"the number of categories of {name!r}")
        # most questions are plain, and a large protocol has thousands of them
        if self.cells >= 2 and {*map(type, self.classes)} == {int} and self.is_identity:
            return
        answers = np.unique(integers_below(self.classes, self.cells, "the classes of a question")).tolist()
        if len(self.classes) != self.cells or answers != list(range(len(answers))) or len(answers) < 2:
            raise LdpstatsError(
                f"a question with {len(self.classes)} classes, answers {one_line(answers)}, for {self.cells} cells",
                "one answer per cell, numbered from 0 without gaps, at least two different ones",
            )

    @classmethod
    def of(cls, domain: Domain, attributes: Iterable[str]) -> Question:
        """Ask for the joint value of some attributes.

        Parameters
        ----------
        domain : Domain
        attributes : sequence of str
        """
        asked = domain.project(attributes)
        refuse_too_many_cells(asked.size(), f"a question about {len(asked)} attributes: a table")
        return cls(asked.names, asked.shape, tuple(range(asked.size())))

    @property
    def cells(self) -> int:
        """The number of cells of the table that the question is about."""
        return math.prod(self.shape)

    @property
    def answers(self) -> int:
        """The number of different answers."""
        return max(self.classes) + 1

    @property
    def is_bijection(self) -> bool:
        """Whether every cell has an answer of its own."""
        return self.answers == self.cells

    @property
    def is_identity(self) -> bool:
        """Whether the answer is the cell itself."""
        return self.classes == tuple(range(self.cells))

    @property
    def about(self) -> tuple[str, ...]:
        """The attributes that the answer depends on.

        Examples
        --------
        >>> from ldpstats.extend import Question
        >>> Question(("sex", "car"), (2, 2), (0, 1, 0, 1)).about
        ('car',)
        """
        classes = np.asarray(self.classes).reshape(self.shape)
        axes = enumerate(self.attributes)
        return tuple(name for axis, name in axes if np.any(classes != classes.take([0], axis=axis)))

    def coarsened(self, classes: Iterable[int]) -> Question:
        """Ask only for a class of cells: `classes` gives the new answer of each old answer.

        Parameters
        ----------
        classes : sequence of int
            The new answer of each old answer.
        """
        listed = as_array(list(classes) if isinstance(classes, Iterable) else classes, "classes")
        # A one-bit question is naturally written as a mask.
        new = integers_below(listed.astype(np.int64) if listed.dtype == bool else listed, self.answers, "classes")
        if new.size != self.answers:
            raise LdpstatsError(f"{new.size} classes", f"one for each of the {self.answers} answers")
        return replace(self, classes=tuple(new[list(self.classes)].tolist()))

    def answer(self, domain: Domain, codes: IntArrayLike) -> NDArray[np.int64]:
        """Return every record's true answer.

        Parameters
        ----------
        domain : Domain
        codes : array
            A row of codes per record.
        """
        shape = domain.project(self.attributes).shape
        if shape != self.shape:
            raise LdpstatsError(
                f"a domain whose attributes {one_line(self.attributes)} span a table of shape {shape}",
                f"the domain of the question, of shape {self.shape}",
            )
        return np.asarray(self.classes)[domain.cells(codes, self.attributes)]

    def reordered(self, attributes: tuple[str, ...]) -> Question:
        """Return the same question about the same table with its attributes in another order.

        Parameters
        ----------
        attributes : tuple of str
            The same attributes in another order.
        """
        if not isinstance(attributes, tuple) or sorted(map(repr, attributes)) != sorted(map(repr, self.attributes)):
            raise LdpstatsError(f"attributes {attributes!r}", f"a tuple of {one_line(self.attributes)} in any order")
        axes = [self.attributes.index(name) for name in attributes]
        classes = np.asarray(self.classes).reshape(self.shape).transpose(axes)
        return Question(attributes, classes.shape, tuple(classes.ravel().tolist()))

    def answer_frequencies(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Add up cell frequencies or counts (last axis) to those of the answers.

        Parameters
        ----------
        cells : array
            Frequencies or counts of cells, on the last axis.
        """
        cells = as_array(cells, "cells")
        if cells.ndim == 0 or cells.shape[-1] != self.cells:
            raise LdpstatsError(f"cells of shape {cells.shape}", f"an array with {self.cells} cells on the last axis")
        if self.is_identity:
            return cells
        # The type of a sum: totals of small integers and of truth values must not wrap around.
        totals = np.zeros((*cells.shape[:-1], self.answers), dtype=np.zeros(0, cells.dtype).cumsum().dtype)
        by_answer = np.moveaxis(totals, -1, 0)
        np.add.at(by_answer, np.asarray(self.classes), np.moveaxis(cells, -1, 0))
        return totals
