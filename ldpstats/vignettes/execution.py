"""Notebooks executed by a kernel of this Python; what fails in a cell is an error with the cell's own message."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.presentation import progress
from ldpstats.vignettes.notebooks import Notebook

_EXTRA = "pip install 'ldpstats[vignettes]'"
_SHARP = "--InlineBackend.figure_formats={'svg'}"


class CellError(LdpstatsError):
    """A cell of a vignette that failed, with what it said."""


def executed(notebook: Notebook, folder: Path, name: str) -> Notebook:
    """Return a notebook with what its cells print and show.

    Parameters
    ----------
    notebook : Notebook
        It is changed in place.
    folder : Path
        Where its files are.
    name : str
        What a progress bar and errors call it.
    """
    for package in ("nbclient", "ipykernel", "matplotlib"):
        if find_spec(package) is None:
            raise LdpstatsError(f"vignettes cannot run without the package {package}", "Jupyter's", _EXTRA)
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    with progress(None, name, len(notebook.cells), "cell") as bar:
        client: Any = NotebookClient(
            notebook,
            km=_kernel_manager(folder),
            timeout=None,
            extra_arguments=[_SHARP],
            resources={"metadata": {"path": str(folder)}},
            on_cell_complete=lambda **_: bar.update(),
        )
        try:
            client.execute(cleanup_kc=True, env={**os.environ, "TQDM_DISABLE": "1"})
        except CellExecutionError as error:
            raise _of_cell(error, name) from error
    return notebook


def _kernel_manager(folder: Path) -> Any:
    """Return what starts a kernel of this very Python, whatever kernels are registered."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import KernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name=kernel_name, language="python")

    # sockets that are files of this folder, where a system has them: nothing of a notebook goes through a port
    return KernelManager(
        kernel_spec_manager=ThisPython(),
        kernel_name="python3",
        transport="tcp" if os.name == "nt" else "ipc",
        connection_file=str(folder / "kernel.json"),
    )


def _of_cell(error: Any, name: str) -> CellError:
    """Return the error of a cell: what the package says of the data stands in the foreground."""
    said = str(error.evalue)
    return CellError(
        f"the vignette {name} stopped at {error.ename}: {shortened(said, 600)[1:-1]}",
        "data as its first page says",
        f"`ldpstats vignettes open {name}` shows what it takes; --columns chooses.",
    )
