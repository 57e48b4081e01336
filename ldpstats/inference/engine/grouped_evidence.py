"""Evidence of several groups of respondents about frequencies that all of them have: scores and information add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpstats.inference.engine.evidence import Evidence
from ldpstats.noise import Information
from ldpstats.numbers.arrays import BoolArray, FloatArray


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

    def among(self, possible: NDArray[np.intp] | None) -> GroupedEvidence:
        """Return the same evidence about tables of which only some cells can have respondents."""
        return replace(self, groups=tuple(group.among(possible) for group in self.groups))

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

    def expected(self, frequencies: FloatArray) -> GroupedEvidence:
        """Return groups without chance, of as many respondents, all with these frequencies."""
        return replace(self, groups=tuple(group.expected(frequencies) for group in self.groups))

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
