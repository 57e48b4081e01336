"""The registry of mechanisms: each by name or as plain values, those of others registered, and which one is best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from inspect import isabstract
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.limits import MOST_CELLS
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.channel import Channel
from ldpstats.mechanisms.cohorts import ORAPPOR, ORR, RAPPOR
from ldpstats.mechanisms.dbitflip import DBitFlip, DBitFlipPM
from ldpstats.mechanisms.grr import GRR, RR, FakeResponse
from ldpstats.mechanisms.hadamard_response import HR, HRR
from ldpstats.mechanisms.histogram import SHE
from ldpstats.mechanisms.local_hashing import BLH, LH, OLH
from ldpstats.mechanisms.longitudinal_rappor import LRAPPOR
from ldpstats.mechanisms.longitudinal_rounds import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE, LUE
from ldpstats.mechanisms.sketch import CMS, HCMS, SHist
from ldpstats.mechanisms.ss import SS
from ldpstats.mechanisms.unary import OUE, SUE, THE, UE, OneHotCMS
from ldpstats.mechanisms.unequal import URAP, URR
from ldpstats.numbers.arrays import at_least, positive_epsilon
from ldpstats.numbers.grid import read_numerator
from ldpstats.presentation import progress
from ldpstats.privacy import plain_level
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.files import differences
from ldpstats.saving.registered import register

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
    LRAPPOR,
    DBitFlipPM,
)
"""The package's own mechanisms that k and epsilon make."""
OTHERS: tuple[type[Mechanism], ...] = (Channel, URR, URAP, FakeResponse)
"""Those that more makes, which protocols and files name all the same."""

_registered: tuple[type[Mechanism], ...] = ()
_RESERVED = "auto"
"""What protocols call the mechanism that `recommend` puts first."""

AnyMechanism = TypeVar("AnyMechanism", bound=type[Mechanism])
_PROBABILITIES = "probabilities"
_AS_EXACT = 0.01
"""Variances that differ by a smaller share are as good as equal: 1 % more respondents make up for it."""


def registered_mechanisms() -> tuple[type[Mechanism], ...]:
    """Return the classes of all mechanisms: the package's own, and then those that were registered."""
    return REGISTRY + _registered


def register_mechanism(kind: AnyMechanism) -> AnyMechanism:
    """Let a mechanism be found by its name and its aliases: by `mechanism`, `recommend`, protocols, audits and files.

    It lasts as long as the process; whoever reads a protocol that names the mechanism registers it first. Names
    stand for one mechanism only, so that a taken one is refused. Registering a class twice changes nothing.

    Parameters
    ----------
    kind : class
        A dataclass derived from `Mechanism`, with the fields `k` and `epsilon`; `ldpstats.conformance.certify` says
        whether it does what it claims.

    Returns
    -------
    class
        The same one, so that this serves as a decorator.

    Examples
    --------
    >>> from ldpstats import GRR
    >>> from ldpstats.extend import register_mechanism
    >>> register_mechanism(GRR) is GRR
    True
    """
    global _registered  # noqa: PLW0603  # the one thing that registering changes
    derived = isinstance(kind, type) and issubclass(kind, Mechanism)
    if not derived or not hasattr(kind, "__dataclass_params__") or isabstract(kind):
        raise LdpstatsError(
            f"{shortened(kind)} as a mechanism", "a dataclass derived from Mechanism that supplies all abstract members"
        )
    missing = {"k", "epsilon"} - {field.name for field in fields(kind)}
    if missing:
        raise LdpstatsError(f"{kind.__name__} without {one_line(sorted(missing))}", "the fields k and epsilon")
    if kind not in registered_mechanisms():
        names, origin = (kind.name, *kind.aliases), (kind.__module__, kind.__qualname__)
        # a cell that is run again brings the same class again
        others = tuple(other for other in _registered if (other.__module__, other.__qualname__) != origin)
        taken = {_RESERVED, *(name for known in REGISTRY + OTHERS + others for name in (known.name, *known.aliases))}
        if any(not name or name != name.strip().lower() or name in taken for name in names):
            raise LdpstatsError(
                f"the names {one_line(list(names))} of {kind.__name__}", "names in lower case that no other has"
            )
        _registered = (*others, register(kind))
    return kind


def checked_mechanism(value: object) -> Mechanism:
    """Return a mechanism; refuse anything else, such as a name or a class.

    Parameters
    ----------
    value : Mechanism
    """
    if not isinstance(value, Mechanism):
        raise LdpstatsError(f"{shortened(value)} as a mechanism", "a mechanism, such as GRR(4, epsilon=1.0)")
    return value


