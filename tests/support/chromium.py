"""A real browser for tests: Chromium without a window, driven through pipes by its DevTools protocol."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_PATIENCE = 60.0
"""Seconds until the browser counts as dead: a slow machine is not a failure."""


@dataclass
class Chromium:
    """A running browser with one page."""

    inward: int
    outward: int
    events: list[dict[str, Any]] = field(default_factory=list)
    session: str | None = None
    _last: int = 0
    _read: bytes = b""

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something; return what it answers."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.inward, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait_for(self, method: str) -> dict[str, Any]:
        """Return the next event of a kind."""
        while True:
            for event in self.events:
                if event["method"] == method:
                    self.events.remove(event)
                    return event
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._read:
            ready, _, _ = select.select([self.outward], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            found = os.read(self.outward, 1 << 20)
            assert found, "the browser has ended"
            self._read += found
        first, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message

    def attached(self) -> Self:
        """Open the page, and listen to all that it says and asks for."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        return self

    def open(self, file: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Show a file in a window of some size, by day or by night."""
        self.shape(width, height, scheme)
        self.visit(file.resolve().as_uri())

    def visit(self, address: str) -> None:
        """Show what stands at an address."""
        self.events.clear()
        self.send("Page.navigate", url=address)
        self.wait_for("Page.loadEventFired")

    def shape(self, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Give the window another size, and day or night."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def value(self, script: str) -> Any:
        """Return what a script of the test finds in the page."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def awaited(self, script: str) -> Any:
        """Return what a script finds in the page, as soon as that is something."""
        look = f"const found = {script}; found ? done(found) : requestAnimationFrame(look)"
        return self.value(f"new Promise((done) => {{ const look = () => {{ {look}; }}; look(); }})")

    def said(self) -> list[str]:
        """Return every message of the page in the console."""
        kinds = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in kinds]

    def asked_for(self) -> list[str]:
        """Return every address that the page asked for."""
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]

    def printed(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])

    def screenshot(self, whole: bool = True) -> bytes:
        """Return what the page looks like as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=whole)["data"])


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Start a browser of its own, with a profile that is thrown away."""
    (inward, to_browser), (from_browser, outward) = os.pipe(), os.pipe()
    # above 3 and 4, which the shell puts in their place
    high = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (inward, outward)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # the browser listens at 3 and talks at 4
        started = ["bash", "-c", f'exec "$@" 3<&{high[0]} 4>&{high[1]}', "bash"]
        command = [*started, str(CHROMIUM), *_FLAGS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(command, pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for one in (inward, outward, *high):
            os.close(one)
        browser = Chromium(to_browser, from_browser)
        try:
            yield browser.attached()
            browser.session = None
            browser.send("Browser.close")
            process.wait(_PATIENCE)
        finally:
            process.kill()
            process.wait()
            os.close(to_browser)
            os.close(from_browser)
