"""The network in a report: a Bayesian network learned from the tables."""

from __future__ import annotations

from ldpstats.errors import LdpstatsError
from ldpstats.networks import learn_network
from ldpstats.report.content import Drawn, Section, Warned, summarised
from ldpstats.report.studied_tables import StudiedTables


def network(studied: StudiedTables) -> Section:
    """Section with the Bayesian network learned from the tables, or why there is none."""
    try:
        learned = learn_network(studied.tables, alpha=studied.alpha)
    except LdpstatsError as error:
        return Section.of("network", "Network", Warned(f"No network can be learned: {error}"))
    why = (
        "The p-values of edges also take what all other tables tell of the proportions of single attributes. So they "
        "differ from those of pairs above, which take the reports about the pair."
    )
    drawn = Drawn(learned.picture(), "network-picture")
    return Section.of("network", "Network", why, drawn, *summarised(learned.summary()))
