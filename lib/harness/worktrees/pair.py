"""The two repositories around worktrees, both bare: control.git is ours, work.git the agents'.

control.git has the remote and what opens it. work.git has no remote and borrows
control.git's objects, which therefore never prunes; the worktrees hang on it.

An agent can write to work.git's configuration and hooks. So nothing of ours runs git
there: work-view.git is a git dir beside it, with a configuration of its own, whose refs,
objects and worktrees are links to work.git's. What executes is configured, and no
configuration of an agent's is ever read.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import which

from harness import atomic, lock
from harness.errors import Busy, TryLater
from harness.git import Git, init_bare
from harness.worktrees import mending

LOCK_TIMEOUT_SECONDS = 60.0
QUEUE_SECONDS = 900.0
"""For threads of this process, which hold the lock for one exchange with the forge at the longest."""
STALE_LOCK_SECONDS = 60.0
"""git holds a lock file for moments; an older one was left by a kill."""
REMOTE = "refs/remotes/origin/"
REMOTE_HEAD = f"{REMOTE}HEAD"

_SHARED = ("objects", "refs", "packed-refs", "worktrees")

CONTROL_CONFIG = {
    "core.autocrlf": "false",
    "core.sparseCheckout": "false",
    "core.splitIndex": "false",
    "core.useReplaceRefs": "false",
    "fetch.recurseSubmodules": "false",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "60",
    "index.sparse": "false",
    "protocol.file.allow": "always",
    "push.followTags": "false",
    "push.gpgSign": "false",
    "push.recurseSubmodules": "no",
    "submodule.recurse": "false",
}
"""For each call on control.git: what the user's own configuration must not change for us."""
_WORK_CONFIG = {"core.useReplaceRefs": "false"}

Sections = Mapping[str, Mapping[str, str | Sequence[str]]]
"""A git configuration: `remote "origin"` to key to value, or values."""


