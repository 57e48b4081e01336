"""Reconstruction: a table that nobody collected, put together from those that overlap it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray, at_least
from ldpstats.blocks import Block
from ldpstats.consistency.channels_em import joint_blocks, most_likely_even
from ldpstats.consistency.graphical import fit_maximum_entropy, joining, relevant_marginals, weighed_together
from ldpstats.consistency.joint import fitted_joint, within
from ldpstats.consistency.marginals import Attributes, Marginal, as_collected, places
from ldpstats.consistency.profile import ProfileLimits
from ldpstats.consistency.projection import nearest_proper
from ldpstats.consistency.refits import least_violating_refits, shortest_refits
from ldpstats.consistency.shrinkage import shrunken_joint, shrunken_refits
from ldpstats.consistency.violation import GAMMA, absolute_share
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import Estimate, Limits, LinearPooling, pvalue_in_words, refuse_empty
from ldpstats.estimation.proportional_fitting import proportionally_fitted
from ldpstats.identification.bounds import LEVEL
from ldpstats.identification.identified import MOST_CONTRASTS, Identified
from ldpstats.limits import LARGEST_JOINT
from ldpstats.noise import Tally
from ldpstats.parts import Parts
from ldpstats.privacy import PrivacyStatement
from ldpstats.randomness import Rng, generator
from ldpstats.tables import Figures, Reconstructed, Table, TableSet, Wider, pooled_blocks, pooled_measured
from ldpstats.tables.provenance import Groups
from ldpstats.tables.shared import overlapping, reports_once

Method: TypeAlias = Literal["auto", "max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net"]


# generators that are written out
_MOST_NAMED = 12
_DELTA_METHOD = "Its covariance is that of the delta method; near zero, standard errors are half as long as intervals."
_POOLED = "The reports identify every cell: the pooled view of the set shows them without an assumption."
_WHY = ", by the method that needs no joint table and has a covariance of its own"


def reconstruct(
    tables: TableSet, attributes: Iterable[str], method: Method = "auto", *, n_resamples: int = 200, rng: Rng = None
) -> Table:
    """Put a table together that nobody collected, from tables about some of its attributes each.

    Parameters
    ----------
    tables : TableSet
        They count as independent of each other, as for `make_consistent`.
    attributes : sequence of str
    method : {"auto", "max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net"}
        "max-entropy" takes the distribution nearest to all tables, by inverse variances, with no interaction that
        nobody asked about: a graphical model, by a junction tree, so that tables about other attributes count, too.
        "em" makes the reports of all tables most likely, through their channels. "shrinkage" goes from independence
        towards the tables only as far as that lowers the estimated error. "l2" violates the tables least, by squares,
        and has the smallest norm of all that do (Imran & Meo 2024); "l1" and "elastic-net" do so by absolute values, or
        by half of either, and are as even as can be. All but the first need a joint table of at most 4,096 cells.
        "auto" takes the first, whose covariance is the most to be trusted. Where noise is large "shrinkage" has errors
        up to 40 % smaller (benchmarks/consistency.py), but what it takes for independence may only be hidden.
    n_resamples : int
        How many sets of tables to draw for the covariance, where the method has none of its own ("max-entropy" has).
        "em" draws them from the table that it found, the others every table at its own estimate, made proper.
    rng : seed or numpy Generator, optional
        For these draws. By default the seed is taken from the estimates, so that a table has one covariance.

    Returns
    -------
    Table
        Proper proportions, with a covariance. Where reports say nothing about an interaction, it is what the method
        assumes: `assumption` says so, and no covariance allows for that. `bounds()` says what is known without it, and
        tests take what the reports tell about the table, no more.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({name: ["yes", "no"] for name in "abc"})
    >>> people = np.array([300, 100, 50, 50, 50, 50, 100, 300]) * 100
    >>> pairs = SampledGroups(domain, epsilon=4.0).simulate(people, rng=1)
    >>> reconstruct(pairs, ["a", "b", "c"]).estimate.round(2)
    array([[[0.3 , 0.1 ],
            [0.05, 0.05]],
    <BLANKLINE>
           [[0.05, 0.05],
            [0.1 , 0.3 ]]])
    """
    if not isinstance(tables, TableSet):
        raise LdpstatsError(f"a {type(tables).__name__}", "a TableSet, as a protocol collects it")
    chosen = "max-entropy" if method == "auto" else method
    if chosen not in RECONSTRUCTION_METHODS:
        raise LdpstatsError(f"method = {method!r}", one_line(["auto", *RECONSTRUCTION_METHODS]))
    target, resamples = tables.domain.project(attributes), at_least(n_resamples, 2, "n_resamples")
    way, collected = RECONSTRUCTION_METHODS[chosen], as_collected(tables)
    refuse_empty(sum(table.n for table in collected), "the tables")
    telling, left_out = way.telling(collected, target)
    found = way.found(telling, target)
    covariance, spread = _with_covariance(way, telling, target, found, resamples, rng)
    why = _WHY if method == "auto" else ""
    words = (
        f"Reconstructed from {len(telling)} tables that bear upon it{why}: {way.words}{left_out}{found.note} {spread}"
    )
    n, simulated = reports_once(telling)
    cells = Estimate(found.proportions, covariance, n, tables.privacy, simulated, limits=found.limits)
    groups = found.groups or tuple(table.attributes for table in telling)
    assumption = way.assumption(groups, found.joint or target.names)
    provenance = Reconstructed(chosen, words, groups, assumption, way.refused or found.refused)
    heard = {name for table in telling for name in table.attributes}
    return _made(target, provenance, cells, tables.privacy, collected, heard)


def _made(
    target: Domain,
    provenance: Reconstructed,
    cells: Estimate,
    privacy: PrivacyStatement,
    tables: Sequence[Table],
    heard: set[str],
) -> Table:
    """Return the table with what reports tell without an assumption; it assumes nothing if they tell all.

    `heard` are the attributes of the tables that the proportions were made of.
    """
    joint = joined(tables, target)
    near = [table for table in tables if not set(table.attributes).isdisjoint(joint.names)]
    about = [table for table in near if not set(table.attributes).isdisjoint(target.names)]
    blocks = pooled_blocks(about, target)
    measured = pooled_measured(about, target) if blocks is None and target.size() <= LARGEST_JOINT else None
    provenance = replace(provenance, words=f"{provenance.words}{_contradiction(near, joint)}")
    if provenance.assumption and any(set(target.names) <= set(block.question.about) for block in blocks or ()):
        provenance = replace(provenance, words=f"{provenance.words} {_POOLED}")
    behind = [table for table in tables if not heard.union(joint.names).isdisjoint(table.attributes)]
    made = Table(
        target,
        blocks or (),
        privacy,
        method=f"reconstructed ({provenance.method})",
        provenance=provenance,
        figures=Figures(cells, measured, Wider(joint, partial(pooled_measured, near, joint))),
        parts=Parts.either(table.parts for table in behind),
        sources=tuple(behind),
    )
    return made.settled()


def _contradiction(tables: Sequence[Table], joint: Domain) -> str:
    """Say that sums of a joint table which several tables tell differ by more than chance, if they do."""
    if len(tables) < 2 or joint.size() > MOST_CONTRASTS:
        return ""
    pvalue = Identified.of(pooled_measured(tables, joint)).pvalue
    if pvalue >= LEVEL:
        return ""
    return (
        f" The tables contradict each other (p = {pvalue_in_words(pvalue, 2)}): they are not of one population, or "
        "reports do not fit their channel, and neither proportions nor intervals can be trusted."
    )


class Reconstruction(NamedTuple):
    """Reconstructed proportions, their covariance and intervals where there are any, and what else is to be said.

    `joint` are the attributes of the joint table that was fitted, if they are not those of the target; `groups` those
    that reports behind it are about together, if they are not those of the tables. `again` draws so many
    reconstructions of tables like this one; `refused` says why there are no intervals.
    """

    proportions: FloatArray
    covariance: Callable[[], FloatArray] | None = None
    note: str = ""
    joint: Attributes = ()
    groups: Groups = ()
    limits: Limits | None = None
    again: Callable[[int, np.random.Generator], FloatArray] | None = None
    refused: str = ""


ChosenTables: TypeAlias = tuple[list[Table], str]
"""Tables that bear upon a target, and what is to be said of those that are left out."""


def _overlapping(tables: Sequence[Table], target: Domain) -> ChosenTables:
    return [table for table in tables if not set(table.attributes).isdisjoint(target.names)], ""


@dataclass(frozen=True, slots=True)
class ReconstructionMethod:
    """One way to put a table together.

    Parameters
    ----------
    found : callable
        From tables to the proportions of a target.
    words : str
        What these are.
    telling : callable
        Chooses the tables that bear upon the target.
    assumption : callable
        From the groups that hang together with the target, and its attributes, to what must hold beside the reports.
    refused : str
        Why there are no intervals where the reports leave cells open.
    again : callable, optional
        From marginals within the target, many estimates of each and what was found, to as many tables of proportions:
        faster than to find each anew, with the precision of the tables held fixed.
    """

    found: Callable[[Sequence[Table], Domain], Reconstruction]
    words: str
    assumption: Callable[[Groups, Attributes], str]
    refused: str = ""
    telling: Callable[[Sequence[Table], Domain], ChosenTables] = _overlapping
    again: Callable[[Sequence[Marginal], Sequence[FloatArray], Domain, FloatArray], FloatArray] | None = None


def _of_maximum_entropy(tables: Sequence[Table], target: Domain) -> Reconstruction:
    """Fit the graphical model."""
    chosen = relevant_marginals([Marginal.of(table) for table in tables], target.names)
    marginals = weighed_together(chosen.marginals)
    model = fit_maximum_entropy(marginals)
    limits = ProfileLimits.of(model, marginals, target.names)
    note = "" if model.converged else " The fit did not converge."
    note += f" Its covariance is an upper bound: {model.known.bound}." if model.known.bound else ""
    return Reconstruction(model.marginal(target.names), lambda: limits.profile.covariance, note, limits=limits)


def _connected_tables(tables: Sequence[Table], target: Domain) -> ChosenTables:
    """Return the tables about attributes that the model keeps, added up to these."""
    chosen = relevant_marginals([Marginal.of(table) for table in tables], target.names)
    kept = set(chosen.attributes)
    unbiased = [table if table.figures else table.estimated_by("unbiased") for table in tables]
    added_up = [
        one.marginal([name for name in one.attributes if name in kept])
        for one in unbiased
        if not kept.isdisjoint(one.attributes)
    ]
    many = f" {len(chosen.left_out)} attributes that hang together with it were too many to be kept."
    return added_up, many if chosen.left_out else ""


def _no_more_interactions(groups: Groups, target: Attributes) -> str:
    """Name the log-linear model whose generators were asked about, those with most of the target first."""
    largest = [group for group in dict.fromkeys(groups) if not any(set(group) < set(other) for other in groups)]
    largest.sort(key=lambda group: -len(set(group).intersection(target)))
    generators = " ".join(f"[{' '.join(group)}]" for group in largest[:_MOST_NAMED])
    more = f" and {len(largest) - _MOST_NAMED} more" if len(largest) > _MOST_NAMED else ""
    return f"no interaction beyond the groups that were asked about: log-linear model {generators}{more}"


def _no_more_interactions_within(groups: Groups, target: Attributes) -> str:
    """Name that model of the target's own attributes, all others being left out."""
    within_target = [tuple(name for name in target if name in group) for group in groups]
    return _no_more_interactions(tuple(group for group in within_target if group), target)


