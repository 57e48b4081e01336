"""Scripted bytes: draws whose chance was written down beforehand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Script:
    """Bytes that were written down beforehand."""

    def __init__(self, *parts: NDArray[np.unsignedinteger] | bytes) -> None:
        self.left = b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts)

    def __call__(self, count: int) -> bytes:
        assert len(self.left) >= count, "more bytes were asked for than the draw needs"
        taken, self.left = self.left[:count], self.left[count:]
        return taken