@dataclass(frozen=True)
class Pair:
    """Both, below one folder. `git` is control.git with what it needs for each call.

    `namespace`: below it are the refs that we make for ourselves, e.g. `refs/ent-agent/`.
    """

    root: Path
    git: Git
    namespace: str

    @property
    def control(self) -> Path:
        return self.root / "control.git"

    @property
    def work(self) -> Path:
        """The git dir that agents are told."""
        return self.root / "work.git"

    @property
    def view(self) -> Path:
        return self.root / "work-view.git"

    @property
    def worktrees(self) -> Path:
        return self.root / "worktrees"

    @property
    def quarantine(self) -> Path:
        """What stood where something of ours belongs, moved aside whole."""
        return self.root / "quarantine"

    def index(self, key: str) -> Path:
        """Our own index of a worktree: no agent writes to it."""
        return self.root / "indexes" / key

    @cached_property
    def agents(self) -> Git:
        """work.git's refs and objects, to be read and written from outside: nothing planted there runs."""
        return Git(self.view, person=self.git.person, config=_WORK_CONFIG, base=self.git.base)

    def set_up(self, sections: Sections) -> None:
        """Make both repositories, or bring what is there to what `sections`, added to control.git's
        configuration, say. Repeatable.

        Never `git clone`: that copies heads and sets no refspec. To be called under `locked`.
        """
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (self.control / "HEAD").exists():
            init_bare(self.control)
        always: Sections = {"core": _BARE | {"logAllRefUpdates": "false"}, "gc": _NEVER_PRUNE}
        _keep(self.control / "config", _file({**always, **sections}))
        if not self.work.is_dir():
            init_bare(self.work)
        self.mend_work()

    def mend_work(self) -> None:
        """Put back what makes work.git ours to read and write: its own files and our view of it."""
        mending.mend(self.work, self.quarantine)
        _keep(self.work / "config", _file({"core": _BARE, "gc": _NEVER_PRUNE}))
        _keep(self.work / "HEAD", "ref: refs/heads/unborn\n")
        _keep(self.work / "objects/info/alternates", "../../control.git/objects\n")
        self.view.mkdir(mode=0o700, exist_ok=True)
        _keep(self.view / "HEAD", "ref: refs/heads/unborn\n")
        _keep(self.view / "config", _file({"core": _BARE | _NO_INDEXES, "pack": {"useBitmaps": "false"}}))
        for name in _SHARED:
            if not (self.view / name).is_symlink():
                (self.view / name).symlink_to(f"../{self.work.name}/{name}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The lock around whatever writes refs in control.git or registers worktrees.

        Threads of this process wait in a queue: each would else ask the kernel fifty times a second.

        Raises:
            TryLater: another process has it for long, or very many threads.
        """
        with ExitStack() as stack:
            path = self.root / "repository.lock"
            queue = _queue(path)
            if not queue.acquire(timeout=QUEUE_SECONDS):
                raise TryLater(
                    "the repository is in use", hint="a first fetch takes long", code="repository_busy"
                )
            stack.callback(queue.release)
            try:
                held = lock.held(path, timeout_seconds=LOCK_TIMEOUT_SECONDS, what="the repository")
                stack.enter_context(held)
            except Busy as busy:
                raise TryLater(
                    busy.message, hint="a first fetch takes long", code="repository_busy"
                ) from busy
            yield

    def bring_home(self, *refspecs: str) -> None:
        """Fetch from work.git into control.git, e.g. `+refs/heads/robo/1:refs/ent-agent/local/1`; a
        commit's id may stand in place of a name.

        Objects are checked on the way (fsck), since an agent can write anything into its store.

        Raises:
            GitFailed: no such ref, or an object that git refuses.
        """
        # version 2 gives any commit by its id
        checked = self.git.with_config(fetch__fsckObjects="true", protocol__version="2")
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=")
        checked.run("fetch", *quiet, str(self.view), *refspecs)

    def drop_work_ref(self, ref: str) -> None:
        """Delete a ref of work.git, its reflog too: a left-over one would be in the way of others' folders."""
        self.agents.update_ref(ref, None)
        log = self.work / "logs" / ref
        if log.parent.resolve().is_relative_to(self.work.resolve()) and log.is_file():
            log.unlink()

    def mirror(self, hidden: Sequence[str] = ()) -> None:
        """Show the agents origin's branches and tags: work.git's remote-tracking refs are control.git's.

        `hidden`: tracking refs that they do not see.
        """
        wanted = {name: oid for name, oid in self.git.refs(REMOTE).items() if name not in hidden}
        there = self.agents.refs(REMOTE)
        for refs in (wanted, there):
            refs.pop(REMOTE_HEAD, None)  # a symbolic ref
        # Deletions first: refs/…/a and refs/…/a/b cannot change places in one transaction.
        self.agents.update_refs((name, None) for name in there if name not in wanted)
        tags, their_tags = self.git.refs("refs/tags/"), self.agents.refs("refs/tags/")
        changed = {name: oid for name, oid in wanted.items() if there.get(name) != oid}
        changed |= {name: oid for name, oid in tags.items() if their_tags.get(name) != oid}
        self.agents.update_refs(changed.items())
        set_remote_head(self.agents, remote_head(self.git))


_queues: dict[Path, threading.Lock] = {}


def _queue(path: Path) -> threading.Lock:
    return _queues.setdefault(path, threading.Lock())


def remote_head(git: Git) -> str:
    """The full name of the tracking ref that refs/remotes/origin/HEAD stands for; "": there is none."""
    return git.symbolic(REMOTE_HEAD)


def set_remote_head(git: Git, target: str) -> None:
    """refs/remotes/origin/HEAD as a clone has it, for `git diff origin/HEAD` in a worktree."""
    there = remote_head(git)
    if target and target != there:
        git.run("symbolic-ref", REMOTE_HEAD, target)
    elif there and not target:
        git.run("symbolic-ref", "--delete", REMOTE_HEAD)


def clear_stale_locks(git_dir: Path) -> list[Path]:
    """Remove the lock files of refs that a killed git left; returns them. Call under `locked`."""
    now = time.time()
    candidates = [git_dir / "packed-refs.lock", git_dir / "HEAD.lock", git_dir / "config.lock"]
    candidates += [Path(parent) / name for parent, _, names in os.walk(git_dir / "refs") for name in names]
    stale = [
        path
        for path in candidates
        if path.suffix == ".lock" and path.exists() and now - path.lstat().st_mtime > STALE_LOCK_SECONDS
    ]
    for path in stale:
        path.unlink(missing_ok=True)
    return stale


def without_lfs() -> dict[str, str]:
    """Where git-lfs is not on PATH (cron), its files stay the pointers that they are in git.

    Else GIT_LFS_SKIP_SMUDGE, which `harness.git` sets, has the same effect.
    """
    if which("git-lfs"):
        return {}
    commands = dict.fromkeys(("filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process"), "")
    return commands | {"filter.lfs.required": "false"}


_BARE = {"repositoryformatversion": "0", "filemode": "true", "bare": "true"}
_NO_INDEXES = {"commitGraph": "false", "multiPackIndex": "false"}
"""What git would believe of commits and packs without looking at them: an agent can have written anything there."""
_NEVER_PRUNE = {"pruneExpire": "never", "worktreePruneExpire": "never"}


def _file(sections: Sections) -> str:
    """A git configuration file (git-config(1), Syntax)."""
    return "".join(f"[{name}]\n{''.join(_lines(values))}" for name, values in sections.items())


def _lines(values: Mapping[str, str | Sequence[str]]) -> Iterator[str]:
    for key, value in values.items():
        for one in [value] if isinstance(value, str) else value:
            escaped = one.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            yield f'\t{key} = "{escaped}"\n'


def _keep(path: Path, text: str) -> None:
    """Have a regular file with this text at `path`."""
    data = text.encode("utf-8", "surrogateescape")
    try:
        if not path.is_symlink() and path.read_bytes() == data:
            return
    except FileNotFoundError:
        pass
    atomic.write_bytes(path, data, 0o644)
