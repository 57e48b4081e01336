"""Programs that are run in processes of their own, whose strings have other hashes each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable


def printed_under_hash_seeds(program: str, seeds: Iterable[int] = (1, 2)) -> set[str]:
    """Return all that a program prints under these hash seeds: one text, if they make no difference."""
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in seeds
    }
