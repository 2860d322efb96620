"""ent-agent-finalize: say what came of a run, save all of it, and hand the issue back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from ent_agent.cli import IssueStep
from ent_agent.config import Config
from ent_agent.records import Record
from harness import lock
from harness.command_line import cli
from harness.errors import Busy, Usage

LOCK_SECONDS = 5.0


class Finalize(IssueStep):
    """Save what a run left, push its branch, and hand the issue back or keep it for another attempt."""

    PROGNAME = "ent-agent-finalize"
    DESCRIPTION_MORE = "Example:  ent-agent-finalize --issue 1a2b --allow docs/example-key.pem"
    needs = ("agent", "repository", "issue", "worktree")
    works_on_errors = True

    pending = cli.Flag(["--pending"], help="finish all runs that were killed before their end")
    allow = cli.SwitchAttr(
        ["--allow"],
        str,
        list=True,
        argname="PATH",
        help="let this file be committed and pushed although a rule withholds it",
    )

    def main(self) -> int:
        if self.pending and (self.issue or self.allow):
            raise Usage("--pending finishes all runs; it takes neither --issue nor --allow")
        if self.allow and not self.issue:
            raise Usage("--allow goes with --issue", hint="name the issue whose file it is")
        return super().main()

    def source(self, config: Config) -> Iterator[Record]:
        from ent_agent.finalization import finalization

        if self.pending:
            return finalization.pending(config)
        if self.allow:
            return iter([finalization.withholding(config, self.issue)])
        return super().source(config)

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        from ent_agent import state
        from ent_agent.finalization import finalization

        if record.issue is None or record.claim is None:
            yield record
            return
        path, what = state.of(config).issue_lock(record.issue.id), f"issue {record.issue.id}"
        with ExitStack() as stack:
            try:
                stack.enter_context(lock.held(path, timeout_seconds=LOCK_SECONDS, what=what))
            except Busy:
                if self.pending:  # not dead after all
                    return
                raise
            done = finalization.finalize(record, config, self.allow)
        yield done


def main() -> None:
    Finalize.start()