def joined(tables: Sequence[Table], target: Domain) -> Domain:
    """Return the target's attributes and, as far as a joint table may have cells, those that join them."""
    groups = [table.attributes for table in tables]
    known = {name: values for table in tables for name, values in table.domain.categories.items()}
    found = (Domain({name: known[name] for name in kept}) for kept in joining(groups, target.names))
    return next((one for one in found if one.size() <= LARGEST_JOINT), target)


def _violating_least(tables: Sequence[Table], target: Domain, violation: str) -> Reconstruction:
    return Reconstruction(fitted_joint([Marginal.of(table) for table in tables], target.names, target.shape, violation))


def _violating_least_evenly(tables: Sequence[Table], target: Domain, violation: str) -> Reconstruction:
    short = _violating_least(tables, target, violation).proportions
    kept = [tuple(name for name in target.names if name in table.attributes) for table in tables]
    return Reconstruction(proportionally_fitted(short, [places(target.names, target.shape, names) for names in kept]))


def _violating_least_again(
    marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Domain, found: FloatArray, violation: str
) -> FloatArray:
    share = absolute_share(violation, GAMMA)
    if share == 0:
        return shortest_refits(marginals, estimates, target.names, target.shape)
    short = least_violating_refits(marginals, estimates, target.names, target.shape, share, found)
    return proportionally_fitted(short, [places(target.names, target.shape, one.attributes) for one in marginals])


