"""fordjent-receive: store one webhook delivery, as the server would."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from fordjent.cli import Command
from harness.command_line import cli
from harness.errors import BadData, Usage


class Receive(Command):
    """Store the delivery on standard input, and print the answer; a server that runs works it.

    It is trusted: no signature is asked for.
    """

    PROGNAME = "fordjent-receive"
    DESCRIPTION_MORE = "Example:  fordjent-receive --event issues --delivery 1234 < body.json"

    event = cli.SwitchAttr(
        ["--event"], str, argname="TYPE", default="", help="as X-Forgejo-Event-Type: issues, issue_comment …"
    )
    delivery = cli.SwitchAttr(
        ["--delivery"], str, argname="ID", default="", help="as X-Forgejo-Delivery; else a new one"
    )
    headers = cli.SwitchAttr(
        ["--headers"],
        str,
        argname="FILE",
        default="",
        help="a JSON object of headers, as the forge sent them",
    )

    def main(self) -> int:
        config = self.load_config()

        from fordjent.context import open_database
        from fordjent.intake import delivery
        from fordjent.intake.delivery import Rejected
        from fordjent.intake.receiver import Answer
        from fordjent.store import deliveries

        headers = self._headers()
        body = sys.stdin.buffer.read(config.server.max_body_bytes + 1)
        if len(body) > config.server.max_body_bytes:
            raise BadData(f"more than {config.server.max_body_bytes} bytes", hint="see server.max_body_bytes")
        try:
            arrived = delivery.trusted(headers, body)
        except Rejected as rejected:
            raise BadData(rejected.why, hint=rejected.hint) from rejected
        database = open_database(config)
        try:
            accepted = database.submit(deliveries.accept, arrived, time.time()).result()
        finally:
            database.close()
        answer = Answer.of(arrived, accepted)
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        return 0

    def _headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self.headers:
            try:
                given = msgspec.json.decode(Path(self.headers).read_bytes(), type=dict[str, str])
            except OSError as error:
                raise Usage(f"--headers {self.headers}: {error.strerror}") from error
            except msgspec.DecodeError as error:
                raise BadData(
                    f"{self.headers}: {error}", hint='like {"X-Forgejo-Event": "issues"}'
                ) from error
            found = {name.lower(): value for name, value in given.items()}
        if self.event:
            found |= {"x-forgejo-event": self.event, "x-forgejo-event-type": self.event}
        if self.delivery:
            found["x-forgejo-delivery"] = self.delivery
        return found


def main() -> None:
    Receive.start()
