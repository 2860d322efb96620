"""The two repositories of one agent, both bare: control.git is ours, work.git the agents'.

control.git has the remote, the key and the entomologist branch. work.git has no remote
and borrows control.git's objects, which therefore never prunes; the worktrees hang on it.

An agent can write to work.git's configuration and hooks. So nothing of ours runs git
there: `work` is a git dir beside it, with a configuration of its own, whose refs,
objects and worktrees are links to work.git's. What executes is configured, and no
configuration of an agent's is ever read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which

from ent_agent import state
from ent_agent.config import Config
from ent_agent.repositories import identity, keys, mending
from harness import atomic, lock
from harness.errors import Busy, TryLater
from harness.git import Git, init_bare

LOCK_TIMEOUT_SECONDS = 60.0
STALE_LOCK_SECONDS = 60.0
"""git holds a lock file for moments; an older one was left by a kill."""
SEEN_CLAIMS = "refs/ent-agent/seen/"
REMOTE = "refs/remotes/origin/"
REMOTE_HEAD = f"{REMOTE}HEAD"

_SHARED = ("objects", "refs", "packed-refs", "worktrees")

# For each call on control.git: what the user's own configuration must not change for us.
_CONTROL_CONFIG = {
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
_WORK_CONFIG = {"core.useReplaceRefs": "false"}


def control(config: Config) -> Git:
    """control.git, with the ssh key, the agent's identity and, where wanted, its signature."""
    signing = {}
    if config.sign_commits:
        key = keys.find(config.folder(config.ssh_key_dir))
        signing = {"gpg.format": "ssh", "user.signingKey": str(key or "")}
    return Git(
        state.of(config).control,
        ssh_command=identity.ssh_command(config),
        person=config.person,
        config=_CONTROL_CONFIG | _without_lfs() | signing,
    )


def work(config: Config) -> Git:
    """work.git's refs and objects, to be read and written from outside: nothing planted there runs.

    Its `git_dir` is ours alone; the one that agents are told is `state.of(config).work`.
    """
    return Git(state.of(config).work_view, person=config.person, config=_WORK_CONFIG)


def set_up(config: Config) -> None:
    """Make both repositories, or bring what is there to what this configuration says. Repeatable.

    Never `git clone`: that copies heads and sets no refspec. To be called under `locked`.
    """
    folder = state.of(config)
    folder.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (folder.control / "HEAD").exists():
        init_bare(folder.control)
    _keep(folder.control / "config", _control_file(config))
    if not folder.work.is_dir():
        init_bare(folder.work)
    mend_work(config)


def mend_work(config: Config) -> None:
    """Put back what makes work.git ours to read and write: its own files and our view of it."""
    folder = state.of(config)
    mending.mend(folder.work, folder.quarantine)
    _keep(folder.work / "config", _file({"core": _BARE, "gc": _NEVER_PRUNE}))
    _keep(folder.work / "HEAD", "ref: refs/heads/unborn\n")
    _keep(folder.work / "objects/info/alternates", "../../control.git/objects\n")
    folder.work_view.mkdir(mode=0o700, exist_ok=True)
    _keep(folder.work_view / "HEAD", "ref: refs/heads/unborn\n")
    _keep(folder.work_view / "config", _file({"core": _BARE | _NO_INDEXES, "pack": {"useBitmaps": "false"}}))
    for name in _SHARED:
        if not (folder.work_view / name).is_symlink():
            (folder.work_view / name).symlink_to(f"../{folder.work.name}/{name}")


@contextmanager
def locked(config: Config) -> Iterator[None]:
    """The lock around whatever writes refs in control.git or registers worktrees.

    Raises:
        TryLater: another process has it for long.
    """
    with ExitStack() as stack:
        path = state.of(config).repository_lock
        try:
            held = lock.held(path, timeout_seconds=LOCK_TIMEOUT_SECONDS, what="the repository")
            stack.enter_context(held)
        except Busy as busy:
            raise TryLater(busy.message, hint="a first fetch takes long", code="repository_busy") from busy
        yield


def bring_home(config: Config, *refspecs: str) -> None:
    """Fetch from work.git into control.git, e.g. `+refs/heads/robo/1:refs/ent-agent/local/1`.

    Objects are checked on the way (fsck), since an agent can write anything into its store.

    Raises:
        GitFailed: no such ref, or an object that git refuses.
    """
    checked = control(config).with_config(fetch__fsckObjects="true")
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=")
    checked.run("fetch", *quiet, str(state.of(config).work_view), *refspecs)


def drop_work_ref(config: Config, ref: str) -> None:
    """Delete a ref of work.git, its reflog too: a left-over one would be in the way of others' folders."""
    folder = state.of(config).work
    work(config).update_ref(ref, None)
    log = folder / "logs" / ref
    if log.parent.resolve().is_relative_to(folder.resolve()) and log.is_file():
        log.unlink()


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


def origin_url(config: Config) -> str:
    """`repo_url` for git: a local path is made absolute, below the folder of config.toml."""
    url = config.repo_url
    if "://" in url or re.match(r"[^/]+:", url):
        return url
    return str(config.folder(url))


def shown_url(config: Config) -> str:
    """`repo_url` for records and messages: without what may be a token in front of a web host."""
    return re.sub(r"^(https?://)[^/@]*@", r"\1", config.repo_url)


def _without_lfs() -> dict[str, str]:
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


def _control_file(config: Config) -> str:
    refspecs = [
        f"+refs/heads/*:{REMOTE}*",
        "+refs/tags/*:refs/tags/*",
        f"+{config.claims_prefix}*:{SEEN_CLAIMS}*",
    ]
    origin = {"url": origin_url(config), "fetch": refspecs, "tagOpt": "--no-tags", "prune": "true"}
    return _file(
        {"core": _BARE | {"logAllRefUpdates": "false"}, 'remote "origin"': origin, "gc": _NEVER_PRUNE}
    )


def _file(sections: Mapping[str, Mapping[str, str | Sequence[str]]]) -> str:
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
