"""The shell around Fordjent's commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import command
from harness.command_line import cli

if TYPE_CHECKING:
    from fordjent.config import Config


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

    def begin_log(self, config: Config) -> None:
        from fordjent.context import redactor_of
        from fordjent.serving import logs

        logs.begin(config.log, redactor_of(config), verbose=bool(self.verbose))
