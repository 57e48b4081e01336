"""Checkpoints: how far a count has come, in a file, so that it goes on without loss or double count."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ldpstats.errors import LdpstatsError
from ldpstats.limits import LARGEST_FILE
from ldpstats.saving.files import opened, read_file, sealed, write

KIND, VERSION = "unfinished count", 1
_SECONDS = 5.0
"""How much work is lost at most."""


class Checkpoint:
    """The checkpoint file from which an interrupted count resumes; that of another count is refused.

    `about` are plain values that identify the count: the protocol, and the files in order.
    """

    def __init__(self, path: str | Path, about: list[Any]) -> None:
        # as it is read again
        self._path, self._about = path, json.loads(json.dumps(about))
        self._last = time.monotonic()
        self.state: dict[str, Any] = self._read() if _exists(path) else {}

    @property
    def due(self) -> bool:
        """Whether the state should be saved again."""
        return time.monotonic() - self._last >= _SECONDS

    def write(self, state: dict[str, Any]) -> None:
        """Save the state of the count, as plain values."""
        write(self._path, sealed(KIND, VERSION, {"about": self._about, "state": state}))
        self._last = time.monotonic()

    def _read(self) -> dict[str, Any]:
        body = read_file(
            self._path, lambda text: opened(text, KIND, VERSION, dict), "the checkpoint of a count", LARGEST_FILE
        )
        if body.get("about") != self._about or not isinstance(body.get("state"), dict):
            raise LdpstatsError(
                f"the checkpoint {str(self._path)!r} of another count: other files, or others by now, "
                "another protocol, or other options",
                "the checkpoint of this very count, or a new name",
                "Nothing in it was changed. Remove it to count anew.",
            )
        state: dict[str, Any] = body["state"]
        return state


def _exists(path: Any) -> bool:
    try:
        return Path(path).exists()
    except (TypeError, ValueError, OSError) as error:
        raise LdpstatsError(f"the checkpoint {path!r} ({error})", "the name of a file") from error
