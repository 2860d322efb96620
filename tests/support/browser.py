"""A real browser for tests: Debian's Chromium without a window, spoken to over a pipe (DevTools protocol)."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 40.0
DESKTOP = (1280, 900, False)
PHONE = (390, 844, True)

Size = tuple[int, int, bool]


def program() -> str:
    """ "": there is none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), "")


class Failed(AssertionError):
    """The browser does not do what it is told, or a script in a page has failed."""


class Browser:
    """One tab. `problems`: what its console complained of: scripts, and what the page's policy refused."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._buffer = b""
        self._numbers = itertools.count(1)
        self._session = ""
        self.problems: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def open(self, url: str, size: Size = DESKTOP, *, dark: bool = False, scripts: bool = True) -> None:
        """Load a page, and be back when it is there."""
        width, height, mobile = size
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        answer = self._ask("Page.navigate", url=url)
        if "errorText" in answer:
            raise Failed(f"{url}: {answer['errorText']}")
        self.until("document.readyState === 'complete'")

    def get(self, expression: str) -> Any:
        """What a JavaScript expression is in the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, expression: str, seconds: float = SECONDS) -> Any:
        """Wait until the expression is true."""
        ends = time.monotonic() + seconds
        while True:
            try:
                if found := self.get(expression):
                    return found
            except Failed:  # the page is just being exchanged for another
                pass
            if time.monotonic() > ends:
                raise Failed(f"not within {seconds:.0f} s: {expression}")
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        self.get(f"document.querySelector({json.dumps(selector)}).click()")

    def text(self, selector: str = "body") -> str:
        return str(self.get(f"document.querySelector({json.dumps(selector)}).innerText"))

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        shot = self._ask("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def cookies(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("Network.getCookies")["cookies"]
        return found

    def forget(self) -> None:
        """All cookies."""
        self._ask("Network.clearBrowserCookies")

    # ---- the protocol: JSON documents, each ended by a NUL

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + SECONDS
        while True:
            answer = self._next(ends)
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def _next(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._back], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise Failed("the browser does not answer")
            part = os.read(self._back, 1 << 20)
            if not part:
                raise Failed("the browser has ended")
            self._buffer += part
        first, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(first)
        return found


@contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """Until the block ends; its profile is in `folder`."""
    to_browser, back_from_browser = os.pipe(), os.pipe()
    words = [
        program(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "--no-first-run",
        "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars", "--lang=en",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]  # fmt: skip
    script = f'exec 3<&{to_browser[0]} 4>&{back_from_browser[1]}; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", script, "browser", *words],
        pass_fds=(to_browser[0], back_from_browser[1]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "HOME": str(folder), "TZ": "UTC"},
    )
    os.close(to_browser[0])
    os.close(back_from_browser[1])
    try:
        yield Browser(to_browser[1], back_from_browser[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        os.close(to_browser[1])
        os.close(back_from_browser[0])
