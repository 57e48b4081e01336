"""Registered classes: the package's own are where they are said to be, and others have names of their own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.extend import Saveable
from ldpstats.saving import registered
from ldpstats.saving.registered import class_named, is_registered, kept_fields, register


@pytest.mark.parametrize("name", registered._MODULES)
def test_every_registered_class_is_where_it_is_said_to_be(name: str):
    """A class that was moved or renamed moves in `registered._HOMES`, too."""
    assert is_registered(class_named(name))
    assert all(not field.name.startswith("_") for field in kept_fields(class_named(name)))


def test_classes_from_outside_are_saved_once_they_are_registered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registered, "_FROM_OUTSIDE", {})

    @dataclass(frozen=True)
    class Wish(Saveable):
        words: str
        _thoughts: tuple[str, ...] = ()

    with pytest.raises(LdpstatsError, match="has to be registered"):
        Wish("more").to_json()
    assert register(Wish) is Wish is register(Wish)
    text = Wish("more", ("kept to myself",)).to_json()
    assert Wish.from_json(text) == Wish("more")
    assert "myself" not in text
    monkeypatch.setattr(registered, "_FROM_OUTSIDE", {})
    with pytest.raises(LdpstatsError, match=r"the class 'Wish'.*registered first"):
        Wish.from_json(text)


def test_names_that_are_taken_and_what_is_no_dataclass_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registered, "_FROM_OUTSIDE", {})

    @dataclass(frozen=True)
    class Table:
        words: str

    class Plain:
        pass

    for one in (Table, Plain, int, None, Table("x")):
        with pytest.raises(LdpstatsError, match="a dataclass with a name that no registered class has"):
            register(one)
