"""What one worktree is made of: folder, branch, registration, and the repositories around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from harness.diagnostics import say
from harness.git import Git, GitFailed, check_branch_name
from harness.worktrees import registrations
from harness.worktrees.pair import REMOTE, Pair
from harness.worktrees.registrations import Registration
from harness.worktrees.workspace import Workspace

DAMAGED = r"fsck|missing (?:blob|tree|commit)|bad (?:object|tree)|unable to read|corrupt|did not send all|not a valid object|not our ref"
"""What git says of objects that it cannot read or does not take; of a full disk, say, it says none of these."""


@dataclass
class Place:
    """To be used under `pair.locked`. `git` is control.git, `agents` our view of work.git.

    `key`: the worktree's name in paths and refs; `name_hint`: what a person can do where
    the branch cannot have its name.
    """

    pair: Pair
    key: str
    branch: str
    name_hint: str = "rename or delete it"
    git: Git = field(init=False)
    agents: Git = field(init=False)
    path: Path = field(init=False)
    space: Workspace = field(init=False)

    def __post_init__(self) -> None:
        check_branch_name(self.branch)
        self.git = self.pair.git
        self.agents = self.pair.agents
        self.path = self.pair.worktrees / self.key
        self.space = Workspace(self.git, self.path, self.pair.index(self.key))

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    @property
    def remote_head(self) -> str | None:
        """Where origin's branch stood at the last fetch."""
        return self.git.resolve(f"{REMOTE}{self.branch}")

    def registration(self) -> Registration | None:
        """The one of our folder, as it is now."""
        return registrations.at(self.path, registrations.every(self.pair.work))

    def brought_home(self, name: str) -> str | None:
        """A commit of work.git, by ref or id, with its history in control.git; None: there is none.

        One whose objects are damaged, or that git refuses, cannot come home: it stays in
        work.git under `<namespace>refused/`, that is said, and it counts as none.

        Raises:
            GitFailed: git failed in another way.
        """
        commit = self.agents.resolve(f"{name}^{{commit}}")
        if commit is None or self.git.resolve(f"{commit}^{{commit}}"):
            return commit
        passing = f"{self.pair.namespace}passing/{self.key}"
        self.agents.update_ref(passing, commit)
        try:
            self.pair.bring_home(f"+{passing}:{passing}")
        except GitFailed as failed:
            if not re.search(DAMAGED, failed.finished.error_text):
                raise
            refused = f"{self.pair.namespace}refused/{self.key}/{commit[:12]}"
            self.agents.update_ref(refused, commit)
            say(f"{name} cannot be taken over, and stays in work.git as {refused}: {failed.message}")
            commit = None
        self.agents.update_ref(passing, None)
        return commit

    def is_reachable(self, commit: str, *also: str | None) -> bool:
        """Whether origin, our branch or `also` has the commit."""
        known = [name for name in (*also, self.agents.resolve(self.ref)) if name]
        return not self.git.text("rev-list", "--max-count=1", commit, "--not", "--remotes=origin", *known)

    def keep(self, commit: str) -> str:
        """Keep a commit for good; returns the ref. Repeatable."""
        ref = f"{self.pair.namespace}kept/{self.key}/{commit[:12]}"
        self.git.update_refs([(ref, commit)])
        return ref
