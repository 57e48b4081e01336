"""Results: what they say of themselves in one line stays one line, and steers no terminal."""

from __future__ import annotations

import numpy as np

import ldpstats as ldp


def test_names_of_several_lines_do_not_break_the_line_of_a_result():
    domain = ldp.Domain({"new\nline": ["a\nb", "c"], "\x1b[31mred": ["p", "q"]})
    tables = ldp.SampledGroups(domain, k=2, epsilon=3.0).simulate(np.array([4, 1, 1, 4]) * 100, rng=1)
    learned = ldp.learn_network(tables)
    for result in (
        tables["new\nline", "\x1b[31mred"],
        learned.query("new\nline"),
        ldp.naive_bayes(tables, "new\nline"),
    ):
        assert repr(result).isprintable()
        assert "new\\nline" in repr(result)
