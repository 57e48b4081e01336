"""Monte Carlo p-values: their level holds whatever ends the draws, and none is ever zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.two_way_tables import drawn, independent, table_of

import ldpstats as ldp
from ldpstats.noise import Tally


class TestMonteCarlo:
    """The Monte Carlo p-value."""

    def test_is_reproducible_and_records_its_seed(self) -> None:
        table = table_of((2, 2), [drawn("grr", 900, 1.0, 22, independent(2, 2))])
        first, again = (ldp.independence_test(table, pvalue=ldp.MonteCarlo(199, rng=5)) for _ in range(2))
        assert first.pvalue == again.pvalue
        assert first.pvalue_source == "Monte Carlo, 199 tables, seed 5"
        fresh = ldp.independence_test(table, pvalue=ldp.MonteCarlo(199))
        assert ldp.independence_test(table, pvalue=ldp.MonteCarlo(199, rng=fresh.seed)).pvalue == fresh.pvalue

    @pytest.mark.parametrize(
        ("first", "enough", "most", "none"),
        [
            (40, 15, 300, None),
            (40, None, 300, None),
            (40, 5, 200, None),
            (40, 15, None, None),
            (40, 15, 300, 90),
            (60, 12, None, 25),
        ],
    )
    def test_its_level_holds_whatever_ends_the_draws(
        self, first: int, enough: int | None, most: int | None, none: int | None
    ) -> None:
        """Of l tables and the observed one each is equally often the highest: all orders are enumerated as an urn."""
        drawn = ldp.MonteCarlo(first, rng=1, enough=enough, at_most=most, none_of=none)
        urn, law = {0: 1.0}, dict[float, float]()
        for size in range(1, drawn.most + 1):
            following = dict[int, float]()
            for count, chance in urn.items():
                for new, share in ((1, (count + 1) / (size + 1)), (0, (size - count) / (size + 1))):
                    reached = np.arange(size) < count
                    reached[-1] |= new > 0
                    decided = drawn.decided(reached)
                    if math.isnan(decided):
                        following[count + new] = following.get(count + new, 0) + chance * share
                    else:
                        law[decided] = law.get(decided, 0) + chance * share
            urn = following
        for count, chance in urn.items():
            law[(1 + count) / (1 + drawn.most)] = law.get((1 + count) / (1 + drawn.most), 0) + chance
        pvalues = np.array(sorted(law))
        levels = np.cumsum([law[one] for one in pvalues])
        assert levels[-1] == pytest.approx(1)
        assert np.all(levels <= pvalues * (1 + 1e-9))
        assert levels[0] > pvalues[0] / 2

    def test_draws_on_where_next_to_nothing_reaches_the_observed(self) -> None:
        table = table_of((2, 2), [Tally(ldp.GRR(4, 8.0).noise, np.array([50, 0, 0, 10]), 60)])
        on = ldp.independence_test(table, pvalue=ldp.MonteCarlo(999, rng=3, enough=100, at_most=5_000))
        assert (on.pvalue, on.pvalue_source) == (1 / 5_001, "Monte Carlo, up to 5,000 tables, seed 3")
        with pytest.raises(ldp.LdpstatsError, match="at_most"):
            ldp.MonteCarlo(999, at_most=99)

    def test_is_chosen_where_reports_are_rare(self) -> None:
        frequencies = np.outer([0.97, 0.03], [0.9, 0.1]).ravel()
        table = table_of((2, 2), [drawn("grr", 200, 9.0, 24, frequencies)])
        result = ldp.independence_test(table)
        assert result.pvalue_source.startswith("Monte Carlo, up to 9,999 tables")
        assert "expected reports" in result.pvalue_source

    @pytest.mark.parametrize("arguments", [{"n_resamples": 0}, {"n_resamples": 9.5}, {"rng": -1}, {"rng": "seed"}])
    def test_refuses_what_it_cannot_use(self, arguments: dict[str, object]) -> None:
        with pytest.raises(ldp.LdpstatsError):
            ldp.MonteCarlo(**arguments)
