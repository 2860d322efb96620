"""ent-agent-doctor: see what would keep the loop from working unattended, and how to mend it.

Example:
    ent-agent-doctor --cron && crontab -e
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ent_agent.cli import Command
from harness.command_line import cli
from harness.doctor.showing import told
from harness.errors import Failure

USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"
KEPT_BY_CRON = ("HOME", "LOGNAME", "USER")


class Doctor(Command):
    """Check programs, configuration, key, origin, tracker, agent and state folder; name what mends each.

    A table on a terminal, else one JSON object a line. Exit code 0 when there are only
    warnings, 69 when a program is missing, 78 for any other problem.
    """

    PROGNAME = "ent-agent-doctor"
    DESCRIPTION_MORE = "Example:  ent-agent-doctor --cron && crontab -e"

    cron = cli.Flag(["--cron"], help="look as cron would: in the environment that `invoke cron` writes")

    def main(self) -> int:
        from ent_agent.doctor.examination import examine

        if self.cron:
            self._again_as_cron()
        found = examine(self.config_path or None)
        return told(found, as_json=not sys.stdout.isatty())

    def _again_as_cron(self) -> None:
        """Replace this process by one with cron's environment; returns only by an error."""
        path, config = USUAL_PATH, self.config_path
        try:
            from ent_agent.loop import cron

            loaded = self.load_config()
            config = str(loaded.path)
            path = cron.search_path(loaded, os.environ.get("PATH", USUAL_PATH))
        except Failure:  # it is found again, and said, by the checks
            pass
        kept = {name: os.environ[name] for name in KEPT_BY_CRON if name in os.environ}
        words = [sys.executable, str(Path(sys.argv[0]).absolute())]
        words += ["--config", str(Path(config).absolute())] if config else []
        sys.stdout.flush()
        os.chdir(kept.get("HOME", "/"))
        os.execve(sys.executable, words, {**kept, "PATH": path, "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"})


def main() -> None:
    Doctor.start()
