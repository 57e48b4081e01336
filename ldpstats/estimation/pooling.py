"""Linear pooling: weighted least squares from several blocks, also where no block alone identifies the table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import refuse_empty
from ldpstats.numbers.arrays import FloatArray

Found = TypeVar("Found")


class LinearPooling:
    """Weighted least squares with weights that depend on the designs only, so that the estimate stays unbiased.

    Each output is weighted by its inverse variance under uniform frequencies; for a single invertible block this is the
    plain inversion. Designs that were chosen after earlier reports (adapted fakes) make the weights depend on those
    reports, and leave a bias of smaller order than the standard error.
    """

    def __init__(self, measurements: Sequence[Block]) -> None:
        both = [one.summed for one in measurements]
        self._measurements, self._sums = [one for one, _ in both], [added for _, added in both]
        for one in self._measurements:
            refuse_empty(one.n, "a pooled block")
        self._alone = len(both) == 1 and self._measurements[0].question.is_bijection and self._inverts()
        if not self._alone:
            _ = self._solution  # refused where cells stay open

    def _inverts(self) -> bool:
        """Say whether a single block that asks for the cells is inverted: if no weights can matter."""
        return self._measurements[0].noise.exchangeable

    @cached_property
    def _solution(self) -> tuple[list[FloatArray], FloatArray]:
        return inversion(self._measurements[0]) if self._alone else self._chosen(self._measurements)

    @cached_property
    def operators(self) -> list[FloatArray]:
        """What the reports of each measurement, as proportions, are multiplied by, shape (cells, outputs)."""
        parts = zip(self._solution[0], self._sums, strict=True)
        return [weight if added is None else weight @ added.T for weight, added in parts]

    def _chosen(self, measurements: Sequence[Block]) -> tuple[list[FloatArray], FloatArray]:
        """Return the weights of every measurement's proportions, (cells, outputs), and what is added."""
        designs = _of_each(measurements, lambda one: one.design())
        cells = designs[0][0].shape[1]
        uniform = np.full(cells, 1 / cells)
        spread = _of_each(measurements, lambda one: one.report_covariance(uniform))
        weights = [one.n / np.diagonal(own) for one, own in zip(measurements, spread, strict=True)]
        weighted = [matrix.T * weight for (matrix, _), weight in zip(designs, weights, strict=True)]
        gram = sum(
            (left @ matrix for left, (matrix, _) in zip(weighted, designs, strict=True)), np.zeros((cells, cells))
        )
        if np.linalg.matrix_rank(gram, hermitian=True) < cells:
            raise NotIdentifiedError(
                f"{len(designs)} blocks that identify only some contrasts of {cells} cells",
                "blocks that together identify every cell",
                "Test hypotheses about the contrasts they do tell, or collect a block that asks for the cells.",
            )
        ends = np.cumsum([left.shape[1] for left in weighted])[:-1]
        found = np.split(np.linalg.solve(gram, np.hstack(weighted)), ends, axis=1)
        offsets = [weight @ offset for weight, (_, offset) in zip(found, designs, strict=True)]
        return found, -np.sum(offsets, axis=0)

    def estimate(self, counts: Sequence[NDArray[np.int64]]) -> FloatArray:
        """Return the estimated cell frequencies for one tally per measurement (leading axes: many tables)."""
        if self._alone:
            (one,), (added,), (tally,) = self._measurements, self._sums, counts
            inverted: FloatArray = one.noise.debias((tally if added is None else tally @ added) / one.n)
            return inverted[..., one.question.classes]
        parts = zip(self._measurements, self.operators, counts, strict=True)
        pooled: FloatArray = np.sum([tally / one.n @ operator.T for one, operator, tally in parts], axis=0)
        return pooled + self._solution[1]

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the exact covariance of the estimate under these frequencies.

        Improper ones are cut at zero and scaled to sum to one, lest a block with little noise be given a negative
        variance.
        """
        proper = np.maximum(frequencies, np.finfo(float).tiny)  # not zero: if all are cut, they are equal
        proper /= proper.sum(axis=-1, keepdims=True)
        if self._alone:
            (one,) = self._measurements
            places = np.array(one.question.classes)
            covariance = one.noise.covariance(one.question.answer_frequencies(proper)) / one.n
            return covariance if one.question.is_identity else covariance[..., places[:, None], places]
        of_reports = _of_each(self._measurements, lambda one: one.report_covariance(proper))
        parts = zip(self._measurements, self._solution[0], of_reports, strict=True)
        spread: FloatArray = np.sum([operator @ own @ operator.T / one.n for one, operator, own in parts], axis=0)
        return spread


def _of_each(measurements: Sequence[Block], found: Callable[[Block], Found]) -> list[Found]:
    """Return `found` of each measurement, worked out once for those that ask the same in the same way."""
    known: dict[Hashable, Found] = {}
    asked = [(one.question, one.noise) for one in measurements]
    for key, one in zip(asked, measurements, strict=True):
        if key not in known:
            known[key] = found(one)
    return [known[key] for key in asked]


def inversion(block: Block) -> tuple[list[FloatArray], FloatArray]:
    """Return the weights of the proportions of a block that asks for the cells, and what is added."""
    noise, cells = block.noise, np.asarray(block.question.classes)
    nothing = noise.debias(np.zeros(noise.outputs))
    return [(noise.debias(np.eye(noise.outputs)) - nothing).T[cells]], nothing[cells]
