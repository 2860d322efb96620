"""Small steps to test the shell around steps with: `toy_steps.py NAME OPTIONS…`."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator

from ent_agent import cli, records
from ent_agent.config import Config
from ent_agent.records import Record
from harness.errors import BadData, TryLater


class Echo(cli.Step):
    """Pass records on."""

    PROGNAME = "echo"
    DESCRIPTION_MORE = "Example:  echo | jq"
    needs = ("agent",)

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        yield record


class Fail(Echo):
    """Fail on records by the name of their agent."""

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        assert record.agent
        if record.agent.name == "later":
            raise TryLater("not now", hint="wait", resume_at="2026-01-01T00:00:00+00:00")
        if record.agent.name == "data":
            raise BadData("no good")
        if record.agent.name == "bug":
            raise KeyError("a bug")
        if record.agent.name in ("ENOSPC", "EROFS", "EACCES", "EXDEV"):
            number = getattr(errno, record.agent.name)
            raise OSError(number, os.strerror(number), "/srv/state/lock")
        yield record


class Two(Echo):
    """Two for one: a failed one and a good one."""

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        yield records.derive(record, error=cli.as_error(BadData("first")))
        yield records.derive(record, skipped="second")


class Clear(Echo):
    """Works records with errors too, and clears them."""

    works_on_errors = True

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        record.error = None
        yield record


class Issue(cli.IssueStep):
    """Needs an issue."""

    needs = ("agent", "issue")

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        record.skipped = "worked"
        yield record


if __name__ == "__main__":
    kinds = {"echo": Echo, "fail": Fail, "two": Two, "clear": Clear, "issue": Issue}
    kinds[sys.argv.pop(1)].start()
