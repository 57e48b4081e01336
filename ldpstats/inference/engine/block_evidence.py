"""Evidence of blocks: the score and information that all blocks of a table give, through their channels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import LinearPooling
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.evidence import Evidence, own_cells, whole_cells
from ldpstats.noise import Information, NoiseModel
from ldpstats.numbers.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class BlockEvidence:
    """Tallies of the same blocks for one or many tables: `counts` has an array (tables, outputs) for every block.

    The blocks' own tallies are not used. Frequencies, scores and draws are of the `possible` cells alone, where given.
    Where tables differ in size, `sizes` are respondents per respondent of the blocks, to whose number counts are
    scaled.
    """

    blocks: tuple[Block, ...]
    counts: tuple[NDArray[Any], ...]
    possible: NDArray[np.intp] | None = None
    sizes: FloatArray | None = None

    @classmethod
    def observed(cls, blocks: Sequence[Block]) -> BlockEvidence:
        """Return the one table that was collected."""
        return cls(tuple(blocks), tuple(block.tally.counts[None, :] for block in blocks))

    @classmethod
    def side_by_side(cls, tables: Iterable[Evidence]) -> BlockEvidence:
        """Stack tables of a single block each that were asked `alike`."""
        parts = [table for table in tables if isinstance(table, BlockEvidence)]
        respondents = np.repeat([table.blocks[0].n for table in parts], [len(table) for table in parts])
        sizes = respondents / parts[0].blocks[0].n
        counts = np.concatenate([table.counts[0] for table in parts])
        return replace(parts[0], counts=(counts / sizes[:, None],), sizes=sizes)

    @property
    def alike(self) -> Hashable:
        """Key of tables that may be put side by side; None with several blocks, or counts without bounds."""
        (first, *more), possible = self.blocks, self.possible
        # how far unbounded counts are from normal does not grow with the number of respondents
        if more or not np.isfinite(first.noise.largest):
            return None
        same = None if possible is None else possible.tobytes()
        return first.question.shape, first.question.classes, first.noise, same

    @property
    def has_likelihood(self) -> bool:
        """Whether every block has a likelihood."""
        return all(block.noise.has_likelihood for block in self.blocks)

    @property
    def has_null_covariance(self) -> bool:
        """True: the channels give the covariance under any hypothesis."""
        return True

    @property
    def words(self) -> str:
        """What least squares are on: counts, and why there are only moments if so."""
        return f"on the counts{'' if self.has_likelihood else ', as only their moments are known'}"

    @property
    def fingerprint(self) -> bytes:
        """The counts as bytes."""
        return b"".join(counts.tobytes() for counts in self.counts)

    def among(self, possible: NDArray[np.intp] | None) -> BlockEvidence:
        """Return the same tallies of tables of which only some cells can have respondents."""
        return replace(self, possible=possible)

    def estimator(self) -> PooledEstimate | None:
        """Return linear pooling of the blocks, where together they identify the cells."""
        try:
            return PooledEstimate(self)
        except NotIdentifiedError:
            return None

    def replicates(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> BlockEvidence:
        """Draw `size` tables of as many respondents whose cells have these frequencies."""
        whole = self.whole(frequencies)
        return replace(self, counts=tuple(block.draw(whole, size, rng) for block in self.blocks))

    def expected(self, frequencies: FloatArray) -> BlockEvidence:
        """Return the one table without chance, of as many respondents whose cells have these frequencies."""
        whole = self.whole(frequencies)
        means = (block.n * block.noise.mean(block.question.answer_frequencies(whole)) for block in self.blocks)
        return replace(self, counts=tuple(mean[None, :] for mean in means))

    def subset(self, tables: NDArray[np.intp]) -> BlockEvidence:
        """Return some of the tables."""
        sizes = None if self.sizes is None else self.sizes[tables]
        return replace(self, counts=tuple(counts[tables] for counts in self.counts), sizes=sizes)

    def whole(self, frequencies: FloatArray) -> FloatArray:
        """Return the frequencies of all cells of the table."""
        return whole_cells(self.possible, frequencies, self.blocks[0].question.cells)

    def __len__(self) -> int:
        return len(self.counts[0])

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score of the cell frequencies (up to a multiple of ones) and its information."""
        whole = self.whole(frequencies)
        parts = [block.score(whole, counts) for block, counts in zip(self.blocks, self.counts, strict=True)]
        score, information = parts[0]
        for more, added in parts[1:]:
            score, information = score + more, information + added
        if self.sizes is not None:
            score, information = self.sizes[:, None] * score, information.scaled(self.sizes)
        if self.possible is None:
            return score, information
        left = None if information.left is None else information.left[..., self.possible, :]
        return score[..., self.possible], Information(information.diagonal[..., self.possible], left, information.core)

    def log_likelihood(self, frequencies: FloatArray) -> FloatArray:
        """Return each table's log-likelihood, for blocks that have one."""
        total = np.zeros(len(self))
        for block, counts in zip(self.blocks, self.counts, strict=True):
            mean = block.noise.mean(block.question.answer_frequencies(self.whole(frequencies)))
            if np.any((counts > 0) & (mean <= 0)):
                raise LdpstatsError(
                    "reports that are impossible in cells without respondents",
                    "structural zeros that the reports leave room for",
                    "Leave out the zeros of combinations that were reported.",
                )
            total = total + (counts * np.log(np.where(counts > 0, mean, 1))).sum(axis=-1)
        return total if self.sizes is None else self.sizes * total

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for which tables these frequencies give every block a proper law."""
        proper: BoolArray = np.logical_and.reduce([block.supports(self.whole(frequencies)) for block in self.blocks])
        return proper

    def rarest_expected_report(self, frequencies: FloatArray) -> FloatArray:
        """Return every table's smallest expected count of a report, or of its absence, at its cells' frequencies.

        Blocks that ask the same in the same alphabet count together: a sum of counts with weights 1/μ, μ being how
        often the report occurs in each, is as skewed as a Poisson count of (Σ n/μ)³ / (Σ n/μ²)², nμ for a single block.
        """
        sums: dict[tuple[Question, int], FloatArray] = {}
        for block in self.blocks:
            share = _rarer_share(block.noise, block.question.answer_frequencies(self.whole(frequencies)), block.n)
            with np.errstate(divide="ignore"):  # a report that never comes is worth no count: infinite weights
                added = np.stack([block.n / share, block.n / share**2])
            alike = (block.question, share.size)
            sums[alike] = sums[alike] + added if alike in sums else added
        rarest: FloatArray = np.min([_poisson(*added).min(axis=-1) for added in sums.values()], axis=0)
        return rarest if self.sizes is None else self.sizes * rarest


class PooledEstimate:
    """Unbiased estimate, by linear pooling, of the cells that can have respondents, for many tables at once."""

    def __init__(self, evidence: Evidence) -> None:
        assert isinstance(evidence, BlockEvidence)  # others know the covariance at the estimate only
        self._possible, self._pooling = evidence.possible, LinearPooling(evidence.blocks)
        self._n = evidence.blocks[0].n

    def __call__(self, evidence: Evidence) -> FloatArray:
        """Return the estimates, of as many respondents or of any others who were asked alike."""
        assert isinstance(evidence, BlockEvidence)  # of the same blocks
        share = self._n / evidence.blocks[0].n
        counts: list[NDArray[Any]] = [share * tallies for tallies in evidence.counts]
        return own_cells(self._possible, self._pooling.estimate(counts))

    def deviation(
        self, evidence: Evidence, frequencies: FloatArray, directions: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the estimates in some directions, and their covariance at these frequencies."""
        assert isinstance(evidence, BlockEvidence)  # of the same blocks
        spread = self._pooling.covariance(evidence.whole(frequencies)) * (self._n / evidence.blocks[0].n)
        if self._possible is not None:
            spread = spread[..., self._possible[:, None], self._possible]
        across = np.swapaxes(directions, -1, -2)
        if evidence.sizes is not None:
            spread = spread / evidence.sizes[:, None, None]
        return (across @ self(evidence)[..., None])[..., 0], across @ spread @ directions


