"""fordjent-replay: make an event of a stored delivery again."""

from __future__ import annotations

import sys
import time

import msgspec

from fordjent.cli import Command


class Made(msgspec.Struct):
    delivery: str
    event: int
    said: str


class Replay(Command):
    """Make an event of a stored delivery again: a server that runs decides on it as if it had just come."""

    PROGNAME = "fordjent-replay"
    DESCRIPTION_MORE = "Example:  fordjent-replay 5a4811c3-6176-4068-b7b6-c6ab8d1260d1"

    def main(self, delivery: str) -> int:
        config = self.load_config()

        from fordjent.context import open_database
        from fordjent.store import events

        database = open_database(config)
        try:
            event = database.submit(events.again, delivery, time.time()).result()
        finally:
            database.close()
        made = Made(delivery, event, "a new event was made of it, to be decided as if it had just come")
        sys.stdout.buffer.write(msgspec.json.encode(made) + b"\n")
        return 0


def main() -> None:
    Replay.start()
