"""The procedure of every test: method, statistic, asymptotic or Monte Carlo p-value, and when χ² is in doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import refuse_empty
from ldpstats.inference.engine.evidence import BlockEvidence, CellEvidence, EstimateEvidence, Evidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.monte_carlo import ALONE, AmongMany, MonteCarlo, automatic, drawn_pvalues
from ldpstats.inference.engine.null_model import NullFit, NullModel, curvature_loss, null_score
from ldpstats.inference.engine.statistics import LikelihoodRatio, ScoreStatistic, Statistic, WaldStatistic
from ldpstats.noise import shortest, solve_or_shortest
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Reconstructed, Table
from ldpstats.tables.shared import source_of

Attributes = tuple[str, ...]
_DRAWS = 1000
# of the covariance: wider than what the reports say, so that no draw weighs much
_WIDER = 2.0
_FEWEST_DRAWS = 20
_WIDE = 24
# cells of all draws that are measured at once
_AT_ONCE = 1 << 19
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


def evidence_of(table: Table, possible: NDArray[np.intp] | None = None) -> CellEvidence:
    """Return what the reports tell about a table: its blocks, or the sums that were estimated of others.

    Of a reconstructed table that is what was asked, and nothing of what was assumed to fill in the rest; of a
    consistent one, its own reports: their law under the hypothesis is known, that of the fit only at its estimate.
    `possible` are the cells that can have respondents, if not all can.
    """
    refuse_empty(table.n, f"the table of {' and '.join(table.attributes)}")
    reported = source_of(table) or table
    blocks = [block for block in reported.blocks if block.n > 0]
    return BlockEvidence.observed(blocks, possible) if blocks else EstimateEvidence.of(table.measured, possible)


def null_model_outcome(
    table: Table, model: NullModel, method: Method, pvalue: PValue, possible: NDArray[np.intp] | None
) -> Outcome:
    """Test a null model against everything else, by the statistic of this name."""
    evidence = evidence_of(table, possible)
    chosen, words = chosen_method(method, evidence)
    cells = table.domain.size() if possible is None else possible.size
    return outcomes_of([table], STATISTICS[chosen](model, evidence, cells), model, [evidence], words, pvalue)[0]


def outcomes_of(
    tables: Sequence[Table],
    statistic: Statistic,
    model: NullModel,
    parts: Sequence[Evidence],
    words: str,
    pvalue: PValue,
) -> list[Outcome]:
    """Test several tables, all of them `alike`, at once, each by the same statistic."""
    refuse_untold(tables[0], statistic.df)
    evidence = parts[0] if len(parts) == 1 else BlockEvidence.side_by_side(parts)
    fit = statistic(evidence)
    members = model.nearest(fit.frequencies)
    rarest = evidence.rarest_expected_report(model.frequencies(members))
    for table, null, least in zip(tables, fit.frequencies, rarest, strict=True):
        if least < _NEVER and members.shape[-1]:
            _refuse_unseen_categories(table, evidence.whole(null))
    if not (pvalue in ("auto", "asymptotic") or isinstance(pvalue, MonteCarlo | AmongMany)):
        raise LdpstatsError(f"pvalue = {pvalue!r}", "'auto', 'asymptotic', a MonteCarlo or AmongMany tests")
    checks = [ApproximationCheck()] * len(parts)
    if pvalue == "auto" or isinstance(pvalue, AmongMany):
        checks = approximations_checked(model, evidence, fit, rarest, statistic)
    family = pvalue if isinstance(pvalue, AmongMany) else ALONE
    cells = fit.frequencies.shape[-1]
    requests = [
        automatic(part, cells, family) if check.draw else pvalue.seeded() if isinstance(pvalue, MonteCarlo) else None
        for part, check in zip(parts, checks, strict=True)
    ]
    to_draw = {index: request for index, request in enumerate(requests) if request}
    pvalues: dict[int, float] = {}
    if to_draw:
        drawn = drawn_pvalues(
            [*to_draw.values()], statistic, [parts[index] for index in to_draw], fit.frequencies[[*to_draw]]
        )
        pvalues = dict(zip(to_draw, drawn, strict=True))
    outcomes = []
    for index, (part, check, request) in enumerate(zip(parts, checks, requests, strict=True)):
        observed = float(fit.statistic[index]) if check.score is None else check.score
        outcomes.append(
            Outcome(
                statistic=observed,
                pvalue=pvalues[index] if request else chi_square_pvalue(statistic.df, observed),
                pvalue_source=f"{request or ASYMPTOTIC}{check.why}",
                df=statistic.df,
                method=f"{words}{check.at}",
                null=fit.frequencies[index],
                evidence=part,
                converged=bool(fit.converged[index]),
                seed=request.seed if request else None,
            )
        )
    return outcomes


def noncentrality_of(frequencies: FloatArray, model: NullModel, evidence: CellEvidence) -> tuple[float, int]:
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
            " or ".join(repr(name) for name in allowed if name not in why_not),
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
    # the score itself, not the likelihood ratio that is made of it
    scored = (
        (statistic, model)
        if isinstance(statistic, ScoreStatistic)
        and not isinstance(statistic, LikelihoodRatio)
        and isinstance(model, ProductOfConditionals)
        else None
    )
    wide = scored and len(scored[1].shape) == 2 and min(scored[1].shape) > _WIDE
    regular = rarest >= (_SMALL_COUNT_IN_NOISE if scored else _SMALL_COUNT)
    regular &= fit.converged | (not model.bounded)
    indices, share = np.flatnonzero(regular), np.zeros(rarest.size)
    if indices.size:
        share[indices] = curvature_loss(model, evidence.subset(indices), fit.frequencies[indices]) / statistic.df
    checks = []
    for index, null in enumerate(fit.frequencies):
        part = evidence.subset(np.array([index]))
        average = averaged_score(*scored, part, null) if scored and share[index] > _TOO_CURVED else None
        near_enough = regular[index] and share[index] <= _CURVED and rarest[index] >= _SMALL_COUNT
        if average is not None:
            checks.append(ApproximationCheck(_AVERAGED, score=average, at=_POSSIBLE))
        elif scored and wide and near_enough and not fit.converged[index]:
            checks.append(ApproximationCheck(_BOUNDARY, score=nearest_score(*scored, part), at=_NEAREST))
        elif not fit.converged[index] and (regular[index] or model.bounded):
            checks.append(ApproximationCheck(_BOUNDARY, draw=True))
        elif rarest[index] < _SMALL_COUNT:
            few = f", because the least count is worth only {rarest[index]:.1f} expected reports"
            checks.append(ApproximationCheck(few, draw=True))
        elif share[index] > _CURVED:
            too_much = share[index] > _TOO_CURVED
            checks.append(ApproximationCheck(_CONSERVATIVE if too_much else _SOMEWHAT, draw=not too_much))
        else:
            checks.append(ApproximationCheck())
    return checks


def averaged_score(
    statistic: ScoreStatistic, model: ProductOfConditionals, evidence: Evidence, fitted: FloatArray
) -> float | None:
    """Return the mean of Neyman's C(α) statistic over the posterior distribution of the null's parameters.

    At any parameters of the null, uᵀ J⁻ u − (Kᵀu)ᵀ (KᵀJK)⁻ (Kᵀu) leaves out what their tangents explain (Neyman 1959);
    at the true ones it is χ², however wide the noise. Where noise is wider than the simplex, a free fit of the null
    follows it and explains more than its tangents would; proper distributions that the reports leave possible hardly
    can. The statistic is averaged over these, as discrepancies are in Gelman, Meng & Stern (1996), with Jeffreys' prior
    Dirichlet(½) for every row of every factor and the estimate's normal density with the covariance at each. Draws are
    Dirichlet near the fit, with a fixed seed, and weighted. How near χ² the mean is was measured, not proven
    (benchmarks/inference.py, "the conservative corner"). It is None where reports tell the parameters, so that draws
    are worth less than 20.
    """
    solve = statistic.fit.solve
    centre = model.nearest(fitted)
    _, information = evidence.score(model.frequencies(centre)[None, :])
    own = information.between(model.jacobian(centre))[0]
    if solve is shortest:
        # of what the evidence leaves open is known that frequencies are between zero and one
        own = own + np.eye(centre.size)
    covariance = _WIDER * solve_or_shortest(own, np.eye(centre.size))
    draws, weights = model.scattered(fitted, covariance, _DRAWS, np.random.default_rng(0))
    measured = []
    for some in np.array_split(draws, -(-len(draws) * fitted.size // _AT_ONCE)):
        at = null_score(model, evidence, some, solve)
        distance = statistic.total(at.score, at.information)
        measured.append([np.maximum(distance - at.gain, 0), statistic.volume(at.information) - distance])
    beyond, density = np.concatenate(measured, axis=1)
    logarithms = weights + density / 2
    shares = np.exp(logarithms - logarithms.max())
    shares = shares / shares.sum()
    return None if _FEWEST_DRAWS * (shares @ shares) > 1 else float(shares @ beyond)


def nearest_score(statistic: ScoreStatistic, model: ProductOfConditionals, evidence: Evidence) -> float:
    """Return the statistic of one table at the proper parameters that are nearest to its estimate.

    In wide tables it is χ² where a fit does not converge, at .03 to .06 of a nominal .05 (measured); but in long
    ones, as of 3 by 300, hardly ever significant: there, and in small ones, tables are drawn.
    """
    at = null_score(model, evidence, statistic.fit.start(model, evidence), statistic.fit.solve)
    return float(np.maximum(statistic.total(at.score, at.information) - at.gain, 0)[0])


def asked_together(table: Table) -> list[Attributes]:
    """Return the largest sets of a table's attributes that some reports are about together."""
    provenance, names = table.provenance, table.attributes
    if not isinstance(provenance, Reconstructed):
        return [names]
    # answers of one respondent that were counted together are about all their attributes
    groups = [*provenance.groups, *(block.question.about for block in table.blocks)]
    within = dict.fromkeys(tuple(name for name in names if name in group) for group in groups)
    return [group for group in within if group and not any(set(group) < set(other) for other in within)]


