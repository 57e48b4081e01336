"""The best channel beside known mechanisms: variance of means, shares and contrasts, and what tests are told.

For numbers from -1 to 1 that are rounded to 17 points: n times the largest variance, rounding included, the bound that
no mechanism for such numbers goes below, and Duchi's bit, the piecewise and the hybrid mechanism (Wang et al. 2019).
For other aims: GRR, SS, OUE and SUE with their own estimates, whole reports for tests. *Gap* is how many more
respondents it may need than the best channel of all. Power is simulated.

    python benchmarks/best_channel.py           # the whole study, some minutes
    python benchmarks/best_channel.py --quick   # without the power
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.inference.engine.detectability import report_information
from ldpstats.inference.planning.best_channel import BestChannel
from ldpstats.noise import NoiseModel

LEVELS = (0.5, 1.0, 2.0, 3.0, 4.0)
KNOWN = ("grr", "ss", "oue", "sue")
_WHOLE = 8
"""The most values of which whole reports of OUE and SUE are enumerated."""
_TABLES = 400


def of_range(epsilon: float) -> dict[str, float | str]:
    """Return the largest variances for numbers from -1 to 1."""
    best = ldp.best_channel((-1, 1), epsilon, points=17)
    odds, root = math.exp(epsilon), math.exp(epsilon / 2)
    duchi = ((odds + 1) / (odds - 1)) ** 2
    piecewise = 4 * root / (3 * (root - 1) ** 2)
    # below this level it is Duchi's
    hybrid = duchi if epsilon <= 0.61 else (root + 3) / (3 * root * (root - 1)) + duchi / root
    others: dict[str, float | str] = {"duchi": duchi, "piecewise": piecewise, "hybrid": hybrid}
    return _row("numbers from -1 to 1", epsilon, best) | others


def _row(aim: str, epsilon: float, best: BestChannel) -> dict[str, float | str]:
    own: dict[str, float | str] = {
        "aim": aim,
        "epsilon": epsilon,
        "best": best.attained,
        "bound": best.bound,
        "gap %": 100 * best.gap,
    }
    return own | {"outputs": len(best.channel.rows[0])}


def of_number(
    aim: str, k: int, of: Sequence[float], prior: list[float] | None, epsilon: float
) -> dict[str, float | str]:
    """Return the variance of a mean, a share or a contrast of k values beside those by known mechanisms."""
    best = ldp.best_channel(range(k), epsilon, aim, of=of, prior=prior)  # type: ignore[arg-type]  # an aim
    wanted = np.isin(np.arange(k), of).astype(float) if aim == "proportion" else np.array(of, dtype=float)
    others: dict[str, float | str] = {}
    for name in KNOWN:
        noise = ldp.mechanism(name, k=k, epsilon=epsilon).noise
        given = np.array([wanted @ noise.covariance(true) @ wanted for true in np.eye(k)])
        others[name] = float(given.max() if prior is None else np.dot(prior, given))
    return _row(f"{aim} of {k}{'' if prior is None else ', at a prior'}", epsilon, best) | others


def of_test(margins: Sequence[Sequence[float]], epsilon: float) -> dict[str, float | str]:
    """Return the noncentrality of a test of fit or independence beside those by known mechanisms."""
    sides, frequencies = [range(len(margin)) for margin in margins], [np.array(margin) for margin in margins]
    single = len(margins) == 1
    best = (
        ldp.best_channel(sides[0], epsilon, "fit", prior=margins[0])
        if single
        else ldp.best_channel(sides, epsilon, "independence", prior=margins)
    )
    others: dict[str, float | str] = {}
    for name in KNOWN:
        noise: NoiseModel = ldp.mechanism(name, k=best.channel.k, epsilon=epsilon).finest.noise
        if name in ("grr", "ss") or best.channel.k <= _WHOLE:
            information = report_information(noise, frequencies)
            others[name] = float(np.trace(information)) / len(information)
    even = "even" if all(np.ptp(margin) < 1e-9 for margin in margins) else "uneven"  # rounding
    what = f"{'fit' if single else 'independence'}, {' x '.join(str(len(side)) for side in sides)}, {even}"
    return _row(what, epsilon, best) | others


def power(side: int, n: int, epsilon: float, margin: Sequence[float] | None = None) -> dict[str, float | str]:
    """Return the shares of simulated tests that reject in a square table with V = 0.1, and with V = 0."""
    even = [1 / side] * side
    true = np.array(margin or even)
    sign = np.where(np.arange(side) < side / 2, 1.0, -1.0)
    sign = sign - sign @ true
    sign /= math.sqrt(true @ sign**2)
    domain = ldp.Domain({"a": range(side), "b": range(side)})
    best = ldp.best_channel([range(side)] * 2, epsilon, "independence")
    row: dict[str, float | str] = {
        "table": f"{side} x {side}",
        "margins": "as designed" if margin is None else "others",
    }
    for name, mechanism in (("best", [best.channel]), ("ss", "ss")):
        protocol = ldp.SampledGroups(domain, epsilon=epsilon, mechanism=mechanism)
        for what, strength in (("power", 0.1 * math.sqrt(side - 1)), ("level", 0.0)):
            cells = np.outer(true, true) * (1 + strength * np.outer(sign, sign))
            rng = np.random.default_rng(1)
            rejected = [
                ldp.independence_test(
                    protocol.simulate(rng.multinomial(n, cells.ravel()), rng=rng)["a", "b"], pvalue="asymptotic"
                ).pvalue
                < 0.05  # the level
                for _ in range(_TABLES)
            ]
            row[f"{what}, {name}"] = float(np.mean(rejected))
    return row | {"n": n, "epsilon": epsilon}


def main() -> None:
    """Print figures at all levels, and the power of tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the power")
    quick = parser.parse_args().quick
    rare = [0.9, 0.06, 0.04]
    for rows in (
        [of_range(epsilon) for epsilon in LEVELS],
        [of_number("mean", 5, range(5), None, epsilon) for epsilon in LEVELS],
        [of_number("mean", 3, range(3), rare, epsilon) for epsilon in LEVELS],
        [of_number("proportion", 6, [0, 1], None, epsilon) for epsilon in LEVELS],
        [of_number("contrast", 6, [1, -1, 0, 0, 0, 0], None, epsilon) for epsilon in LEVELS],
        [of_test([rare], epsilon) for epsilon in LEVELS],
        [of_test([[1 / 12] * 12], epsilon) for epsilon in LEVELS],
        [of_test([[1 / 20] * 20], epsilon) for epsilon in LEVELS],
        [of_test([[0.5, 0.5]] * 2, epsilon) for epsilon in LEVELS],
        [of_test([rare, [0.6, 0.4]], epsilon) for epsilon in LEVELS],
        [of_test([[0.25] * 4] * 2, epsilon) for epsilon in LEVELS],
    ):
        print(pd.DataFrame(rows).to_string(index=False, float_format=lambda number: f"{number:.4g}"), end="\n\n")
    if not quick:
        settings = [(2, 4_000, None), (2, 4_000, [0.7, 0.3]), (3, 6_000, None), (3, 6_000, [0.6, 0.3, 0.1])]
        powers = [power(side, n, 1.0, margin) for side, n, margin in settings]
        print(pd.DataFrame(powers).to_string(index=False))


if __name__ == "__main__":
    main()
