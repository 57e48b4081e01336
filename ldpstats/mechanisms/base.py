"""Mechanisms: a randomizer of one value with its sampler, its exact worst-case ratio and its noise model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpstats.errors import LdpstatsError, ReportError, shortened
from ldpstats.estimation import ChannelFit, Estimate, ProcessedEstimate, invert, mixture_em
from ldpstats.estimation.channel_fit import tally_fit
from ldpstats.estimation.component_tests import ComponentTest, repeated_functions, report_sizes
from ldpstats.estimation.methods import known_method, processed
from ldpstats.limits import LARGEST_ALPHABET, refuse_too_many_cells
from ldpstats.noise import NoiseModel, Tally
from ldpstats.numbers.arrays import (
    LARGEST_WHOLE,
    BoolArray,
    FloatArray,
    as_array,
    at_least,
    counts_array,
    integers_below,
    positive_epsilon,
    real_array,
    unweighted,
)
from ldpstats.numbers.randomness import Draws, Rng, client_draws, generator
from ldpstats.presentation import progress
from ldpstats.privacy import PrivacyStatement, strict_epsilon
from ldpstats.saving.files import Saveable

_CHUNK_BYTES = 1 << 26
"""How many bytes of reports are made at once."""
_CHUNK_ENTRIES = 1 << 22
"""How many entries the tallies of single reports have that are made at once."""
GRID_LEVEL = 20.0
"""Up to here the rounding of probabilities to the grid costs less than 1e-9, for up to a million values."""


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """How reports are stored: an array of `dtype`, a number per report or a row of `width` numbers.

    Parameters
    ----------
    dtype : dtype
        Of unsigned whole numbers.
    width : int, optional
        How many numbers make a report; without it a report is one number.
    last : dtype, optional
        What the last number of a row takes when it is sent, where that is less than the others take.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.GRR(300, epsilon=1.0).report_format
    ReportFormat(dtype=dtype('uint16'), width=None, last=None)
    """

    dtype: np.dtype[Any]
    width: int | None = None
    last: np.dtype[Any] | None = None

    def __post_init__(self) -> None:
        refuse_too_many_cells(self.width or 1, "a report")

    def shape(self, n: int) -> tuple[int, ...]:
        """Return the shape of the array that holds n reports.

        Parameters
        ----------
        n : int
            The number of reports.
        """
        return (n,) if self.width is None else (n, self.width)

    @property
    def bits(self) -> int:
        """The size of a report as it is stored."""
        return 8 * self.dtype.itemsize * (self.width or 1)


class Mechanism(Saveable, ABC):
    """A randomizer for one value out of k, as a frozen dataclass with the fields `k` and `epsilon`.

    A mechanism supplies the members marked abstract; the others are the same for all, but for reports that are more
    than the number of one output: for these it says `report_format`, `possible` and `count_reports`.

    In the literature on local differential privacy (LDP) it is a local randomizer, and with its estimate a frequency
    oracle.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from fractions import Fraction
    >>> from ldpstats.extend import GRID, Mechanism, TruthOrFake, exp_below, numerator_at_most
    >>> @dataclass(frozen=True, slots=True)
    ... class Coin(Mechanism):
    ...     k: int
    ...     epsilon: float
    ...     name = "coin"
    ...     source = "an example"
    ...
    ...     @property
    ...     def truth(self):
    ...         likelihood = exp_below(self.epsilon)
    ...         return numerator_at_most(likelihood / (likelihood + self.k - 1))
    ...
    ...     @property
    ...     def noise(self):
    ...         return TruthOrFake.uniform(self.k, Fraction(self.truth, GRID))
    ...
    ...     def likelihood_ratio(self):
    ...         return Fraction(self.truth * (self.k - 1), GRID - self.truth)
    ...
    ...     def randomize(self, values, draws):
    ...         return draws.respond(values, self.k, self.truth)
    >>> coin = Coin(3, epsilon=1.0)
    >>> coin.estimate(coin.privatize([0] * 500 + [2] * 500, rng=1)).estimate.round(2)
    array([0.51, 0.04, 0.45])
    """

    # the fields of most: declared here for type checkers alone, as a mechanism may also know them from others
    __dataclass_fields__: ClassVar[dict[str, Any]]
    k: int
    epsilon: float
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    source: ClassVar[str]
    purpose: ClassVar[str] = "one answer"
    only_k: ClassVar[int | None] = None
    longitudinal: ClassVar[bool] = False

    @classmethod
    def asked_for(cls, k: int, epsilon: float, **options: Any) -> Self:
        """Return the mechanism for so many values at this level.

        Parameters
        ----------
        k : int
            The number of values.
        epsilon : float
            The level.
        **options : object
            Its further parameters.
        """
        return cls(k=k, epsilon=epsilon, **options)  # type: ignore[call-arg]  # every kind is such a dataclass

    def serves(self, k: int, epsilon: float) -> bool:
        """Say whether this is a mechanism for so many values at this level.

        Parameters
        ----------
        k : int
            The number of values.
        epsilon : float
            The level.
        """
        return (self.k, self.epsilon) == (k, epsilon)

    @property
    @abstractmethod
    def noise(self) -> NoiseModel:
        """The law of the tally, with the probabilities as implemented."""

    @property
    def _outputs(self) -> int:
        """Number of different reports, where a report is one number."""
        return self.noise.outputs

    @property
    def report_format(self) -> ReportFormat:
        """How the reports are stored: as one number each, the output, where a mechanism does not say otherwise."""
        return ReportFormat(np.min_scalar_type(self._outputs - 1))

    @property
    def sender(self) -> Mechanism:
        """The mechanism that sends the reports: itself, unless it is another's way of counting them."""
        return self

    @property
    def finest(self) -> Mechanism:
        """The same mechanism with the most informative tally of a moderate size; protocols collect that."""
        return self

    @property
    def report_bits(self) -> int:
        """The communication cost: how many bits a report needs; of a row as stored, unless the mechanism says less."""
        return (self._outputs - 1).bit_length() if self.report_format.width is None else self.report_format.bits

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """The probabilities that reports are drawn with, by name, in GRID-ths; none where a mechanism does not say."""
        return {}

    @property
    def derived(self) -> dict[str, int]:
        """Sizes that follow from the parameters, by name: whoever reads a file need not derive them."""
        return {}

    @property
    def hash_symbols(self) -> int | None:
        """The number of symbols, if a report begins with the two words of a hash function; None otherwise."""
        return None

    @abstractmethod
    def likelihood_ratio(self) -> Fraction | None:
        """Return the exact worst-case ratio P(report | a value) / P(report | another); None if unbounded."""

    def lifetime_ratio(self) -> Fraction | None:
        """Return the same ratio for all reports that a respondent may ever send about one value."""
        return self.likelihood_ratio()

    @abstractmethod
    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Randomize values that are known to lie in [0, k).

        Parameters
        ----------
        values : array of int
            The true values.
        draws : Draws
            Where all chance comes from.
        """

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Say which reports, already of the right dtype and width, this mechanism can send.

        Parameters
        ----------
        reports : array
            Reports of the right dtype and width.
        """
        return reports < self._outputs

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how many reports support each output.

        Parameters
        ----------
        reports : array
            Reports of the right dtype and width.
        """
        return np.bincount(reports, minlength=self._outputs)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", at_least(self.k, 2, "k"))
        if self.k > LARGEST_ALPHABET:
            raise LdpstatsError(
                f"k = {shortened(self.k)}",
                f"up to {LARGEST_ALPHABET} values",
                "Ask for a coarser question; OpenRR and OpenRAPPOR take strings that nobody listed.",
            )
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))

    def privatize(self, values: ArrayLike, rng: Rng = None) -> Reports:
        """Randomize values in [0, k); with `rng` the result is a reproducible simulation and says so.

        Parameters
        ----------
        values : array of int
            Values in [0, k).
        rng : int or Generator, optional
            For a reproducible simulation; without it, randomness is the operating system's.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> grr = ldp.GRR(4, epsilon=1.0)
        >>> reports = grr.privatize([0, 0, 3, 3], rng=1)
        >>> reports.data, reports.simulated
        (array([2, 0, 1, 2], dtype=uint8), True)
        """
        checked = integers_below(values, self.k, "values")
        draws = client_draws(rng)
        step = max(1, 8 * _CHUNK_BYTES // self.report_format.bits)
        starts = range(0, max(checked.size, 1), step)
        shown = progress(starts, "randomizing", unit="part") if len(starts) > 1 else starts
        parts = [self.randomize(checked[start : start + step], draws) for start in shown]
        data = np.concatenate(parts) if len(parts) > 1 else parts[0]
        reports = object.__new__(Reports)  # without the checks of what comes from elsewhere
        data = data.astype(self.report_format.dtype, copy=False)
        for name, value in (("mechanism", self), ("data", data), ("simulated", draws.simulated)):
            object.__setattr__(reports, name, value)
        return reports

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return what each report adds to the tally, a row per report.

        Parameters
        ----------
        reports : array
            Reports of the right dtype and width.
        """
        if not len(reports):
            return np.zeros((0, self.noise.outputs), dtype=np.int64)
        return np.stack([self.count_reports(reports[i : i + 1]) for i in range(len(reports))])

    @unweighted
    def count(self, reports: Reports | ArrayLike) -> Tally:
        """Count reports; a bare array is checked like anything that came over a wire.

        Parameters
        ----------
        reports : Reports or array
            What privatize returned, or such reports as they came over a wire.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> grr = ldp.GRR(4, epsilon=1.0)
        >>> grr.count(grr.privatize([0] * 500 + [3] * 500, rng=1)).counts
        array([329, 196, 162, 313])
        >>> grr.count([3, 3, 0]).counts
        array([1, 0, 0, 2])
        """
        collected = reports if isinstance(reports, Reports) else Reports(self, as_array(reports, "reports"))
        if collected.mechanism.sender != self.sender:
            raise ReportError(
                f"reports of {collected.mechanism}",
                f"reports of {self}",
                "Count them with the mechanism that made them.",
            )
        return Tally(self.noise, self.count_reports(collected.data), len(collected), collected.simulated)

    @overload
    def estimate(self, reports_or_counts: Reports | Tally, method: Literal["unbiased"] = "unbiased") -> Estimate: ...

    @overload
    def estimate(self, reports_or_counts: Reports | Tally, method: str) -> Estimate | ProcessedEstimate: ...

    def estimate(self, reports_or_counts: Reports | Tally, method: str = "unbiased") -> Estimate | ProcessedEstimate:
        """Estimate the frequencies of the k values.

        Parameters
        ----------
        reports_or_counts : Reports or Tally
            What privatize, count or simulate returned.
        method : str
            "unbiased" (the default, with covariance and intervals), "mle" (most likely proper frequencies; for
            mechanisms whose counts do not say all it takes the reports), "ibu" or one of the post-processing
            methods: see `estimation.METHODS`.
        """
        wanted = known_method(method)
        tally = self._own_tally(reports_or_counts)
        unbiased = invert(tally, self.privacy())
        if wanted == "unbiased":
            return unbiased
        if wanted == "mle" and not self.noise.has_likelihood and isinstance(reports_or_counts, Reports):
            # P(report | value), a row per report, up to a factor per row
            step = max(1, _CHUNK_ENTRIES // self.noise.outputs)
            parts = [
                self.noise.log_likelihoods(self.contributions(reports_or_counts.data[start : start + step]))
                for start in range(0, len(reports_or_counts.data), step)
            ]
            logarithms = np.concatenate(parts)
            likelihoods: FloatArray = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
            fitted = mixture_em(likelihoods)
            return ProcessedEstimate(fitted.frequencies, wanted, tally.n, unbiased.privacy, tally.simulated, fitted)
        return processed(tally, unbiased, wanted)

    def channel_fit(self, reports_or_counts: Reports | Tally) -> ChannelFit:
        """Test whether these reports can have come from this mechanism, whatever the true values are.

        See `estimation.channel_fit`; `.plausible` is the outcome at level .001. Reports show more than their counts:
        how many values each supports, and whether hash functions come again.

        Parameters
        ----------
        reports_or_counts : Reports or Tally
            What privatize, count or simulate returned.
        """
        fit = tally_fit(self._own_tally(reports_or_counts))
        if not isinstance(reports_or_counts, Reports) or not len(reports_or_counts):
            return fit
        tests: list[ComponentTest] = []
        law = self.noise.size_law()
        if law is not None and len(reports_or_counts.data) * self.noise.outputs <= _CHUNK_ENTRIES:
            tests += report_sizes(self.contributions(reports_or_counts.data).sum(axis=1), law)
        # one respondent keeps her function for all her repeated answers
        if self.hash_symbols is not None and not self.longitudinal:
            tests += repeated_functions(np.ascontiguousarray(reports_or_counts.data[:, :2]))
        return replace(fit, components=(*fit.components, *tests))

    def _own_tally(self, reports_or_counts: Reports | Tally) -> Tally:
        """Count reports, or check that a tally is one of this mechanism."""
        tally = self.count(reports_or_counts) if isinstance(reports_or_counts, Reports) else reports_or_counts
        if not isinstance(tally, Tally) or tally.noise != self.noise:
            raise ReportError(
                f"{type(reports_or_counts).__name__} that {self} did not make",
                "what its own privatize, count or simulate returned",
                "A bare array of reports goes through count first.",
            )
        return tally

    def simulate(self, true_counts: ArrayLike, size: int | None = None, rng: Rng = None) -> Tally:
        """Draw the tally of respondents with these true counts, exactly, without visiting them one by one.

        Parameters
        ----------
        true_counts : array of int, shape (k,)
            How many respondents have each value.
        size : int, optional
            How many independent tallies of the same respondents to draw; their counts get a leading axis.
        rng : int or Generator, optional
            A seed makes the simulation reproducible.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> grr = ldp.GRR(4, epsilon=1.0)
        >>> grr.simulate([500_000, 0, 0, 500_000], rng=1).counts
        array([325103, 174852, 175622, 324423])
        >>> grr.simulate([500_000, 0, 0, 500_000], size=1_000, rng=1).counts.shape
        (1000, 4)
        """
        checked = counts_array(true_counts, self.k, "true_counts")
        if checked.ndim != 1:
            raise LdpstatsError(
                f"true_counts of shape {checked.shape}", f"{self.k} counts", "Use `size` for repetitions."
            )
        repeated = checked if size is None else np.broadcast_to(checked, (at_least(size, 1, "size"), self.k))
        counts = self.noise.simulate(np.array(repeated), generator(rng))
        return Tally(self.noise, counts, int(checked.sum()), simulated=True)

    @property
    def slack_reason(self) -> str:
        """Why the strict level stays below the one asked for by more than 1e-9; empty where it does not."""
        if self.epsilon > GRID_LEVEL and self.strict_epsilon() <= self.epsilon - 1e-9:
            return f"a level of {self.epsilon:g} asks for probabilities finer than the grid of 2^-64"
        return ""

    def strict_epsilon(self) -> float:
        """Return the exact privacy level of the implemented channel, rounded up to a double.

        It covers all reports that a respondent may ever send about one value.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> ldp.GRR(4, epsilon=1.0).strict_epsilon()
        1.0
        >>> round(ldp.THE(4, epsilon=1.0).strict_epsilon(), 4)
        0.896
        """
        return strict_epsilon(self.lifetime_ratio())

    def privacy(self) -> PrivacyStatement:
        """Return the guarantee of one report."""
        return PrivacyStatement(self.strict_epsilon(), "the one value that a respondent reports")

    def variance(self, freq: float | ArrayLike, n: int) -> FloatArray | float:
        """Return the exact variance of the unbiased estimate from n random respondents.

        Parameters
        ----------
        freq : float or array, shape (k,)
            The frequency of one value (the others then share the rest equally), or those of all.
        n : int
            The number of respondents.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> grr = ldp.GRR(4, epsilon=1.0)
        >>> round(grr.variance(0.25, n=1_000) ** 0.5, 4)
        0.0456
        >>> grr.variance([0.7, 0.1, 0.1, 0.1], n=1_000).round(4)
        array([0.0026, 0.0018, 0.0018, 0.0018])
        """
        noise, frequencies = self.noise, real_array(freq, "freq")
        scalar = frequencies.ndim == 0
        if scalar:
            frequencies = np.append(frequencies, np.full(self.k - 1, (1 - frequencies) / (self.k - 1)))
        if frequencies.shape != (self.k,) or not frequencies.min() >= 0 or abs(frequencies.sum() - 1) > 1e-9:
            raise LdpstatsError(
                f"freq = {shortened(freq)}", f"a frequency from 0 to 1, or {self.k} of them that sum to 1"
            )
        variances = noise.variance(frequencies) / at_least(n, 1, "n")
        return float(variances[0]) if scalar else variances

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the parameters as plain values."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"name": self.name, **parameters}


def settled(frozen: object, name: str, least: int, usual: int | None = None, most: int = LARGEST_WHOLE) -> int:
    """Check a field, which has its usual value where none is given, and return it."""
    given = getattr(frozen, name)
    value = at_least(usual if given is None else given, least, name, most)
    object.__setattr__(frozen, name, value)
    return value


def joint_ratio(mechanisms: Iterable[Mechanism]) -> Fraction | None:
    """Return the exact worst-case ratio of one respondent's independent reports together: the product (composition).

    None if one of them is unbounded.

    Parameters
    ----------
    mechanisms : iterable of Mechanism
        Those of the reports.
    """
    ratios = [mechanism.lifetime_ratio() for mechanism in mechanisms]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios):
        return None
    # cancelled once, not after every factor
    return Fraction(prod(ratio.numerator for ratio in known), prod(ratio.denominator for ratio in known))


