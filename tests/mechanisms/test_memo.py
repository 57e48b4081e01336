"""A memo keeps permanent answers exactly, finds them again, and refuses what does not belong to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from support.interruptions import interrupted

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRR
from ldpstats.mechanisms.dbitflip import DBitFlipPM
from ldpstats.mechanisms.longitudinal import Longitudinal
from ldpstats.mechanisms.longitudinal_rounds import LBLH, LGRR, LOLH, LOUE, LSUE, LUE
from ldpstats.mechanisms.memo import Memo
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.files import sealed

MECHANISMS: list[Longitudinal] = [
    LGRR(5, 2.0),
    LSUE(5, 2.0),
    LOUE(20, 1.0),
    LUE(5, 2.0, keep=0.6, first_epsilon=0.3, show=0.8),
    LBLH(50, 1.0),
    LOLH(50, 4.0),
    DBitFlipPM(50, 1.0, d=3),
]


@pytest.fixture(params=MECHANISMS, ids=str)
def mechanism(request: pytest.FixtureRequest) -> Longitudinal:
    found: Longitudinal = request.param
    return found


def permanent_of(memo: Memo, users: Any, values: Any) -> Any:
    """Return the permanent answers of users who have them."""
    with patch.object(type(memo.mechanism), "report", lambda _self, permanent, _draws: permanent):
        return memo.reports(users, values).data


@pytest.mark.parametrize(
    "kind",
    # with more symbols than values, too
    [*MECHANISMS, LOLH(2, 8.0), LOLH(3, 6.0), LBLH(2, 1.0), DBitFlipPM(4, 1.0, d=4), LGRR(3, 1.0)],
    ids=str,
)
def test_a_permanent_answer_is_drawn_once_and_kept_through_other_values(kind: Longitudinal) -> None:
    memo, users = Memo(kind), np.arange(400)
    values = users % kind.k
    first = permanent_of(memo, users, values)
    for shift in range(1, min(kind.k, 4)):
        another = permanent_of(memo, users, (values + shift) % kind.k)
        assert np.array_equal(kind.kept(another), kind.kept(first))
        assert not np.array_equal(another, first)
    order = np.random.default_rng(1).permutation(users.size)
    assert np.array_equal(permanent_of(memo, users[order], values[order]), first[order])


def test_a_saved_memo_resumes_exactly(mechanism: Longitudinal) -> None:
    memo, users = Memo(mechanism), [f"user {i} ö" for i in range(100)]
    values = np.arange(100) % mechanism.k
    assert len(Memo.from_json(memo.to_json(), mechanism)) == 0
    memo.reports(users[:60], values[:60])
    restored = Memo.from_json(memo.to_json(), mechanism)
    assert len(restored) == len(memo)
    assert np.array_equal(permanent_of(restored, users[:60], values[:60]), permanent_of(memo, users[:60], values[:60]))
    for kind in (memo, restored):
        assert len(kind.reports(users, values[::-1], rng=5)) == 100
    both = [kept.reports(users, values, rng=6).data for kept in (memo, restored)]
    assert np.array_equal(*both)
    assert memo.to_json() == restored.to_json()


@pytest.mark.parametrize(
    ("kind", "classes"),
    [
        *((LGRR(6, 1.0), 6), (LSUE(6, 1.0), 6), (LBLH(6, 1.0), 2)),
        *((DBitFlipPM(6, 1.0, d), classes) for d, classes in ((1, 2), (2, 3), (3, 4), (5, 6), (6, 6))),
    ],
    ids=str,
)
def test_a_respondent_has_one_permanent_answer_for_each_class_of_values(kind: Longitudinal, classes: int) -> None:
    memo = Memo(kind)
    for value in (*range(6), *range(6)):
        memo.reports(np.arange(50), np.full(50, value))
    assert len(memo) <= 50 * classes
    # a hash function may send all values to one symbol: with probability 2^-5
    assert len(memo) > 45 * classes
    if not isinstance(kind, LBLH):
        assert len(memo) == 50 * classes


def test_reports_are_secure_unless_a_seed_is_given_and_a_seed_leaves_its_mark() -> None:
    lgrr = LGRR(5, 1.0)
    secure = Memo(lgrr)
    assert not secure.reports(range(50), [0] * 50).simulated
    assert secure.reports(range(50), [0] * 50, rng=1).simulated
    # a seeded report of secure permanent answers leaves nothing behind
    assert not secure.reports(range(50), [0] * 50).simulated
    secure.reports([50], [0], rng=1)
    assert secure.reports(range(50), [0] * 50).simulated
    assert secure.simulated
    assert Memo.from_json(secure.to_json(), lgrr).simulated


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ([1, 1, 2], r"the users 1 more than once in a round"),
        (["a", "b", "a"], r"the users 'a' more than once in a round"),
        ([1, None, 2], "missing ones"),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), "missing ones"),
        ([1.0, 2.0, float("nan")], "missing ones"),
        ([1.0, 2.0, 3.0], "users of kind 'floating'"),
        ([b"a", b"b", b"c"], "users of kind 'bytes'"),
        ([["a"], ["b"], ["c"]], r"shape \(3, 1\)"),
        ([1, "a", 2], "users of kind 'mixed-integer'"),
        ([1, 2], "2 users with 3 values"),
        ("abc", "users of kind"),
    ],
)
def test_users_who_cannot_be_told_apart_are_refused(users: Any, message: str) -> None:
    memo = Memo(LGRR(5, 1.0))
    with pytest.raises(LdpstatsError, match=message):
        memo.reports(users, [0, 1, 2])
    assert len(memo) == 0


def test_names_of_another_kind_are_refused_later() -> None:
    memo = Memo(LGRR(5, 1.0))
    memo.reports([1, 2], [0, 1])
    with pytest.raises(LdpstatsError, match="names of the same kind as 1"):
        memo.reports(["1", "2"], [0, 1])
    assert len(memo) == 2


@pytest.mark.parametrize("make", [np.array, pd.Series, pd.Index, list, tuple])
@pytest.mark.parametrize("users", [["a", "b"], [7, 8]])
def test_names_are_the_same_however_they_come(make: Callable[[Any], Any], users: Any) -> None:
    memo = Memo(LGRR(5, 1.0))
    memo.reports(users, [0, 1])
    memo.reports(make(users), [0, 1])
    memo.reports(pd.Index(users, dtype=object), [0, 1])
    assert len(memo) == 2


@pytest.mark.parametrize("values", [[5, 0], [-1, 0], [0.0, 1.0], [None, 0], ["0", "1"], [[0, 1]]])
def test_values_outside_the_alphabet_are_refused_and_leave_the_memo_as_it_was(values: Any) -> None:
    memo = Memo(LGRR(5, 1.0))
    memo.reports([1, 2], [0, 1])
    before = memo.to_json()
    with pytest.raises(LdpstatsError):
        memo.reports([1, 3], values)
    assert memo.to_json() == before


def test_nobody_may_report_and_only_some_may() -> None:
    memo = Memo(LUE(9, 1.0))
    assert len(memo.reports([], [])) == 0
    memo.reports(["a", "b", "c"], [0, 1, 2])
    assert len(memo.reports([], [])) == 0
    memo.reports(["c"], [2])
    assert len(memo) == 3
    assert repr(memo) == f"<Memo of {memo.mechanism}: 3 respondents, 3 answers>"


def test_mechanisms_without_permanent_answers_have_no_memo() -> None:
    with pytest.raises(LdpstatsError, match="a longitudinal mechanism"):
        Memo(GRR(5, 1.0))  # type: ignore[arg-type]  # this is what is refused


@pytest.mark.parametrize(
    "other", [LGRR(5, 2.0, 0.5), LGRR(6, 2.0), LGRR(5, 2.1, 1.0), LSUE(5, 2.0), DBitFlipPM(5, 2.0)], ids=str
)
def test_a_memo_of_another_mechanism_is_refused(other: Longitudinal) -> None:
    memo = Memo(LGRR(5, 2.0))
    memo.reports(range(20), np.arange(20) % 5)
    with pytest.raises(LdpstatsError, match="made for"):
        Memo.from_json(memo.to_json(), other)


def body_of(memo: Memo) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(memo.to_json())["body"]
    return found


def damaged(body: dict[str, Any], **changes: Any) -> str:
    """Return the file with other contents, and a digest that fits them."""
    return sealed("memo", 1, {**body, **changes})


def test_damaged_files_are_refused() -> None:
    lgrr = LGRR(5, 2.0)
    memo = Memo(lgrr)
    memo.reports(range(20), np.arange(20) % 5)
    text, body = memo.to_json(), body_of(memo)
    twice = Memo(lgrr)
    twice.reports(range(20), np.arange(20)[::-1] % 5)
    twice.reports(range(20), np.arange(20) % 5)
    other = body_of(twice)
    keys, answers = decoded(body["keys"]), decoded(body["answers"])
    bad = [
        "",
        "null",
        "[]",
        text[:-2],
        sealed("memo", 2, body),
        damaged(body, users=body["users"][:-1]),
        damaged(body, users=[*body["users"][:-1], 0]),
        damaged(body, users=[*body["users"][:-1], None]),
        damaged(body, users=5),
        damaged(body, keys=other["keys"]),
        damaged(body, answers=other["answers"]),
        damaged(body, keys="?"),
        *(damaged(body, keys=encoded(wrong)) for wrong in (keys[:-1], keys - 1, keys * 1.0, keys[:, None])),
        *(damaged(body, answers=encoded(wrong)) for wrong in (answers[:-1], answers + 5, answers * 1.0)),
        damaged(body, simulated="no"),
        damaged(body, more=1),
        sealed("memo", 1, {key: value for key, value in body.items() if key != "users"}),
        sealed("memo", 1, []),
        text.replace('"simulated"', '"users"'),
    ]
    for one in bad:
        with pytest.raises(LdpstatsError, match="not a saved memo"):
            Memo.from_json(one, lgrr)
    assert Memo.from_json(text, lgrr).to_json() == text


def test_an_altered_answer_or_mark_is_noticed(mechanism: Longitudinal) -> None:
    memo = Memo(mechanism)
    memo.reports(range(20), np.arange(20) % mechanism.k)
    whole = json.loads(memo.to_json())
    other = Memo(mechanism)
    other.reports(range(20), np.arange(20) % mechanism.k)
    answers = body_of(other)["answers"]
    assert answers != whole["body"]["answers"]
    for changes in ({"simulated": True}, {"answers": answers}):
        with pytest.raises(LdpstatsError, match="changed after it was written"):
            Memo.from_json(json.dumps({**whole, "body": {**whole["body"], **changes}}), mechanism)


@pytest.mark.parametrize("kind", [LBLH(50, 1.0), LOLH(50, 4.0), DBitFlipPM(50, 1.0, d=3)], ids=str)
def test_a_respondent_with_two_hash_functions_is_refused(kind: Longitudinal) -> None:
    """Each of them alone keeps the level; both together do not."""
    memo = Memo(kind)
    for value in range(50):
        memo.reports(range(3), [value] * 3)
    assert len(memo) > 3
    answers = memo._answers.copy()
    kept = kind.kept(answers).shape[1]
    owners = memo._keys.to_numpy() // kind.most_classes
    for user in range(3):
        last = np.flatnonzero(owners == user)[-1]
        mixed = answers.copy()
        mixed[last, :kept] = answers[np.flatnonzero(owners == (user + 1) % 3)[0], :kept]
        with pytest.raises(LdpstatsError, match="do not share what she keeps"):
            Memo.from_json(damaged(body_of(memo), answers=encoded(mixed)), kind)


def test_more_permanent_answers_than_numbers_are_refused() -> None:
    memo = Memo(LGRR(5, 1.0))
    memo.reports(["ann"], [4])
    before = memo.to_json()
    with (
        patch.object(LGRR, "most_classes", 1 << 62),
        pytest.raises(LdpstatsError, match=r"fewer than 2\*\*63"),
    ):
        memo.reports(["bob", "eve"], [3, 4])
    assert memo.to_json() == before


def test_a_hundred_thousand_users_take_no_loop() -> None:
    """Nothing is called once per user: the mechanism's methods are called a few times a round."""
    lsue, calls = LSUE(10, 1.0), []
    original = LSUE.remember_another

    def counted(self: Any, earlier: Any, values: Any, draws: Any) -> Any:
        calls.append(len(values))
        return original(self, earlier, values, draws)

    memo = Memo(lsue)
    with patch.object(LSUE, "remember_another", counted):
        memo.reports(np.arange(100_000), np.zeros(100_000, dtype=int))
        memo.reports(np.arange(100_000), np.ones(100_000, dtype=int))
    assert len(memo) == 200_000
    assert calls == [0, 100_000]


@pytest.mark.parametrize("kind", [LSUE(3, 2.0), LOLH(3, 2.0)])
def test_an_interrupted_round_leaves_permanent_answers_whole(kind: Longitudinal) -> None:
    """A step that is half done would give respondents the permanent answers of others."""
    for step in range(0, 6000, 9):
        memo = Memo(kind)
        memo.reports(["ann", "bob"], [0, 2], rng=1)
        before = memo.to_json()
        came = interrupted(partial(memo.reports, ["eve", "bob", "joe"], [1, 0, 0], rng=2), step, "memo.py")
        users = json.loads(memo.to_json())["body"]["users"]
        assert memo.to_json() == before or users == ["ann", "bob", "eve", "joe"]
        memo.reports(["eve", "bob", "joe", "ann"], [1, 0, 0, 0], rng=3)
        assert Memo.from_json(memo.to_json(), kind).to_json() == memo.to_json()
        if not came:
            return
    raise AssertionError("it never came to an end")
