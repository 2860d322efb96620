"""The branch of the standing pull request: one commit of ours on the default branch, made anew each time.

It is written as objects, without a checkout: what the repository has as a symbolic link leads nowhere.
All of it blocks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fordjent.gates.protection import is_protected
from fordjent.memory.naming import BRANCH, SUBJECT, path_of
from fordjent.memory.tree import text_at, with_files
from fordjent.workspaces import remote
from fordjent.workspaces.place import NAMESPACE
from fordjent.workspaces.workspaces import MAX_FILE_BYTES, EmptyRepository, Workspaces
from harness.effects import reached
from harness.errors import BadData, Busy
from harness.git import Git
from harness.redaction import Redactor
from harness.worktrees import outgoing
from harness.worktrees.leftovers import Rules
from harness.worktrees.pair import REMOTE

REF = f"refs/heads/{BRANCH}"
TRACKING = f"{REMOTE}{BRANCH}"
_PUSH = ("--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")


@dataclass(frozen=True)
class Ground:
    """A repository as it was fetched. `head`: of the default branch; `seen`: of ours on the forge, "": none."""

    git: Git
    default_branch: str
    head: str
    seen: str

    def text(self, folder: str, number: int) -> str:
        """The summary that the default branch has; "": none."""
        return text_at(self.git, self.head, path_of(folder, number))


def fetch(workspaces: Workspaces, repository: str) -> Ground:
    """
    Raises:
        EmptyRepository: it has no commit.
        TryLater: the forge does not answer, or refuses.
    """
    fetched = workspaces.fetch(repository)
    git = workspaces.pair(repository).git
    head = git.resolve(f"{REMOTE}{fetched.default_branch}") if fetched.default_branch else None
    if head is None:
        raise EmptyRepository(f"{repository} has no default branch", hint="push a first commit to it")
    return Ground(git, fetched.default_branch, head, git.resolve(TRACKING) or "")


def build(ground: Ground, folder: str, files: Mapping[str, str], prefix: str) -> str:
    """The commit that has these files (name to text) in `folder`; the one on the forge where it is that.

    Raises:
        BadData: `folder`, or something on the way, is no folder in the repository.
    """
    git = ground.git
    tree = with_files(git, git.objects.tree_of(ground.head), folder.split("/"), files)
    if (
        ground.seen
        and git.objects.tree_of(ground.seen) == tree
        and _parents(git, ground.seen) == [ground.head]
    ):
        return ground.seen
    return git.objects.write_commit(
        tree, [ground.head], f"{prefix} {SUBJECT}".strip(), timestamp=int(time.time())
    )


def objections(ground: Ground, commit: str, redactor: Redactor) -> list[str]:
    """Files of the commit that must not be pushed, each with the rule that says so."""
    had = outgoing.on_origin(NAMESPACE, BRANCH)
    found = outgoing.look_through(ground.git, commit, had, Rules(MAX_FILE_BYTES, redactor))
    return [f"{one.path} ({one.rule})" for one in found]


def push(
    workspaces: Workspaces,
    repository: str,
    ground: Ground,
    commit: str,
    protected: Sequence[str],
    *,
    ours: Sequence[str],
) -> None:
    """Have the forge's branch at `commit`. Repeatable.

    `ours`: heads of it that may be replaced whatever is on them: those that we pushed, or that are settled.

    Raises:
        BadData: the branch is a protected one.
        Busy: somebody else's commits are on it.
        TryLater: the forge refused, or did not answer.
    """
    if is_protected(BRANCH, protected, ground.default_branch):
        raise BadData(f"{BRANCH} is a protected branch", hint="leave it out of policy.protected_branches")
    if ground.seen == commit:
        return
    git = ground.git
    if ground.seen and ground.seen not in ours and not _is_ours(ground):
        raise Busy(f"others have commits on {BRANCH}", hint="merge or close its pull request")
    with workspaces.pair(repository).locked():
        lease = f"--force-with-lease={REF}:{ground.seen}"
        finished = git.run(
            "push", *_PUSH, lease, "origin", f"{commit}:{REF}", check=False,
            timeout_seconds=remote.PUSH_SECONDS,
        )  # fmt: skip
        reached("memory-pushed")
        if not finished.ok:
            told = remote.ask(git, "ls-remote", "--quiet", "origin", REF)
            there = told.text.split("\t", 1)[0]
            if there != commit:
                raise (
                    Busy(f"somebody pushed to {BRANCH} meanwhile")
                    if there != ground.seen
                    else (remote.explain(finished))
                )
        git.update_ref(TRACKING, commit)


def _is_ours(ground: Ground) -> bool:
    """Whether all that it has beyond the default branch was made here: by our address, under our subject."""
    git, person = ground.git, ground.git.person
    listed = git.lines(
        "log", "--max-count=50", "--format=%ae%x00%ce%x00%s", ground.seen, "--not", ground.head
    )
    made = [line.split("\0", 2) for line in listed]
    return all(
        person is not None and author == committer == person.email and subject.endswith(SUBJECT)
        for author, committer, subject in made
    )


def _parents(git: Git, commit: str) -> list[str]:
    header = git.objects.read(commit).split(b"\n\n", 1)[0].decode("utf-8", "replace")
    return [line[7:] for line in header.split("\n") if line.startswith("parent ")]