def mechanism(name: str, k: int, epsilon: float, **options: Any) -> Mechanism:
    """Make a mechanism by its name or an alias, in any case.

    Parameters
    ----------
    name : str
        "grr", "oue", ...: see `mechanisms`.
    k : int
        The number of values.
    epsilon : float
        The privacy level.
    **options : int or float
        Further parameters of that mechanism.

    Returns
    -------
    Mechanism
        An object of that mechanism's class.

    Examples
    --------
    >>> from ldpstats import mechanism
    >>> mechanism("k-RR", k=3, epsilon=1.0)
    GRR(k=3, epsilon=1.0)
    """
    kind = kind_named(name)
    try:
        return kind.asked_for(k, epsilon, **options)
    except TypeError as error:
        own = [field.name for field in fields(kind) if field.name not in ("k", "epsilon", "sensitive_epsilon")]
        raise LdpstatsError(
            f"the options {one_line(list(options))} for {kind.name}",
            f"{one_line(own)} beside k and epsilon",
            "Its rows make a channel: give them in Python, or the file of a protocol." if kind is Channel else "",
        ) from error


def kind_named(name: str) -> type[Mechanism]:
    """Return the class of a mechanism by its name or an alias, in any case: "grr", "k-RR"."""
    wanted = str(name).strip().lower()
    kinds: tuple[type[Mechanism], ...] = (*registered_mechanisms(), Channel, URR, URAP)
    for kind in kinds:
        if wanted == kind.name or wanted in kind.aliases:
            return kind
    raise LdpstatsError(
        f"the mechanism {shortened(name)}",
        one_line([kind.name for kind in kinds], len(kinds)),
        "See ldpstats.mechanisms() for what they are also known as.",
    )


def mechanisms(k: int = 16, epsilon: float = 1.0) -> pd.DataFrame:
    """Return all mechanisms that k and ε make, a row each, with their exact figures for `k` values at this level.

    Any other randomizer is a `Channel`, which is given by its rows.

    "epsilon" is the strict level of everything a respondent sends about one value, "bits" the cost of a report and
    "variance" the exact n-fold variance of the estimated frequency of a value that one respondent in k has (the mean
    over the values, where public hash functions make them differ). They are NaN where a mechanism refuses so many
    values, or so low a level. In the literature on local differential privacy (LDP) such mechanisms are frequency
    oracles.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The privacy level that is asked for.

    Returns
    -------
    DataFrame
        A row per mechanism: its name and aliases, its level, cost and variance, and where it was published.

    Examples
    --------
    >>> from ldpstats import mechanisms
    >>> mechanisms(k=4).set_index("name").loc[["grr", "oue"], ["bits", "variance"]].round(2)
          bits  variance
    name
    grr      2      2.08
    oue      4      4.12
    """
    rows = []
    for kind in progress(registered_mechanisms(), "mechanisms", unit="mechanism"):
        values = kind.only_k or k
        level, bits, variance, _ = _figures(kind, values, epsilon)
        rows.append(
            {
                "name": kind.name,
                "aliases": ", ".join(kind.aliases),
                "source": kind.source,
                "summary": (kind.__doc__ or "").partition("\n")[0],
                "purpose": kind.purpose,
                "k": values,
                "epsilon": level,
                "bits": bits,
                "variance": variance,
            }
        )
    return pd.DataFrame(rows)


def _figures(kind: type[Mechanism], k: int, epsilon: float) -> tuple[float, float, float, str]:
    """Return level, bits and variance of a mechanism, NaN where it refuses so many values or this level, and why."""
    at_least(k, 2, "k", MOST_CELLS)
    positive_epsilon(epsilon)
    try:
        made = mechanism(kind.name, k=k, epsilon=epsilon)
        # the mean over all values, at equal frequencies
        return made.strict_epsilon(), made.report_bits, float(np.mean(made.variance(np.full(k, 1 / k), 1))), ""
    except LdpstatsError as error:
        return np.nan, np.nan, np.nan, error.came


