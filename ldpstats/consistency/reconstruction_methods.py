"""Reconstruction methods by name: maximum entropy, EM, shrinkage, and least violation by l2, l1 or elastic net.

A method takes tables and a target to proportions, and says in words what these are and what they assume. One that
needs no more than noisy marginals is a function of these and the target: `from_marginals` makes a method of it, and
its covariance is that of marginals drawn again. So another method is a function, and a line in
`RECONSTRUCTION_METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.consistency.least_violation import (
    GAMMA,
    absolute_share,
    fitted_joint,
    least_violating_refits,
    shortest_refits,
)
from ldpstats.consistency.marginals import Attributes, Marginal, refuse_untold, within
from ldpstats.consistency.maximum_entropy import weighed_together
from ldpstats.consistency.profile_limits import ProfileLimits
from ldpstats.consistency.relevant_marginals import relevant_marginals
from ldpstats.consistency.shrinkage import shrunken_joint, shrunken_refits
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import most_likely
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import Limits
from ldpstats.estimation.likelihood import Fitted
from ldpstats.estimation.simplex import nearest_proper, proportionally_fitted
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.limits import LARGEST_JOINT
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table, pooled_blocks, pooled_measured
from ldpstats.tables.provenance import Groups
from ldpstats.tables.shared import overlapping
from ldpstats.workers import each


def redrawn_estimates(
    tables: Sequence[Table], target: Domain, size: int, rng: np.random.Generator
) -> tuple[list[FloatArray], str]:
    """Draw so many sets like these tables (parametric bootstrap), with estimates added up to the target's attributes.

    Tables that have respondents in common are drawn together, as normal estimates; the words say why their covariance
    is an upper bound, if it is one.
    """
    kept = [tuple(name for name in target.names if name in table.attributes) for table in tables]
    if overlapping(tables):
        measured = pooled_measured(tables, target)
        together = rng.multivariate_normal(measured.estimate, measured.covariance, size=size, method="eigh")
        return np.split(together, np.cumsum([target.size(names) for names in kept])[:-1], axis=1), measured.bound
    estimates: list[FloatArray] = []
    for table, names in zip(tables, kept, strict=True):
        drawn: FloatArray
        if table.figures:
            cells = table.figures.shown
            drawn = rng.multivariate_normal(cells.estimate, cells.covariance, size=size, method="eigh")
        else:
            proper = nearest_proper(table.unbiased.estimate)
            drawn = UnbiasedPooling(table.blocks).estimate([block.draw(proper, size, rng) for block in table.blocks])
        estimates.append(drawn @ np.eye(target.size(names))[table.domain.onto(names)])
    return estimates, ""


def most_likely_even(blocks: Sequence[Block]) -> Fitted:
    """Maximum likelihood by EM from blocks of one table: proper frequencies under which all reports are most likely.

    EM goes through all channels at once: a step multiplies the frequency of a cell c by Σ o_y Q(y|c) / μ_y over the
    outputs y of all blocks, o_y being their shares of the reports and μ_y their probabilities. It ends where no other
    frequencies can have a log-likelihood per report that is higher by 1e-10, and warns if it has to end before.

    Where tables tell nothing about an interaction, many frequencies are equally likely. Accelerated EM may end at any,
    so that those of maximum entropy with the same answers to every question are taken: see `proportionally_fitted`.
    Reports count as independent; where respondents are behind several tables, this is a composite likelihood.
    """
    fitted, n = most_likely(blocks), sum(block.n for block in blocks)
    fitted.warn_unless_converged(n)
    questions = {block.question: block.classes for block in blocks}
    even = proportionally_fitted(fitted.frequencies, questions.values())
    likelihood = float(BlockEvidence.observed(blocks).log_likelihood(even[None, :])[0])
    gap = fitted.gap + (fitted.log_likelihood - likelihood) / n
    return replace(fitted, frequencies=even, log_likelihood=likelihood, gap=gap)


def joint_blocks(tables: Iterable[Table], domain: Domain, target: Iterable[str]) -> tuple[Domain, list[Block]]:
    """Attributes of a table that holds the target, and the blocks of all tables that tell about it, as blocks of it.

    A block about some attributes becomes one about the whole table, with a question that all cells answer alike which
    agree in these attributes. Tables with further attributes are added up to the target where their noise allows that
    (truth or fake); the others bring their further attributes into the common table.
    """
    wanted = domain.project(target).names
    telling = [table for table in tables if table.n > 0 and not set(wanted).isdisjoint(table.attributes)]
    refuse_untold(wanted, [table.attributes for table in telling])
    for table in telling:
        if not table.blocks or not all(block.noise.has_likelihood for block in table.blocks):
            kind = "reports without a likelihood" if table.blocks else "no reports of its own"
            raise LdpstatsError(
                f"the table of {one_line(table.attributes)}, with {kind}",
                "tables whose reports are one output of a channel each (randomized response, cohorts)",
                "'l2', 'l1', 'elastic-net' and shrinkage need no more than estimates with covariances.",
            )
    further = [name for table in telling if not _added_up(table, wanted) for name in table.attributes]
    common = domain.project(dict.fromkeys([*wanted, *further]))
    if common.size() > LARGEST_JOINT:
        raise LdpstatsError(
            f"a joint table of {one_line(common.names)} with {common.size():,} cells",
            f"at most {LARGEST_JOINT:,} cells",
            "Ask for fewer attributes together, or leave out tables with other attributes that cannot be added up.",
        )
    once = pooled_blocks(telling, common)
    if once is not None:
        return common, list(once)
    # different reports of the same respondents: a composite likelihood
    blocks = [block for table in telling for block in _added_up(table, common.names)]
    # RRBA has many blocks with few questions
    asking = {block.question: block for block in blocks}
    about = {question: block.widened(common).question for question, block in asking.items()}
    return common, [replace(block, question=about[block.question]) for block in blocks]


def _added_up(table: Table, attributes: Attributes) -> Sequence[Block]:
    """Blocks of a table, added up to those of its attributes that are among these; none if that is impossible."""
    try:
        marginal = table.marginal(name for name in table.attributes if name in attributes)
    except NotIdentifiedError:  # reports that cannot be added up, and whose table has no estimate either
        return ()
    # sums of supports have two moments and no likelihood
    return marginal.blocks if all(block.noise.has_likelihood for block in marginal.blocks) else ()


# generators that are written out
_MOST_NAMED = 12
_DELTA_METHOD = "Its covariance is that of the delta method; near zero, standard errors are half as long as intervals."


class Reconstruction(NamedTuple):
    """Reconstructed proportions of a target, and what else is to be said of them."""

    proportions: FloatArray
    # from a number of resamples and a generator to the covariance, and how it was found
    covariance: Callable[[int, np.random.Generator], tuple[FloatArray, str]]
    note: str = ""  # what readers must know of this fit
    joint: Attributes = ()  # attributes of the joint table that was fitted, if not the target's
    groups: Groups = ()  # what reports are about together, if not the attributes of the tables
    limits: Limits | None = None  # intervals of the method's own
    refused: str = ""  # why there are no intervals


Chosen: TypeAlias = tuple[list[Table], str]
"""Tables that bear upon a target, and what is to be said of those that are left out."""
JointFit: TypeAlias = Callable[[Sequence[Marginal], Domain], FloatArray]
"""From noisy marginals to the proportions of a target."""
JointRefits: TypeAlias = Callable[[Sequence[Marginal], Sequence[FloatArray], Domain, FloatArray], FloatArray]
"""From marginals within a target, rows of estimates for each, the target and its fit to a row of proportions each."""


def overlapping_tables(tables: Sequence[Table], target: Domain) -> Chosen:
    """Choose the tables that have attributes in common with the target."""
    return [table for table in tables if not set(table.attributes).isdisjoint(target.names)], ""


@dataclass(frozen=True, slots=True)
class ReconstructionMethod:
    """A way to put a table together from tables that overlap it.

    Parameters
    ----------
    fit : callable
        From tables to the proportions of a target.
    words : str
        What these are, with a full stop: another sentence follows.
    assumption : callable
        From the groups behind a fit, and its attributes, to what must hold beside the reports.
    refused : str
        Why there are no intervals where the reports leave cells open.
    choose : callable
        Chooses the tables that bear upon the target.

    Examples
    --------
    >>> from ldpstats.extend import RECONSTRUCTION_METHODS
    >>> method = RECONSTRUCTION_METHODS["max-entropy"]
    >>> print(method.words)
    the distribution of maximum entropy that is nearest to all tables, weighed by inverse variances; interactions
    that no table is about are absent.
    >>> print(method.assumption((("sex", "car"), ("car", "age")), ("sex", "age")))
    no interaction beyond the groups that were asked about: log-linear model [sex car] [car age]
    """

    fit: Callable[[Sequence[Table], Domain], Reconstruction]
    words: str
    assumption: Callable[[Groups, Attributes], str]
    refused: str = ""
    choose: Callable[[Sequence[Table], Domain], Chosen] = overlapping_tables


def from_marginals(
    fit: JointFit, refits: JointRefits | None = None
) -> Callable[[Sequence[Table], Domain], Reconstruction]:
    """Return a reconstruction by a function of noisy marginals; its covariance is that of marginals drawn again.

    Parameters
    ----------
    fit : callable
        From marginals, which may have attributes beyond the target, and a target to its proportions.
    refits : callable, optional
        The same for many sets of estimates at once, with the precision of the marginals held fixed, where that is
        faster than one by one.

    Returns
    -------
    callable
        The `fit` of a `ReconstructionMethod`.

    Examples
    --------
    >>> import numpy as np
    >>> import ldpstats as ldp
    >>> from ldpstats.extend import from_marginals
    >>> def independent(marginals, target):
    ...     cells = np.ones(1)
    ...     for name in target.names:
    ...         cells = np.kron(cells, next(table for table in marginals if name in table.attributes).summed((name,)))
    ...     return cells
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, k=1, epsilon=2.0).simulate([400, 100, 200, 300], rng=1)
    >>> from_marginals(independent)(list(tables), domain).proportions.round(2)
    array([0.3, 0.2, 0.3, 0.2])
    """

    def fitted(tables: Sequence[Table], target: Domain) -> Reconstruction:
        proportions = fit([Marginal.of(table) for table in tables], target)

        def covariance(size: int, rng: np.random.Generator) -> tuple[FloatArray, str]:
            marginals = within([Marginal.of(table) for table in tables], target.names)
            estimates, bound = redrawn_estimates(tables, target, size, rng)
            if refits is None:
                sets = (zip(marginals, row, strict=True) for row in zip(*estimates, strict=True))
                again = np.array(
                    [fit([replace(marginal, estimate=own) for marginal, own in pairs], target) for pairs in sets]
                )
            else:
                again = refits(marginals, estimates, target, proportions)
            upper = f", with an upper bound of their covariance ({bound})" if bound else ""
            return _covariance_of(again, f"each drawn at its own estimate{upper}")

        return Reconstruction(proportions, covariance)

    return fitted


def _covariance_of(resamples: FloatArray, drawn: str) -> tuple[FloatArray, str]:
    return np.cov(resamples, rowvar=False), f"Its covariance is that of {len(resamples)} sets of tables, {drawn}."


def maximum_entropy(tables: Sequence[Table], target: Domain) -> Reconstruction:
    """Reconstruct by the graphical model of maximum entropy."""
    chosen = relevant_marginals([Marginal.of(table) for table in tables], target.names)
    marginals = weighed_together(chosen.marginals)
    limits = ProfileLimits.of(marginals, target.names)
    model = limits.profile.model
    note = "" if model.converged else " The fit did not converge."
    bound = model.known.errors.bound
    note += f" Its covariance is an upper bound: {bound}." if bound else ""
    return Reconstruction(
        model.marginal(target.names), lambda *_: (limits.profile.covariance, _DELTA_METHOD), note, limits=limits
    )


def connected_tables(tables: Sequence[Table], target: Domain) -> Chosen:
    """Choose the tables about attributes that the graphical model keeps, added up to these."""
    chosen = relevant_marginals([Marginal.of(table) for table in tables], target.names)
    kept = set(chosen.attributes)
    unbiased = [table if table.figures else table.estimated_by("unbiased") for table in tables]
    added_up = [
        table.marginal([name for name in table.attributes if name in kept])
        for table in unbiased
        if not kept.isdisjoint(table.attributes)
    ]
    many = f" {len(chosen.left_out)} attributes connected with it were too many to be kept."
    return added_up, many if chosen.left_out else ""


def no_more_interactions(groups: Groups, target: Attributes) -> str:
    """Name the log-linear model whose generators were asked about, those with most of the target first."""
    largest = [group for group in dict.fromkeys(groups) if not any(set(group) < set(other) for other in groups)]
    largest.sort(key=lambda group: -len(set(group).intersection(target)))
    generators = " ".join(f"[{' '.join(group)}]" for group in largest[:_MOST_NAMED])
    more = f" and {len(largest) - _MOST_NAMED} more" if len(largest) > _MOST_NAMED else ""
    return f"no interaction beyond the groups that were asked about: log-linear model {generators}{more}"


def no_more_interactions_within(groups: Groups, target: Attributes) -> str:
    """Name that model of the target's own attributes, all others being left out."""
    within_target = [tuple(name for name in target if name in group) for group in groups]
    return no_more_interactions(tuple(group for group in within_target if group), target)


