"""Learned networks: edges with their uncertainty, directions with their reasons, and the network fitted to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ldpstats.answers.columns import Category
from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import ASSUMED, pvalue_in_words
from ldpstats.inference import mutual_information
from ldpstats.networks.bayesian_network import BayesianNetwork, in_numbers
from ldpstats.networks.chain_tests import ChainTests, oriented_by_tests
from ldpstats.networks.orientation import Orientation, unshielded_triples
from ldpstats.networks.pair_evidence import averaging_threshold
from ldpstats.networks.parameters import FittedParameters, fit_parameters
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure, graph_of
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import probability, significance
from ldpstats.numbers.randomness import Rng
from ldpstats.pictures.graph import DrawnEdge, NetworkGraph
from ldpstats.presentation import Result, Summary, plain_rows, plain_values, progress, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count
from ldpstats.tables import TableSet
from ldpstats.tables.pooled import pooled_table

if TYPE_CHECKING:
    from networkx import DiGraph, Graph

    from ldpstats.networks.queries import QueryResult

_FIGURES = ("information", "lower", "upper", "pvalue", "adjusted", "confidence", "forward")
_OF_EDGES = ("first", "direction", "second", *_FIGURES, "why", "directed_by")
_OF_PAIRS = ("first", "second", *(name for name in _FIGURES if name not in ("lower", "upper")))
_SHARES = ("pvalue", "adjusted", "confidence", "forward")
_HEADERS = ("", "", "", "information", "from", "to", "p", "adjusted", "confidence", "why")
_DIRECTED_BY = {
    "required": "required edges",
    "constraint": "the order and forbidden edges",
    "search": "the search",
    "collider": "colliders",
    "implied": "what follows from others",
}
_SHOWN = 5
_HALF = 0.5
_AVERAGED = "Averaged over {} networks from redrawn counts: those edges that at least a share {:.2g} of them has."
_INFORMATION = (
    "Information: mutual, in nats, without what noise adds to it, with pointwise {} intervals, which take the edge for "
    "chosen beforehand. p: of independence; adjusted for the rate of false discoveries among all {} pairs."
)
_COLLIDERS = (
    "Where two edges meet at b and their ends a and c are not joined, only a collider a → b ← c leaves these "
    "independent. It is shown where their reports exclude half of the dependence that any other direction implies, and "
    "excluded where they show dependence: {} of {} such pairs of edges are decided."
)
_SUFFICIENT = (
    "Directions that are not due to constraints hold if the edges are right, and if no two attributes have a cause in "
    "common that nobody was asked about."
)
_CHOICE = (
    "An edge — has no direction that the reports tell. In the fitted network it has one: that is a choice, and says "
    "nothing about what depends on what."
)
_CONFIDENCE = (
    "Confidence: the share of {} networks, learned from counts drawn again, that have the edge; no p-value, and no "
    "probability that the edge is there."
)
_CIRCLE = "Found, but left out, as constraints would turn it in a circle with stronger edges: {}."
_UNTOLD = (
    "Nobody was asked about {} together with all parents in the fitted network: these probabilities rest on an "
    "assumption, which `parameters` names."
)
_UNDECIDED = (
    "Edges that are undecided ({}) were not shown to be there by some test given other attributes, which lacked power: "
    "they stay."
)
_POWERLESS = (
    "{} were decided by lack of power: a dependence that is worth an edge might well have been missed, and nothing is "
    "known about {}."
)


@dataclass(frozen=True, eq=False, repr=False)
class LearnedNetwork(Result):
    """A Bayesian network whose edges were learned from tables of privatized answers.

    Parameters
    ----------
    tables : TableSet
        What it was learned from.
    method : str
    words : str
        The method in a sentence.
    alpha : float
        The level of its tests, and one minus that of the intervals.
    constraints : EdgeConstraints
        What was known beforehand.
    structure : Structure
        The edges, as they were found.
    orientation : Orientation
        Their directions.
    edges : DataFrame
        A row per edge: its `direction` (→, ←, or — where none is known), the mutual `information` in nats, corrected
        for noise, and its interval, `lower` to `upper`; the `pvalue` of independence, and `adjusted` for all pairs; the
        `confidence`, and the share `forward` of it with an edge from `first` to `second`, see `edge_confidence`;
        `why` it is there, and what it is `directed_by`.
    pairs : DataFrame
        The same figures of all pairs of attributes, but for intervals.
    n_resamples : int
        How many networks the confidence is counted in; 0 where it is nan.
    notes : tuple of str
        What else must be known, in sentences.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"rain": ["yes", "no"], "sprinkler": ["on", "off"], "grass": ["wet", "dry"]})
    >>> people = [22_800, 1_200, 28_800, 7_200, 39_200, 16_800, 4_200, 79_800]
    >>> learned = ldp.learn_network(ldp.SampledGroups(domain, epsilon=4.0).simulate(people, rng=1), n_resamples=0)
    >>> list(learned.graph.edges)
    [('rain', 'grass'), ('sprinkler', 'grass')]
    >>> learned.query("grass", {"rain": "yes", "sprinkler": "off"}).estimate.round(2)
    array([0.78, 0.22])
    """

    tables: TableSet
    method: str
    words: str
    alpha: float
    constraints: EdgeConstraints
    structure: Structure
    orientation: Orientation
    edges: pd.DataFrame
    pairs: pd.DataFrame
    n_resamples: Count = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", significance(self.alpha))
        _refuse_other_figures(self.edges, _OF_EDGES)
        _refuse_other_figures(self.pairs, _OF_PAIRS)
        shown = {frozenset(edge) for edge in zip(self.edges["first"], self.edges["second"], strict=True)}
        directed = {frozenset(edge) for edge in self.orientation.chosen}
        kept = {frozenset(edge) for edge in self.structure.edges if edge not in self.orientation.left_out}
        if not shown == directed == kept or not set().union(*directed) <= set(self.domain.names):
            raise LdpstatsError(
                f"the directed edges {one_line(self.orientation.chosen)}", "a direction of every edge that was found"
            )
        self._refuse_other_pairs()

    def _refuse_other_pairs(self) -> None:
        """Refuse unknown attributes, and edges whose figures or directions differ from those of their pairs."""
        pairs = {(str(row["first"]), str(row["second"])): row for row in plain_rows(self.pairs)}
        tested = [(*separation.pair, *separation.given) for separation in self.structure.separations]
        known = [*pairs, *tested, *self.constraints.required, *self.constraints.forbidden, self.constraints.order]
        if not {name for names in known for name in names} <= {*self.domain.names} or len(pairs) < len(self.pairs):
            raise LdpstatsError(
                "figures of other attributes", f"those of {one_line(self.domain.names)}, each pair once"
            )
        for row in plain_rows(self.edges):
            edge = row["first"], row["second"]
            expected = {name: pairs.get(edge, {}).get(name) for name in _SHARES} | _direction(edge, self.orientation)
            if edge not in pairs or any(row[name] != value for name, value in expected.items()):
                raise LdpstatsError(f"figures of the edge {edge}", "those of its pair, and its known direction")
        if (self.n_resamples == 0) != bool(self.pairs["confidence"].isna().all()):
            raise LdpstatsError(f"n_resamples = {self.n_resamples}", "0 where there is no confidence, and only there")

    @classmethod
    def of(
        cls,
        tables: TableSet,
        constraints: EdgeConstraints,
        structure: Structure,
        pairs: pd.DataFrame,
        *,
        why: Mapping[Edge, str],
        **more: Any,
    ) -> LearnedNetwork:
        """Direct the edges that were found, and measure them.

        Colliders are looked for where the search itself directs no edges.

        Parameters
        ----------
        tables, constraints, structure, pairs
            As in the class.
        why : mapping
            By edge.
        more
            The other fields.
        """
        figures = {(str(row["first"]), str(row["second"])): row for row in pairs.to_dict(orient="records")}
        strength = {pair: row["information"] for pair, row in figures.items()}
        independent = {frozenset(pair): row["pvalue"] for pair, row in figures.items()}
        chain = ChainTests(tables).of
        orientation = oriented_by_tests(structure, constraints, chain, strength, independent, more["alpha"])
        edges = [
            {
                **figures[edge],
                **_direction(edge, orientation),
                **_with_interval(tables, edge, more["alpha"]),
                "why": why[edge],
            }
            for edge in progress(structure.edges, "intervals", unit="edge")
            if edge not in orientation.left_out
        ]
        frame = pd.DataFrame(edges, columns=list(_OF_EDGES)).astype(dict.fromkeys(_FIGURES, float))
        return cls(
            tables,
            constraints=constraints,
            structure=structure,
            orientation=orientation,
            edges=frame,
            pairs=pairs,
            **more,
        )

    @property
    def domain(self) -> Domain:
        """The attributes and their categories."""
        return self.tables.domain

    @property
    def n(self) -> int:
        """The reports behind it, each counted once."""
        return self.tables.n

    @property
    def simulated(self) -> int:
        """How many of them came from a simulation."""
        return self.tables.simulated

    @property
    def privacy(self) -> PrivacyStatement:
        """What the respondents were promised."""
        return self.tables.privacy

    @property
    def skeleton(self) -> Graph[str]:
        """The edges without directions; every attribute knows its number of `categories`."""
        return self.graph.to_undirected()

    @property
    def cpdag(self) -> DiGraph[str]:
        """The edges with the directions that are known; an edge without one stands in both."""
        chosen, known = self.orientation.chosen, self.orientation.directed
        return graph_of(self.domain, [*chosen, *(edge[::-1] for edge in chosen if edge not in known)])

    @property
    def graph(self) -> DiGraph[str]:
        """The directed graph without cycles that the parameters are those of: known directions, and chosen ones."""
        return graph_of(self.domain, self.orientation.chosen)

    @property
    def separations(self) -> pd.DataFrame:
        """The tests by which other pairs were left out: what was tested, p-value, power, and what decided.

        Where "power" decided, the test would often have missed a dependence that is worth an edge: nothing is known.
        """
        columns = ["first", "second", "given", "pvalue", "power", "decided_by"]
        rows = [
            (*separation.pair, ", ".join(separation.given), separation.pvalue, separation.power, separation.decided_by)
            for separation in self.structure.separations
        ]
        return pd.DataFrame(rows, columns=columns)

    def averaged(self, threshold: float | None = None) -> LearnedNetwork:
        """Return the network of all edges that are in so large a share of the networks from redrawn counts.

        Parameters
        ----------
        threshold : float, optional
            The least confidence; by default that of Scutari & Nagarajan (2013), see `averaging_threshold`.
        """
        if not self.n_resamples:
            raise LdpstatsError("a network without redraws", "one learned with n_resamples = 100, say")
        confidence = self.pairs["confidence"].to_numpy()
        least = averaging_threshold(confidence) if threshold is None else probability(threshold, "threshold")
        pairs = zip(self.pairs["first"], self.pairs["second"], strict=True)
        kept = self.pairs[(confidence >= least) & [self.constraints.allows(*pair) for pair in pairs]]
        edges = tuple(zip(kept["first"], kept["second"], strict=True))
        forward = dict(zip(edges, kept["forward"], strict=True))
        directed = tuple(
            edge if forward[edge] > _HALF else edge[::-1]
            for edge in edges
            if self.structure.directed and forward[edge] != _HALF
        )
        return LearnedNetwork.of(
            self.tables,
            self.constraints,
            Structure(edges, directed),
            self.pairs,
            why=dict.fromkeys(edges, "averaged"),
            method=f"{self.method}, averaged",
            words=f"{self.words} {_AVERAGED.format(self.n_resamples, least)}",
            alpha=self.alpha,
            n_resamples=self.n_resamples,
            notes=self.notes,
        )

    @cached_property
    def parameters(self) -> FittedParameters:
        """The conditional probabilities of every attribute given its parents, with intervals; worked out once."""
        return fit_parameters(self.tables, self.graph)

    @property
    def network(self) -> BayesianNetwork:
        """The fitted network: a distribution of all attributes."""
        return self.parameters.network

    @property
    def model(self) -> Any:
        """The fitted network as pgmpy's DiscreteBayesianNetwork."""
        return self.to_pgmpy()

    def sample(self, n: int, rng: Rng = None) -> pd.DataFrame:
        """Draw n synthetic records from the fitted network.

        Parameters
        ----------
        n : int
        rng : seed or numpy Generator, optional
        """
        return self.network.sample(n, rng)

    def query(
        self, of: str | Iterable[str], given: Mapping[str, Category] | None = None, **options: Any
    ) -> QueryResult:
        """Return probabilities of the fitted network, given what is known, with intervals.

        Parameters
        ----------
        of, given, options
            As in `FittedParameters.query`.
        """
        return self.parameters.query(of, given, **options)

    def to_bif(self, path: str | Path) -> None:
        """Write the fitted network to a file in the Bayesian interchange format, as `BayesianNetwork.to_bif` does.

        Parameters
        ----------
        path : str or Path
            A file that exists is replaced if a network was written to it here; any other is left as it is, and refused.
        """
        self.network.to_bif(path)

    def to_pgmpy(self) -> Any:
        """Return the fitted network as pgmpy's DiscreteBayesianNetwork."""
        return self.network.to_pgmpy()

    def to_networkx(self) -> DiGraph[str]:
        """Return `graph`."""
        return self.graph

    def to_frame(self) -> pd.DataFrame:
        """Return `edges`."""
        return self.edges.copy()

    def to_dict(self) -> dict[str, Any]:
        """Return the network as plain values, without its parameters."""
        return plain_values(
            self,
            "attributes=domain method alpha edges pairs graph=orientation.chosen separations constraints n_resamples "
            "notes n privacy simulated channel_fit=tables.channel_fit",
            constraints=asdict(self.constraints),
        )

    def summary(self) -> Summary:
        """Return the edges as a table, and how they were found, directed and left out, in sentences."""
        title = f"Network of {len(self.domain)} attributes{simulation(self.simulated, self.n)}"
        level = f"{100 * (1 - self.alpha):g} %"
        left_out = self.orientation.left_out
        sentences = [
            f"Edges: {len(self.edges)}. {self.words}",
            *([_INFORMATION.format(level, len(self.pairs))] if len(self.edges) else []),
            *self._directions_in_words(),
            *([_CIRCLE.format("; ".join(map(" and ".join, left_out)))] if left_out else []),
            *self._separations_in_words(),
            *self._untold_in_words(),
            *([_CONFIDENCE.format(self.n_resamples)] if self.n_resamples else []),
            *self.notes,
            *self.privacy.sentences(self.n),
            ASSUMED,
            *self.tables.warnings,
        ]
        return summary_of_figures(title, _HEADERS, [_line(row) for row in self.edges.itertuples()], sentences)

    @property
    def headline(self) -> str:
        """How large it is, how it was found, and from how many reports."""
        size, kind = in_numbers(len(self.domain), len(self.edges)), simulation(self.simulated, self.n)
        return f"{size} by {self.method!r}, n = {self.n:,}{kind}"

    def picture(self) -> NetworkGraph:
        """Return its graph: edges as wide as they are strong, with arrows where a direction is known."""
        ways = {frozenset(edge): edge for edge in self.orientation.chosen}
        edges = [_drawn(row, ways) for row in self.edges.itertuples()]
        return NetworkGraph(
            f"Network of {len(self.domain)} attributes{simulation(self.simulated, self.n)}",
            tuple(self.tables.channel_fit().warning),
            self.domain.names,
            tuple(edges),
            "mutual information {} nats",
            plain="no direction that the reports tell",
        )

    def _directions_in_words(self) -> list[str]:
        reasons = self.orientation.directed.values()
        directed = [words for reason, words in _DIRECTED_BY.items() if reason in reasons]
        meeting = unshielded_triples(self.orientation.chosen)
        known = len(self.orientation.verdicts)
        return [
            *([f"Directions are due to {', '.join(directed)}."] if directed else []),
            *([_COLLIDERS.format(known, len(meeting))] if meeting and "search" not in reasons else []),
            *([_SUFFICIENT] if not {"required", "constraint"}.issuperset(reasons) else []),
            *([_CHOICE] if len(reasons) < len(self.edges) else []),
        ]

    def _separations_in_words(self) -> list[str]:
        separations, undecided = self.structure.separations, int((self.edges["why"] == "undecided").sum())
        powerless = [" and ".join(separation.pair) for separation in separations if separation.decided_by == "power"]
        kept = [_UNDECIDED.format(undecided)] if undecided else []
        if not separations:
            return kept
        evident = f"Tests separate {len(separations)} pairs, {len(separations) - len(powerless)} of them by evidence."
        return [
            evident,
            *kept,
            *([_POWERLESS.format(len(powerless), "; ".join(powerless[:_SHOWN]))] if powerless else []),
        ]

    def _untold_in_words(self) -> list[str]:
        graph, groups = self.graph, [set(table.attributes) for table in self.tables]
        families = {name: set(graph.predecessors(name)) for name in graph}
        untold = [name for name, own in families.items() if not any({name, *own} <= group for group in groups)]
        return [_UNTOLD.format(" and ".join(untold))] if untold and len(self.edges) else []


