"""The shell around a step: options, records in and out, errors and exit codes.

A step is a function from record to record; its executable says which one:

    class Sync(Step):
        \"\"\"Bring control.git level with origin.\"\"\"
        needs = ("agent", "identity")
        def work(self, record, config): return sync.bring_level(record, config)
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import ClassVar

import msgspec
from harness.errors import EX_SOFTWARE, EX_USAGE, BadData, Failure
from plumbum import cli

from ent_agent import config as configuration
from ent_agent import records
from ent_agent.config import Config
from ent_agent.records import ErrorSection, Record


class Command(cli.Application):
    """What all our commands share: --config, sysexits codes, one-line errors on stderr."""

    VERSION = "0.1.0"
    CALL_MAIN_IF_NESTED_COMMAND = False

    config_path = cli.SwitchAttr(
        ["--config"],
        str,
        default="",
        help="config.toml; else $ENT_AGENT_CONFIG, ./config.toml, the XDG place",
    )

    def load_config(self) -> Config:
        return configuration.load(self.config_path or None)

    @classmethod
    def start(cls) -> None:
        """Run as a program; never returns."""
        exit_code = EX_SOFTWARE
        try:
            _, exit_code = cls.run(exit=False)
            exit_code = {None: 0, 2: EX_USAGE}.get(exit_code, exit_code)  # plumbum says 2 for usage
            sys.stdout.flush()
        except Failure as failure:
            report(failure)
            exit_code = failure.exit_code
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            exit_code = 0
        except KeyboardInterrupt:
            exit_code = 130
        sys.exit(exit_code)


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

    def main(self) -> int:
        config = self.load_config()
        exit_code = 0
        source = read_records() if has_records(sys.stdin.fileno()) else self.beginning(config)
        for record in source:
            exit_code = self._one(record, config) or exit_code
        return exit_code

    def _one(self, record: Record, config: Config) -> int:
        if record.error and not self.works_on_errors:
            write(record)
            return 0
        try:
            missing = [name for name in self.needs if getattr(record, name) is None]
            if missing and not record.error:
                raise BadData(
                    f"the record has no section {missing[0]!r}",
                    hint="run the steps in order; docs/contract.md has it",
                )
            for done in self.work(record, config):
                write(done)
                if done.error and not record.error:
                    return done.error.exit_code
            return 0
        except Failure as failure:
            record.error = as_error(failure)
            write(record)
            report(failure)
            return failure.exit_code


def has_records(descriptor: int) -> bool:
    """Whether stdin is a pipe or file; a terminal, /dev/null or nothing at all means: start from config."""
    try:
        about = os.fstat(descriptor)
    except OSError:
        return False
    return not (stat.S_ISCHR(about.st_mode))


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
    return ErrorSection(
        code=failure.code,
        message=failure.message,
        hint=failure.hint,
        retry=failure.retry,
        resume_at=failure.resume_at,
        exit_code=failure.exit_code,
    )


def report(failure: Failure) -> None:
    """The failure on stderr: the JSON object of `error`, one line (docs/contract.md)."""
    sys.stderr.buffer.write(msgspec.json.encode(as_error(failure)) + b"\n")
    sys.stderr.buffer.flush()
