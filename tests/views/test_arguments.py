"""What views take: names, counts and groups, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats import LdpstatsError
from ldpstats.views import certify_views, views


def test_names_take_the_place_of_numbers() -> None:
    names = ["A", "R", "E", "O", "S"]
    numbered = [[tuple(names[i] for i in pair) for pair in view] for view in views(5)]
    assert views(names) == views(tuple(names)) == views(np.array(names)) == views(pd.Index(names)) == numbered


def test_a_generator_of_names_is_read_once() -> None:
    assert views(name for name in "AB") == [[("A", "B")]]


def test_numpy_counts_are_counts() -> None:
    assert views(np.int64(5), np.int32(2)) == views(5, 2)
    assert views(np.int64(9), np.int32(3), cover="pairs") == views(9, 3, cover="pairs")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no attributes": ({"attributes": 0}, "at least 1"),
    "no names": ({"attributes": []}, "0 attributes"),
    "one attribute": ({"attributes": 1}, "groups of 2 out of 1 attributes"),
    "a bool": ({"attributes": True, "k": 1}, "attributes = True"),
    "one name": ({"attributes": "sex", "k": 1}, "attributes = 'sex'"),
    "duplicates": ({"attributes": ["A", "B", "A"]}, "different names"),
    "bools as names": ({"attributes": [True, False]}, "different names"),
    "groups too large": ({"k": 7}, "groups of 7 out of 6 attributes"),
    "groups of none": ({"k": 0}, "k = 0"),
    "a bool k": ({"k": True}, "k = True"),
    "a fraction k": ({"k": 2.0}, "k = 2.0"),
    "too many groups": ({"attributes": 40, "k": 20}, "137,846,528,820 groups of 20 out of 40 attributes"),
    "pairs in groups of one": ({"k": 1, "cover": "pairs"}, "k = 1"),
    "an unknown cover": ({"cover": "triples"}, "cover = 'triples'"),
    "two covers": ({"cover": "pairs", "groups": [(0, 1)]}, "one of them"),
    "no groups": ({"groups": []}, "at least one group"),
    "groups by number": ({"groups": 3}, "groups = 3"),
    "groups in a string": ({"groups": "AB"}, "groups = 'AB'"),
    "a group in a string": ({"attributes": ["A", "B"], "groups": ["AB"]}, "the group 'AB'"),
    "an empty group": ({"groups": [(0, 1), ()]}, "the group ()"),
    "a name for a group": ({"groups": [0, 1]}, "the group 0"),
    "an unknown name": ({"groups": [(0, 1), (1, 6)]}, "6 in the group (1, 6)"),
    "a bool for a number": ({"groups": [(True, 2)]}, "True in the group (True, 2)"),
    "a list for a name": ({"groups": [([0], 1)]}, "[0] in the group ([0], 1)"),
    "an attribute twice": ({"groups": [(0, 1, 0)]}, "an attribute twice in the group (0, 1, 0)"),
    "a group twice": ({"groups": [(0, 1), (2, 3), (1, 0)]}, "group (1, 0) twice"),
}


@pytest.mark.parametrize(("asked", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_seated_is_refused_by_views_and_by_their_certificate(asked: dict[str, Any], told: str) -> None:
    for refusing in (views, lambda *args, **options: certify_views([], *args, **options)):
        with pytest.raises(LdpstatsError, match=r"Allowed: ") as refusal:
            refusing(**{"attributes": 6, **asked})
        assert told in str(refusal.value)