def most_likely_table(tables: Sequence[Table], target: Domain) -> Reconstruction:
    """Maximize the likelihood of all reports by EM; its covariance is that of reports drawn from what was found."""
    domain = Domain({name: table.domain.categories[name] for table in tables for name in table.attributes})
    common, blocks = joint_blocks(tables, domain, target.names)
    cells = most_likely_even(blocks).frequencies
    sums = np.eye(target.size())[common.onto(target.names)]

    def covariance(size: int, rng: np.random.Generator) -> tuple[FloatArray, str]:
        def fitted_again(tallies: Sequence[NDArray[np.int64]]) -> FloatArray:
            counted = zip(blocks, tallies, strict=True)
            again = [replace(block, tally=Tally(block.noise, counts, block.n, block.n)) for block, counts in counted]
            return most_likely_even(again).frequencies

        drawn = [block.draw(cells, size, rng) for block in blocks]
        refits = each(fitted_again, zip(*drawn, strict=True), "fitting again", "set", size)
        return _covariance_of(np.array(refits) @ sums, "drawn from this one")

    several = "respondents stand behind several tables, whose reports the likelihood takes for those of different ones"
    refused = several if pooled_blocks(tables, common) is None else ""
    groups = tuple(dict.fromkeys(block.question.about for block in blocks))
    return Reconstruction(cells @ sums, covariance, joint=common.names, groups=groups, refused=refused)


