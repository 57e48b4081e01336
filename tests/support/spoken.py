"""What a result says, as one line: sentences are wrapped where a terminal ends."""

from __future__ import annotations


def spoken(shown: object) -> str:
    """Return what is printed, with single spaces between the words."""
    return " ".join(str(shown).split())
