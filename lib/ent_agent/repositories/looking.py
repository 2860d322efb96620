"""Fetch from origin, and note what it shows: our branches that were published, and others' claims."""

from __future__ import annotations

from ent_agent.claims import observation
from ent_agent.config import Config
from ent_agent.repositories import origin, repositories
from harness.git import Git
from harness.worktrees import published


def look(config: Config, git: Git) -> None:
    """Fetch origin's branches and claims, and note the claims as seen now.

    Raises:
        TryLater: no answer.
    """
    claims = f"+{config.claims_prefix}*:{repositories.SEEN_CLAIMS}*"
    fetch(config, git, "+refs/heads/*:refs/remotes/origin/*", claims, prune=True)
    observation.observe(config, git)


def fetch(config: Config, git: Git, *refspecs: str, prune: bool = False) -> None:
    """Fetch just this from origin, and note what of ours it shows.

    Raises:
        TryLater: no answer.
    """
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=")
    pruning = "--prune" if prune else "--no-prune"
    with repositories.locked(config):
        published.remember(git, repositories.NAMESPACE, f"{config.id}/")
        origin.ask(git, config, "fetch", *options, pruning, "origin", *refspecs)
        published.remember(git, repositories.NAMESPACE, f"{config.id}/")
