"""Evidence: the score and Fisher information of cell frequencies that reports give, for many tables at once.

It has two makers: blocks, which say it through their channels, and estimated sums of cells with their covariance.
Null models, statistics, Monte Carlo and power see nothing else of a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import LinearPooling, Measured
from ldpstats.estimation.blocks import Block
from ldpstats.noise import Information, NoiseModel
from ldpstats.numbers.arrays import BoolArray, FloatArray


def identified_contrasts(evidence: Evidence, frequencies: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the contrasts of cells that the evidence tells of, at whatever frequencies."""
    _, information = evidence.score(frequencies[None, :])
    cells = frequencies.size
    # contrasts first: where the total is known almost exactly, centring would leave rounding for one direction more
    contrasts = np.linalg.svd(np.ones((1, cells)))[2][1:].T
    values, vectors = np.linalg.eigh(information.between(contrasts)[0])
    identified: FloatArray = contrasts @ vectors[:, values > values.max() * cells * 1e-12]
    return identified


class _PossibleCells(ABC):
    """Frequencies of all cells of a table, and of those that can have respondents."""

    __slots__ = ()
    possible: NDArray[np.intp] | None

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of all cells."""

    def whole(self, frequencies: FloatArray) -> FloatArray:
        """Return the frequencies of all cells, zero for those that cannot have respondents."""
        if self.possible is None:
            return frequencies
        whole = np.zeros((*frequencies.shape[:-1], self.cells))
        whole[..., self.possible] = frequencies
        return whole

    def own(self, cells: FloatArray) -> FloatArray:
        """Return what is said of the cells that can have respondents."""
        return cells if self.possible is None else cells[..., self.possible]


@dataclass(frozen=True, slots=True, eq=False)
class BlockEvidence(_PossibleCells):
    """Tallies of the same blocks for one or many tables: `counts` has an array (tables, outputs) for every block.

    The blocks' own tallies are not used. Frequencies, scores and draws are of the `possible` cells alone, where given.
    Where tables differ in size, `sizes` are respondents per respondent of the blocks, to whose number counts are
    scaled.
    """

    has_null_covariance: ClassVar[bool] = True
    """Whether the covariance of the unbiased estimate is known under any hypothesis, not only at the estimate."""

    blocks: tuple[Block, ...]
    counts: tuple[NDArray[Any], ...]
    possible: NDArray[np.intp] | None = None
    sizes: FloatArray | None = None

    @classmethod
    def observed(cls, blocks: Sequence[Block], possible: NDArray[np.intp] | None = None) -> BlockEvidence:
        """Return the one table that was collected."""
        return cls(tuple(blocks), tuple(block.tally.counts[None, :] for block in blocks), possible)

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
    def words(self) -> str:
        """What least squares are on: counts, and why there are only moments if so."""
        return f"on the counts{'' if self.has_likelihood else ', as only their moments are known'}"

    @property
    def fingerprint(self) -> bytes:
        """The counts as bytes."""
        return b"".join(counts.tobytes() for counts in self.counts)

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

    @property
    def cells(self) -> int:
        """Those that the blocks are about."""
        return self.blocks[0].question.cells

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
        counts = [
            np.divide(first**3, second**2, out=np.zeros_like(first), where=np.isfinite(second)).min(axis=-1)
            for first, second in sums.values()
        ]
        rarest: FloatArray = np.min(counts, axis=0)
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
        return evidence.own(self._pooling.estimate(counts))

    def deviation(
        self, evidence: Evidence, frequencies: FloatArray, directions: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the estimates in some directions, and their covariance at these frequencies."""
        assert isinstance(evidence, BlockEvidence)  # of the same blocks
        covariance = self._pooling.covariance(evidence.whole(frequencies)) * (self._n / evidence.blocks[0].n)
        if self._possible is not None:
            covariance = covariance[..., self._possible[:, None], self._possible]
        across = np.swapaxes(directions, -1, -2)
        if evidence.sizes is not None:
            covariance = covariance / evidence.sizes[:, None, None]
        return (across @ self(evidence)[..., None])[..., 0], across @ covariance @ directions


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
    variance = n * (diagonal - mean * (1 - mean))
    return (n * mean + variance) ** 2 / (n * mean + 3 * variance**2) / n