def _shrunken_again(
    marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Domain, _found: FloatArray
) -> FloatArray:
    return shrunken_refits(marginals, estimates, target.names, target.shape)


def _shrunken(tables: Sequence[Table], target: Domain) -> Reconstruction:
    marginals = [Marginal.of(table) for table in tables]
    return Reconstruction(shrunken_joint(marginals, target.names, target.shape).frequencies)


def _most_likely(tables: Sequence[Table], target: Domain) -> Reconstruction:
    domain = Domain({name: one.domain.categories[name] for one in tables for name in one.attributes})
    common, blocks = joint_blocks(tables, domain, target.names)
    cells = most_likely_even(blocks).frequencies
    sums = np.eye(target.size())[places(common.names, common.shape, target.names)]

    def again(size: int, rng: np.random.Generator) -> FloatArray:
        from tqdm.auto import tqdm

        drawn = [block.draw(cells, size, rng) for block in blocks]
        fits = tqdm(zip(*drawn, strict=True), total=size, desc="fitting again", unit="set", leave=False, disable=None)
        refits = [most_likely_even([_with_counts(*one) for one in zip(blocks, counts, strict=True)]) for counts in fits]
        return np.array([one.frequencies for one in refits]) @ sums

    several = "respondents stand behind several tables, whose reports the likelihood takes for those of different ones"
    refused = several if pooled_blocks(tables, common) is None else ""
    groups = tuple(dict.fromkeys(block.question.about for block in blocks))
    return Reconstruction(cells @ sums, joint=common.names, groups=groups, again=again, refused=refused)


