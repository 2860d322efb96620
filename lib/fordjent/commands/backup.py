"""fordjent-backup: copy the state folder while the server runs."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from fordjent.cli import Command


class Backup(Command):
    """Copy database, repositories and memory into a new folder, without a secret; a server that runs goes on.

    The copy is a state folder: to restore it, end the server, put a copy of it where state.dir is, start again.
    """

    PROGNAME = "fordjent-backup"
    DESCRIPTION_MORE = "Example:  fordjent-backup /var/backups/fordjent-$(date +%F)"

    def main(self, target: str) -> int:
        config = self.load_config()

        from fordjent.operations.backup import back_up

        sys.stdout.buffer.write(msgspec.json.encode(back_up(config, Path(target))) + b"\n")
        return 0


def main() -> None:
    Backup.start()
