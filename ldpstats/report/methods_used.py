"""How a report was made: methods in words and with references, what they assume, and the programs."""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version

from ldpstats.estimation import ASSUMED, TABLE_METHODS
from ldpstats.noise import AdditiveNoise, NoiseModel, NoisyCounts, RevealedBits
from ldpstats.presentation import panel_of_facts
from ldpstats.protocols.groups import label
from ldpstats.protocols.summary import named
from ldpstats.report.content import Folded, Listed, Part, Rows, can_draw
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables.shared import sharing_in_words

_RANDOMIZED = (
    "Each report is one draw from a public channel, whose probabilities are known exactly. So the noise can be taken "
    "off the counts on average, and what it adds to the uncertainty is known: standard errors and intervals hold both "
    "the randomization and the sampling of the respondents."
)
_TRUTH_OR_LIE = (
    "Randomized response: a report is the true answer with a known probability, and another one otherwise (Warner "
    "1965; Kairouz, Bonawitz & Ramage 2016)."
)
_CHANNEL = (
    "A report is one of finitely many outputs, of which the true answer makes some more probable than others (Acharya, "
    "Sun & Zhang 2019; Erlingsson, Pihur & Korolova 2014)."
)
_SUPPORTS = (
    "Frequency oracles: a report supports several answers, the true one more often than the others (Wang, Blocki, Li "
    "& Jha 2017; Ye & Barg 2018)."
)
_CURATOR = (
    "A trusted curator counted the true answers and added noise to the counts (Dwork, McSherry, Nissim & Smith 2006)."
)
_SENT = "Respondents answer their own device truthfully, and it randomizes as the protocol says."
_COUNTED = "The curator was given true answers, counted every respondent once, and added noise as stated."
_BITS = "A report reveals a few bits of an encoded answer, each of them randomized (Ding, Kulkarni & Yekhanin 2017)."
_NOISY = "A report is an encoded answer with Laplace noise in every place (Wang, Blocki, Li & Jha 2017)."
_INTERVALS = (
    "Intervals of proportions invert a score test (Wilson 1927) where an estimate is a linear function of one count, "
    "or go by the tails of that count where it is small (mid-p, Lancaster 1961); other estimates have normal ones."
)
_TESTS = (
    "Independence is tested through the noise: by Rao's (1948) score test of the reports' likelihood where they have "
    "one, else by its least-squares counterpart with the covariance under independence. p-values are those of χ², or "
    "by Monte Carlo where reports are few."
)
_MONTE_CARLO = "Monte Carlo, from a seed that follows from the counts"
_HOLM = "p-values are adjusted for the number of pairs by Holm's (1979) method, however the tests depend on each other."
_EFFECTS = (
    "Cramér's V (Cramér 1946) is taken from the unbiased table, less what noise adds to its square on average (as "
    "Bergsma 2013 does for sampling); its intervals invert a noncentral χ². Where noise alone would show a V of .3 it "
    "is not estimable."
)
_RESIDUALS = (
    "Adjusted residuals (Haberman 1973) are deviations from independence in standard errors under it, randomization "
    "included."
)
_FIT = (
    "Channel fit: whether counts can have come through their channels, whatever the respondents' true answers are, is "
    "tested at level .001."
)
_NETWORK = (
    "The network joins what a spanning tree of largest mutual information (Chow & Liu 1968) and tests of all triangles "
    "leave; directions follow from colliders and from Meek's (1995) rules, the others are a choice."
)


def _is_curators(noise: NoiseModel) -> bool:
    return isinstance(noise, NoisyCounts)


# the first that holds is said of a noise
_NOISES: tuple[tuple[Callable[[NoiseModel], bool], str], ...] = (
    (_is_curators, _CURATOR),
    (lambda noise: isinstance(noise, RevealedBits), _BITS),
    (lambda noise: isinstance(noise, AdditiveNoise), _NOISY),
    (lambda noise: noise.truth_or_fake is not None, _TRUTH_OR_LIE),
    (lambda noise: noise.channel is not None and noise.members is None, _CHANNEL),
    (lambda _: True, _SUPPORTS),
)


def methods(studied: StudiedTables, *, network: bool) -> Iterator[Part]:
    """Name the statistical methods; with `network` also structure learning."""
    yield Listed(tuple(_used(studied, network=network)))


def _used(studied: StudiedTables, *, network: bool) -> Iterator[str]:
    made_of = [part for table in studied.tables for part in table.made_of]
    noises = _noises(studied)
    if not all(map(_is_curators, noises)):
        yield _RANDOMIZED
    yield from dict.fromkeys(next(words for holds, words in _NOISES if holds(noise)) for noise in noises)
    if cited := list(dict.fromkeys(words for origin in studied.tables.origins for words in origin.cited)):
        yield f"Reports were randomized by {'; '.join(cited)}."
    yield from dict.fromkeys(TABLE_METHODS[part.method].words for part in made_of if part.method in TABLE_METHODS)
    yield from dict.fromkeys(table.provenance.words for table in studied.tables if table.provenance.words)
    yield _INTERVALS
    if any(pair.is_tested for pair in studied.ranked_pairs):
        yield from (_TESTS, *_sources(studied), _HOLM, _RESIDUALS)
    if studied.ranked_pairs:
        yield _EFFECTS
    yield _FIT
    if network:
        yield _NETWORK


def _noises(studied: StudiedTables) -> list[NoiseModel]:
    return [block.noise for table in studied.tables for part in table.made_of for block in part.blocks]


def _sources(studied: StudiedTables) -> Iterator[str]:
    """Say for how many pairs statistics and p-values were computed in which way."""
    tests = [pair.test for pair in studied.ranked_pairs if pair.is_tested]
    origins = [_MONTE_CARLO if test.seed is not None else test.pvalue_source for test in tests]
    for what, used in (("Tests", Counter(test.method for test in tests)), ("p-values", Counter(origins))):
        if used:
            numbered = "; ".join(f"{words} ({number})" for words, number in used.items())
            yield f"{what}, with the number of pairs: {numbered}."


def assumptions(studied: StudiedTables) -> Iterator[Part]:
    """Say what must hold for the figures to be right."""
    assumed: dict[str, list[str]] = {}
    for table in studied.tables:
        if table.assumption:
            assumed.setdefault(table.assumption, []).append(label(table.attributes))
    said = (
        ASSUMED,
        *dict.fromkeys(_COUNTED if _is_curators(noise) else _SENT for noise in _noises(studied)),
        *sharing_in_words(list(studied.tables)),
        *(f"{words} This is assumed for {named(tables)}." for words, tables in assumed.items()),
    )
    yield Listed(said)


def colophon(studied: StudiedTables) -> Iterator[Part]:
    """Name the tables and the programs, so that the page can be made again."""
    programs = ("ldpstats", "numpy", "scipy", "pandas", "statsmodels", *(["matplotlib"] if can_draw() else []))
    facts = {
        "Programs": ", ".join(
            [*(f"{name} {version(name)}" for name in programs), f"Python {platform.python_version()}"]
        ),
        "SHA-256 of the tables": hashlib.sha256(studied.tables.to_json().encode()).hexdigest(),
        "Collections": f"{len(studied.tables.collections):,}",
    }
    yield (
        "The same tables make the same page, to the letter, with these versions. The digest is that of the file which "
        "tables.save() writes."
    )
    yield Rows(panel_of_facts(facts, "Made of, and with"))
    if rows := {str(number): identity for number, identity in enumerate(studied.tables.collections, 1)}:
        table = Rows(panel_of_facts(rows, "Collections whose reports are in these tables"))
        yield Folded("Identities of the collections", (table,))
