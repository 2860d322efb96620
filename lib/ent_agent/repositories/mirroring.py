"""What the agents see of origin: work.git's remote-tracking refs and tags are control.git's."""

from __future__ import annotations

from ent_agent.config import Config
from ent_agent.repositories.repositories import REMOTE, REMOTE_HEAD, control, work
from harness.git import Git


def mirror(config: Config) -> None:
    """Show the agents origin's branches and tags: work.git's remote-tracking refs are control.git's."""
    ours, theirs = control(config), work(config)
    wanted = {name: oid for name, oid in ours.refs(REMOTE).items() if not _is_claim(config, name)}
    there = theirs.refs(REMOTE)
    for refs in (wanted, there):
        refs.pop(REMOTE_HEAD, None)  # a symbolic ref
    # Deletions first: refs/…/a and refs/…/a/b cannot change places in one transaction.
    theirs.update_refs((name, None) for name in there if name not in wanted)
    tags, their_tags = ours.refs("refs/tags/"), theirs.refs("refs/tags/")
    changed = {name: oid for name, oid in wanted.items() if there.get(name) != oid}
    changed |= {name: oid for name, oid in tags.items() if their_tags.get(name) != oid}
    theirs.update_refs(changed.items())
    set_remote_head(theirs, remote_head(ours))


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


def _is_claim(config: Config, tracking: str) -> bool:
    """Whether a remote-tracking branch is a claim (`claims_prefix` below refs/heads/)."""
    return tracking.replace(REMOTE, "refs/heads/", 1).startswith(config.claims_prefix)
