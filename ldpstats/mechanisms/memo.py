"""Memoization: permanent answers of many respondents, drawn once and kept for every later report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.mechanisms.base import Reports
from ldpstats.mechanisms.longitudinal import Longitudinal
from ldpstats.numbers.arrays import as_array, integers_below
from ldpstats.numbers.randomness import Draws, Rng, client_draws
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.files import Saveable, opened, sealed

_SAVED = ("memo", 1)
_NAMES = {"mechanism", "simulated", "users", "keys", "answers"}
_INT64 = np.iinfo(np.int64)


class Memo(Saveable):
    """Reports of the same respondents time after time, all made of the permanent answers kept here.

    A permanent answer is drawn when a respondent first has a value, and reused whenever she has it again. So all
    reports about one value together tell no more than the permanent answer does, which is what the level of a
    longitudinal mechanism is about. Without a memo, reports that are averaged give the value away. Whether and when a
    value changes is not protected, however few permanent answers she uses: see `Longitudinal.changing_epsilon`.

    The memo itself is as secret as the values: it says who had which. It stays with the respondents, or in a
    simulation. Once it holds answers that were drawn from a seed, all its reports say that they are simulated. Keeping
    permanent answers is called memoization; in RAPPOR they are the permanent randomized response.

    Parameters
    ----------
    mechanism : Longitudinal
        The mechanism of all reports.

    Examples
    --------
    >>> from ldpstats import Memo
    >>> from ldpstats.mechanisms import LSUE
    >>> memo = Memo(LSUE(3, epsilon=2.0))
    >>> january = memo.reports(["ann", "bob"], [0, 2], rng=1)
    >>> february = memo.reports(["bob", "eve"], [2, 1], rng=2)
    >>> len(memo), january.data.shape, february.simulated
    (3, (2, 1), True)
    >>> len(Memo.from_json(memo.to_json(), LSUE(3, epsilon=2.0)))
    3
    """

    def __init__(self, mechanism: Longitudinal) -> None:
        if not mechanism.longitudinal:
            raise LdpstatsError(
                f"a memo of {mechanism!r}", "a longitudinal mechanism", "Others have no permanent answers."
            )
        self.mechanism = mechanism
        self.simulated = False
        self._users: pd.Index[Any] = pd.Index([], dtype=np.int64)
        # of each permanent answer: whose it is, times the most classes, plus the class of values that it is for
        self._keys: pd.Index[Any] = pd.Index([], dtype=np.int64)
        self._answers = np.empty(mechanism.report_format.shape(0), mechanism.report_format.dtype)
        # of each user: the place of her first permanent answer
        self._first = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        """How many permanent answers there are, of all respondents."""
        return len(self._answers)

    def __repr__(self) -> str:
        simulated = ", simulated" if self.simulated else ""
        return f"<Memo of {self.mechanism}: {len(self._users)} respondents, {len(self)} answers{simulated}>"

    def reports(self, users: ArrayLike, values: ArrayLike, rng: Rng = None) -> Reports:
        """Return one report of each user about her value: one round.

        Parameters
        ----------
        users : array of int or str
            Who reports, each once. The same names must be used in all rounds.
        values : array of int
            Their values in [0, k).
        rng : int or Generator, optional
            For a reproducible simulation; without it, randomness is the operating system's.
        """
        mechanism = self.mechanism
        checked = integers_below(values, mechanism.k, "values")
        names = _named(users)
        if len(names) != checked.size:
            raise LdpstatsError(f"{len(names)} users with {checked.size} values", "one value for each user")
        if names.has_duplicates:
            repeated = names[names.duplicated()].unique().tolist()
            raise LdpstatsError(
                f"the users {one_line(repeated)} more than once in a round", "each user once", "Start another round."
            )
        if len(self._users) and len(names) and names.dtype != self._users.dtype:
            raise LdpstatsError(
                f"users like {one_line(names[:1].tolist())}",
                f"names of the same kind as {one_line(self._users[:1].tolist())}, which the memo knows",
            )
        draws = client_draws(rng)
        known = {name: getattr(self, name) for name in ("simulated", "_users", "_keys", "_answers", "_first")}
        try:
            places = self._places(names, checked, draws)
        except BaseException:  # interrupted halfway: nothing of it was sent, and what is kept must fit together
            for name, value in known.items():
                setattr(self, name, value)
            raise
        simulated = self.simulated or draws.simulated
        return Reports(mechanism, mechanism.report(self._answers[places], draws), simulated)

    def _places(self, names: pd.Index[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[np.intp]:
        """Return the places of the permanent answers, after drawing those that are missing."""
        unknown = np.flatnonzero(self._users.get_indexer(names) < 0)
        self._enrol(names[unknown], values[unknown], draws)
        users = self._users.get_indexer(names)
        keys = self._keys_of(users, self._answers[self._first[users]], values)
        missing = np.flatnonzero(self._keys.get_indexer(keys) < 0)
        earlier = self._answers[self._first[users[missing]]]
        self._keep(keys[missing], self.mechanism.remember_another(earlier, values[missing], draws), draws)
        return self._keys.get_indexer(keys)

    def _enrol(self, names: pd.Index[Any], values: NDArray[np.int64], draws: Draws) -> None:
        respondents, most = len(self._users) + len(names), self.mechanism.most_classes
        if respondents * most > _INT64.max:
            raise LdpstatsError(
                f"{respondents} respondents with up to {most} permanent answers each",
                "fewer than 2**63 permanent answers",
                "Take a mechanism with fewer values or symbols, or several memos.",
            )
        permanent = self.mechanism.remember(values, draws)
        users = len(self._users) + np.arange(len(names))
        self._first = np.concatenate([self._first, len(self) + np.arange(len(names))])
        self._users = names if not len(self._users) else self._users.append(names)
        self._keep(self._keys_of(users, permanent, values), permanent, draws)

    def _keep(self, keys: pd.Index[Any], permanent: NDArray[Any], draws: Draws) -> None:
        if len(keys):
            self._keys = self._keys.append(keys)
            self._answers = np.concatenate([self._answers, permanent.astype(self._answers.dtype)])
            self.simulated |= draws.simulated

    def _keys_of(
        self, users: NDArray[np.integer[Any]], permanent: NDArray[Any], values: NDArray[np.int64]
    ) -> pd.Index[Any]:
        own_classes = self.mechanism.classes(permanent, values)
        keys: pd.Index[Any] = pd.Index(users * self.mechanism.most_classes + own_classes)
        return keys

    def to_json(self) -> str:
        """Return everything as JSON, for the respondents' side; `from_json` restores it exactly."""
        body = {
            "mechanism": self.mechanism.to_dict(),
            "simulated": self.simulated,
            "users": self._users.tolist(),
            "keys": encoded(self._keys.to_numpy()),
            "answers": encoded(self._answers),
        }
        return sealed(*_SAVED, body)

    @classmethod
    def from_json(cls, text: str, mechanism: Longitudinal | None = None) -> Memo:
        """Read a memo that `to_json` wrote; damaged ones are refused.

        Parameters
        ----------
        text : str
        mechanism : Longitudinal, optional
            What it must be a memo of. A mechanism from outside the package has to be given; others are named in it.
        """
        from ldpstats.mechanisms.registry import mechanism as named

        def read(body: dict[str, Any]) -> Memo:
            memo = cls(named(**body["mechanism"]) if mechanism is None else mechanism)  # type: ignore[arg-type]  # refuses others
            used = memo.mechanism
            if set(body) != _NAMES or body["mechanism"] != used.to_dict():
                raise ValueError(f"it holds {one_line(list(body))}, made for {body['mechanism']}, not for {used}")
            users, keys, simulated = _named(body["users"]), decoded(body["keys"]), body["simulated"]
            answers = Reports(used, decoded(body["answers"])).data
            owners, first = np.unique(keys // used.most_classes, return_index=True)
            whole = keys.dtype == np.int64 and np.unique(keys).size == len(keys) == len(answers)
            whole = whole and np.array_equal(owners, np.arange(len(users))) and not users.has_duplicates
            if not whole or not isinstance(simulated, bool):
                raise ValueError("users and answers do not belong together")
            # with two hash functions a respondent would spend more than was said
            kept = used.kept(answers)
            if not np.array_equal(kept, kept[first][keys // used.most_classes]):
                raise ValueError("permanent answers of one respondent that do not share what she keeps")
            memo.simulated, memo._users, memo._keys = simulated, users, pd.Index(keys)
            memo._answers, memo._first = answers, first
            return memo

        return opened(text, *_SAVED, read)


def _named(users: ArrayLike) -> pd.Index[Any]:
    """Return users as an index of whole numbers, or of texts."""
    # as objects, for a list with missing texts would become an array with the text "nan"
    array = as_array(users, "users") if hasattr(users, "dtype") else np.asarray(users, dtype=object)
    kind = pd.api.types.infer_dtype(array.ravel(), skipna=False)
    if array.ndim == 1 and kind == "string":
        texts: pd.Index[Any] = pd.Index(array.astype(object))
        return texts
    whole = not array.size or (kind == "integer" and _INT64.min <= array.min() <= array.max() <= _INT64.max)
    if array.ndim == 1 and whole:
        numbers: pd.Index[Any] = pd.Index(array.astype(np.int64))
        return numbers
    missing = " with missing ones" if pd.isna(array).any() else ""
    raise LdpstatsError(
        f"users of kind {kind!r} and shape {array.shape}{missing}", "a flat array of whole numbers, or of texts"
    )
