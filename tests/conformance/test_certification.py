"""Every registered mechanism is certified; the bugs that certification must catch stand in a file of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.parameters import certifications

from ldpstats.conformance import certify, checks_of, exact_channel
from ldpstats.conformance.enumeration import TooManyCoursesError, report_law
from ldpstats.mechanisms import GRR, HR, LGRR, LH, LOSUE, LUE, REGISTRY, SS, DBitFlip, DBitFlipPM, Mechanism, SHist
from ldpstats.numbers.randomness import Draws


def share_of(epsilon: Any, share: float) -> Any:
    """Return a first level; the bad levels that the suite tries go on as they are."""
    return min(share * epsilon, 30.0) if isinstance(epsilon, float) else epsilon


OPTIONS = {
    "SS with omega = k/2": lambda k, epsilon: SS(k, epsilon, omega=max(1, k // 2)),
    "LH with 3 symbols": lambda k, epsilon: LH(k, epsilon, symbols=3),
    "HR with two blocks": lambda k, epsilon: HR(k, epsilon, blocks=2),
    "HR with k/3 blocks": lambda k, epsilon: HR(k, epsilon, blocks=max(1, k // 3)),
    "HR with k blocks": lambda k, epsilon: HR(k, epsilon, blocks=k),
    "SHist with k + 1 rows": lambda k, epsilon: SHist(k, epsilon, rows=k + 1, seed=5),
    "DBitFlip with one bit": lambda k, epsilon: DBitFlip(k, epsilon, d=1),
    "DBitFlip with all bits but one": lambda k, epsilon: DBitFlip(k, epsilon, d=max(1, k - 1)),
    "DBitFlip with all bits": lambda k, epsilon: DBitFlip(k, epsilon, d=k),
    "DBitFlipPM with one bit": lambda k, epsilon: DBitFlipPM(k, epsilon, d=1),
    "LGRR with a high first level": lambda k, epsilon: LGRR(k, epsilon, share_of(epsilon, 0.9)),
    "LOSUE with a low first level": lambda k, epsilon: LOSUE(k, epsilon, share_of(epsilon, 0.1)),
    "LUE with other options": lambda k, epsilon: LUE(k, epsilon, 0.7, share_of(epsilon, 0.6), show=0.9),
}
CERTIFIED = {**{kind.__name__: kind for kind in REGISTRY}, **OPTIONS}
LIKE = {
    "RR": "GRR",
    **dict.fromkeys(("SUE", "UE", "THE", "OneHotCMS"), "OUE"),
    **dict.fromkeys(("BLH", "LH"), "OLH"),
    **dict.fromkeys(("LSUE", "LOUE", "LSOUE"), "LOSUE"),
    "LBLH": "LOLH",
}
"""Those that hand other numbers to the sampler of another one: what they send in bulk is checked exhaustively only."""


@pytest.mark.parametrize(
    ("make", "check"),
    [
        *(
            pytest.param(make, check, id=f"{make.__name__}-{check.__name__}")
            for make in REGISTRY
            if make.__name__ not in LIKE
            for check in checks_of(make)
        ),
        *certifications({name: CERTIFIED[name] for name in LIKE} | OPTIONS),
    ],
)
def test_every_registered_mechanism_is_certified(make: Callable[..., Mechanism], check: Callable[..., None]) -> None:
    assert check(make) is None


def test_who_is_like_another_one_has_its_sampler_and_all_that_counts_what_it_sends() -> None:
    for kind, other in ((CERTIFIED[name], CERTIFIED[like]) for name, like in LIKE.items()):
        one, like = (getattr(made, "permanent", made) for made in (kind(2, 1.0), other(2, 1.0)))
        for name in ("randomize", "contributions", "simulate", "report_format"):
            assert getattr(kind, name) is getattr(other, name), (kind, name)
            assert getattr(type(one), name) is getattr(type(like), name), (kind, name)
    assert not {*LIKE} & {*LIKE.values()}


@dataclass(frozen=True, slots=True)
class CoarseCoin(GRR):
    """A device whose coin has twenty bits loses some of the budget, and says why."""

    @property
    def truth(self) -> int:
        return GRR.truth.__get__(self) >> 44 << 44

    @property
    def slack_reason(self) -> str:
        return "probabilities are multiples of 2^-20"


def test_a_mechanism_may_stay_below_its_level_if_it_says_why() -> None:
    assert CoarseCoin(4, 1.0).strict_epsilon() < 1 - 1e-7
    assert certify(CoarseCoin) is None


def test_exact_channel_of_warners_randomized_response() -> None:
    truth, lie = (exact_channel(GRR(2, 1.0))[0][bytes([value])] for value in (0, 1))
    assert truth + lie == 1
    assert float(truth) == pytest.approx(np.e / (1 + np.e), rel=1e-15)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "name", ["GRR", "OUE", "SHE", "OLH", "SS with omega = k/2", "HR", "RAPPOR", "DBitFlip", "LSUE"]
)
def test_enumerating_in_one_batch_gives_the_law_of_one_run_for_every_course(name: str, k: int) -> None:
    mechanism = CERTIFIED[name](k, 1.0)
    for value, law in enumerate(exact_channel(mechanism)):
        try:
            assert report_law(mechanism, [value], most=3000) == law
        except TooManyCoursesError:
            assert (name, k) == ("OLH", 3)


def test_a_sampler_that_does_not_take_respondents_one_by_one_is_still_enumerated() -> None:
    @dataclass(frozen=True, slots=True)
    class LiesOnDemand(GRR):
        def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
            sent = values.copy()
            lying = np.flatnonzero(~draws.bernoulli(self.truth, values.shape))
            others = draws.uniform(self.k - 1, lying.size)
            sent[lying] = others + (others >= values[lying])
            return sent

    assert exact_channel(LiesOnDemand(4, 1.0)) == exact_channel(GRR(4, 1.0))