def _nearer_end(mean: FloatArray, largest: float) -> FloatArray:
    distance: FloatArray = np.maximum(np.minimum(mean, largest - mean), 0)
    return distance


# eigenvalues of a correlation matrix below this share of the largest are rounding: such sums are known, as totals are
_SAME = 1e-9
# an estimated cell may be negative or exceed one; a fit that leaves even this range is lost
_LEAST_CELL, _LARGEST_CELL = -1.0, 2.0


@dataclass(frozen=True, slots=True, eq=False)
class EstimateEvidence(_PossibleCells):
    """Sums of cells that were estimated without bias, with normal errors whose covariance is known.

    With x = A π + error and the covariance C of the errors, the whitened sums W x (`seen`, a row per table) and W A
    (`design`) are sufficient, where Wᵀ W = C⁻: their errors are independent and of variance one. A sum without noise,
    as a total, has no part in them. `possible` are the cells that can have respondents, if not all.
    """

    has_likelihood: ClassVar[bool] = False
    has_null_covariance: ClassVar[bool] = False

    measured: Measured
    design: FloatArray
    seen: FloatArray
    possible: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, measured: Measured, possible: NDArray[np.intp] | None = None) -> EstimateEvidence:
        """Return the one table that was estimated."""
        whitener = _whitener(measured.covariance)
        return cls(measured, whitener @ measured.sums, (whitener @ measured.estimate)[None, :], possible)

    @property
    def words(self) -> str:
        """What least squares are on: estimated sums, and whether their covariance is a bound."""
        bound = self.measured.bound
        upper = f", with an upper bound of their covariance ({bound}): conservative" if bound else ""
        return f"on estimated sums of cells, by their covariance at the estimate{upper}"

    @property
    def fingerprint(self) -> bytes:
        """The estimates as bytes."""
        return self.seen.tobytes()

    def estimator(self) -> Callable[[Evidence], FloatArray] | None:
        """Return least squares of the whitened sums and the total; None where these do not identify the cells."""
        rows = np.vstack([self.design, np.full((1, self.design.shape[1]), np.abs(self.design).max(initial=1.0))])
        if np.linalg.matrix_rank(rows) < rows.shape[1]:
            return None
        inverse = np.linalg.pinv(rows)
        total = rows[-1, 0] * inverse[:, -1]

        def estimated(drawn: Evidence) -> FloatArray:
            assert isinstance(drawn, EstimateEvidence)  # of the same sums
            return self.own(drawn.seen @ inverse[:, :-1].T + total)

        return estimated

    def replicates(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> EstimateEvidence:
        """Draw `size` estimates with normal errors if the cells have these frequencies."""
        expected = self.design @ self.whole(frequencies)
        return replace(self, seen=expected + rng.standard_normal((size, expected.size)))

    def expected(self, frequencies: FloatArray) -> EstimateEvidence:
        """Return the one table without chance, if the cells have these frequencies."""
        return replace(self, seen=(self.design @ self.whole(frequencies))[None, :])

    def subset(self, tables: NDArray[np.intp]) -> EstimateEvidence:
        """Return some of the tables."""
        return replace(self, seen=self.seen[tables])

    @property
    def cells(self) -> int:
        """Those that are added up."""
        return int(self.design.shape[1])

    def __len__(self) -> int:
        return len(self.seen)

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score Aᵀ C⁻ (x − A π) and the information Aᵀ C⁻ A."""
        design = self.own(self.design)
        score = self._errors(frequencies) @ design
        leading = score.shape[:-1]
        left = np.broadcast_to(design.T, (*leading, *design.T.shape))
        core = np.broadcast_to(np.eye(len(design)), (*leading, len(design), len(design)))
        return score, Information(np.zeros(score.shape), left, core)

    def log_likelihood(self, frequencies: FloatArray) -> FloatArray:
        """Return the log-likelihood of normal errors, up to a constant."""
        total: FloatArray = -0.5 * (self._errors(frequencies) ** 2).sum(axis=-1)
        return total

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for which tables these frequencies are such as estimates can be; the errors have a law with any."""
        within: BoolArray = np.all((frequencies > _LEAST_CELL) & (frequencies < _LARGEST_CELL), axis=-1)
        return within

    def rarest_expected_report(self, frequencies: FloatArray) -> FloatArray:
        """Return the least variance of a sum, in reports: nf(1 − f) without noise, its count where it is rare."""
        n, sums = self.measured.n, self.measured.sums
        shares = self.whole(frequencies) @ sums.T
        sampled = n * shares * (sums.sum(axis=1) - shares) * self.measured.is_of_cells
        variances = np.maximum(n**2 * np.diagonal(self.measured.covariance), sampled)
        least: FloatArray = variances.min(axis=-1, initial=np.inf)
        return least

    def _errors(self, frequencies: FloatArray) -> FloatArray:
        return self.seen - self.whole(frequencies) @ self.design.T


def _whitener(covariance: FloatArray) -> FloatArray:
    """Return W with Wᵀ W = C⁻ and W C Wᵀ = 1, leaving out what has no variance."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    known = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(known, known))
    varying = values > _SAME * max(float(values.max(initial=0.0)), _SAME)
    whitener: FloatArray = (vectors[:, varying] / np.sqrt(values[varying])).T / known
    return whitener


@dataclass(frozen=True, slots=True, eq=False)
class GroupedEvidence:
    """Evidence of several groups of respondents about frequencies that all have; `reports` counts those of each."""

    groups: tuple[Evidence, ...]
    reports: tuple[int, ...]

    @property
    def has_likelihood(self) -> bool:
        """Whether every group has a likelihood."""
        return all(group.has_likelihood for group in self.groups)

    @property
    def has_null_covariance(self) -> bool:
        """Whether the covariance of every group's estimate is known under any hypothesis."""
        return all(group.has_null_covariance for group in self.groups)

    @property
    def words(self) -> str:
        """What least squares of the groups are on, each said once."""
        return ", ".join(dict.fromkeys(group.words for group in self.groups))

    @property
    def fingerprint(self) -> bytes:
        """The groups' fingerprints."""
        return b"".join(group.fingerprint for group in self.groups)

    def estimator(self) -> Callable[[Evidence], FloatArray] | None:
        """Return the mean of the groups' estimates, weighted by reports; None where a group has none."""
        own = [group.estimator() for group in self.groups]
        known = [estimated for estimated in own if estimated is not None]
        if len(known) < len(own):
            return None

        def mean(drawn: Evidence) -> FloatArray:
            assert isinstance(drawn, GroupedEvidence)  # of the same groups
            each = [estimated(group) for estimated, group in zip(known, drawn.groups, strict=True)]
            return np.average(each, axis=0, weights=self.reports)

        return mean

    def replicates(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> GroupedEvidence:
        """Draw `size` times all groups, if all have these frequencies."""
        return replace(self, groups=tuple(group.replicates(frequencies, size, rng) for group in self.groups))

    def subset(self, tables: NDArray[np.intp]) -> GroupedEvidence:
        """Return some of the tables of every group."""
        return replace(self, groups=tuple(group.subset(tables) for group in self.groups))

    def whole(self, frequencies: FloatArray) -> FloatArray:
        """Return the frequencies of all cells of the table."""
        return self.groups[0].whole(frequencies)

    def __len__(self) -> int:
        return len(self.groups[0])

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, Information]:
        """Return the sum of the groups' scores, and of their information."""
        score, information = self.groups[0].score(frequencies)
        for group in self.groups[1:]:
            more, added = group.score(frequencies)
            score, information = score + more, information + added
        return score, information

    def log_likelihood(self, frequencies: FloatArray) -> FloatArray:
        """Return the sum of the groups' log-likelihoods."""
        total: FloatArray = np.sum([group.log_likelihood(frequencies) for group in self.groups], axis=0)
        return total

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for which tables these frequencies are proper in every group."""
        proper: BoolArray = np.logical_and.reduce([group.supports(frequencies) for group in self.groups])
        return proper

    def rarest_expected_report(self, frequencies: FloatArray) -> FloatArray:
        """Return how many reports the rarest one is worth, in the group in which it is rarest."""
        rarest: FloatArray = np.min([group.rarest_expected_report(frequencies) for group in self.groups], axis=0)
        return rarest


CellEvidence: TypeAlias = BlockEvidence | EstimateEvidence
"""What reports say of one table, or of many that were asked the same: all has a leading axis of tables."""
Evidence: TypeAlias = CellEvidence | GroupedEvidence
