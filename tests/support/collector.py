"""A collector on this machine: it serves the files of a folder to a browser, and keeps what is posted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any


@contextmanager
def collector(folder: Path) -> Iterator[tuple[str, Queue[str]]]:
    """Serve a folder; yield the address, and the queue of what is posted."""
    posted: Queue[str] = Queue()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, posted, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", posted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, posted: Queue[str], *arguments: Any, **options: Any) -> None:
        self._posted = posted
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # every browser asks for one
            self._nothing()
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self._posted.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self._nothing()

    def log_message(self, *_: Any) -> None:
        """Say nothing of requests."""

    def _nothing(self) -> None:
        self.send_response(204)
        self.end_headers()
