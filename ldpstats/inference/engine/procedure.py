"""The procedure of every test: method, statistic, asymptotic or Monte Carlo p-value, and when χ² is in doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import refuse_empty
from ldpstats.inference.engine.averaged import averaged
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.estimate_evidence import EstimateEvidence
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.monte_carlo import ALONE, AmongMany, MonteCarlo, automatic, drawn_pvalues
from ldpstats.inference.engine.null_model import NullFit, NullModel, curvature_loss
from ldpstats.inference.engine.scope import refuse_untold
from ldpstats.inference.engine.statistics import LikelihoodRatio, ScoreStatistic, Statistic, WaldStatistic
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table
from ldpstats.tables.shared import source_of

Method: TypeAlias = Literal["auto", "score", "gls", "lr", "wald"]
PValue: TypeAlias = Literal["auto", "asymptotic"] | MonteCarlo | AmongMany

ASYMPTOTIC = "asymptotic χ²"
_SMALL_COUNT = 5
# Where a curved hypothesis absorbs more than the first share of the degrees of freedom, χ² at .05 rejects less than .04
# of the true ones. Where more than the second, drawn tables depend too much on the fit: Monte Carlo rejects up to .095.
_CURVED, _TOO_CURVED = 0.03, 0.1
# There noise so wide drowns the skewness of rare reports, down to so few.
_SMALL_COUNT_IN_NOISE = 1
_NEVER = 1e-3
_NO_SHARE = 1e-9
_POSSIBLE = ", averaged over the margins that the reports leave possible"
_NEAREST = ", at the proper margins nearest to the estimate"
_AVERAGED = ", because the noise is so wide that a single fit would absorb much of it"
_BOUNDARY = ", because the fit did not converge: noise drives it to a boundary"
_CONSERVATIVE = ", which is conservative here: the noise is so wide that the hypothesis absorbs much of it"
_SOMEWHAT = ", because the noise is wide enough for the hypothesis to absorb some of it"
_NO_LIKELIHOOD = "counts whose likelihood is not available"
_NO_COVARIANCE = "sums of cells whose covariance under the hypothesis is not known"
STATISTICS: Mapping[str, Callable[[NullModel, Evidence, int], Statistic]] = {
    "score": ScoreStatistic,
    "gls": ScoreStatistic,
    "lr": LikelihoodRatio,
    "wald": WaldStatistic,
}
WORDS = {
    "score": "Rao score test allowing for the randomization",
    "gls": "generalized least squares",
    "lr": "likelihood ratio test allowing for the randomization",
    "wald": "Wald test with the covariance under the hypothesis",
}


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a test found, before it is put into words; `null` are the fitted frequencies, shape (cells,)."""

    statistic: float
    pvalue: float
    pvalue_source: str
    df: int
    method: str
    null: FloatArray
    evidence: Evidence
    converged: bool = True
    seed: int | None = None


def evidence_of(table: Table) -> Evidence:
    """Return what the reports tell about a table: its blocks, or the sums that were estimated of others.

    Of a reconstructed table that is what was asked, and nothing of what was assumed to fill in the rest; of a
    consistent one, its own reports: their law under the hypothesis is known, that of the fit only at its estimate.
    """
    refuse_empty(table.n, f"the table of {' and '.join(table.attributes)}")
    reported = source_of(table) or table
    blocks = [block for block in reported.blocks if block.n > 0]
    return BlockEvidence.observed(blocks) if blocks else EstimateEvidence.of(table.measured)


def null_model_outcome(
    table: Table, model: NullModel, method: Method, pvalue: PValue, possible: NDArray[np.intp] | None
) -> Outcome:
    """Test a null model against everything else, by the statistic of this name."""
    evidence = evidence_of(table).among(possible)
    chosen, words = chosen_method(method, evidence)
    cells = table.domain.size() if possible is None else possible.size
    return outcome_of(table, STATISTICS[chosen](model, evidence, cells), model, evidence, words, pvalue)


