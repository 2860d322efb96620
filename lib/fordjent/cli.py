"""The shell around Fordjent's commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import command
from harness.command_line import cli

if TYPE_CHECKING:
    from fordjent.config import Config
    from harness.redaction import Redactor


class Command(command.Command):
    """What all commands of Fordjent share."""

    def load_config(self) -> Config:
        """
        Raises:
            BadConfig: there is none, or it cannot work.
        """
        from fordjent import config

        return config.load(self.config_path or None)


class LoggingCommand(Command):
    """One whose work is logged, on stderr: what it prints on stdout is for the next program."""

    verbose = cli.Flag(["-v", "--verbose"], help="log what is done in detail")

    def begin_log(self, config: Config) -> Redactor:
        """What the log is redacted by: a secret that it learns later is in no later line."""
        from fordjent.context import redactor_of
        from fordjent.serving import logs

        redactor = redactor_of(config)
        logs.begin(config.log, redactor, verbose=bool(self.verbose))
        return redactor
