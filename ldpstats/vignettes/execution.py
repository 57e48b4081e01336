"""Notebooks executed by a kernel of this Python; what fails in a cell is an error with the cell's own message."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ldpstats.errors import LdpstatsError
from ldpstats.presentation import progress
from ldpstats.presentation.formats import visible
from ldpstats.vignettes.notebooks import Notebook, require

_ARGUMENTS = ["--InlineBackend.figure_formats={'svg'}", "--InteractiveShellApp.ignore_cwd=True"]
_BACKEND = "module://matplotlib_inline.backend_inline"
_LONGEST_SOCKET = 100
"""Bytes that the name of a socket may have on all systems."""
_MOST_SAID = 600
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class CellError(LdpstatsError):
    """Error of a cell of a vignette, with what it said."""


def executed(notebook: Notebook, folder: Path, name: str) -> Notebook:
    """Execute a notebook in place; a signal ends its kernel, and is a KeyboardInterrupt.

    Parameters
    ----------
    notebook, folder, name
        `folder` has its files; no modules are imported from there, since a file of answers may be called "random.py".
    """
    require("nbclient", "ipykernel", "matplotlib")
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    arrived: list[int] = []
    with TemporaryDirectory() as own, progress(None, name, len(notebook.cells), "cell") as bar:
        client = _client(notebook, folder, Path(own), arrived)
        client.on_cell_complete = lambda **_: bar.update()
        try:
            # pictures go to the notebook, and nobody's IPython profile is run
            settings = {"MPLBACKEND": _BACKEND, "IPYTHONDIR": str(Path(own) / "profiles"), "TQDM_DISABLE": "1"}
            client.execute(cleanup_kc=True, env={**os.environ, **settings})
        except (CellExecutionError, DeadKernelError, RuntimeError, asyncio.InvalidStateError) as error:
            if not arrived:  # else it is of being ended, by nbclient at the same time
                raise (_of_cell if isinstance(error, CellExecutionError) else _of_kernel)(error, name) from error
        finally:
            client.forget_kernel()
    if arrived:
        raise KeyboardInterrupt
    _refuse_errors(notebook, name)
    return notebook


def _refuse_errors(notebook: Notebook, name: str) -> None:
    """Refuse a notebook that shows errors: those of pictures come after the end of their cells, which do not fail."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                raise _of_cell(output, name)


def _client(notebook: Notebook, folder: Path, own: Path, arrived: list[int]) -> Any:
    """Return an executing client that notes in `arrived` the signals that come meanwhile."""
    from nbclient import NotebookClient

    class Interruptible(NotebookClient):
        """Client that a signal ends: with the signal handler of nbclient 0.11 it would wait for a reply forever."""

        async def async_start_new_kernel(self, **options: Any) -> None:
            """Replace nbclient's signal handlers, which are installed by now, and start the kernel."""
            if os.name != "nt" and threading.current_thread() is threading.main_thread():
                for number in _SIGNALS:
                    asyncio.get_running_loop().add_signal_handler(number, self._end_kernel, number)
            await super().async_start_new_kernel(**options)

        def forget_kernel(self) -> None:
            """Unregister the cleanup at exit: nbclient 0.11 would stop a kernel that did not even start."""
            atexit.unregister(self._cleanup_kernel)

        def _end_kernel(self, number: int) -> None:
            arrived.append(number)
            manager: Any = self.km
            self._ending = asyncio.ensure_future(manager.shutdown_kernel(now=True))

    return Interruptible(
        notebook,
        km=_kernel_manager(own),
        timeout=None,
        startup_timeout=300,
        extra_arguments=list(_ARGUMENTS),
        resources={"metadata": {"path": str(folder)}},
    )


def _kernel_manager(own: Path) -> Any:
    """Return a manager that starts a kernel of this very Python, whatever kernels are registered."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name=kernel_name, language="python")

    file = own / "kernel.json"
    named = len(os.fsencode(own / "kernel-ipc-5")) <= _LONGEST_SOCKET
    # sockets that are files of this folder, where a system has them: nothing of a notebook goes through a port
    return AsyncKernelManager(
        kernel_spec_manager=ThisPython(),
        kernel_name="python3",
        transport="ipc" if named and os.name != "nt" else "tcp",
        connection_file=str(file),
    )


def _of_cell(error: Any, name: str) -> CellError:
    """Return the error of a cell, with the package's own message first."""
    said = visible(" ".join(str(error.evalue).split()))
    said = said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}..."
    return CellError(
        f"the vignette {name} stopped at {error.ename}: {said.removesuffix('.')}",
        "data as its first page says",
        f"`ldpstats vignettes open {name}` shows what it takes; --columns chooses.",
    )


def _of_kernel(error: Exception, name: str) -> LdpstatsError:
    return LdpstatsError(
        f"the vignette {name} stopped, since the Python that executes it ended ({error})",
        "a Python that runs until the last cell",
        f"It may have lacked memory: take fewer rows, or --quick. `{sys.executable} -m ipykernel_launcher` must start.",
    )
