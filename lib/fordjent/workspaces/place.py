"""The worktree of one session, as its tools and gates have it."""

from __future__ import annotations

import time
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from fordjent.session_key import SessionKey
from harness import cutting
from harness.effects import reached
from harness.errors import TryLater
from harness.git import Git
from harness.worktrees import leftovers, obstacles, outgoing, preparing, workspace
from harness.worktrees.leftovers import LeftOvers, Rules, Withheld
from harness.worktrees.pair import REMOTE
from harness.worktrees.place import Place as Spot

if TYPE_CHECKING:
    from fordjent.workspaces.workspaces import Workspaces

NAMESPACE = "refs/fordjent/"
LONGEST_SUBJECT = 120

Standing = Literal["on branch", "elsewhere", "half-way", "not whole"]


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of uncommitted files. `commit` "": there was nothing to commit."""

    commit: str = ""
    paths: list[str] = []
    withheld: list[Withheld] = []
    """Files that stay where they are, uncommitted, each with the reason."""


@dataclass(frozen=True)
class Place:
    """Its session is the only one that uses it. All of it blocks: in a thread.

    `start`: the commit at which the branch was when the worktree was prepared; `kept`: refs
    of what the branch could not take along; `commit_prefix` begins our own commits.
    """

    key: SessionKey
    workspaces: Workspaces
    spot: Spot
    base: str
    start: str
    rules: Rules
    commit_prefix: str = ""
    kept: tuple[str, ...] = ()
    created: bool = False
    begins_at: str = ""
    """The repository was empty when this was prepared: a commit of ours, without files, stands for the base."""
    for_reading: bool = False
    """No branch of the forge's stands behind it: nothing of it is ever pushed."""

    @property
    def path(self) -> Path:
        return self.spot.path

    @property
    def root(self) -> Path:
        """The folder of the repository, for `threads.run_in`."""
        return self.spot.pair.root

    @property
    def branch(self) -> str:
        return self.spot.branch

    @property
    def control(self) -> Git:
        """Our own repository: the forge's branches are its `refs/remotes/origin/`."""
        return self.spot.git

    @property
    def work(self) -> Path:
        """The git dir of the worktree: programs of the agent's write to it, and none of ours runs there."""
        return self.spot.pair.work

    @property
    def readable(self) -> tuple[Path, ...]:
        """What programs of the agent's must be able to read besides."""
        return (self.spot.pair.control / "objects",)

    @property
    def base_commit(self) -> str:
        """Where the base stood at the last fetch.

        Raises:
            TryLater: it is not on the forge any more.
        """
        commit = self.control.resolve(f"{REMOTE}{self.base}") or self.begins_at
        if not commit:
            raise TryLater(f"the base branch {self.base} is not on the forge any more", code="no_base_branch")
        return commit

    @property
    def is_first(self) -> bool:
        """Whether the forge had no branch at the last fetch."""
        return not self.control.refs(REMOTE)

    @property
    def remote_head(self) -> str:
        """Where the forge's branch stood at the last fetch; "": it has none."""
        return self.spot.remote_head or ""

    @property
    def seen(self) -> str:
        """The forge's head of the branch that ours took in, or that we pushed: all that a push may replace.

        "": the forge had no such branch.
        """
        return self.control.resolve(seen_ref(self.spot)) or ""

    @property
    def namespace(self) -> str:
        """Below it are the refs that we make for ourselves in `control`."""
        return NAMESPACE

    def fetch(self, *more: str) -> None:
        """Bring `control` and what the agent sees of the forge up to date; `more`: refspecs besides.

        Raises:
            TryLater: the forge did not answer, or refused.
        """
        self.workspaces.fetch(self.key.repository, *more)

    def saw(self, commit: str) -> None:
        """Note that the branch holds what the forge has of it at `commit`; "": it has none."""
        self.control.update_ref(seen_ref(self.spot), commit or None)

    def move_to(self, tip: str) -> tuple[str, ...]:
        """Bring branch and files to a commit of `control`; uncommitted changes move along. Returns refs of
        what could not. A kill in between is made good by the next `prepare`.

        Raises:
            TryLater: the worktree is not whole, or not on its branch.
        """
        with self.spot.pair.locked():
            self.control.update_ref(moving_ref(self.spot), tip)
            reached("move-noted")
            kept = preparing.advance(self.spot, tip)
            self.control.update_ref(moving_ref(self.spot), None)
        return kept

    def standing(self) -> Standing:
        """What the worktree's HEAD is at."""
        registered = self.spot.registration()
        if registered is None or not registered.is_there:
            return "not whole"
        if registered.halfway:
            return "half-way"
        return "on branch" if registered.head == self.spot.ref else "elsewhere"

    def head(self) -> str:
        """The commit that the branch is at, with all its objects in `control`.

        Raises:
            TryLater: the branch is gone, or git refuses its objects.
        """
        commit = self.spot.agents.resolve(self.spot.ref)
        if commit is None or not self.control.resolve(f"{commit}^{{commit}}"):
            with self.spot.pair.locked():
                commit = self.spot.brought_home(self.spot.ref)
        if commit is None:
            raise TryLater(
                f"the branch {self.branch} is gone, or has objects that git refuses", code="no_branch"
            )
        return commit

    def uncommitted(self) -> list[str]:
        """Paths that are not as the branch has them, and new files that are not ignored."""
        head = self.head()
        obstacles.clear(self.path, self.spot.pair.quarantine)
        return preparing.left_over(self.spot, head)

    def is_clean(self) -> bool:
        return not self.uncommitted()

    def changed_files(self, base: str = "") -> list[str]:
        """Files in which the branch differs from where it left `base` (a commit; "": the base branch)."""
        return changed_files(self.control, base or self.base_commit, self.head())

    def objections(self, tip: str) -> list[Withheld]:
        """What in the commits up to `tip` must not be pushed."""
        had = outgoing.on_origin(self.spot.pair.namespace, self.branch)
        return outgoing.look_through(self.control, tip, had, self.rules)

    def commit_left_overs(self, title: str) -> Kept:
        """Commit what the worktree holds as `WIP: <title>`, but for secrets, strays and large files.

        A rebase or merge that is half-way is ended first; what it had is kept aside. Repeatable.
        """
        with self.spot.pair.locked():
            self.spot.pair.mend_work()
            preparing.prepare(self.spot, self.start)
            obstacles.clear(self.path, self.spot.pair.quarantine)
            head = self.spot.brought_home(self.spot.ref) or self.start
            index = self.spot.pair.root / "indexes" / f"{self.spot.key}.left"
            left = leftovers.gather(self.control, self.path, head, index, self.rules)
            withheld = list(left.withheld)
            if left.tree == self.control.objects.tree_of(head):
                return Kept(withheld=withheld)
            commit = self._commit(left, head, title)
            registered = self.spot.registration()
            assert registered  # `prepare` made it
            workspace.copy_into_place(index, registered.folder / "index")
            if not self.spot.agents.update_ref(self.spot.ref, commit, head):
                raise TryLater(f"{self.spot.ref} of {self.work} cannot be set", code="ref_locked")
        return Kept(commit=commit, paths=list(left.paths), withheld=withheld)

    def _commit(self, left: LeftOvers, head: str, title: str) -> str:
        plain = "".join(c for c in title if not unicodedata.category(c).startswith("C")).strip()
        subject = f"WIP: {cutting.beginning(plain, LONGEST_SUBJECT) or 'work in progress'}"
        return self.control.objects.write_commit(
            left.tree,
            [head],
            f"{self.commit_prefix} {subject}".strip(),
            timestamp=int(time.time()),
        )


def changed_files(git: Git, base: str, head: str) -> list[str]:
    """Files in which `head` differs from where it left `base`; a renamed one by both its names."""
    left = git.run("merge-base", base, head, check=False).text.strip() or base  # none: histories apart
    found = git.run("diff", "--name-only", "--no-renames", "-z", left, head).stdout
    return [name.decode("utf-8", "replace") for name in found.split(b"\0") if name]


def seen_ref(spot: Spot) -> str:
    """The forge's head of the branch that the worktree's branch took in, or that we pushed ourselves."""
    return f"{NAMESPACE}seen/{spot.key}"


def moving_ref(spot: Spot) -> str:
    """Where a branch is being moved to: there from before its files are touched until the branch is set."""
    return f"{NAMESPACE}moving/{spot.key}"
