"""`python -m tests.support.forge [--port N] [--folder F]`: a forge in the foreground, with three people in it."""

from __future__ import annotations

import argparse
import signal
import tempfile
import threading
from pathlib import Path

from tests.support.forge import StandIn


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.forge", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument(
        "--folder", type=Path, help="where the repositories lie; a temporary folder when left out"
    )
    parser.add_argument("--hook", metavar="URL", help="where acme/widget sends its webhooks")
    parser.add_argument("--secret", default="", help="what those are signed with")
    chosen = parser.parse_args()
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    with (
        tempfile.TemporaryDirectory() as temporary,
        StandIn.start(chosen.folder or Path(temporary), chosen.port) as forge,
    ):
        forge.user("alice", admin=True)
        forge.repository("acme/widget", collaborators={"bob": "write", "fordjent": "write"})
        if chosen.hook:
            forge.hook("acme/widget", chosen.hook, chosen.secret)
        print(f"url {forge.url}")
        for login in ("alice", "bob", "fordjent"):
            print(f"token {login} {forge.token(login)}", flush=True)
        stop.wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
