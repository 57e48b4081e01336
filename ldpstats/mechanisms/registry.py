"""The registry: every mechanism by name, and which one suits a question best."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.grr import GRR
from ldpstats.mechanisms.oue import OUE
from ldpstats.mechanisms.ss import SS

REGISTRY: tuple[type[Mechanism], ...] = (GRR, OUE, SS)


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
        f"the mechanism {name!r}", one_line([kind.name for kind in REGISTRY]), "See ldpstats.mechanisms()."
    )


def mechanisms() -> pd.DataFrame:
    """Return all mechanisms, a row each."""
    rows = [
        {
            "name": kind.name,
            "aliases": ", ".join(kind.aliases),
            "source": kind.source,
            "summary": (kind.__doc__ or "").splitlines()[0],
        }
        for kind in REGISTRY
    ]
    return pd.DataFrame(rows)


def recommend(k: int, epsilon: float, n: int = 1000) -> pd.DataFrame:
    """Rank the mechanisms by the exact standard error of a frequency when all k values are equally frequent.

    Ties go to the mechanism registered first, whose reports are simpler.

    Examples
    --------
    >>> recommend(k=16, epsilon=1.0).iloc[0]["name"]
    'ss'
    """
    rows = []
    for kind in REGISTRY:
        candidate = mechanism(kind.name, k=k, epsilon=epsilon)
        deviation = float(np.sqrt(candidate.variance(1 / k, n)))
        rows.append({"name": kind.name, "std_err": deviation, "epsilon per report": candidate.strict_epsilon()})
    ranked = pd.DataFrame(rows)
    order = np.argsort(np.round(ranked["std_err"] / ranked["std_err"].min(), 9), kind="stable")
    return ranked.iloc[order].reset_index(drop=True)
