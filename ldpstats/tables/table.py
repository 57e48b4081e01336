"""Contingency tables estimated from privatized reports, with covariance, privacy and provenance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Classes, Domain
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import (
    ASSUMED,
    TABLE_METHODS,
    ChannelFit,
    Estimate,
    LinearPooling,
    Measured,
    channel_fits,
    refuse_empty,
)
from ldpstats.estimation.block_stack import all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.measured import measured_by, steadied
from ldpstats.estimation.unbiased_estimates import steady_covariance
from ldpstats.identification import Bounds, bounds_of
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, IntArray, significance, unweighted
from ldpstats.presentation import Axes, Picture, Result, Summary, plain_values, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables.provenance import (
    COLLECTED,
    Consistent,
    Figures,
    LimitsOfReports,
    Provenance,
    Reconstructed,
    assuming_briefly,
)
from ldpstats.tables.respondents import CrossedRows, RespondentSet, new_identity

if TYPE_CHECKING:
    from ldpstats.tables.conditional import Conditional
    from ldpstats.tables.crosstab import Crosstab, Normalization
    from ldpstats.tables.functionals import Between, Chosen, Functional, Given
    from ldpstats.tables.quantiles import Quantile

# A check against wrong statements, not an accounting: noise models hold doubles, which lose rare lies at high levels.
_RESOLVED = 12.0
_ROUNDING = 1e-6
_OWN = RespondentSet.none()
TableKind: TypeAlias = Literal["intervals", "mosaic", "residuals"]
"""Pictures of a table."""


@dataclass(frozen=True, eq=False, repr=False)
class Table(Result):
    """A contingency table estimated from privatized reports.

    A contingency table is also called a cross-tabulation; of two attributes, a two-way table.

    Parameters
    ----------
    domain : Domain
        The table's own attributes, in the order of its axes.
    blocks : tuple of Block
        What reports say about these cells. Of a reconstructed table they may leave contrasts open; a table whose
        reports cannot be added up to its cells has none.
    privacy : PrivacyStatement
    method : str
        How the blocks are estimated together; see `estimated_by`. With `figures`, how these were made.
    parts : RespondentSet
        Which respondents are behind it, so that none of them is counted twice. By default they are those of a
        collection of their own.
    provenance : Provenance
        Where it comes from: collected, summed, made consistent, or reconstructed under an assumption that it names.
    figures : Figures, optional
        What is shown instead of an estimate from the blocks.
    sources : tuple of Table
        The tables that one with figures, or a pooled one, was made of.
    rows : tuple of CrossedRows
        What the respondents answered to further attributes, too, where that was kept: the covariance of tables
        whose blocks count answers of the same rows follows from it.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)
    >>> tables["sex", "car"].to_frame().round(2)
    unbiased  estimate  std_err  lower  upper
    sex car
    F   yes       0.32     0.02   0.28   0.35
        no        0.20     0.02   0.17   0.23
    M   yes       0.20     0.01   0.17   0.23
        no        0.29     0.02   0.26   0.32
    """

    domain: Domain
    blocks: tuple[Block, ...]
    privacy: PrivacyStatement
    method: str = "unbiased"
    parts: RespondentSet = _OWN
    provenance: Provenance = COLLECTED
    figures: Figures | None = None
    sources: tuple[Table, ...] = ()
    rows: tuple[CrossedRows, ...] = ()

    def __post_init__(self) -> None:
        if self.parts is _OWN and self.blocks and not self.figures:
            own = RespondentSet.whole(new_identity(None, ()), 0, sum(block.n for block in self.blocks))
            object.__setattr__(self, "parts", own)
        if self.method not in list(TABLE_METHODS) and not self.figures:
            raise LdpstatsError(f"method = {self.method!r}", one_line(list(TABLE_METHODS)))
        if self.figures:
            measured, cells = self.figures.measured, (self.domain.size(),)
            if {self.figures.shown.estimate.shape, measured.sums.shape[1:] if measured else cells} != {cells}:
                raise LdpstatsError(f"figures of other cells than the {cells[0]} of a table", "all of them, flattened")
        if isinstance(self.provenance, Consistent) and len(self.sources) != 1:
            raise LdpstatsError(f"a consistent table of {len(self.sources)} others", "the one that it was moved from")
        for question in (block.question for block in self.blocks):
            if (question.attributes, question.shape) != (self.attributes, self.shape):
                raise LdpstatsError(
                    f"a block about {question.attributes} of shape {question.shape}",
                    f"blocks about {self.attributes} of shape {self.shape}",
                )
        self._refuse_less()

    def _refuse_less(self) -> None:
        """Refuse more reports than respondents, and a statement that promises more than reports, or sources, keep."""
        # a table of others counts reports of respondents who answered several questions
        own: tuple[Table | CrossedRows, ...] = () if self.figures or self.sources else (self, *self.rows)
        for reports, most in ((counted.n, counted.parts.n) for counted in own):
            if reports > most:
                raise LdpstatsError(f"{reports:,} reports of {most:,} respondents", "one report of a respondent")
        # answers to several groups cost no more than their levels together
        groups = self.privacy.per_group.values()
        promised = min(self.privacy.epsilon, sum(groups) if groups else math.inf)
        for block in self.blocks:
            refuse_less(promised, min(block.noise.epsilon, _RESOLVED), "every report behind the table")
        for source in self.sources:
            refuse_less(self.privacy.epsilon, source.privacy.epsilon, "every table that it was made of")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the axes."""
        return self.domain.names

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories along each axis."""
        return self.domain.shape

    @property
    def n(self) -> int:
        """The number of reports behind the table."""
        return self.figures.shown.n if self.figures else sum(block.n for block in self.blocks)

    @property
    def simulated(self) -> int:
        """How many of the reports came from a simulation instead of a respondent."""
        if self.figures:
            return self.figures.shown.simulated
        return sum(block.tally.simulated for block in self.blocks)

    @cached_property
    def cells(self) -> Estimate:
        """The flattened estimate with its covariance, the last attribute varying fastest."""
        return self.figures.shown if self.figures else self._estimated(self.method)

    def _estimated(self, method: str) -> Estimate:
        answered = [block for block in self.blocks if block.n > 0]
        refuse_empty(len(answered), f"the table of {' and '.join(self.attributes)}")
        estimate = TABLE_METHODS[method].estimated(answered)
        # some methods take the last blocks only
        return replace(estimate, privacy=self.privacy, simulated=min(self.simulated, estimate.n))

    @property
    def estimate(self) -> FloatArray:
        """Proportions in the table's shape; by every method but "mle" some may be negative."""
        return self.cells.estimate.reshape(self.shape)

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix of the flattened cells."""
        return self.cells.covariance

    @property
    def std_err(self) -> FloatArray:
        """The standard errors in the table's shape."""
        return self.cells.std_err.reshape(self.shape)

    @property
    def assumption(self) -> str:
        """What must hold for the cells beside what the reports tell; empty where these identify all of them."""
        return self.provenance.assumption

    @cached_property
    def unbiased(self) -> Estimate:
        """The linear, unbiased estimate of all cells, whatever the method; refused where reports leave some open."""
        if self.blocks:
            return self.cells if self.method == "unbiased" and not self.figures else self._estimated("unbiased")
        estimate, covariance = self.measured.solved()
        return Estimate(estimate, covariance, self.n, self.privacy, self.simulated)

    @cached_property
    def linear(self) -> tuple[FloatArray, FloatArray]:
        """The linear, unbiased estimate and its covariance, at the nearest shares that answers can have.

        So no cell is known without error, as where all reports name another one. A table that brings figures along, and
        nothing about where they are from, is taken at its word.
        """
        if self.figures and not self.figures.measured and not self.blocks:
            return self.cells.estimate, self.covariance
        unbiased = self.unbiased
        if not self.blocks or self.figures:
            return unbiased.estimate, unbiased.covariance
        return unbiased.estimate, steady_covariance([block for block in self.blocks if block.n], unbiased)

    @cached_property
    def measured(self) -> Measured:
        """The sums of cells that the reports tell, as they were estimated without bias, with their covariance."""
        if self.figures and self.figures.measured:
            return self.figures.measured
        return measured_by([block for block in self.blocks if block.n])

    def holds_the_same(self, other: Table) -> bool:
        """Say whether another table is about the same attributes and made of the same reports, read again or not.

        Parameters
        ----------
        other : Table
        """
        if self.domain != other.domain or len(self.blocks) != len(other.blocks):
            return False
        if self.figures or other.figures:
            if not (self.figures and other.figures):
                return False
            own, its = self.figures.shown, other.figures.shown
            same = np.array_equal(own.estimate, its.estimate) and np.array_equal(own.covariance, its.covariance)
            return same and own.n == its.n
        return all(
            ours.asked == theirs.asked and ours.n == theirs.n and np.array_equal(ours.tally.counts, theirs.tally.counts)
            for ours, theirs in zip(self.blocks, other.blocks, strict=True)
        )

    @unweighted
    def conf_int(self, alpha: float = 0.05) -> FloatArray:
        """Return pointwise intervals for the population proportions, shape `(*shape, 2)`; see Estimate.conf_int.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)["sex", "car"]
        >>> table.conf_int(alpha=0.1).round(2)[0, 1]
        array([0.17, 0.22])
        """
        if self.provenance.refused:
            raise NotIdentifiedError(
                f"intervals of {' and '.join(self.attributes)}: {self.provenance.refused}",
                "tables whose cells the reports identify, or a model that could be true",
                "bounds() says what is known without an assumption; method = 'max-entropy' has a model.",
            )
        return self.cells.conf_int(alpha).reshape(*self.shape, 2)

    @cached_property
    def _fit(self) -> ChannelFit:
        return fit_of(self.made_of) if self.sources else channel_fits([self.blocks])[0]

    @property
    def made_of(self) -> tuple[Table, ...]:
        """The tables that it was made of in the end, each once: itself, if it was collected."""
        return self._made_of if self.sources else (self,)  # a table that held itself would stay in memory for long

    @cached_property
    def _made_of(self) -> tuple[Table, ...]:
        return tuple(dict.fromkeys(leaf for source in self.sources for leaf in source.made_of))

    def settled(self) -> Table:
        """Return the table without its assumption, where one of the groups that it was made of has all its attributes.

        Then nothing is filled in, and its intervals are those of the reports, if it has none that hold near zero.
        """
        provenance = self.provenance
        if not isinstance(provenance, Reconstructed) or not provenance.holds(self.attributes) or not self.figures:
            return self
        shown = self.figures.shown
        if not shown.limits and self._measured_cells():
            shown = replace(shown, limits=LimitsOfReports(self.unbiased))
        return replace(self, provenance=provenance.identified, figures=replace(self.figures, shown=shown))

    def channel_fit(self) -> ChannelFit:
        """Test whether the reports can have come through their channels, whatever the answers are.

        Of a table made of others it is the test of these. A summary says so where it fails.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.array([90, 5, 5, 0]), rng=7)
        >>> tables["sex", "car"].channel_fit().plausible
        True
        """
        return self._fit

    def bounds(self, alpha: float = 0.05, simultaneous: bool = False) -> Bounds:
        """Return what the reports say about the cells without an assumption: partial identification.

        Where a table rests on an assumption, the reports of all tables enter that join its attributes. Where they
        identify a cell the bounds differ by sampling and randomization alone; where they do not, by what they leave
        open, however many there are. For attributes that were asked for one by one these are the Fréchet bounds
        (Frechet bounds) of a cell given its margins, with the uncertainty of the margins.

        Parameters
        ----------
        alpha : float
            One minus the confidence.
        simultaneous : bool
            Whether that is confidence in all cells at once, or in each by itself. Where a covariance is an upper
            bound, it is in all cells at once anyway.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups, reconstruct
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["old", "young"]})
        >>> protocol = SampledGroups(domain, epsilon=4.0, groups=[("sex", "car"), ("car", "age")])
        >>> tables = protocol.simulate(np.array([4, 1, 1, 4, 4, 1, 1, 4]) * 10_000, rng=1)
        >>> limits = reconstruct(tables, ["sex", "age"]).bounds()
        >>> limits.point_lower.round(1), limits.point_upper.round(1)
        (array([[0.1, 0.2],
               [0.1, 0.2]]), array([[0.3, 0.4],
               [0.3, 0.4]]))
        """
        domain, measured = self.domain, self._measured_cells()
        wider = self.figures and self.figures.wider
        # where this very table was asked for, others would add little, and make the programmes large
        if wider and (self.assumption or measured is None):
            domain, measured = wider.domain, wider.measured()
        if measured is None:
            raise NotIdentifiedError(
                f"a table of {' and '.join(self.attributes)} that was made by hand, with figures alone",
                "a table that knows what its reports measured",
                "Take the table of the set that the reports are in, or give its figures `measured`.",
            )
        return bounds_of(
            domain,
            measured,
            self.attributes,
            alpha,
            simultaneous=simultaneous,
            privacy=self.privacy,
            simulated=self.simulated,
        )

    def estimated_by(self, method: str) -> Table:
        """Return the same table, estimated otherwise.

        Parameters
        ----------
        method : {"unbiased", "gls", "mle", "closed form", "two blocks"}
            "unbiased" inverts a single block and pools several with weights that depend on their designs only.
            "gls" weighs by estimated covariances, "mle" finds the most likely proper proportions (for reports that
            are one output of a channel). For truth-or-fake blocks that ask for the cells there are "closed form",
            unbiased also when the fakes were adapted, and "two blocks", the average of the last two inversions.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = SampledGroups(domain, epsilon=1.0, mechanism="grr").simulate(np.array([90, 5, 5, 0]), rng=7)
        >>> table = tables["sex", "car"]
        >>> bool(table.estimate.min() < 0), bool(table.estimated_by("mle").estimate.min() >= 0)
        (True, True)
        """
        if method != self.method and self.figures:
            raise LdpstatsError(
                f"method = {method!r} for a table that is not estimated from reports of its own",
                f"its own method, {self.method!r}",
                "Estimate the table that it was made of by this method, and make it again.",
            )
        return self if method == self.method else replace(self, method=method)

    def reordered(self, attributes: str | Iterable[str]) -> Table:
        """Return the same table with its axes in another order.

        Parameters
        ----------
        attributes : sequence of str
            All of its attributes, in the order that is wanted.
        """
        names = listed(attributes)
        if sorted(names, key=repr) != sorted(self.attributes, key=repr):
            raise LdpstatsError(f"the order {names!r}", f"the attributes {one_line(self.attributes)} in any order")
        if names == self.attributes:
            return self
        kept = self.domain.project(names)
        of_cell = self.domain.onto(names)
        figures = self.figures and self.figures.onto(of_cell, kept.size())
        return replace(
            self, domain=kept, blocks=tuple(block.reordered(names) for block in self.blocks), figures=figures
        )

    @unweighted
    def marginal(self, attributes: str | Iterable[str], *more: str) -> Table:
        """Add the table up to some of its attributes.

        Where the noise of the added-up counts is known (randomized response, supports), the marginal keeps its reports
        and every test applies as if it had been asked for; otherwise it carries its estimate and covariance. Where it
        keeps them it is estimated anew, by the table's method; for "gls" and "mle" that is not the sum of the cells.

        Parameters
        ----------
        attributes : str or sequence of str
            Those that are kept, in the order that is wanted.
        *more : str
            Further ones.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)["sex", "car"]
        >>> table.marginal("car").estimate.round(2)
        array([0.51, 0.49])
        """
        kept = self.domain.project(attributes, *more)
        if set(kept.names) == set(self.attributes):
            return self.reordered(kept.names)
        return self._onto(kept, self.domain.onto(kept.names))

    def collapse(self, classes: Classes) -> Table:
        """Put categories together, such as empty or rare ones.

        As with `marginal`, the table keeps its reports where the noise of the added-up counts is known.

        Parameters
        ----------
        classes : mapping
            For some attributes: new categories, each with the old ones that it puts together. A new category stands
            where the first of its members stood; those that are not mentioned stay.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups
        >>> domain = Domain({"region": ["north", "east", "south"], "car": ["yes", "no"]})
        >>> people = np.array([4000, 2000, 10, 0, 3000, 1000])
        >>> table = SampledGroups(domain, epsilon=2.0, mechanism="grr").simulate(people, rng=1)["region", "car"]
        >>> table.collapse({"region": {"east and south": ["east", "south"]}}).estimate.round(2)
        array([[0.39, 0.21],
               [0.29, 0.1 ]])
        """
        domain, of_cell = self.domain.collapsed_cells(classes)
        made = self._onto(domain, of_cell)
        if not made.figures or not made.figures.wider:
            return made
        return replace(made, figures=replace(made.figures, wider=made.figures.wider.collapsed(classes)))

    def conditional(self, of: str | Iterable[str], given: str | Iterable[str]) -> Conditional:
        """Return the proportions of some attributes within the categories of others: P(of | given).

        A wider table is first added up to these attributes, as `marginal` does. These are the row or column percentages
        of a contingency table, with their uncertainty.

        Parameters
        ----------
        of : str or sequence of str
            The attributes whose proportions are wanted.
        given : str or sequence of str
            The attributes within whose categories they sum to one.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 100, 300]) * 100, rng=1)
        >>> tables["sex", "car"].conditional("car", given="sex").estimate.round(2)
        array([[0.67, 0.33],
               [0.25, 0.75]])
        """
        from ldpstats.tables.conditional import Conditional  # it is made of a table

        conditions = listed(given)
        return Conditional(self.marginal((*conditions, *listed(of))), conditions)

    def mean(self, of: str, scores: ArrayLike | None = None, given: Given = None) -> Functional:
        """Return the mean of an attribute, with what privacy cost.

        Parameters
        ----------
        of : str
            An attribute whose categories are numbers, or have scores (`ordered`).
        scores : array, optional
            The number that each category stands for, in the place of those of the domain.
        given : str, sequence of str or mapping, optional
            Attributes, for a mean within each of their categories; or categories, such as {"sex": "women"}.

        Returns
        -------
        Functional
            Estimate, standard error in two parts, interval and test.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"age": ldp.ordered(["18-29", "30-44", "45-64"], scores=[23.5, 37, 54.5])})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0, k=1).simulate([300, 400, 300], rng=1)["age"]
        >>> print(table.mean("age").headline)
        mean of age = 37.51; 95 % interval from 36.42 to 38.62 (simulated)
        """
        from ldpstats.tables.functionals import mean_of  # it is made of a table

        return mean_of(self, of, scores, given)

    def quantile(self, of: str, q: float = 0.5, given: Given = None) -> Quantile:
        """Return the category that a share q of the respondents are in or below; the median by default.

        Parameters
        ----------
        of : str
            An attribute with ordered categories (`ordered`, or ascending numbers).
        q : float
            Between 0 and 1.
        given
            As in `mean`.

        Returns
        -------
        Quantile
            The category, and those that a score test does not reject.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"age": ldp.ordered(["18-29", "30-44", "45-64"])})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0, k=1).simulate([300, 400, 300], rng=1)["age"]
        >>> print(table.quantile("age").headline)
        median of age = 30-44; 95 % interval from 30-44 to 30-44 (simulated)
        """
        from ldpstats.tables.quantiles import quantile_of

        return quantile_of(self, of, q, given)

    def share(self, categories: Chosen, given: Given = None) -> Functional:
        """Return the share of respondents with some categories.

        Parameters
        ----------
        categories : mapping
            From attributes to a category, or several of them.
        given
            As in `mean`.

        Returns
        -------
        Functional
            As of `mean`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "cars": [0, 1, 2]})
        >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 300, 100, 300, 500, 200], rng=1)
        >>> table = tables["sex", "cars"]
        >>> print(table.share({"cars": [1, 2]}, given={"sex": "F"}).headline)
        share of cars 1 or 2 given sex F = 0.4076; 95 % interval from 0.3474 to 0.4668 (simulated)
        """
        from ldpstats.tables.functionals import share_of

        return share_of(self, categories, given)

    def difference(
        self, of: str | Chosen, between: Between, scores: ArrayLike | None = None, given: Given = None
    ) -> Functional:
        """Return how much larger a mean, or a share, is in one group than in another.

        Parameters
        ----------
        of : str or mapping
            An attribute for its mean, as in `mean`, or categories for their share, as in `share`.
        between : mapping
            An attribute with two of its categories: the first minus the second. Each may be a list of categories.
        scores, given
            As in `mean`.

        Returns
        -------
        Functional
            As of `mean`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "cars": [0, 1, 2]})
        >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 300, 100, 300, 500, 200], rng=1)
        >>> table = tables["sex", "cars"]
        >>> print(table.difference("cars", between={"sex": ("M", "F")}).headline)
        difference of the mean of cars, sex M minus sex F = 0.4597; 95 % interval from 0.3242 to 0.5944 (simulated)
        """
        from ldpstats.tables.functionals import compared

        return compared(self, "difference", of, between, scores, given)

    def ratio(
        self, of: str | Chosen, between: Between, scores: ArrayLike | None = None, given: Given = None
    ) -> Functional:
        """Return how many times as large a mean, or a share, is in one group as in another.

        Parameters
        ----------
        of, between, scores, given
            As in `difference`: the first group over the second. Scores must not be negative.

        Returns
        -------
        Functional
            As of `mean`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "cars": [0, 1, 2]})
        >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 300, 100, 300, 500, 200], rng=1)
        >>> table = tables["sex", "cars"]
        >>> print(table.ratio({"cars": 0}, between={"sex": ("M", "F")}).headline)
        ratio of the share of cars 0, sex M over sex F = 0.4894; 95 % interval from 0.3869 to 0.6049 (simulated)
        """
        from ldpstats.tables.functionals import compared

        return compared(self, "ratio", of, between, scores, given)

    def functional(self, weights: ArrayLike | Mapping[str, ArrayLike]) -> Functional:
        """Return a linear functional of the cells, the sum of weights times proportions, or several of them.

        Parameters
        ----------
        weights : array in the table's shape, or mapping from names to such arrays

        Returns
        -------
        Functional
            As of `mean`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"before": ["no", "yes"], "after": ["no", "yes"]})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 300, 100, 600], rng=1)["before", "after"]
        >>> print(table.functional([[0, 1], [-1, 0]]).headline)
        weighted sum of cells = 0.1321; 95 % interval from 0.08565 to 0.1785 (simulated)
        """
        from ldpstats.tables.functionals import weighted

        return weighted(self, weights)

    def crosstab(
        self,
        rows: str | Iterable[str] | None = None,
        columns: str | Iterable[str] | None = None,
        normalize: Normalization = "all",
        alpha: float = 0.05,
    ) -> Crosstab:
        """Return rows by columns: shares with standard errors, totals, and adjusted residuals through the channel.

        A wider table is first added up to these attributes, as `marginal` does. The order is that of the domain.

        Parameters
        ----------
        rows, columns : str or sequence of str, optional
            The attributes whose categories stand below each other, and beside each other. What is left out are the
            other attributes; where neither is given, the last one stands in the columns.
        normalize : {"all", "rows", "columns"}
            What the cells are shares of: of all respondents, of their row, or of their column.
        alpha : float
            One minus the confidence of the intervals, and the level beyond which residuals are marked.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 100, 300]) * 100, rng=1)
        >>> tables["sex", "car"].crosstab().residuals.round(1)
        array([[ 120.1, -120.1],
               [-120.1,  120.1]])
        """
        from ldpstats.tables.crosstab import Crosstab  # it is made of a table

        return Crosstab.of(self, rows, columns, normalize, alpha)

    def _onto(self, domain: Domain, of_cell: IntArray) -> Table:
        provenance = self.provenance.summed(self.attributes)
        telling = [block for block in self.blocks if block.is_informative_about(of_cell, domain.size())]
        added = [block.onto(domain, of_cell) for block in telling]
        blocks = tuple(block for block in added if block is not None)
        known = bool(blocks) and len(blocks) == len(added)
        # the most likely proportions need a likelihood, which sums of counted sets have not
        again = self.method != "mle" or all(block.noise.has_likelihood for block in blocks)
        if known and again and not self.figures:
            return replace(self, domain=domain, blocks=blocks, provenance=provenance)
        shown, measured = self.cells.summed(of_cell, domain.size()), self._measured_cells() if not known else None
        wider = self.figures.wider if self.figures else None
        figures = Figures(shown, measured and measured.onto(of_cell, domain.size()), wider)
        made = replace(
            self,
            domain=domain,
            blocks=blocks if known else (),
            provenance=provenance,
            figures=figures,
            sources=self.sources or (self,),
        )
        return made.settled()

    def _measured_cells(self) -> Measured | None:
        """Return the sums of cells that were measured; of a collected table its pooled cells."""
        if self.figures:
            return self.measured if self.blocks else self.figures.measured
        return self.measured_cells

    @cached_property
    def measured_cells(self) -> Measured:
        """The cells as its own reports tell them, without bias, with the covariance at shares that answers can have.

        Where they leave cells open, the sums that they tell.
        """
        blocks = [block for block in self.blocks if block.n]
        try:
            unbiased = self.unbiased
        except NotIdentifiedError:
            return self.measured
        if len(blocks) == 1 and blocks[0].question.is_bijection:
            own = measured_by(blocks)
            return Measured.of_cells(unbiased.estimate, own.sums.T @ own.covariance @ own.sums, unbiased.n)
        faked = all_truth_or_fake(blocks)
        covariance = unbiased.covariance if faked else LinearPooling(blocks).covariance(steadied(unbiased))
        return Measured.of_cells(unbiased.estimate, covariance, unbiased.n)

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row per cell, labelled by category: estimate, std_err and pointwise interval.

        The columns together are named after the method of estimation.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        index, level = self.domain.index(), significance(alpha)
        if self.provenance.refused:
            return pd.DataFrame(
                {"estimate": self.cells.estimate, "std_err": np.nan, "lower": np.nan, "upper": np.nan}, index=index
            ).rename_axis(columns=self.method)
        frame = self.cells.to_frame(index if len(self.shape) > 1 else index.get_level_values(0), level)
        return frame.rename_axis(columns=self.method)

    def by_block(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return what every block with reports says by itself, unbiased: a row per block and cell (in RRBA: Eq. 4).

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        if self.figures:
            raise LdpstatsError(
                f"the blocks of a table of {' and '.join(self.attributes)} that is not estimated from them",
                "a table that still has its reports",
                "Ask the table that it was made of.",
            )
        alone = [replace(self, blocks=(block,), method="unbiased").to_frame(alpha) for block in self.blocks if block.n]
        refuse_empty(len(alone), f"the table of {' and '.join(self.attributes)}")
        return pd.concat(alone, keys=range(len(alone)), names=["block"])

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return a table to read aloud: cells with standard errors and intervals, and the privacy promised.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        level = f"{100 * (1 - significance(alpha)):g} %"
        try:
            _ = self.cells
        except NotIdentifiedError as error:
            return Summary(self._title, (), (*self.privacy.sentences(self.n), *str(error).splitlines()))
        columns, cells = [self.cells.estimate], self.domain.size()
        if not self.channel_fit().plausible:
            intervals = "none, as the reports do not fit their channel."
        elif self.provenance.refused:
            intervals = f"none: {self.provenance.refused}."
        else:
            intervals = self.cells.intervals_in_words(alpha)
            columns += [self.cells.std_err, *self.conf_int(alpha).reshape(cells, 2).T]
        figures = [f"{figure:.4f}" for figure in np.stack(columns, axis=-1).ravel().tolist()]
        labels = product(*([str(category) for category in values] for values in self.domain.categories.values()))
        rows = [
            [*label, *figures[len(columns) * row : len(columns) * (row + 1)], *"---"[len(columns) - 1 :]]
            for row, label in enumerate(labels)
        ]
        headers = [*self.attributes, "proportion", "std err", f"{level} from", "to"]
        sentences = [
            *self.privacy.sentences(self.n),
            f"Intervals: {intervals}",
            *([f"Assumes: {self.assumption}."] if self.assumption else []),
            *([self.provenance.words] if self.provenance.words else []),
            *([] if self.figures else [TABLE_METHODS[self.method].words]),
            ASSUMED,
            *self.channel_fit().warning,
        ]
        return summary_of_figures(self._title, headers, rows, sentences)

    @property
    def _title(self) -> str:
        kind = simulation(self.simulated, self.n)
        return f"{self.provenance.title} of {' and '.join(self.attributes)}{kind}{assuming_briefly(self.assumption)}"

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        """Return the table as plain values.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        level, reports = 1 - significance(alpha), "provenance n privacy simulated channel_fit"
        names = f"attributes categories=domain estimate std_err level intervals {reports}"
        if self.provenance.refused:
            return plain_values(self, names, level=level, std_err=None, intervals=None)
        return plain_values(self, names, level=level, intervals=self.conf_int(alpha).tolist())

    def picture(self, kind: TableKind | None = None) -> Picture:
        """Return what `plot` draws, as data.

        Parameters
        ----------
        kind : {"intervals", "mosaic", "residuals"}, optional
            Proportions with their intervals, or what `Crosstab.picture` makes. By default a mosaic of two attributes,
            intervals of one and of three or more.
        """
        from ldpstats.tables.drawn import intervals

        if kind is not None and kind not in get_args(TableKind):
            raise LdpstatsError(f"kind = {kind!r}", one_line(get_args(TableKind)))
        if kind == "intervals" or (kind is None and len(self.shape) != 2):
            return intervals(self)
        return self.crosstab().picture("residuals" if kind == "residuals" else "mosaic")

    def plot(self, ax: Axes | None = None, kind: TableKind | None = None) -> Axes:
        """Draw it; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : {"intervals", "mosaic", "residuals"}, optional
            As in `picture`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)["sex", "car"]
        >>> axes = table.plot(kind="mosaic")
        >>> print(axes.get_title(loc="left"))
        car within sex
        simulated
        """
        return self.picture(kind).draw(ax)

    @property
    def headline(self) -> str:
        """What it is about, where it comes from, and how many reports are behind it."""
        kind, cells = simulation(self.simulated, self.n), " × ".join(map(str, self.shape))
        about = f"{' × '.join(self.attributes)}, {self.provenance.kind}"
        return f"{about}: {cells} cells, n = {self.n:,}{kind}{assuming_briefly(self.assumption)}"


def fit_of(tables: Iterable[Table]) -> ChannelFit:
    """Test whether the reports of all tables fit their channels, at the stated level for all together."""
    tables = list(tables)
    # those that were asked alike at once; each table keeps its own
    made_of = dict.fromkeys(leaf for table in tables for leaf in table.made_of)
    new = [leaf for leaf in made_of if not leaf.sources and "_fit" not in vars(leaf)]
    for leaf, fit in zip(new, channel_fits([leaf.blocks for leaf in new]), strict=True):
        vars(leaf)["_fit"] = fit
    fits = [table.channel_fit() for table in tables]
    return ChannelFit(tuple(part for fit in fits for part in fit.components), sum(fit.n for fit in fits))


def checked_table(table: object) -> Table:
    """Refuse anything but a table.

    Parameters
    ----------
    table : object
    """
    if not isinstance(table, Table):
        raise LdpstatsError(f"a {type(table).__name__}", "a Table, such as tables['age', 'sex']")
    return table


def refuse_less(promised: float, spent: float, covered: str) -> None:
    """Refuse a statement that promises less epsilon than was spent."""
    if promised < spent - _ROUNDING * max(min(spent, _RESOLVED), 1):
        raise LdpstatsError(
            f"a statement of epsilon = {promised!r} for {spent!r}", f"a statement that covers {covered}"
        )