def _of_least_violation(violation: str) -> Callable[[Sequence[Table], Domain], Reconstruction]:
    """Reconstruction by the proportions of maximum entropy among those that violate the tables least."""

    def most_even(tables: FloatArray, marginals: Sequence[Marginal], target: Domain) -> FloatArray:
        kept = [tuple(name for name in target.names if name in marginal.attributes) for marginal in marginals]
        return proportionally_fitted(tables, [target.onto(names) for names in kept])

    def fit(marginals: Sequence[Marginal], target: Domain) -> FloatArray:
        return most_even(fitted_joint(marginals, target, violation), marginals, target)

    def refits(
        marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Domain, fitted: FloatArray
    ) -> FloatArray:
        short = least_violating_refits(marginals, estimates, target, absolute_share(violation, GAMMA), fitted)
        return most_even(short, marginals, target)

    return from_marginals(fit, refits)


RECONSTRUCTION_METHODS: dict[str, ReconstructionMethod] = {
    "max-entropy": ReconstructionMethod(
        maximum_entropy,
        "the distribution of maximum entropy that is nearest to all tables, weighed by inverse variances; interactions "
        "that no table is about are absent.",
        no_more_interactions,
        choose=connected_tables,
    ),
    "em": ReconstructionMethod(
        most_likely_table,
        "the proportions of maximum entropy among those under which all reports are most likely (EM).",
        no_more_interactions_within,
    ),
    "shrinkage": ReconstructionMethod(
        from_marginals(
            shrunken_joint,
            lambda marginals, estimates, target, _fitted: shrunken_refits(marginals, estimates, target),
        ),
        "the proportions between independence and the tables whose estimated error is least (Mallows).",
        lambda *_: "what the reports leave open, and what noise may hide, is as under independence",
        "shrinkage trades noise for a bias whose size is not known",
    ),
    "l2": ReconstructionMethod(
        from_marginals(
            fitted_joint, lambda marginals, estimates, target, _fitted: shortest_refits(marginals, estimates, target)
        ),
        "of the proportions that violate the tables least (by squares), those of the smallest norm.",
        lambda *_: "what the reports leave open is filled in by the smallest norm",
        "the smallest norm is no model that could be true, and invents interactions that nobody was asked about",
    ),
    **{
        violation: ReconstructionMethod(
            _of_least_violation(violation),
            f"of the proportions that violate the tables least ({violation}), those of maximum entropy.",
            no_more_interactions_within,
        )
        for violation in ("l1", "elastic-net")
    },
}
