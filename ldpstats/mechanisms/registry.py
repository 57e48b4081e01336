"""The registry: every mechanism by name, and which one suits a question best."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arrays import at_least
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.closed_alphabet import ORAPPOR, ORR
from ldpstats.mechanisms.dbitflip import DBitFlip, DBitFlipPM
from ldpstats.mechanisms.grr import GRR, RR
from ldpstats.mechanisms.hadamard import HR, HRR
from ldpstats.mechanisms.histogram import SHE
from ldpstats.mechanisms.local_hashing import BLH, LH, OLH
from ldpstats.mechanisms.longitudinal_response import LBLH, LGRR, LOLH
from ldpstats.mechanisms.longitudinal_unary import LOSUE, LOUE, LSOUE, LSUE, LUE
from ldpstats.mechanisms.projection import SHist
from ldpstats.mechanisms.rappor import RAPPOR
from ldpstats.mechanisms.sketch import CMS, HCMS
from ldpstats.mechanisms.ss import SS
from ldpstats.mechanisms.unary import OUE, SUE, THE, UE, OneHotCMS

REGISTRY: tuple[type[Mechanism], ...] = (
    RR,
    GRR,
    SUE,
    OUE,
    UE,
    SHE,
    THE,
    BLH,
    OLH,
    LH,
    SS,
    HR,
    HRR,
    SHist,
    CMS,
    HCMS,
    OneHotCMS,
    RAPPOR,
    ORR,
    ORAPPOR,
    DBitFlip,
    LGRR,
    LSUE,
    LOUE,
    LSOUE,
    LOSUE,
    LUE,
    LBLH,
    LOLH,
    DBitFlipPM,
)


def mechanism(name: str, k: int, epsilon: float, **options: Any) -> Mechanism:
    """Make a mechanism by its name or an alias, in any case.

    Examples
    --------
    >>> mechanism("k-RR", k=3, epsilon=1.0)
    GRR(k=3, epsilon=1.0)
    """
    wanted = str(name).strip().lower()
    for kind in REGISTRY:
        if wanted == kind.name or wanted in kind.aliases:
            try:
                return kind(k=k, epsilon=epsilon, **options)  # type: ignore[call-arg]  # every kind is such a dataclass
            except TypeError as error:
                own = [one.name for one in fields(kind) if one.name not in ("k", "epsilon")]
                raise LdpstatsError(
                    f"the options {one_line(list(options))} for {kind.name}", f"{one_line(own)} beside k and epsilon"
                ) from error
    raise LdpstatsError(
        f"the mechanism {name!r}",
        one_line([kind.name for kind in REGISTRY], len(REGISTRY)),
        "See ldpstats.mechanisms() for what they are also known as.",
    )


def mechanisms(k: int = 16, epsilon: float = 1.0) -> pd.DataFrame:
    """Return all mechanisms, a row each, with their exact figures for `k` values at the level `epsilon`.

    "epsilon" is the strict level of everything a respondent sends about one value, "bits" the cost of a report
    and "variance" the exact n-fold variance of the estimated frequency of a value that one respondent in k has (the
    mean over the values, where public hash functions make them differ).

    Examples
    --------
    >>> mechanisms(k=4).set_index("name").loc[["grr", "oue"], ["bits", "variance"]].round(2)
          bits  variance
    name
    grr      2      2.08
    oue      4      4.12
    """
    rows = []
    for kind in REGISTRY:
        one = mechanism(kind.name, k=kind.only_k or k, epsilon=epsilon)
        rows.append(
            {
                "name": kind.name,
                "aliases": ", ".join(kind.aliases),
                "source": kind.source,
                "summary": (kind.__doc__ or "").splitlines()[0],
                "purpose": kind.purpose,
                "k": one.k,
                "epsilon": one.strict_epsilon(),
                "bits": one.report_bits,
                "variance": _mean_variance(one),
            }
        )
    return pd.DataFrame(rows)


def recommend(k: int, epsilon: float, n: int = 1000) -> pd.DataFrame:
    """Rank the mechanisms for one answer by the exact standard error of a frequency when all k are equally frequent.

    Of mechanisms that are equally exact the one with the shorter reports comes first, then the one registered
    first. The last column says why a mechanism stands where it does.

    Examples
    --------
    >>> recommend(k=16, epsilon=1.0).iloc[0][["name", "why"]].tolist()
    ['ss', 'least variance']
    """
    respondents = at_least(n, 1, "n")
    kinds = [kind for kind in REGISTRY if kind.purpose == "one answer" and kind.only_k in (None, k)]
    candidates = [mechanism(kind.name, k=k, epsilon=epsilon) for kind in kinds]
    ranked = pd.DataFrame(
        {
            "name": [one.name for one in candidates],
            "std_err": [float(np.sqrt(_mean_variance(one) / respondents)) for one in candidates],
            "bits per report": [one.report_bits for one in candidates],
            "epsilon per report": [one.strict_epsilon() for one in candidates],
        }
    )
    ratio = (ranked["std_err"] / ranked["std_err"].min()).round(9)
    ranked = ranked.iloc[np.lexsort((ranked["bits per report"], ratio))].reset_index(drop=True)
    ranked["why"] = [_why(row, ranked.iloc[0]) for _, row in ranked.iterrows()]
    return ranked


@lru_cache(maxsize=1024)
def best_name(k: int, epsilon: float) -> str:
    """Return the name of the mechanism that `recommend` puts first."""
    return str(recommend(k, epsilon)["name"].iloc[0])


def _mean_variance(mechanism: Mechanism) -> float:
    """Return the mean over all values of the n-fold variance, where they are equally frequent."""
    return float(np.mean(mechanism.variance(np.full(mechanism.k, 1 / mechanism.k), 1)))


def _why(row: pd.Series[Any], best: pd.Series[Any]) -> str:
    ratio, saving = (row["std_err"] / best["std_err"]) ** 2, best["bits per report"] / row["bits per report"]
    if ratio < 1 + 1e-9:
        return (
            "least variance" if row["bits per report"] <= best["bits per report"] else "least variance, longer reports"
        )
    size = f", {saving:.3g} times shorter reports" if saving > 1 else ""
    return f"{ratio:.3g} times the least variance{size}"
