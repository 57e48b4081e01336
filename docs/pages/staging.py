"""The folder that Sphinx reads: files are written where they changed, and those that are no pages any more removed."""

from __future__ import annotations

from pathlib import Path


class Staging:
    """Pages on their way to Sphinx.

    Parameters
    ----------
    folder : Path
        It belongs to this program alone: whatever else is in it is removed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: set[Path] = set()

    def write(self, page: str, content: str | bytes) -> None:
        """Put a page or a file into its place.

        Parameters
        ----------
        page : str
            Its path from the root of the site.
        content : str or bytes
        """
        path = self._folder / page
        new = content.encode() if isinstance(content, str) else content
        if path in self._written and path.read_bytes() != new:
            raise ValueError(f"two pages at {page}")
        self._written.add(path)
        if not path.exists() or path.read_bytes() != new:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(new)

    def finish(self) -> None:
        """Remove what was not written this time."""
        for path in sorted(self._folder.rglob("*"), reverse=True):
            if path.is_file() and path not in self._written:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