def outcome_of(
    table: Table, statistic: Statistic, model: NullModel, evidence: Evidence, words: str, pvalue: PValue
) -> Outcome:
    """Measure the evidence by a statistic, and find its p-value under the hypothesis."""
    return outcomes_of([table], statistic, model, [evidence], words, pvalue)[0]


def outcomes_of(
    tables: Sequence[Table],
    statistic: Statistic,
    model: NullModel,
    parts: Sequence[Evidence],
    words: str,
    pvalue: PValue,
) -> list[Outcome]:
    """Test several tables, all of them `alike`, at once, each as `outcome_of` does."""
    refuse_untold(tables[0], statistic.df)
    evidence = parts[0] if len(parts) == 1 else BlockEvidence.side_by_side(parts)
    fit = statistic(evidence)
    members = model.nearest(fit.frequencies)
    rarest = evidence.rarest_expected_report(model.frequencies(members))
    for table, null, least in zip(tables, fit.frequencies, rarest, strict=True):
        if least < _NEVER and members.shape[-1]:
            _refuse_unseen_categories(table, evidence.whole(null))
    checks = [ApproximationCheck()] * len(parts)
    if pvalue == "auto" or isinstance(pvalue, AmongMany):
        checks = approximations_checked(model, evidence, fit, rarest, statistic)
    family, cells = pvalue if isinstance(pvalue, AmongMany) else ALONE, fit.frequencies.shape[-1]
    requests = [
        automatic(part, cells, family) if check.draw else _asked_monte_carlo(pvalue)
        for part, check in zip(parts, checks, strict=True)
    ]
    asked = {place: request for place, request in enumerate(requests) if request}
    pvalues: dict[int, float] = {}
    if asked:
        drawn = drawn_pvalues(
            [*asked.values()], statistic, [parts[place] for place in asked], fit.frequencies[[*asked]]
        )
        pvalues = dict(zip(asked, drawn, strict=True))
    outcomes = []
    for place, (part, check, request) in enumerate(zip(parts, checks, requests, strict=True)):
        observed = float(fit.statistic[place]) if check.score is None else check.score
        outcomes.append(
            Outcome(
                statistic=observed,
                pvalue=pvalues[place] if request else chi_square_pvalue(statistic.df, observed),
                pvalue_source=f"{request or ASYMPTOTIC}{check.why}",
                df=statistic.df,
                method=f"{words}{check.at}",
                null=fit.frequencies[place],
                evidence=part,
                converged=bool(fit.converged[place]),
                seed=request.seed if request else None,
            )
        )
    return outcomes


def noncentrality_of(frequencies: FloatArray, model: NullModel, evidence: Evidence) -> tuple[float, int]:
    """Return the noncentrality and the degrees of freedom of a test, if the cells have these frequencies.

    It is the statistic of what is expected, without chance ("exemplary data", O'Brien 1986; Self, Mauritsen & Ohara
    1992). The fit of the hypothesis moves as it does in a test: in strong dependences that takes away up to a tenth.
    """
    statistic = STATISTICS[chosen_method("auto", evidence)[0]](model, evidence, frequencies.size)
    return float(statistic(evidence.expected(frequencies)).statistic[0]), statistic.df


