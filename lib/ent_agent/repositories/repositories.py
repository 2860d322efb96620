"""The two repositories of one agent (harness.worktrees.pair): control.git with the remote, the key and
the entomologist branch, and work.git for the agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ent_agent import state
from ent_agent.config import Config
from ent_agent.repositories import identity, keys
from harness import config as toml
from harness.git import Git
from harness.worktrees import pair as pairs
from harness.worktrees.pair import REMOTE, REMOTE_HEAD, Pair, Sections, clear_stale_locks

NAMESPACE = "refs/ent-agent/"
SEEN_CLAIMS = f"{NAMESPACE}seen/"


def pair(config: Config) -> Pair:
    return Pair(state.of(config).root, control(config), NAMESPACE)


def control(config: Config) -> Git:
    """control.git, with the ssh key, the agent's identity and, where wanted, its signature."""
    signing = {}
    if config.sign_commits:
        with toml.naming(config.path):
            key = keys.find(config.folder(config.ssh_key_dir))
        signing = {"gpg.format": "ssh", "user.signingKey": str(key or "")}
    return Git(
        state.of(config).control,
        ssh_command=identity.ssh_command(config),
        person=config.person,
        config=pairs.CONTROL_CONFIG | pairs.without_lfs() | signing,
    )


def work(config: Config) -> Git:
    """work.git's refs and objects, to be read and written from outside: nothing planted there runs.

    Its `git_dir` is ours alone; the one that agents are told is `state.of(config).work`.
    """
    return pair(config).agents


def set_up(config: Config) -> None:
    """Make both repositories, or bring what is there to what this configuration says. Repeatable.

    To be called under `locked`.
    """
    pair(config).set_up(_remote(config))


def mend_work(config: Config) -> None:
    """Put back what makes work.git ours to read and write: its own files and our view of it."""
    pair(config).mend_work()


@contextmanager
def locked(config: Config) -> Iterator[None]:
    """The lock around whatever writes refs in control.git or registers worktrees.

    Raises:
        TryLater: another process has it for long.
    """
    with pair(config).locked():
        yield


def bring_home(config: Config, *refspecs: str) -> None:
    """Fetch from work.git into control.git, e.g. `+refs/heads/robo/1:refs/ent-agent/local/1`.

    Raises:
        GitFailed: no such ref, or an object that git refuses.
    """
    pair(config).bring_home(*refspecs)


def origin_url(config: Config) -> str:
    """`repo_url` for git: a local path is made absolute, below the folder of config.toml."""
    url = config.repo_url
    if "://" in url or re.match(r"[^/]+:", url):
        return url
    return str(config.folder(url))


def shown_url(config: Config) -> str:
    """`repo_url` for records and messages: without what may be a token in front of a web host."""
    return re.sub(r"^(https?://)[^/@]*@", r"\1", config.repo_url)


def _remote(config: Config) -> Sections:
    refspecs = [
        f"+refs/heads/*:{REMOTE}*",
        "+refs/tags/*:refs/tags/*",
        f"+{config.claims_prefix}*:{SEEN_CLAIMS}*",
    ]
    origin = {"url": origin_url(config), "fetch": refspecs, "tagOpt": "--no-tags", "prune": "true"}
    return {'remote "origin"': origin}


__all__ = [
    "REMOTE",
    "REMOTE_HEAD",
    "SEEN_CLAIMS",
    "bring_home",
    "clear_stale_locks",
    "control",
    "locked",
    "mend_work",
    "origin_url",
    "pair",
    "set_up",
    "shown_url",
    "work",
]
