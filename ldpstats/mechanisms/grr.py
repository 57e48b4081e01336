"""GRR, generalized randomized response: the truth with one probability, each lie with another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.base import Mechanism
from ldpstats.noise import TruthOrFake
from ldpstats.numbers.grid import GRID, favoured_numerator
from ldpstats.numbers.randomness import Draws


@dataclass(frozen=True, slots=True)
class SymbolResponse(Mechanism):
    """Base of all randomized response, over the values or over symbols that stand for them.

    The true one of g symbols is sent with probability e^ε / (e^ε + g - 1), else a uniform other one.
    """

    k: int
    epsilon: float

    @property
    def _symbols(self) -> int:
        return self.k

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        favoured_numerator(self.epsilon, 1, self._symbols)  # refuses levels that are too low

    @property
    def truth(self) -> int:
        """Probability that the true symbol is sent, in GRID-ths."""
        return favoured_numerator(self.epsilon, 1, self._symbols)

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probability that the true symbol is sent, in GRID-ths."""
        return {"truth": self.truth}

    def likelihood_ratio(self) -> Fraction:
        """Return P(symbol | it is the true one) / P(symbol | it is not)."""
        return Fraction(self.truth * (self._symbols - 1), GRID - self.truth)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Keep the value or replace it by a uniformly drawn other one."""
        return draws.respond(values, self.k, self.truth)


@dataclass(frozen=True, slots=True)
class GRR(SymbolResponse):
    """Generalized randomized response (k-RR, direct encoding; Warner's randomized response at k = 2).

    A respondent answers truly with probability e^ε / (e^ε + k - 1) and otherwise with one of the other values.
    In the literature on local differential privacy (LDP) it is k-ary randomized response (KRR), too.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import GRR
    >>> grr = GRR(4, epsilon=1.0)
    >>> reports = grr.privatize(np.repeat([0, 1, 2, 3], 500), rng=1)
    >>> grr.estimate(reports).to_frame().round(2)
       estimate  std_err  lower  upper
    0      0.25     0.03   0.19   0.31
    1      0.23     0.03   0.16   0.29
    2      0.29     0.03   0.23   0.36
    3      0.23     0.03   0.17   0.29
    """

    name: ClassVar[str] = "grr"
    aliases: ClassVar[tuple[str, ...]] = ("k-rr", "krr", "direct encoding", "de")
    source: ClassVar[str] = "Kairouz, Bonawitz & Ramage 2016"

    @property
    def _outputs(self) -> int:
        return self.k

    @property
    def noise(self) -> TruthOrFake:
        """Truth or a uniform fake."""
        return TruthOrFake.uniform(self.k, Fraction(self.truth, GRID))


@dataclass(frozen=True, slots=True)
class RR(SymbolResponse):
    """Randomized response to a yes-or-no question (Warner's RR, binary BRR): GRR with two values.

    Warner's respondents answer "I am" or "I am not" as a coin tells them, which is the same channel.

    Parameters
    ----------
    k : int
        Two: yes or no.
    epsilon : float
        The level of a report: no answer makes it more than e^ε times as likely as the other one does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import RR
    >>> round(RR(2, epsilon=np.log(3)).variance(0.5, n=100), 6)
    0.01
    """

    name: ClassVar[str] = "rr"
    aliases: ClassVar[tuple[str, ...]] = ("brr", "warner", "binary randomized response")
    source: ClassVar[str] = "Warner 1965, in Kairouz, Bonawitz & Ramage 2016"
    only_k: ClassVar[int | None] = 2

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.k != self.only_k:
            raise LdpstatsError(f"k = {self.k!r}", "2 for a yes-or-no question", "GRR takes any number of values.")
        SymbolResponse.__post_init__(self)

    @property
    def noise(self) -> TruthOrFake:
        """That of GRR."""
        return GRR(self.k, self.epsilon).noise
