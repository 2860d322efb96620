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
from ent_agent.repositories import identity, keys, repositories, syncing
from ent_agent.tracker.model import Issue
from tests.support import big_tracker
from tests.support.sample import configuration, make
from tests.support.ssh_server import SshServer

AGENT = """\
#!/bin/sh -e
# Commits something of its own, says that it is done, and notes how long that took.
begun=$(date +%s.%N)
basename "$PWD" >work.txt
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
    def make(cls, folder: Path, count: int, server: SshServer | None = None) -> Work:
        """With `server`, origin is met over ssh."""
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
        url = server.url(sample.origin) if server else sample.url
        config = configuration(folder, url, extra, agent_type=str(adapter))
        key, _ = keys.find_or_make(config.folder(config.ssh_key_dir), config.agent_email)
        if server:
            server.authorize(keys.public_half(key, config.agent_email)[0])
        syncing.sync(Record(), config)
        return cls(config, state.of(config).control, agent, log, ids)

    def agent_seconds(self) -> float:
        """How long all runs of the agent took until now, by its own clock."""
        spans = (line.split() for line in self.log.read_text().splitlines())
        return sum(float(end) - float(begun) for begun, end in spans)


@dataclass(frozen=True)
class BareWork:
    """Two repositories for the bare script, as the loop has them: the same remote, nothing else of ours."""

    control: Path
    work: Path
    worktrees: Path

    @classmethod
    def make(cls, of: Work, folder: Path) -> BareWork:
        made = cls(folder / "bare.git", folder / "work.git", folder / "worktrees")
        made.worktrees.mkdir()
        for git_dir in (made.control, made.work):
            _git(git_dir, "init", "--quiet", "--bare")
        (made.work / "objects/info/alternates").write_text(f"{made.control}/objects\n")
        settings = {
            "user.name": "Robo",
            "user.email": "robo@example.org",
            "core.sshCommand": identity.ssh_command(of.config),
        }
        for key, value in settings.items():
            _git(made.control, "config", key, value)
        _git(made.control, "remote", "add", "origin", repositories.origin_url(of.config))
        _git(made.control, "fetch", "--quiet", "origin")
        return made


def _git(git_dir: Path, *words: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(["git", f"--git-dir={git_dir}", *words], check=True, env=environment)
