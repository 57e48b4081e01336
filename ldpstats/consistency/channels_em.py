"""EM algorithm over many tables: the joint table under which all reports are most likely, through all channels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.consistency.marginals import Attributes, refuse_untold
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import Fitted, most_likely
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.proportional_fitting import proportionally_fitted
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.limits import LARGEST_JOINT
from ldpstats.tables import Table, pooled_blocks


def most_likely_joint(tables: Iterable[Table], domain: Domain, target: Iterable[str]) -> Fitted:
    """Maximum likelihood by EM: proper frequencies of a target under which the reports of all tables are most likely.

    EM goes through all channels at once: a step multiplies the frequency of a cell c by Σ o_y Q(y|c) / μ_y over the
    outputs y of all blocks, o_y being their shares of the reports and μ_y their probabilities. It ends where no other
    frequencies can have a log-likelihood per report that is higher by 1e-10, and warns if it has to end before.

    Where tables tell nothing about an interaction, many frequencies are equally likely. Accelerated EM may end at any,
    so that those of maximum entropy with the same answers to every question are taken: see `proportionally_fitted`.

    There is no covariance here: none allows for what is not identified, and where all cells are,
    `maximum_likelihood(joint_blocks(...)[1])` gives the same frequencies with theirs. Reports count as independent;
    where respondents are behind several tables, this is a composite likelihood. Tables without an attribute of the
    target are left out; the last attribute varies fastest.
    """
    common, blocks = joint_blocks(tables, domain, target)
    fitted = most_likely_even(blocks)
    place = common.onto(domain.project(target).names)
    return replace(fitted, frequencies=np.bincount(place, weights=fitted.frequencies).astype(float))


def most_likely_even(blocks: Sequence[Block]) -> Fitted:
    """Maximum likelihood from blocks of one table; of maximum entropy among equally likely frequencies."""
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
        if table.domain != domain.project(table.attributes):
            raise LdpstatsError(f"the table {table!r} with other categories than the domain", "tables over one domain")
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
    about = {question: _about(common, question) for question in {block.question for block in blocks}}
    return common, [replace(block, question=about[block.question]) for block in blocks]


def _added_up(table: Table, attributes: Attributes) -> Sequence[Block]:
    """Blocks of a table, added up to those of its attributes that are among these; none if that is impossible."""
    try:
        marginal = table.marginal(name for name in table.attributes if name in attributes)
    except NotIdentifiedError:  # reports that cannot be added up, and whose table has no estimate either
        return ()
    # sums of supports have two moments and no likelihood
    return marginal.blocks if all(block.noise.has_likelihood for block in marginal.blocks) else ()


def _about(common: Domain, question: Question) -> Question:
    """A question about some attributes as one about the whole table."""
    cells = common.onto(question.attributes)
    return Question(common.names, common.shape, tuple(np.asarray(question.classes)[cells].tolist()))