def recommend(k: int, epsilon: float, n: int = 1000) -> pd.DataFrame:
    """Rank the mechanisms for one answer by the exact standard error of a frequency when all k are equally frequent.

    Of mechanisms that are as exact as the best, up to 1 % of the variance, the one with the shortest reports comes
    first (with very many values that is OLH, whose reports do not grow with them); those that refuse so many values,
    or so low a level, come last. The last column says why a mechanism stands where it does.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The privacy level.
    n : int
        The number of respondents.

    Returns
    -------
    DataFrame
        A row per mechanism, the one to prefer first.

    Examples
    --------
    >>> from ldpstats import recommend
    >>> recommend(k=16, epsilon=1.0).iloc[0][["name", "why"]].tolist()
    ['ss', 'least variance']
    """
    respondents = at_least(n, 1, "n")
    kinds = [kind for kind in registered_mechanisms() if kind.purpose == "one answer" and kind.only_k in (None, k)]
    figures = [(kind.name, *_figures(kind, k, epsilon)) for kind in kinds]
    ranked = pd.DataFrame(figures, columns=["name", "epsilon per report", "bits per report", "std_err", "why"])
    ranked["std_err"] = np.sqrt(ranked["std_err"] / respondents)
    ranked = ranked[["name", "std_err", "bits per report", "epsilon per report", "why"]]
    if ranked["std_err"].isna().all():
        mechanism(kinds[0].name, k=k, epsilon=epsilon).noise  # noqa: B018  # says why itself
    least = float(ranked["std_err"].min())
    ratio = (ranked["std_err"] / least).round(9)
    exact = ratio.mask(ratio**2 <= 1 + _AS_EXACT, 1.0)
    order = np.lexsort((ratio, ranked["bits per report"], exact))
    ranked = ranked.iloc[order].reset_index(drop=True)
    ranked["why"] = [row["why"] or _why(row, ranked.iloc[0], least) for _, row in ranked.iterrows()]
    return ranked


def best_name(k: int, epsilon: float) -> str:
    """Return the name of the mechanism that `recommend` puts first.

    Parameters
    ----------
    k : int
    epsilon : float
    """
    return _best_name(k, epsilon, registered_mechanisms())


@lru_cache(maxsize=1024)
def _best_name(k: int, epsilon: float, _kinds: tuple[type[Mechanism], ...]) -> str:
    return str(recommend(k, epsilon)["name"].iloc[0])


def _why(row: pd.Series[Any], best: pd.Series[Any], least: float) -> str:
    ratio, saving = (row["std_err"] / least) ** 2, best["bits per report"] / row["bits per report"]
    longer = ", longer reports" if saving < 1 else ""
    if ratio < 1 + 1e-9:
        return f"least variance{longer}"
    if ratio <= 1 + _AS_EXACT:
        return f"within {100 * _AS_EXACT:g} % of the least variance{longer}"
    size = f", {saving:.3g} times shorter reports" if saving > 1 else ""
    return f"{ratio:.3g} times the least variance{size}"


def plain_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as plain values: also the sizes and probabilities that follow from its parameters today.

    Probabilities are whole numbers of 2^-64, as texts: many a language would round the numbers.

    Parameters
    ----------
    mechanism : Mechanism
    """
    numerators = mechanism.probabilities
    own = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    options = {
        name: encoded(value)
        for name, value in own.items()
        # parameters that are probabilities stand among these
        if numerators.get(name) != _lists(value)
    }
    own_level = encoded(plain_level(mechanism.epsilon))
    sizes = {"k": encoded(mechanism.k), **options, "epsilon": own_level, **mechanism.derived}
    return {
        "name": mechanism.name,
        **sizes,
        _PROBABILITIES: {name: _texts(numerator) for name, numerator in numerators.items()},
    }


def read_mechanism(plain: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism that `plain_mechanism` wrote; refuse it where name and parameters give another one today.

    Parameters
    ----------
    plain : mapping
    """
    if not isinstance(plain, Mapping) or "name" not in plain:
        raise LdpstatsError(f"the mechanism {shortened(plain)}", "its name, parameters and probabilities")
    kind = next((kind for kind in OTHERS if kind.name == plain["name"]), None) or kind_named(plain["name"])
    given = plain.get(_PROBABILITIES)
    numbers = {name: _whole(text) for name, text in given.items()} if isinstance(given, Mapping) else {}
    named = {field.name for field in fields(kind)}
    values = numbers | {name: decoded(value) for name, value in plain.items() if name in named}
    try:
        made = kind(**{name: value for name, value in values.items() if name in named})
    except TypeError as error:
        raise LdpstatsError(f"the mechanism {shortened(plain)}", f"the parameters of {kind.name}") from error
    known = plain_mechanism(made)
    other = differences(known, plain)
    if other:
        raise LdpstatsError(
            f"the mechanism {made} with {shortened({name: plain.get(name) for name in other}, 200)}",
            f"what it has in this version of ldpstats: {shortened({name: known.get(name) for name in other}, 200)}",
            "The file was altered, or another version wrote it.",
        )
    return made


def _lists(value: Any) -> Any:
    return list(map(_lists, value)) if isinstance(value, tuple) else value


def _texts(numerator: Any) -> Any:
    return list(map(_texts, numerator)) if isinstance(numerator, list) else str(numerator)


def _whole(plain: Any) -> Any:
    """Turn texts of digits back into whole numbers."""
    return tuple(map(_whole, plain)) if isinstance(plain, list) else read_numerator(plain)