def _poisson(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.divide(first**3, second**2, out=np.zeros_like(first), where=np.isfinite(second))


def _rarer_share(noise: NoiseModel, frequencies: FloatArray, n: int) -> FloatArray:
    """Return how often reports, or their absence, occur; of counts without bounds, what has the same excess kurtosis.

    That is 1 / λ for a Poisson count, and at most 3, as Laplace noise has it, for unbounded noise. With the mean nf of
    a count and the variance s of its noise, λ = (nf + s)² / (nf + 3 s²).
    """
    if noise.members is not None:
        # rare sets are many, and the score adds them up: it is as normal as the counts by value
        return _rarer_share(noise.by_value, frequencies, n)
    bounds = noise.bounds()
    if bounds is not None:
        # every entry is a number of reports, or varies as one would
        none, every = bounds
        own = (frequencies - none) / (every - none)
        return _nearer_end(own, 1)
    mean = noise.mean(frequencies)
    if noise.channel is not None:
        mean = np.where(noise.channel.idle, 0.5, mean)  # what tells nothing may be as rare as it likes
    if np.isfinite(noise.largest):
        return _nearer_end(mean, noise.largest)
    diagonal = np.diagonal(noise.report_covariance(frequencies), axis1=-2, axis2=-1)
    spread = n * (diagonal - mean * (1 - mean))
    return (n * mean + spread) ** 2 / (n * mean + 3 * spread**2) / n


def _nearer_end(mean: FloatArray, largest: float) -> FloatArray:
    distance: FloatArray = np.maximum(np.minimum(mean, largest - mean), 0)
    return distance