def _direction(edge: Edge, orientation: Orientation) -> dict[str, str]:
    known = orientation.directed
    for arrow, way in (("→", edge), ("←", edge[::-1])):
        if way in known:
            return {"direction": arrow, "directed_by": known[way]}
    return {"direction": "—", "directed_by": ""}


def _with_interval(tables: TableSet, edge: Edge, alpha: float) -> dict[str, float]:
    """Return the mutual information of a pair by all reports about it, with its interval."""
    # wider tables are many, and those that do not hold the pair would add little
    about = [table for table in tables if len(table.attributes) < 3 or set(edge) <= set(table.attributes)]
    information = mutual_information(pooled_table(about, tables.domain.project(edge), tables.privacy), alpha)
    lower, upper = information.conf_int()
    return {"information": information.estimate, "lower": lower, "upper": upper}


def _refuse_other_figures(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Refuse a frame with other columns, or shares outside 0 to 1; rows and figures may be missing."""
    numbers = [name for name in columns if name in _FIGURES]
    texts = [value for name in columns if name not in numbers and name in frame for value in frame[name]]
    if list(frame.columns) != [*columns] or not all(isinstance(value, str) for value in texts):
        raise LdpstatsError(f"figures in the columns {one_line(list(frame.columns))}", one_line([*columns]))
    wrong = [name for name in numbers if frame[name].dtype.kind != "f"]
    wrong += [name for name in numbers if name in _SHARES and not frame[name].dropna().between(0, 1).all()]
    if wrong:
        raise LdpstatsError(f"the column {wrong[0]!r} with other values", "numbers, and shares from 0 to 1")


def _drawn(row: Any, ways: Mapping[frozenset[str], Edge]) -> DrawnEdge:
    """Return a row as an edge of the picture, in the chosen direction where none is known."""
    first, second = ways[frozenset((row.first, row.second))]
    undecided = row.why == "undecided"
    return DrawnEdge(first, second, row.information, row.direction != "—", undecided, row.confidence)


def _line(row: Any) -> list[str]:
    measured = ["---" if math.isnan(value) else f"{value:.4g}" for value in (row.information, row.lower, row.upper)]
    tested = [pvalue_in_words(value, 2) for value in (row.pvalue, row.adjusted)]
    confidence = "---" if math.isnan(row.confidence) else f"{row.confidence:.2f}"
    return [row.first, row.direction, row.second, *measured, *tested, confidence, row.why]
