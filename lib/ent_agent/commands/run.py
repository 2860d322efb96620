"""ent-agent-run: start the agent in the issue's worktree and wait for its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ent_agent import state
from ent_agent.cli import IssueStep, has_records, read_records
from ent_agent.config import Config
from ent_agent.records import Record
from harness import lock, process
from harness.command_line import cli
from harness.diagnostics import say


class Run(IssueStep):
    """Start the agent in the issue's worktree, wait for its end, and record the facts."""

    PROGNAME = "ent-agent-run"
    DESCRIPTION_MORE = "Example:  ent-agent-worktree --issue 1a2b | ent-agent-run | ent-agent-finalize"
    needs = ("agent", "repository", "issue", "worktree", "claim")

    print_prompt = cli.Flag("--print-prompt", help="print what the agent would be told, and start nothing")

    def main(self) -> int:
        return self._print_prompts() if self.print_prompt else super().main()

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        from ent_agent.claims.claims import Claim
        from ent_agent.claims.heartbeat import Heartbeat
        from ent_agent.repositories import repositories
        from ent_agent.running import running, runs, stopping

        assert record.issue and record.claim
        process.hide_memory()  # the environment may hold what the agent must not see
        what = f"issue {record.issue.id}"
        with lock.held(state.of(config).issue_lock(record.issue.id), what=what):
            current = runs.load(config, record.claim.run)
            if current.phase == "ran":
                yield running.run(record, config, lambda: None)
                return
            claim = Claim.resume(config, repositories.control(config), current)
            heartbeat = Heartbeat(claim, config)
            done = running.run(record, config, stopping.heeding(config, current.id, heartbeat.watch))
            if heartbeat.why:
                say(f"{what}: stopped: {heartbeat.why}")
        yield done

    def _print_prompts(self) -> int:
        from ent_agent.running import running

        config = self.load_config()
        for record in self._to_be_told(config):
            if record.issue and record.repository and not record.skipped and not record.error:
                sys.stdout.buffer.write(running.render_prompt(record, config).encode())
                sys.stdout.buffer.flush()
        return 0

    def _to_be_told(self, config: Config) -> Iterator[Record]:
        """Records as select or worktree write them; else the issue that is named, as it is now."""
        from ent_agent import beginning

        if has_records():
            return read_records()
        if not self.issue:
            return self.beginning(config)  # which says what is missing
        return beginning.records(config, ("agent", "repository", "issue"), self.issue)


def main() -> None:
    Run.start()
