"""Fordjent's server as a process of its own, on a free port."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECRET = "s3cret-for-fixtures"
START_SECONDS = 20.0

CONFIG = """\
[webhook]
secret = "{secret}"
[server]
port = 0
{server}
[forgejo]
url = "{forge}"
token = "a-token-of-the-bot"
[state]
dir = "state"
[sessions]
shutdown_grace = "{grace}"
[providers.main]
base_url = "http://127.0.0.1:1/v1"
model = "none"
"""


def write_config(
    folder: Path,
    *,
    server: str = "",
    forge: str = "http://127.0.0.1:1",
    grace: str = "5s",
    secret: str = SECRET,
) -> Path:
    """A config.toml whose forge and model do not answer."""
    path = folder / "config.toml"
    path.write_text(CONFIG.format(secret=secret, server=server, forge=forge, grace=grace), encoding="utf-8")
    return path


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    log: Path
    address: tuple[str, int]

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Tell it to end; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(20)


@contextmanager
def started(config: Path, parts: str = "") -> Iterator[Server]:
    """Until the block ends. `parts`: `module:name` of what works beside the receiver; empty: nothing does."""
    log = config.parent / "server.log"
    begins_at = log.stat().st_size if log.exists() else 0
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.server", config, parts],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'lib'}{os.pathsep}{ROOT}"},
            stdin=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
    try:
        yield Server(process, log, _listening(process, log, begins_at))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def _listening(process: subprocess.Popen[bytes], log: Path, begins_at: int) -> tuple[str, int]:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        said = log.read_bytes()[begins_at:].decode("utf-8", "replace")
        found = re.search(r"http://([0-9.]+):(\d+)\", \"pid\"", said)
        if found:
            return found[1], int(found[2])
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise RuntimeError(f"the server did not start:\n{said}")


def main(config: str, parts: str) -> int:
    import uvloop

    from fordjent import config as configuration
    from fordjent.context import redactor_of
    from fordjent.serving import logs, process

    loaded = configuration.load(config)
    logs.begin(loaded.log, redactor_of(loaded))
    module, _, name = parts.partition(":")
    made = getattr(importlib.import_module(module), name) if parts else []
    return uvloop.run(process.serve(loaded, made))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