def never_together(table: Table) -> list[Attributes]:
    """Return the smallest sets of a table's attributes that nobody was asked about together."""
    asked, names = asked_together(table), table.attributes
    apart = (
        [chosen for chosen in combinations(names, size) if not any(set(chosen) <= set(group) for group in asked)]
        for size in range(2, len(names) + 1)
    )
    return next((sets for sets in apart if sets), [])


def scope_in_words(table: Table) -> str:
    """Say what a test is about where not all attributes of its table were asked about together; empty if all were."""
    if not never_together(table):
        return ""
    asked = " and ".join(f"({', '.join(group)})" for group in asked_together(table))
    return f"Of these attributes, only {asked} were asked about together: the test is of what they tell, no more."


def refuse_untold(table: Table, df: int) -> None:
    """Refuse a hypothesis without degrees of freedom: what a table shows of it is the work of an assumption."""
    if df > 0:
        return
    apart = never_together(table)
    if not apart:
        raise NotIdentifiedError(
            "reports that tell nothing about the hypothesis",
            "reports that identify more contrasts than the hypothesis leaves free",
            "Ask for the cells themselves, or for functions of them that the hypothesis is about.",
        )
    nobody = ", nor about ".join(f"{listing(names)} together" for names in apart)
    raise NotIdentifiedError(
        f"a hypothesis that the reports tell nothing about: nobody was asked about {nobody}; what the table shows of "
        "that follows from an assumption",
        "a hypothesis about what was asked together",
        f"Ask the group {apart[0]!r}; bounds() of the table says what is known without an assumption.",
    )


def listing(names: Sequence[str]) -> str:
    """Join names by commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
