"""Repositories of the forge on this disk: fetched with the bot's token, a worktree in them per session.

`<state dir>/repositories/<owner>/<name>/` has the two repositories of harness.worktrees.pair
and `worktrees/<kind>-<number>`. The forge tells names of repositories apart without regard to
upper and lower case, so the folders are in lower case. All of it blocks: in a thread.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from fordjent.config import Config
from fordjent.session_key import SessionKey, is_repository
from fordjent.workspaces import credentials, remote
from fordjent.workspaces.place import NAMESPACE, Place, moving_ref, seen_ref
from harness import folders
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import BadData, Failure, TryLater
from harness.git import Git, Person, check_branch_name
from harness.redaction import Redactor, without_secrets
from harness.worktrees import pair as pairs
from harness.worktrees import preparing, published, registering, registrations
from harness.worktrees.leftovers import Rules
from harness.worktrees.pair import REMOTE, Pair, Sections
from harness.worktrees.place import Place as Spot

MAX_FILE_BYTES = 10 * 1024 * 1024
"""A larger file is neither committed nor pushed by us."""
ISSUE_BRANCH = "fordjent/issue-"
TAGS = "refs/tags/"
LISTED = r"^([0-9a-f]{40,64})\t(refs/[^^\n]+)$"
"""A ref of `git ls-remote`; not what an annotated tag stands for."""
FIRST = f"{NAMESPACE}first"
"""The commit that an empty repository begins with here."""


class EmptyRepository(Failure):
    """The repository has no commit yet: there is nothing that work could begin at."""

    code = "empty_repository"


@dataclass(frozen=True)
class Fetched:
    """`default_branch` "": the repository is empty, or its HEAD names a branch that is not there."""

    default_branch: str
    is_empty: bool


def branch_of(key: SessionKey) -> str:
    """The branch of an issue's session."""
    return f"{ISSUE_BRANCH}{key.number}"


@dataclass(frozen=True)
class _Fetch:
    """`began`: by the monotonic clock."""

    began: float
    found: Fetched


