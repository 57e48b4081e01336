"""The envelope of saved files: what is read is what was written, and every accident is refused in our own words."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.saving.files import opened, sealed

BODY: dict[str, Any] = {"names": ["ä", "\ud800", "b"], "levels": [0.1, 1e-300, 2**70], "deep": {"x": None, "y": [True]}}


def test_what_is_read_is_what_was_written():
    assert opened(sealed("thing", 3, BODY), "thing", 3, lambda body: body) == BODY


def test_spaces_and_line_breaks_make_no_difference():
    spread = json.dumps(json.loads(sealed("thing", 3, BODY)), indent=2)
    assert opened(spread, "thing", 3, lambda body: body) == BODY


def test_the_file_says_what_its_digest_is_good_for():
    assert "against accidents, not attackers" in sealed("thing", 1, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (sealed("other", 1, []), "its format is 'ldpstats other'"),
        (sealed("thing", 2, []), "its version is 2"),
        (sealed("thing", 1, []).replace("[]", "[0]"), "changed after it was written"),
        (sealed("thing", 1, [])[:-5], "Expecting|delimiter|Unterminated"),
        ('{"format": "ldpstats thing", "version": 1, "body": []}', "it holds"),
        ("[1, 2]", "without a format"),
        ("", "Expecting value"),
        ("[" * 100_000, "recursion"),
        ('{"format": 1, "format": 1}', "more than once"),
        (sealed("thing", 1, []).replace("[]", "NaN"), "not JSON compliant"),
        ("1" * 5_000, "digits"),
    ],
)
def test_any_other_text_is_refused(text: str, said: str):
    with pytest.raises(LdpstatsError, match=said):
        opened(text, "thing", 1, lambda body: body)


def test_a_reader_that_stumbles_is_a_refusal():
    for stumble in (lambda body: body["x"], lambda body: body[10], lambda body: body.x, lambda _: 10**400 * 1.0):
        with pytest.raises(LdpstatsError, match="not a saved thing"):
            opened(sealed("thing", 1, []), "thing", 1, stumble)


def test_no_change_of_a_letter_is_read_as_something_else():
    # deterministic: every position, each with another letter
    text, letters = sealed("thing", 1, BODY), random.Random(1)  # noqa: S311  # no secret
    for place in range(len(text)):
        changed = text[:place] + letters.choice('x7"{} ') + text[place + 1 :]
        try:
            read = opened(changed, "thing", 1, lambda body: body)
        except LdpstatsError:
            continue
        assert read == BODY


@pytest.mark.parametrize("name", ["tables.json", Path("tables.json"), "", None])
def test_the_name_of_a_file_is_not_what_it_holds(name: Any):
    with pytest.raises(LdpstatsError, match=r"not a saved thing .*Pass what the file holds, not its name"):
        opened(name, "thing", 1, lambda body: body)
    with pytest.raises(LdpstatsError) as error:
        opened(sealed("thing", 1, [])[:-1], "thing", 1, lambda body: body)
    assert "its name" not in str(error.value)
