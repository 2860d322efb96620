"""fordjent-doctor: see what would keep Fordjent from working, and how to mend it."""

from __future__ import annotations

import sys

from fordjent.cli import Command
from harness.command_line import cli


class Doctor(Command):
    """Check machine, configuration, database, forge, repositories, webhooks, models; name what mends each.

    A table on a terminal, else one JSON object a line. Exit code 0 when there are only warnings, 69 when a
    program is missing, 78 for any other problem. With $FORDJENT_SETUP_TOKEN, a token of somebody who
    administrates the repositories, each webhook is tried by a test delivery.
    """

    PROGNAME = "fordjent-doctor"
    DESCRIPTION_MORE = "Example:  fordjent-doctor --json | jq -r 'select(.status != \"ok\") | .fix'"

    json = cli.Flag(["--json"], help="a JSON object a line on a terminal too")

    def main(self) -> int:
        import logging

        import structlog

        from fordjent.operations.examination import examine
        from harness.doctor.showing import told

        quiet = structlog.make_filtering_bound_logger(logging.CRITICAL)  # what fails is a finding
        structlog.configure(wrapper_class=quiet, logger_factory=structlog.PrintLoggerFactory(sys.stderr))
        return told(examine(self.config_path or None), as_json=bool(self.json) or not sys.stdout.isatty())


def main() -> None:
    Doctor.start()
