"""Every planted bug is caught by its check."""

from __future__ import annotations

import pytest
from support.planted_bugs import PLANTED, FlipOffByOnePercent, LastBitInClear, OneAnswerForEverything

from ldpstats.conformance import ConformanceError, certify, check_named, checks_of
from ldpstats.conformance.memory import another_value_has_an_answer_of_its_own
from ldpstats.mechanisms import LGRR


@pytest.mark.parametrize("name", PLANTED)
def test_its_check_catches_it(name: str) -> None:
    bug = PLANTED[name]
    check = check_named(bug.check)
    assert check in checks_of(bug.make)
    with pytest.raises(bug.error):
        check(bug.make)


def test_certification_stops_at_a_planted_bug() -> None:
    with pytest.raises(ConformanceError, match="a report gives a value away with certainty"):
        certify(LastBitInClear)


def test_a_one_percent_error_of_a_flip_is_caught_by_the_noise_model_too() -> None:
    with pytest.raises(ConformanceError, match="mean of the tally is off by"):
        check_named("noise_model_is_exact")(FlipOffByOnePercent)


def test_a_memo_that_uses_an_answer_for_another_value_is_caught() -> None:
    with pytest.raises(ConformanceError, match="is not about the value"):
        another_value_has_an_answer_of_its_own(LGRR, OneAnswerForEverything)