def chi_square_pvalue(df: int, statistic: float) -> float:
    """Return the probability that a χ² variable exceeds the statistic."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))


def asymptotic_test(table: Table, model: NullModel, method: Method = "auto") -> tuple[float, float, int]:
    """Return statistic, asymptotic p-value and degrees of freedom, whatever may be said against χ² here."""
    evidence = evidence_of(table)
    statistic = STATISTICS[chosen_method(method, evidence)[0]](model, evidence, table.domain.size())
    refuse_untold(table, statistic.df)
    observed = float(statistic(evidence).statistic[0])
    return observed, chi_square_pvalue(statistic.df, observed), statistic.df


def chosen_method(method: Method, evidence: Evidence, allowed: Sequence[str] = tuple(STATISTICS)) -> tuple[str, str]:
    """Return the name of the statistic to use, and the method in words."""
    usual = "score" if evidence.has_likelihood else "gls"
    chosen = usual if method == "auto" else method
    if chosen not in allowed:
        raise LdpstatsError(f"method = {method!r}", f"'auto', {', '.join(map(repr, allowed))}")
    why_not = {} if evidence.has_likelihood else dict.fromkeys(("score", "lr"), _NO_LIKELIHOOD)
    why_not |= {} if evidence.has_null_covariance else {"wald": _NO_COVARIANCE}
    if chosen in why_not:
        raise LdpstatsError(
            f"method = {method!r} for {why_not[chosen]}",
            " or ".join(repr(one) for one in allowed if one not in why_not),
            f"'auto' takes {usual!r} here.",
        )
    return chosen, f"{WORDS[chosen]} {evidence.words}" if chosen == "gls" else WORDS[chosen]


def _refuse_unseen_categories(table: Table, null: FloatArray) -> None:
    cells = null.reshape(table.shape)
    unseen = [
        f"{category!r} of {name!r}"
        for axis, name in enumerate(table.attributes)
        for category, share in zip(
            table.domain.categories[name],
            cells.sum(axis=tuple(other for other in range(cells.ndim) if other != axis)),
            strict=True,
        )
        if share < _NO_SHARE
    ]
    if unseen:
        raise NotIdentifiedError(
            f"a table in which nobody reported {', '.join(unseen)}",
            "tables in which every category occurs",
            "Leave the category out.",
        )


def _asked_monte_carlo(pvalue: PValue) -> MonteCarlo | None:
    if isinstance(pvalue, MonteCarlo):
        return pvalue.seeded()
    if pvalue not in ("auto", "asymptotic") and not isinstance(pvalue, AmongMany):
        raise LdpstatsError(f"pvalue = {pvalue!r}", "'auto', 'asymptotic', a MonteCarlo or AmongMany tests")
    return None


@dataclass(frozen=True, slots=True)
class ApproximationCheck:
    """Why the χ² of a fit is in doubt, and what is done: draw tables, or take the score somewhere else, in words."""

    why: str = ""
    draw: bool = False
    score: float | None = None
    at: str = ""


def approximations_checked(
    model: NullModel, evidence: Evidence, fit: NullFit, rarest: FloatArray, statistic: Statistic
) -> list[ApproximationCheck]:
    """Say of every table why the χ² of its fit is in doubt, if it is, and what to do where something is better."""
    form = averaged(statistic, model)
    bent = rarest >= (_SMALL_COUNT if form is None else _SMALL_COUNT_IN_NOISE)
    bent &= fit.converged | (not model.bounded)
    among, share = np.flatnonzero(bent), np.zeros(rarest.size)
    if among.size:
        share[among] = curvature_loss(model, evidence.subset(among), fit.frequencies[among]) / statistic.df
    found = []
    for place, null in enumerate(fit.frequencies):
        part = evidence.subset(np.array([place]))
        average = form(part, null) if form is not None and share[place] > _TOO_CURVED else None
        near_enough = bent[place] and share[place] <= _CURVED and rarest[place] >= _SMALL_COUNT
        if average is not None:
            found.append(ApproximationCheck(_AVERAGED, score=average, at=_POSSIBLE))
        elif form is not None and form.is_wide and near_enough and not fit.converged[place]:
            found.append(ApproximationCheck(_BOUNDARY, score=form.at_nearest(part), at=_NEAREST))
        elif not fit.converged[place] and (bent[place] or model.bounded):
            found.append(ApproximationCheck(_BOUNDARY, draw=True))
        elif rarest[place] < _SMALL_COUNT:
            few = f", because the least count is worth only {rarest[place]:.1f} expected reports"
            found.append(ApproximationCheck(few, draw=True))
        elif share[place] > _TOO_CURVED:
            found.append(ApproximationCheck(_CONSERVATIVE))
        else:
            found.append(ApproximationCheck(_SOMEWHAT, draw=True) if share[place] > _CURVED else ApproximationCheck())
    return found