@dataclass(frozen=True, slots=True, eq=False)
class Reports(Saveable):
    """Reports of one mechanism, checked when they are made: what cannot have been sent is refused.

    Parameters
    ----------
    mechanism : Mechanism
        What made them.
    data : array
        The reports, in the mechanism's `report_format`.
    simulated : bool
        Whether they came from a seed.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> grr = ldp.GRR(4, epsilon=1.0)
    >>> reports = grr.privatize([0, 1, 2, 3], rng=1)
    >>> reports.data, reports.simulated
    (array([2, 1, 1, 2], dtype=uint8), True)
    """

    mechanism: Mechanism
    data: NDArray[Any]
    simulated: bool = False

    def __post_init__(self) -> None:
        data = as_array(self.data, "reports")
        expected = self.mechanism.report_format
        if data.ndim == 0:
            raise ReportError(
                f"{shortened(data.item())} as reports",
                f"an array of reports ({expected.dtype}) or what privatize returned",
            )
        if data.size == 0:
            data = data.reshape(expected.shape(0)).astype(expected.dtype)
        if data.dtype.kind not in "iu" or data.shape != expected.shape(len(data)):
            raise ReportError(
                f"reports of dtype {data.dtype} and shape {data.shape}",
                f"whole numbers ({expected.dtype}) of shape {expected.shape(len(data))} for {self.mechanism}",
            )
        limits = np.iinfo(expected.dtype)
        outside = (data < limits.min) | (data > limits.max)
        rows = outside if data.ndim == 1 else outside.any(axis=1)
        impossible = np.flatnonzero(rows | ~self.mechanism.possible(data.astype(expected.dtype)))
        if impossible.size:
            position = impossible[0]
            raise ReportError(
                f"the report {data[position].tolist()} at position {position} ({impossible.size} such reports)",
                f"reports that {self.mechanism} can send",
                "Check that client and server use the same mechanism, k and epsilon.",
            )
        object.__setattr__(self, "data", data.astype(expected.dtype, copy=False))

    def __len__(self) -> int:
        return len(self.data)
