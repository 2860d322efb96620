"""The shell around a step: options, records in and out, errors and exit codes.

A step is a function from record to record; its executable says which one:

    class Sync(Step):
        \"\"\"Bring control.git level with origin.\"\"\"
        needs = ("agent", "identity")
        def work(self, record, config): yield syncing.sync(record, config)
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import ClassVar

from ent_agent import config as configuration
from ent_agent import records
from ent_agent.config import Config
from ent_agent.records import ErrorSection, Record
from harness import command
from harness.command import error_fields, report
from harness.command_line import cli
from harness.errors import BadData, Failure, Usage, of_disk


class Command(command.Command):
    """What all commands of ent-agent share."""

    def load_config(self) -> Config:
        return configuration.load(self.config_path or None)


class Step(Command):
    """A command of the pipeline."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Sections that a record must have; when started without records they are made first."""
    works_on_errors: ClassVar[bool] = False
    """Whether records with `error` are worked too (finalize) instead of passed through."""

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        """The step itself: none, one or several records for one."""
        raise NotImplementedError

    def beginning(self, config: Config) -> Iterator[Record]:
        """The records to work on when none come in: the sections of `needs`, made."""
        from ent_agent import beginning

        return beginning.records(config, self.needs)

    def source(self, config: Config) -> Iterator[Record]:
        """The records that come in, or those made when none do."""
        return read_records() if has_records() else self.beginning(config)

    def taken_up(self, record: Record, config: Config) -> Record | None:
        """The record as this step takes it; None: not meant for this call, to be passed through."""
        return record

    def main(self) -> int:
        config = self.load_config()
        exit_code = 0
        for record in self.source(config):
            exit_code = self._one(record, config) or exit_code
        return exit_code

    def _one(self, record: Record, config: Config) -> int:
        """Work one record; returns the exit code that it makes for."""
        came_with_error = record.error is not None
        exit_code = 0
        if record.skipped or (came_with_error and not self.works_on_errors):
            write(record)
            return exit_code
        try:
            taken = record if came_with_error else self.taken_up(record, config)
            if taken is None:
                write(record)
                return exit_code
            if not came_with_error:
                self._check(taken)
            for done in self.work(taken, config):
                write(done)
                if done.error and not came_with_error:
                    report(done.error)
                    exit_code = done.error.exit_code
        except (Failure, OSError) as error:
            failure = error if isinstance(error, Failure) else of_disk(error)
            if failure is None or isinstance(error, BrokenPipeError):
                raise
            record.error = as_error(failure)
            write(record)
            report(failure)
            exit_code = failure.exit_code
        return exit_code

    def _check(self, record: Record) -> None:
        missing = [name for name in self.needs if getattr(record, name) is None]
        if missing:
            raise BadData(
                f"the record has no section {missing[0]!r}",
                hint="run the steps in order; docs/contract.md has it",
            )


class IssueStep(Step):
    """A step that works one issue: the record's, or the one that `--issue` names."""

    issue = cli.SwitchAttr(
        ["--issue"],
        str,
        argname="ID",
        default="",
        help="the issue to work on, where records name none; a unique prefix will do",
    )

    def beginning(self, config: Config) -> Iterator[Record]:
        from ent_agent import beginning

        if not self.issue:
            raise Usage(
                "no records on standard input and no --issue",
                hint="name an issue with --issue, or pipe one in",
            )
        return beginning.records(config, self.needs, self.issue)

    def taken_up(self, record: Record, config: Config) -> Record | None:
        """With `--issue`, records without an issue get it; those of others stay out of it."""
        if not self.issue:
            return record
        if record.issue is None:
            from ent_agent import beginning

            return beginning.choose(record, config, self.needs, self.issue)
        return record if record.issue.id.startswith(self.issue) else None


def has_records(descriptor: int = 0) -> bool:
    """Whether stdin is a pipe or file; a terminal, /dev/null or nothing at all means: start from config."""
    try:
        about = os.fstat(descriptor)
    except OSError:
        return False
    return not stat.S_ISCHR(about.st_mode)


def read_records() -> Iterator[Record]:
    """Records from stdin, one a line; blank lines are passed over.

    Raises:
        BadData: names the line.
    """
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                yield records.decode(line)
            except BadData as error:
                raise BadData(f"standard input, line {number}: {error.message}", hint=error.hint) from error


def write(record: Record) -> None:
    sys.stdout.buffer.write(records.encode(record))
    sys.stdout.buffer.flush()


def as_error(failure: Failure) -> ErrorSection:
    return ErrorSection(**error_fields(failure))