class Workspaces:
    """`person`: who commits what we commit ourselves."""

    def __init__(
        self,
        config: Config,
        forge_url: str,
        token: str,
        *,
        person: Person | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._config = config
        self._url = forge_url.rstrip("/")
        self._person = person or config.person
        self._rules = Rules(MAX_FILE_BYTES, redactor or Redactor(config.secrets(), config.secret_scan.allow))
        credential = credentials.keep(config.state_dir / "credentials", token)
        self._settings = (
            pairs.CONTROL_CONFIG | pairs.without_lfs() | credentials.settings(self._url, credential)
        )
        self._pairs: dict[Path, Pair] = {}
        self._last: dict[Path, _Fetch] = {}

    def pair(self, repository: str) -> Pair:
        """
        Raises:
            BadData: `repository` is no name of one.
        """
        if not is_repository(repository):
            raise BadData(f"{repository!r} is no repository", hint="like owner/name")
        root = self.root(repository)
        known = self._pairs.get(root)
        if known is None:
            git = Git(
                root / "control.git",
                person=self._person,
                config=self._settings,
                base=without_secrets(os.environ),
            )
            known = self._pairs.setdefault(root, Pair(root, git, NAMESPACE))
        return known

    def root(self, repository: str) -> Path:
        """Its folder."""
        return self._config.state_dir / "repositories" / repository.lower()

    def fetch(self, repository: str, *more: str) -> Fetched:
        """Bring `control.git` and what the agents see up to date; `more`: refspecs besides the branches.

        Raises:
            TryLater: the forge did not answer, or refused.
        """
        pair, asked = self.pair(repository), time.monotonic()
        with pair.locked():
            return self._fetch(pair, repository, more, asked)

    def prepare(
        self, key: SessionKey, branch: str = "", base: str = "", *, asked: float | None = None
    ) -> Place:
        """A worktree on `branch`, exactly as the forge has it, with what is ours and unpushed on top.

        `branch` "": the issue's own; `base` "": the default branch, at which it begins where the forge
        does not have it. Repeatable, after kill -9 anywhere too; what another session's worktree had of
        the branch stays there. The caller sees that no other session works on the branch. What was
        fetched after `asked` (by the monotonic clock; None: now) is new enough.

        Raises:
            EmptyRepository: there is no commit to begin at.
            BadData: `branch` or `base` is no name of a branch.
            TryLater: the forge or git failed.
        """
        branch = check_branch_name(branch or branch_of(key))
        pair, asked = self.pair(key.repository), asked or time.monotonic()
        with pair.locked():
            fetched = self._fetch(pair, key.repository, (), asked)
            base = check_branch_name(base or self._default(fetched, key.repository))
            commit = pair.git.resolve(f"{REMOTE}{base}")
            if commit is None:
                raise TryLater(f"{key.repository} has no branch {base}", code="no_base_branch")
            spot = self._spot(pair, key, branch)
            return self._prepared(key, spot, base, commit)

    def prepare_first(self, key: SessionKey, default_branch: str) -> Place:
        """A worktree for the first commits of an empty repository, which begin at one without files.

        Where it has a branch by now, this is `prepare`. Repeatable.

        Raises:
            BadData: `default_branch` is no name of a branch.
            TryLater: the forge or git failed.
        """
        pair, asked = self.pair(key.repository), time.monotonic()
        with pair.locked():
            if self._fetch(pair, key.repository, (), asked).is_empty:
                commit = self._first_commit(pair)
                spot = self._spot(pair, key, branch_of(key))
                place = self._prepared(key, spot, check_branch_name(default_branch), commit)
                return replace(place, begins_at=commit)
        return self.prepare(key)

    def _first_commit(self, pair: Pair) -> str:
        known = pair.git.resolve(FIRST)
        if known:
            return known
        message = f"{self._config.agent.commit_prefix} Begin the repository".strip()
        commit = pair.git.objects.write_commit(pair.git.objects.write_tree({}), [], message)
        pair.git.update_ref(FIRST, commit)
        return commit

    def prepare_for_reading(self, key: SessionKey, base: str = "") -> Place:
        """A worktree at exactly the head of the pull request `key`, also one from a fork.

        Raises:
            TryLater: the forge has no such pull request, or git failed.
        """
        pair, asked = self.pair(key.repository), time.monotonic()
        head = f"{NAMESPACE}pulls/{key.number}"
        with pair.locked():
            fetched = self._fetch(pair, key.repository, (f"+refs/pull/{key.number}/head:{head}",), asked)
            base = check_branch_name(base or self._default(fetched, key.repository))
            commit = pair.git.resolve(head)
            if commit is None:
                raise TryLater(f"{key} has no commits", code="no_head")
            spot = self._spot(pair, key, f"fordjent/review-{key.number}")
            return self._prepared(key, spot, base, commit, for_reading=True)

    def remove(self, key: SessionKey, branch: str = "") -> str:
        """Remove the worktree of a session; returns why it is kept, "" when it is gone.

        It goes only where nothing is lost: clean, on its branch, all its commits on the forge.
        """
        pair = self.pair(key.repository)
        if not pair.work.is_dir():
            return ""
        with pair.locked():
            pair.mend_work()
            return preparing.release(self._spot(pair, key, branch or branch_of(key), self._held(pair, key)))

    def worktrees(self) -> list[Path]:
        """Every worktree folder of every repository."""
        root = self._config.state_dir / "repositories"
        return sorted(path for path in root.glob("*/*/worktrees/*") if not path.name.startswith("."))

    def forget(self, repository: str) -> None:
        """Remove a repository that is gone from the forge, with all that is in it."""
        root = self.root(repository)
        for known in (self._pairs, self._last):
            known.pop(root, None)
        folders.remove(root)

    # ---- parts

    def _fetch(self, pair: Pair, repository: str, more: tuple[str, ...], asked: float) -> Fetched:
        """What the forge has now, or had after `asked` (by the monotonic clock): of many that wait for
        the lock one asks for all."""
        pair.set_up(self._remote(repository))
        for stale in pairs.clear_stale_locks(pair.control):
            say(f"{stale} was left by a killed git; it is removed")
        last = self._last.get(pair.root)
        if last is None or last.began < asked:
            began = time.monotonic()
            last = self._last[pair.root] = _Fetch(began, self._fetch_branches(pair))
        if more:  # apart: one that the forge does not have fails the whole command
            quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=")
            remote.ask(pair.git, "fetch", *quiet, "origin", *more)
        pair.mirror()
        reached("repository-fetched")
        return last.found

    def _fetch_branches(self, pair: Pair) -> Fetched:
        git = pair.git
        told = remote.ask(
            git, "ls-remote", "--quiet", "--symref", "origin", "HEAD", "refs/heads/*", TAGS + "*"
        )
        symbolic = re.search(r"^ref: refs/heads/(.+)\tHEAD$", told.text, re.MULTILINE)
        there = {name: oid for oid, name in re.findall(LISTED, told.text, re.MULTILINE)}
        heads = {name.removeprefix("refs/heads/") for name in there if name.startswith("refs/heads/")}
        default = symbolic[1] if symbolic and symbolic[1] in heads else ""
        self._remember(pair)
        if there != _fetched_refs(git):
            remote.ask(git, "fetch", "--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "origin")
            self._remember(pair)
        pairs.set_remote_head(git, f"{REMOTE}{default}" if default else "")
        return Fetched(default, not heads)

    def _prepared(
        self, key: SessionKey, spot: Spot, base: str, commit: str, *, for_reading: bool = False
    ) -> Place:
        self._let_go(spot)
        self._finish_move(spot)
        done = preparing.prepare(spot, commit)
        start, kept = done.start, done.kept
        if for_reading and start != commit:
            kept = (*kept, spot.keep(start), *preparing.advance(spot, commit))
            start = commit
        spot.git.update_ref(seen_ref(spot), None if for_reading else spot.remote_head)
        return Place(
            key=key,
            workspaces=self,
            spot=spot,
            base=base,
            start=start,
            rules=self._rules,
            commit_prefix=self._config.agent.commit_prefix,
            kept=kept,
            created=done.created,
            for_reading=for_reading,
        )

    def _let_go(self, spot: Spot) -> None:
        """Have other worktrees leave the branch; their files stay as they are.

        No person works in this repository, so that a lock on a worktree is an agent's whim.
        """
        for one in registrations.every(spot.pair.work):
            is_ours = one.is_at(spot.path)
            if not is_ours and spot.ref not in one.branches:
                continue
            (one.folder / "locked").unlink(missing_ok=True)
            commit = spot.agents.resolve(spot.ref)
            if not is_ours and one.is_there and commit:
                registering.detach_from_halfway(one)
                registering.detach(one, commit)
                reached("branch-let-go")

    def _finish_move(self, spot: Spot) -> None:
        """End a rebase of ours that a kill stopped between files and branch."""
        tip = spot.git.resolve(moving_ref(spot))
        if tip is None:
            return
        try:
            preparing.advance(spot, tip)
        except TryLater as failure:
            say(f"{spot.path}: {failure.message}")
        spot.git.update_ref(moving_ref(spot), None)

    def _remember(self, pair: Pair) -> None:
        there = {name.removeprefix(REMOTE) for name in pair.git.refs(REMOTE)}
        for branch in self._ours(pair) & there:
            published.remember(pair.git, NAMESPACE, branch)

    def _ours(self, pair: Pair) -> set[str]:
        """Branches that were ever checked out here, and those of issues: what the forge had of them counts."""
        held = {name.removeprefix("refs/heads/") for name in pair.agents.refs("refs/heads/")}
        return {name for name in held if not name.startswith("fordjent/review-")}

    def _held(self, pair: Pair, key: SessionKey) -> str:
        """The branch that the session's worktree is on; "": none."""
        path = pair.worktrees / folder_of(key)
        found = next((one for one in registrations.every(pair.work) if one.is_at(path)), None)
        name = found.head if found else ""
        return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else ""

    def _spot(self, pair: Pair, key: SessionKey, branch: str, held: str = "") -> Spot:
        return Spot(pair, folder_of(key), held or branch, f"rename or delete it on {key.repository}")

    def _default(self, fetched: Fetched, repository: str) -> str:
        if fetched.is_empty:
            raise EmptyRepository(f"{repository} has no commit yet", hint="push a first commit to it")
        if not fetched.default_branch:
            raise TryLater(
                f"{repository}: its default branch is not there",
                hint="set it in the repository's settings",
                code="no_default_branch",
            )
        return fetched.default_branch

    def _remote(self, repository: str) -> Sections:
        refspecs = [f"+refs/heads/*:{REMOTE}*", "+refs/tags/*:refs/tags/*"]
        url = f"{self._url}/{repository}.git"
        return {'remote "origin"': {"url": url, "fetch": refspecs, "tagOpt": "--no-tags", "prune": "true"}}


def _fetched_refs(git: Git) -> dict[str, str]:
    """What was fetched at last, by the names that the forge has for it."""
    heads = {
        name.replace(REMOTE, "refs/heads/", 1): oid
        for name, oid in git.refs(REMOTE).items()
        if name != pairs.REMOTE_HEAD
    }
    return heads | git.refs(TAGS)


def folder_of(key: SessionKey) -> str:
    return f"{key.kind}-{key.number}"
