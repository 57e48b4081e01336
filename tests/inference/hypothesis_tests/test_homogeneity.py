"""Homogeneity of groups: the classical test without noise, and which groups are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from support.classical_tables import HABITS, STUDENTS
from support.noisy_tables import seen_without_noise

import ldpstats as ldp
from ldpstats.tables.respondents import RespondentSet

SHARES = ldp.Domain({"one": [1, 2, 3, 4], "other": [1, 2, 3, 4]})


@pytest.mark.parametrize(("method", "classical"), [("auto", "pearson"), ("wald", "pearson"), ("lr", "log-likelihood")])
def test_without_noise_homogeneity_is_the_classical_test_of_a_two_way_table(method: Any, classical: str) -> None:
    groups = np.array([[300, 200, 100], [120, 150, 130], [80, 90, 30]])
    domain = ldp.Domain({"answer": ["a", "b", "c"]})
    named = {name: seen_without_noise(domain, counts) for name, counts in zip("xyz", groups, strict=True)}
    found = ldp.homogeneity_test(named, method)
    known = chi2_contingency(groups, correction=False, lambda_=classical)
    assert found.statistic == pytest.approx(known.statistic, rel=1e-8)
    assert (found.df, found.n) == (known.dof, groups.sum())
    assert found.pvalue == pytest.approx(known.pvalue, rel=1e-6)
    assert "x, y, z have the same frequencies of answer" in found.hypothesis
    assert ldp.homogeneity_test(list(named.values())[::-1], method).statistic == pytest.approx(found.statistic)


def test_groups_that_were_asked_otherwise_are_refused() -> None:
    table = seen_without_noise(HABITS, STUDENTS)
    other = seen_without_noise(SHARES, np.arange(16))
    for groups in ([table], [table, other], [], [table, STUDENTS]):
        with pytest.raises(ldp.LdpstatsError, match="Allowed: "):
            ldp.homogeneity_test(groups)  # type: ignore[arg-type]  # this is what is refused
    turned = table.reordered(["marijuana", "alcohol", "cigarettes"])
    with pytest.raises(ldp.LdpstatsError, match="the same respondents twice"):
        ldp.homogeneity_test([table, turned])
    others = replace(turned, parts=RespondentSet.whole("0" * 32, 0, turned.n))
    assert ldp.homogeneity_test([table, others]).pvalue == pytest.approx(1.0)
