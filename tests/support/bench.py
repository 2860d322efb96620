"""A run of an issue, begun by our own code, whose agent is the test: it acts in the worktree with a real git."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ent_agent import beginning, state
from ent_agent.config import Config
from ent_agent.finalization import finalization
from ent_agent.records import Record, RunSection, derive
from ent_agent.repositories import repositories
from ent_agent.running import runs
from ent_agent.running.runs import Run
from ent_agent.tracker import writer
from ent_agent.tracker.writer import AddComment, Change, SetAssignee, SetState
from ent_agent.worktrees import starting
from harness import lock
from harness.clock import timestamp
from harness.git import Git
from tests.support.sample import Sample


@dataclass
class Bench:
    """Runs of one host, one after the other."""

    sample: Sample
    config: Config
    record: Record = field(default_factory=Record)

    # ---- our side

    def start(self, issue: str) -> Record:
        """sync, select and worktree, as the commands do them."""
        needs = ("agent", "identity", "repository", "issue")
        from ent_agent.repositories import syncing

        if (state.of(self.config).control / "HEAD").exists():
            syncing.sync(Record(), self.config)
        [record] = beginning.records(self.config, needs, issue)
        with self.locked(issue):
            self.record = starting.start(record, self.config)
        repositories.work(self.config).update_ref(self.run.line_ref, self.run.tracker_start)
        runs.update(self.config, self.run, phase="running")
        return self.record

    def ended(self, **facts: Any) -> Record:
        """The run step is over; `facts` are fields of its section."""
        section = RunSection(
            id=self.run.id,
            agent_type="test",
            started_at=timestamp(time.time() - 75),
            ended_at=timestamp(),
            **{"exit_code": 0, **facts},
        )
        self.record = derive(self.record, run=section)
        runs.update(self.config, self.run, self.record, phase="ran")
        return self.record

    def finalize(self, *allow: str) -> Record:
        assert self.record.issue
        with self.locked(self.record.issue.id):
            self.record = finalization.finalize(self.record, self.config, allow)
        return self.record

    def whole(self, issue: str, **facts: Any) -> Record:
        """A run whose agent did nothing, up to its end."""
        self.start(issue)
        self.ended(**facts)
        return self.finalize()

    def locked(self, issue: str):  # type: ignore[no-untyped-def]
        return lock.held(state.of(self.config).issue_lock(issue))

    @property
    def run(self) -> Run:
        assert self.record.claim
        return runs.load(self.config, self.record.claim.run)

    @property
    def control(self) -> Git:
        return repositories.control(self.config)

    # ---- the agent's side

    @property
    def worktree(self) -> Path:
        assert self.record.worktree
        return Path(self.record.worktree.path)

    def git(self, *args: str, check: bool = True) -> str:
        """The agent's git, in its worktree, with all that is configured there."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        person = {"NAME": "Robo", "EMAIL": "robo@example.org"}
        env |= {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in person.items()}
        words = ["git", "-c", "advice.detachedHead=false", *args]
        done = subprocess.run(words, cwd=self.worktree, env=env, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, path: str, content: str | bytes = "something\n") -> Path:
        file = self.worktree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, path: str = "work.txt", content: str | bytes = "work\n", message: str = "Work") -> str:
        self.write(path, content)
        self.git("add", "-f", path)
        self.git("commit", "--quiet", "-m", message)
        return self.git("rev-parse", "HEAD")

    def ent(self, *changes: Change) -> None:
        """Changes that the agent makes to the tracker."""
        git = repositories.work(self.config)
        writer.update(git, self.run.line_ref, lambda tip: writer.commit(git, tip, changes))

    def comment(self, text: str, issue: str = "") -> None:
        assert self.record.issue
        self.ent(AddComment(issue=issue or self.record.issue.id, text=text, author=self.config.person))

    def hand_over(self, person: str, text: str = "Done: all of it.") -> None:
        """As the prompt asks the agent to."""
        assert self.record.issue
        issue = self.record.issue.id
        self.comment(text)
        self.ent(SetState(issue, "blocked"), SetAssignee(issue, person))

    # ---- what came of it

    @property
    def branch(self) -> str:
        assert self.record.worktree
        return self.record.worktree.branch

    def pushed(self) -> str | None:
        """Where origin has the run's branch."""
        return self.sample.branches().get(self.branch)

    def files(self) -> list[str]:
        return self.sample.files(self.branch)

    def log(self) -> list[str]:
        """Subjects of origin's branch that main does not have, newest first."""
        return self.sample.git.lines("log", "--format=%s", f"main..{self.branch}")

    def on_origin(self, issue: str = "") -> tuple[str | None, str | None]:
        """State and assignee of the issue as origin has them."""
        assert self.record.issue or issue
        issue = issue or (self.record.issue.id if self.record.issue else "")
        return self.sample.read(f"{issue}/state"), self.sample.read(f"{issue}/assignee")

    def comments(self) -> list[str]:
        assert self.record.issue
        return self.sample.comments(self.record.issue.id)

    def claims(self) -> dict[str, str]:
        return self.sample.git.refs("refs/ent-agent/claims/")

    def kept(self) -> dict[str, str]:
        """Name to commit, of what this run kept aside."""
        prefix = self.run.kept_ref("")
        return {name.removeprefix(prefix): oid for name, oid in self.control.refs(prefix).items()}
