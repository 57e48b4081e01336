"""The example of the README, as it stands there: a test runs it."""

from __future__ import annotations

import re

from pages.places import ROOT

_EXAMPLE = re.compile(r"```python\n.*?```\n\n```text\n.*?```\n", flags=re.DOTALL)


def example() -> str:
    """Return its code and what that prints."""
    found = _EXAMPLE.search((ROOT / "README.md").read_text("utf-8"))
    if found is None:
        raise ValueError("README.md has no example with its output")
    return found[0]
