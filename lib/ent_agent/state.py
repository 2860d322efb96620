"""Where everything of one agent on one repository lives: `<state_dir>/<agent id>/<repository>/`."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from ent_agent.config import Config, slug


@dataclass(frozen=True)
class StateFolder:
    """The paths below one state folder; nothing here touches the disk."""

    root: Path

    @property
    def control(self) -> Path:
        """The outer loop's own repository: remote, key, data branch."""
        return self.root / "control.git"

    @property
    def work(self) -> Path:
        """The agents' repository: no remote, borrows control.git's objects."""
        return self.root / "work.git"

    @property
    def work_view(self) -> Path:
        """work.git under a configuration that no agent can write (repositories.py)."""
        return self.root / "work-view.git"

    @property
    def worktrees(self) -> Path:
        return self.root / "worktrees"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def loop_lock(self) -> Path:
        return self.root / "lock"

    @property
    def repository_lock(self) -> Path:
        """Around what writes refs of control.git or registers worktrees (field case: two fetches)."""
        return self.root / "repository.lock"

    def worktree(self, issue_id: str) -> Path:
        return self.worktrees / key(issue_id)

    def index(self, issue_id: str) -> Path:
        """Our own index of the issue's worktree: no agent writes to it."""
        return self.root / "indexes" / key(issue_id)

    @property
    def quarantine(self) -> Path:
        """Folders that stood where a worktree belongs, moved aside whole."""
        return self.root / "quarantine"

    def run(self, run_id: str) -> Path:
        """A run's own folder: record, transcript, prompt, tmp."""
        return self.runs / run_id

    @property
    def issue_locks(self) -> Path:
        return self.root / "locks"

    @property
    def issue_files(self) -> Path:
        return self.root / "issues"

    def issue_lock(self, issue_id: str) -> Path:
        return self.issue_locks / f"{key(issue_id)}.lock"

    def issue_file(self, issue_id: str) -> Path:
        """Attempts, back-off and the last hand-back of one issue."""
        return self.issue_files / f"{key(issue_id)}.json"


def of(config: Config) -> StateFolder:
    """The state folder that a configuration means."""
    return StateFolder(config.folder(config.state_dir) / config.id / repository_name(config.repo_url))


def repository_name(url: str) -> str:
    """A folder name for a repository: its last word, and a digest of the whole URL."""
    last = re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git")
    return f"{slug(last) or 'repository'}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


def key(issue_id: str) -> str:
    """An issue id as a path or ref component; ids that are not plain get a digest (any name is a valid id)."""
    if re.fullmatch(r"[0-9a-z][0-9a-z_-]{0,63}", issue_id):
        return issue_id
    return "x-" + hashlib.sha256(issue_id.encode("utf-8", "surrogateescape")).hexdigest()[:40]
