"""Samples are counted in the paper's bins and in those of its authors' notebook."""

from __future__ import annotations

import numpy as np
from papers.arcolezi.populations import SIZES, bin_counts, sampled_counts


def test_the_last_two_of_k_plus_one_bins_are_made_one() -> None:
    values = np.array([0.0, 0.9, 1.1, 2.1, 2.9, 3.0])
    assert bin_counts(values, 2, last_two_made_one=True).tolist() == [2, 4]
    assert bin_counts(values, 2, last_two_made_one=False).tolist() == [3, 3]
    assert bin_counts(values, 3, last_two_made_one=False).tolist() == [2, 1, 3]


def test_both_kinds_of_bins_count_the_same_samples() -> None:
    plain = sampled_counts("Exponential", 1000, 2, last_two_made_one=False)
    theirs = sampled_counts("Exponential", 1000, 2, last_two_made_one=True)
    assert list(plain) == list(SIZES)
    assert all(counts.shape == (2, k) and (counts.sum(axis=1) == 1000).all() for k, counts in plain.items())
    # the first of three bins lies in the first of two
    assert (theirs[2][:, 0] <= plain[2][:, 0]).all()
    assert (plain[50][0] != plain[50][1]).any()
