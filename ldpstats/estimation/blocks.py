"""Blocks: a tally together with the question that was asked."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError
from ldpstats.noise import Information, NoiseModel, Tally
from ldpstats.numbers.arrays import FloatArray, IntArray, places_onto
from ldpstats.saving.files import Saveable


@dataclass(frozen=True, slots=True, eq=False)
class Block(Saveable):
    """The reports of respondents who were asked the same question through the same noise.

    Everything here speaks of the cells of the question's table; the map from cells to answers, if there is
    one, is applied on the way to the noise model and back.

    Parameters
    ----------
    question : Question
    tally : Tally
    answers : tuple of str
        Which of a respondent's randomized answers are counted. Blocks of the same respondents that have one in common
        are not independent: the same reports stand behind them. Left empty, it is one answer, to this question.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> from ldpstats.extend import Block, Question
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> mechanism = ldp.GRR(4, epsilon=2.0)
    >>> block = Block(Question.of(domain, ["sex", "car"]), mechanism.simulate([60, 40, 40, 60], rng=1))
    >>> block.n, block.answers
    (200, ('sex × car',))
    >>> ldp.Table(domain, (block,), mechanism.privacy()).estimate.round(2)
    array([[0.3 , 0.17],
           [0.28, 0.25]])
    """

    question: Question
    tally: Tally
    answers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.question.answers != self.noise.cells or self.tally.counts.ndim != 1:
            raise LdpstatsError(
                f"a tally of shape {self.tally.counts.shape} for {self.noise.cells} values",
                f"one tally of the {self.question.answers} answers to the question about {self.question.attributes}",
            )

        if not self.answers:
            object.__setattr__(self, "answers", (" × ".join(self.question.attributes),))

    @property
    def noise(self) -> NoiseModel:
        """The noise that the answers were seen through."""
        return self.tally.noise

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.tally.n

    @property
    def classes(self) -> NDArray[np.int64]:
        """The answer of each cell."""
        return np.asarray(self.question.classes)

    def reordered(self, attributes: tuple[str, ...]) -> Block:
        """Return the block with the attributes of its table in another order.

        Parameters
        ----------
        attributes : tuple of str
            The same attributes in another order.
        """
        return (
            self
            if attributes == self.question.attributes
            else replace(self, question=self.question.reordered(attributes))
        )

    def is_informative_about(self, of_cell: IntArray, size: int) -> bool:
        """Say whether the reports carry information about sums of cells, `of_cell` being the sum of every cell.

        Parameters
        ----------
        of_cell : array of int
            The sum that every cell belongs to.
        size : int
            How many sums there are.
        """
        return _united(self.classes, of_cell, size)[0] > 1

    def onto(self, domain: Domain, of_cell: IntArray) -> Block | None:
        """Return the reports as reports about another table, whose cells are sums of cells of this one.

        Answers that belong to the same sum are added up. None where the noise of such answers has no known law.

        Parameters
        ----------
        domain : Domain
            The attributes of the other table.
        of_cell : array of int
            The sum that every cell belongs to.
        """
        answers, of_answer, new_classes = _united(self.classes, of_cell, domain.size())
        question = Question(domain.names, domain.shape, tuple(new_classes.tolist()))
        if answers == self.noise.cells:
            # only numbered anew: reports stay as they are
            return replace(self, question=replace(question, classes=tuple(np.argsort(of_answer)[new_classes].tolist())))
        tally = self.tally.merged(of_answer)
        return None if tally is None else replace(self, question=question, tally=tally)

    def widened(self, domain: Domain) -> Block:
        """Return the reports as reports about a table with more attributes.

        Parameters
        ----------
        domain : Domain
            The attributes of the larger table.
        """
        if self.question.attributes == domain.names:
            return self
        axes = [domain.names.index(name) for name in self.question.attributes]
        classes = self.classes[places_onto(domain.shape, axes)]
        return replace(self, question=Question(domain.names, domain.shape, tuple(classes.tolist())))

    def draw(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `size` tallies of as many respondents, if their cells had these frequencies.

        Parameters
        ----------
        frequencies : array
            The cell frequencies.
        size : int
            How many tallies.
        rng : Generator
        """
        return self.noise.draw(self.question.answer_frequencies(frequencies), self.n, size, rng)

    def score(self, frequencies: FloatArray, counts: NDArray[Any]) -> tuple[FloatArray, Information]:
        """Return the score of the cell frequencies, up to a multiple of ones, and its information.

        Parameters
        ----------
        frequencies : array
            Cell frequencies, of one table or of many.
        counts : array
            Tallies, as many as there are frequencies.
        """
        score, information = self.noise.score(self.question.answer_frequencies(frequencies), counts, self.n)
        if self.question.is_identity:
            return score, information
        return score[..., self.classes], information.of_cells(self.classes)

    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether these cell frequencies give a proper law of the reports.

        Parameters
        ----------
        frequencies : array
            Cell frequencies, of one table or of many.
        """
        return self.noise.supports(self.question.answer_frequencies(frequencies))

    def design(self) -> tuple[FloatArray, FloatArray]:
        """Return A and a of: expected proportions = A (cell frequencies) + a."""
        matrix, offset = self.noise.design()
        return matrix[:, self.classes], offset

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance of one report's contribution to the tally.

        Parameters
        ----------
        frequencies : array
            The cell frequencies.
        """
        return self.noise.report_covariance(self.question.answer_frequencies(frequencies))

    @property
    def by_value(self) -> Block:
        """The same reports, counted by the values that they support; a block that does not count sets is itself."""
        return self if self.noise.members is None else replace(self, tally=self.tally.by_value)

    @property
    def summed(self) -> tuple[Block, FloatArray | None]:
        """The reports by value, and how the entries of the tally are added up to those; None where they are the same.

        Linear estimates are made of these: what else whole reports hold is for the likelihood.
        """
        return self.by_value, self.noise.members

    def merged_with(self, other: Block) -> Block:
        """Add the reports of other respondents to the same question through the same noise.

        Parameters
        ----------
        other : Block
        """
        return replace(self, tally=self.tally + other.tally)

    @property
    def asked(self) -> Hashable:
        """What was asked and through which noise; the tallies of blocks that agree in it may be added."""
        return self.question, self.noise


def _united(classes: IntArray, of_cell: IntArray, size: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Join answers that a sum of cells mixes; return how many are left, and that of every old answer and of every sum.

    They are the components of the graph in which answers are joined by the sums that hold cells of both.
    """
    old = int(classes.max()) + 1
    if old == classes.size:  # an answer for every cell: its sum
        return size, of_cell[np.argsort(classes)].astype(np.int64), np.arange(size)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    together = coo_array((np.ones(classes.size), (classes, old + of_cell)), shape=(old + size,) * 2)
    answers, labels = connected_components(together, directed=False)
    of_sums = labels[old:].astype(np.int64)
    # numbered as the sums come
    _, first, inverse = np.unique(of_sums, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))
    return answers, number[labels[:old]].astype(np.int64), number[inverse].astype(np.int64)
