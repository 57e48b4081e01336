"""Estimates and their intervals, of every public result that has both: the one lies within the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

PAIR = ("x0", "x1")
ALPHAS = (0.05, 0.5, 0.9)


def random_tables(seed: int) -> ldp.TableSet:
    """Return tables of few or many respondents, with rare cells, at a level from .5 to 4."""
    rng = np.random.default_rng(seed)
    shape = ((2, 2, 2), (2, 3, 2), (3, 4, 2))[seed % 3]
    domain = ldp.Domain({name: [f"x{place}" for place in range(size)] for name, size in zip("abc", shape, strict=True)})
    shares = rng.dirichlet(np.full(domain.size(), rng.choice([0.1, 0.3, 2])))
    people = rng.multinomial(rng.choice([20, 100, 500, 5000]), shares)
    name, epsilon = str(rng.choice(["grr", "oue", "ss", "olh"])), float(rng.choice([0.5, 1, 2, 4]))
    if seed % 5 == 4:
        return ldp.CentralLaplace(domain, k=2, epsilon=epsilon).simulate(people, rng=seed)
    return ldp.SampledGroups(domain, k=2, epsilon=epsilon, mechanism=name).simulate(people, rng=seed)


def rows(frame: pd.DataFrame) -> np.ndarray:
    """Return every estimate of a frame with the ends of its interval."""
    name = next(one for one in ("estimate", "probability", "proportion", "accuracy", "information") if one in frame)
    return frame[[name, "lower", "upper"]].to_numpy(dtype=float)


def of_tables(tables: ldp.TableSet) -> Iterator[np.ndarray]:
    collected, moved = (one["a", "b"] for one in (tables, ldp.make_consistent(tables)))
    for table in (collected, moved):
        for alpha in ALPHAS:
            yield rows(table.to_frame(alpha=alpha))
            yield rows(table.marginal("b").to_frame(alpha=alpha))
            yield rows(table.conditional("b", given="a").to_frame(alpha=alpha))
            yield rows(table.crosstab(normalize="columns", alpha=alpha).to_frame())
        for picture in (table.conditional("b", given="a").picture(), table.picture("intervals")):
            yield rows(picture.to_frame())
    yield from (rows(tables.pooled(name).to_frame()) for name in "abc")
    yield rows(ldp.reconstruct(tables, ["a", "b", "c"]).to_frame())
    yield rows(tables.picture().to_frame())


def of_effects(tables: ldp.TableSet) -> Iterator[np.ndarray]:
    table = tables["a", "b"]
    for effect in (
        ldp.association(table),
        ldp.mutual_information(table),
        ldp.odds_ratio(table, rows=PAIR, columns=PAIR),
        ldp.risk_ratio(table, rows=PAIR, column="x0"),
        ldp.risk_difference(table, rows=PAIR, column="x0"),
        ldp.proportion_difference(table, ("x0", "x0"), ("x1", "x1")),
    ):
        yield np.array([(effect.estimate, *effect.conf_int(alpha)) for alpha in ALPHAS])


def of_networks(tables: ldp.TableSet) -> Iterator[np.ndarray]:
    learned = ldp.learn_network(tables)
    yield rows(learned.edges)
    yield rows(learned.parameters.to_frame())
    yield rows(learned.query("c", {"a": "x0"}).to_frame())
    yield rows(ldp.naive_bayes(tables, "c").expected_accuracy().to_frame())


@pytest.mark.parametrize(
    ("of", "seeds"),
    [
        (of_tables, (0, 2, 4)),  # every shape, and a curator
        (of_effects, range(6)),
        (of_networks, (0,)),
        *(
            pytest.param(*one, marks=pytest.mark.exhaustive)
            for one in ((of_tables, range(1, 12)), (of_effects, range(6, 30)), (of_networks, (1,)))
        ),
    ],
)
def test_estimates_lie_within_their_intervals(
    of: Callable[[ldp.TableSet], Iterator[np.ndarray]], seeds: Sequence[int]
) -> None:
    seen = 0
    for seed in seeds:
        found = np.concatenate([*of(random_tables(seed))])
        estimates, low, high = found.T
        # nan where there is no estimate, or no possible value
        outside = (estimates < low - 1e-12) | (estimates > high + 1e-12)
        assert not outside.any(), (seed, found[outside])
        seen += int((~np.isnan(found).any(axis=1)).sum())
    assert seen > 8 * len(seeds)
