"""Forged files: saved objects with something else in the place of one of their parts, sealed again."""

from __future__ import annotations

import json
from typing import Any

from ldpstats.saving.files import sealed


def forged(text: str, path: str, value: Any) -> str:
    """Put plain JSON in the place that a path such as "tables 0 blocks 0 n" leads to; None leaves the part out."""
    whole = json.loads(text)
    inside, names = whole["body"], path.split()
    for place, name in enumerate(names):
        while isinstance(inside, dict) and name not in inside:
            (inside,) = inside.values()  # an object is under the name of its class
        key = int(name) if isinstance(inside, list) else name
        if place < len(names) - 1:
            inside = inside[key]
        elif value is None:
            del inside[key]
        else:
            inside[key] = value
    return sealed(whole["format"].removeprefix("ldpstats "), whole["version"], whole["body"])
