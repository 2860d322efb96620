"""Repositories to measure on: a large tracker with a state folder, a clone of it, and an origin with work for the loop."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.repositories import syncing
from ent_agent.tracker.model import Issue
from tests.support import big_tracker
from tests.support.sample import configuration, make

AGENT = """\
#!/bin/sh -e
# Commits something, says that it is done, and notes how long that took.
begun=$(date +%s.%N)
echo work >work.txt
git add work.txt
git -c user.name=Robo -c user.email=robo@example.org commit --quiet -m Work
echo "Done: it."
echo "$begun $(date +%s.%N)" >>"{log}"
"""


@dataclass(frozen=True)
class BigTracker:
    """`origin` has so many issues; `config` is an agent's that has synced with it; `clone` a person's."""

    issues: int
    origin: Path
    clone: Path
    config: Config

    @classmethod
    def make(cls, folder: Path, issues: int) -> BigTracker:
        folder.mkdir()
        origin = big_tracker.make(folder / "origin", issues)
        clone = folder / "clone"
        shutil.copytree(origin, clone, symlinks=True)
        config = configuration(folder, str(origin), agent_name="hermes")
        syncing.sync(Record(), config)
        return cls(issues, origin, clone, config)

    @property
    def cache(self) -> Path:
        """What a warm select has and a cold one has not."""
        return state.of(self.config).root / "tracker.cache"

    @property
    def an_issue(self) -> str:
        return big_tracker.issue_id(self.issues // 2)


@dataclass
class Work:
    """An origin with issues for an agent that is a small script, synced once. `log`: when the agent was at work."""

    config: Config
    control: Path
    agent: Path
    log: Path
    issues: list[str]

    @classmethod
    def make(cls, folder: Path, count: int) -> Work:
        folder.mkdir()
        sample = make(folder)
        ids = [f"{number:02}" + "a" * 30 for number in range(count)]
        for summary in ("1" * 32, "2" * 32, "3" * 32):
            sample.change({f"{summary}/assignee": b"alice"})
        sample.add(
            *(
                Issue(
                    id=one,
                    description=f"Do {one[:2]}",
                    author="alice",
                    creation_time="2026-01-02T03:04:05+00:00",
                    assignee="Robo",
                    state="new",
                )
                for one in ids
            )
        )
        agent, log = folder / "agent", folder / "log"
        agent.write_text(AGENT.format(log=log))
        agent.chmod(0o755)
        adapter = folder / "agent.toml"
        adapter.write_text('description = "bench"\ncommand = ["./agent"]\nprompt = "stdin"\n')
        # Without a sandbox, so that the agent can write its log.
        extra = '[sandbox]\nbackend = "none"\n'
        config = configuration(folder, sample.url, extra, agent_type=str(adapter))
        syncing.sync(Record(), config)
        return cls(config, state.of(config).control, agent, log, ids)

    def agent_seconds(self) -> float:
        """How long all runs of the agent took until now, by its own clock."""
        spans = (line.split() for line in self.log.read_text().splitlines())
        return sum(float(end) - float(begun) for begun, end in spans)


def clone_control(work: Work, folder: Path) -> Path:
    """A repository for the bare script: the same remote, nothing of ours."""
    git_dir = folder / "bare.git"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}

    def git(*words: str) -> None:
        subprocess.run(["git", f"--git-dir={git_dir}", *words], check=True, env=environment)

    git("init", "--quiet", "--bare")
    git("config", "user.name", "Robo")
    git("config", "user.email", "robo@example.org")
    git("remote", "add", "origin", work.config.repo_url)
    git("fetch", "--quiet", "origin")
    return git_dir
