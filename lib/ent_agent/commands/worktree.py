"""ent-agent-worktree: check out the branch of an issue in its own worktree, and claim the issue."""

from __future__ import annotations

from collections.abc import Iterator

from ent_agent.cli import IssueStep
from ent_agent.config import Config
from ent_agent.records import Record


class Worktree(IssueStep):
    """Check out the branch of an issue in its own worktree, and claim the issue for a run."""

    PROGNAME = "ent-agent-worktree"
    DESCRIPTION_MORE = "Example:  ent-agent-worktree --issue 1a2b | jq -r .worktree.path"
    needs = ("agent", "repository", "issue")

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        from ent_agent import state
        from ent_agent.worktrees import starting
        from harness import lock

        assert record.issue
        issue = record.issue.id
        with lock.held(state.of(config).issue_lock(issue), what=f"issue {issue}"):
            started = starting.start(record, config)
        yield started


def main() -> None:
    Worktree.start()