def _with_counts(block: Block, counts: NDArray[np.int64]) -> Block:
    return replace(block, tally=Tally(block.noise, counts, block.n, block.n))


RECONSTRUCTION_METHODS: Mapping[str, ReconstructionMethod] = {
    "max-entropy": ReconstructionMethod(
        _of_maximum_entropy,
        "the distribution of maximum entropy that is nearest to all tables, weighed by inverse variances; interactions "
        "that no table is about are absent.",
        _no_more_interactions,
        telling=_connected_tables,
    ),
    "em": ReconstructionMethod(
        _most_likely,
        "the proportions of maximum entropy among those under which all reports are most likely (EM).",
        _no_more_interactions_within,
    ),
    "shrinkage": ReconstructionMethod(
        _shrunken,
        "the proportions between independence and the tables whose estimated error is least (Mallows).",
        lambda *_: "what the reports leave open, and what noise may hide, is as under independence",
        "shrinkage trades noise for a bias whose size is not known",
        again=_shrunken_again,
    ),
    "l2": ReconstructionMethod(
        partial(_violating_least, violation="l2"),
        "of the proportions that violate the tables least (by squares), those of the smallest norm.",
        lambda *_: "what the reports leave open is filled in by the smallest norm",
        "the smallest norm is no model that could be true, and invents interactions that nobody was asked about",
        again=partial(_violating_least_again, violation="l2"),
    ),
    **{
        violation: ReconstructionMethod(
            partial(_violating_least_evenly, violation=violation),
            f"of the proportions that violate the tables least ({violation}), those of maximum entropy.",
            _no_more_interactions_within,
            again=partial(_violating_least_again, violation=violation),
        )
        for violation in ("l1", "elastic-net")
    },
}


def _with_covariance(
    way: ReconstructionMethod,
    tables: Sequence[Table],
    target: Domain,
    found: Reconstruction,
    n_resamples: int,
    rng: Rng,
) -> tuple[FloatArray, str]:
    """Return the covariance of what was found, its own or that of tables drawn again, and which it is."""
    if found.covariance is not None:
        return found.covariance(), _DELTA_METHOD
    seed = zlib.crc32(b"".join(table.cells.estimate.tobytes() for table in tables))
    numbers, drawn, bound = generator(seed if rng is None else rng), "each drawn at its own estimate", ""
    if found.again is not None:
        again, drawn = found.again(n_resamples, numbers), "drawn from this one"
    else:
        assert way.again is not None  # a way that draws nothing itself
        marginals = within([Marginal.of(table) for table in tables], target.names)
        estimates, bound = _estimated_again(tables, target, n_resamples, numbers)
        again = way.again(marginals, estimates, target, found.proportions)
    upper = f", with an upper bound of their covariance ({bound})" if bound else ""
    return np.cov(again, rowvar=False), f"Its covariance is that of {n_resamples} sets of tables, {drawn}{upper}."


def _estimated_again(
    tables: Sequence[Table], target: Domain, size: int, rng: np.random.Generator
) -> tuple[list[FloatArray], str]:
    """Draw so many sets like these tables, and add their estimates up to the attributes of the target.

    Tables that have respondents in common are drawn together, as normal estimates; said is why their covariance is an
    upper bound, if it is one.
    """
    if not overlapping(tables):
        return [_one_estimated_again(table, target, size, rng) for table in tables], ""
    measured = pooled_measured(tables, target)
    moved = rng.multivariate_normal(measured.estimate, measured.covariance, size=size, method="eigh")
    ends = np.cumsum([target.size([name for name in target.names if name in one.attributes]) for one in tables])
    return np.split(moved, ends[:-1], axis=1), measured.bound


def _one_estimated_again(table: Table, target: Domain, size: int, rng: np.random.Generator) -> FloatArray:
    kept = tuple(name for name in target.names if name in table.attributes)
    sums = np.eye(target.size(kept))[places(table.attributes, table.shape, kept)]
    if table.figures:
        cells = table.figures.shown
        moved: FloatArray = rng.multivariate_normal(cells.estimate, cells.covariance, size=size, method="eigh") @ sums
        return moved
    proper = nearest_proper(table.unbiased.estimate)
    drawn = [block.draw(proper, size, rng) for block in table.blocks]
    return LinearPooling(table.blocks).estimate(drawn) @ sums
