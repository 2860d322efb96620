"""Bring control.git level with origin, and show the agents what it has."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ent_agent import state
from ent_agent.claims import observation
from ent_agent.config import Config
from ent_agent.records import Record, RepositorySection
from ent_agent.repositories import listing, origin, repositories
from ent_agent.repositories.repositories import REMOTE
from harness import atomic
from harness.clock import timestamp
from harness.diagnostics import say
from harness.git import Git
from harness.worktrees import published
from harness.worktrees.pair import set_remote_head

FETCH_TIMEOUT_SECONDS = 600.0
FIRST_FETCH_TIMEOUT_SECONDS = 4 * 3600.0
"""All of the history comes then; a connection that is dead ends much sooner (http.lowSpeedTime, ServerAlive)."""
USUAL_DEFAULTS = ("main", "master", "trunk")


def sync(record: Record, config: Config) -> Record:
    """Fetch from origin, and bring the entomologist branch level in both directions; adds `repository`.

    The entomologist branch is never created; where neither side has it, `issues_head` is "".

    Raises:
        TryLater: origin cannot be reached, or refuses, or another process holds the
            repository; `code` and `hint` say which.
    """
    from ent_agent.claims import stale_claims
    from ent_agent.repositories import mirroring  # not for `last`: every selection asks for that

    git = repositories.control(config)
    with repositories.locked(config):
        repositories.set_up(config)
        _clear_stale_locks(git, config)
        found = listing.ask(git, config)
        published.remember(git, repositories.NAMESPACE, f"{config.id}/")
        if not found.is_known(git, config):
            _fetch(git, config)
            published.remember(git, repositories.NAMESPACE, f"{config.id}/")
        observation.observe(config, git)
        issues_head = _level(git, config)
        default = found.default_branch or _guessed_default(git, config)
        head = git.resolve(f"{REMOTE}{default}") or "" if default else ""
        set_remote_head(git, f"{REMOTE}{default}" if head else "")
        mirroring.mirror(config)
        record.repository = RepositorySection(
            url=repositories.shown_url(config),
            path=str(git.git_dir),
            default_branch=default,
            head=head,
            fetched_at=timestamp(),
            issues_head=issues_head,
        )
        atomic.write_json(_path(config), record.repository)
    for key in stale_claims.sweep(config, git):
        say(f"a claim that nobody needs any more is ended: {key}")
    return record


def last(config: Config) -> RepositorySection | None:
    """What the last sync found; None: there was none yet."""
    if not (state.of(config).control / "HEAD").exists():
        return None
    try:
        return msgspec.json.decode(_path(config).read_bytes(), type=RepositorySection)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def guess_default(branches: list[str]) -> str:
    """Which of origin's code branches is meant, where its HEAD does not say: the only one, or a usual name."""
    if len(branches) == 1:
        return branches[0]
    return next((name for name in USUAL_DEFAULTS if name in branches), "")


def _guessed_default(git: Git, config: Config) -> str:
    names = [name.removeprefix(REMOTE) for name in git.refs(REMOTE)]
    ours = ("HEAD", config.issues_branch)
    return guess_default(
        [
            name
            for name in names
            if name not in ours
            and not name.startswith(f"{config.id}/")
            and not f"refs/heads/{name}".startswith(config.claims_prefix)
        ]
    )


def _clear_stale_locks(git: Git, config: Config) -> None:
    for git_dir in (git.git_dir, state.of(config).work):
        for stale in repositories.clear_stale_locks(git_dir):
            say(f"{stale} was left by a killed git; it is removed")


def _fetch(git: Git, config: Config) -> None:
    first = not git.refs(REMOTE)
    words = ("fetch", "--quiet", "--prune", "--no-write-fetch-head", "--no-recurse-submodules", "origin")
    timeout = FIRST_FETCH_TIMEOUT_SECONDS if first else FETCH_TIMEOUT_SECONDS
    origin.ask(git, config, *words, timeout_seconds=timeout)


def _level(git: Git, config: Config) -> str:
    """The commit of the entomologist branch that both sides have; "": there is none."""
    from ent_agent.tracker.sync import bring_level

    ours, theirs = git.resolve(config.data_ref), git.resolve(f"{REMOTE}{config.issues_branch}")
    if ours == theirs:
        return ours or ""
    level = origin.explained(config, lambda: bring_level(git, config.issues_branch, just_fetched=True))
    return level or ""


def _path(config: Config) -> Path:
    return state.of(config).root / "repository.json"
