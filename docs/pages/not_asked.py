"""A pair that nobody was asked about: what is true, what follows from an assumption, and what bounds leave open."""

from __future__ import annotations

from dataclasses import dataclass

import ldpstats as ldp
from ldpstats.datasets import affairs
from pages import markdown

_PAIR, _LINK = ("marriage", "children"), "affair"
_EPSILON, _SEED = 3.0, 1


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A simulated survey in which two questions are each asked together with a third one, and never together.

    Parameters
    ----------
    truth : dict of tuple to float
        Proportions among the true answers.
    assumed : Table
        Put together from the two tables.
    """

    truth: dict[tuple[str, ...], float]
    assumed: ldp.Table

    @classmethod
    def simulated(cls) -> NotAsked:
        """Ask everyone in `affairs` about one pair."""
        people = affairs()[[*_PAIR, _LINK]]
        groups = [(_LINK, one) for one in _PAIR]
        tables = ldp.SampledGroups(ldp.Domain.from_frame(people), groups=groups, epsilon=_EPSILON)
        truth = people.value_counts(list(_PAIR), normalize=True).to_dict()
        return cls(truth, ldp.reconstruct(tables.collect(people, rng=_SEED), _PAIR))

    def table(self) -> str:
        """Return the cells as a table of Markdown."""
        shown = self.assumed.bounds().to_frame()
        limits = self.assumed.conf_int().reshape(-1, 2)
        rows = []
        for cell, estimate, interval in zip(shown.index, self.assumed.estimate.ravel(), limits, strict=True):
            low, high = interval
            hit = "yes" if low <= self.truth[cell] <= high else "**no**"
            bounds = f"{_percent(shown.loc[cell, 'lower'])} to {_percent(shown.loc[cell, 'upper'])}"
            assumed = f"{_percent(estimate)} ({_percent(low)} to {_percent(high)})"
            rows.append([", ".join(cell), _percent(self.truth[cell]), assumed, hit, bounds])
        headers = [" and ".join(_PAIR), ">true answers", ">under the assumption (95 %)", "is the truth within?"]
        return markdown.table([*headers, ">without an assumption"], rows)

    @property
    def epsilon(self) -> float:
        """The level of the survey."""
        return _EPSILON

    def assumption(self) -> str:
        """Return what the estimate assumes, in the words of the table itself."""
        return self.assumed.assumption

    def refusal(self) -> str:
        """Return what a test of the pair says."""
        try:
            ldp.independence_test(self.assumed)
        except ldp.NotIdentifiedError as error:
            return markdown.plain(error)
        raise ValueError("a pair that nobody was asked about was tested")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
